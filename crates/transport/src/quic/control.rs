//! How much may be on the way and how fast it leaves: a TCP congestion controller with QUIC's rules around it (RFC 9002 §7), or a
//! set rate.

use super::flight::{Covered, Losses};
use super::{QuicConfig, Sending};
use farhop_accel::rate::{Encapsulation, FixedRate, RateController};
use farhop_accel::share::{Share, SharedRate};
use farhop_tcp::congestion::{Acknowledged, Bbr, Controller, Cubic, RateSample, Reno, Repair};
use farhop_tcp::{ByteCounting, Congestion, CongestionControl, Sequence};
use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

/// What carries datagrams.
pub(super) const ENCAPSULATION: Encapsulation = Encapsulation::UdpIpv4;
/// RFC 9002 §7.2: kMinimumWindow, in datagrams.
const LEAST_WINDOW: u64 = 2;
/// RFC 9002 §7.7: a little faster than the window per round trip, so that the window decides.
const PACING_GAIN: (u64, u64) = (5, 4);

#[derive(Debug)]
enum Limit {
    Window { controller: Controller, paced: bool },
    Rate { window: FixedRate, share: Share },
}

/// Limits a sender.
#[derive(Debug)]
pub(super) struct Control {
    limit: Limit,
    datagram: u64,
    /// What the limit allows now: bytes on the way, the pace, and how far ahead of it a burst may be.
    window: Bytes,
    rate: Option<Rate>,
    burst: Duration,
    /// RFC 9002 §7.7: no larger bursts than the initial window, of which one packet is not ahead.
    burst_packets: u32,
    /// When a sender that keeps exactly to the rate would send the next packet.
    paced: Instant,
    /// Window or pace (RFC 9002 §7.8) have kept something from being sent.
    is_limited: bool,
    /// Losses of packets before this number are one with those already answered.
    recovery_end: u64,
    /// What of them is being repaired.
    repair: Repair,
}

impl Control {
    pub(super) fn new(config: &QuicConfig) -> Self {
        let datagram = config.datagram_bytes();
        let limit = match &config.sending {
            Sending::Rate(rate) => Limit::rate(&SharedRate::new(*rate, Duration::ZERO), datagram),
            Sending::Shared(rate) => Limit::rate(rate, datagram),
            Sending::Congestion(congestion) => {
                let initial = Bytes::new(datagram) * u64::from(config.initial_window);
                Limit::Window {
                    controller: controller(*congestion, Bytes::new(datagram), initial),
                    paced: config.paced,
                }
            }
        };
        let (window, rate, burst) = (Bytes::ZERO, None, Duration::ZERO);
        let (paced, is_limited, recovery_end) = (Instant::START, false, 0);
        let burst_packets = config.initial_window.saturating_sub(1);
        let repair = Repair::None;
        let mut control =
            Self { limit, datagram, window, rate, burst, burst_packets, paced, is_limited, recovery_end, repair };
        control.update(None);
        control
    }

    /// Whether its window and pace follow what [`Control::follow_sample`] is told.
    pub(super) fn models_the_path(&self) -> bool {
        matches!(&self.limit, Limit::Window { controller, .. } if controller.models_the_path())
    }

