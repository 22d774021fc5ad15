//! Values of a thread: `set-value`, `get-value`, `values`, `delete-value`.

use clap::Args;
use threadkeep::model::LeaseToken;
use threadkeep::{Json, ThreadId, ValueKey, Version};
use threadkeep_calls as calls;
use threadkeep_calls::{At, ListValues, Problem};

use crate::context::Context;
use crate::failure::Failure;
use crate::files::deleted;
use crate::input::or_stdin;
use crate::pages::all;
use crate::plain::{Face, plain};
use crate::text::{brief, quoted, visible};

/// Values that are read at once.
const AT_ONCE: usize = 500;
/// Characters of a value in a list.
const SHOWN_MAX: usize = 60;

/// On what condition a value is changed.
#[derive(Debug, Args)]
struct IfValue {
    /// Only if the value is at this version; 0: only if there is none
    #[arg(long, value_name = "VERSION")]
    if_version: Option<Version>,
    /// Write with the token of the thread's lock (see threadkeep lock)
    #[arg(long, value_name = "TOKEN")]
    writer: Option<LeaseToken>,
}

impl IfValue {
    fn at(&self, thread: ThreadId) -> At {
        At { lease: self.writer, ..thread.into() }
    }
}

/// Set the value under a key to any JSON; null deletes it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep kv set 4e36 settings '{\"theme\":\"dark\"}'
  threadkeep kv set 4e36 counter 2 --if-version 7    only if it is still at version 7")]
pub(crate) struct SetValue {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The key of the value
    key: ValueKey,
    /// The value, as JSON; - reads stdin
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    value: String,
    #[command(flatten)]
    condition: IfValue,
}

impl SetValue {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let value = or_stdin(&self.value)?;
        let value = Json::parse("value", &value).map_err(|invalid| {
            let text = serde_json::Value::from(value.trim()).to_string();
            // A word is a text without its quotation marks.
            match value.starts_with(char::is_alphabetic) {
                true => Problem::from(invalid).hint(format!("a text has quotation marks: {}", quoted(&text))).into(),
                false => Failure::from(invalid),
            }
        })?;
        let (key, if_version) = (self.key.clone(), self.condition.if_version);
        let set = calls::SetValue { key, value, if_version };
        let set = context.client.call(self.condition.at(thread.id), set).await?;
        let said = if set.is_missing() {
            format!("{}  taken away", visible(self.key.as_str()))
        } else {
            format!("{}  version {}", visible(self.key.as_str()), set.version)
        };
        context.say_or_show(&set, said)
    }
}

plain! {
    /// Show the value under a key; null if there is none
    GetValue: GetValue under Read {
        /// The key of the value
        key: ValueKey,
        /// As it was at this version
        #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
        as_of: Option<Version>,
    }
}

impl Face for calls::Value {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json { context.out.json(self) } else { context.out.json(&self.value) }
    }
}

/// Show the values of a thread, in the order of their keys
#[derive(Debug, Args)]
pub(crate) struct Values {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Only those whose keys begin with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// As they were at this version
    #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
    as_of: Option<Version>,
}

impl Values {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let prefix = self.prefix.unwrap_or_default();
        let read = async |cursor| {
            let which = ListValues { prefix: prefix.clone(), limit: Some(AT_ONCE), cursor, as_of: self.as_of };
            context.client.call(thread.id, which).await
        };
        let values = all(read).await?;
        if context.json {
            return context.out.json(&values);
        }
        if values.is_empty() {
            context.note("there are no values");
        }
        let keys = values.iter().map(|value| visible(value.key.as_str()).chars().count()).max().unwrap_or(0);
        values.iter().try_for_each(|value| {
            let (key, shown) = (visible(value.key.as_str()), brief(value.value.as_str(), SHOWN_MAX));
            context.out.line(format!("{key:keys$}  version {}  {shown}", value.version))
        })
    }
}

/// Delete the value under a key
#[derive(Debug, Args)]
pub(crate) struct DeleteValue {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The key of the value
    key: ValueKey,
    #[command(flatten)]
    condition: IfValue,
}

impl DeleteValue {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let (key, if_version) = (self.key.clone(), self.condition.if_version);
        let delete = calls::DeleteValue { key, if_version };
        let done = context.client.call(self.condition.at(thread.id), delete).await?;
        deleted(context, done, &format!("value {}", self.key))
    }
}
