//! What lies behind the gateway: a connection of its own to the server for each of the client's, which brings a response window by window.
//!
//! Slow start on a way that loses nothing and has all the rate there is (RFC 5681 §3.1): a window of bytes arrives at once, the next one a
//! round trip later. A window grows by what was acknowledged of it if that was more than half of it, where it is validated (RFC 2861), by half as much where
//! every second packet is acknowledged and acknowledgements are counted, and is the initial one again after idling. Where it is the
//! largest that there is and many are still needed, half of them are taken together, which leaves the last one its time. A segment alone is
//! acknowledged late where the first is ([`Habits::acks_alone`]). Left out: the way's rate, the same between terminal and client, and what the gateway's receive buffer does before it has grown.

use super::habits::Habits;
use super::parameters::Parameters;
use super::ticks::Ticks;

/// The server's side of one connection to the gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    window: u64,
    /// What had come before the present window.
    before: u64,
    /// What has come of the present window, the last of it then, and when the next one begins.
    come: u64,
    last: Ticks,
    next: Ticks,
}

/// Of more windows of one size than this half come at once.
const MOST_WINDOWS: u64 = 64;

impl Behind {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self { window: initial(parameters), before: 0, come: 0, last: Ticks::ZERO, next: Ticks::ZERO }
    }

    /// How much of `bytes` comes at `now`, and when there is more; `skipped` is time that was left out before.
    pub(crate) fn bring(&mut self, now: Ticks, skipped: Ticks, bytes: u64, parameters: &Parameters) -> (u64, Ticks) {
        let Some(behind) = parameters.delays.behind else { return (bytes, now) };
        let round_trip = Ticks::of(behind.round_trip);
        if now >= self.next {
            self.grow(now, round_trip, parameters);
            let alone = self.is_single(parameters) && bytes > self.window;
            let acknowledged = Habits::of(&parameters.tcp).acks_alone(now, skipped).filter(|_| alone);
            if round_trip == Ticks::ZERO && acknowledged.is_none() {
                (self.come, self.last) = (bytes.min(self.window), now);
                return (bytes, now);
            }
            (self.come, self.next) = (0, acknowledged.unwrap_or(now) + round_trip);
        }
        let windows = bytes / self.window;
        if self.come == 0 && self.window == largest(parameters) && windows > MOST_WINDOWS {
            let together = windows / 2;
            self.come = self.window;
            self.next = now + round_trip.times(together);
            self.last = self.next.since(round_trip);
            return (together * self.window, self.next);
        }
        let comes = bytes.min(self.window - self.come);
        if comes > 0 {
            (self.come, self.last) = (self.come + comes, now);
        }
        (comes, self.next)
    }

    /// The gateway asks for more, which acknowledges what has come. If what is to come next comes earlier by that: when it would have, and when
    /// it does.
    pub(crate) fn speak(&mut self, now: Ticks, parameters: &Parameters) -> Option<[Ticks; 2]> {
        let back = now + Ticks::of(parameters.delays.behind?.round_trip);
        let is_late = self.is_single(parameters) && self.last <= now && back < self.next;
        is_late.then(|| [core::mem::replace(&mut self.next, back), back])
    }

    /// When all of `bytes` have come, the first of them at `now`.
    pub(crate) fn bring_all(&mut self, now: Ticks, skipped: Ticks, bytes: u64, parameters: &Parameters) -> Ticks {
        let (mut now, mut left) = (now, bytes);
        loop {
            let (comes, next) = self.bring(now, skipped, left, parameters);
            left -= comes;
            if left == 0 {
                return now;
            }
            now = next;
        }
    }

    /// The window is a segment.
    fn is_single(&self, parameters: &Parameters) -> bool {
        self.window <= mss(parameters)
    }

    fn grow(&mut self, now: Ticks, round_trip: Ticks, parameters: &Parameters) {
        let habits = Habits::of(&parameters.tcp);
        let timeout = (round_trip + habits.rto_min_variance).max(habits.rto_min);
        if !habits.validates || 2 * self.come > self.window {
            let by_bytes = habits.counting.is_whole_of(2) || self.is_single(parameters);
            // What Linux's receiver acknowledges one by one counts in full.
            let alone = (habits.quick() * mss(parameters)).saturating_sub(self.before).min(self.come);
            self.window += if by_bytes { self.come } else { alone + (self.come - alone).div_ceil(2) };
        }
        self.before = self.before.saturating_add(self.come);
        let idle = now.since(self.last);
        if idle > timeout && !habits.idle_unheard {
            let timeouts = idle.whole(timeout);
            let least = initial(parameters).min(self.window);
            let rest = if habits.gentle_restart { self.window >> timeouts.min(63) } else { least };
            self.window = rest.max(least);
        }
        self.window = self.window.min(largest(parameters)).max(1);
    }

    /// Time was left out.
    pub(crate) fn bring_forward(&mut self, span: Ticks) {
        (self.last, self.next) = (self.last.since(span), self.next.since(span));
    }
}

