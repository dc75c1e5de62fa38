//! A page through both boxes over a long link: what is pushed is what the server sent, and asked for once.

mod support;

use std::sync::atomic::Ordering;
use std::time::Duration;
use support::Boxes;
use support::client::{self, Loaded, Way};
use support::link::LinkConfig;
use support::server::{self, Server};

/// A geostationary satellite's one-way delay and the rate of the 2013 paper's test.
const SATELLITE: LinkConfig =
    LinkConfig { delay: Duration::from_millis(250), loss: 0, rate: Some(100_000_000), queue: None };

fn expected() -> Loaded {
    server::page().into_iter().map(|(path, resource)| (path, resource.body)).collect()
}

fn assert_every_object_was_asked_for(server: &Server, times: usize) {
    assert_eq!(server.counts().len(), 28);
    server.counts().into_iter().for_each(|(path, count)| assert_eq!(count, times, "{path}"));
}

#[tokio::test]
async fn six_connections_get_every_part_from_a_push() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(SATELLITE).await;
    for load in 1..=2 {
        let (loaded, took) = client::load(boxes.proxy, &server.url("/"), 6).await;
        println!("accelerated, six connections, load {load}: {took:?}");
        assert_eq!(loaded, expected());
        assert_every_object_was_asked_for(&server, load);
        let statistics = boxes.terminal.statistics();
        assert_eq!((statistics.forwarded, statistics.pushed), (load as u64, 27 * load as u64));
        boxes.terminal.empty_store();
    }
}

#[tokio::test]
async fn one_object_at_a_time_gets_every_part_from_a_push() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(SATELLITE).await;
    let (loaded, took) = client::load_one_by_one(Way::Proxy, boxes.proxy, &server.url("/")).await;
    println!("accelerated, HTTP/1.0, one object at a time: {took:?}");
    assert_eq!(loaded, expected());
    assert_every_object_was_asked_for(&server, 1);
    assert_eq!((boxes.terminal.statistics().forwarded, boxes.terminal.statistics().pushed), (1, 27));
}

#[tokio::test]
async fn loss_does_not_let_a_request_slip_through() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(LinkConfig { delay: Duration::from_millis(50), loss: 5, rate: None, queue: None }).await;
    let (loaded, _) = client::load(boxes.proxy, &server.url("/"), 6).await;
    assert!(boxes.link.lost.load(Ordering::Relaxed) > 20);
    assert_eq!(loaded, expected());
    assert_every_object_was_asked_for(&server, 1);
    assert_eq!((boxes.terminal.statistics().forwarded, boxes.terminal.statistics().pushed), (1, 27));
}

#[tokio::test]
async fn without_prefetch_every_object_crosses_on_request() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start_with(LinkConfig::default(), |gateway, _| gateway.prefetch = false).await;
    let (loaded, _) = client::load(boxes.proxy, &server.url("/"), 6).await;
    assert_eq!(loaded, expected());
    assert_every_object_was_asked_for(&server, 1);
    assert_eq!((boxes.terminal.statistics().forwarded, boxes.terminal.statistics().pushed), (28, 0));
}

#[tokio::test]
async fn through_connect_nothing_is_read_and_nothing_lost() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(SATELLITE).await;
    let (loaded, took) = client::load_by(Way::Connect, boxes.proxy, &server.url("/"), 6).await;
    println!("tunnel, six connections: {took:?}");
    assert_eq!(loaded, expected());
    assert_every_object_was_asked_for(&server, 1);
    let statistics = boxes.terminal.statistics();
    assert_eq!((statistics.forwarded, statistics.pushed, statistics.connected), (0, 0, 6));
}

#[tokio::test]
async fn through_connect_one_object_at_a_time() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(SATELLITE).await;
    let (loaded, took) = client::load_one_by_one(Way::Connect, boxes.proxy, &server.url("/")).await;
    println!("tunnel, HTTP/1.0, one object at a time: {took:?}");
    assert_eq!(loaded, expected());
    assert_eq!(boxes.terminal.statistics().connected, 28);
}
