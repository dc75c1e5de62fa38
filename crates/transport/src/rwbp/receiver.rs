//! The receiving half of a flow: what has arrived, when to say so, and how large the window is.

use super::RwbpConfig;
use super::packet::{Kind, Missing};
use crate::ranges::RangeSet;
use farhop_units::{Bytes, Instant};

/// What a packet brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arrived {
    pub(super) bytes: Bytes,
    pub(super) finished: bool,
}

/// Everything one direction's receiver knows.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Everything before this place has arrived.
    expected: u64,
    /// What has arrived beyond it.
    beyond: RangeSet,
    newest: u64,
    fin: Option<u64>,
    finished: bool,
    /// Arrived in order and not read.
    unread: Bytes,
    /// The place up to which the sender was last allowed to send.
    told: u64,
    /// Data packets since the last acknowledgement.
    unacknowledged: u32,
    /// An acknowledgement is to go out now; when it shall if nothing more comes.
    owed: bool,
    straggler: Option<Instant>,
    delayed: bool,
}

impl Receiver {
    pub(super) fn new(config: &RwbpConfig) -> Self {
        Self {
            expected: 0,
            beyond: RangeSet::new(),
            newest: 0,
            fin: None,
            finished: false,
            unread: Bytes::ZERO,
            told: config.largest_window() * config.segment(),
            unacknowledged: 0,
            owed: false,
            straggler: None,
            delayed: false,
        }
    }

    /// Whether everything up to the end has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// What the receive buffer holds.
    pub(super) fn held(&self) -> Bytes {
        let beyond: u64 = self.beyond.iter().map(|span| span.end - span.start).sum();
        // The end takes a place but no byte.
        let fin = self.fin.is_some_and(|fin| self.beyond.last().is_some_and(|last| fin < last.end));
        self.unread + Bytes::new(beyond - u64::from(fin))
    }

    /// Whether an acknowledgement is to go out as soon as there is room for it.
    pub(super) fn owes(&self) -> bool {
        self.owed
    }

    /// When [`Receiver::handle_timer`] is to be called.
    pub(super) fn due(&self) -> Option<Instant> {
        self.straggler.filter(|_| !self.owed)
    }

    pub(super) fn handle_timer(&mut self) {
        (self.owed, self.delayed, self.straggler) = (true, true, None);
    }

    /// Takes in a data packet.
    pub(super) fn handle_data(
        &mut self,
        now: Instant,
        config: &RwbpConfig,
        number: u64,
        offset: u64,
        payload: Bytes,
        fin: bool,
    ) -> Arrived {
        let end = offset + payload.get() + u64::from(fin);
        if number > self.newest {
            // What is told of now has not waited.
            (self.newest, self.delayed) = (number, false);
        }
        if fin {
            self.fin = Some(end - 1);
        }
        let highest = self.highest();
        let had_gap = !self.beyond.is_empty();
        let new = self.beyond.insert(offset.max(self.expected), end);
        let arrived = self.accept();
        let (is_repeated, leaves_gap, fills_gap) = (new == 0, offset > highest, had_gap && arrived.bytes > Bytes::ZERO);
        self.unacknowledged += 1;
        self.owed |= is_repeated || leaves_gap || fills_gap || self.unacknowledged >= config.ack_every;
        self.straggler = Some(now + config.ack_delay);
        arrived
    }

    /// The place after everything that has arrived.
    fn highest(&self) -> u64 {
        self.beyond.last().map_or(self.expected, |last| last.end)
    }

    /// Moves on over what is in order now.
    fn accept(&mut self) -> Arrived {
        let Some(first) = self.beyond.first().filter(|first| first.start <= self.expected) else {
            return Arrived::default();
        };
        let before = self.expected;
        self.expected = first.end;
        self.beyond.remove_below(first.end);
        let finished = !self.finished && self.fin.is_some_and(|fin| fin < self.expected);
        self.finished |= finished;
        let bytes = Bytes::new(self.expected - before - u64::from(finished));
        self.unread += bytes;
        Arrived { bytes, finished }
    }

