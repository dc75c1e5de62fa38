//! The scoreboard on its own: segments of 1000 bytes, sent a millisecond apart.

use super::losses::Overtaken;
use super::*;

const MSS: Bytes = Bytes::new(1000);

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn number(segments: u64) -> Sequence {
    Sequence::FIRST_BYTE + MSS * segments
}

fn piece(segment: u64) -> Piece {
    Piece { sequence: number(segment), payload: MSS, ..Piece::default() }
}

fn block(start: u64, end: u64) -> SackBlock {
    SackBlock { start: number(start), end: number(end) }
}

fn sent(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(None, false);
    (0..count).for_each(|n| board.push(at(n), piece(n)));
    board
}

fn select(board: &mut Scoreboard, ms: u64, block: SackBlock) {
    take(board, ms, &[block], 0);
}

fn acknowledge(board: &mut Scoreboard, ms: u64, segments: u64) -> Covered {
    take(board, ms, &[], segments)
}

/// One acknowledgement.
fn take(board: &mut Scoreboard, ms: u64, blocks: &[SackBlock], segments: u64) -> Covered {
    let (mut covered, furthest) = (Covered::default(), board.furthest());
    board.select(at(ms), blocks.iter().copied(), number(0), &mut covered);
    board.acknowledge(at(ms), number(segments), number(0), |_| false, &mut covered);
    board.note_overtaking(furthest, &covered);
    covered
}

/// Applies the rule without a reordering window.
fn lose(board: &mut Scoreboard) -> bool {
    board.lose_overtaken(at(1000), Duration::ZERO).lost
}

#[test]
fn an_acknowledgement_says_when_what_it_covers_was_sent() {
    let mut board = sent(4);
    let covered = acknowledge(&mut board, 100, 3);
    assert_eq!((covered.bytes, covered.segments), (MSS * 3, 3));
    assert_eq!(covered.by_number, Some(SentTimes { first: at(0), last: at(2) }));
    assert_eq!(board.in_flight(), MSS);
}

#[test]
fn the_first_and_the_last_are_lost_alone() {
    let mut board = sent(3);
    board.lose_first();
    board.lose_last();
    assert_eq!(board.in_flight(), MSS, "the one between is not");
    assert_eq!(board.total_lost(), MSS, "the last is only asked after");
    let repeated: Vec<_> = std::iter::from_fn(|| board.repeat(at(50), false)).map(|piece| piece.sequence).collect();
    assert_eq!(repeated, [number(0), number(2)]);
    let mut empty = Scoreboard::new(None, false);
    empty.lose_first();
    empty.lose_last();
    assert_eq!(empty.next_lost(), None);
}

#[test]
fn what_was_overtaken_is_lost_and_repeated_once() {
    let mut board = sent(6);
    select(&mut board, 40, block(3, 5));
    assert_eq!((board.in_flight(), board.sacked()), (MSS * 4, 2));
    assert!(lose(&mut board));
    assert_eq!(board.in_flight(), MSS, "only the last is still on the way");
    let repeated: Vec<_> = std::iter::from_fn(|| board.repeat(at(50), false)).map(|piece| piece.sequence).collect();
    assert_eq!(repeated, [number(0), number(1), number(2)]);
    assert!(!lose(&mut board), "sent again after the latest delivered one");
    select(&mut board, 60, block(5, 6));
    assert!(!lose(&mut board), "the last was first sent before the repeats");
    let covered = acknowledge(&mut board, 99, 6);
    assert_eq!((covered.by_number, covered.segments), (None, 6), "repeats and earlier arrivals give no sample");
    assert!(covered.repetition);
    assert_eq!(board.in_flight(), Bytes::ZERO);
}

#[test]
fn a_lost_repeat_is_found_when_a_later_segment_arrives() {
    let mut board = sent(4);
    select(&mut board, 40, block(1, 4));
    lose(&mut board);
    board.repeat(at(50), false);
    board.push(at(51), piece(4));
    select(&mut board, 90, block(4, 5));
    assert!(lose(&mut board));
    assert_eq!(board.repeat(at(100), false).map(|piece| piece.sequence), Some(number(0)));
}

