//! A progress bar, where a person is watching.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// A bar on stderr, or nothing if that is no terminal or machines read the answers.
#[derive(Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(output: &Output, input_bytes: Option<u64>) -> Self {
        if output.is_json() || !stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let (bar, template) = match input_bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "{bar:30} {percent:>3}%  {msg}, {elapsed} elapsed, {eta} left",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {msg}, {elapsed} elapsed",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        bar.set_style(style);
        Self(bar)
    }

    /// Prints something else meanwhile, on either stream.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    pub(crate) fn advance(&self, bytes: u64, events: u64) {
        self.0.set_message(format!("{events} events"));
        self.0.inc(bytes);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
