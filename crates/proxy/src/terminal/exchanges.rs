//! What the terminal's tasks share: the planner, the requests that wait for it, the pushes it knows, and the tunnel.

use super::Statistics;
use crate::clock::Clock;
use crate::config::TerminalConfig;
use crate::flow::{Accepted, Flow, FlowError, Incoming, Windows};
use crate::segments::Link;
use farhop_accel::head::{RequestHead, ResponseHead};
use farhop_accel::planning::terminal::{Action, Terminal as Planner};
use farhop_accel::wire::{FlowId, Frame};
use farhop_units::Bytes as Size;
use noq::{Connection, ConnectionError, RecvStream, SendStream};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot, watch};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: TerminalConfig,
    windows: Arc<Windows>,
    clock: Clock,
    pub(super) tunnel: watch::Sender<Option<Arc<Link>>>,
    next_flow: AtomicU64,
    state: Mutex<State>,
    /// The planner's next timeout may have changed.
    rescheduled: Notify,
}

#[derive(Debug)]
struct State {
    planner: Planner,
    /// Requests that wait for the planner's decision.
    waiting: BTreeMap<FlowId, oneshot::Sender<Decision>>,
    /// Pushes whose response has begun and that nobody reads yet.
    pushes: BTreeMap<FlowId, Pushed>,
    statistics: Statistics,
}

#[derive(Debug)]
pub(super) enum Decision {
    Answer(Pushed),
    Forward,
}

#[derive(Debug)]
pub(super) struct Pushed {
    pub(super) head: ResponseHead,
    pub(super) incoming: Incoming,
}

impl Shared {
    /// No tunnel, nothing known.
    pub(super) fn new(config: TerminalConfig) -> Self {
        let state = State {
            planner: Planner::new(config.limits),
            waiting: BTreeMap::new(),
            pushes: BTreeMap::new(),
            statistics: Statistics::default(),
        };
        Self {
            windows: Windows::new(config.memory, config.window),
            config,
            clock: Clock::start(),
            tunnel: watch::Sender::new(None),
            next_flow: AtomicU64::new(0),
            state: Mutex::new(state),
            rescheduled: Notify::new(),
        }
    }

    /// Takes what the gateway pushes until the connection ends.
    pub(super) async fn serve_tunnel(self: &Arc<Self>, connection: Connection) -> ConnectionError {
        let link = Link::start(connection, Arc::clone(&self.windows));
        self.tunnel.send_replace(Some(Arc::clone(&link)));
        let ended = loop {
            match link.connection().accept_bi().await {
                Ok(streams) => drop(tokio::spawn(Arc::clone(self).take_push(Arc::clone(&link), streams))),
                Err(ended) => break ended,
            }
        };
        self.tunnel.send_replace(None);
        self.plan(Planner::handle_tunnel_lost);
        ended
    }

    async fn take_push(self: Arc<Self>, link: Arc<Link>, streams: (SendStream, RecvStream)) {
        match Flow::accept(&link, streams).await {
            Ok((Frame::Response { flow: push, head }, flow)) => self.take_response(&link, push, head, flow),
            Ok((Frame::Reset { flow: push, .. }, _)) => self.plan_with(&link, |planner| planner.handle_failed(push)),
            Ok((first, _)) => tracing::warn!("flow {:?} begins with a frame that is no response", first.flow()),
            Err(error) => tracing::debug!("push ended: {error}"),
        }
    }

    /// In one step, so that the planner hears of the response before it hears of its bytes.
    fn take_response(self: &Arc<Self>, link: &Arc<Link>, push: FlowId, head: ResponseHead, flow: Accepted) {
        let Some(mut state) = self.state_with(link) else { return };
        let (observer, from) = (Arc::clone(self), Arc::clone(link));
        let Flow { incoming, .. } = flow.start(move |frame| observer.observe_push(&from, push, frame));
        state.pushes.insert(push, Pushed { head: head.clone(), incoming });
        let now = self.clock.now();
        self.decide(state, |planner| planner.handle_response(now, push, head));
    }

    fn observe_push(&self, link: &Arc<Link>, push: FlowId, frame: &Frame) {
        match frame {
            Frame::Data { bytes, .. } => {
                let count = Size::new(bytes.len() as u64);
                self.plan_with(link, |planner| planner.handle_bytes(push, count));
            }
            Frame::Reset { .. } => self.plan_with(link, |planner| planner.handle_failed(push)),
            _ => {}
        }
    }

    fn observe_page(&self, link: &Arc<Link>, frame: &Frame) {
        if let Frame::Announce { page, push, url } = frame {
            let now = self.clock.now();
            self.plan_with(link, |planner| planner.handle_announce(now, *page, *push, url));
        }
    }

    /// Lets the planner decide on what came through `link`, if that is still the tunnel: the next one's gateway numbers its pushes anew,
    /// and what is left of the last one's would be taken for its own.
    fn plan_with(&self, link: &Arc<Link>, decide: impl FnOnce(&mut Planner)) {
        if let Some(state) = self.state_with(link) {
            self.decide(state, decide);
        }
    }

