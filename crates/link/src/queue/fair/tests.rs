use super::super::tests::{Datagram, millis, of_flow, slot};
use super::*;
use proptest::prelude::*;

/// A fair queue at the start of time.
struct AtStart {
    queue: FairQueue<Datagram>,
    limit: QueueLimit,
    dropped: Dropped<Datagram>,
    arrivals: u64,
}

impl AtStart {
    fn new(quantum: u64, limit: QueueLimit) -> Self {
        Self { queue: FairQueue::new(Bytes::new(quantum), None), limit, dropped: Vec::new(), arrivals: 0 }
    }

    fn with_codel(limit: QueueLimit) -> Self {
        let queue = FairQueue::new(Bytes::new(1500), Some(CoDel::DEFAULT));
        Self { queue, limit, dropped: Vec::new(), arrivals: 0 }
    }

    fn enqueue(&mut self, flow: u64, bytes: u64) {
        let waiting = Waiting { since: Instant::START, slot: slot(self.arrivals, bytes, of_flow(flow)) };
        self.arrivals += 1;
        self.queue.enqueue(waiting, self.limit, &mut self.dropped);
    }

    fn dequeue(&mut self) -> Option<Slot<Datagram>> {
        self.queue.dequeue(Instant::START, &mut self.dropped)
    }

    fn next_flow(&mut self) -> Option<u64> {
        self.dequeue().map(|slot| slot.packet.flow)
    }

    fn drain(&mut self) -> Vec<u64> {
        core::iter::from_fn(|| self.next_flow()).collect()
    }

    fn dropped(&self) -> Vec<u64> {
        self.dropped.iter().map(|(slot, _)| slot.number).collect()
    }
}

#[test]
fn flows_take_turns_by_bytes() {
    let mut queue = AtStart::new(1500, QueueLimit::Unlimited);
    [1; 3].into_iter().for_each(|flow| queue.enqueue(flow, 1500));
    [2; 9].into_iter().for_each(|flow| queue.enqueue(flow, 500));
    assert_eq!(queue.drain(), [1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2]);
}

#[test]
fn a_sparse_flow_goes_first() {
    let mut queue = AtStart::new(1500, QueueLimit::Unlimited);
    (0..100).for_each(|packet| queue.enqueue(packet % 4, 1500));
    for _ in 0..10 {
        queue.dequeue();
    }
    queue.enqueue(9, 100);
    assert_eq!(queue.next_flow(), Some(9));
}

#[test]
fn flows_that_come_and_go_do_not_starve_one_that_stays() {
    // Flows 2 and 3 send a packet as soon as the other's has left: one of them is always there.
    let mut queue = AtStart::new(1500, QueueLimit::Unlimited);
    (0..200).for_each(|_| queue.enqueue(1, 1500));
    queue.enqueue(2, 100);
    let mut stayed = 0;
    for _ in 0..100 {
        match queue.next_flow() {
            Some(1) => stayed += 1,
            Some(flow) => queue.enqueue(5 - flow, 100),
            None => panic!("packets wait"),
        }
    }
    assert!(stayed >= 20, "{stayed} of 100 packets");
}

#[test]
fn a_full_queue_drops_from_the_head_of_the_longest_flow() {
    let mut queue = AtStart::new(1500, QueueLimit::Packets(6));
    // Flow 2 has more packets, flow 1 more bytes.
    [(1, 1500), (1, 1500), (2, 100), (2, 100), (2, 100), (3, 100)].into_iter().for_each(|(f, b)| queue.enqueue(f, b));
    queue.enqueue(3, 100);
    queue.enqueue(3, 100);
    assert_eq!(queue.dropped(), [0, 1]);
    assert!(queue.dropped.iter().all(|(_, reason)| *reason == DropReason::QueueFull));
    assert_eq!(queue.drain(), [2, 2, 2, 3, 3, 3]);
}

#[test]
fn an_arrival_of_many_bytes_makes_room_for_all_of_them() {
    let mut queue = AtStart::new(1500, QueueLimit::Bytes(Bytes::new(2000)));
    (0..10).for_each(|_| queue.enqueue(1, 200));
    queue.enqueue(2, 900);
    assert_eq!(queue.dropped(), [0, 1, 2, 3, 4]);
    assert_eq!(queue.queue.count(), Count { packets: 6, bytes: Bytes::new(1900) });
}

#[test]
fn packets_without_a_byte_make_room_too() {
    let mut queue = AtStart::new(1500, QueueLimit::Packets(1));
    [1, 2, 1].into_iter().for_each(|flow| queue.enqueue(flow, 0));
    assert_eq!((queue.dropped(), queue.drain()), (vec![1, 0], vec![1]));
}

#[test]
fn with_codel_half_of_the_longest_flow_goes_and_no_more_than_64_packets() {
    for (waiting, batch) in [(1, 1), (2, 1), (3, 2), (10, 5), (127, 64), (128, 64), (1000, 64)] {
        let mut queue = AtStart::with_codel(QueueLimit::Packets(waiting));
        (0..waiting).for_each(|_| queue.enqueue(1, 1500));
        queue.enqueue(2, 100);
        assert_eq!(queue.dropped(), (0..batch).collect::<Vec<u64>>(), "{waiting} packets");
    }
}

