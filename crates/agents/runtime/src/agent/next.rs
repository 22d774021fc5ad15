//! Decides what an agent does next, from the end of the conversation alone.

use serde_json::Value;
use threadkeep_model::{RunOutcome, RunSide, Sides, Timestamp};

use super::tail::{Tail, other};
use super::{SAME_ERROR_MAX, STEPS_MAX, reason};
use crate::definitions::{Agent, SessionTool, Side};

/// What an agent does next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// Carry out the calls of the last step.
    Calls,
    /// Ask the model of a side.
    Ask(RunSide),
    /// Nothing: the run ends, unless something was queued that goes on with it.
    End(Ending),
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ending {
    pub(super) outcome: RunOutcome,
    pub(super) reason: &'static str,
    /// An explanation for people.
    pub(super) said: Option<String>,
    /// Paths of files of the thread that come with it.
    pub(super) files: Vec<String>,
}

impl Ending {
    fn of(outcome: RunOutcome, reason: &'static str) -> Self {
        Self { outcome, reason, said: None, files: Vec::new() }
    }

    /// An end because of an error.
    pub(super) fn failed(reason: &'static str, said: impl Into<String>) -> Self {
        Self { said: Some(said.into()), ..Self::of(RunOutcome::Failed, reason) }
    }

    /// The end of a run that only carried out tools.
    pub(super) fn tools_done() -> Self {
        Self::of(RunOutcome::Completed, reason::TOOLS_DONE)
    }

    /// Whether messages that were queued go on with the run.
    pub(super) fn goes_on_with_queue(&self) -> bool {
        self.reason == reason::STOP_ON_RESPONSE || self.reason == reason::STOP_TOOL
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) steps: u64,
    /// The turns, of an agent with two sides.
    pub(super) sides: Option<Sides>,
    pub(super) began: Timestamp,
}

impl Progress {
    /// The steps of a side.
    fn of(self, side: RunSide) -> u64 {
        self.sides.map_or(self.steps, |sides| sides.steps(side))
    }

    /// The side that somebody asked to speak next, and that has not spoken since.
    fn forced(self) -> Option<RunSide> {
        let sides = self.sides?;
        sides.asked.or(sides.forced.then_some(sides.turn))
    }
}

/// What an agent does next. The conditions to stop are looked at in the order of the contract.
pub(super) fn next(tail: &Tail, agent: &Agent, progress: Progress) -> Next {
    if !tail.open().is_empty() && !tail.stops() {
        return Next::Calls;
    }
    // A run that has said nothing yet is not stopped by what was said before it.
    if progress.steps == 0 {
        return Next::Ask(progress.forced().unwrap_or_else(|| tail.addressed()));
    }
    let spoke = agent.side(tail.side());
    if let Some(ending) = called(tail, agent, spoke) {
        return Next::End(ending);
    }
    let speaks = tail.is_answer() && !tail.is_spoken_to();
    if speaks && spoke.stop_on_response && !agent.is_dual() {
        return Next::End(Ending::of(RunOutcome::Completed, reason::STOP_ON_RESPONSE));
    }
    let turn = progress.forced().unwrap_or_else(|| turn(tail, agent));
    let most = agent.side(turn).max_steps.map_or(STEPS_MAX, u64::from);
    if progress.of(turn) >= most || progress.steps >= STEPS_MAX {
        return Next::End(Ending::of(RunOutcome::Completed, reason::MAX_STEPS));
    }
    if agent.max_session_turns.is_some_and(|most| tail.turns(progress.began) >= most as usize) {
        return Next::End(Ending::of(RunOutcome::Completed, reason::MAX_SESSION_TURNS));
    }
    let (same, error) = tail.same_errors(progress.began);
    if same >= SAME_ERROR_MAX {
        let said = format!("The run stopped: a tool failed {same} times in a row with the same error: {error}");
        return Next::End(Ending::failed(reason::REPEATED_TOOL_ERROR, said));
    }
    Next::Ask(turn)
}

/// The side that speaks next. The turn of a side ends with an answer, or with the call of its stop tool.
fn turn(tail: &Tail, agent: &Agent) -> RunSide {
    let spoke = tail.side();
    if !agent.is_dual() {
        return RunSide::A;
    }
    let answered = tail.is_answer() && agent.side(spoke).stop_on_response;
    tail.turn().unwrap_or(if answered { other(spoke) } else { spoke })
}

/// The end that a call of the last step brings. Only calls that succeeded count.
pub(super) fn called(tail: &Tail, agent: &Agent, side: &Side) -> Option<Ending> {
    let ends = |tool: Option<&SessionTool>, outcome: RunOutcome, reason: &'static str| {
        let tool = tool?;
        let is_done = |call: &&super::tail::Called| {
            call.name == tool.name && tail.result(&call.id).is_some_and(|result| !result.is_error)
        };
        let call = tail.calls().iter().find(is_done)?;
        let said = tool.message_property.as_ref().and_then(|name| call.input[name].as_str());
        let listed = tool.attachments_property.as_ref().and_then(|name| call.input[name].as_array());
        // A file is named by its path, or as the contract shows it.
        let path = |file: &Value| file.as_str().or_else(|| file["path"].as_str()).map(str::to_owned);
        let files = listed.into_iter().flatten().filter_map(path).collect();
        Some(Ending { said: said.map(str::to_owned), files, ..Ending::of(outcome, reason) })
    };
    let fails = ends(side.session_fail.as_ref(), RunOutcome::Failed, reason::SESSION_FAIL);
    if let Some(ending) =
        fails.or_else(|| ends(side.session_stop.as_ref(), RunOutcome::Completed, reason::SESSION_STOP))
    {
        return Some(ending);
    }
    if tail.stops() {
        return Some(Ending::of(RunOutcome::Completed, reason::SESSION_STOP));
    }
    // Of two sides, the stop tool of one gives the turn to the other.
    let stop_tool = side.stop_tool.clone().filter(|_| !agent.is_dual()).map(|name| SessionTool {
        name,
        message_property: side.stop_tool_response_property.clone(),
        attachments_property: None,
    });
    ends(stop_tool.as_ref(), RunOutcome::Completed, reason::STOP_TOOL)
}
