//! Repair: what acknowledgements and timers tell a sender when packets are dropped, or when timers run out though none were.
//!
//! The recursion first runs without: nothing is lost, so that nothing has to be remembered. Where a queue overflows, an acknowledgement
//! comes later than the timer, or a controller wants to know how fast data arrives (BBR), it runs again with a repair at each end.
//!
//! With SACK: losses are told by the order of sending (RFC 8985) or by three arrivals behind them (RFC 6675), tails are probed, the
//! window shrinks in proportion ([`reduction`]), what proves needless is taken back ([`needless`]). Without SACK: [`classic`], or as Linux
//! does it ([`emulated`]).
//! After a timeout all counts as lost and slow start begins again (RFC 5681 §3.1, RFC 6298 §5).
//!
//! Left out: giving up after many repetitions, probes of a closed window, marks instead of losses.

mod bbr;
mod board;
mod classic;
mod emulated;
mod incoming;
mod judgement;
mod needless;
mod probing;
mod rate;
mod reduction;
mod sending;
mod timeout;

use super::connection::Packet;
use super::deadline::Deadline;
use super::habits::Habits;
use super::receiver::Ack;
use super::sender::Sender;
use super::ticks::Ticks;
use bbr::Bbr;
use board::{Board, Covered, Evidence};
use farhop_scenario::DUPLICATE_THRESHOLD;
use incoming::Incoming;
use needless::Needless;
use reduction::Reduction;

/// RFC 3042 §2: outside of recovery the first two duplicates let a new segment out each, two beyond the window at most.
const LIMITED_TRANSMIT: u64 = 2;

/// Where a sender stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery.
    Recovery,
    /// Slow start after a timeout.
    Loss,
}

/// One end's account of what was lost, sent again and received out of order.
#[derive(Debug)]
pub(crate) struct Repair {
    habits: Habits,
    mss: u64,
    pub(crate) board: Board,
    incoming: Incoming,
    phase: Phase,
    /// What had been sent when the last loss was found.
    recover: u64,
    /// Since something was last acknowledged.
    timeouts: u32,
    reduction: Option<Reduction>,
    needless: Needless,
    /// Duplicate acknowledgements without SACK: each says that a segment has left the network.
    duplicates: u64,
    /// Duplicates that mean a loss.
    degree: u64,
    /// The next segment goes out whatever the window says.
    repeat_now: bool,
    /// New data goes out before what is lost (F-RTO).
    new_first: bool,
    /// When to look again for what was overtaken.
    look_again: Ticks,
    bbr: Option<Box<Bbr>>,
    pacer: sending::Pacer,
}

/// What an acknowledgement has brought.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    covered: Covered,
    advanced: bool,
    /// It says nothing that was not known.
    duplicate: bool,
    /// The ages of the first and the last segment covered, if they tell a round-trip time.
    round_trip: Option<(Ticks, Ticks)>,
    echo: Ticks,
    prior_in_flight: u64,
    prior_lost: u64,
}

impl Repair {
    /// Of an end with these habits; `path` if a model of the path decides how much it sends.
    pub(crate) fn new(habits: Habits, mss: u64, path: Option<u64>) -> Self {
        Self {
            habits,
            mss,
            board: Board::new(habits.counts_segments.then_some(mss)),
            incoming: Incoming::default(),
            phase: Phase::Open,
            recover: 0,
            timeouts: 0,
            reduction: None,
            needless: Needless::default(),
            duplicates: 0,
            degree: DUPLICATE_THRESHOLD,
            repeat_now: false,
            new_first: false,
            look_again: Ticks::NEVER,
            bbr: path.map(|window| {
                let bbr = Bbr::new(mss, window);
                Box::new(if habits.waking > Ticks::ZERO { bbr.between_hosts() } else { bbr })
            }),
            pacer: sending::Pacer::default(),
        }
    }

    /// The handshake is over. QUIC's controller is not told of its round trip.
    pub(crate) fn open(&mut self, sender: &Sender, now: Ticks) {
        if let (Some(bbr), None) = (&mut self.bbr, sender.window.burst()) {
            bbr.set_window(sender.window.size);
            if let (Some(least), Some(smoothed)) = (sender.rtt.least, sender.rtt.smoothed()) {
                bbr.on_open(now, least, smoothed);
            }
        }
    }

    /// Whether something is lost that was not sent again.
    pub(crate) fn has_lost(&self) -> bool {
        self.board.lost() > 0
    }