    /// Asks the limit anew, `rtt` being the smoothed round-trip time.
    fn update(&mut self, rtt: Option<Duration>) {
        match &self.limit {
            Limit::Rate { window, .. } => self.window = window.window(),
            Limit::Window { controller, paced } => {
                self.window = controller.window();
                let per_round = Bytes::new(self.window.get() * PACING_GAIN.0 / PACING_GAIN.1);
                let usual = rtt.filter(|_| *paced).and_then(|rtt| Rate::of(per_round, rtt));
                self.rate = controller.pacing_rate().or(usual);
                let burst = Bytes::new(self.datagram * u64::from(self.burst_packets));
                self.burst = self.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(burst));
            }
        }
    }

    /// What may be on the way at once.
    pub(super) fn window(&self) -> Bytes {
        self.window
    }

    /// Where slow start ends, once that is known.
    pub(super) fn threshold(&self) -> Option<Bytes> {
        match &self.limit {
            Limit::Window { controller, .. } => controller.threshold(),
            Limit::Rate { .. } => None,
        }
    }

    /// Whether window and pace let another packet out, which is full or `fits`; that they would not let out a full one is remembered, for a window
    /// grows only if it is used.
    pub(super) fn may_send(&mut self, now: Instant, in_flight: u64, fits: bool) -> bool {
        let (has_room, is_due) = (self.has_room(in_flight), self.due(now) <= now);
        self.is_limited = !(has_room && is_due);
        (has_room || fits) && is_due
    }

    /// Whether the window has room for a full packet.
    pub(super) fn has_room(&self, in_flight: u64) -> bool {
        self.datagram <= self.room(in_flight)
    }

    /// How large a packet may be that the window lets out (RFC 9002 §7).
    pub(super) fn room(&self, in_flight: u64) -> u64 {
        self.window.get().saturating_sub(in_flight)
    }

    /// When a full packet may go that there is now.
    fn due(&mut self, now: Instant) -> Instant {
        let full = Bytes::new(self.datagram) + ENCAPSULATION.header_bytes();
        match &mut self.limit {
            Limit::Rate { share, .. } => share.due(now, full),
            Limit::Window { .. } => self.paced(),
        }
    }

    /// When the pace lets the next packet out.
    pub(super) fn paced(&self) -> Instant {
        match (&self.limit, self.rate) {
            (Limit::Rate { share, .. }, _) => share.turn(),
            (Limit::Window { .. }, Some(_)) => Instant::START + self.paced.since(Instant::START + self.burst),
            (Limit::Window { .. }, None) => Instant::START,
        }
    }

    /// A packet was sent, which counts against the window if it `is_eliciting` an acknowledgement.
    pub(super) fn sent(&mut self, now: Instant, size: Bytes, is_eliciting: bool) {
        match (&mut self.limit, self.rate) {
            (Limit::Rate { share, .. }, _) => share.sent(now, size + ENCAPSULATION.header_bytes()),
            (Limit::Window { .. }, Some(rate)) if is_eliciting => {
                self.paced = self.paced.max(now) + rate.transmission_time(size);
            }
            (Limit::Window { .. }, _) => {}
        }
    }

    /// From this number on, acknowledged bytes let the window grow (§7.3.2: not during recovery).
    pub(super) fn counts_from(&self) -> u64 {
        self.recovery_end
    }

    /// Something was acknowledged, up to number `largest`; `next` is the number of the next packet and `rtt` the smoothed time.
    pub(super) fn handle_acknowledged(
        &mut self,
        now: Instant,
        covered: &Covered,
        largest: u64,
        next: u64,
        rtt: Option<Duration>,
    ) {
        if largest >= self.recovery_end {
            self.repair = Repair::None;
        }
        match &mut self.limit {
            Limit::Rate { window, .. } => window.handle_acknowledged(now, covered.sent),
            Limit::Window { controller, .. } => {
                // Controllers compare numbers only, so that a packet's will do for a sequence number.
                let [sequence, next] = [largest, next].map(|number| Sequence::SYN + Bytes::new(number));
                let bytes = Bytes::new(covered.bytes);
                let ack = Acknowledged { now, bytes, rtt: covered.rtt, smoothed: rtt, sequence, next };
                if self.is_limited && covered.bytes > 0 {
                    controller.on_ack(&ack);
                } else {
                    controller.on_unused_ack(&ack);
                }
            }
        }
        self.update(rtt);
    }

    /// Something was lost; `next` is the number of the next packet and `rtt` the smoothed time.
    pub(super) fn handle_lost(&mut self, losses: Losses, next: u64, rtt: Option<Duration>) {
        let Limit::Window { controller, .. } = &mut self.limit else { return };
        let Some(latest) = losses.latest else { return };
        // §7.3.2 takes half of the window, whatever of it is in use.
        let window = controller.window();
        if losses.is_persistent {
            controller.on_timeout(window, false);
            if controller.models_the_path() {
                controller.set_window(Bytes::new(self.datagram * LEAST_WINDOW));
            }
            self.repair = Repair::AfterTimeout;
        } else if latest >= self.recovery_end {
            controller.on_loss(window);
            self.repair = Repair::Fast;
        } else {
            return;
        }
        self.recovery_end = next;
        self.update(rtt);
    }

    /// A controller that models the path is told what an acknowledgement has shown; whether it now keeps so little on the way that rates say
    /// little.
    pub(super) fn follow_sample(&mut self, sample: &RateSample) -> bool {
        let Limit::Window { controller, .. } = &mut self.limit else { return false };
        controller.on_sample(&RateSample { repair: self.repair, ..*sample });
        let keeps_little = controller.keeps_little_on_the_way();
        self.update(sample.smoothed_rtt);
        keeps_little
    }

    /// Something is sent while nothing is on the way, so long after the last; `starved`: since the application had too little to send.
    pub(super) fn restart(&mut self, (now, idle): (Instant, Duration), starved: bool, rtt: Option<Duration>) {
        if let Limit::Window { controller, .. } = &mut self.limit {
            controller.on_restart(now, idle, starved);
            self.update(rtt);
        }
    }
}

