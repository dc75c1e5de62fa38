//! Removes live testbeds when a signal ends the process.
//!
//! SIGINT, SIGTERM and SIGHUP end a process without running destructors. If nobody else has asked for them, they are caught
//! once the first testbed starts: the handler writes the signal's number to a pipe (all a handler may do), a thread reads it,
//! removes the live testbeds and lets the signal end the process after all. A testbed that is just being built makes nothing
//! more then ([`Instance::make`]).

use crate::EmuError;
use crate::instance::Instance;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};
use std::io::{PipeReader, Read};
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Instances of this process that are still there.
static LIVE: Mutex<Vec<Arc<Instance>>> = Mutex::new(Vec::new());
/// The pipe's writing end; negative until there is one.
static PIPE: AtomicI32 = AtomicI32::new(-1);

const CAUGHT: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

fn live() -> MutexGuard<'static, Vec<Arc<Instance>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An instance that a signal removes; so does dropping this, be it by an error or a panic on the way.
#[derive(Debug)]
pub(crate) struct Registered {
    instance: Arc<Instance>,
}

/// Takes responsibility for the instance that `allocate` makes; a signal is dealt with before or after.
pub(crate) fn register(allocate: impl FnOnce() -> Result<Instance, EmuError>) -> Result<Registered, EmuError> {
    let mut live = live();
    if PIPE.load(Ordering::Relaxed) < 0 {
        watch()?;
    }
    let instance = Arc::new(allocate()?);
    live.push(Arc::clone(&instance));
    Ok(Registered { instance })
}

impl Registered {
    /// The instance, to share with threads that end before it is dropped.
    pub(crate) fn instance(&self) -> Arc<Instance> {
        Arc::clone(&self.instance)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut live = live();
        if let Some(place) = live.iter().position(|known| Arc::ptr_eq(known, &self.instance)) {
            live.swap_remove(place).remove();
        }
    }
}

/// Starts the thread and catches the signals that would end the process.
fn watch() -> Result<(), EmuError> {
    let (reader, writer) = std::io::pipe().map_err(EmuError::system("create a pipe"))?;
    let thread = thread::Builder::new().name("farhop-signals".to_owned()).spawn(move || remove_on_signal(reader));
    thread.map_err(EmuError::system("start a thread"))?;
    PIPE.store(writer.into_raw_fd(), Ordering::Relaxed);
    CAUGHT.into_iter().try_for_each(catch)
}

/// Catches `signal` if it would end the process; whoever has ignored or caught it before keeps it.
#[expect(unsafe_code, reason = "installs a signal handler")]
fn catch(signal: Signal) -> Result<(), EmuError> {
    let ours = SigAction::new(SigHandler::Handler(pass_on), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler is async-signal-safe: it makes one `write` call on a descriptor that is never closed.
    let before = unsafe { sigaction(signal, &ours) }.map_err(EmuError::system(format!("catch {signal}")))?;
    if !matches!(before.handler(), SigHandler::SigDfl) {
        // SAFETY: puts back what was there.
        unsafe { sigaction(signal, &before) }.map_err(EmuError::system(format!("catch {signal}")))?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "a signal handler may only make system calls")]
extern "C" fn pass_on(signal: libc::c_int) {
    let number = signal.to_ne_bytes();
    // SAFETY: `number` lives through the call; the descriptor is the pipe's, which stays open to the end of the process.
    unsafe { libc::write(PIPE.load(Ordering::Relaxed), number.as_ptr().cast(), number.len()) };
}

fn remove_on_signal(mut reader: PipeReader) {
    let mut number = [0; size_of::<libc::c_int>()];
    if reader.read_exact(&mut number).is_err() {
        return;
    }
    // Held until the end, so that nobody starts a testbed any more.
    let live = live();
    live.iter().for_each(|instance| instance.remove());
    // Another thread may have started a command meanwhile.
    live.iter().for_each(|instance| instance.end_stragglers());
    if let Ok(signal) = Signal::try_from(libc::c_int::from_ne_bytes(number)) {
        end_by(signal);
    }
}

/// Ends the process as `signal` would have without a handler.
#[expect(unsafe_code, reason = "restores the default signal disposition")]
fn end_by(signal: Signal) {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default disposition has no handler.
    let _ = unsafe { sigaction(signal, &default) };
    let _ = raise(signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_the_way_removes_what_was_made_so_far() {
        if crate::availability().is_err() {
            return;
        }
        let registered = register(|| Instance::allocate(1)).expect("a free number, and signals can be caught");
        let hosts = registered.instance().path("hosts");
        // The number may be another testbed's at once; what tells is when the file was made.
        let made = || std::fs::metadata(&hosts).and_then(|file| file.modified()).ok();
        let before = made();
        assert!(before.is_some());
        let panicked = thread::spawn(move || {
            let _registered = registered;
            std::panic::resume_unwind(Box::new("on the way"))
        });
        assert!(panicked.join().is_err());
        assert_ne!(made(), before);
    }
}