    /// The state, if `link` is the tunnel. A tunnel that is lost is withdrawn before the planner hears of it.
    fn state_with(&self, link: &Arc<Link>) -> Option<MutexGuard<'_, State>> {
        let state = self.state();
        let is_current = self.tunnel.borrow().as_ref().is_some_and(|current| Arc::ptr_eq(current, link));
        is_current.then_some(state)
    }

    /// Lets the planner decide and does what it says.
    pub(super) fn plan(&self, decide: impl FnOnce(&mut Planner)) {
        self.decide(self.state(), decide);
    }

    fn decide(&self, mut state: MutexGuard<'_, State>, decide: impl FnOnce(&mut Planner)) {
        decide(&mut state.planner);
        while let Some(action) = state.planner.poll() {
            state.act(action);
        }
        drop(state);
        self.rescheduled.notify_one();
    }

    pub(super) async fn tick(self: Arc<Self>) {
        loop {
            let due = self.state().planner.next_timeout();
            let now = self.clock.now();
            let sleep = async {
                match due {
                    Some(due) => tokio::time::sleep(due.since(now)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {
                    let now = self.clock.now();
                    self.plan(|planner| planner.handle_timeout(now));
                }
                () = self.rescheduled.notified() => {}
            }
        }
    }

    /// How requests were answered so far.
    pub(super) fn statistics(&self) -> Statistics {
        self.state().statistics
    }

    /// A CONNECT tunnel was opened.
    pub(super) fn count_connect(&self) {
        self.state().statistics.connected += 1;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Even, as flows are that the terminal opens.
    pub(super) fn new_flow(&self) -> FlowId {
        FlowId(self.next_flow.fetch_add(2, Ordering::Relaxed))
    }

    pub(super) async fn open(self: &Arc<Self>, first: &Frame) -> Result<Flow, FlowError> {
        let link = self.tunnel.borrow().clone().ok_or(FlowError::NoTunnel)?;
        let (observer, through) = (Arc::clone(self), Arc::clone(&link));
        Flow::open(&link, first, move |frame| observer.observe_page(&through, frame)).await
    }

    pub(super) async fn decision(&self, flow: FlowId, client: IpAddr, head: &RequestHead) -> Option<Decision> {
        let (decided, decision) = oneshot::channel();
        self.state().waiting.insert(flow, decided);
        let (now, head) = (self.clock.now(), head.clone());
        self.plan(|planner| planner.handle_request(now, flow, client, head));
        decision.await.ok()
    }
}

impl State {
    fn act(&mut self, action: Action) {
        match action {
            Action::Answer { flow, push } => {
                let (waiting, pushed) = (self.waiting.remove(&flow), self.pushes.remove(&push));
                if let (Some(waiting), Some(pushed)) = (waiting, pushed) {
                    self.statistics.pushed += 1;
                    // A client that has gone needs no answer.
                    let _ = waiting.send(Decision::Answer(pushed));
                }
            }
            Action::Forward { flow } => {
                self.statistics.forwarded += 1;
                if let Some(waiting) = self.waiting.remove(&flow) {
                    let _ = waiting.send(Decision::Forward);
                }
            }
            Action::Discard { push } => {
                self.statistics.discarded += 1;
                // Dropping a push's receiver tells the gateway that nobody wants the rest.
                drop(self.pushes.remove(&push));
            }
        }
    }
}

/// Tells the planner when an exchange is over, however it ends.
pub(super) struct Exchange {
    shared: Arc<Shared>,
    pub(super) flow: FlowId,
}

impl Exchange {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let flow = shared.new_flow();
        Self { shared, flow }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.shared.state().waiting.remove(&self.flow);
        let now = self.shared.clock.now();
        self.shared.plan(|planner| planner.handle_ended(now, self.flow));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::tests::{connected, link};
    use farhop_units::Rate;
    use http::{HeaderMap, StatusCode};
    use std::path::PathBuf;
    use tokio::time::{Duration, timeout};

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const PUSH: FlowId = FlowId(1);

    fn shared() -> Arc<Shared> {
        let [key, certificate, gateway] = [(); 3].map(|()| PathBuf::new());
        let config = TerminalConfig::new("127.0.0.1:1".to_owned(), key, certificate, gateway, Rate::mbps(1));
        Arc::new(Shared::new(config))
    }

    fn get(path: &str) -> RequestHead {
        RequestHead::get(format!("http://a.example{path}").parse().unwrap(), HeaderMap::new()).unwrap()
    }

    async fn decided(shared: &Shared, flow: FlowId, path: &str) -> Option<Decision> {
        timeout(Duration::from_secs(5), shared.decision(flow, CLIENT, &get(path))).await.expect("not held")
    }

    #[tokio::test]
    async fn what_a_lost_tunnel_still_brings_is_not_taken_for_the_next_ones() {
        let (shared, page) = (shared(), FlowId(0));
        let (old, _old_peer, _old_endpoints) = connected().await;
        let (new, _new_peer, _new_endpoints) = connected().await;
        let (old, new) = (link(&old), link(&new));
        shared.tunnel.send_replace(Some(Arc::clone(&new)));
        decided(&shared, page, "/").await;
        let announce = |path| Frame::Announce { page, push: PUSH, url: get(path).url };
        shared.observe_page(&old, &announce("/old.png"));
        shared.observe_page(&new, &announce("/new.png"));
        assert!(matches!(decided(&shared, FlowId(2), "/old.png").await, Some(Decision::Forward)));
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_push_that_fails_before_anybody_asks() {
        let shared = shared();
        let (ours, theirs, _endpoints) = connected().await;
        let ours = link(&ours);
        shared.tunnel.send_replace(Some(Arc::clone(&ours)));
        let head = ResponseHead { status: StatusCode::OK, headers: HeaderMap::new() };
        let push = Flow::open(&link(&theirs), &Frame::Response { flow: PUSH, head }, |_| {}).await.unwrap();
        let streams = ours.connection().accept_bi().await.unwrap();
        Arc::clone(&shared).take_push(Arc::clone(&ours), streams).await;
        assert_eq!(shared.state().pushes.len(), 1);
        push.outgoing.reset(farhop_accel::wire::ResetReason::Broken).await;
        let is_empty = async {
            while !shared.state().pushes.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(5), is_empty).await.expect("dropped");
    }
}
