use super::*;
use proptest::prelude::*;

fn secs(count: u64) -> Instant {
    Instant::START + Duration::from_secs(count)
}

fn process(text: &str) -> OutageProcess {
    OutageProcess::new(&text.parse().expect("good outages"), 7, Port::Gateway)
}

fn just_before(at: Instant) -> Instant {
    back(at, 1)
}

/// Beginning and end of the random outages of `text` until `until`, asked for as one who only knows `until` can.
fn found(process: &mut OutageProcess, until: Instant, step: Duration) -> Vec<(Instant, Instant)> {
    let (mut now, mut found) = (Instant::START, Vec::new());
    while now < until {
        match process.until(now) {
            Some(end) => {
                found.push((process.phase.begin, end));
                now = end;
            }
            None => now += step,
        }
    }
    found
}

#[test]
fn listed_outages_are_exact_at_both_ends() {
    let mut process = process("at windows=10s+2s;60s+5s");
    for (begin, end) in [(secs(10), secs(12)), (secs(60), secs(65))] {
        assert_eq!(process.until(just_before(begin)), None);
        assert_eq!(process.until(begin), Some(end));
        assert_eq!(process.until(just_before(end)), Some(end));
        assert_eq!(process.until(end), None);
    }
    assert_eq!(process.until(secs(1000)), None);
}

#[test]
fn periodic_outages_are_exact_at_both_ends() {
    let mut process = process("periodic first=10s period=60s length=2s");
    assert_eq!(process.until(Instant::START), None);
    for turn in [0, 1, 2, 1_000_000] {
        let (begin, end) = (secs(10 + 60 * turn), secs(12 + 60 * turn));
        assert_eq!(process.until(just_before(begin)), None);
        assert_eq!(process.until(begin), Some(end));
        assert_eq!(process.until(just_before(end)), Some(end));
        assert_eq!(process.until(end), None);
    }
}

#[test]
fn an_outage_may_begin_with_the_run() {
    assert_eq!(process("at windows=0s+2s").until(Instant::START), Some(secs(2)));
    assert_eq!(process("periodic first=0s period=3s length=2s").until(Instant::START), Some(secs(2)));
}

