//! Flows over k persistent TCP connections between the proxies of each terminal (nz-us-2000).
//!
//! The connections are legs like others, up before anybody asks for anything; what a [`Lane`] of the `transport` crate says is in
//! them comes out at the other end. When the first bytes of a reply come, the connection with the fewest bytes waiting or
//! unacknowledged is chosen; requests choose theirs in the same way. Several replies share a connection segment by segment.
//!
//! Ours: a connection takes bytes while fewer than [`SEND_BUFFER`] of it are unsent; a reply is what follows a request, and a flow keeps its
//! connection while anything of it is under way, so that replies of pipelined requests arrive in their order; that a flow is over takes a frame of its own, in either
//! direction; the gateway learns of a flow by its first bytes. What a relay has not passed on yet is unread in the connection that
//! brought it, whichever flow it is of, so that memory is bounded and a slow client holds back those with which it shares.

use super::{Said, StationId};
use crate::network::Side;
use crate::wake::Wake;
use farhop_scenario::Scenario;
use farhop_transport::StreamId;
use farhop_transport::multiplex::{Lane, REPLY_OVERHEAD, pick};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};

/// nz-us-2000, table 1: TCP buffer size of the proxies.
const SEND_BUFFER: Bytes = Bytes::new(32_767);

/// The connections of all terminals, and the flows in them.
#[derive(Debug)]
pub(crate) struct Lanes {
    mss: Bytes,
    per_terminal: usize,
    terminals: Vec<Terminal>,
}

/// What one terminal shares with the gateway.
#[derive(Debug, Default)]
struct Terminal {
    connections: Vec<Connection>,
    flows: BTreeMap<u32, Flow>,
    said: [VecDeque<Said>; 2],
    /// When a wake-up of either end is scheduled, if one is.
    wakes: [Wake; 2],
}

/// A connection between the proxies.
#[derive(Debug)]
struct Connection {
    leg: u32,
    /// What its near and its far end send.
    lanes: [Lane; 2],
    ends: [End; 2],
}

/// One end of a connection.
#[derive(Debug, Default)]
struct End {
    is_connected: bool,
    /// Written and not sent, and not acknowledged.
    unsent: Bytes,
    unacknowledged: Bytes,
    /// In frames that are not written yet: all of one instant are written together, so that the connection's segments are full.
    gathered: Bytes,
    /// What flows have that wait for room, and these flows.
    waiting: Bytes,
    queue: VecDeque<u32>,
    /// The flow that may write now.
    turn: Option<u32>,
    /// Come out and not passed on.
    unread: Bytes,
}

/// A leg of clients over the connections.
#[derive(Debug, Default)]
struct Flow {
    ways: [Way; 2],
    /// What its server's segments carry, if that is known.
    segment: Option<Bytes>,
    /// The gateway has heard of it.
    is_known: bool,
}

/// What one end of a flow sends.
#[derive(Debug, Default)]
struct Way {
    /// The one that was chosen for what it says now, until the other end has answered that.
    connection: Option<usize>,
    is_answered: bool,
    /// Taken here and not passed on at the other end.
    under_way: Bytes,
    /// What it has that the connection has not taken, as of when it last tried.
    waiting: Bytes,
    is_finished: bool,
    /// The other end knows that it is.
    has_ended: bool,
    is_closed: bool,
}

impl End {
    fn outstanding(&self) -> Bytes {
        self.gathered + self.unsent + self.unacknowledged + self.waiting
    }

    fn has_room(&self) -> bool {
        self.gathered + self.unsent < SEND_BUFFER
    }
}

