//! Hands packets to hosts, on a thread per direction.
//!
//! Handing a packet over runs the receiving host's network stack on the thread that does it, up to its TCP's answer: some
//! 5 to 20 µs. The link's own thread cannot spend that between two packets of a fast link. A thread per direction can,
//! while packets of one device stay in order. Where a device has a kernel thread for it, the link's thread hands packets over
//! itself as long as it is not busy, which saves them being passed from thread to thread. How late a packet is, is known only
//! here.

use super::frame::{Buffer, Frame};
use super::segment::Ends;
use crate::clock::Clock;
use crate::lateness::{Lateness, LatenessMeter};
use crate::real_time::{self, Priority};
use farhop_link::{Direction, Port};
use farhop_units::Instant;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// A packet that is due at a device.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) due: Instant,
    /// Place of its link among the driver's.
    pub(super) segment: usize,
    pub(super) port: Port,
    pub(super) frame: Frame,
}

/// One direction's thread, as the link's thread sees it.
#[derive(Debug)]
pub(super) struct Writer {
    deliveries: Option<Sender<Delivery>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What both threads see.
#[derive(Debug)]
struct Shared {
    /// Deliveries given to the thread and not yet made.
    backlog: AtomicUsize,
    /// What came of deliveries, by link.
    meters: Vec<Meter>,
    pool: Arc<Pool>,
}

/// What came of one link's deliveries in one direction.
#[derive(Debug, Default)]
struct Meter {
    lateness: LatenessMeter,
    refused: AtomicU64,
}

/// What came of one link's deliveries so far.
#[derive(Debug, Default)]
pub(super) struct Handed {
    /// How late they were.
    pub(super) lateness: Lateness,
    /// Those that the host did not take.
    pub(super) refused: u64,
}

impl Handed {
    pub(super) fn merge(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.refused += other.refused;
    }
}

/// Memory of packets that have been delivered, to be used again.
#[derive(Debug, Default)]
pub(super) struct Pool {
    spare: Mutex<Vec<Buffer>>,
}

/// What is kept at most: copies that a link makes come on top of what it was given.
pub(super) const MOST_SPARE: usize = 4096;

/// Buffers that go back to the link's thread together.
const RETURNED: usize = 32;

impl Pool {
    /// Moves everything here to `spare`, if nobody is just bringing more.
    pub(super) fn take(&self, spare: &mut Vec<Buffer>) {
        if let Ok(mut returned) = self.spare.try_lock() {
            spare.append(&mut returned);
        }
    }

    fn give(&self, used: &mut Vec<Buffer>) {
        // Whoever held it only moved buffers.
        let mut spare = self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        spare.append(used);
        spare.truncate(MOST_SPARE);
    }
}

impl Writer {
    /// Starts the thread for the packets of one direction of all links.
    pub(super) fn start(direction: Direction, ends: Vec<Ends>, clock: Clock, pool: Arc<Pool>) -> std::io::Result<Self> {
        let meters = ends.iter().map(|_| Meter::default()).collect();
        let shared = Arc::new(Shared { backlog: AtomicUsize::new(0), meters, pool });
        let (deliveries, receiver) = channel();
        let name = format!("farhop-{}", direction.word());
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name(name).spawn(move || {
            real_time::become_real_time(Priority::Writer);
            theirs.deliver_all(&receiver, &ends, clock);
        })?;
        Ok(Self { deliveries: Some(deliveries), shared, thread: Some(thread) })
    }

    /// Makes a delivery on the calling thread and gives its memory back, unless others still wait for this writer's own.
    pub(super) fn deliver_here(&self, delivery: Delivery, ends: &Ends, clock: Clock) -> Option<Buffer> {
        if self.backlog() > 0 {
            self.deliver(delivery);
            return None;
        }
        Some(self.shared.make(delivery, ends, clock))
    }

    /// Gives the thread a packet.
    pub(super) fn deliver(&self, delivery: Delivery) {
        self.shared.backlog.fetch_add(1, Ordering::Relaxed);
        let deliveries = self.deliveries.as_ref().expect("the thread is stopped only when this is dropped");
        // A thread that has panicked delivers nothing; joining it will tell.
        let _ = deliveries.send(delivery);
    }

    /// Packets that the thread has still to deliver.
    pub(super) fn backlog(&self) -> usize {
        self.shared.backlog.load(Ordering::Acquire)
    }

    /// What came of the packets of a link so far.
    pub(super) fn handed(&self, segment: usize) -> Handed {
        let Meter { lateness, refused } = &self.shared.meters[segment];
        Handed { lateness: lateness.read(), refused: refused.load(Ordering::Relaxed) }
    }

    /// Waits until all packets given so far are delivered, and ends the thread.
    pub(super) fn finish(&mut self) -> thread::Result<()> {
        self.deliveries = None;
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Shared {
    fn make(&self, delivery: Delivery, ends: &Ends, clock: Clock) -> Buffer {
        let Delivery { due, segment, port, frame } = delivery;
        let meter = &self.meters[segment];
        meter.lateness.record(clock.now().since(due));
        // The host's device may be down or its queues full; that is its loss, as with any network card.
        if ends.device(port).write(frame.with_header()).is_err() {
            meter.refused.fetch_add(1, Ordering::Relaxed);
        }
        frame.into_buffer()
    }

    fn deliver_all(&self, deliveries: &Receiver<Delivery>, ends: &[Ends], clock: Clock) {
        let mut used = Vec::with_capacity(RETURNED);
        for delivery in deliveries {
            let ends = &ends[delivery.segment];
            used.push(self.make(delivery, ends, clock));
            self.backlog.fetch_sub(1, Ordering::Release);
            if used.len() == RETURNED {
                self.pool.give(&mut used);
            }
        }
    }
}
