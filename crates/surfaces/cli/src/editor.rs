//! Text that a person writes: in an editor on a terminal, else on stdin.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use threadkeep::{SystemWorld, World};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::failure::{Failure, cannot_read, cannot_write, note};
use crate::text::quoted;

/// The variables that name an editor, the first one first.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
const EDITOR: &str = "vi";

/// Whether there is a person to write: stdin for the keys, and stderr for the screen.
pub(crate) fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A text that was written in an editor. Its file stays until the text was stored.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    is_stored: bool,
}

impl Draft {
    /// Opens the editor on `begin`, and gives the text once it is closed.
    pub(crate) fn write(begin: &str) -> Result<(Self, String), Failure> {
        let path = std::env::temp_dir().join(format!("threadkeep-{:032x}.md", SystemWorld.chance()));
        let shown = path.display().to_string();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let begun = options.open(&path).and_then(|mut file| file.write_all(begin.as_bytes()));
        let mut draft = Self { path, is_stored: false };
        begun.map_err(|error| cannot_write(&shown, &error))?;
        let edited = draft.edit();
        let text = std::fs::read_to_string(&draft.path).map_err(|error| cannot_read(&shown, &error))?;
        let text = text.trim_end_matches('\n').to_owned();
        if text.trim().is_empty() || text == begin {
            draft.is_stored = true;
        }
        edited?;
        Ok((draft, text))
    }

    fn edit(&self) -> Result<(), Failure> {
        let named = VARIABLES.iter().filter_map(|name| std::env::var(name).ok()).find(|name| !name.trim().is_empty());
        let editor = named.unwrap_or_else(|| EDITOR.to_owned());
        // Ctrl-C in the editor is for the editor.
        #[cfg(unix)]
        let _interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$1\"")).arg("editor").arg(&self.path);
        if !std::io::stdout().is_terminal() {
            command.stdout(screen());
        }
        let status = command.status();
        #[cfg(unix)]
        tokio::spawn(end_on_interrupt());
        let failed = |what: String| {
            let problem =
                Problem::new(Status::Unavailable, ErrorCode::CannotRead, format!("the editor '{editor}' {what}"));
            Failure::from(problem.hint("set EDITOR to an editor, or give the text as an argument"))
        };
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("failed: {status}"))),
            Err(error) => Err(failed(format!("did not start: {error}"))),
        }
    }

    /// The text is stored: the file goes.
    pub(crate) fn stored(mut self) {
        self.is_stored = true;
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.is_stored {
            // The message is stored: a file that cannot be removed is no failure.
            drop(std::fs::remove_file(&self.path));
        } else {
            note(&format!("your text is in {}", quoted(&self.path.display().to_string())));
        }
    }
}

/// The screen of an editor whose caller keeps stdout for data.
#[cfg(unix)]
fn screen() -> Stdio {
    use std::os::fd::AsFd;
    std::io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::inherit(), Stdio::from)
}

#[cfg(not(unix))]
fn screen() -> Stdio {
    Stdio::inherit()
}

/// Once signals are received they do not end the program by themselves any more.
#[cfg(unix)]
async fn end_on_interrupt() {
    if let Ok(mut interrupts) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()) {
        interrupts.recv().await;
        std::process::exit(130);
    }
}
