//! What the terminal's tasks share: the planner, the requests that wait for it, the pushes it knows, and the tunnel.

use super::Statistics;
use crate::clock::Clock;
use crate::config::TerminalConfig;
use crate::flow::{Flow, FlowError, Incoming, Windows};
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
        let observer = Arc::clone(&self);
        let observe = move |push| move |frame: &Frame| observer.observe_push(push, frame);
        match Flow::accept(&link, streams, observe).await {
            Ok((Frame::Response { flow: push, head }, Flow { incoming, .. })) => {
                let pushed = Pushed { head: head.clone(), incoming };
                self.state().pushes.insert(push, pushed);
                let now = self.clock.now();
                self.plan(|planner| planner.handle_response(now, push, head));
            }
            Ok((Frame::Reset { flow: push, .. }, _)) => self.plan(|planner| planner.handle_failed(push)),
            Ok((first, _)) => tracing::warn!("flow {:?} begins with a frame that is no response", first.flow()),
            Err(error) => tracing::debug!("push ended: {error}"),
        }
    }

    fn observe_push(&self, push: FlowId, frame: &Frame) {
        match frame {
            Frame::Data { bytes, .. } => {
                let count = Size::new(bytes.len() as u64);
                self.plan(|planner| planner.handle_bytes(push, count));
            }
            Frame::Reset { .. } => self.plan(|planner| planner.handle_failed(push)),
            _ => {}
        }
    }

    fn observe_page(&self, frame: &Frame) {
        if let Frame::Announce { page, push, url } = frame {
            let now = self.clock.now();
            self.plan(|planner| planner.handle_announce(now, *page, *push, url));
        }
    }

    /// Lets the planner decide and does what it says.
    pub(super) fn plan(&self, decide: impl FnOnce(&mut Planner)) {
        let mut state = self.state();
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
        let observer = Arc::clone(self);
        Flow::open(&link, first, move |frame| observer.observe_page(frame)).await
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
        self.shared.plan(|planner| planner.handle_ended(self.flow));
    }
}