#[test]
fn what_was_overtaken_lately_is_lost_after_the_window() {
    let mut board = sent(2);
    select(&mut board, 101, block(1, 2));
    let waiting = board.lose_overtaken(at(101), Duration::from_millis(25));
    // Sent at 0 ms, and a round trip of 100 later than that.
    assert_eq!(waiting, Overtaken { pending: Some(at(125)), ..Overtaken::default() });
    assert!(board.lose_overtaken(at(125), Duration::from_millis(25)).lost);
}

#[test]
fn the_last_of_originals_and_repetitions_is_waited_for() {
    // Four are sent at 0 to 3 ms, the first again at 50; the last, sent again at 60, arrives at 160: a round trip of 100 ms.
    let mut board = sent(4);
    board.note_least_rtt(Duration::from_millis(100));
    board.lose_first();
    board.repeat(at(50), false);
    board.lose_last();
    board.repeat(at(60), false);
    select(&mut board, 160, block(3, 4));
    let waiting = board.lose_overtaken(at(160), Duration::from_millis(100));
    assert_eq!((board.lost(), waiting.pending), (0, Some(at(250))), "the second and third wait less long");
    // The first is sent again before the others are sent at all.
    let mut board = sent(1);
    board.note_least_rtt(Duration::from_millis(100));
    board.lose_first();
    board.repeat(at(1), false);
    (2..5).for_each(|n| board.push(at(n), piece(n - 1)));
    select(&mut board, 104, block(3, 4));
    let waiting = board.lose_overtaken(at(104), Duration::from_millis(100));
    assert_eq!((board.lost(), waiting.pending), (0, Some(at(203))), "the first waits less long");
}

#[test]
fn a_late_segment_is_reordering_unless_it_was_repeated() {
    let mut board = sent(3);
    select(&mut board, 100, block(2, 3));
    assert_eq!(board.displacement(), Bytes::ZERO);
    board.lose_first();
    board.repeat(at(101), false);
    acknowledge(&mut board, 200, 1);
    assert_eq!(board.displacement(), Bytes::ZERO);
    acknowledge(&mut board, 200, 3);
    assert_eq!(board.displacement(), MSS * 2, "from the start of the second to the end of the third");
}

#[test]
fn what_was_repeated_spoils_the_sample_though_it_has_arrived_before() {
    let mut board = sent(3);
    board.lose_last();
    board.repeat(at(50), false);
    select(&mut board, 100, block(2, 3));
    let covered = acknowledge(&mut board, 101, 3);
    assert!(covered.repetition && covered.by_number.is_some());
}

#[test]
fn what_one_acknowledgement_tells_is_in_order() {
    let mut board = sent(9);
    let covered = take(&mut board, 100, &[block(6, 7), block(2, 4)], 1);
    assert_eq!(covered.selectively, Some(SentTimes { first: at(2), last: at(6) }));
    assert_eq!(board.displacement(), Bytes::ZERO, "the blocks came the last first, and with the first segment");
    take(&mut board, 101, &[block(8, 9), block(6, 7), block(2, 4)], 1);
    assert_eq!(board.displacement(), Bytes::ZERO);
    take(&mut board, 102, &[block(2, 5)], 1);
    assert_eq!(board.displacement(), MSS * 5, "the fifth after the ninth");
}

#[test]
fn the_round_trip_of_the_last_one_heard_of_decides_even_if_it_was_sent_before_the_latest() {
    let mut board = sent(10);
    select(&mut board, 100, block(9, 10));
    // The last was sent at 9 ms and took 91 ms, the third takes 100.
    select(&mut board, 102, block(2, 3));
    let waiting = board.lose_overtaken(at(102), Duration::ZERO);
    assert_eq!(
        (board.lost(), waiting.pending),
        (2, Some(at(108))),
        "those sent more than 100 ms ago, and no others yet"
    );
}

#[test]
fn by_rfc_6675_three_arrivals_behind_a_segment_mean_its_loss() {
    let mut board = sent(8);
    select(&mut board, 40, block(2, 4));
    board.lose_passed(3);
    assert_eq!(board.lost(), 0);
    select(&mut board, 41, block(5, 6));
    board.lose_passed(3);
    assert_eq!(board.lost(), 2, "segments 0 and 1, not 4");
    board.repeat(at(50), false);
    select(&mut board, 42, block(6, 8));
    board.lose_passed(3);
    assert_eq!(board.lost(), 2, "1 and 4; what was sent again is not lost a second time");
    acknowledge(&mut board, 100, 4);
    assert_eq!((board.sacked(), board.lost(), board.in_flight()), (3, 1, Bytes::ZERO));
}