impl Lanes {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let terminals = (0..scenario.link.terminals.max(1)).map(|_| Terminal::default()).collect();
        Self { mss: scenario.tcp.mss, per_terminal: scenario.multiplexed_connections, terminals }
    }

    /// How many connections each terminal is to have.
    pub(crate) fn per_terminal(&self) -> usize {
        self.per_terminal
    }

    /// A terminal has one more connection: this leg. Returns its number.
    pub(crate) fn add_connection(&mut self, terminal: u16, leg: u32) -> u32 {
        let connections = &mut self.terminals[usize::from(terminal)].connections;
        let lanes = [Lane::new(Bytes::ZERO), Lane::new(REPLY_OVERHEAD)];
        connections.push(Connection { leg, lanes, ends: Default::default() });
        u32::try_from(connections.len() - 1).expect("a scenario has fewer")
    }

    /// One end of a connection is there.
    pub(crate) fn connected(&mut self, id: StationId, connection: u32) {
        self.end(id, connection as usize).is_connected = true;
    }

    /// Whether every terminal that has connections has them all, and all are there.
    pub(crate) fn is_up(&self) -> bool {
        let connections = self.terminals.iter().flat_map(|terminal| &terminal.connections);
        connections.flat_map(|connection| &connection.ends).all(|end| end.is_connected)
    }

    pub(crate) fn open(&mut self, flow: u32, terminal: u16) {
        self.terminals[usize::from(terminal)].flows.insert(flow, Flow::default());
    }

    /// What the segments of a flow's server carry, each of which has a head of its own.
    pub(crate) fn cut_by(&mut self, flow: u32, terminal: u16, segment: Bytes) {
        if let Some(flow) = self.terminals[usize::from(terminal)].flows.get_mut(&flow) {
            flow.segment = Some(segment);
        }
    }

    pub(crate) fn forget(&mut self, flow: u32, terminal: u16) {
        self.terminals[usize::from(terminal)].flows.remove(&flow);
    }

    /// Writes what there is room for of `bytes`, in segments; returns how much that was.
    pub(crate) fn write(&mut self, id: StationId, flow: u32, bytes: Bytes) -> Bytes {
        let side = id.side as usize;
        let Terminal { connections, flows, .. } = &mut self.terminals[usize::from(id.terminal)];
        let Some(Flow { ways, segment, .. }) = flows.get_mut(&flow) else { return Bytes::ZERO };
        let (way, mss) = (&mut ways[side], segment.unwrap_or(self.mss));
        let chosen = way.choose(connections, side);
        let Some(connection) = connections.get_mut(chosen) else { return Bytes::ZERO };
        let Connection { lanes, ends, .. } = connection;
        let end = &mut ends[side];
        let mut taken = Bytes::ZERO;
        while taken < bytes && end.has_room() && end.admits(flow) {
            let segment = mss.min(bytes - taken);
            end.gathered += lanes[side].push(StreamId(flow), segment, false);
            taken += segment;
            end.turn = None;
        }
        way.under_way += taken;
        end.wait(flow, way, bytes - taken);
        taken
    }

    /// Says that nothing follows, once.
    pub(crate) fn finish(&mut self, id: StationId, flow: u32) {
        let side = id.side as usize;
        let Terminal { connections, flows, .. } = &mut self.terminals[usize::from(id.terminal)];
        let Some(way) = flows.get_mut(&flow).map(|flow| &mut flow.ways[side]) else { return };
        if core::mem::replace(&mut way.is_finished, true) {
            return;
        }
        let chosen = way.choose(connections, side);
        let Connection { lanes, ends, .. } = &mut connections[chosen];
        ends[side].gathered += lanes[side].push_end(StreamId(flow));
        self.see_to_close(id, flow);
    }

    /// So much of what came out has been passed on.
    pub(crate) fn read(&mut self, id: StationId, flow: u32, bytes: Bytes) {
        let (side, sender) = (id.side as usize, id.side.other() as usize);
        let Terminal { connections, flows, said, .. } = &mut self.terminals[usize::from(id.terminal)];
        let Some(way) = flows.get_mut(&flow).map(|flow| &mut flow.ways[sender]) else { return };
        way.under_way -= bytes;
        let Some(Connection { leg, ends, .. }) = way.connection.and_then(|chosen| connections.get_mut(chosen)) else {
            return;
        };
        ends[side].unread -= bytes;
        said[side].push_back(Said::Hold { leg: *leg, side: id.side, unread: ends[side].unread });
    }

    /// So many bytes have come over a connection.
    pub(crate) fn carried(&mut self, id: StationId, connection: u32, bytes: Bytes) {
        let (side, sender) = (id.side as usize, id.side.other());
        let Terminal { connections, flows, said, .. } = &mut self.terminals[usize::from(id.terminal)];
        let Connection { leg, lanes, ends } = &mut connections[connection as usize];
        let lane = &mut lanes[sender as usize];
        lane.receive(bytes);
        while let Some(piece) = lane.next_piece() {
            let number = piece.exchange.0;
            let Some(flow) = flows.get_mut(&number) else { continue };
            if id.side == Side::Far && !core::mem::replace(&mut flow.is_known, true) {
                said[side].push_back(Said::Connected { flow: number });
            }
            flow.ways[sender as usize].has_ended |= piece.finished;
            flow.ways[side].is_answered |= piece.bytes > Bytes::ZERO;
            ends[side].unread += piece.bytes;
            said[side].push_back(Said::Received { flow: number, bytes: piece.bytes, finished: piece.finished });
            see_to_close(flow, number, id.side, said);
        }
        // Told again when it has been read.
        said[side].push_back(Said::Hold { leg: *leg, side: id.side, unread: ends[side].unread });
    }

    /// What an end of a connection has not sent yet, and what is not acknowledged.
    pub(crate) fn set_outstanding(&mut self, id: StationId, connection: u32, unsent: Bytes, unacknowledged: Bytes) {
        let end = self.end(id, connection as usize);
        (end.unsent, end.unacknowledged) = (unsent, unacknowledged);
    }

    /// The wake-up of a station has come: what has been gathered is written. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        let side = id.side as usize;
        let Terminal { connections, said, wakes, .. } = &mut self.terminals[usize::from(id.terminal)];
        let counts = wakes[side].counts(now);
        for Connection { leg, ends, .. } in connections.iter_mut().filter(|_| counts) {
            let bytes = core::mem::take(&mut ends[side].gathered);
            if bytes > Bytes::ZERO {
                ends[side].unsent += bytes;
                said[side].push_back(Said::Carry { leg: *leg, bytes });
            }
        }
        counts
    }

    /// When a station is to be woken, if a wake-up at that time is not scheduled yet.
    pub(crate) fn rearm(&mut self, now: Instant, id: StationId) -> Option<Instant> {
        let Terminal { connections, wakes, .. } = &mut self.terminals[usize::from(id.terminal)];
        let side = id.side as usize;
        let has_gathered = connections.iter().any(|connection| connection.ends[side].gathered > Bytes::ZERO);
        wakes[side].arm(has_gathered.then_some(now))
    }

    pub(crate) fn poll(&mut self, id: StationId) -> Option<Said> {
        let side = id.side as usize;
        let Terminal { connections, said, .. } = &mut self.terminals[usize::from(id.terminal)];
        said[side]
            .pop_front()
            .or_else(|| connections.iter_mut().find_map(|connection| connection.ends[side].next_turn()))
    }

    fn see_to_close(&mut self, id: StationId, number: u32) {
        let Terminal { flows, said, .. } = &mut self.terminals[usize::from(id.terminal)];
        if let Some(flow) = flows.get_mut(&number) {
            see_to_close(flow, number, id.side, said);
        }
    }

    fn end(&mut self, id: StationId, connection: usize) -> &mut End {
        &mut self.terminals[usize::from(id.terminal)].connections[connection].ends[id.side as usize]
    }
}

