//! Several terminals at one gateway, whose link is one.

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::client::{ask, get};
use support::link::{Link, LinkConfig};
use support::server::{Server, noise, resource};
use support::{Boxes, run_terminal, soon};

const MEGABITS: u64 = 8;
const BODY: usize = 2_000_000;

#[tokio::test]
async fn two_terminals_together_keep_to_the_gateways_rate() {
    let big = noise(1, BODY);
    let resources = BTreeMap::from([("/big".to_owned(), resource("application/zip", big.clone()))]);
    let server = Server::start(resources).await;
    // Each of them alone, at the whole rate, would have 700 kB on the way and in the queue.
    let satellite = Duration::from_millis(250);
    let config = LinkConfig { delay: satellite, loss: 0, rate: Some(MEGABITS * 1_000_000), queue: Some(250_000) };
    let rate = farhop_units::Rate::mbps(MEGABITS);
    let boxes = Boxes::start_with(config, |gateway, _| gateway.rate = rate).await;
    let beside = boxes.link.beside(boxes.gateway_config.listen, config).await;
    let mut second = boxes.terminal_config.clone();
    (second.gateway, second.listen) = (beside.address.to_string(), support::any_port());
    let (proxy, handle, _running) = run_terminal(second).await;
    soon(handle.connected()).await;
    let url = server.url("/big");
    let [first, other] = [boxes.proxy, proxy].map(|proxy| Box::pin(ask(proxy, get(&url, &[]))));
    let down = |link: &Link| link.sent_down.load(Ordering::Relaxed);
    let (answer, share) = tokio::select! {
        answer = first => (answer, down(&beside)),
        answer = other => (answer, down(&boxes.link)),
    };
    assert!(answer.body == big, "{} bytes came", answer.body.len());
    println!("when one had all, {share} B were on their way to the other");
    assert!(share > 3 * BODY as u64 / 4, "{share}");
    let lost = [&boxes.link, &beside].map(|link| link.lost.load(Ordering::Relaxed));
    assert_eq!(lost, [0, 0]);
}