impl Limit {
    fn rate(rate: &SharedRate, datagram: u64) -> Self {
        let window = FixedRate::new(rate.rate(), ENCAPSULATION, Bytes::new(datagram));
        Self::Rate { window, share: rate.share() }
    }
}

/// A controller that counts bytes, as RFC 9002 §7.3.1 does; CUBIC is RFC 9438's, as QUIC's stacks have it, and not Linux's, and BBR looks
/// for no policers.
fn controller(congestion: Congestion, datagram: Bytes, initial: Bytes) -> Controller {
    match congestion {
        Congestion::Reno | Congestion::NewReno => {
            Controller::Reno(Reno::in_whole_segments(datagram, initial, ByteCounting::Unlimited))
        }
        Congestion::Cubic => Controller::Cubic(Box::new(Cubic::new(datagram, initial, ByteCounting::Unlimited))),
        Congestion::Bbr => Controller::Bbr(Box::new(Bbr::new(datagram, initial))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_long_as_a_loss_is_repaired_a_model_of_the_path_lets_out_what_has_arrived() {
        let config = QuicConfig { sending: Sending::Congestion(Congestion::Bbr), ..QuicConfig::default() };
        let mut control = Control::new(&config);
        let (datagram, before, next) = (Bytes::new(config.datagram_bytes()), control.window(), 12);
        let sample = RateSample { newly_delivered: datagram, in_flight: datagram * 4, ..RateSample::default() };
        control.handle_lost(Losses { latest: Some(3), is_persistent: false }, next, None);
        control.follow_sample(&RateSample { newly_lost: datagram, ..sample });
        assert_eq!(control.window(), datagram * 5);
        let covered = Covered { is_new: true, bytes: datagram.get(), ..Covered::default() };
        control.handle_acknowledged(Instant::START, &covered, next - 1, next + 4, None);
        control.follow_sample(&sample);
        assert!(control.window() < before, "what was sent before it was known says nothing of the repair");
        control.handle_acknowledged(Instant::START, &covered, next, next + 5, None);
        control.follow_sample(&sample);
        assert!(control.window() >= before, "{} after {before}", control.window());
    }

    #[test]
    fn a_path_that_was_gone_begins_with_the_least_window() {
        let config = QuicConfig { sending: Sending::Congestion(Congestion::Bbr), ..QuicConfig::default() };
        let mut control = Control::new(&config);
        control.handle_lost(Losses { latest: Some(3), is_persistent: true }, 12, None);
        assert_eq!(control.window(), Bytes::new(config.datagram_bytes()) * LEAST_WINDOW);
    }
}
