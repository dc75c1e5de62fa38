//! The sending half of a flow: what to send next, what is lost, and the timer of last resort.

use super::RwbpConfig;
use super::packet::{Kind, Missing};
use crate::rtt::RttEstimator;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// Before the first sample, as RFC 1122 §4.2.3.1 has it; a satellite's medium access may take its time.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(3);
/// RFC 6298 §2.4: no timeout is shorter.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
/// RFC 6298 §2.5 asks for at least so much as the bound of what doubling leads to.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight,
    /// To be sent again.
    Lost,
    Arrived,
}

/// Data that was sent and is not all acknowledged up to there.
#[derive(Debug, Clone, Copy)]
struct Record {
    offset: u64,
    payload: u32,
    fin: bool,
    /// The number it was last sent under.
    number: u64,
    fate: Fate,
}

impl Record {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.payload) + u64::from(self.fin)
    }
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    /// The place of its data.
    offset: u64,
    /// When it left the output queue, if it has.
    left: Option<Instant>,
}

/// Everything one direction's sender knows.
#[derive(Debug)]
pub(super) struct Sender {
    written: u64,
    closing: bool,
    /// The first place never sent.
    next: u64,
    /// Up to here, exclusive, the receiver's window allows sending.
    edge: u64,
    acknowledged: u64,
    records: VecDeque<Record>,
    /// What was sent and not told of by an acknowledgement of a later number; and what those that came were too short to tell of.
    open: VecDeque<Sent>,
    doubtful: VecDeque<Sent>,
    /// The places of what is lost and not sent again; the first is a record's.
    lost: VecDeque<u64>,
    next_number: u64,
    /// Packets that have not left the output queue.
    queued: u32,
    /// The peak rate allows the next packet from here on.
    paced: Instant,
    rtt: RttEstimator,
    timer_base: Instant,
    backoff: u32,
    /// The window is to be asked for.
    probe: bool,
    /// A write was cut short.
    blocked: bool,
}

impl Sender {
    /// `rtt` is what other flows have seen.
    pub(super) fn new(config: &RwbpConfig, rtt: RttEstimator) -> Self {
        Self {
            written: 0,
            closing: false,
            next: 0,
            edge: config.largest_window() * config.segment(),
            acknowledged: 0,
            records: VecDeque::new(),
            open: VecDeque::new(),
            doubtful: VecDeque::new(),
            lost: VecDeque::new(),
            next_number: 1,
            queued: 0,
            paced: Instant::START,
            rtt,
            timer_base: Instant::START,
            backoff: 0,
            probe: false,
            blocked: false,
        }
    }

    /// How much the send buffer takes.
    pub(super) fn room(&self, config: &RwbpConfig) -> Bytes {
        if self.closing {
            return Bytes::ZERO;
        }
        config.buffer.saturating_sub(self.held())
    }

    /// What the send buffer holds: what waits and what is not acknowledged.
    pub(super) fn held(&self) -> Bytes {
        Bytes::new(self.written - self.acknowledged.min(self.written))
    }

    /// Takes what fits of `bytes` and returns how much that is.
    pub(super) fn write(&mut self, now: Instant, config: &RwbpConfig, bytes: Bytes) -> Bytes {
        let taken = bytes.min(self.room(config));
        if self.is_idle() {
            self.timer_base = now;
        }
        self.written += taken.get();
        self.blocked |= taken < bytes;
        taken
    }

    pub(super) fn close(&mut self, now: Instant) {
        if self.is_idle() {
            self.timer_base = now;
        }
        self.closing = true;
    }

    /// Room for a write that was cut short, once there is as much as a packet takes.
    pub(super) fn take_room(&mut self, config: &RwbpConfig) -> Option<Bytes> {
        let room = self.room(config);
        let enough = self.blocked && room >= config.mss.min(config.buffer) && room > Bytes::ZERO;
        self.blocked &= !enough;
        enough.then_some(room)
    }

    /// Whether everything, the end included, has arrived at the other side.
    pub(super) fn is_finished(&self) -> bool {
        self.closing && self.acknowledged > self.written
    }

    /// Nothing waits and nothing is on the way.
    fn is_idle(&self) -> bool {
        self.records.is_empty() && !self.has_new()
    }

