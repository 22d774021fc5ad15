//! `env`: variables of a thread or of the account. Values come by stdin or a prompt, never as arguments: those are
//! seen by every user of the machine, and kept by shells.

use std::io::{IsTerminal, Write};

use clap::Args;
use threadkeep::{EnvName, EnvType, Invalid};
use threadkeep_calls as calls;
use threadkeep_calls::{At, EnvLayer, EnvVariable};

use crate::context::Context;
use crate::exclusive::interrupted;
use crate::failure::{Failure, cannot_read};
use crate::files::deleted;
use crate::input::or_stdin;
use crate::plain::{Face, Line, words};
use crate::text::{brief, visible};

/// Characters of a value in a list.
const SHOWN_MAX: usize = 60;

/// Examples for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  threadkeep env set API_KEY                       asks for the value; the account's threads see it
  threadkeep env set API_KEY < key.txt             the value without its last line break
  threadkeep env set REGION --type text --thread 4e36
  threadkeep env list --thread 4e36                what the thread sees, without the values of secrets";

/// The owner of the variables: a thread, or an account.
#[derive(Debug, Args)]
struct Whose {
    /// Of this thread: its id, the beginning of it, its title, or @last [default: of the account]
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
}

impl Whose {
    async fn find(&self, context: &mut Context) -> Result<Option<At>, Failure> {
        match &self.thread {
            Some(thread) => Ok(Some(context.thread(thread).await?.id.into())),
            None => Ok(None),
        }
    }
}

/// Set a variable; its value is read from stdin, or asked for
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Set {
    /// The name of the variable
    name: EnvName,
    /// Whether the value may be shown [default: as before; new variables are secrets]
    #[arg(long = "type", value_name = "TYPE", value_parser = words::<EnvType>(&[
        ("text", "It may be shown"), ("secret", "It is kept out of texts that leave the program")]))]
    kind: Option<EnvType>,
    #[command(flatten)]
    whose: Whose,
}

impl Set {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { name, kind, whose } = self;
        let at = whose.find(context).await?;
        let value = value(&name).await?;
        let set = match at {
            Some(at) => context.client.call(at, calls::SetEnv { name, value, kind }).await?,
            None => context.client.call(At::none(), calls::SetAccountEnv { name, value, kind }).await?,
        };
        for warning in &set.warnings {
            context.note(format!("warning: {warning}"));
        }
        set.print(context)
    }
}

/// The value: a line that is typed without being shown, or all of stdin less its last line break.
async fn value(name: &EnvName) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return or_stdin("-");
    }
    let failed = |error: std::io::Error| cannot_read("the terminal", &error);
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{name}: ").and_then(|()| stderr.flush()).map_err(failed)?;
    let hidden = Hidden::new();
    let (tell, typed) = tokio::sync::oneshot::channel();
    // Nothing waits for this thread: the process may end while it reads.
    std::thread::spawn(move || {
        let mut line = String::new();
        drop(tell.send(std::io::stdin().read_line(&mut line).map(|_| line)));
    });
    let read = tokio::select! {
        // On Ctrl-C too, the terminal shows again what is typed.
        code = interrupted() => Err(Failure::Interrupted(code)),
        read = typed => Ok(read),
    };
    drop(hidden);
    writeln!(stderr).map_err(failed)?;
    let line = read?.unwrap_or_else(|_| Ok(String::new())).map_err(failed)?;
    match line.trim_end_matches(['\n', '\r']) {
        "" => Err(Invalid::parameter("name", format!("no value was typed, so {name} was not set")).into()),
        value => Ok(value.to_owned()),
    }
}

/// While it lives, the terminal shows nothing of what is typed.
struct Hidden {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Hidden {
    #[cfg(unix)]
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut hidden) = before.clone() {
            hidden.local_modes.remove(LocalModes::ECHO);
            // A terminal that cannot hide it shows it: the value is still read.
            tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden).unwrap_or(());
        }
        Self { before }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let now = rustix::termios::OptionalActions::Flush;
            rustix::termios::tcsetattr(std::io::stdin(), now, before).unwrap_or(());
        }
    }
}

/// List variables, by name; values of secrets are not shown
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    whose: Whose,
    /// Those of the instance: THREADKEEP_ENV_NAME in the environment of the server
    #[arg(long, conflicts_with = "thread")]
    instance: bool,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let listed = match self.whose.find(context).await? {
            Some(at) => context.client.call(at, calls::ListEnv {}).await?,
            None if self.instance => context.client.call(At::none(), calls::ListInstanceEnv {}).await?,
            None => context.client.call(At::none(), calls::ListAccountEnv {}).await?,
        };
        listed.print(context)
    }
}

/// Print the value of a variable, also of a secret
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The name of the variable
    name: EnvName,
    #[command(flatten)]
    whose: Whose,
}

impl Get {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let name = self.name;
        let found = match self.whose.find(context).await? {
            Some(at) => context.client.call(at, calls::GetEnv { name }).await?,
            None => context.client.call(At::none(), calls::GetAccountEnv { name }).await?,
        };
        if context.json {
            return context.out.json(&found);
        }
        context.out.line(found.value.unwrap_or_default())
    }
}

/// Remove a variable
#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The name of the variable
    name: EnvName,
    #[command(flatten)]
    whose: Whose,
}

impl Rm {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let name = self.name.clone();
        let done = match self.whose.find(context).await? {
            Some(at) => context.client.call(at, calls::DeleteEnv { name }).await?,
            None => context.client.call(At::none(), calls::DeleteAccountEnv { name }).await?,
        };
        deleted(context, done, &format!("variable {}", self.name))
    }
}

impl Line for EnvVariable {
    const NONE: &'static str = "there are no variables";

    fn line(&self) -> String {
        let value = self.value.as_deref().map(|value| brief(&visible(value), SHOWN_MAX)).unwrap_or_default();
        let layer = match self.layer {
            EnvLayer::Thread => "thread",
            EnvLayer::Account => "account",
            EnvLayer::Instance => "instance",
        };
        format!("{}  {}  {layer}  {value}", self.name, self.kind.as_str()).trim_end().to_owned()
    }
}

/// Replace the key of the secrets by a new one; values and running servers go on
#[derive(Debug, Args)]
#[command(after_help = "\
The key file is secrets.key in the data folder, or the file that the setting key-file names. It is replaced whole. Bring \
the new file to every server of the store before it starts again.")]
pub(crate) struct RotateKey {}

impl RotateKey {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let id = match context.cells() {
            // All cells have one key file.
            Some(cells) => {
                let others: Vec<_> = cells.engines().iter().map(|(_, engine)| engine.clone()).collect();
                cells.home()?.rotate_secrets_with(&others).await?
            }
            None => context.engine("a rotation of the key")?.rotate_secrets().await?,
        };
        context.say_or_show(&serde_json::json!({ "key": id }), format!("the key of the secrets is {id} now"))
    }
}
