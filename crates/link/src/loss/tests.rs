//! Frequencies are checked within four standard deviations; the seeds are fixed, so a test passes always or never.

use super::*;
use proptest::prelude::*;

const PACKETS: usize = 100_000;
const FULL: Bytes = Bytes::new(1500);
/// Probability of a wrong bit at a bit error rate of 10⁻⁵ in 40 B and 1500 B, and of 10⁻¹² in 1500 B: 1 − (1 − rate)^bits,
/// computed with 80 digits.
const EXACT_40: f64 = 0.0031949014059550933;
const EXACT_1500: f64 = 0.11308009543849258;
const EXACT_RARE: f64 = 1.1999999928006e-08;

fn probability(value: f64) -> Probability {
    Probability::new(value).expect("from 0 to 1")
}

fn bursts(enter: f64, leave: f64, good: f64, bad: f64) -> GilbertElliott {
    let [enter, leave, good, bad] = [enter, leave, good, bad].map(probability);
    GilbertElliott { enter, leave, good, bad }
}

/// Which of so many packets are lost.
fn fates(loss: &mut Loss, packets: usize, bytes: Bytes) -> Vec<bool> {
    (0..packets).map(|_| loss.takes_next(bytes)).collect()
}

fn fresh(model: LossModel) -> Loss {
    Loss::new(model, 7, Port::Gateway)
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn share(fates: &[bool]) -> f64 {
    fates.iter().filter(|&&lost| lost).count() as f64 / fates.len() as f64
}

/// That the frequency lies within four standard deviations of `expected`, those of independent packets times `wider`.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn check_share(fates: &[bool], expected: f64, wider: f64) {
    let deviation = (expected * (1.0 - expected) / fates.len() as f64).sqrt();
    let share = share(fates);
    assert!((share - expected).abs() <= 4.0 * wider * deviation, "{share} instead of {expected}");
}

#[test]
fn independent_losses_have_their_frequency() {
    for p in [0.001, 0.06, 0.5] {
        check_share(&fates(&mut fresh(LossModel::Bernoulli(probability(p))), PACKETS, FULL), p, 1.0);
    }
}

#[test]
fn never_and_always_are_exact() {
    for (p, expected) in [(Probability::ZERO, false), (Probability::ONE, true)] {
        for model in [LossModel::Bernoulli(p), LossModel::BitErrors(p)] {
            assert!(fates(&mut fresh(model), 10_000, FULL).into_iter().all(|lost| lost == expected), "{model}");
        }
    }
}

#[test]
fn bit_errors_take_the_exact_share_of_each_size() {
    let known = [(1e-5, 40, EXACT_40), (1e-5, 1500, EXACT_1500), (1e-12, 1500, EXACT_RARE)];
    for (rate, bytes, expected) in known {
        let computed = any_wrong_bit(probability(rate), Bytes::new(bytes)).get();
        assert!((computed / expected - 1.0).abs() < 1e-14, "{computed:e} instead of {expected:e}");
    }
    let model = LossModel::BitErrors(probability(1e-5));
    check_share(&fates(&mut fresh(model), PACKETS, Bytes::new(40)), EXACT_40, 1.0);
    check_share(&fates(&mut fresh(model), PACKETS, FULL), EXACT_1500, 1.0);
}

#[test]
fn a_packet_without_bits_has_no_wrong_one() {
    assert!(!fresh(LossModel::BitErrors(Probability::ONE)).takes_next(Bytes::ZERO));
}

