//! A server that is a program: started in a process group of its own, which ends with the connection.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::definition::Stderr;
use crate::lines::{Bounded, tell};

/// The variables of this process that a program gets. A shell needs them, and they hold no secret.
const ENVIRONMENT: [&str; 2] = ["PATH", "LANG"];

/// A running program. Its process group is killed when this is dropped.
pub(crate) struct Program(Child);

/// Starts a program in a process group of its own.
pub(crate) fn start(
    command: &[String],
    env: &BTreeMap<String, String>,
    folder: Option<&Path>,
    stderr: Option<Stderr>,
) -> io::Result<(Program, Bounded<ChildStdout>, ChildStdin)> {
    let [program, arguments @ ..] = command else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(ENVIRONMENT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(env);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let gone = || io::Error::other("the program has no pipes");
    let (stdin, stdout) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
    tokio::spawn(tell(child.stderr.take().ok_or_else(gone)?, stderr));
    Ok((Program(child), Bounded::new(stdout), stdin))
}

impl Drop for Program {
    fn drop(&mut self) {
        // The child was not waited for, so its id is still its own, and that of its group.
        #[cfg(unix)]
        if let Some(group) = self.0.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)) {
            // A group that is gone already needs no signal.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
