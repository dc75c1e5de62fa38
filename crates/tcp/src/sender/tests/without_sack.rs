//! Duplicates of an acknowledgement are all that tells of losses.

use super::*;

#[test]
fn duplicates_let_out_what_selective_ones_would() {
    let mut sender = connected(Congestion::Reno, false);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    // Limited transmit, then one for two while the window is halved.
    let leaves = duplicates(&mut sender, 200, 0, 9);
    let expected: [&[u64]; 9] = [&[10], &[11], &[0], &[], &[12], &[], &[13], &[], &[]];
    assert_eq!(leaves, expected);
    assert_eq!((sender.phase, sender.recover), (Phase::Recovery, Sequence::FIRST_BYTE + sender.mss * 12));
    // A partial acknowledgement.
    acknowledge(&mut sender, at(300), 4, None);
    assert_eq!(sent(&mut sender, at(300)), [4, 14], "as the rest of the network is empty");
    assert_eq!(sender.duplicates, 6, "one of four filled the hole, three had been announced");
}

#[test]
fn each_segment_counts_once_as_delivered() {
    let mut sender = connected(Congestion::Bbr, false);
    let delivered = |sender: &Sender| sender.scoreboard.rate.as_ref().map(|rate| rate.delivered()).unwrap_or_default();
    let before = delivered(&sender);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    duplicates(&mut sender, 200, 0, 9);
    assert_eq!(delivered(&sender) - before, sender.mss * 9);
    acknowledge(&mut sender, at(300), 10, None);
    assert_eq!(delivered(&sender) - before, sender.mss * 10);
}

#[test]
fn what_a_repair_has_caused_begins_no_other() {
    let mut sender = connected(Congestion::Reno, false);
    sent(&mut sender, at(100));
    duplicates(&mut sender, 200, 0, 9);
    acknowledge(&mut sender, at(300), 12, None);
    sent(&mut sender, at(300));
    assert_eq!(sender.phase, Phase::Recovery, "until something beyond it is acknowledged");
    let leave = duplicates(&mut sender, 310, 12, 5).concat();
    assert!(leave.iter().all(|segment| *segment > 12), "{leave:?}");
    acknowledge(&mut sender, at(400), 13, None);
    assert_eq!(sender.phase, Phase::Open);
    assert!(sender.congestion.window() < sender.mss * 10, "nothing shows that it was needless");
    assert!(duplicates(&mut sender, 410, 13, 3).iter().flatten().any(|segment| *segment == 13), "a repair of its own");
}

#[test]
fn more_duplicates_than_can_be_mean_that_segments_overtake_each_other() {
    let mut sender = connected(Congestion::Reno, false);
    sent(&mut sender, at(100));
    // The window offered holds 44 segments.
    duplicates(&mut sender, 200, 0, 60);
    assert_eq!((sender.next - sender.unacknowledged).get() / sender.mss.get(), 44);
    assert_eq!((sender.duplicates, sender.reordering.degree()), (43, 44));
    acknowledge(&mut sender, at(400), 44, None);
    sent(&mut sender, at(400));
    acknowledge(&mut sender, at(500), 45, None);
    assert_eq!(sender.phase, Phase::Open);
    duplicates(&mut sender, 500, 45, 10);
    assert_eq!(sender.phase, Phase::Open, "three are not enough any more");
}

#[test]
fn nobody_listens_to_selective_acknowledgements() {
    let mut sender = connected(Congestion::Reno, false);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    duplicates(&mut sender, 200, 0, 3);
    acknowledge(&mut sender, at(210), 0, Some((1, 10)));
    assert_eq!(sender.scoreboard.sacked(), 0);
    acknowledge(&mut sender, at(300), 10, None);
    assert_eq!(sender.unacknowledged, Sequence::FIRST_BYTE + sender.mss * 10);
}

#[test]
fn what_duplicates_have_announced_is_not_delivered_again() {
    let mut sender = connected(Congestion::Reno, false);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    let mss = sender.mss;
    let delivered = |sender: &mut Sender, duplicates: u64| {
        sender.duplicates = duplicates;
        let covered = Covered { segments: 4, delivered: mss * 4, ..Covered::default() };
        let mut news = News { advanced: true, covered, ..News::default() };
        sender.take_announced(&mut news);
        (news.covered.delivered, sender.duplicates)
    };
    // One filled the hole.
    let found = [0, 2, 3, 9].map(|duplicates| delivered(&mut sender, duplicates));
    assert_eq!(found, [(mss * 4, 0), (mss * 2, 0), (mss, 0), (mss, 6)]);
}

