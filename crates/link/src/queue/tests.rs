//! Laws that hold for every discipline.

use super::*;
use crate::{Class, Port};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// A packet that knows everything a discipline may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Datagram {
    pub(super) flow: u64,
    pub(super) class: Class,
    pub(super) is_ecn_capable: bool,
    pub(super) is_marked: bool,
}

pub(super) const PLAIN: Datagram = Datagram { flow: 0, class: Class::Normal, is_ecn_capable: false, is_marked: false };

impl Packet for Datagram {
    fn wire_bytes(&self) -> Bytes {
        unreachable!("a queue believes its slots")
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn class(&self) -> Class {
        self.class
    }
    fn is_ecn_capable(&self) -> bool {
        self.is_ecn_capable
    }
    fn mark_congestion(&mut self) {
        self.is_marked = true;
    }
}

pub(super) fn slot(number: u64, bytes: u64, packet: Datagram) -> Slot<Datagram> {
    Slot { number, bytes: Bytes::new(bytes), entered: Port::Gateway, packet }
}

pub(super) fn of_flow(flow: u64) -> Datagram {
    Datagram { flow, ..PLAIN }
}

fn of_class(class: Class) -> Datagram {
    Datagram { class, ..PLAIN }
}

pub(super) fn millis(count: u64) -> Instant {
    Instant::START + Duration::from_millis(count)
}

const QUANTUM: Bytes = Bytes::new(1514);

const ALL: [Discipline; 5] = [
    Discipline::DropTail,
    Discipline::CoDel(CoDel::DEFAULT),
    Discipline::FairQueue { quantum: QUANTUM },
    Discipline::FqCoDel { quantum: QUANTUM, codel: CoDel::DEFAULT },
    Discipline::Priority,
];

/// A queue at the start of time, and what it gave up.
struct AtStart {
    queue: Queue<Datagram>,
    dropped: Dropped<Datagram>,
}

impl AtStart {
    fn new(limit: QueueLimit, discipline: Discipline) -> Self {
        Self { queue: Queue::new(limit, discipline), dropped: Vec::new() }
    }

    fn enqueue(&mut self, number: u64, bytes: u64, packet: Datagram) {
        self.queue.enqueue(Instant::START, slot(number, bytes, packet), &mut self.dropped);
    }

    fn set_discipline(&mut self, discipline: Discipline) {
        self.queue.set_discipline(Instant::START, discipline);
    }

    /// Numbers of what was dropped so far.
    fn dropped(&self) -> Vec<u64> {
        self.dropped.iter().map(|(slot, _)| slot.number).collect()
    }

