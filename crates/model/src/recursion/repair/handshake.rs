//! A SYN, or the answer to it, that is sent again when nothing is heard (RFC 6298 §2.1, §5.5).

use super::Repair;
use crate::recursion::sender::Sender;
use crate::recursion::ticks::Ticks;

/// The timer of a handshake's packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hello {
    pub(crate) due: Ticks,
    repetitions: u32,
}

impl Default for Hello {
    fn default() -> Self {
        Self { due: Ticks::NEVER, repetitions: 0 }
    }
}

impl Repair {
    /// The packet has been sent.
    pub(crate) fn said_hello(&mut self, sender: &Sender, now: Ticks) {
        self.hello.due = sender.retransmission(now).due(&self.habits);
    }

    /// Nothing was heard, and it is sent again.
    pub(crate) fn hello_timed_out(&mut self, sender: &mut Sender, now: Ticks) {
        self.hello.repetitions += 1;
        sender.rtt.back_off();
        self.said_hello(sender, now);
    }

    /// The other side has answered what was sent at `echo`. RFC 5681 §3.1: a lost SYN means a window of one segment.
    pub(crate) fn heard_hello(&mut self, sender: &mut Sender, now: Ticks, echo: Ticks) {
        self.hello.due = Ticks::NEVER;
        self.board.deliver_hello();
        if self.hello.repetitions == 0 {
            sender.handshake_sample(now.since(echo));
        } else if self.habits.undoes {
            sender.handshake_sample(now.whole_millis().since(echo.whole_millis()));
        } else {
            sender.rtt.progress();
        }
        if self.hello.repetitions > self.habits.tolerated_syns {
            sender.window.assign(self.mss);
        }
    }
}
