//! `execution`, `force-turn`: the open run of a thread as `ThreadState` shows it, and whose turn it is.
//!
//! A request for a turn is logged, and stays in the record of the run. The executor takes it up before its next step.

use threadkeep_calls as calls;
use threadkeep_calls::{ExecutionState, ForceTurn, GetExecution};
use threadkeep_model::{Entry, Run, RunSide, RunTurnAsked, Sides, Thread, ThreadId, Uuid};

use super::run_in;
use crate::ground::carry::Carry;
use crate::ground::open_run::still_open;
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Carry for GetExecution {
    type Made = Option<ExecutionState>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Option<ExecutionState>> {
        let thread = engine.thread(thread).await?;
        let prompts = |side: RunSide| match (&engine.defined, thread.record.agent_id.as_deref()) {
            (Some(defined), Some(agent)) => defined.prompt_path(agent, side),
            (None, _) | (_, None) => Vec::new(),
        };
        Ok(still_open(&thread).map(|run| execution(run, prompts)))
    }
}

impl Carry for ForceTurn {
    type Made = calls::Run;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<calls::Run> {
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                decide(thread, self.run, self.side)
            })
            .await?;
        match told.entries.iter().find_map(|entry| run_in(thread, entry, told.place.time)) {
            Some(run) => Ok(run),
            None => engine.run_now(&told.thread, self.run).await,
        }
    }

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        engine.thread_of_run(self.run).await.map(Some)
    }
}

/// The plan: the request in the record of the run. One for the same side that waits already is enough.
fn decide(thread: Thread, run: Uuid, side: RunSide) -> Result<Plan> {
    let Some(open) = still_open(&thread).filter(|open| open.id == run).cloned() else {
        return Err(Error::RunOver { run, by: still_open(&thread).cloned().map(Box::new) });
    };
    let Some(sides) = open.sides else { return Err(Error::RunHasOneSide { run }) };
    let asked = Some(side);
    if sides.asked == asked {
        return Ok(Plan::new(thread, Vec::new()));
    }
    let run = Run { sides: Some(Sides { asked, ..sides }), ..open };
    Ok(Plan::new(thread, vec![Entry::RunTurnAsked(Box::new(RunTurnAsked { run }))]))
}

fn execution(run: &Run, prompts: impl FnOnce(RunSide) -> Vec<String>) -> ExecutionState {
    // The only side of an agent makes all steps.
    let sides = run.sides.unwrap_or(Sides { steps_a: run.steps, ..Sides::default() });
    ExecutionState {
        flow_id: run.id,
        current_side: sides.turn,
        step_count: run.steps,
        side_a_step_count: sides.steps_a,
        side_b_step_count: sides.steps_b,
        stopped: run.stop.is_some(),
        stop_requested_at: run.stop.map(|stop| stop.at),
        forced_side: sides.asked,
        prompt_path: prompts(sides.turn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::record_after;
    use crate::ground::plan::testing;
    use threadkeep_calls::ErrorCode;

    fn dual(sides: Sides) -> Thread {
        let mut thread = testing::thread();
        thread.record.run = Some(Run { sides: Some(sides), ..testing::run() });
        thread
    }

    #[test]
    fn a_request_stays_in_the_record_until_it_is_taken_up_and_once_is_enough() {
        let thread = dual(Sides::default());
        let plan = decide(thread.clone(), testing::run().id, RunSide::B).expect("a plan");
        let mut after = thread;
        after.record = record_after(&after, &plan.entries).expect("a record");
        let sides = after.record.run.as_ref().and_then(|run| run.sides).expect("sides");
        assert_eq!((sides.turn, sides.asked), (RunSide::A, Some(RunSide::B)));
        assert!(decide(after.clone(), testing::run().id, RunSide::B).expect("a plan").entries.is_empty());
        assert_eq!(decide(after, testing::run().id, RunSide::A).expect("a plan").entries.len(), 1);
        let taken = sides.turned(RunSide::B);
        assert_eq!((taken.turn, taken.asked, taken.forced), (RunSide::B, None, true));
    }

    #[test]
    fn a_run_that_is_over_or_has_one_side_takes_no_request() {
        let code = |thread, run| decide(thread, run, RunSide::B).expect_err("a refusal").error_code();
        assert_eq!(code(testing::thread(), testing::run().id), ErrorCode::RunOver);
        assert_eq!(code(dual(Sides::default()), Uuid::from_chance(9)), ErrorCode::RunOver);
        let mut single = testing::thread();
        single.record.run = Some(testing::run());
        assert_eq!(code(single, testing::run().id), ErrorCode::RunHasOneSide);
    }

    #[test]
    fn the_only_side_of_an_agent_makes_all_steps() {
        let shown = execution(&Run { steps: 3, ..testing::run() }, |_| Vec::new());
        assert_eq!((shown.step_count, shown.side_a_step_count, shown.side_b_step_count), (3, 3, 0));
    }
}
