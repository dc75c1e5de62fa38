//! BBR on a path that is a rate, a delay and a queue, one acknowledgement per segment.

use super::*;

const MSS: Bytes = Bytes::new(1250);
/// A segment per millisecond.
const RATE: Rate = Rate::mbps(10);
const RTT: Duration = Duration::from_millis(100);

/// The path and the controller.
struct Flow {
    bbr: Bbr,
    now: Instant,
    /// Segments on the way, with the total delivered and the time of the latest delivery when they were sent.
    flying: std::collections::VecDeque<(Instant, Bytes, Instant)>,
    path_free: Instant,
    next_send: Instant,
    delivered: Bytes,
    delivered_at: Instant,
    most_in_flight: Bytes,
}

impl Flow {
    fn new() -> Self {
        Self {
            bbr: Bbr::new(MSS, MSS * 10),
            now: Instant::START,
            flying: std::collections::VecDeque::new(),
            path_free: Instant::START,
            next_send: Instant::START,
            delivered: Bytes::ZERO,
            delivered_at: Instant::START,
            most_in_flight: Bytes::ZERO,
        }
    }

    fn in_flight(&self) -> Bytes {
        MSS * self.flying.len() as u64
    }

    /// Sends when window and pace allow, else takes the next acknowledgement.
    fn step(&mut self, repair: Repair, lost: Bytes) {
        let arrival = self.flying.front().map(|flying| flying.0);
        let may_send = self.in_flight() + MSS <= self.bbr.window();
        if may_send && arrival.is_none_or(|arrival| self.next_send <= arrival) {
            self.now = self.now.max(self.next_send);
            self.path_free = self.path_free.max(self.now) + RATE.transmission_time(MSS);
            self.flying.push_back((self.path_free + RTT, self.delivered, self.delivered_at));
            let pace = self.bbr.pacing_rate().expect("BBR paces");
            self.next_send = self.now + pace.transmission_time(MSS);
            self.most_in_flight = self.most_in_flight.max(self.in_flight());
            return;
        }
        let prior_in_flight = self.in_flight();
        let (at, prior_delivered, prior_at) = self.flying.pop_front().expect("something is on the way");
        self.now = at;
        self.delivered += MSS;
        self.delivered_at = at;
        let waited = at.since(prior_at);
        let rtt = RTT + RATE.transmission_time(MSS) * u32::try_from(self.flying.len()).expect("few") / 1000;
        self.bbr.on_sample(&RateSample {
            now: at,
            delivered: self.delivered - prior_delivered,
            interval: waited,
            prior_delivered,
            total_delivered: self.delivered,
            rtt: Some(rtt),
            newly_delivered: MSS,
            newly_lost: lost,
            prior_in_flight,
            in_flight: self.in_flight(),
            repair,
            smoothed_rtt: Some(RTT),
            ..RateSample::default()
        });
    }

    fn run(&mut self, until: Duration) {
        while self.now < Instant::START + until {
            self.step(Repair::None, Bytes::ZERO);
        }
    }
}

#[test]
fn startup_finds_the_rate_and_drain_removes_the_queue() {
    let mut flow = Flow::new();
    flow.run(Duration::from_secs(3));
    let rate = flow.bbr.rate.get().expect("samples came").as_f64();
    assert!((0.98..1.03).contains(&(rate / RATE.as_f64())), "{rate}");
    assert!(matches!(flow.bbr.mode, Mode::ProbeRate { .. }), "{:?}", flow.bbr.mode);
    // The path holds 100 segments; STARTUP's window is up to 2.89 times that.
    assert!(flow.most_in_flight > MSS * 200, "{}", flow.most_in_flight);
    assert!(flow.in_flight() < MSS * 140, "{}", flow.in_flight());
}

#[test]
fn the_cycle_asks_for_a_quarter_more_once_in_eight_phases() {
    let mut flow = Flow::new();
    flow.run(Duration::from_secs(3));
    let mut gains = Vec::new();
    while flow.now < Instant::START + Duration::from_secs(8) {
        flow.step(Repair::None, Bytes::ZERO);
        if let Mode::ProbeRate { phase, .. } = flow.bbr.mode
            && gains.last() != Some(&phase)
        {
            gains.push(phase);
        }
    }
    assert!(gains.len() > 16, "{gains:?}");
    assert!(gains.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 8), "{gains:?}");
}

#[test]
fn the_path_is_emptied_once_in_ten_seconds() {
    let mut flow = Flow::new();
    let mut emptied = Vec::new();
    while flow.now < Instant::START + Duration::from_secs(25) {
        flow.step(Repair::None, Bytes::ZERO);
        let probes = flow.bbr.keeps_little_on_the_way();
        if probes && flow.in_flight() <= MSS * 4 {
            emptied.push(flow.now.as_secs_f64());
        }
    }
    let spells = emptied.windows(2).filter(|pair| pair[1] - pair[0] > 1.0).count() + 1;
    assert!((1..=2).contains(&spells), "{spells} spells");
    assert!(emptied[0] > 9.0, "{}", emptied[0]);
    assert!(flow.bbr.window() > MSS * 150, "the window is restored: {}", flow.bbr.window());
}