#[test]
fn bursts_have_their_stationary_loss() {
    for (enter, leave, good, bad) in [(0.01, 0.3, 0.0, 1.0), (0.05, 0.2, 0.01, 0.6)] {
        let model = LossModel::GilbertElliott(bursts(enter, leave, good, bad));
        let in_bad = enter / (enter + leave);
        // Neighbours are correlated by 1 − enter − leave, which widens the deviation by at most √(2 / (enter + leave)).
        let wider = (2.0 / (enter + leave)).sqrt();
        check_share(&fates(&mut fresh(model), PACKETS, FULL), (1.0 - in_bad) * good + in_bad * bad, wider);
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn bursts_have_their_mean_length() {
    for (leave, bad) in [(0.3_f64, 1.0_f64), (0.1, 1.0), (0.2, 0.6)] {
        let model = LossModel::GilbertElliott(bursts(0.02, leave, 0.0, bad));
        let fates = fates(&mut fresh(model), PACKETS, FULL);
        let runs: Vec<usize> = fates.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let mean = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
        // Lengths are geometric: the chance to go on is bad·(1 − leave).
        let expected = 1.0 / (1.0 - bad * (1.0 - leave));
        let deviation = (expected * (expected - 1.0) / runs.len() as f64).sqrt();
        assert!((mean - expected).abs() < 4.0 * deviation, "{mean} instead of {expected}");
    }
}

#[test]
fn a_bursty_channel_begins_good_and_after_a_change_again() {
    let model = LossModel::GilbertElliott(bursts(1.0, 0.0, 0.0, 1.0));
    let mut loss = fresh(model);
    assert_eq!(fates(&mut loss, 4, FULL), [false, true, true, true]);
    loss.set_model(model);
    assert_eq!(fates(&mut loss, 3, FULL), [false, true, true]);
}

#[test]
fn the_likelier_model_loses_what_the_other_does() {
    let rare = fates(&mut fresh(LossModel::Bernoulli(probability(0.1))), 10_000, FULL);
    let often = fates(&mut fresh(LossModel::Bernoulli(probability(0.2))), 10_000, FULL);
    assert!(rare.iter().zip(&often).all(|(rare, often)| *often || !rare));
    assert_ne!(rare, often);
}

#[test]
fn paths_lose_different_packets() {
    let model = LossModel::Bernoulli(probability(0.5));
    let ports = [Port::Gateway, Port::Terminal(0), Port::Terminal(1)];
    let [down, first, second] = ports.map(|port| fates(&mut Loss::new(model, 7, port), 100, FULL));
    assert!(down != first && first != second && second != down);
}

fn any_model() -> impl Strategy<Value = LossModel> {
    let p = || prop_oneof![1 => Just(0.0), 1 => Just(1.0), 6 => 0.0..=1.0].prop_map(probability);
    let bursts = (p(), p(), p(), p()).prop_map(|(enter, leave, good, bad)| GilbertElliott { enter, leave, good, bad });
    prop_oneof![
        Just(LossModel::None),
        p().prop_map(LossModel::Bernoulli),
        p().prop_map(LossModel::BitErrors),
        bursts.prop_map(LossModel::GilbertElliott),
    ]
}

proptest! {
    #[test]
    fn a_change_of_model_goes_on_with_the_stream(
        before in any_model(), p in 0.0..=1.0, switch in 0_usize..200, sizes in proptest::collection::vec(0_u64..1501, 200),
    ) {
        let after = LossModel::Bernoulli(probability(p));
        let (mut changed, mut constant) = (fresh(before), fresh(after));
        for (index, &bytes) in sizes.iter().enumerate() {
            if index == switch {
                changed.set_model(after);
            }
            let (fate, expected) = (changed.takes_next(Bytes::new(bytes)), constant.takes_next(Bytes::new(bytes)));
            prop_assert!(index < switch || fate == expected, "packet {}", index);
        }
    }

    #[test]
    fn models_read_back_exactly(model in any_model()) {
        // Bernoulli with a probability of zero is written, and read, as no loss.
        prop_assume!(model != LossModel::Bernoulli(Probability::ZERO));
        prop_assert_eq!(model.to_string().parse(), Ok(model));
    }

    #[test]
    fn any_text_gives_an_answer(text in "(none|bit-errors|gilbert-elliott)?( ?(rate|enter|leave|good|bad)=[0-9.e%-]{0,8}){0,4}|.*") {
        let _ = text.parse::<LossModel>();
    }
}