fn initial(parameters: &Parameters) -> u64 {
    let initial = u64::from(parameters.tcp.initial_window).saturating_mul(mss(parameters));
    initial.clamp(1, largest(parameters))
}

fn mss(parameters: &Parameters) -> u64 {
    parameters.delays.behind.map_or(parameters.tcp.mss, |behind| behind.mss).get()
}

/// Whole segments, as silly windows are avoided (RFC 1122 §4.2.3.4).
fn largest(parameters: &Parameters) -> u64 {
    let largest = parameters.tcp.max_window.map_or(u64::MAX / 4, |most| most.get().clamp(1, u64::MAX / 4));
    let mss = mss(parameters).max(1);
    if largest > 2 * mss { largest / mss * mss } else { largest }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::WayBehind;
    use super::*;
    use farhop_scenario::open;
    use farhop_units::Bytes;
    use std::time::Duration;

    /// What comes of so many bytes, and when, in ms after the first.
    fn windows(assignments: &[&str], bytes: u64) -> Vec<(u64, u64)> {
        windows_over(Duration::from_millis(40), assignments, bytes)
    }

    /// The same over another round trip.
    fn windows_over(round_trip: Duration, assignments: &[&str], bytes: u64) -> Vec<(u64, u64)> {
        let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        let mut parameters = Parameters::of(&open("demo", &assignments).unwrap());
        parameters.delays.behind = Some(WayBehind { round_trip, mss: Bytes::new(1000) });
        let (mut behind, mut now, mut left, mut all) =
            (Behind::new(&parameters), Ticks::from_millis(100), bytes, vec![]);
        while left > 0 {
            let (comes, next) = behind.bring(now, Ticks::ZERO, left, &parameters);
            all.push((comes, now.since(Ticks::from_millis(100)).whole(Ticks::from_millis(1))));
            (left, now) = (left - comes, next);
        }
        all
    }

    #[test]
    fn each_round_trip_brings_twice_as_much() {
        assert_eq!(windows(&[], 80_000), [(10_000, 0), (20_000, 40), (40_000, 80), (10_000, 120)]);
        let rfc = windows(&["tcp.profile=rfc", "tcp.initial_window=2"], 10_000);
        assert_eq!(rfc, [(2000, 0), (3000, 40), (4500, 80), (500, 120)]);
        assert_eq!(windows(&["tcp.max_window=15.7 kB"], 40_000), [(10_000, 0), (15_000, 40), (15_000, 80)]);
    }

    #[test]
    fn what_counts_of_acknowledgements_decides_how_fast() {
        let counting = |profile: &'static str, counting: &'static str| {
            let all = windows(&[profile, counting, "tcp.initial_window=4"], 40_000);
            all.into_iter().map(|(bytes, _)| bytes / 1000).take(3).collect::<Vec<_>>()
        };
        assert_eq!(counting("tcp.profile=rfc", "tcp.byte_counting=2"), [4, 8, 16]);
        assert_eq!(counting("tcp.profile=rfc", "tcp.byte_counting=1"), [4, 6, 9]);
        // Linux acknowledges the first sixteen segments one by one: four, eight, and four of the next sixteen.
        assert_eq!(counting("tcp.profile=linux", "tcp.byte_counting=packets"), [4, 8, 16]);
        let slow = windows(&["tcp.byte_counting=packets", "tcp.initial_window=4"], 60_000);
        assert_eq!(slow[3].0, 26_000, "{slow:?}");
    }

    #[test]
    fn only_a_window_that_is_validated_has_to_be_in_use_to_grow() {
        let grown = |profile: &str, congestion: &str| {
            let settings = [format!("tcp.profile={profile}"), format!("tcp.congestion={congestion}")];
            let mut parameters = Parameters::of(&open("demo", &settings).unwrap());
            let round_trip = Duration::from_millis(40);
            parameters.delays.behind = Some(WayBehind { round_trip, mss: Bytes::new(1000) });
            let mut behind = Behind::new(&parameters);
            [0, 500, 1000].map(|at| {
                let at = Ticks::from_millis(at);
                _ = behind.bring(at, Ticks::ZERO, 4000, &parameters);
                behind.window
            })
        };
        assert_eq!(grown("linux", "newreno"), [10_000; 3]);
        assert_eq!(grown("rfc", "newreno"), [10_000, 12_000, 14_000]);
        assert_eq!(grown("rfc", "cubic"), [10_000; 3], "RFC 9438 §5.8");
    }

    #[test]
    fn the_smallest_window_grows() {
        let mut parameters = Parameters::of(
            &open("demo", &["tcp.profile=rfc".to_owned(), "tcp.first_ack=immediate".to_owned()]).unwrap(),
        );
        parameters.delays.behind = Some(WayBehind { round_trip: Duration::from_millis(40), mss: Bytes::new(1) });
        parameters.tcp.initial_window = 1;
        let mut behind = Behind::new(&parameters);
        let windows = [0, 40, 80, 120].map(|at| behind.bring(Ticks::from_millis(at), Ticks::ZERO, 100, &parameters).0);
        assert_eq!(windows, [1, 2, 3, 5]);
    }

    #[test]
    fn a_first_segment_alone_waits_for_a_late_acknowledgement() {
        let with = |profile, ack| [profile, ack, "tcp.initial_window=1"];
        let late = |profile| with(profile, "tcp.first_ack=delayed");
        // From 100 ms on; the clock of BSD's receiver ticks at 200.
        assert_eq!(windows(&late("tcp.profile=bsd-1997"), 6000), [(1000, 0), (2000, 140), (3000, 180)]);
        let rfc = late("tcp.profile=rfc");
        assert_eq!(windows(&rfc, 6000), [(1000, 0), (2000, 240), (3000, 280)]);
        assert_eq!(windows(&with("tcp.profile=rfc", "tcp.first_ack=immediate"), 3000), [(1000, 0), (2000, 40)]);
        assert_eq!(windows_over(Duration::ZERO, &rfc, 6000), [(1000, 0), (5000, 200)]);
        assert_eq!(windows_over(Duration::ZERO, &rfc, 1000), [(1000, 0)], "nothing waits");
        assert_eq!(windows_over(Duration::ZERO, &[], 80_000), [(80_000, 0)]);
    }

    #[test]
    fn a_request_acknowledges_a_segment_alone_and_nothing_else_comes_earlier() {
        let ms = Ticks::from_millis;
        let assignments = |window| [format!("tcp.initial_window={window}"), "tcp.profile=rfc".to_owned()];
        let asked = |window, at: u64| {
            let mut parameters = Parameters::of(&open("demo", &assignments(window)).unwrap());
            parameters.delays.behind = Some(WayBehind { round_trip: ms(40).to_duration(), mss: Bytes::new(1000) });
            let mut behind = Behind::new(&parameters);
            let (_, due) = behind.bring(ms(100), Ticks::ZERO, 5000, &parameters);
            let earlier = behind.speak(ms(at), &parameters);
            assert_eq!(earlier.map(|[before, _]| before), earlier.map(|_| due));
            earlier.map(|[_, back]| back)
        };
        assert_eq!([asked(1, 110), asked(1, 299), asked(1, 300)], [Some(ms(150)), Some(ms(339)), None]);
        assert_eq!(asked(2, 110), None);
    }

    #[test]
    fn where_there_is_no_way_nothing_decays() {
        let mut parameters =
            Parameters::of(&open("demo", &["tcp.profile=rfc".to_owned(), "tcp.initial_window=1".to_owned()]).unwrap());
        parameters.delays.behind = Some(WayBehind { round_trip: Duration::ZERO, mss: Bytes::new(1000) });
        let mut behind = Behind::new(&parameters);
        behind.bring(Ticks::ZERO, Ticks::ZERO, 5000, &parameters);
        for at in [200, 1100, 2000] {
            let at = Ticks::from_millis(at);
            assert_eq!(behind.bring(at, Ticks::ZERO, 5000, &parameters), (5000, at));
        }
    }

    #[test]
    fn many_windows_take_as_many_round_trips_but_not_as_many_steps() {
        let terabyte = windows(&["tcp.max_window=10 kB"], 1_000_000_000_000);
        assert_eq!(terabyte.last(), Some(&(10_000, (100_000_000 - 1) * 40)));
        assert_eq!(terabyte.iter().map(|(bytes, _)| bytes).sum::<u64>(), 1_000_000_000_000);
        assert!(terabyte.len() < 128, "{}", terabyte.len());
    }

    #[test]
    fn a_window_is_kept_over_round_trips_longer_than_any_timeout() {
        let far = |assignments: &[&str]| {
            windows_over(Duration::from_secs(2400), assignments, 60_000)
                .iter()
                .map(|(bytes, _)| *bytes)
                .collect::<Vec<_>>()
        };
        assert_eq!(far(&["tcp.profile=linux"]), [10_000, 20_000, 30_000]);
        assert_eq!(far(&["tcp.profile=rfc"]), [10_000, 15_000, 22_500, 12_500]);
    }
}
