//! Agents at work: a run of the runtime, from its start to its end.
//!
//! [`dispatch`] finds threads with work and starts an attempt on each; [`work`] is one attempt. What an attempt does next
//! follows from the log alone ([`tail`] reads it, [`next`] decides), so an attempt that another process takes over goes on
//! where the log ends. [`ask`] asks the model, [`calls`] carries out the calls that it made, [`subagent`] and [`begin`]
//! those of agents, [`sub_prompt`] those of prompts, and [`watch`] tells of what others do to the run meanwhile.
//! [`hooked`] and [`filtered`] call hooks on the way. [`assemble`] and [`models`] make the request and choose the model,
//! [`summary`] has it summarize, [`title`] has it name the thread, and [`memories`] keeps what matters of a session.

mod ask;
mod assemble;
mod begin;
mod calls;
pub(crate) mod dispatch;
mod filtered;
mod hooked;
mod memories;
mod models;
mod next;
mod queued;
mod sub_prompt;
mod subagent;
pub(crate) mod summary;
mod tail;
mod title;
mod watch;
mod work;

/// Runs that one process works on at the same time.
const RUNS_MAX: usize = 256;
/// Runs of one account that one process works on at the same time.
const RUNS_OF_ACCOUNT_MAX: usize = 64;
/// Steps of a run.
const STEPS_MAX: u64 = 250;
/// How often in a row a tool may fail with the same error.
const SAME_ERROR_MAX: usize = 8;
/// Calls that one answer may make. Those after them fail.
const CALLS_MAX: usize = 32;
/// Calls that run side by side.
const CALLS_AT_ONCE: usize = 4;

/// The codes of reasons why a run of the runtime ends.
mod reason {
    pub(super) const STOP_ON_RESPONSE: &str = "stop_on_response";
    pub(super) const STOP_TOOL: &str = "stop_tool";
    pub(super) const SESSION_STOP: &str = "session_stop";
    pub(super) const SESSION_FAIL: &str = "session_fail";
    pub(super) const MAX_SESSION_TURNS: &str = "max_session_turns";
    pub(super) const MAX_STEPS: &str = "max_steps";
    pub(super) const ABORTED: &str = "aborted";
    pub(super) const STEP_ERROR: &str = "step_error";
    pub(super) const HOOK_BLOCKED: &str = "hook_blocked";
    pub(super) const REPEATED_TOOL_ERROR: &str = "repeated_tool_error";
    pub(super) const TOOLS_DONE: &str = "tools_done";
}
