//! The flows a fair queue knows, each with its packets and its accounts.
//!
//! Every flow is itself, whatever the number of flows: [`Packet::flow`](crate::Packet::flow) is looked up exactly, where
//! RFC 8290 §4.1 hashes into a fixed number of queues that flows may share. A flow is known while it is in one of the
//! scheduler's lists, and after that as long as CoDel's memory of it makes a difference. Places of forgotten flows are
//! reused, together with the memory of their packets.

use super::codel::Control;
use super::fifo::Fifo;
use core::hash::{BuildHasherDefault, Hasher};
use core::ops::{Index, IndexMut};
use farhop_units::Instant;
use std::collections::HashMap;
use std::time::Duration;

/// A flow's place in the table, its own until it is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlowId(usize);

/// One flow.
#[derive(Debug)]
pub(super) struct Flow<P> {
    key: u64,
    state: State,
    /// What waits.
    pub(super) packets: Fifo<P>,
    /// Bytes it may still send in this round; what it sent too much is negative.
    pub(super) deficit: i64,
    /// CoDel's account of it.
    pub(super) control: Control,
}

/// Where a flow stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In one of the scheduler's lists.
    Active,
    /// Remembered for CoDel's sake.
    Idle,
    /// A place without a flow.
    Unused,
}

/// All flows that are known.
#[derive(Debug)]
pub(super) struct Flows<P> {
    places: Vec<Flow<P>>,
    unused: Vec<FlowId>,
    known: HashMap<u64, FlowId, BuildHasherDefault<FlowHasher>>,
    /// CoDel's interval, which decides how long idle flows are remembered; `None` if they need not be.
    interval: Option<Duration>,
    /// Where the search for flows to forget goes on.
    hand: usize,
}

impl<P> Flows<P> {
    /// No flows.
    pub(super) fn new(interval: Option<Duration>) -> Self {
        Self { places: Vec::new(), unused: Vec::new(), known: HashMap::default(), interval, hand: 0 }
    }

    /// Changes CoDel's interval.
    pub(super) fn set_interval(&mut self, interval: Option<Duration>) {
        self.interval = interval;
    }

    /// The flow of this key, and whether it was active already; it is now.
    pub(super) fn activate(&mut self, now: Instant, key: u64) -> (FlowId, bool) {
        let id = match self.known.get(&key) {
            Some(id) => *id,
            None => self.make(now, key),
        };
        let was_active = self[id].state == State::Active;
        self[id].state = State::Active;
        (id, was_active)
    }

    /// An empty flow has left the scheduler's lists.
    pub(super) fn deactivate(&mut self, now: Instant, id: FlowId) {
        self[id].control.rest();
        self[id].state = State::Idle;
        self.forget_if_idle(now, id);
    }

    /// Everything, flow by flow.
    pub(super) fn into_flows(self) -> impl Iterator<Item = Flow<P>> {
        self.places.into_iter()
    }

    /// A place for a new flow. Looking at two others for each keeps idle flows from piling up.
    fn make(&mut self, now: Instant, key: u64) -> FlowId {
        for _ in 0..2.min(self.places.len()) {
            self.hand = (self.hand + 1) % self.places.len();
            self.forget_if_idle(now, FlowId(self.hand));
        }
        let id = self.unused.pop().unwrap_or_else(|| {
            self.places.push(Flow::unused());
            FlowId(self.places.len() - 1)
        });
        self[id].key = key;
        self.known.insert(key, id);
        id
    }

    /// Forgets the flow if it is idle and a new one would be treated alike.
    fn forget_if_idle(&mut self, now: Instant, id: FlowId) {
        let flow = &self.places[id.0];
        let memory = self.interval.and_then(|interval| flow.control.remembered(now, interval));
        if flow.state == State::Idle && memory.is_none() {
            self.known.remove(&flow.key);
            self[id].state = State::Unused;
            self[id].control = Control::default();
            self.unused.push(id);
        }
    }
}

impl<P> Flow<P> {
    fn unused() -> Self {
        Self { key: 0, state: State::Unused, packets: Fifo::new(), deficit: 0, control: Control::default() }
    }
}

impl<P> Index<FlowId> for Flows<P> {
    type Output = Flow<P>;
    fn index(&self, id: FlowId) -> &Flow<P> {
        &self.places[id.0]
    }
}

impl<P> IndexMut<FlowId> for Flows<P> {
    fn index_mut(&mut self, id: FlowId) -> &mut Flow<P> {
        &mut self.places[id.0]
    }
}

/// Spreads keys, which may be small numbers, over 64 bits: both halves of a product by 2^64 divided by the golden ratio.
/// The same in every run, unlike the standard library's.
#[derive(Debug, Default)]
struct FlowHasher(u64);

impl Hasher for FlowHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, key: u64) {
        let product = u128::from(self.0 ^ key) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_forgotten_flows_are_reused() {
        let mut flows = Flows::<()>::new(None);
        for key in 0..1000 {
            let (id, was_active) = flows.activate(Instant::START, key);
            assert!(!was_active);
            assert_eq!(flows.activate(Instant::START, key), (id, true));
            flows.deactivate(Instant::START, id);
        }
        assert_eq!((flows.places.len(), flows.known.len()), (1, 0));
    }

    #[test]
    fn flows_of_the_same_low_or_high_bits_spread() {
        let hash = |key: u64| {
            let mut hasher = FlowHasher::default();
            hasher.write_u64(key);
            hasher.finish()
        };
        for shift in [0, 16, 32, 48] {
            let mut low: Vec<u64> = (0..256).map(|key| hash(key << shift) % 256).collect();
            low.sort_unstable();
            low.dedup();
            // 256 keys thrown at random into 256 places would fill 63 % of them.
            assert!(low.len() > 128, "{} places for keys in steps of 2^{shift}", low.len());
        }
    }
}
