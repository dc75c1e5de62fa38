use super::*;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use proptest::prelude::*;

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
const PAGE: FlowId = FlowId(0);
const PUSH: FlowId = FlowId(1);
const ASKED: FlowId = FlowId(2);

fn get(path: &str) -> RequestHead {
    let url = Url::parse("http://a.example/").unwrap().join(path).unwrap();
    RequestHead::get(url, HeaderMap::new()).unwrap()
}

fn ok() -> ResponseHead {
    ResponseHead { status: StatusCode::OK, headers: HeaderMap::new() }
}

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

fn actions(terminal: &mut Terminal) -> Vec<Action> {
    std::iter::from_fn(|| terminal.poll()).collect()
}

/// A terminal that forwarded a page and was told that `parts` will be pushed as flows 1, 3, 5, ….
fn announced(parts: &[&str]) -> Terminal {
    let limits = Limits { memory: Bytes::new(100), ..Limits::default() };
    let mut terminal = Terminal::new(limits);
    terminal.handle_request(at(0), PAGE, CLIENT, get("/"));
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: PAGE }]);
    for (index, part) in (0..).zip(parts) {
        terminal.handle_announce(at(0), PAGE, FlowId(1 + 2 * index), &get(part).url);
    }
    assert_eq!(actions(&mut terminal), []);
    terminal
}

#[test]
fn a_request_is_held_until_its_push_begins() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    assert_eq!(actions(&mut terminal), []);
    terminal.handle_response(at(1), PUSH, ok());
    assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
    assert_eq!(terminal.next_timeout(), None, "nothing is left to wait for");
}

#[test]
fn a_push_that_is_there_answers_at_once_and_once() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_response(at(1), PUSH, ok());
    terminal.handle_bytes(PUSH, Bytes::new(10));
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    terminal.handle_request(at(1), FlowId(4), CLIENT, get("a.png"));
    let expected = [Action::Answer { flow: ASKED, push: PUSH }, Action::Forward { flow: FlowId(4) }];
    assert_eq!(actions(&mut terminal), expected);
    assert_eq!(terminal.unclaimed_bytes(), Bytes::ZERO);
}

#[test]
fn nobody_else_is_answered() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_response(at(1), PUSH, ok());
    terminal.handle_request(at(1), ASKED, OTHER, get("a.png"));
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
}

#[test]
fn a_different_request_is_forwarded() {
    let mut terminal = announced(&["a.png"]);
    let mut ranged = get("a.png");
    ranged.headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
    terminal.handle_request(at(1), ASKED, CLIENT, ranged);
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
}

#[test]
fn a_response_that_varies_otherwise_is_not_used() {
    let mut terminal = announced(&["a.png"]);
    let mut request = get("a.png");
    request.headers.insert(header::ACCEPT, HeaderValue::from_static("image/webp"));
    terminal.handle_request(at(1), ASKED, CLIENT, request);
    let mut response = ok();
    response.headers.insert(header::VARY, HeaderValue::from_static("accept"));
    terminal.handle_response(at(1), PUSH, response);
    let expected = [Action::Forward { flow: ASKED }, Action::Discard { push: PUSH }];
    assert_eq!(actions(&mut terminal), expected);
}

#[test]
fn a_push_that_fails_lets_the_request_go() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    terminal.handle_failed(PUSH);
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
    terminal.handle_response(at(1), PUSH, ok());
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }], "what comes later is not wanted");
}

#[test]
fn a_request_is_held_only_so_long() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    assert_eq!(terminal.next_timeout(), Some(at(21)));
    terminal.handle_timeout(at(20));
    assert_eq!(actions(&mut terminal), []);
    terminal.handle_timeout(at(21));
    let expected = [Action::Forward { flow: ASKED }, Action::Discard { push: PUSH }];
    assert_eq!(actions(&mut terminal), expected);
}

#[test]
fn what_nobody_asks_for_is_given_up() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_response(at(1), PUSH, ok());
    terminal.handle_bytes(PUSH, Bytes::new(10));
    terminal.handle_ended(at(2), PAGE);
    terminal.handle_timeout(at(60));
    assert_eq!((actions(&mut terminal), terminal.next_timeout()), (vec![], Some(at(62))));
    terminal.handle_timeout(at(62));
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
    assert_eq!((terminal.unclaimed_bytes(), terminal.next_timeout()), (Bytes::ZERO, None));
}

#[test]
fn what_comes_late_is_kept_while_its_page_is_read() {
    let mut terminal = announced(&["a.png", "b.png"]);
    terminal.handle_ended(at(1), PAGE);
    terminal.handle_response(at(50), PUSH, ok());
    terminal.handle_request(at(50), ASKED, CLIENT, get("a.png"));
    assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
    // The first part takes five minutes, and the second has its turn after it.
    (60..300).step_by(20).for_each(|seconds| terminal.handle_timeout(at(seconds)));
    terminal.handle_ended(at(300), ASKED);
    terminal.handle_timeout(at(359));
    assert_eq!(actions(&mut terminal), []);
    terminal.handle_timeout(at(360));
    assert_eq!(actions(&mut terminal), [Action::Discard { push: FlowId(3) }]);
}

#[test]
fn a_page_that_is_read_keeps_nothing_of_another() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_ended(at(1), PAGE);
    terminal.handle_request(at(2), ASKED, CLIENT, get("/other"));
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
    terminal.handle_announce(at(2), ASKED, FlowId(3), &get("b.png").url);
    terminal.handle_timeout(at(100));
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
}