    /// An acknowledgement arrived.
    pub(crate) fn hear(&mut self, sender: &mut Sender, now: Ticks, packet: &Packet) {
        let (ack, is_bare) = (&packet.ack, packet.payload == 0);
        self.new_first = false;
        let (on_the_way, was_out) = (sender.in_flight(), !self.board.is_empty());
        let moved = sender.update_offer(ack.up_to, ack.offer);
        let mut news = self.take_in(sender, now, ack, u64::from(packet.heard));
        if news.covered.twice.is_some() {
            // That is a delivery too (tcp_check_dsack()).
            self.board.rate.count(self.mss);
            news.covered.delivered += self.mss;
        }
        news.duplicate = !news.advanced && !moved && is_bare && news.covered.beyond == 0;
        self.measure(sender, now, &news);
        self.tell_round_trip(sender, now, &news);
        if !was_out {
            self.judge_late(sender, now, &mut news);
        } else if self.counts_arrivals() {
            self.judge_selective(sender, now, &mut news);
        } else {
            self.judge_by_number(sender, now, &news);
        }
        sender.network = Some(self.in_network());
        sender.note_freed(on_the_way);
    }

    fn take_in(&mut self, sender: &mut Sender, now: Ticks, ack: &Ack, heard: u64) -> News {
        let (prior_in_flight, prior_lost) = (self.in_network(), self.board.total_lost());
        let advanced = ack.up_to > sender.acknowledged;
        let covered = if self.habits.sack {
            let least_rtt = (!self.habits.grants_quarters).then(|| sender.rtt.least.unwrap_or_default());
            let echo = self.habits.undoes.then(|| ack.echo.whole_millis());
            self.board.acknowledge((now, Evidence { least_rtt, echo }), (ack.up_to, heard), self.recover)
        } else {
            self.board.acknowledge_by_number(now, ack.up_to, self.recover)
        };
        if advanced {
            sender.acknowledged = ack.up_to;
            self.timeouts = 0;
        }
        let round_trip = self.round_trip(now, &covered, advanced, ack.echo);
        let mut news =
            News { covered, advanced, duplicate: false, round_trip, echo: ack.echo, prior_in_flight, prior_lost };
        if advanced && self.habits.emulates_sack {
            self.take_announced(&mut news);
        }
        news
    }

    /// Arrivals out of order are known, selectively or by their number.
    fn counts_arrivals(&self) -> bool {
        self.habits.sack || self.habits.emulates_sack
    }

    /// RFC 6298 §3: of what was sent once; else by timestamps (RFC 7323 §4.1), which count milliseconds.
    fn round_trip(&self, now: Ticks, covered: &Covered, advanced: bool, echo: Ticks) -> Option<(Ticks, Ticks)> {
        let in_order = covered.in_order.filter(|_| !covered.repetition);
        if let Some((first, last)) = in_order.or(covered.selective) {
            return Some((now.since(first), now.since(last)));
        }
        let echoed = now.whole_millis().since(echo.whole_millis());
        (advanced && self.habits.undoes).then_some((echoed, echoed))
    }

    fn measure(&mut self, sender: &mut Sender, now: Ticks, news: &News) {
        if let Some((rtt, least)) = news.round_trip {
            sender.rtt.sample(rtt, &self.habits, sender.acknowledged, sender.next);
            sender.rtt.note_least(least);
        } else if news.advanced {
            sender.rtt.progress();
        }
        // RFC 6298 §5.2-5.3. What arrives out of order counts as long as it does not answer what was sent since the first was.
        let earlier = news.covered.selective.is_some_and(|times| Some(times.0) < self.board.first_sent());
        if news.advanced || (self.habits.rack && news.round_trip.is_some() && earlier) {
            sender.timer = if self.board.is_empty() { Deadline::NEVER } else { sender.retransmission(now) };
        }
    }

    /// Bytes in the network; each duplicate acknowledgement says that one more segment has left it, of which outside of recovery two count by
    /// the RFCs.
    fn in_network(&self) -> u64 {
        let left = if self.habits.emulates_sack || self.phase == Phase::Recovery {
            self.duplicates
        } else if self.habits.limited_transmit {
            self.duplicates.min(LIMITED_TRANSMIT)
        } else {
            0
        };
        self.board.in_flight().saturating_sub(left * self.mss)
    }

    /// RFC 5681 §2; Linux takes the window.
    fn flight_size(&self, sender: &Sender) -> u64 {
        let window = sender.window.size;
        if self.habits.counts_segments { window } else { sender.in_flight().min(window) }
    }

    /// The window after a loss.
    fn reduce_window(&mut self, sender: &mut Sender) {
        let flight = self.flight_size(sender);
        match &mut self.bbr {
            Some(bbr) => bbr.save_window(),
            None => sender.window.on_loss(flight),
        }
    }
}
