//! What is on the way, and when it is given up (RFC 9002 §6).

use super::packet::{Ack, Frame, MAX_FRAMES, Packet};
use crate::rtt::{GRANULARITY, RttEstimator};
use farhop_tcp::congestion::DeliveryRate;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// RFC 9002 §6.1.1: kPacketThreshold.
const PACKET_THRESHOLD: u64 = 3;
/// §6.2.2: kInitialRtt is 333 ms, half of it the variation.
const INITIAL_BOUND: Duration = Duration::from_millis(999);
/// §6.2.4 allows two probes per timeout.
const PROBES: u32 = 2;
/// Ours: no timeout is backed off beyond that, as TCP's (RFC 6298 §2.5); an idle timeout would end the connection before. What the path takes
/// is waited for all the same.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
/// §7.6.1: kPersistentCongestionThreshold.
const PERSISTENCE: u32 = 3;

/// A datagram as it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    at: Instant,
    size: u16,
    count: u8,
    frames: [Frame; MAX_FRAMES],
    /// Neither acknowledged nor lost, and asks for an acknowledgement.
    is_out: bool,
    /// What it carries was sent again as a probe.
    is_repeated: bool,
}

impl Sent {
    fn frames(&self) -> &[Frame] {
        &self.frames[..usize::from(self.count)]
    }
}

/// What an acknowledgement newly covered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Covered {
    /// Whether anything.
    pub(super) is_new: bool,
    /// Bytes of datagrams that were sent from a given number on.
    pub(super) bytes: u64,
    /// Bytes of all of them.
    pub(super) delivered: u64,
    /// When the latest of them was sent, and how long it took if it is the latest of all; the same without the receiver's own delay.
    pub(super) sent: Instant,
    pub(super) rtt: Option<Duration>,
    pub(super) path_rtt: Option<Duration>,
}

/// What was given up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    /// The latest lost number.
    pub(super) latest: Option<u64>,
    /// They span so much time that the path is taken to have been gone.
    pub(super) is_persistent: bool,
}

/// Datagrams on the way.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Number of the first record.
    base: u64,
    records: VecDeque<Sent>,
    in_flight: u64,
    /// Bytes that were lost so far.
    lost: u64,
    /// How fast datagrams are delivered, for controllers that ask; a stamp for each record.
    pub(super) rate: Option<DeliveryRate>,
    largest_acked: Option<u64>,
    pub(super) rtt: RttEstimator,
    /// When the next record is lost by time.
    loss_time: Option<Instant>,
    last_eliciting: Instant,
    timeouts: u32,
    probes: u32,
}

impl Flight {
    /// Nothing is on the way; how fast it is delivered will be known if `measures_rate`.
    pub(super) fn new(measures_rate: bool) -> Self {
        Self { rate: measures_rate.then(DeliveryRate::default), ..Self::default() }
    }

