//! On which processors the threads run that hand packets on.
//!
//! Between a packet's arrival at the link and the receiving host's answer several threads wake each other: the link's and the kernel's for
//! each device. Waking one on another processor takes an interrupt there, in a virtual machine 15 to 45 µs; on the same processor, 3 to 15
//! (pipes between two real-time threads, two virtual processors). So as long as there is little to do, all of them run on one processor, and
//! the kernel's before the link's ([`Priority::Host`]), unless packets may come together. With more to do the link's thread goes before all others, and a
//! dense link has work for more than one processor: then they run wherever there is room. Where there is one processor only, or a
//! rootless emulator, all stays as it begins: the link's thread first.

use crate::real_time::{self, Priority};
use farhop_units::Instant;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::time::Duration;

/// The threads and where they are.
#[derive(Debug)]
pub(super) struct Placement {
    threads: Vec<Thread>,
    home: CpuSet,
    is_gathered: bool,
    /// Whether the hosts' threads go before the link's.
    is_prompt: bool,
    /// What decides the one and the other.
    gathers: Load,
    prompts: Load,
}

/// A thread and the processors it may have if nobody says otherwise.
#[derive(Debug)]
struct Thread {
    number: Pid,
    anywhere: CpuSet,
}

/// More threads than this are not moved: it takes some microseconds for each.
const MOST_THREADS: usize = 17;

impl Placement {
    /// For the calling thread and those that take the packets of its devices; `None` where there is nothing to choose.
    pub(super) fn new(takers: impl Iterator<Item = Pid>) -> Option<Self> {
        let threads = [Pid::from_raw(0)].into_iter().chain(takers).map(|number| {
            let anywhere = sched_getaffinity(number).ok()?;
            Some(Thread { number, anywhere })
        });
        let threads: Vec<Thread> = threads.collect::<Option<_>>()?;
        let own = &threads.first()?.anywhere;
        let allowed: Vec<usize> = (0..CpuSet::count()).filter(|cpu| own.is_set(*cpu) == Ok(true)).collect();
        if threads.len() > MOST_THREADS || allowed.len() < 2 {
            return None;
        }
        // Several emulators at once had better not choose the same.
        let chosen = allowed[std::process::id() as usize % allowed.len()];
        let mut home = CpuSet::new();
        home.set(chosen).ok()?;
        let (gathers, prompts) = (Load::new(HEAVY, WINDOW), Load::new(DENSE, LONG_WINDOW));
        Some(Self { threads, home, is_gathered: false, is_prompt: false, gathers, prompts })
    }

    /// So many packets were handled since the last time. Whether the links space what they deliver: a host may then take what has come before
    /// the next packet is due.
    pub(super) fn handled(&mut self, now: Instant, packets: usize, are_spaced: bool) {
        let gathers = self.gathers.is_light(now, packets);
        if gathers != self.is_gathered {
            self.is_gathered = gathers;
            for Thread { number, anywhere } in &self.threads {
                // One that is gone or may not be moved stays where it is; that costs time, no packet.
                let _ = sched_setaffinity(*number, if gathers { &self.home } else { anywhere });
            }
        }
        let prompts = self.prompts.is_light(now, packets) && gathers && are_spaced;
        if prompts != self.is_prompt {
            self.is_prompt = prompts;
            let takers = self.threads.iter().filter(|thread| thread.number.as_raw() != 0);
            for Thread { number, .. } in takers {
                let _ = real_time::give(*number, if prompts { Priority::Host } else { Priority::DenseHost });
            }
        }
    }
}

/// How many packets there were lately.
#[derive(Debug)]
struct Load {
    /// More than so many in so long a window are heavy.
    heavy: usize,
    window: Duration,
    /// Since when they are counted.
    since: Instant,
    packets: usize,
    is_light: bool,
    /// Since when it would be light, if it is not.
    lighter: Option<Instant>,
}

/// How long packets are counted.
const WINDOW: Duration = Duration::from_millis(10);
/// Packets in a window that are more than one processor should have: at some 10 µs each they take half of it.
const HEAVY: usize = 500;
/// With more packets than these the link's thread had better not wait for hosts: those of 100 Mbit/s one way and their acknowledgements are fewer. With half
/// as many again one in a hundred was a millisecond late. A window in which a host's largest burst is few.
const DENSE: usize = 900;
const LONG_WINDOW: Duration = Duration::from_millis(50);
/// Half as many for so long are light again.
const CALM: Duration = Duration::from_millis(500);

impl Load {
    fn new(heavy: usize, window: Duration) -> Self {
        Self { heavy, window, since: Instant::START, packets: 0, is_light: true, lighter: None }
    }

    /// Whether one processor has enough time, now that there are so many packets more.
    fn is_light(&mut self, now: Instant, packets: usize) -> bool {
        self.packets += packets;
        if self.packets > self.heavy {
            (self.is_light, self.lighter) = (false, None);
            (self.since, self.packets) = (now, 0);
        } else if now.since(self.since) >= self.window {
            if self.packets > self.heavy / 2 {
                self.lighter = None;
            } else {
                let lighter = *self.lighter.get_or_insert(self.since);
                self.is_light |= now.since(lighter) >= CALM;
            }
            (self.since, self.packets) = (now, 0);
        }
        self.is_light
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// What `load` says at the end of `span` milliseconds of so many packets each.
    fn after(load: &mut Load, start: u64, span: u64, packets: usize) -> bool {
        (start..start + span).map(|millis| load.is_light(at(millis), packets)).last().unwrap_or(load.is_light)
    }

    #[test]
    fn a_dense_link_is_heavy_at_once_and_light_after_a_while() {
        let mut load = Load::new(HEAVY, WINDOW);
        assert!(after(&mut load, 0, 1000, 20), "20,000 packets/s");
        assert!(!after(&mut load, 1000, 10, 100), "100,000 packets/s");
        assert!(!after(&mut load, 1010, 5000, 40), "neither much nor little");
        assert!(!after(&mut load, 6010, 490, 5), "not for long enough");
        assert!(after(&mut load, 6500, 30, 5));
    }

    #[test]
    fn what_comes_seldom_is_light() {
        let mut load = Load::new(HEAVY, WINDOW);
        assert!(!load.is_light(at(0), 1000));
        assert!(!load.is_light(at(100), 1));
        assert!(load.is_light(at(1000), 1));
    }

    #[test]
    fn a_hosts_burst_is_not_dense_and_a_fast_link_both_ways_is() {
        let mut load = Load::new(DENSE, LONG_WINDOW);
        assert!(load.is_light(at(0), 180), "what a host sends at once");
        assert!(after(&mut load, 1, 1000, 14), "100 Mbit/s and its acknowledgements");
        assert!(!after(&mut load, 1001, 100, 21), "both ways");
        assert!(!after(&mut load, 1101, 480, 2), "not for long enough");
        assert!(after(&mut load, 1581, 200, 2));
    }

    #[test]
    fn threads_come_together_and_go_where_they_were() {
        let before = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let Some(mut placement) = Placement::new(std::iter::empty()) else { return };
        let processors = || {
            let now = sched_getaffinity(Pid::from_raw(0)).unwrap();
            (0..CpuSet::count()).filter(|cpu| now.is_set(*cpu) == Ok(true)).count()
        };
        placement.handled(at(1), 1, true);
        assert_eq!(processors(), 1);
        placement.handled(at(2), 10_000, true);
        assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), before);
    }
}