#[test]
fn a_hole_is_what_was_found_lost_until_it_arrives_and_no_probe_makes_one() {
    let mut board = sent(6);
    select(&mut board, 40, block(3, 4));
    lose(&mut board);
    assert_eq!((board.lost(), board.holes()), (3, 3));
    board.repeat(at(50), false);
    board.repeat(at(50), false);
    assert_eq!((board.lost(), board.holes()), (1, 3), "what is sent again has not arrived");
    acknowledge(&mut board, 100, 1);
    select(&mut board, 101, block(1, 2));
    assert_eq!((board.lost(), board.holes()), (1, 1));
    board.lose_last();
    assert_eq!((board.lost(), board.holes()), (2, 1));
    board.find_all();
    assert_eq!((board.lost(), board.holes()), (0, 0));
}

#[test]
fn what_is_found_again_is_on_the_way() {
    let mut board = sent(5);
    select(&mut board, 40, block(3, 4));
    lose(&mut board);
    board.repeat(at(50), false);
    board.find_all();
    assert_eq!((board.lost(), board.repeated(), board.in_flight()), (0, 1, MSS * 4));
    select(&mut board, 60, block(4, 5));
    assert!(lose(&mut board), "and may be lost again");
}

#[test]
fn small_segments_count_in_full_where_segments_are_counted() {
    let mut board = Scoreboard::new(Some(MSS), false);
    board.push(at(0), Piece { payload: Bytes::new(1), ..piece(0) });
    assert_eq!(board.in_flight(), MSS);
}

#[test]
fn blocks_that_grow_are_taken_in_once() {
    let mut board = sent(10);
    let counts = [block(2, 4), block(2, 6), block(1, 8), block(1, 8)].map(|block| {
        let mut covered = Covered::default();
        board.select(at(50), [block].into_iter(), number(3), &mut covered);
        (covered.sacked, covered.original)
    });
    assert_eq!(counts, [(2, true), (2, false), (3, true), (0, false)]);
}

/// So many packets of four segments.
fn packets(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(None, false);
    for n in 0..4 * count {
        if n % 4 == 0 {
            board.end_packet();
        }
        board.push(at(n), piece(n));
    }
    board
}

#[test]
fn a_packet_is_held_until_all_of_it_is_acknowledged() {
    let mut board = packets(3);
    let held = [3, 4, 11, 12].map(|segments| {
        acknowledge(&mut board, 100, segments);
        board.packets()
    });
    assert_eq!(held, [3, 2, 1, 0]);
}

#[test]
fn what_is_named_is_cut_off_and_joins_what_was_named_before_it() {
    let mut board = packets(3);
    let mut after = |blocks: &[SackBlock]| {
        take(&mut board, 100, blocks, 0);
        board.packets()
    };
    assert_eq!(after(&[block(1, 2)]), 5, "three of the first packet");
    assert_eq!(after(&[block(1, 4)]), 4, "two");
    assert_eq!(after(&[block(1, 6)]), 4, "half of the second joins");
    assert_eq!(after(&[block(1, 6), block(8, 9)]), 5, "the third in two");
    assert_eq!(after(&[block(1, 6), block(8, 12)]), 4);
    assert_eq!(after(&[block(1, 6), block(7, 12)]), 5, "a first one does not join what is behind it");
    assert_eq!(after(&[block(1, 12)]), 3, "one that fills a hole joins what is on both sides");
    acknowledge(&mut board, 200, 7);
    assert_eq!(board.packets(), 2);
}

#[test]
fn what_is_sent_again_is_cut_off_with_what_goes_along() {
    let mut board = packets(3);
    select(&mut board, 100, block(8, 12));
    assert!(lose(&mut board));
    assert_eq!(board.packets(), 3);
    let mut after = |ms: u64| {
        board.repeat(at(ms), false);
        board.packets()
    };
    assert_eq!([after(101), after(101), after(102), after(103), after(103)], [3, 3, 4, 5, 5]);
}