    /// The owner has read `bytes`: an acknowledgement says so if the window would open by a quarter of its size.
    pub(super) fn read(&mut self, config: &RwbpConfig, bytes: Bytes) {
        self.unread = self.unread.saturating_sub(bytes);
        self.owed |= !self.finished && self.allowed(config) >= self.told + config.buffer.get() / 4;
    }

    fn window(&self, config: &RwbpConfig) -> u16 {
        let free = config.buffer.saturating_sub(self.unread).get() / config.segment();
        // A buffer smaller than a segment still takes one, else nothing would ever come.
        let free = if self.unread == Bytes::ZERO { free.max(1) } else { free };
        u16::try_from(free).unwrap_or(u16::MAX)
    }

    /// The place up to which the sender may send.
    fn allowed(&self, config: &RwbpConfig) -> u64 {
        self.expected + u64::from(self.window(config)) * config.segment()
    }

    /// The acknowledgement of what has arrived so far.
    pub(super) fn acknowledgment(&self, config: &RwbpConfig) -> Kind {
        Kind::Acknowledgment {
            cumulative: self.expected,
            newest: self.newest,
            window: self.window(config),
            delayed: self.delayed,
            missing: Missing::new(self.expected, self.beyond.gaps_from(self.expected), self.highest()),
        }
    }

    /// [`Receiver::acknowledgment`] goes out now.
    pub(super) fn acknowledge(&mut self, config: &RwbpConfig) {
        self.told = self.told.max(self.allowed(config));
        (self.owed, self.delayed, self.straggler, self.unacknowledged) = (false, false, None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn config() -> RwbpConfig {
        RwbpConfig { mss: Bytes::new(10), buffer: Bytes::new(100), ..RwbpConfig::zhou_2004(Duration::from_millis(500)) }
    }

    fn data(receiver: &mut Receiver, number: u64, offset: u64) -> Arrived {
        receiver.handle_data(Instant::START, &config(), number, offset, Bytes::new(10), false)
    }

    fn acknowledged(receiver: &mut Receiver) -> (u64, u16, bool) {
        let acknowledgment = receiver.acknowledgment(&config());
        receiver.acknowledge(&config());
        match acknowledgment {
            Kind::Acknowledgment { cumulative, window, missing, .. } => (cumulative, window, missing.is_empty()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_straggler_after_a_silence() {
        let mut receiver = Receiver::new(&config());
        data(&mut receiver, 1, 0);
        assert_eq!((receiver.owes(), receiver.due()), (false, Some(Instant::START + config().ack_delay)));
        data(&mut receiver, 2, 10);
        assert!(receiver.owes());
        assert_eq!(acknowledged(&mut receiver), (20, 8, true));
        assert_eq!((receiver.owes(), receiver.due()), (false, None));
    }

    #[test]
    fn a_gap_is_told_at_once_and_so_is_its_filling() {
        let mut receiver = Receiver::new(&config());
        assert_eq!(data(&mut receiver, 2, 10), Arrived::default());
        assert!(receiver.owes());
        assert_eq!(acknowledged(&mut receiver), (0, 10, false));
        assert_eq!(data(&mut receiver, 3, 0).bytes, Bytes::new(20));
        assert!(receiver.owes());
    }

    #[test]
    fn what_is_not_read_closes_the_window_and_reading_opens_it() {
        let mut receiver = Receiver::new(&config());
        (0..10).for_each(|i| _ = data(&mut receiver, i + 1, 10 * i));
        assert_eq!(acknowledged(&mut receiver), (100, 0, true));
        receiver.read(&config(), Bytes::new(20));
        assert!(!receiver.owes(), "less than a quarter");
        receiver.read(&config(), Bytes::new(10));
        assert!(receiver.owes());
        assert_eq!(acknowledged(&mut receiver), (100, 3, true));
    }
}
