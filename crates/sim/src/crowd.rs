//! Whether users get less because of each other: what they would do if they were few, which is simulated with a few of them.

use crate::client::Client;
use crate::population::{self, Case, Replication};
use crate::replications::Watch;
use crate::report;
use farhop_link::ChannelConfig;
use farhop_scenario::Access;
use farhop_units::Instant;
use farhop_web::users::User;
use std::time::Duration;

/// So many, from all of them.
const FEW: usize = 4;
/// For so many round trips packets are on a shared way up as long as there is room on it, with what reservations take, and shorter times are no
/// jam.
const USUAL_STAY: u32 = 3;
const SHORT_STAY: Duration = Duration::from_millis(500);
/// Pages that take so many times as long as they would without other users than these few wait for the others.
const JAM: f64 = 3.0;
/// A link with less use has room for all that its users want, though small queues and those that drop early leave it time.
const BUSY: f64 = 0.5;
/// So many times the pages that are begun are enough of those that are wanted to know that they are too many: users without thinking could
/// want any number.
const PLENTY: u64 = 4;

/// Finds out whether a shared way up is jammed, and how much more users would do; `stay` is how long packets were on the shared way up.
pub(crate) fn judge(case: &Case<'_>, seed: u64, stay: Option<Duration>, together: &mut Replication) {
    let is_long = is_long(&case.scenario.link, stay);
    if !is_long && !has_little_room(case, together) {
        return;
    }
    let Some(few) = few(case, seed) else { return };
    together.is_jammed = is_long && is_slower(together, &few);
    let begun = together.metrics.pages.count() + together.unfinished;
    if few.metrics.pages.count() > 0 && begun > 0 {
        let page = Duration::from_secs_f64(few.metrics.pages.mean());
        together.wanted =
            report::as_f64(wanted(case, seed, page, begun.saturating_mul(PLENTY))) / report::as_f64(begun);
    }
}

/// Whether packets are longer on a way up that terminals share than the path explains.
fn is_long(link: &ChannelConfig, stay: Option<Duration>) -> bool {
    let usual = (link.down.least_delay() + link.up.least_delay()) * USUAL_STAY;
    link.access != Access::Dedicated && stay.is_some_and(|stay| stay >= usual.max(SHORT_STAY))
}

/// Whether the link is busy in a direction, though not so much that it is known to be full.
fn has_little_room(case: &Case<'_>, together: &Replication) -> bool {
    let used = report::use_of_the_link(case.scenario, case.users, std::slice::from_ref(together));
    used.into_iter().flatten().any(|used| used > BUSY) && !used.into_iter().any(report::is_full)
}

/// The replication with a few of its users alone; `None` if there are not many, or nothing comes of it.
fn few(case: &Case<'_>, seed: u64) -> Option<Replication> {
    let mut clients: Vec<Client> = population::clients(case.scenario, case.users, seed);
    if clients.len() <= FEW {
        return None;
    }
    let apart = clients.len() / FEW;
    let mut number = 0..;
    clients.retain(|_| number.next().is_some_and(|number: usize| number.is_multiple_of(apart) && number / apart < FEW));
    let mut world = population::world(case, seed, clients);
    let (few, _) = population::go(&mut world, case.users, &mut Watch::alone(&mut |_| true)).ok()??;
    Some(few)
}

fn is_slower(together: &Replication, few: &Replication) -> bool {
    let (few, many) = (&few.metrics.pages, &together.metrics.pages);
    few.count() > 0 && (many.count() == 0 || many.percentile(50) > few.percentile(50) * JAM)
}

/// How many pages all users would begin in the measured time, `most` at most, if each page took so long.
fn wanted(case: &Case<'_>, seed: u64, page: Duration, most: u64) -> u64 {
    let (from, end) = (Instant::START + case.users.warm_up, Instant::START + case.users.duration);
    let mut count = 0;
    for number in 0..u32::try_from(population::user_count(case.scenario, case.users)).unwrap_or(u32::MAX) {
        let mut user = User::new(&case.users.model, seed, number);
        let mut at = Instant::START + user.first_think();
        while at < end && count < most {
            count += u64::from(at >= from);
            at = at + page + user.next_visit().think;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::population::tests::{case, replications, scenario};
    use farhop_results::Architecture;

    #[test]
    fn only_a_shared_way_up_is_jammed_if_packets_stay_long_and_few_users_would_be_faster() {
        let jammed = |settings: &[&str], stay: Option<u64>, page: u64| {
            let scenario = scenario(settings);
            let mut together = replications(&scenario, 1).remove(0);
            together.metrics = Metrics::default();
            together.metrics.pages.add(Duration::from_secs(page));
            together.is_jammed = false;
            judge(&case(&scenario), 1, stay.map(Duration::from_secs), &mut together);
            together.is_jammed
        };
        let shared = &["run.runs=1"][..];
        assert!(jammed(shared, Some(10), 100));
        assert!(!jammed(shared, Some(10), 10), "few users are about as slow");
        assert!(!jammed(shared, Some(1), 100) && !jammed(shared, None, 100), "packets do not stay");
        assert!(!jammed(&["run.runs=1", "access.scheme=dedicated"], Some(10), 100), "nobody else waits for it");
        assert!(!jammed(&["run.runs=1", "access.terminals=4"], Some(10), 100), "there are no more than few");
    }

    /// Share of the way down that was used, what was wanted, and the note.
    fn crowd(settings: &[&str]) -> (f64, f64, String) {
        let dedicated = ["run.runs=1", "access.scheme=dedicated", "link.down.rate=1 Mbit/s"];
        let scenario = scenario(&[&dedicated[..], settings].concat());
        let all = replications(&scenario, 1);
        let users = scenario.users.as_ref().expect("there are users");
        let row = report::of_users(&scenario, users, Architecture::Direct, &all);
        let used = row.users.and_then(|users| users.down_used).expect("the link has a rate");
        (used, all[0].wanted, row.note.expect("users are noted"))
    }

    #[test]
    fn a_link_whose_small_queue_leaves_it_time_cannot_carry_what_is_wanted() {
        for queue in ["link.down.queue=2 packets", "link.down.queue=4 packets"] {
            let (used, wanted, note) = crowd(&["users.per_terminal=20", queue]);
            assert!((BUSY..0.95).contains(&used) && used * wanted > 1.2, "{queue}: {used} used, {wanted} wanted");
            assert!(note.contains("; down cannot carry what they want"), "{queue}: {note}");
        }
    }

    #[test]
    fn a_busy_link_with_room_carries_what_is_wanted() {
        for queue in ["link.down.discipline=codel", "link.down.queue=1000 packets"] {
            let (used, wanted, note) = crowd(&["users.per_terminal=20", "link.down.rate=3 Mbit/s", queue]);
            assert!(
                (BUSY..0.9).contains(&used) && (1.0..1.2).contains(&wanted),
                "{queue}: {used} used, {wanted} wanted"
            );
            assert!(!note.contains("cannot carry"), "{queue}: {note}");
        }
    }

    #[test]
    fn users_without_thinking_want_plenty() {
        let idle = "users.model=zhou-2004, think = constant value=0s";
        let (_, wanted, _) = crowd(&[idle, "users.per_terminal=4", "link.down.discipline=codel"]);
        assert!(wanted > 1.0 && wanted <= report::as_f64(PLENTY), "{wanted}");
    }
}