    pub(super) fn next_number(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes that were lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether a packet may go out whatever the window says.
    pub(super) fn is_probing(&self) -> bool {
        self.probes > 0
    }

    /// One packet was enough.
    pub(super) fn end_probing(&mut self) {
        self.probes = 0;
    }

    /// Time since something was sent that is to be acknowledged.
    pub(super) fn idle(&self, now: Instant) -> Duration {
        now.since(self.last_eliciting)
    }

    /// A packet was sent.
    pub(super) fn sent(&mut self, now: Instant, packet: &Packet) {
        let is_out = packet.is_eliciting();
        let Packet { size, count, frames, .. } = *packet;
        self.records.push_back(Sent { at: now, size, count, frames, is_out, is_repeated: false });
        if let Some(rate) = &mut self.rate {
            rate.send(now);
        }
        if is_out {
            self.in_flight += u64::from(packet.size);
            self.last_eliciting = now;
            self.probes = self.probes.saturating_sub(1);
        }
        self.forget_settled();
    }

    fn forget_settled(&mut self) {
        while self.records.front().is_some_and(|record| !record.is_out) {
            self.records.pop_front();
            self.base += 1;
            if let Some(rate) = &mut self.rate {
                rate.forget_first();
            }
        }
    }

    /// Takes in an acknowledgement; `since` is the number from which on bytes count.
    pub(super) fn acknowledge(
        &mut self,
        now: Instant,
        ack: &Ack,
        max_delay: Duration,
        since: u64,
        mut arrived: impl FnMut(&Frame),
    ) -> Covered {
        let mut covered = Covered::default();
        let end = self.next_number();
        if ack.largest() >= end {
            return covered;
        }
        for (from, to) in ack.ranges() {
            for number in from.max(self.base)..to.min(end) {
                let place = usize::try_from(number - self.base).expect("an index of records");
                let record = &mut self.records[place];
                if !record.is_out {
                    continue;
                }
                record.is_out = false;
                self.in_flight -= u64::from(record.size);
                if number >= since {
                    covered.bytes += u64::from(record.size);
                }
                if let Some(rate) = &mut self.rate {
                    rate.deliver((place, number), record.at, Bytes::new(record.size.into()));
                }
                covered.is_new = true;
                covered.delivered += u64::from(record.size);
                covered.sent = covered.sent.max(record.at);
                if number == ack.largest() {
                    covered.rtt = Some(now.since(record.at));
                }
                record.frames().iter().for_each(&mut arrived);
            }
        }
        if let Some(rtt) = covered.rtt {
            covered.path_rtt = Some(self.rtt.sample(rtt, ack.delay().min(max_delay)));
        }
        if covered.is_new {
            (self.timeouts, self.probes) = (0, 0);
            self.largest_acked = self.largest_acked.max(Some(ack.largest()));
        }
        self.forget_settled();
        covered
    }

    /// Finds what is lost: overtaken by three packets, or sent too long before something that has arrived (§6.1).
    pub(super) fn detect_lost(&mut self, now: Instant, max_delay: Duration, mut lost: impl FnMut(&Frame)) -> Losses {
        self.loss_time = None;
        let Some(largest) = self.largest_acked else { return Losses::default() };
        let patience = (self.rtt.longer() * 9 / 8).max(GRANULARITY);
        let (mut earliest, mut latest_at, mut losses) = (None, Instant::START, Losses::default());
        for (number, record) in (self.base..largest).zip(&mut self.records).filter(|(_, record)| record.is_out) {
            let due = record.at + patience;
            if number + PACKET_THRESHOLD > largest && due > now {
                self.loss_time = Some(self.loss_time.map_or(due, |earlier| earlier.min(due)));
                continue;
            }
            record.is_out = false;
            self.in_flight -= u64::from(record.size);
            self.lost += u64::from(record.size);
            record.frames().iter().for_each(&mut lost);
            (earliest, latest_at, losses.latest) = (earliest.or(Some(record.at)), record.at, Some(number));
        }
        let span = earliest.map_or(Duration::ZERO, |earliest| latest_at.since(earliest));
        let limit = self.rtt.bound().map(|bound| (bound + max_delay).saturating_mul(PERSISTENCE));
        losses.is_persistent = limit.is_some_and(|limit| span > limit);
        self.forget_settled();
        losses
    }

    /// When [`Flight::handle_timeout`] is due. `waits` is whether the end must not fall silent though nothing is on the way, and
    /// `max_delay` how long the other end may wait.
    pub(super) fn due(&self, waits: bool, max_delay: Duration) -> Option<Instant> {
        if self.loss_time.is_some() {
            return self.loss_time;
        }
        let timeout = self.rtt.bound().map_or(INITIAL_BOUND, |bound| bound + max_delay);
        let timeout = timeout.saturating_mul(1 << self.timeouts.min(16)).min(MAX_TIMEOUT.max(timeout));
        (self.in_flight > 0 || waits).then(|| self.last_eliciting + timeout)
    }

    /// Whether what is due is a loss by time.
    pub(super) fn is_losing(&self) -> bool {
        self.loss_time.is_some()
    }

    /// Nothing was heard for too long (§6.2.4): the oldest data is to be sent again as probes, the next oldest the next time.
    pub(super) fn handle_timeout(&mut self, now: Instant, mut again: impl FnMut(&Frame)) {
        self.timeouts += 1;
        (self.probes, self.last_eliciting) = (PROBES, now);
        let oldest = self.records.iter_mut().filter(|record| record.is_out && !record.is_repeated);
        for record in oldest.take(PROBES as usize) {
            record.is_repeated = true;
            record.frames().iter().for_each(&mut again);
        }
    }
}
