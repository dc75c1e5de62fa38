//! RWBP between the proxies at the two ends of the far link (zhou-2004 §IV).
//!
//! The gateway's proxy has the flows of all terminals, each terminal's its own; a leg over the link is a flow of its number.
//! The link's queue says how much room it has, so that nothing is dropped there; while a proxy waits for room it asks again when
//! the link can have sent a packet.

use super::tube::UNLIMITED;
use super::{Said, StationId};
use crate::network::Side;
use crate::packet;
use crate::wake::Wake;
use farhop_scenario::Scenario;
use farhop_transport::rwbp::{Packet, Proxy, RwbpConfig};
use farhop_transport::{Output, Room, StreamId};
use farhop_units::{Bytes, Instant, Rate};

/// What one flow sends at most, headers included.
pub(crate) fn peak_rate(scenario: &Scenario) -> Rate {
    scenario.rwbp.peak_rate.or_else(|| scenario.link.down.told_rate()).unwrap_or(UNLIMITED)
}

/// All proxies.
#[derive(Debug)]
pub(crate) struct Proxies {
    gateway: Station,
    terminals: Vec<Station>,
    rates: [Option<Rate>; 2],
}

/// A proxy and its wake-up.
#[derive(Debug)]
struct Station {
    proxy: Proxy,
    /// When a wake-up is scheduled, if one is.
    wake: Wake,
}

impl Proxies {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let config = RwbpConfig {
            ack_every: scenario.rwbp.ack_every,
            ..RwbpConfig::new(scenario.tcp.mss, peak_rate(scenario), scenario.link.rtt())
        };
        let station = || Station { proxy: Proxy::new(config.clone()), wake: Wake::default() };
        Self {
            gateway: station(),
            terminals: (0..scenario.link.terminals.max(1)).map(|_| station()).collect(),
            rates: [scenario.link.down.peak_rate(), scenario.link.up.peak_rate()],
        }
    }

    /// A flow is opened at a terminal.
    pub(crate) fn open(&mut self, now: Instant, flow: u32, terminal: u16) {
        self.terminals[usize::from(terminal)].proxy.connect(now, StreamId(flow));
        self.gateway.proxy.listen(now, StreamId(flow));
    }

    /// Both ends of a flow are closed.
    pub(crate) fn forget(&mut self, now: Instant, flow: u32, terminal: u16) {
        self.terminals[usize::from(terminal)].proxy.forget(now, StreamId(flow));
        self.gateway.proxy.forget(now, StreamId(flow));
    }

    /// Writes as much as the send buffer takes of `bytes`; returns how much that was.
    pub(crate) fn write(&mut self, now: Instant, id: StationId, flow: u32, bytes: Bytes) -> Bytes {
        self.station(id).proxy.write(now, StreamId(flow), bytes)
    }

    pub(crate) fn finish(&mut self, now: Instant, id: StationId, flow: u32) {
        self.station(id).proxy.finish(now, StreamId(flow));
    }

    /// So much of what has arrived was passed on.
    pub(crate) fn read(&mut self, now: Instant, id: StationId, flow: u32, bytes: Bytes) {
        self.station(id).proxy.read(now, StreamId(flow), bytes);
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, id: StationId, packet: &Packet) {
        self.station(id).proxy.handle_packet(now, packet);
    }

    /// The wake-up of a proxy has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        let station = self.station(id);
        let counts = station.wake.counts(now);
        if counts {
            station.proxy.handle_timeout(now);
        }
        counts
    }

    /// The link's queue has so much room.
    pub(crate) fn set_link_room(&mut self, now: Instant, id: StationId, room: Room) {
        self.station(id).proxy.set_link_room(now, room);
    }

    pub(crate) fn poll(&mut self, id: StationId) -> Option<Said> {
        loop {
            return Some(match self.station(id).proxy.poll()? {
                Output::Transmit { packet, .. } => {
                    Said::Transmit { leg: packet.flow.0, packet: packet::Packet::Rwbp(packet) }
                }
                Output::Connected { stream: Some(stream), .. } => Said::Connected { flow: stream.0 },
                // There is no connection but the flows.
                Output::Connected { stream: None, .. } => continue,
                Output::Received { stream, bytes, finished, .. } => Said::Received { flow: stream.0, bytes, finished },
                Output::Room { stream, .. } => Said::Room { flow: stream.0 },
                Output::Closed { stream, .. } => Said::Closed { flow: stream.0 },
            });
        }
    }

    /// When a proxy is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, now: Instant, id: StationId) -> Option<Instant> {
        let rate = self.rates[id.side.direction() as usize];
        let station = self.station(id);
        let room = station.proxy.awaited_link_room().zip(rate).map(|(bytes, rate)| now + rate.transmission_time(bytes));
        station.wake.arm(station.proxy.next_timeout().into_iter().chain(room).min())
    }

    fn station(&mut self, id: StationId) -> &mut Station {
        match id.side {
            Side::Near => &mut self.terminals[usize::from(id.terminal)],
            Side::Far => &mut self.gateway,
        }
    }
}