    /// Numbers of everything that waits, in the order it is sent.
    fn drain(&mut self) -> Vec<u64> {
        let dropped = &mut self.dropped;
        core::iter::from_fn(|| self.queue.dequeue(Instant::START, dropped)).map(|slot| slot.number).collect()
    }
}

#[test]
fn drop_tail_counts_bytes_or_packets() {
    for limit in [QueueLimit::Bytes(Bytes::new(3000)), QueueLimit::Packets(2)] {
        let mut queue = AtStart::new(limit, Discipline::DropTail);
        (0..3).for_each(|number| queue.enqueue(number, 1500, PLAIN));
        assert_eq!((queue.dropped(), queue.drain()), (vec![2], vec![0, 1]), "{limit}");
    }
    let mut queue = AtStart::new(QueueLimit::Packets(3), Discipline::DropTail);
    (0..3).for_each(|number| queue.enqueue(number, 100_000, PLAIN));
    assert_eq!(queue.drain(), [0, 1, 2], "packets are counted whatever their size");
}

#[test]
fn a_queue_without_room_holds_nothing() {
    for discipline in ALL {
        for limit in [QueueLimit::Packets(0), QueueLimit::Bytes(Bytes::ZERO)] {
            let mut queue = AtStart::new(limit, discipline);
            (0..3).for_each(|number| queue.enqueue(number, 1, of_flow(number)));
            assert_eq!((queue.dropped(), queue.drain()), (vec![0, 1, 2], vec![]), "{discipline}, {limit}");
        }
    }
}

#[test]
fn an_arrival_larger_than_the_limit_pushes_nobody_out() {
    for (discipline, flow) in ALL.into_iter().flat_map(|discipline| [(discipline, 0), (discipline, 1)]) {
        let mut queue = AtStart::new(QueueLimit::Bytes(Bytes::new(3000)), discipline);
        (0..2).for_each(|number| queue.enqueue(number, 1500, of_class(Class::Low)));
        queue.enqueue(2, 3001, Datagram { class: Class::High, flow, ..PLAIN });
        assert_eq!((queue.dropped(), queue.drain()), (vec![2], vec![0, 1]), "{discipline}, flow {flow}");
    }
}

#[test]
fn an_unlimited_queue_holds_what_can_be_counted() {
    let codel = CoDel { target: Duration::MAX, interval: Duration::MAX, ecn: false };
    let quantum = Bytes::new(u64::MAX);
    let vast = [
        Discipline::CoDel(codel),
        Discipline::FairQueue { quantum },
        Discipline::FqCoDel { quantum, codel },
        Discipline::FairQueue { quantum: Bytes::new(1) },
    ];
    for discipline in ALL.into_iter().chain(vast) {
        for limit in [QueueLimit::Unlimited, QueueLimit::Packets(u64::MAX), QueueLimit::Bytes(Bytes::new(u64::MAX))] {
            let mut queue = AtStart::new(limit, discipline);
            queue.enqueue(0, u64::MAX - 1, of_flow(0));
            queue.enqueue(1, 2, of_flow(1));
            queue.enqueue(2, 1, of_flow(2));
            assert_eq!((queue.dropped(), queue.drain()), (vec![1], vec![0, 2]), "{discipline}, {limit}");
        }
    }
}

#[test]
fn a_smaller_limit_keeps_what_waits_until_an_arrival_needs_room() {
    for (discipline, dropped) in ALL.into_iter().zip([vec![4], vec![4], vec![0, 1, 2], vec![0, 1, 2], vec![4]]) {
        let mut queue = AtStart::new(QueueLimit::Unlimited, discipline);
        (0..4).for_each(|number| queue.enqueue(number, 1500, PLAIN));
        queue.queue.set_limit(QueueLimit::Packets(2));
        assert_eq!(queue.queue.count().packets, 4, "{discipline}");
        queue.enqueue(4, 100, of_flow(1));
        assert_eq!(queue.dropped(), dropped, "{discipline}");
    }
}

#[test]
fn another_discipline_sorts_what_waits_in_order_of_arrival() {
    let mut queue = AtStart::new(QueueLimit::Unlimited, Discipline::DropTail);
    let classes = [Class::Low, Class::High, Class::Normal, Class::High];
    classes.into_iter().zip(0..).for_each(|(class, number)| queue.enqueue(number, 1500, of_class(class)));
    queue.set_discipline(Discipline::Priority);
    assert_eq!(queue.queue.dequeue(Instant::START, &mut queue.dropped).map(|slot| slot.number), Some(1));
    queue.queue.set_limit(QueueLimit::Packets(1));
    queue.set_discipline(Discipline::DropTail);
    assert_eq!((queue.drain(), queue.dropped()), (vec![0, 2, 3], vec![]), "even what is more than the limit");
}

#[test]
fn another_discipline_knows_how_long_packets_have_waited() {
    let mut queue = AtStart::new(QueueLimit::Unlimited, Discipline::DropTail);
    (0..10).for_each(|number| queue.enqueue(number, 1500, PLAIN));
    queue.queue.set_discipline(millis(1000), Discipline::CoDel(CoDel::DEFAULT));
    queue.queue.dequeue(millis(1000), &mut queue.dropped);
    queue.queue.dequeue(millis(1099), &mut queue.dropped);
    assert_eq!(queue.dropped(), []);
    queue.queue.dequeue(millis(1100), &mut queue.dropped);
    assert_eq!(queue.dropped(), [2], "an interval after the first packet that waited too long");
}

#[test]
fn other_parameters_of_a_discipline_leave_its_state_alone() {
    // Flow 0 has spent its quantum. If it were sorted anew, it would be served before flow 1.
    let mut queue = AtStart::new(QueueLimit::Unlimited, Discipline::FairQueue { quantum: Bytes::new(1500) });
    [0, 0, 1].into_iter().zip(0..).for_each(|(flow, number)| queue.enqueue(number, 1500, of_flow(flow)));
    queue.queue.dequeue(Instant::START, &mut queue.dropped);
    queue.set_discipline(Discipline::FairQueue { quantum: Bytes::new(3000) });
    assert_eq!(queue.drain(), [2, 1]);
}

#[test]
fn classes_have_a_queue_each() {
    let mut queue = AtStart::new(QueueLimit::Packets(2), Discipline::Priority);
    let classes = [Class::Low, Class::Normal, Class::Low, Class::Normal];
    classes.into_iter().zip(0..).for_each(|(class, number)| queue.enqueue(number, 1500, of_class(class)));
    let rooms = |queue: &AtStart| Class::ALL.map(|class| queue.queue.room(class));
    assert_eq!(rooms(&queue), [2, 0, 0].map(QueueLimit::Packets));
    (4..8).for_each(|number| queue.enqueue(number, 1500, of_class(Class::High)));
    queue.enqueue(8, 1500, of_class(Class::Low));
    assert_eq!(rooms(&queue), [0; 3].map(QueueLimit::Packets));
    assert_eq!((queue.dropped(), queue.drain()), (vec![6, 7, 8], vec![4, 5, 1, 3, 0, 2]));
}

#[test]
fn other_disciplines_have_one_room_for_all_classes() {
    for discipline in ALL.into_iter().filter(|discipline| *discipline != Discipline::Priority) {
        let mut queue = AtStart::new(QueueLimit::Bytes(Bytes::new(3000)), discipline);
        queue.enqueue(0, 2000, of_class(Class::High));
        let rooms = Class::ALL.map(|class| queue.queue.room(class));
        assert_eq!(rooms, [QueueLimit::Bytes(Bytes::new(1000)); 3], "{discipline}");
    }
}

/// One call of a script.
#[derive(Debug, Clone)]
enum Step {
    Enqueue(u64, Datagram),
    Dequeue,
    Wait(Duration),
    Limit(QueueLimit),
    Discipline(Discipline),
}

fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        Just(QueueLimit::Unlimited),
        (0_u64..20_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        (0_u64..20).prop_map(QueueLimit::Packets),
    ]
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    let codel = (0_u64..10, 1_u64..50, any::<bool>()).prop_map(|(target, interval, ecn)| CoDel {
        target: Duration::from_millis(target),
        interval: Duration::from_millis(interval),
        ecn,
    });
    let quantum = (1_u64..4000).prop_map(Bytes::new);
    prop_oneof![
        Just(Discipline::DropTail),
        codel.clone().prop_map(Discipline::CoDel),
        quantum.clone().prop_map(|quantum| Discipline::FairQueue { quantum }),
        (quantum, codel).prop_map(|(quantum, codel)| Discipline::FqCoDel { quantum, codel }),
        Just(Discipline::Priority),
    ]
}