#[test]
fn a_quantum_far_below_a_packet_costs_no_time() {
    // A round at a time, this would take four billion of them.
    let mut queue = AtStart::new(1, QueueLimit::Unlimited);
    [(1, 1 << 32), (2, 1 << 31), (1, 1), (2, 1), (2, 1)].into_iter().for_each(|(f, b)| queue.enqueue(f, b));
    assert_eq!(queue.drain(), [1, 2, 2, 2, 1]);
}

#[test]
fn flows_without_packets_do_not_pile_up_while_nothing_is_sent() {
    let mut queue = AtStart::with_codel(QueueLimit::Packets(10));
    (0..100_000).for_each(|flow| queue.enqueue(flow, 1500));
    assert_eq!(queue.queue.count().packets, 10);
    let known = queue.queue.flows.into_flows().count();
    assert!(known <= EMPTY_FLOWS + 1, "{known} flows for 10 packets");
}

#[test]
fn flows_that_codel_remembers_are_forgotten_in_time() {
    // A new flow every second, which is dropped from twice in a row.
    let mut queue = FairQueue::new(Bytes::new(1500), Some(CoDel::DEFAULT));
    let (mut dropped, mut drops) = (Vec::new(), Vec::new());
    for flow in 0..100 {
        for number in 0..1000 {
            let waiting = Waiting { since: millis(1000 * flow), slot: slot(number, 1500, of_flow(flow)) };
            queue.push(millis(1000 * flow), waiting);
        }
        for span in 0..400 {
            queue.dequeue(millis(1000 * flow + span), &mut dropped);
        }
        while queue.dequeue(millis(1000 * flow + 400), &mut dropped).is_some() {}
        drops.push(dropped.drain(..).count());
    }
    assert!(drops.iter().all(|drops| *drops > 3), "every flow is worth remembering");
    let known = queue.flows.into_flows().count();
    assert!(known <= 6, "{known} flows, where two are remembered at a time");
}

/// Deficit round robin a visit at a time, with nothing but lists.
#[derive(Default)]
struct Reference {
    quantum: i64,
    new: VecDeque<u64>,
    old: VecDeque<u64>,
    flows: [(i64, VecDeque<i64>); 4],
}

impl Reference {
    fn enqueue(&mut self, flow: u64, bytes: i64) {
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.flows[flow as usize].0 = self.quantum;
            self.new.push_back(flow);
        }
        self.flows[flow as usize].1.push_back(bytes);
    }

    fn dequeue(&mut self) -> Option<(u64, i64)> {
        loop {
            let is_new = !self.new.is_empty();
            let flow = if is_new { self.new.pop_front() } else { self.old.pop_front() }?;
            let (deficit, packets) = &mut self.flows[flow as usize];
            if *deficit <= 0 {
                *deficit += self.quantum;
                self.old.push_back(flow);
            } else if let Some(bytes) = packets.pop_front() {
                *deficit -= bytes;
                if is_new {
                    self.new.push_front(flow);
                } else {
                    self.old.push_front(flow);
                }
                return Some((flow, bytes));
            } else if is_new {
                self.old.push_back(flow);
            }
        }
    }
}

proptest! {
    #[test]
    fn skipped_rounds_change_nothing(
        quantum in 1_u64..2000, script in proptest::collection::vec((0_u64..4, 0_u64..3000, any::<bool>()), 1..300),
    ) {
        let mut reference = Reference { quantum: credit(Bytes::new(quantum)), ..Reference::default() };
        let mut queue = AtStart::new(quantum, QueueLimit::Unlimited);
        let sent = |slot: Slot<Datagram>| (slot.packet.flow, credit(slot.bytes));
        for (flow, bytes, is_arrival) in script {
            if is_arrival {
                reference.enqueue(flow, credit(Bytes::new(bytes)));
                queue.enqueue(flow, bytes);
            } else {
                prop_assert_eq!(queue.dequeue().map(sent), reference.dequeue());
            }
        }
    }

    #[test]
    fn backlogged_flows_are_served_alike(
        quantum in 1_u64..5000, sizes in proptest::collection::vec((1_u64..2000, 1_u64..2000), 2..200),
    ) {
        let mut queue = AtStart::new(quantum, QueueLimit::Unlimited);
        let mut waiting = [0, 0];
        for (first, second) in &sizes {
            for (flow, bytes) in [(0, *first), (1, *second)] {
                queue.enqueue(flow, bytes);
                waiting[flow as usize] += bytes;
            }
        }
        let largest = sizes.iter().map(|(first, second)| *first.max(second)).max().unwrap_or(0);
        let mut served = [0_u64, 0];
        while let Some(slot) = queue.dequeue() {
            served[slot.packet.flow as usize] += slot.bytes.get();
            if served[0] == waiting[0] || served[1] == waiting[1] {
                break;
            }
            prop_assert!(served[0].abs_diff(served[1]) < quantum + largest, "{served:?}");
        }
    }
}

#[test]
fn one_flow_of_each_of_many_is_found_again() {
    let mut queue = AtStart::new(1500, QueueLimit::Unlimited);
    (0..2).for_each(|_| (0..1000_u64).for_each(|flow| queue.enqueue(flow.wrapping_mul(u64::MAX / 1000), 1500)));
    let sent = queue.drain();
    let (first, second) = sent.split_at(1000);
    assert_eq!(first, second, "each flow once per round, in the same order");
}