#[test]
fn random_outages_leave_the_beginning_of_the_run_up() {
    let outages = "random up=1s down=1h".parse().expect("good outages");
    for terminal in 0..20 {
        let mut process = OutageProcess::new(&outages, 7, Port::Terminal(terminal));
        assert_eq!(process.until(Instant::START), None);
        assert!(process.until(secs(60)).is_some());
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn random_outages_have_their_mean_up_and_down_times() {
    let outages = found(&mut process("random up=6s down=2s"), secs(80_000), Duration::from_millis(1));
    let count = outages.len() as f64;
    let down = outages.iter().map(|(begin, end)| end.since(*begin).as_secs_f64()).sum::<f64>() / count;
    let up = outages.windows(2).map(|pair| pair[1].0.since(pair[0].1).as_secs_f64()).sum::<f64>() / (count - 1.0);
    // Exponential times deviate by their mean: four standard errors.
    assert!((down / 2.0 - 1.0).abs() < 4.0 / count.sqrt(), "{down}");
    assert!((up / 6.0 - 1.0).abs() < 4.0 / count.sqrt(), "{up}");
    assert!((9_000.0..11_000.0).contains(&count), "{count}");
}

#[test]
fn paths_have_their_own_random_outages() {
    let outages = "random up=6s down=2s".parse().expect("good outages");
    let ports = [Port::Gateway, Port::Terminal(0), Port::Terminal(1)];
    let [down, first, second] =
        ports.map(|port| found(&mut OutageProcess::new(&outages, 7, port), secs(100), Duration::from_millis(1)));
    assert!(down != first && first != second && second != down);
}

#[test]
fn a_change_and_back_leaves_outages_where_they_were() {
    let (mut changed, mut constant) = (process("random up=6s down=2s"), process("random up=6s down=2s"));
    changed.until(secs(500));
    changed.set_outages(&Outages::None);
    assert_eq!(changed.until(secs(600)), None);
    changed.set_outages(&"at windows=700s+2s".parse().expect("good outages"));
    assert_eq!(changed.until(secs(701)), Some(secs(702)));
    changed.set_outages(&"random up=6s down=2s".parse().expect("good outages"));
    for second in 702..2000 {
        assert_eq!(changed.until(secs(second)), constant.until(secs(second)));
    }
}

#[test]
fn the_random_pattern_repeats_after_a_million_outages() {
    let mut process = process("random up=1ms down=1ms");
    let Schedule::Random(phases) = &mut process.schedule else { panic!("random outages") };
    let first: Vec<Instant> = (0..5).map(|_| phases.phase(phases.phase.end).end).collect();
    while phases.number + 1 < PATTERN {
        phases.phase(phases.phase.end);
    }
    let length = phases.phase.end.since(Instant::START);
    // About two million phases of a millisecond.
    assert!((2_050..2_150).contains(&length.as_secs()), "{length:?}");
    for turn in [1, 7, 1_000] {
        for end in &first {
            let at = *end + length * turn;
            assert_eq!(phases.phase(just_before(at)).end, at);
        }
    }
}

#[test]
fn nothing_is_down_at_the_end_of_time_nor_beyond_it() {
    let last = just_before(END_OF_TIME);
    let mut random = process("random up=1ms down=1ms");
    assert_eq!(random.until(END_OF_TIME), None);
    assert!(random.until(last).is_none_or(|end| end == END_OF_TIME));
    let mut periodic = process("periodic first=0s period=584000h length=583999h");
    assert_eq!(periodic.until(secs(3)), Some(secs(583_999 * 3600)));
    assert_eq!(periodic.until(END_OF_TIME), None);
    let mut endless = OutageProcess::new(&Outages::At([(secs(1), Duration::MAX)].into()), 7, Port::Gateway);
    assert_eq!(endless.until(last), Some(END_OF_TIME));
    assert_eq!(endless.until(END_OF_TIME), None);
}

#[test]
fn outages_that_no_text_can_say_stop_nothing() {
    let never = Duration::ZERO;
    let periodic = Outages::Periodic { first: Instant::START, period: never, length: never };
    let random = Outages::Random { up: never, down: never };
    for outages in [periodic, random, Outages::At([].into())] {
        let mut process = OutageProcess::new(&outages, 7, Port::Gateway);
        for at in [Instant::START, secs(5), just_before(END_OF_TIME)] {
            assert!(process.until(at).is_none_or(|end| end > at));
        }
    }
}

/// Also what no text can say: such outages mean nothing, but must not stop the link.
fn any_outages() -> impl Strategy<Value = Outages> {
    let nanos = || prop_oneof![3 => 0_u64..3000, 1 => any::<u64>()];
    let span = move || nanos().prop_map(Duration::from_nanos);
    let windows = proptest::collection::vec((nanos().prop_map(Instant::from_nanos), span()), 0..6);
    let periodic = (nanos().prop_map(Instant::from_nanos), span(), span());
    let random =
        (1_000_u64.., 1_000_u64..).prop_map(|(up, down)| (Duration::from_nanos(up), Duration::from_nanos(down)));
    prop_oneof![
        Just(Outages::None),
        windows.prop_map(|windows| Outages::At(windows.into())),
        periodic.prop_map(|(first, period, length)| Outages::Periodic { first, period, length }),
        random.prop_map(|(up, down)| Outages::Random { up, down }),
    ]
}

proptest! {
    #[test]
    fn the_answer_does_not_depend_on_earlier_questions(
        outages in any_outages(),
        questions in proptest::collection::vec(prop_oneof![0_u64..5000, any::<u64>()], 1..20),
    ) {
        prop_assume!(outages.check().is_ok());
        let mut one = OutageProcess::new(&outages, 7, Port::Gateway);
        for nanos in questions {
            let at = Instant::from_nanos(nanos);
            let mut other = OutageProcess::new(&outages, 7, Port::Gateway);
            prop_assert_eq!(one.until(at), other.until(at));
        }
    }

    #[test]
    fn an_outage_ends_after_every_moment_in_it(
        outages in any_outages(),
        questions in proptest::collection::vec(prop_oneof![0_u64..5000, any::<u64>()], 1..20),
    ) {
        let mut process = OutageProcess::new(&outages, 7, Port::Gateway);
        for nanos in questions {
            let at = Instant::from_nanos(nanos);
            prop_assert!(process.until(at).is_none_or(|end| end > at));
        }
    }
}

#[test]
fn all_terminals_share_one_list() {
    let windows: Arc<[_]> = [(secs(1), Duration::from_secs(1))].into();
    let outages = Outages::At(Arc::clone(&windows));
    let _processes = [0, 1].map(|terminal| OutageProcess::new(&outages, 7, Port::Terminal(terminal)));
    assert_eq!(Arc::strong_count(&windows), 4);
}