fn packets() -> impl Strategy<Value = Datagram> {
    let class = (0..Class::ALL.len()).prop_map(|place| Class::ALL[place]);
    (0_u64..5, class, any::<bool>()).prop_map(|(flow, class, is_ecn_capable)| Datagram {
        flow,
        class,
        is_ecn_capable,
        is_marked: false,
    })
}

fn scripts() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        50 => (0_u64..3000, packets()).prop_map(|(bytes, packet)| Step::Enqueue(bytes, packet)),
        35 => Just(Step::Dequeue),
        15 => (0_u64..20).prop_map(|span| Step::Wait(Duration::from_millis(span))),
        1 => limits().prop_map(Step::Limit),
        1 => disciplines().prop_map(Step::Discipline),
    ];
    proptest::collection::vec(step, 1..400)
}

/// A queue, and books that are kept without it.
struct Audit {
    now: Instant,
    limit: QueueLimit,
    discipline: Discipline,
    queue: Queue<Datagram>,
    dropped: Dropped<Datagram>,
    arrivals: u64,
    waiting: BTreeMap<u64, Slot<Datagram>>,
    /// The last packet sent of each flow and class.
    last_sent: BTreeMap<(u64, Class), u64>,
}

impl Audit {
    fn new(limit: QueueLimit, discipline: Discipline) -> Self {
        Self {
            now: Instant::START,
            limit,
            discipline,
            queue: Queue::new(limit, discipline),
            dropped: Vec::new(),
            arrivals: 0,
            waiting: BTreeMap::new(),
            last_sent: BTreeMap::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Enqueue(bytes, packet) => self.enqueue(bytes, packet),
            Step::Dequeue => self.dequeue(),
            Step::Wait(span) => self.now += span,
            Step::Limit(limit) => {
                self.limit = limit;
                self.queue.set_limit(limit);
            }
            Step::Discipline(discipline) => {
                self.discipline = discipline;
                self.queue.set_discipline(self.now, discipline);
            }
        }
        self.check_books();
    }

