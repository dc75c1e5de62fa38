//! RFC 3168: what the network marks, and what the receiver hears of reductions.

use super::*;

/// All four kinds of repair.
const REPAIRS: [(Profile, bool); 4] =
    [(Profile::Linux, true), (Profile::Linux, false), (Profile::Rfc, true), (Profile::Rfc, false)];

fn repairing_as((profile, sack): (Profile, bool)) -> Sender {
    open(&TcpConfig { congestion: Congestion::NewReno, sack, ..TcpConfig::of(profile) })
}

/// Sends all that may leave at `now`; those of the segments that tell of a reduction.
fn telling(sender: &mut Sender, now: Instant) -> Vec<u64> {
    let mss = sender.mss.get();
    core::iter::from_fn(|| sender.transmit(now))
        .filter(|piece| piece.cwr)
        .map(|piece| (piece.sequence - Sequence::FIRST_BYTE).get() / mss)
        .collect()
}

/// Everything before this segment has arrived, and a mark that no reduction has answered yet.
fn mark(sender: &mut Sender, now: Instant, segment: u64) {
    let acknowledgment = Sequence::FIRST_BYTE + sender.mss * segment;
    let timestamps = Timestamps { value: Timestamps::at(now), echo: Timestamps::at(now) };
    let answer =
        Segment { acknowledgment: Some(acknowledgment), window: WINDOW, timestamps, ece: true, ..Segment::default() };
    sender.handle_acknowledgment(now, &answer, acknowledgment);
}

#[test]
fn the_receiver_is_told_of_a_fast_retransmit_by_the_first_new_segment() {
    for repair in REPAIRS {
        let mut sender = repairing_as(repair);
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        for n in 1..10 {
            let selectively = repair.1.then_some((1, 1 + n));
            acknowledge(&mut sender, at(200 + n), 0, selectively);
            let told = telling(&mut sender, at(200 + n));
            let next = (sender.next - Sequence::FIRST_BYTE).get() / sender.mss.get();
            assert!(told.is_empty() || told == [next - 1], "{repair:?}: {told:?} of {next}");
            if !told.is_empty() {
                assert!(sender.phase == Phase::Recovery && n > 2);
                break;
            }
            assert!(n < 9, "{repair:?}: it is not told");
        }
        acknowledge(&mut sender, at(300), 10, None);
        assert_eq!(telling(&mut sender, at(300)), [], "{repair:?}: once");
    }
}

#[test]
fn the_receiver_is_told_of_a_timeout_by_the_first_new_segment() {
    for repair in REPAIRS {
        let mut sender = repairing_as(repair);
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        sender.time_out(at(1500));
        assert_eq!((telling(&mut sender, at(1500)), sender.phase), (vec![], Phase::Loss), "a repetition does not tell");
        // F-RTO sends something new at once.
        let told = [1, 10].map(|segment| {
            acknowledge(&mut sender, at(1600), segment, None);
            telling(&mut sender, at(1600))
        });
        assert_eq!(told.concat(), [10], "{repair:?}");
    }
}

#[test]
fn the_receiver_is_told_of_what_a_probe_has_repaired() {
    let mut sender = probed(6);
    sender.write(sender.mss * 4);
    sent(&mut sender, at(325));
    acknowledge(&mut sender, at(420), 7, None);
    sender.write(sender.mss * 4);
    assert_eq!(telling(&mut sender, at(420)), [10]);
}

#[test]
fn nobody_is_told_of_a_reduction_that_was_undone() {
    let mut sender = connected(Congestion::Reno, true);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    acknowledge(&mut sender, at(200), 0, Some((1, 6)));
    assert_eq!((sent(&mut sender, at(200)), sender.announce_reduction), (vec![0], true));
    acknowledge_of(&mut sender, (at(210), at(100)), 10, None);
    assert_eq!((telling(&mut sender, at(210)), sender.phase), (vec![], Phase::Open));
}

#[test]
fn a_mark_from_before_a_repair_ends_does_not_reduce_again_by_the_rfcs() {
    for sack in [true, false] {
        let mut sender = repairing_as((Profile::Rfc, sack));
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        for n in 1..10 {
            acknowledge(&mut sender, at(200 + n), 0, sack.then_some((1, 1 + n)));
            sent(&mut sender, at(200 + n));
        }
        let all = (sender.recover - Sequence::FIRST_BYTE).get() / sender.mss.get();
        mark(&mut sender, at(300), all);
        assert_eq!(sender.phase, Phase::Open, "sack: {sack}");
        sent(&mut sender, at(300));
        let threshold = sender.congestion.threshold();
        mark(&mut sender, at(400), all + 1);
        assert_eq!(sender.phase, Phase::Reduction, "sack: {sack}: what tells of the reduction has arrived");
        assert!(sack || sender.congestion.threshold() < threshold);
    }
}

/// By the RFCs without SACK: ten segments are sent, the first is acknowledged, and its acknowledgement tells of a mark.
fn reduced_for_a_mark(congestion: Congestion) -> Sender {
    let mut sender = open(&TcpConfig { congestion, sack: false, ..TcpConfig::of(Profile::Rfc) });
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    mark(&mut sender, at(200), 1);
    assert_eq!((sender.phase, sent(&mut sender, at(200))), (Phase::Reduction, vec![]));
    sender
}

#[test]
fn a_loss_behind_a_mark_is_repaired_without_a_second_reduction() {
    for congestion in [Congestion::Reno, Congestion::NewReno, Congestion::Cubic] {
        let mut sender = reduced_for_a_mark(congestion);
        let (window, threshold) = (sender.congestion.window(), sender.congestion.threshold());
        let leave = duplicates(&mut sender, 201, 1, 3).concat();
        assert_eq!((leave, sender.phase), (vec![1], Phase::Recovery), "{congestion:?}");
        assert_eq!((sender.congestion.window(), sender.congestion.threshold()), (window, threshold), "{congestion:?}");
        // It was on the way at the mark, and RFC 6582 says the same of what else is lost of that window.
        assert_eq!(sender.recover, sender.next, "{congestion:?}");
    }
}

#[test]
fn the_loss_of_what_tells_of_a_reduction_is_a_reason_for_another() {
    let mut sender = reduced_for_a_mark(Congestion::NewReno);
    acknowledge(&mut sender, at(210), 10, None);
    let leave = sent(&mut sender, at(210));
    assert!(leave.len() > 3 && leave[0] == 10 && sender.phase == Phase::Reduction, "{leave:?}");
    let threshold = sender.congestion.threshold();
    duplicates(&mut sender, 300, 10, 3);
    assert_eq!(sender.phase, Phase::Recovery);
    assert!(sender.congestion.threshold() < threshold && sender.announce_reduction);
}

#[test]
fn a_timeout_behind_a_mark_keeps_the_threshold() {
    let mut sender = reduced_for_a_mark(Congestion::NewReno);
    let threshold = sender.congestion.threshold();
    sender.time_out(at(1300));
    assert_eq!((sender.congestion.threshold(), sender.congestion.window()), (threshold, sender.mss));
}