#[test]
fn a_timeout_forgets_the_duplicates() {
    let mut sender = connected(Congestion::Reno, false);
    sent(&mut sender, at(100));
    assert_eq!(duplicates(&mut sender, 200, 0, 2).concat(), [10, 11]);
    sender.handle_timer(sender.next_timeout().expect("a timer runs"));
    assert_eq!((sender.duplicates, sender.in_network()), (0, Bytes::ZERO));
}

#[test]
fn an_original_beside_a_repetition_shows_nothing() {
    let (mut sender, due) = timed_out();
    acknowledge(&mut sender, due + Duration::from_millis(100), 5, None);
    assert_eq!(sender.phase, Phase::Loss);
}

#[test]
fn an_original_that_arrives_after_a_timeout_shows_that_it_was_needless() {
    let (mut sender, due) = timed_out();
    let window = sender.mss * 10;
    let later = due + Duration::from_millis(100);
    acknowledge(&mut sender, later, 1, None);
    assert_eq!(sent(&mut sender, later), [10, 11], "what was never sent, to see what arrives");
    assert!(sender.phase == Phase::Loss && sender.congestion.window() < window);
    acknowledge(&mut sender, later, 5, None);
    assert!(sender.phase == Phase::Open && sender.congestion.window() >= window, "{}", sender.congestion.window());
}

#[test]
fn duplicates_after_a_timeout_show_that_it_was_needed() {
    let (mut sender, due) = timed_out();
    let later = due + Duration::from_millis(100);
    acknowledge(&mut sender, later, 1, None);
    assert_eq!(sent(&mut sender, later), [10, 11]);
    acknowledge(&mut sender, later, 1, None);
    assert_eq!(sender.duplicates, 1, "of what was sent to see what arrives");
    assert_eq!(sent(&mut sender, later).first(), Some(&1));
    acknowledge(&mut sender, later + Duration::from_millis(100), 5, None);
    assert_eq!((sender.phase, sender.duplicates), (Phase::Loss, 0));
}

#[test]
fn a_repair_of_the_rfcs_begins_beyond_what_the_last_one_had_on_the_way() {
    let config = TcpConfig { congestion: Congestion::NewReno, sack: false, ..TcpConfig::of(Profile::Rfc) };
    let mut sender = open(&config);
    let first = sent(&mut sender, at(100)).len() as u64;
    sender.time_out(at(1200));
    assert_eq!(sent(&mut sender, at(1200)), [0]);
    acknowledge(&mut sender, at(1300), first, None);
    assert!(sent(&mut sender, at(1300)).len() > 1);
    assert_eq!(sender.phase, Phase::Open);
    duplicates(&mut sender, 1310, first, 4);
    assert_eq!(sender.phase, Phase::Open, "the timeout's repetitions draw these");
    acknowledge(&mut sender, at(1400), first + 1, None);
    sent(&mut sender, at(1400));
    duplicates(&mut sender, 1410, first + 1, 4);
    assert_eq!(sender.phase, Phase::Recovery);
}

#[test]
fn by_the_rfcs_two_duplicates_let_something_out_and_no_more() {
    for (profile, leaves) in [(Profile::Rfc, 2), (Profile::Bsd1997, 0)] {
        let config =
            TcpConfig { congestion: Congestion::NewReno, sack: false, initial_window: 10, ..TcpConfig::of(profile) };
        let mut sender = open(&config);
        let first = sent(&mut sender, at(100)).len() as u64;
        sender.time_out(at(1200));
        assert_eq!(sent(&mut sender, at(1200)), [0]);
        acknowledge(&mut sender, at(1300), first, None);
        sent(&mut sender, at(1300));
        // What has arrived before the timeout draws these: no repair begins.
        let leave = duplicates(&mut sender, 1310, first, 20).concat();
        assert_eq!((leave.len(), sender.phase), (leaves, Phase::Open), "{profile:?}");
        let outstanding = sender.next - sender.unacknowledged;
        assert!(outstanding <= sender.congestion.window() + sender.mss * 2, "{profile:?}: {outstanding}");
    }
}
