//! Effects: work that runs later, outside of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Actor, EffectName, Invalid, Json, ThreadName, Timestamp, Uuid};

use crate::ErrorCode;
use crate::call::{Declaration, Honours, Needs};
use crate::group::{UPKEEP, WORK};
use crate::object::{parsed, some_thread};
use crate::shape::words;

/// Schedules an effect: its handler runs once the delay has passed, also after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewEffect")]
pub struct ScheduleEffect {
    /// The name of the effect: that of its handler.
    #[serde(deserialize_with = "parsed")]
    pub name: EffectName,
    /// The arguments for the handler: an object of at most 256 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub args: Option<Json>,
    /// How long it waits, in milliseconds. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 315_360_000_000_u64))]
    pub delay: u64,
    /// Its id, drawn by the caller before it is scheduled. Only the library can give one.
    #[serde(skip)]
    pub id: Option<Uuid>,
}

fn is_zero(delay: &u64) -> bool {
    *delay == 0
}

impl ScheduleEffect {
    /// Longest delay, in milliseconds: ten years.
    pub const DELAY_MS_MAX: u64 = 10 * 365 * 24 * 3_600 * 1_000;
    /// Most bytes of the arguments.
    pub const ARGS_BYTES_MAX: usize = 256 << 10;

    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("schedule-effect", "scheduleEffect"), "/v1/threads/{thread}/effects", WORK)
            .about("Schedules an effect: a handler that runs later, by its name, once the delay has passed.")
            .creates("The effect.")
            .fails(&[
                ErrorCode::EffectNotFound,
                ErrorCode::EffectsFull,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadTerminated,
            ])
            .example(r#"{"name":"send_reminder","args":{"to":"ann@example.com"},"delay":60000}"#);

    /// An effect that is due at once, without arguments.
    ///
    /// # Errors
    /// If the name breaks a rule.
    pub fn new(name: &str) -> Result<Self, Invalid> {
        Ok(Self { name: name.parse()?, args: None, delay: 0, id: None })
    }

    /// The same, with these arguments.
    #[must_use]
    pub fn with_args(self, args: Json) -> Self {
        Self { args: Some(args), ..self }
    }

    /// The same, so many milliseconds later.
    #[must_use]
    pub fn after_ms(self, delay: u64) -> Self {
        Self { delay, ..self }
    }
}

/// The state of an effect that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectState {
    /// It waits until it is due, or until a process takes it.
    Pending,
    /// A process runs its handler.
    Running,
    /// It came along with a backup, a copy or an import, and waits until it is adopted.
    Foreign,
}

words! {
    EffectState in "state": "pending" = Pending, "running" = Running, "foreign" = Foreign;
}

/// An effect that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Effect")]
pub struct Effect {
    /// The id of the effect, under which it is removed.
    pub id: Uuid,
    /// The name of the effect.
    pub name: EffectName,
    /// The arguments for the handler.
    pub args: Json,
    /// When it is due.
    pub scheduled_at: Timestamp,
    /// When it was scheduled.
    pub created_at: Timestamp,
    /// Pending, running or foreign.
    pub state: EffectState,
    /// The number of the claim under which it runs, from 1 on; 0 before the first.
    pub attempt: u32,
    /// The actor for whom its handler acts.
    pub actor: Actor,
}

/// Lists the effects of a thread that have not ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListEffects {
    /// Only effects of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ListEffects {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("effects", "listEffects"), "/v1/threads/{thread}/effects", WORK)
            .about("Lists the effects of a thread that wait or run, in the order in which they were scheduled.")
            .gives("The effects; with `limit`, a page of them.")
            .fails(&[ErrorCode::InvalidCursor]);
}

/// Cancels an effect that waits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveEffect {
    /// The id of the effect.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub effect: Uuid,
}

impl RemoveEffect {
    pub(crate) const DECLARATION: Declaration =
        Declaration::delete(("remove-effect", "removeEffect"), "/v1/threads/{thread}/effects/{effect}", WORK)
            .about("Cancels an effect that waits. One that runs or has ended is left alone.")
            .gives("Whether it was cancelled.")
            .never(ErrorCode::EffectNotFound);
}

/// Lets this store run effects that came along with a backup, a copy or an import.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AdoptEffects {
    /// Only effects of this thread. Default: of all threads, of all accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "some_thread")]
    #[schemars(with = "Option<ThreadName>")]
    pub thread_id: Option<ThreadName>,
}

impl AdoptEffects {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("adopt-effects", "adoptEffects"), "/v1/admin/effects/adopt", UPKEEP)
            .about(
                "Lets this store run effects that came along with a backup, a copy or an import. They wait until then: \
                 the original store may still run them.",
            )
            .gives("The number of effects that this store runs from now on.")
            .needs(Needs::Admin)
            .honours(Honours::NOTHING)
            .repeats();
}

/// The result of an adoption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Adopted {
    /// The number of effects that were adopted.
    pub adopted: u64,
}