    fn has_new(&self) -> bool {
        self.next < self.written + u64::from(self.closing)
    }

    /// Whether there is something that the window lets out: the end alone takes no buffer.
    fn may_send_new(&self) -> bool {
        self.has_new() && (self.next < self.edge || self.next == self.written)
    }

    /// Whether there is something to send but for the peak rate.
    fn wants(&self) -> bool {
        self.probe || !self.lost.is_empty() || self.may_send_new()
    }

    /// Whether a packet may be sent now.
    pub(super) fn is_ready(&self, now: Instant) -> bool {
        self.wants() && self.paced <= now
    }

    /// When [`Sender::handle_timer`] or a new look at [`Sender::is_ready`] is due.
    pub(super) fn due(&self, now: Instant, config: &RwbpConfig) -> Option<Instant> {
        if self.wants() {
            return Some(self.paced).filter(|paced| *paced > now);
        }
        (self.queued == 0 && !self.is_idle()).then(|| self.timer_base + self.timeout(config))
    }

    fn timeout(&self, config: &RwbpConfig) -> Duration {
        let base = self.rtt.bound().map_or(INITIAL_TIMEOUT, |bound| (bound + config.ack_delay).max(MIN_TIMEOUT));
        base.saturating_mul(1 << self.backoff.min(16)).min(MAX_TIMEOUT)
    }

    /// The peak rate's wait is over, or no answer came for too long: the oldest data is sent again, or the window asked for. The
    /// answer tells what else is lost.
    pub(super) fn handle_timer(&mut self, now: Instant) {
        if self.wants() {
            return;
        }
        (self.backoff, self.timer_base) = (self.backoff + 1, now);
        match self.records.iter_mut().find(|record| record.fate == Fate::InFlight) {
            Some(record) => {
                record.fate = Fate::Lost;
                self.lost.push_back(record.offset);
            }
            None => self.probe = true,
        }
    }

    /// The payload of the packet that [`Sender::send`] would return.
    pub(super) fn next_payload(&self, config: &RwbpConfig) -> Bytes {
        match self.lost.front().and_then(|offset| self.find(*offset)) {
            Some(index) => Bytes::new(self.records[index].payload.into()),
            None => self.new_payload(config),
        }
    }

    fn new_payload(&self, config: &RwbpConfig) -> Bytes {
        let allowed = self.written.min(self.edge).saturating_sub(self.next);
        Bytes::new(allowed.min(config.segment()).min(u64::from(u32::MAX)))
    }

    /// The next packet: lost data first, then new; none if nothing may be sent. `spacing` tells how long a payload keeps the peak
    /// rate busy.
    pub(super) fn send(
        &mut self,
        now: Instant,
        config: &RwbpConfig,
        spacing: impl Fn(Bytes) -> Duration,
    ) -> Option<Kind> {
        if !self.is_ready(now) {
            return None;
        }
        let number = self.next_number;
        let (offset, payload, fin) = match self.repeat(number) {
            Some(repeated) => repeated,
            None if self.may_send_new() => self.send_new(number, config),
            None => (self.next, Bytes::ZERO, false),
        };
        self.probe = false;
        self.next_number += 1;
        self.queued += 1;
        self.paced = self.paced.max(now) + spacing(payload);
        Some(Kind::Data { number, offset, payload, fin })
    }

    fn find(&self, offset: u64) -> Option<usize> {
        self.records.binary_search_by_key(&offset, |record| record.offset).ok()
    }

    fn repeat(&mut self, number: u64) -> Option<(u64, Bytes, bool)> {
        let offset = self.lost.pop_front()?;
        let index = self.find(offset)?;
        let record = &mut self.records[index];
        (record.fate, record.number) = (Fate::InFlight, number);
        let repeated = (offset, Bytes::new(record.payload.into()), record.fin);
        self.open.push_back(Sent { number, offset, left: None });
        self.forget_found();
        Some(repeated)
    }

    /// Makes the first of what is lost a record that still is.
    fn forget_found(&mut self) {
        while let Some(offset) = self.lost.front() {
            if self.find(*offset).is_some_and(|index| self.records[index].fate == Fate::Lost) {
                return;
            }
            self.lost.pop_front();
        }
    }