#[test]
fn data_after_a_pause_ends_the_probe_for_a_round_trip_once_its_time_is_over() {
    let (start, mut bbr) = (Instant::START, Bbr::new(MSS, MSS * 10));
    let done = start + PROBE_RTT_SPAN;
    for (now, probes) in [(start, true), (done, true), (done + Duration::from_millis(1), false)] {
        // No round has passed in it.
        bbr.mode = Mode::ProbeRtt { done: Some(done), round_done: false };
        bbr.on_restart(now, Duration::from_secs(1), true);
        assert_eq!(bbr.keeps_little_on_the_way(), probes, "{now:?}");
    }
}

#[test]
fn in_recovery_a_delivery_lets_out_one_segment_for_a_round_and_then_the_window_returns() {
    let mut flow = Flow::new();
    flow.run(Duration::from_secs(3));
    let before = flow.bbr.window();
    flow.bbr.on_loss(flow.in_flight());
    let in_flight = flow.in_flight();
    flow.flying.truncate(flow.flying.len() - 20);
    while flow.in_flight() > in_flight - MSS * 25 {
        let arrivals = flow.delivered;
        flow.step(Repair::Fast, Bytes::ZERO);
        if flow.delivered > arrivals {
            assert!(flow.bbr.window() <= flow.in_flight() + MSS * 2, "{}", flow.bbr.window());
            break;
        }
    }
    let arrivals = flow.delivered;
    while flow.delivered == arrivals {
        flow.step(Repair::None, Bytes::ZERO);
    }
    assert!(flow.bbr.window() >= before - MSS * 4, "{} after {before}", flow.bbr.window());
}

#[test]
fn what_is_delivered_until_the_next_segment_leaves_is_not_on_the_way_then() {
    let mut flow = Flow::new();
    flow.run(Duration::from_secs(3));
    let rate = flow.bbr.path_rate().expect("it was measured");
    let left = |segments: u32| {
        // A little more than the time of so many.
        let until_departure = rate.transmission_time(MSS) * segments + Duration::from_micros(1);
        flow.bbr.at_departure(&RateSample { until_departure, ..RateSample::default() }, MSS * 10)
    };
    assert_eq!([0, 3, 12].map(left), [MSS * 10, MSS * 7, Bytes::ZERO]);
}

#[test]
fn whole_segments_are_expected() {
    let mut aggregation = Aggregation::default();
    let segment = RATE.transmission_time(MSS);
    for now in [segment * 100, segment * 100 + segment * 9 / 10] {
        let sample =
            RateSample { now: Instant::START + now, newly_delivered: MSS, interval: RTT, ..RateSample::default() };
        aggregation.update(&sample, Some(RATE), false, (MSS * 200, MSS));
    }
    assert_eq!(aggregation.allowance(Some(RATE), MSS), MSS * 2, "nine tenths of one are none");
}

#[test]
fn acknowledgements_in_bunches_widen_the_window() {
    let mut aggregation = Aggregation::default();
    let sample = |ms: u64, segments: u64| RateSample {
        now: Instant::START + Duration::from_millis(ms),
        newly_delivered: MSS * segments,
        interval: RTT,
        ..RateSample::default()
    };
    // A segment per ms is expected; twenty come at once every 20 ms.
    (1..50).for_each(|bunch| aggregation.update(&sample(bunch * 20, 20), Some(RATE), false, (MSS * 200, MSS)));
    let extra = aggregation.allowance(Some(RATE), MSS);
    assert!((MSS * 19..=MSS * 41).contains(&extra), "{extra}");
    let mut smooth = Aggregation::default();
    (1..500).for_each(|ms| smooth.update(&sample(ms, 1), Some(RATE), false, (MSS * 200, MSS)));
    assert!(smooth.allowance(Some(RATE), MSS) <= MSS * 2, "{}", smooth.allowance(Some(RATE), MSS));
}

#[test]
fn a_policed_path_is_sent_at_the_rate_that_it_lets_through() {
    let mut flow = Flow { bbr: Bbr::as_in_linux(MSS, MSS * 10), ..Flow::new() };
    flow.run(Duration::from_secs(3));
    let mut sample = RateSample {
        now: flow.now,
        prior_delivered: flow.delivered,
        total_delivered: flow.delivered,
        ..RateSample::default()
    };
    for _ in 0..12 {
        // Half the rate is delivered per round, and a quarter of that lost.
        sample.now += RTT;
        sample = RateSample {
            delivered_at: sample.now,
            delivered: MSS * 50,
            interval: RTT,
            prior_delivered: sample.total_delivered,
            total_delivered: sample.total_delivered + MSS * 50,
            total_lost: sample.total_lost + MSS * 12,
            newly_lost: MSS * 12,
            ..sample
        };
        flow.bbr.on_sample(&sample);
    }
    let paced = flow.bbr.pacing_rate().expect("BBR paces").as_f64() / RATE.as_f64();
    assert!((0.49..0.5).contains(&paced), "{paced}");
}

#[test]
fn the_handshakes_round_trip_counts_from_the_start() {
    let (mut bbr, now) = (Bbr::new(MSS, MSS * 10), Instant::START + Duration::from_secs(1));
    let rtt = Duration::from_millis(200);
    bbr.on_open(now, rtt, rtt);
    // 2.89 windows per round trip, less a hundredth.
    let window = bbr.window().get() * 8 * 5;
    let paced = bbr.pacing_rate().expect("it paces").bits_per_second();
    assert!(paced.abs_diff(window * 286 / 100) < window / 50, "{paced}");
    assert_eq!(bbr.least_rtt, Some((rtt, now)));
}
