//! Progress on stderr: a spinner on a terminal, plain lines elsewhere.

use crate::output::tell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// What the user sees while a run lasts.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A spinner if stderr is a terminal, else lines.
    pub(crate) fn start() -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::with_template("{spinner} {elapsed:>4} {msg}").expect("the template is valid"));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar }
    }

    /// Says what is being done, or what was found.
    pub(crate) fn say(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(message.to_owned()),
            None => tell(message),
        }
    }

    /// Says how far it is, where that can be said again and again without filling the screen.
    pub(crate) fn show(&self, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message());
        }
    }

    /// Says what the user must still see when the run is over.
    pub(crate) fn keep(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(message)),
            None => tell(message),
        }
    }

    /// Removes the spinner.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