/// An end of a flow is closed when it has said that it is finished and heard so.
fn see_to_close(flow: &mut Flow, number: u32, side: Side, said: &mut [VecDeque<Said>; 2]) {
    let is_over = flow.ways[side as usize].is_finished && flow.ways[side.other() as usize].has_ended;
    if is_over && !core::mem::replace(&mut flow.ways[side as usize].is_closed, true) {
        said[side as usize].push_back(Said::Closed { flow: number });
    }
}

/// The connection with the fewest bytes waiting or unacknowledged at one end.
fn least_burdened(connections: &[Connection], side: usize) -> usize {
    let burdens: Vec<Bytes> = connections.iter().map(|connection| connection.ends[side].outstanding()).collect();
    pick(&burdens).unwrap_or_default()
}

impl Way {
    /// The connection for what is written now: another one only if the other end has answered what came before, and nothing of that is under way.
    fn choose(&mut self, connections: &[Connection], side: usize) -> usize {
        let is_new = self.is_answered && self.under_way + self.waiting == Bytes::ZERO;
        let kept = self.connection.filter(|_| !is_new);
        let chosen = kept.unwrap_or_else(|| least_burdened(connections, side));
        (self.connection, self.is_answered) = (Some(chosen), self.is_answered && !is_new);
        chosen
    }
}

