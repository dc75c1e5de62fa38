use super::*;
use farhop_units::{Bytes, random::Stream};
use proptest::prelude::*;
use std::time::Duration;

/// One of every family, and of every kind of bounds.
const ALL: [&str; 19] = [
    "constant value=7",
    "uniform least=2 most=9",
    "exponential mean=30",
    "exponential mean=30 from=10 to=100",
    "pareto least=2 shape=3.5",
    "pareto least=1000 shape=1.1 to=1000000",
    "pareto least=2 shape=1.1 cap=55",
    "lognormal mean=10710 deviation=25032",
    "lognormal mu=9.357 sigma=1.318 to=133000",
    "lognormal mean=7758 deviation=126168 from=50 to=2000000",
    "gamma mean=5.55 deviation=1.14",
    "gamma mean=5.55 deviation=11.4",
    "gamma mean=5 deviation=5 cap=9",
    "weibull mean=39.5 deviation=92.6",
    "weibull scale=1.46 shape=0.382 to=30",
    "zipf count=2000 exponent=1",
    "zipf count=50 exponent=2.5",
    "percentiles 0%=1 10%=4 50%=22 90%=95 100%=1000",
    "82% constant value=250 | 11% constant value=1000 | 7% pareto least=1000 shape=2.5",
];

fn number(text: &str) -> Distribution<f64> {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn size(text: &str) -> Distribution<Bytes> {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

const DRAWS: u32 = 40_000;

fn draws(distribution: &Distribution<f64>, seed: u64) -> Vec<f64> {
    let mut dice = Dice::new(Stream::new(seed, 0));
    (0..DRAWS).map(|_| distribution.draw(&mut dice)).collect()
}

#[test]
fn draws_are_distributed_as_the_distribution_function_says() {
    for (seed, text) in (1..).zip(ALL) {
        let distribution = number(text);
        let drawn = draws(&distribution, seed);
        for u in [0.02, 0.1, 0.5, 0.9, 0.99] {
            let x = distribution.at(u);
            let below = drawn.iter().filter(|value| **value <= x).count();
            let share = below as f64 / f64::from(DRAWS);
            let expected = distribution.cdf(x);
            // Four standard errors of a share.
            let error = 4.0 * (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
            assert!(near(share, expected, error + 1e-9), "{text}: {share} up to {x} instead of {expected}");
        }
    }
}

#[test]
fn draws_have_the_mean_that_is_known() {
    for (seed, text) in (1..).zip(ALL) {
        let distribution = number(text);
        let drawn = draws(&distribution, seed);
        let mean = drawn.iter().sum::<f64>() / f64::from(DRAWS);
        let (expected, deviation) = (distribution.mean().unwrap(), distribution.deviation().unwrap());
        let error = 4.0 * deviation / f64::from(DRAWS).sqrt();
        assert!(near(mean, expected, error + 1e-9), "{text}: {mean} instead of {expected} ± {error}");
    }
}

#[test]
fn moments_are_those_of_the_inverse_distribution_function() {
    /// Pieces of the unit interval, finer towards 1, where the inverse is steep: the rule's error stays below one in 10⁴.
    const PIECES: u32 = 200_000;
    for text in ALL {
        let distribution = number(text);
        let (mut first, mut second) = (0.0, 0.0);
        for piece in 0..PIECES {
            // u = 1 − (1 − v)⁴, so that du = 4(1 − v)³ dv.
            let rest = 1.0 - (f64::from(piece) + 0.5) / f64::from(PIECES);
            let weight = 4.0 * rest * rest * rest / f64::from(PIECES);
            let x = distribution.at((1.0 - rest * rest * rest * rest).min(1.0 - f64::EPSILON / 2.0));
            first += weight * x;
            second += weight * x * x;
        }
        let deviation = (second - first * first).max(0.0).sqrt();
        let (mean, exact) = (distribution.mean().unwrap(), distribution.deviation().unwrap());
        assert!(near(first, mean, 1e-3 * mean), "{text}: mean {first} instead of {mean}");
        // The tails of "pareto shape=2.5" and of the widest lognormal hold more of the second moment than the rule sees.
        assert!(near(deviation, exact, 2e-2 * exact + 1e-4 * mean), "{text}: deviation {deviation} instead of {exact}");
    }
}

#[test]
fn known_means_come_out() {
    assert_eq!(size("pareto least=1kB shape=1.1").mean(), Some(Bytes::kb(11)));
    assert_eq!(size("pareto least=1kB shape=1").mean(), None);
    assert_eq!(size("pareto least=1kB shape=1.9").deviation(), None);
    assert!(size("pareto least=1kB shape=1.9 cap=1MB").deviation().is_some());
    // αk/(α−1) · (1 − (k/m)^(α−1)) / (1 − (k/m)^α), by hand.
    let truncated =
        |most: f64| 11_000.0 * (1.0 - libm::pow(1000.0 / most, 0.1)) / (1.0 - libm::pow(1000.0 / most, 1.1));
    for (text, most) in [("10MB", 1e7), ("100MB", 1e8), ("1GB", 1e9)] {
        let mean = size(&format!("pareto least=1kB shape=1.1 to={text}")).mean().unwrap();
        assert!(near(mean.as_f64(), truncated(most), 0.5), "{mean}");
    }
    // At n = α the integral is a logarithm: α·k·ln(m/k) / (1 − k/m).
    let logarithmic = number("pareto least=2 shape=1 to=2000").mean().unwrap();
    assert!(near(logarithmic, 2.0 * libm::log(1000.0) / (1.0 - 0.001), 1e-9), "{logarithmic}");
    // The number of embedded objects of 3GPP: 5.64 + 2.
    assert!(near(number("pareto least=2 shape=1.1 cap=55").mean().unwrap(), 7.64, 0.005));
    assert_eq!(size("lognormal mean=10710B deviation=25032B").deviation(), Some(Bytes::new(25_032)));
    assert!(near(number("weibull mean=39.5 deviation=92.6").deviation().unwrap(), 92.6, 1e-6));
}

#[test]
fn draws_are_the_same_on_every_machine() {
    // To the last bit, and within the last digits what other programs compute (mpmath's with 40 digits, Python's sums and bisections).
    for (text, expected, bits) in DRAWN {
        let drawn = number(text).at(0.734_375);
        assert!(near(drawn, expected, 1e-13 * expected), "{text}: {drawn}");
        assert_eq!(drawn.to_bits(), bits, "{text}: {drawn}");
    }
}

const DRAWN: [(&str, f64, u64); 11] = [
    ("exponential mean=30", 39.770_092_179_103_67, 4_630_793_960_194_446_316),
    ("exponential mean=30 from=10 to=100", 45.901_239_878_699_556, 4_631_656_842_522_422_988),
    ("pareto least=2 shape=3.5", 2.920_953_088_568_934, 4_613_759_820_420_640_283),
    ("pareto least=1000 shape=1.1 to=1000000", 3_333.075_701_952_542, 4_659_547_926_054_831_315),
    ("lognormal mean=10710 deviation=25032", 9_908.806_475_197_034, 4_666_673_038_296_893_990),
    ("lognormal mean=7758 deviation=126168 from=50 to=2000000", 2_937.206_773_602_027_6, 4_658_677_401_075_238_085),
    ("gamma mean=5.55 deviation=1.14", 6.210_915_951_345_438, 4_618_678_888_118_415_103),
    ("gamma mean=5.55 deviation=11.4", 5.034_619_102_131_316, 4_617_354_495_605_465_646),
    ("weibull mean=39.5 deviation=92.6", 33.201_524_489_911_38, 4_629_869_516_475_777_432),
    ("zipf count=2000 exponent=1", 228.0, 4_642_226_053_400_494_080),
    ("percentiles 0%=1 10%=4 50%=22 90%=95 100%=1000", 51.840_516_068_309_434, 4_632_492_721_335_997_285),
];

#[test]
fn extreme_numbers_are_drawn_without_trouble() {
    let largest = 1.0 - f64::EPSILON / 2.0;
    for text in ALL {
        let distribution = number(text);
        let (low, high) = (distribution.at(0.0), distribution.at(largest));
        assert!(low >= 0.0 && high.is_finite() && low <= high, "{text}: {low} to {high}");
    }
    assert_eq!(size("pareto least=1MB shape=0.01").at(largest), Bytes::new(u64::MAX), "saturates");
}

#[test]
fn what_is_no_distribution_is_refused() {
    let problem = |text: &str| text.parse::<Distribution<Bytes>>().unwrap_err().problem;
    assert_eq!(problem(""), "unknown distribution \"\"");
    assert_eq!(problem("normal mean=1B"), "unknown distribution \"normal\"; did you mean lognormal?");
    assert_eq!(problem("pareto least=1kB"), "no \"shape\" for \"pareto\"");
    assert_eq!(problem("pareto least=1kB shape=0"), "shape=0");
    assert_eq!(problem("pareto least=0B shape=1"), "least: nothing");
    assert_eq!(problem("pareto least=1 shape=1"), "least: \"1\" has no unit");
    assert_eq!(problem("pareto least=1kB shape=NaN"), "shape: \"NaN\" is no number");
    assert_eq!(problem("pareto least=1kB shape=1.1 mean=1B"), "unknown term \"mean\"");
    assert_eq!(problem("pareto least=1kB shape=1.1 shape=1.2"), "\"shape\" is given twice");
    assert_eq!(problem("exponential mean"), "no \"=\" in \"mean\"");
    assert_eq!(problem("uniform least=2B most=1B"), "least is above most");
    assert_eq!(problem("constant value=2B to=3B"), "unknown term \"to\"");
    assert!(problem("exponential mean=1B from=1MB").starts_with("less than one value in a million"));
    assert_eq!(problem("gamma mean=1B deviation=1MB"), "a deviation of 1000000 means");
    assert!(problem("weibull mean=1000B deviation=10B").starts_with("a Weibull distribution whose deviation is 0.01"));
    assert_eq!(problem("percentiles 0%=1B 50%=2B"), "percentiles that do not rise from 0% to 100%");
    assert_eq!(problem("percentiles 0%=2B 100%=1B"), "percentiles that do not rise from 0% to 100%");
    assert_eq!(problem("50% constant value=1B | 40% constant value=2B"), "2 parts of 90% in all");
    assert_eq!(problem("half constant value=1B | 50% constant value=1B"), "\"half\" is no percentage");
    let counts = "zipf count=2.5 exponent=1".parse::<Distribution<f64>>();
    assert_eq!(counts.unwrap_err().problem, "count=2.5");
}

#[test]
fn times_and_sizes_carry_their_units() {
    let think: Distribution<Duration> = "weibull scale=1.46s shape=0.382".parse().unwrap();
    assert_eq!(think.to_string(), "weibull scale=1.46s shape=0.382");
    let pause: Distribution<Duration> = "exponential mean=130ms".parse().unwrap();
    assert_eq!(pause.mean(), Some(Duration::from_millis(130)));
    assert_eq!(Distribution::constant(Bytes::kb(11)).to_string(), "constant value=11kB");
}

proptest! {
    #[test]
    fn inverse_and_distribution_function_agree(place in 0..ALL.len(), u in 0.001..0.999_f64) {
        let distribution = number(ALL[place]);
        let x = distribution.at(u);
        prop_assert!((0.0..=1.0 + 1e-12).contains(&distribution.cdf(x)));
        // Steps of discrete ones and of caps cover more than one number; mixtures first choose.
        let continuous = !["constant", "zipf", "cap", "|"].iter().any(|word| ALL[place].contains(word));
        prop_assert!(!continuous || near(distribution.cdf(x), u, 1e-9), "{} {}", x, distribution.cdf(x));
    }

    #[test]
    fn larger_numbers_draw_larger_values(place in 0..ALL.len() - 1, u in 0.0..1.0_f64, v in 0.0..1.0_f64) {
        let distribution = number(ALL[place]);
        prop_assert!(distribution.at(u.min(v)) <= distribution.at(u.max(v)) * (1.0 + 1e-12));
    }

    #[test]
    fn what_is_printed_reads_back(
        family in 0..8_usize,
        (a, b) in (1..1_000_000_000_u64, 1..1_000_000_000_u64),
        shape in 0.02..900.0_f64,
        bounds in 0..4_usize,
    ) {
        let ratio = 1.0 + shape / 10.0;
        let (low, high) = (Bytes::new(a.min(b)).write(), Bytes::new(a.max(b)).write());
        let other = Bytes::from_number(a.min(b) as f64 * ratio + 1.0).write();
        let text = match family {
            0 => format!("constant value={low}"),
            1 => format!("uniform least={low} most={high}"),
            2 => format!("exponential mean={low}"),
            3 => format!("pareto least={low} shape={shape}"),
            4 => format!("lognormal mean={low} deviation={other}"),
            5 => format!("gamma mean={low} deviation={other}"),
            6 => format!("weibull scale={low} shape={shape}"),
            _ => format!("{}% constant value={low} | 50% exponential mean={high}", 50),
        };
        let bounded = match (family, bounds) {
            (2..=6, 1) => format!("{text} cap={high}"),
            (2, 2) => format!("{text} from={low}"),
            (2, 3) => format!("{text} from=0B to={high}"),
            _ => text,
        };
        let distribution = size(&bounded);
        prop_assert_eq!(distribution.to_string(), bounded);
        prop_assert_eq!(size(&distribution.to_string()), distribution);
    }

    #[test]
    fn any_text_gives_an_answer(text in "[a-z0-9%=|. ]{0,60}|.*") {
        let _ = text.parse::<Distribution<Bytes>>();
        let _ = text.parse::<Distribution<Duration>>();
        let _ = text.parse::<Distribution<f64>>();
    }

    #[test]
    fn any_parameters_draw_something(
        family in 0..6_usize,
        (a, b) in (1e-6..1e18_f64, 1e-6..1e18_f64),
        shape in 0.01..1000.0_f64,
        u in 0.0..1.0_f64,
    ) {
        let text = match family {
            0 => format!("pareto least={a} shape={shape} cap={b}"),
            1 => format!("lognormal mu={} sigma={shape}", libm::log(a)),
            2 => format!("gamma mean={a} deviation={b}"),
            3 => format!("weibull mean={a} deviation={b}"),
            4 => format!("weibull scale={a} shape={shape} to={b}"),
            _ => format!("zipf count={} exponent={shape}", (a % 1e6).ceil()),
        };
        if let Ok(distribution) = text.parse::<Distribution<f64>>() {
            let drawn = distribution.at(u);
            prop_assert!(drawn >= 0.0, "{}: {}", text, drawn);
            // Means beyond all numbers are infinite, not nothing.
            prop_assert!(distribution.mean().is_none_or(|mean| mean >= 0.0), "{}", text);
        }
    }
}