#[test]
fn memory_is_kept_for_what_is_needed_first() {
    let mut terminal = announced(&["a.png", "b.png", "c.png"]);
    for push in [1, 3, 5].map(FlowId) {
        terminal.handle_bytes(push, Bytes::new(40));
    }
    assert_eq!(actions(&mut terminal), [Action::Discard { push: FlowId(5) }]);
    terminal.handle_request(at(1), ASKED, CLIENT, get("c.png"));
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
}

#[test]
fn an_unknown_page_announces_nothing() {
    let mut terminal = announced(&[]);
    terminal.handle_ended(at(0), PAGE);
    terminal.handle_announce(at(0), PAGE, PUSH, &get("a.png").url);
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
}

#[test]
fn a_push_may_overtake_its_announcement() {
    let mut terminal = announced(&[]);
    terminal.handle_response(at(0), PUSH, ok());
    terminal.handle_bytes(PUSH, Bytes::new(10));
    assert_eq!(terminal.unclaimed_bytes(), Bytes::new(10));
    terminal.handle_announce(at(0), PAGE, PUSH, &get("a.png").url);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
    assert_eq!(terminal.unclaimed_bytes(), Bytes::ZERO);
}

#[test]
fn a_push_that_fails_in_the_middle_is_dropped_before_anybody_asks() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_response(at(1), PUSH, ok());
    terminal.handle_bytes(PUSH, Bytes::new(10));
    terminal.handle_failed(PUSH);
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }], "the shell still has its first bytes");
}

#[test]
fn a_reloaded_page_brings_its_own_parts() {
    let mut terminal = announced(&["a.png", "a.png"]);
    [PUSH, FlowId(3)].into_iter().for_each(|push| terminal.handle_response(at(0), push, ok()));
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    let expected = [Action::Discard { push: PUSH }, Action::Answer { flow: ASKED, push: FlowId(3) }];
    assert_eq!(actions(&mut terminal), expected, "the newest answers, and nothing older after it");
}

#[test]
fn an_announcement_that_comes_after_its_push_failed_holds_nothing() {
    let mut terminal = announced(&[]);
    terminal.handle_failed(PUSH);
    terminal.handle_announce(at(0), PAGE, PUSH, &get("a.png").url);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }]);
}

#[test]
fn a_new_tunnel_may_use_the_numbers_of_the_old() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_tunnel_lost();
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
    terminal.handle_announce(at(1), PAGE, PUSH, &get("b.png").url);
    terminal.handle_response(at(1), PUSH, ok());
    terminal.handle_request(at(1), ASKED, CLIENT, get("b.png"));
    assert_eq!(actions(&mut terminal), [Action::Answer { flow: ASKED, push: PUSH }]);
}

#[test]
fn a_client_that_goes_frees_its_push() {
    let mut terminal = announced(&["a.png"]);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    terminal.handle_ended(at(1), ASKED);
    assert_eq!(actions(&mut terminal), [Action::Discard { push: PUSH }]);
}

#[test]
fn clearing_forwards_what_is_held() {
    let mut terminal = announced(&["a.png", "b.png"]);
    terminal.handle_request(at(1), ASKED, CLIENT, get("a.png"));
    terminal.clear();
    let [discard_a, discard_b] = [PUSH, FlowId(3)].map(|push| Action::Discard { push });
    assert_eq!(actions(&mut terminal), [Action::Forward { flow: ASKED }, discard_a, discard_b]);
}

proptest! {
    #[test]
    fn every_request_gets_exactly_one_decision_in_the_end(steps in prop::collection::vec((0_u8..7, 0_u64..6), 1..80)) {
        let mut terminal = announced(&[]);
        let paths = ["a", "b", "c"];
        let (mut asked, mut decided) = (0_u64, Vec::new());
        for (now, (step, number)) in (1..).zip(steps) {
            let (push, path) = (FlowId(1 + 2 * number), get(paths[number as usize % 3]));
            match step {
                0 => {
                    asked += 1;
                    let client = if number == 5 { OTHER } else { CLIENT };
                    terminal.handle_request(at(now), FlowId(2 * asked), client, path);
                }
                1 => terminal.handle_announce(at(now), PAGE, FlowId(1 + 2 * now), &path.url),
                2 => terminal.handle_response(at(now), push, ok()),
                3 => terminal.handle_bytes(push, Bytes::new(30)),
                4 => terminal.handle_failed(push),
                5 => terminal.handle_timeout(at(now + number)),
                _ => terminal.clear(),
            }
            prop_assert!(terminal.unclaimed_bytes() <= terminal.limits.memory);
            let deadlines = terminal.pushes.iter().map(|(push, known)| (known.deadline, *push));
            prop_assert_eq!(&terminal.deadlines, &deadlines.collect::<BTreeSet<_>>(), "each push's, and no others");
            decided.extend(actions(&mut terminal));
        }
        terminal.handle_timeout(at(10_000));
        decided.extend(actions(&mut terminal));
        let flow = |action: &Action| match action {
            Action::Answer { flow, .. } | Action::Forward { flow } => Some(flow.0),
            Action::Discard { .. } => None,
        };
        let mut decided: Vec<u64> = decided.iter().filter_map(flow).collect();
        decided.sort_unstable();
        prop_assert_eq!(decided, (1..=asked).map(|i| 2 * i).collect::<Vec<_>>());
    }
}
