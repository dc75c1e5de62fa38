//! Threads inside the testbed's hosts, each with a runtime of its own.
//!
//! One thread per program and one runtime per thread, as if each were a process: no work of one is done on the time of another, and all
//! sockets are made inside the host's namespace.

use crate::MeasureError;
use farhop_emu::Namespace;
use std::io;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Runs `task` to its end on a thread inside `host` and gives what it gives.
pub(crate) fn run_inside<T, F>(host: &Namespace, name: &'static str, task: F) -> Result<T, MeasureError>
where
    T: Send + 'static,
    F: AsyncFnOnce() -> Result<T, MeasureError> + Send + 'static,
{
    let thread = host.spawn(name, move || runtime()?.block_on(task()));
    thread.join().map_err(|_| MeasureError::Panicked(name))?
}

/// A program that runs inside a host until it is stopped.
#[derive(Debug)]
pub(crate) struct Service {
    name: &'static str,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), MeasureError>>>,
}

/// What a service is handed: the way to say that it is up, with what others must know of it, and the sign to stop.
pub(crate) struct Signals<R> {
    pub(crate) ready: oneshot::Sender<R>,
    pub(crate) stop: oneshot::Receiver<()>,
}

impl Service {
    /// Starts `task` on a thread inside `host` and waits until it is ready.
    pub(crate) fn start<R, F>(host: &Namespace, name: &'static str, task: F) -> Result<(Self, R), MeasureError>
    where
        R: Send + 'static,
        F: AsyncFnOnce(Signals<R>) -> Result<(), MeasureError> + Send + 'static,
    {
        let (ready, is_ready) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let signals = Signals { ready, stop: stopped };
        let thread = host.spawn(name, move || runtime()?.block_on(task(signals)));
        let mut service = Self { name, stop: Some(stop), thread: Some(thread) };
        match is_ready.blocking_recv() {
            Ok(ready) => Ok((service, ready)),
            // It ended without ever being ready: its own error says why.
            Err(_) => Err(service.end().err().unwrap_or(MeasureError::Panicked(name))),
        }
    }

    /// Tells the service to stop, without waiting for its end.
    pub(crate) fn stop(&mut self) {
        self.stop = None;
    }

    /// Stops the service and waits for its end.
    pub(crate) fn end(&mut self) -> Result<(), MeasureError> {
        self.stop();
        match self.thread.take() {
            Some(thread) => thread.join().map_err(|_| MeasureError::Panicked(self.name))?,
            None => Ok(()),
        }
    }
}

impl Drop for Service {
    /// A service that is not ended because something else failed must not outlive its host.
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::debug!("{}: {error}", self.name);
        }
    }
}

fn runtime() -> Result<Runtime, MeasureError> {
    let runtime: io::Result<Runtime> = Builder::new_current_thread().enable_all().build();
    runtime.map_err(MeasureError::io("starting a runtime"))
}
