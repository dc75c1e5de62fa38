//! Flows over a tube: frames, credit, turns.

use super::*;
use std::time::Duration;

/// Both ends over a link of 100 ms one way, on which nothing queues.
struct Link {
    tube: Tube,
    now: Instant,
    packets: VecDeque<(Instant, Side, Packet)>,
    heard: Vec<(Side, Heard)>,
    wakes: Vec<Instant>,
    /// What the far end's flows have still to write, which they do as there is room.
    left: BTreeMap<u32, Bytes>,
}

impl Link {
    fn new() -> Self {
        let sending = [Rate::mbps(1), Rate::mbps(10)].map(Sending::Rate);
        let limits = Limits { sending, modem: None };
        let mut link = Self {
            tube: Tube::open(Instant::START, &limits),
            now: Instant::START,
            packets: VecDeque::new(),
            heard: Vec::new(),
            wakes: Vec::new(),
            left: BTreeMap::new(),
        };
        link.run(1000);
        let up = |side| link.heard.contains(&(side, Heard::Up));
        assert!(up(Side::Near) && up(Side::Far));
        link.heard.clear();
        link
    }

    /// Lets so many ms pass.
    fn run(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            for side in [Side::Near, Side::Far] {
                while let Some(heard) = self.tube.poll(self.now, side) {
                    match heard {
                        Heard::Transmit(packet) => {
                            self.packets.push_back((self.now + Duration::from_millis(100), side.other(), packet));
                        }
                        heard => {
                            self.heard.push((side, heard));
                            if let Heard::Room { flow } = heard {
                                self.write_on(flow);
                            }
                        }
                    }
                }
                self.wakes.extend(self.tube.rearm(self.now, side));
            }
            let due = self.wakes.iter().copied().chain(self.packets.front().map(|(at, ..)| *at)).min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            self.wakes.retain(|wake| *wake > due);
            self.now = due;
            if let Some((_, side, packet)) = self.packets.pop_front_if(|(at, ..)| *at <= due) {
                self.tube.handle_packet(due, side, &packet);
            }
            for side in [Side::Near, Side::Far] {
                self.tube.handle_timeout(due, side);
            }
        }
        self.now = end;
    }

    fn write_on(&mut self, flow: u32) {
        if let Some(left) = self.left.get_mut(&flow) {
            *left -= self.tube.write(Side::Far, flow, *left);
        }
    }

    /// Whose turn it was to write at the far end.
    fn turns(&mut self) -> Vec<u32> {
        let heard = core::mem::take(&mut self.heard).into_iter();
        heard.filter_map(|(_, heard)| if let Heard::Room { flow } = heard { Some(flow) } else { None }).collect()
    }

    /// The frames that one end has heard.
    fn frames(&mut self, of: Side) -> Vec<(u32, Mark)> {
        let heard = core::mem::take(&mut self.heard).into_iter();
        heard
            .filter_map(|(side, heard)| match heard {
                Heard::Frame { flow, mark } if side == of => Some((flow, mark)),
                _ => None,
            })
            .collect()
    }
}

#[test]
fn bytes_of_one_instant_share_frames() {
    let mut link = Link::new();
    let flow = link.tube.open_flow(link.now, Side::Near, Content::Requested);
    link.tube.send(link.now, Side::Near, flow, Mark::Connect, 10);
    for _ in 0..20 {
        assert_eq!(link.tube.write(Side::Near, flow, Bytes::kb(1)), Bytes::kb(1));
    }
    link.run(99);
    assert_eq!(link.frames(Side::Far), [], "the way takes longer");
    link.run(901);
    let rest = Bytes::kb(20) - MAX_DATA;
    let expected = [Mark::Connect, Mark::Data(MAX_DATA), Mark::Data(rest)].map(|mark| (flow, mark));
    assert_eq!(link.frames(Side::Far), expected);
}