    fn send_new(&mut self, number: u64, config: &RwbpConfig) -> (u64, Bytes, bool) {
        let (offset, payload) = (self.next, self.new_payload(config));
        let fin = self.closing && offset + payload.get() == self.written;
        let length = u32::try_from(payload.get()).expect("bounded by new_payload");
        let record = Record { offset, payload: length, fin, number, fate: Fate::InFlight };
        self.next = record.end();
        self.records.push_back(record);
        self.open.push_back(Sent { number, offset, left: None });
        (offset, payload, fin)
    }

    /// A data packet has left the output queue.
    pub(super) fn left(&mut self, now: Instant, number: u64) {
        self.queued = self.queued.saturating_sub(1);
        self.timer_base = now;
        if let Ok(place) = self.find_open(number) {
            self.open[place].left = Some(now);
        }
    }

    fn find_open(&self, number: u64) -> Result<usize, usize> {
        self.open.binary_search_by_key(&number, |sent| sent.number)
    }

    /// An acknowledgement arrived of everything before `cumulative` and of packets up to number `newest`; `window` is in
    /// maximum-sized segments. Returns how long the answer took, and how much of it the receiver waited, if it tells.
    pub(super) fn handle_acknowledgment(
        &mut self,
        now: Instant,
        config: &RwbpConfig,
        (cumulative, newest): (u64, u64),
        window: u16,
        delayed: bool,
        missing: &Missing,
    ) -> Option<(Duration, Duration)> {
        if cumulative > self.next || newest >= self.next_number {
            return None;
        }
        self.edge = self.edge.max(cumulative + u64::from(window) * config.segment());
        self.acknowledged = self.acknowledged.max(cumulative);
        self.timer_base = now;
        let sample =
            self.answer_time(now, newest).map(|rtt| (rtt, if delayed { config.ack_delay } else { Duration::ZERO }));
        if let Some((rtt, delay)) = sample {
            self.rtt.sample(rtt, delay);
            // RFC 6298 §5 (5.7) and Karn: what is backed off stays so until something is measured.
            self.backoff = 0;
        }
        self.judge(cumulative, newest, missing);
        let is_settled = |record: &Record| record.fate == Fate::Arrived || record.end() <= cumulative;
        while self.records.front().is_some_and(is_settled) {
            self.records.pop_front();
        }
        self.forget_found();
        sample
    }

    /// How long ago the packet of this number left, if this is the first that is heard of it. A number is one packet's alone, also if
    /// its data was sent before or has been since.
    fn answer_time(&self, now: Instant, newest: u64) -> Option<Duration> {
        let sent = self.open[self.find_open(newest).ok()?];
        sent.left.map(|left| now.since(left))
    }

    /// Finds the fate of everything that was sent up to the newest number that has arrived.
    fn judge(&mut self, cumulative: u64, newest: u64, missing: &Missing) {
        while let Some(&sent) = self.doubtful.front() {
            if !self.decide(sent, cumulative, newest, missing) {
                break;
            }
            self.doubtful.pop_front();
        }
        while let Some(sent) = self.open.pop_front_if(|sent| sent.number <= newest) {
            if !self.decide(sent, cumulative, newest, missing) {
                self.doubtful.push_back(sent);
            }
        }
    }

    /// Whether the fate of a packet is known by now.
    fn decide(&mut self, sent: Sent, cumulative: u64, newest: u64, missing: &Missing) -> bool {
        let Sent { number, offset, .. } = sent;
        let Some(index) = self.find(offset) else { return true };
        let record = &mut self.records[index];
        if record.number != number || record.fate == Fate::Arrived {
            return true;
        }
        match arrived(record, cumulative, missing) {
            Some(true) => record.fate = Fate::Arrived,
            Some(false) if record.fate == Fate::Lost => {}
            // The link keeps its order: what was sent before something that has arrived, and has not, will not.
            Some(false) if number < newest => {
                record.fate = Fate::Lost;
                self.lost.push_back(offset);
            }
            _ => return false,
        }
        true
    }
}

/// Whether a record has arrived, if the acknowledgement says so.
fn arrived(record: &Record, cumulative: u64, missing: &Missing) -> Option<bool> {
    let end = record.end().checked_sub(cumulative).filter(|end| *end > 0);
    end.map_or(Some(true), |end| missing.has_arrived(record.offset.saturating_sub(cumulative), end))
}
