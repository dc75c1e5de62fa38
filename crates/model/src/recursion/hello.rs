//! A SYN, or the answer to it, that is sent again when nothing is heard (RFC 6298 §2.1, §5.5), as on paths of a second both ways.

use super::sender::Sender;
use super::ticks::Ticks;

/// The timer of a handshake's packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hello {
    pub(crate) due: Ticks,
    repetitions: u32,
    /// When it was first sent, and last.
    first: Option<Ticks>,
    last: Option<Ticks>,
    /// The other side has asked for it again.
    was_asked: bool,
}

impl Default for Hello {
    fn default() -> Self {
        Self { due: Ticks::NEVER, repetitions: 0, first: None, last: None, was_asked: false }
    }
}

impl Hello {
    /// The packet has been sent.
    pub(crate) fn said(&mut self, sender: &Sender, now: Ticks) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.due = sender.retransmission(now).due(&sender.habits);
    }

    /// The other side asks for it again. Whether it is sent once more, as it has not just been: its timer runs anew.
    pub(crate) fn is_repeated(&mut self, sender: &Sender, now: Ticks) -> bool {
        let is_repeated = self.due < Ticks::NEVER && self.last < Some(now);
        if is_repeated {
            self.was_asked = true;
            self.said(sender, now);
        }
        is_repeated
    }

    /// Whether nothing was heard by `now`: it is sent again.
    pub(crate) fn runs_out(&mut self, sender: &mut Sender, now: Ticks) -> bool {
        let runs_out = self.due <= now;
        if runs_out {
            self.repetitions += 1;
            sender.rtt.back_off();
            self.said(sender, now);
        }
        runs_out
    }

    /// The other side has answered what was sent at `echo`. RFC 5681 §3.1: a lost SYN means a window of one segment, unless it was not lost but the
    /// first one is answered (tcp_try_undo_spurious_syn()).
    pub(crate) fn heard(&mut self, sender: &mut Sender, now: Ticks, echo: Ticks) {
        self.due = Ticks::NEVER;
        if self.repetitions == 0 && !self.was_asked {
            sender.handshake_sample(now, now.since(echo));
        } else if sender.habits.undoes {
            sender.handshake_sample(now, now.whole_millis().since(echo.whole_millis()));
        } else {
            sender.rtt.progress();
        }
        let is_first = sender.habits.undoes && self.first == Some(echo);
        if self.repetitions > sender.habits.tolerated_syns && !is_first {
            sender.window.assign(sender.mss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::habits::Habits;
    use super::super::load::{Ending, Load, Mode};
    use super::super::window::Window;
    use super::super::{Parameters, Recursion, Workload};
    use super::*;
    use farhop_scenario::{ByteCounting, Congestion, Profile, TcpConfig};

    const MSS: u64 = 1448;

    /// When a SYN is sent again that nobody answers, in ms, and what the window is once its fourth is answered, in segments.
    fn unanswered(profile: Profile) -> (Vec<u64>, u64) {
        let habits = Habits::of(&TcpConfig::of(profile));
        let mut sender =
            Sender::new(habits, MSS, Window::new(Congestion::Reno, (MSS, 10 * MSS), ByteCounting::Unlimited, true));
        let mut hello = Hello::default();
        hello.said(&sender, Ticks::ZERO);
        let mut times = Vec::new();
        while times.len() < 3 {
            let due = hello.due;
            assert!(!hello.runs_out(&mut sender, due.since(Ticks::from_nanos(1))) && hello.runs_out(&mut sender, due));
            times.push(due.raw() / 1_000_000);
        }
        hello.heard(&mut sender, hello.due, hello.due);
        assert_eq!(hello.due, Ticks::NEVER);
        (times, sender.window.size / MSS)
    }

    #[test]
    fn a_syn_is_sent_again_ever_later_and_costs_the_first_window() {
        assert_eq!(unanswered(Profile::Rfc), (vec![1000, 3000, 7000], 1));
        // Half a slot of the clock's wheel later each.
        assert_eq!(unanswered(Profile::Linux), (vec![1016, 3032, 7160], 1));
    }

    #[test]
    fn linux_takes_one_repetition_for_a_long_way() {
        let habits = Habits::of(&TcpConfig::of(Profile::Linux));
        // The first is answered, or a later one.
        for (repetitions, first, window) in [(0, true, 10), (1, true, 10), (1, false, 10), (2, true, 10), (2, false, 1)]
        {
            let mut sender =
                Sender::new(habits, MSS, Window::new(Congestion::Reno, (MSS, 10 * MSS), ByteCounting::Unlimited, true));
            let echo = Ticks::from_millis(if first { 0 } else { 1000 });
            let mut hello = Hello { repetitions, first: Some(Ticks::ZERO), ..Hello::default() };
            hello.heard(&mut sender, Ticks::from_millis(1100), echo);
            assert_eq!(sender.window.size, window * MSS, "{repetitions}");
        }
    }

    #[test]
    fn a_load_whose_handshakes_alone_are_late_is_what_a_repair_makes_of_it() {
        // The clocks of Linux's timers let 16 ms pass.
        let cases = [("linux", 505, 0), ("linux", 520, 1), ("linux", 1600, 2), ("rfc", 499, 0)];
        for (profile, delay, repetitions) in cases {
            let assignments = [
                format!("tcp.profile={profile}"),
                format!("link.down.delay={delay} ms"),
                format!("link.up.delay={delay} ms"),
                "http.connections=1".to_owned(),
            ];
            let scenario = farhop_scenario::open("demo", &assignments).unwrap();
            let (parameters, workload) = (Parameters::of(&scenario), Workload::of(&scenario.page).unwrap());
            let told = [Mode::Wary, Mode::Repairing].map(|mode| {
                let mut recursion = Recursion::new();
                let mut load = Load::new(&parameters, &workload, &mut recursion.buffers, mode, true);
                let (ending, needless) = (load.run(), load.needless);
                assert_eq!((ending, needless), (Ending::Complete, 2 * repetitions), "{profile} {delay} {mode:?}");
                recursion.objects().collect::<Vec<_>>()
            });
            assert_eq!(told[0], told[1], "{profile} {delay}");
        }
    }
}
