//! `effects`: work that runs later, by the name of its handler.

use std::time::Duration;

use clap::Args;
use threadkeep::{EffectName, Json, Uuid};
use threadkeep_calls as calls;
use threadkeep_calls::{At, EffectState};

use crate::context::{Conditions, Context};
use crate::duration::{duration, milliseconds};
use crate::failure::Failure;
use crate::input::or_stdin;
use crate::plain::{Face, Line, plain};
use crate::text::{brief, counted, moment, visible};

/// Characters of the arguments in a list.
const SHOWN_MAX: usize = 60;

/// Schedule an effect: its handler runs later, on a server that has one
#[derive(Debug, Args)]
#[command(after_help = "\
The effect runs once, for the actor who schedules it, also after a restart. A handler that fails is tried three times. A \
rollback of the thread hides its effects, and an undo brings them back.

Examples:
  threadkeep effects add 4e36 send_reminder --delay 2h --args '{\"to\":\"ann\"}'
  threadkeep effects list 4e36
  threadkeep effects rm 4e36 5928a90d-…")]
pub(crate) struct Add {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The name of the effect; PACKAGE/NAME for one of a package
    name: EffectName,
    /// The arguments for its handler: a JSON object; - reads stdin
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// How long it waits, such as 30s, 5m or 1h [default: it is due at once]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    delay: Option<Duration>,
    #[command(flatten)]
    conditions: Conditions,
}

impl Add {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?.id;
        let args = match &self.args {
            Some(args) => Some(Json::parse("args", &or_stdin(args)?)?),
            None => None,
        };
        let delay = self.delay.map_or(0, milliseconds);
        let add = calls::ScheduleEffect { name: self.name, args, delay, id: None };
        let effect = context.client.call(self.conditions.at(thread), add).await?;
        if context.json { context.out.json(&effect) } else { context.out.line(effect.id.to_string()) }
    }
}

plain! {
    /// List the effects of a thread that wait or run
    List: ListEffects under Read {
        /// Only effects of this name
        #[arg(long)]
        name: Option<String>,
        /// Number of items in a page
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The cursor of the page before (`nextCursor` with --json)
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    }

    /// Cancel an effect that waits
    Rm: RemoveEffect under Change {
        /// The id of the effect
        effect: Uuid,
    } => (context, _, remove, done) {
        let id = remove.effect;
        let note = if done.deleted { format!("cancelled {id}") } else { format!("no effect {id} waits") };
        context.note_or_show(done, note)
    }
}

/// Run effects that came along with a backup, a copy or an import
#[derive(Debug, Args)]
#[command(after_help = "\
Such effects wait, because the original store may still run them. Adopt them once the original is gone for good.

Examples:
  threadkeep effects adopt                 of all threads
  threadkeep effects adopt --thread 4e36")]
pub(crate) struct Adopt {
    /// Only those of this thread: its id, the beginning of it, its title, or @last
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
}

impl Adopt {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread_id = match &self.thread {
            Some(thread) => Some(context.thread(thread).await?.id.into()),
            None => None,
        };
        context.client.call(At::none(), calls::AdoptEffects { thread_id }).await?.print(context)
    }
}

impl Line for calls::Adopted {
    const NONE: &'static str = "there are none";

    fn line(&self) -> String {
        format!("adopted {}", counted(self.adopted, "effect", "effects"))
    }
}

/// `5928a90d-…  2026-01-31 12:00:00Z  ann  send_reminder {"to":"ann"}  (running)`
impl Line for calls::Effect {
    const NONE: &'static str = "nothing waits";

    fn line(&self) -> String {
        let Self { id, name, args, scheduled_at, state, actor, .. } = self;
        let state = match state {
            EffectState::Pending => "",
            EffectState::Running => "  (running)",
            EffectState::Foreign => "  (of another store: threadkeep effects adopt)",
        };
        let (by, args) = (visible(&actor.name), brief(&visible(args.as_str()), SHOWN_MAX));
        format!("{id}  {}  {by}  {name} {args}{state}", moment(*scheduled_at))
    }
}
