//! Progress on stderr, when a person watches.

use std::io::IsTerminal;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use threadkeep::Progress;

/// A bar, or nothing if stderr is no terminal. It is gone when this is dropped.
pub(crate) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(crate) fn new() -> Self {
        Self(std::io::stderr().is_terminal().then(|| ProgressBar::no_length().with_style(style(false, ""))))
    }

    /// `done` of `total` things called `what`.
    pub(crate) fn tell(&self, what: &str, done: u64, total: Option<u64>) {
        if let Some(bar) = &self.0 {
            tell(bar, what, done, total);
        }
    }

    /// The same, to be handed over.
    pub(crate) fn as_progress(&self) -> Progress {
        match self.0.clone() {
            Some(bar) => Arc::new(move |what, done, total| tell(&bar, what, done, total)),
            None => Arc::new(|_, _, _| {}),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn tell(bar: &ProgressBar, what: &str, done: u64, total: Option<u64>) {
    if bar.length() != total {
        bar.set_style(style(total.is_some(), what));
        match total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
    }
    bar.set_message(what.to_owned());
    bar.set_position(done);
}

fn style(has_total: bool, what: &str) -> ProgressStyle {
    let template = match (has_total, what) {
        (true, "bytes") => "{wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
        (true, _) => "{wide_bar} {pos}/{len} {msg}, {eta} left",
        (false, _) => "{spinner} {pos} {msg}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