#[test]
fn a_flow_stops_when_its_reader_does() {
    let mut link = Link::new();
    let flow = link.tube.open_flow(link.now, Side::Far, Content::Requested);
    let (mut left, mut taken) = (Bytes::new(5_000_000), Bytes::ZERO);
    for _ in 0..100 {
        let now = link.tube.write(Side::Far, flow, left);
        (left, taken) = (left - now, taken + now);
        link.run(100);
    }
    assert_eq!(taken, INITIAL, "nothing has been granted beyond");
    link.tube.consumed(link.now, Side::Near, flow, taken);
    link.run(1000);
    assert!(link.heard.contains(&(Side::Far, Heard::Room { flow })));
    assert!(link.tube.write(Side::Far, flow, left) > Bytes::ZERO);
}

#[test]
fn flows_wait_in_turn_for_the_send_buffer() {
    let mut link = Link::new();
    let flows = [0; 2].map(|_| link.tube.open_flow(link.now, Side::Far, Content::Requested));
    for flow in flows {
        link.tube.consumed(link.now, Side::Near, flow, Bytes::ZERO);
    }
    link.run(500);
    for flow in flows {
        link.left.insert(flow, Bytes::kb(3000));
        link.write_on(flow);
    }
    let [first, second] = flows.map(|flow| link.left[&flow]);
    assert!(first > Bytes::kb(2000), "the buffer is shorter than that");
    assert_eq!(second, Bytes::kb(3000));
    link.run(2000);
    let [first, second] = flows.map(|flow| link.left[&flow]);
    assert!(second < Bytes::kb(2500), "the second has its share: {second}");
    assert!(first > Bytes::ZERO, "and so has the first");
    let turns = link.turns();
    let alternate = |turns: &[u32]| turns.windows(2).all(|turns| turns[0] != turns[1]);
    // The first falls behind when it has become a download, until the second has, too.
    assert!(alternate(&turns[..60]) && alternate(&turns[turns.len() - 20..]), "{turns:?}");
}

#[test]
fn what_is_urgent_has_the_send_buffer_first() {
    let mut link = Link::new();
    let pushed = [1, 2].map(|order| link.tube.open_flow(link.now, Side::Far, Content::Pushed { order }));
    let asked = link.tube.open_flow(link.now, Side::Far, Content::Requested);
    for flow in [pushed[0], pushed[1], asked] {
        link.tube.consumed(link.now, Side::Near, flow, Bytes::ZERO);
    }
    link.run(500);
    for (flow, kb) in [(pushed[0], 1000), (pushed[1], 1000), (asked, 30)] {
        link.left.insert(flow, Bytes::kb(kb));
        link.write_on(flow);
    }
    link.run(500);
    // What is asked for has written all it has before those that waited longer go on, and these one after the other.
    let turns = link.turns();
    assert!(turns.len() > 10 && turns[..2] == [asked; 2], "{turns:?}");
    assert!(turns[2..].iter().all(|flow| *flow == pushed[0]), "{turns:?}");
}

#[test]
fn an_end_finishes_a_stream_when_it_has_said_and_heard_that_all_is_there() {
    let mut link = Link::new();
    let flow = link.tube.open_flow(link.now, Side::Near, Content::Requested);
    link.tube.send(link.now, Side::Near, flow, Mark::Connect, 10);
    link.run(1000);
    link.tube.send(link.now, Side::Far, flow, Mark::End, 1);
    link.run(1000);
    link.frames(Side::Near);
    link.tube.send(link.now, Side::Near, flow, Mark::End, 1);
    assert_eq!(link.tube.poll(link.now, Side::Far), None, "nothing has come to the far end yet");
    link.run(1000);
    assert_eq!(link.frames(Side::Far), [(flow, Mark::End)]);
    let late = link.tube.ends.iter().filter_map(|end| end.connection.next_timeout()).find(|due| *due < link.now);
    assert_eq!((late, link.tube.ends.each_ref().map(|end| end.connection.held())), (None, [Bytes::ZERO; 2]));
    let room = link.tube.ends.each_ref().map(|end| end.connection.room(StreamId(flow)));
    assert_eq!(room, [Bytes::ZERO; 2], "both have finished it");
}
