//! A pager between the output and the screen: `$PAGER`, else `less`.

use std::process::{Child, ChildStdin, Command, Stdio};

use crate::failure::note;

/// Quits if everything fits, passes colours on, leaves the text on the screen.
const LESS: [&str; 2] = ["less", "-FRX"];
/// How a shell says that there is no such command.
const NOT_FOUND: i32 = 127;

/// A pager that runs.
pub(crate) struct Pager {
    child: Child,
    name: String,
    /// Ctrl-C is for the pager as long as it runs.
    #[cfg(unix)]
    _interrupts: Option<tokio::signal::unix::Signal>,
}

impl Pager {
    /// Starts it; none where there is no pager, or none is wanted.
    pub(crate) fn start() -> Option<(Self, ChildStdin)> {
        let named = std::env::var("PAGER").ok().map(|name| name.trim().to_owned());
        let (mut command, name) = match named {
            Some(name) if name.is_empty() || name == "cat" => return None,
            Some(name) => {
                let mut command = Command::new("sh");
                command.args(["-c", &name]);
                (command, name)
            }
            None => {
                let mut command = Command::new(LESS[0]);
                command.arg(LESS[1]);
                (command, LESS[0].to_owned())
            }
        };
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let to = child.stdin.take()?;
        #[cfg(unix)]
        let _interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).ok();
        Some((
            Self {
                child,
                name,
                #[cfg(unix)]
                _interrupts,
            },
            to,
        ))
    }

    /// Waits until the reader is done. The way to it has to be closed before.
    pub(crate) fn end(mut self) {
        let ended = self.child.wait();
        if ended.is_ok_and(|status| status.code() == Some(NOT_FOUND)) {
            note(&format!("there is no pager '{}': set PAGER to another one, or use --no-pager", self.name));
        }
    }
}
