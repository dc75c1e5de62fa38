//! Loss and repair without SACK as the RFCs have it (Linux: [`super::emulated`]): fast retransmit and fast recovery of RFC 5681 §3.2, with NewReno's partial acknowledgements
//! (RFC 6582 §3.2) unless plain Reno is asked for. The window's inflation by duplicate ACKs is kept as the equivalent account of
//! segments that have left the network. Limited transmit (RFC 3042) is that account of the first two outside of recovery.
//!
//! Left out: the variants of RFC 6582 §4 for the retransmission timer in recovery (here: the "slow-but-steady" one).

use crate::congestion::CongestionControl;
use crate::recovery::{DUPLICATE_THRESHOLD, News, Phase};
use crate::sender::Sender;
use farhop_units::Instant;

/// Draws the conclusions from an acknowledgement.
pub(crate) fn judge(sender: &mut Sender, now: Instant, news: &News) {
    if news.advanced {
        judge_progress(sender, now, news);
    } else if news.duplicate {
        count_duplicate(sender);
    }
    if news.marked {
        sender.reduce_for_mark();
    }
    if sender.congestion.models_the_path() {
        sender.follow_sample(now, news);
    }
}

fn judge_progress(sender: &mut Sender, now: Instant, news: &News) {
    let complete = sender.unacknowledged >= sender.recover;
    match sender.phase {
        Phase::Open => {
            sender.duplicates = 0;
            sender.grow(now, news);
        }
        Phase::Reduction => {
            sender.duplicates = 0;
            sender.phase = if sender.unacknowledged > sender.recover { Phase::Open } else { Phase::Reduction };
        }
        Phase::Recovery if complete || sender.plain_reno => end(sender),
        Phase::Recovery => continue_recovery(sender, news),
        Phase::Loss => {
            if complete {
                end(sender);
            }
            sender.grow(now, news);
        }
    }
}

fn end(sender: &mut Sender) {
    sender.phase = Phase::Open;
    sender.duplicates = 0;
}

/// RFC 6582 §3.2 step 3: a partial acknowledgement shows the next hole.
fn continue_recovery(sender: &mut Sender, news: &News) {
    // All but the repeated segment had left the network before, each announced by a duplicate acknowledgement.
    sender.duplicates = sender.duplicates.saturating_sub(news.covered.segments.saturating_sub(1));
    sender.scoreboard.lose_first();
    sender.repeat_now = true;
}

/// RFC 5681 §3.2: a duplicate acknowledgement.
fn count_duplicate(sender: &mut Sender) {
    if sender.phase == Phase::Loss {
        return;
    }
    sender.duplicates += 1;
    // RFC 6582 §3.2 step 2: not for duplicates that the last recovery itself has caused. A mark that reduces the window is heard beyond that, and
    // repeats nothing.
    let may_enter = match sender.phase {
        Phase::Open => sender.plain_reno || sender.unacknowledged > sender.recover,
        Phase::Reduction => true,
        Phase::Recovery | Phase::Loss => false,
    };
    if may_enter && sender.duplicates >= DUPLICATE_THRESHOLD {
        enter(sender);
    }
}

/// RFC 3168 §6.1.2: the window shrinks once for what was on the way when a mark was heard, and again if the segment is lost that tells of that.
fn enter(sender: &mut Sender) {
    let is_reduced = sender.phase == Phase::Reduction && sender.unacknowledged < sender.recover;
    if !is_reduced {
        let size = sender.flight_size();
        sender.congestion.on_loss(size);
        sender.announce_reduction = true;
    }
    sender.phase = Phase::Recovery;
    sender.recover = sender.next;
    sender.scoreboard.lose_first();
    sender.repeat_now = true;
}