    fn enqueue(&mut self, bytes: u64, packet: Datagram) {
        let arrival = slot(self.arrivals, bytes, packet);
        self.arrivals += 1;
        let before = self.beside(packet.class);
        self.waiting.insert(arrival.number, arrival.clone());
        self.queue.enqueue(self.now, arrival.clone(), &mut self.dropped);
        let dropped: Vec<u64> = self.dropped.iter().map(|(slot, _)| slot.number).collect();
        assert!(self.dropped.iter().all(|(_, reason)| *reason == DropReason::QueueFull));
        if self.discipline == Discipline::Priority {
            let fits = self.limit.admits(before, arrival.bytes);
            assert_eq!(dropped, if fits { vec![] } else { vec![arrival.number] }, "a class that is full refuses");
        }
        self.check_books();
        assert!(!self.limit.holds(before) || self.limit.holds(self.beside(packet.class)), "no more than the limit");
    }

    /// What waits in the queue of a class.
    fn beside(&self, class: Class) -> Count {
        let is_apart = self.discipline == Discipline::Priority;
        let waiting = self.waiting.values().filter(|slot| !is_apart || slot.packet.class == class);
        waiting.fold(Count::default(), |sum, slot| sum + Count { packets: 1, bytes: slot.bytes })
    }

    fn dequeue(&mut self) {
        let sent = self.queue.dequeue(self.now, &mut self.dropped);
        assert_eq!(sent.is_some(), !self.waiting.is_empty(), "a packet is sent if and only if one waits");
        let Some(sent) = sent else { return };
        assert!(self.dropped.iter().all(|(_, reason)| *reason == DropReason::QueueDelay));
        let before = self.last_sent.insert((sent.packet.flow, sent.packet.class), sent.number);
        assert!(before.is_none_or(|before| before < sent.number), "first in, first out within flow and class");
        if self.discipline == Discipline::Priority {
            let highest = self.waiting.values().map(|slot| slot.packet.class).min();
            assert_eq!(Some(sent.packet.class), highest, "no class is served while a higher one waits");
        }
        assert!(self.waiting.remove(&sent.number).is_some_and(|known| known.bytes == sent.bytes));
    }

    /// What came in and neither went out nor was given up, waits.
    fn check_books(&mut self) {
        for (slot, _) in self.dropped.drain(..) {
            assert!(self.waiting.remove(&slot.number).is_some(), "packet {} is dropped once", slot.number);
        }
        let bytes = self.waiting.values().map(|slot| slot.bytes).sum();
        assert_eq!(self.queue.count(), Count { packets: self.waiting.len() as u64, bytes });
    }
}

proptest! {
    #[test]
    fn what_comes_in_is_sent_dropped_or_waits(
        limit in limits(), discipline in disciplines(), script in scripts(),
    ) {
        let mut audit = Audit::new(limit, discipline);
        script.into_iter().for_each(|step| audit.step(step));
        while !audit.waiting.is_empty() {
            audit.step(Step::Dequeue);
        }
    }
}
