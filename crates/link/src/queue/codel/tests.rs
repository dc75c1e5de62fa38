use super::super::tests::{Datagram, PLAIN, millis, slot};
use super::super::{Discipline, Queue};
use super::*;

const BYTES: u64 = 1000;

/// CoDel alone, and the same for the only flow of a fair queue.
fn disciplines(codel: CoDel) -> [Discipline; 2] {
    [Discipline::CoDel(codel), Discipline::FqCoDel { quantum: Bytes::new(BYTES), codel }]
}

/// A queue that was filled in an instant and is sent at one packet per millisecond.
struct Overload {
    queue: Queue<Datagram>,
    /// Milliseconds.
    now: u64,
    /// When packets were dropped and when sent packets were marked, in milliseconds.
    dropped: Vec<u64>,
    marked: Vec<u64>,
}

impl Overload {
    fn new(discipline: Discipline) -> Self {
        let queue = Queue::new(QueueLimit::Unlimited, discipline);
        Self { queue, now: 0, dropped: Vec::new(), marked: Vec::new() }
    }

    fn fill(&mut self, at: u64, packets: u64, packet: Datagram) {
        self.now = at;
        let mut dropped = Vec::new();
        (0..packets).for_each(|number| self.queue.enqueue(millis(at), slot(number, BYTES, packet), &mut dropped));
        assert!(dropped.is_empty());
    }

    fn dequeue(&mut self) {
        let mut dropped = Vec::new();
        let sent = self.queue.dequeue(millis(self.now), &mut dropped);
        self.marked.extend(sent.filter(|slot| slot.packet.is_marked).map(|_| self.now));
        self.dropped.extend(dropped.iter().map(|(_, reason)| {
            assert_eq!(*reason, DropReason::QueueDelay);
            self.now
        }));
    }

    /// One packet per millisecond until `end`, excluded.
    fn send_until(&mut self, end: u64) {
        while self.now < end {
            self.dequeue();
            self.now += 1;
        }
    }

    /// Everything at once.
    fn empty(&mut self) {
        while self.queue.count().packets > 0 {
            self.dequeue();
        }
        self.dequeue();
    }
}

/// At 5 ms the head has waited for the target, at 105 ms that was so for an interval. The next drops are due 100/√1, 100/√2,
/// 100/√3, … ms one after the other: at 205, 275.71, 333.45, 383.45, 428.17 ms, each with the next packet sent.
const DROPS: [u64; 6] = [105, 205, 276, 334, 384, 429];

#[test]
fn a_standing_queue_is_dropped_from_ever_more_often() {
    for discipline in disciplines(CoDel::DEFAULT) {
        let mut overload = Overload::new(discipline);
        overload.fill(0, 1000, PLAIN);
        overload.send_until(450);
        assert_eq!(overload.dropped, DROPS, "{discipline}");
    }
}

#[test]
fn packets_that_understand_it_are_marked_at_the_same_times() {
    let ecn = CoDel { ecn: true, ..CoDel::DEFAULT };
    let capable = Datagram { is_ecn_capable: true, ..PLAIN };
    let none = Vec::new();
    for (codel, packet, dropped, marked) in [
        (ecn, capable, none.clone(), DROPS.to_vec()),
        (ecn, PLAIN, DROPS.to_vec(), none.clone()),
        (CoDel::DEFAULT, capable, DROPS.to_vec(), none),
    ] {
        for discipline in disciplines(codel) {
            let mut overload = Overload::new(discipline);
            overload.fill(0, 1000, packet);
            overload.send_until(450);
            assert_eq!((&overload.dropped, &overload.marked), (&dropped, &marked), "{discipline}");
        }
    }
}

#[test]
fn a_queue_that_is_soon_bad_again_goes_on_where_it_was() {
    // The sixth drop has set the next to 468.99 ms; there were five since the first. Until 16 intervals later they count:
    // the next ones are due 100/√5 and 100/√6 ms after the first.
    for (again, drops) in [(500, [605, 650, 691]), (1950, [2055, 2100, 2141]), (1970, [2075, 2175, 2246])] {
        for discipline in disciplines(CoDel::DEFAULT) {
            let mut overload = Overload::new(discipline);
            overload.fill(0, 1000, PLAIN);
            overload.send_until(450);
            overload.empty();
            assert_eq!(overload.dropped, DROPS);
            overload.fill(again, 1000, PLAIN);
            overload.send_until(again + 205 + 72);
            assert_eq!(overload.dropped[DROPS.len()..][..3], drops, "{discipline}");
        }
    }
}

#[test]
fn a_delay_below_the_target_begins_the_interval_anew() {
    for discipline in disciplines(CoDel::DEFAULT) {
        let mut overload = Overload::new(discipline);
        overload.fill(0, 60, PLAIN);
        overload.send_until(59);
        // The last of the first 60 is sent at 59 ms, and at 60 ms one that has waited for 1 ms; at 64 ms it is 5 ms again.
        overload.fill(59, 1000, PLAIN);
        overload.send_until(170);
        assert_eq!(overload.dropped, [164], "{discipline}");
    }
}

#[test]
fn the_largest_packet_of_backlog_is_left_alone() {
    for (waiting, is_dropped) in [(2, false), (3, true)] {
        for discipline in disciplines(CoDel::DEFAULT) {
            let mut overload = Overload::new(discipline);
            overload.fill(0, waiting, PLAIN);
            for second in 1..10 {
                overload.now = 1000 * second;
                overload.dequeue();
                // Those who are dropped are not replaced: the backlog gets no longer.
                overload.fill(1000 * second, waiting - overload.queue.count().packets, PLAIN);
            }
            assert_eq!(!overload.dropped.is_empty(), is_dropped, "{discipline}, {waiting} packets");
        }
    }
}

#[test]
fn drops_that_are_overdue_happen_at_once() {
    for discipline in disciplines(CoDel::DEFAULT) {
        let mut overload = Overload::new(discipline);
        overload.fill(0, 1000, PLAIN);
        overload.send_until(106);
        // Due by 340 ms: those of 205, 275.71 and 333.45 ms.
        overload.now = 340;
        overload.dequeue();
        assert_eq!(overload.dropped, [105, 340, 340, 340], "{discipline}");
    }
}

#[test]
fn marks_that_are_overdue_happen_one_per_packet() {
    for discipline in disciplines(CoDel { ecn: true, ..CoDel::DEFAULT }) {
        let mut overload = Overload::new(discipline);
        overload.fill(0, 1000, Datagram { is_ecn_capable: true, ..PLAIN });
        overload.send_until(106);
        overload.now = 340;
        overload.send_until(380);
        assert_eq!(overload.marked, [105, 340, 341, 342], "{discipline}");
        assert_eq!(overload.dropped, [], "{discipline}");
    }
}

#[test]
fn the_spacing_is_the_interval_by_the_root_of_the_count() {
    let interval = Duration::from_millis(100);
    let nanos = [1, 2, 3, 4, 10, 1_000_000].map(|count| spacing(interval, count).as_nanos());
    assert_eq!(nanos, [100_000_000, 70_710_678, 57_735_026, 50_000_000, 31_622_776, 100_000]);
    assert_eq!(spacing(Duration::MAX, 1), Duration::from_nanos(u64::MAX));
    assert_eq!(spacing(Duration::MAX, u64::MAX), Duration::from_nanos(u64::from(u32::MAX)));
    assert_eq!(spacing(Duration::ZERO, 7), Duration::ZERO);
}