impl End {
    /// Whether `flow` may write: it is its turn, or nobody waits.
    fn admits(&self, flow: u32) -> bool {
        self.turn == Some(flow) || (self.turn.is_none() && self.queue.is_empty())
    }

    /// `flow` has so much left.
    fn wait(&mut self, flow: u32, way: &mut Way, left: Bytes) {
        self.waiting += left;
        self.waiting -= core::mem::replace(&mut way.waiting, left);
        if self.turn == Some(flow) {
            self.turn = None;
        }
        if left > Bytes::ZERO && !self.queue.contains(&flow) {
            self.queue.push_back(flow);
        }
    }

    /// Lets the next flow write, if there is room for it.
    fn next_turn(&mut self) -> Option<Said> {
        if !self.has_room() {
            return None;
        }
        let flow = self.queue.pop_front()?;
        self.turn = Some(flow);
        Some(Said::Room { flow })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: StationId = StationId { side: Side::Near, terminal: 0 };
    const FAR: StationId = StationId { side: Side::Far, terminal: 0 };

    /// Two connections, legs 100 and 101, and flows 1 to 3.
    fn lanes() -> Lanes {
        let assignments = ["tcp.mss=1000", "multiplexed.connections=2"].map(str::to_owned);
        let scenario = farhop_scenario::open("demo", &assignments).expect("the assignments are right");
        let mut lanes = Lanes::new(&scenario);
        assert_eq!([100, 101].map(|leg| lanes.add_connection(0, leg)), [0, 1]);
        (1..=3).for_each(|flow| lanes.open(flow, 0));
        lanes
    }

    #[test]
    fn replies_have_a_head_for_each_of_their_servers_segments() {
        let mut lanes = lanes();
        let before = lanes.terminals[0].connections[0].ends[1].gathered;
        lanes.cut_by(1, 0, Bytes::new(1480));
        (0..3).for_each(|_| assert_eq!(lanes.write(FAR, 1, Bytes::new(1480)), Bytes::new(1480)));
        let after = lanes.terminals[0].connections[0].ends[1].gathered;
        assert_eq!(after - before, (Bytes::new(1480) + REPLY_OVERHEAD) * 3);
    }

    fn all(lanes: &mut Lanes, id: StationId) -> Vec<Said> {
        if let Some(wake) = lanes.rearm(Instant::START, id) {
            lanes.handle_timeout(wake, id);
        }
        core::iter::from_fn(|| lanes.poll(id)).collect()
    }

    fn carry(leg: u32, bytes: u64) -> Said {
        Said::Carry { leg, bytes: Bytes::new(bytes) }
    }

    #[test]
    fn replies_take_the_connection_with_the_fewest_bytes_and_keep_it() {
        let mut lanes = lanes();
        assert_eq!(lanes.write(FAR, 1, Bytes::new(1500)), Bytes::new(1500));
        lanes.write(FAR, 2, Bytes::new(300));
        lanes.write(FAR, 3, Bytes::new(10));
        lanes.write(FAR, 2, Bytes::new(30));
        let expected = [carry(100, 1540), carry(101, 400)];
        assert_eq!(all(&mut lanes, FAR), expected, "20 bytes for each segment");
        // All is sent, and much of the second connection is not acknowledged.
        lanes.set_outstanding(FAR, 0, Bytes::ZERO, Bytes::new(100));
        lanes.set_outstanding(FAR, 1, Bytes::ZERO, Bytes::new(400));
        lanes.write(FAR, 2, Bytes::new(1));
        assert_eq!(all(&mut lanes, FAR), [carry(101, 21)], "more of a reply goes where it has begun");
        lanes.carried(NEAR, 1, Bytes::new(421));
        (2..=3).zip([331, 10]).for_each(|(flow, bytes)| lanes.read(NEAR, flow, Bytes::new(bytes)));
        lanes.write(FAR, 2, Bytes::new(1));
        assert_eq!(all(&mut lanes, FAR), [carry(101, 21)], "also where nothing of it is under way");
        lanes.carried(NEAR, 1, Bytes::new(21));
        lanes.read(NEAR, 2, Bytes::new(1));
        lanes.write(NEAR, 2, Bytes::new(7));
        all(&mut lanes, NEAR);
        lanes.carried(FAR, 0, Bytes::new(7));
        all(&mut lanes, FAR);
        lanes.write(FAR, 2, Bytes::new(1));
        assert_eq!(all(&mut lanes, FAR), [carry(100, 21)], "the next one has its own choice");
    }

    #[test]
    fn flows_that_share_a_full_connection_take_turns() {
        let mut lanes = lanes();
        lanes.set_outstanding(FAR, 1, SEND_BUFFER * 9, Bytes::ZERO);
        let taken = lanes.write(FAR, 1, Bytes::new(100_000));
        assert_eq!(taken, Bytes::new(33_000), "the segment that fills the buffer is the last");
        assert_eq!(lanes.write(FAR, 2, Bytes::new(5000)), Bytes::ZERO);
        all(&mut lanes, FAR);
        let mut left = [67_000, 5000];
        for flow in [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1] {
            // The connection sends one segment.
            lanes.set_outstanding(FAR, 0, SEND_BUFFER - Bytes::new(500), Bytes::ZERO);
            assert_eq!(lanes.poll(FAR), Some(Said::Room { flow }));
            let rest = &mut left[flow as usize - 1];
            assert_eq!(lanes.write(FAR, flow, Bytes::new(*rest)), Bytes::new(1000));
            *rest -= 1000;
            assert_eq!(all(&mut lanes, FAR), [carry(100, 1020)]);
        }
    }

    #[test]
    fn what_is_not_passed_on_is_unread_in_its_connection() {
        let mut lanes = lanes();
        lanes.write(FAR, 1, Bytes::new(1000));
        lanes.finish(FAR, 1);
        lanes.carried(NEAR, 0, Bytes::new(1040));
        let hold = |unread| Said::Hold { leg: 100, side: Side::Near, unread: Bytes::new(unread) };
        let received = |bytes, finished| Said::Received { flow: 1, bytes: Bytes::new(bytes), finished };
        assert_eq!(all(&mut lanes, NEAR), [received(1000, false), received(0, true), hold(1000)]);
        lanes.read(NEAR, 1, Bytes::new(600));
        assert_eq!(all(&mut lanes, NEAR), [hold(400)]);
    }

    #[test]
    fn a_flow_is_known_by_its_first_bytes_and_over_when_both_have_said_so() {
        let mut lanes = lanes();
        lanes.write(NEAR, 2, Bytes::new(100));
        (0..2).for_each(|_| lanes.finish(NEAR, 2));
        assert_eq!(all(&mut lanes, NEAR), [carry(100, 120)], "it is said once");
        lanes.carried(FAR, 0, Bytes::new(120));
        let heard = all(&mut lanes, FAR);
        assert_eq!(heard[0], Said::Connected { flow: 2 });
        assert!(!heard.contains(&Said::Closed { flow: 2 }));
        lanes.finish(FAR, 2);
        assert_eq!(all(&mut lanes, FAR), [Said::Closed { flow: 2 }, carry(100, 20)]);
        lanes.carried(NEAR, 0, Bytes::new(20));
        assert!(all(&mut lanes, NEAR).contains(&Said::Closed { flow: 2 }));
    }
}
