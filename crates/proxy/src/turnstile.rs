//! One writer at a time, as [`Turns`] has them: what one waits for is room in the connection's send buffer.

use farhop_accel::planning::turns::Turns;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Lets writers through one by one.
#[derive(Debug, Default)]
pub(crate) struct Turnstile {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_taken: bool,
    waiting: Turns<oneshot::Sender<Turn>>,
}

/// The right to write until it is dropped, when the next one has it.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Absent once somebody else has it.
    turnstile: Option<Arc<Turnstile>>,
}

impl State {
    /// Whether nobody has the turn; somebody has it now.
    fn take(&mut self) -> bool {
        !std::mem::replace(&mut self.is_taken, true)
    }
}

impl Turnstile {
    /// The turn, if nobody has it.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<Turn> {
        self.state().take().then(|| Turn::at(self))
    }

    /// Waits for the turn of what has this priority. Who gives up waiting is passed over.
    pub(crate) async fn enter(self: &Arc<Self>, priority: i32) -> Turn {
        loop {
            let turn = {
                let mut state = self.state();
                if state.take() {
                    return Turn::at(self);
                }
                let (pass, turn) = oneshot::channel();
                state.waiting.wait(priority, pass);
                turn
            };
            // Nobody drops what is passed without passing it on.
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }

    /// The turn of the next one that still waits for it, if there is one.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                let next = state.waiting.take_next();
                state.is_taken = next.is_some();
                next
            };
            let Some(next) = next else { return };
            match next.send(Turn::at(self)) {
                Ok(()) => return,
                // Who waited has gone; what it would have had is not passed on a second time.
                Err(mut turn) => turn.turnstile = None,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn at(turnstile: &Arc<Turnstile>) -> Self {
        Self { turnstile: Some(Arc::clone(turnstile)) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turnstile) = self.turnstile.take() {
            turnstile.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_urgent_are_let_through_first() {
        let turnstile = Arc::new(Turnstile::default());
        let first = poll(pin!(turnstile.enter(-5))).unwrap();
        let (mut late, mut urgent) = (pin!(turnstile.enter(-9)), pin!(turnstile.enter(0)));
        assert!(poll(late.as_mut()).is_none() && poll(urgent.as_mut()).is_none());
        drop(first);
        assert!(poll(late.as_mut()).is_none());
        let second = poll(urgent.as_mut()).unwrap();
        assert!(poll(late.as_mut()).is_none(), "one at a time");
        drop(second);
        drop(poll(late.as_mut()).unwrap());
        let free = turnstile.try_enter();
        assert!(free.is_some() && turnstile.try_enter().is_none(), "and then it is free");
    }

    #[test]
    fn who_gives_up_is_passed_over() {
        let turnstile = Arc::new(Turnstile::default());
        let first = poll(pin!(turnstile.enter(0))).unwrap();
        let mut waits = pin!(turnstile.enter(-1));
        {
            // More than a stack holds, if each were passed over by the one before it.
            let mut gone: Vec<_> = (0..100_000).map(|_| Box::pin(turnstile.enter(0))).collect();
            assert!(gone.iter_mut().all(|gone| poll(gone.as_mut()).is_none()));
            assert!(poll(waits.as_mut()).is_none());
        }
        drop(first);
        assert!(poll(waits.as_mut()).is_some());
    }

    #[test]
    fn who_gives_up_when_its_turn_has_come_passes_it_on() {
        let turnstile = Arc::new(Turnstile::default());
        let first = poll(pin!(turnstile.enter(0))).unwrap();
        let mut waits = pin!(turnstile.enter(-1));
        {
            let mut gone = pin!(turnstile.enter(0));
            assert!(poll(gone.as_mut()).is_none() && poll(waits.as_mut()).is_none());
            drop(first);
        }
        assert!(poll(waits.as_mut()).is_some());
    }
}
