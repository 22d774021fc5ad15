//! The table of calls, as the engine carries them out; and a method for each that reads better with one.

use threadkeep_calls as calls;
use threadkeep_calls::{Asked, At, Call, Declaration, for_each_call};
use threadkeep_model::{Message, Thread};
use threadkeep_store::BoxFuture;

use crate::ground::carry::{Passage, Underway};
use crate::ops::run::Progressed;
use crate::ops::subagent::SubagentThread;
use crate::{Carry, Engine, Enter, Result, Shown};

/// A row of the table: a call that comes as text, and goes as text.
pub struct Carrier {
    /// Its entry in the table of calls.
    pub declaration: &'static Declaration,
    /// Reads it, carries it out, and writes its answer.
    pub run: fn(Engine, At, Asked) -> BoxFuture<'static, Result<Shown>>,
}

/// Reads a call, so that the rest need not know its type.
type Read = fn(&Asked) -> Result<Box<dyn Underway>>;

fn read<C: Carry>(asked: &Asked) -> Result<Box<dyn Underway>> {
    Ok(Box::new(Passage::<C>::Asked(asked.read()?)))
}

async fn run(engine: Engine, at: At, asked: Asked, declaration: &'static Declaration, read: Read) -> Result<Shown> {
    let mut call = read(&asked)?;
    engine.pass(at, declaration, &mut *call).await?;
    call.tell(&engine).await
}

async fn enter<C: Carry>(engine: &Engine, at: At, call: C) -> Result<C::Made> {
    let mut call = Passage::Asked(call);
    engine.pass(at, &C::DECLARATION, &mut call).await?;
    call.made()
}

macro_rules! carriers {
    ($($call:ident => $answer:ty;)*) => {
        /// Every call, in the order of the list.
        pub static CARRIERS: &[Carrier] = &[$(
            Carrier {
                declaration: &<threadkeep_calls::$call as Call>::DECLARATION,
                run: |engine, at, asked| {
                    let declaration = &<threadkeep_calls::$call as Call>::DECLARATION;
                    Box::pin(run(engine, at, asked, declaration, read::<threadkeep_calls::$call>))
                },
            },
        )*];

        $(
            impl Enter for threadkeep_calls::$call {
                fn enter(self, engine: &Engine, at: At) -> BoxFuture<'_, Result<Self::Made>> {
                    Box::pin(enter(engine, at, self))
                }
            }
        )*
    };
}

for_each_call!(carriers);

macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident($call:ident) -> $made:ty;)*) => {
        impl Engine {
            $(
                $(#[$doc])*
                pub fn $verb(
                    &self,
                    at: impl Into<At>,
                    call: impl Into<threadkeep_calls::$call>,
                ) -> BoxFuture<'_, Result<$made>> {
                    self.call(at, call.into())
                }
            )*
        }
    };
}

verbs! {
    /// Updates the record. Values that are already there change nothing, not even the version.
    ///
    /// # Errors
    /// [`crate::Error::VersionConflict`]; [`crate::Error::ThreadClosed`] where another agent is named; a field that
    /// breaks a rule. Nothing has changed then.
    update(Update) -> Thread;
    /// Logs an event, and gives the version at which it is.
    ///
    /// # Errors
    /// As [`Engine::append`].
    append_event(AppendEvent) -> calls::Logged;
    /// Edits a message, and gives it as it is now.
    ///
    /// # Errors
    /// [`crate::Error::MessageNotFound`] if the thread does not show it; [`crate::Error::ThreadClosed`];
    /// [`crate::Error::VersionConflict`]; content that breaks a rule.
    edit_message(EditMessage) -> Message;
    /// Drops all messages from a point on, and gives the thread as it is now.
    ///
    /// # Errors
    /// [`crate::Error::MessageNotFound`], [`crate::Error::IndexOutOfRange`]: there is no such point;
    /// [`crate::Error::ThreadClosed`]; [`crate::Error::VersionConflict`].
    truncate(Truncate) -> Thread;
    /// Forks a thread. The child shows the messages up to the point as the parent shows them now; then both go their
    /// own ways.
    ///
    /// The public thread of another account can be forked too. The child belongs to the caller, who alone sees where
    /// it came from: the parent is told nothing, so visitors never write to it. If the owner later makes the parent
    /// private or deletes it, the child is unaffected.
    ///
    /// # Errors
    /// [`crate::Error::MessageNotFound`], [`crate::Error::IndexOutOfRange`], [`crate::Error::VersionInFuture`]: the
    /// point is not in the parent's view; [`crate::Error::VersionConflict`].
    fork(Fork) -> Thread;
    /// Makes a new thread that begins with a summary of this one (as `info`) and the goal (as `user`). Both threads
    /// show the relation from then on.
    ///
    /// # Errors
    /// A blank goal; [`crate::Error::VersionConflict`].
    handoff(Handoff) -> Thread;
    /// Records that a thread mentions another one. Both show the relation from then on; while it holds, mentioning it
    /// again changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`], of either; a thread does not mention itself.
    mention(Mention) -> calls::Relationship;
    /// Rolls a thread back: it shows its earlier state again. Its version goes on counting.
    ///
    /// # Errors
    /// [`crate::Error::VersionInFuture`], [`crate::Error::BeforeBirth`], [`crate::Error::CheckpointNotFound`],
    /// [`crate::Error::NothingToUndo`]; [`crate::Error::MessageNotFound`], [`crate::Error::IndexOutOfRange`], a message
    /// that is not the assistant's; [`crate::Error::ThreadClosed`] or [`crate::Error::ThreadSuspended`] unless the
    /// thread is active; [`crate::Error::VersionConflict`].
    rollback(Rollback) -> Thread;
    /// Takes back the last undo, one at a time, until something else is written.
    ///
    /// # Errors
    /// [`crate::Error::NothingToRedo`]; [`crate::Error::ThreadClosed`], [`crate::Error::ThreadSuspended`] unless it is
    /// active; [`crate::Error::ApprovalRequired`] for an agent; [`crate::Error::VersionConflict`].
    redo(Redo) -> Thread;
    /// Names the present version of a thread.
    ///
    /// # Errors
    /// A blank or too long name; [`crate::Error::VersionConflict`].
    checkpoint(SetCheckpoint) -> calls::Checkpoint;
    /// Archives a thread. Once more changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`]; [`crate::Error::VersionConflict`].
    archive(Archive) -> Thread;
    /// Brings an archived thread back. Once more changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::ArchivedForGood`] if its lifecycle is archived, which is final;
    /// [`crate::Error::VersionConflict`].
    unarchive(Unarchive) -> Thread;
    /// Gives a thread to another account, with the threads of its subagents and of theirs, in one commit. It leaves its
    /// project, which is an account's own. The account that had it before knows it no more, unless it is public; forks
    /// keep their owners. To give it to the account that has it changes nothing.
    ///
    /// # Errors
    /// A thread that works for another one goes with that one, and not by itself; [`crate::Error::VersionConflict`].
    change_owner(ChangeOwner) -> Thread;
    /// Assigns the thread to an agent, and gives the thread as it is now. The same agent again changes nothing.
    ///
    /// # Errors
    /// A blank name; [`crate::Error::ThreadClosed`]; [`crate::Error::VersionConflict`].
    assign(Assign) -> Thread;
    /// Activates a skill, and gives the thread as it is now. A skill that is active already changes nothing.
    ///
    /// # Errors
    /// A blank name, arguments that are no object; [`crate::Error::ThreadClosed`]; [`crate::Error::VersionConflict`].
    activate_skill(ActivateSkill) -> Thread;
    /// Queues a message. The next step or begin of an execution delivers it, in order. It survives a restart.
    ///
    /// # Errors
    /// [`crate::Error::QueueFull`]; [`crate::Error::ThreadClosed`]; [`crate::Error::ThreadTerminated`];
    /// [`crate::Error::VersionConflict`]; a message that breaks a rule.
    queue(Queue) -> calls::Queued;
    /// Edits a message that waits. Its place in the queue stays.
    ///
    /// # Errors
    /// [`crate::Error::QueuedNotFound`] if it does not wait (any more); [`crate::Error::VersionConflict`].
    edit_queued(EditQueued) -> calls::Queued;
    /// Starts a run: calls that were left open are closed, queued messages and injections are delivered, and a draft that
    /// submits itself is appended. With `resume`, the open run goes on as its next attempt, and its calls stay open.
    ///
    /// # Errors
    /// [`crate::Error::RunOpen`] if another executor works on the thread; [`crate::Error::ThreadClosed`] or
    /// [`crate::Error::ThreadSuspended`] unless it is active; [`crate::Error::ThreadTerminated`].
    start_run(StartRun) -> Progressed;
    /// Takes a step: appends the executor's messages, then delivers what waits.
    ///
    /// # Errors
    /// [`crate::Error::RunOver`] if the run ended or another attempt works on it; [`crate::Error::ThreadClosed`]; a
    /// message that breaks a rule.
    step_run(StepRun) -> Progressed;
    /// Ends a run. Calls that are still open are closed, and a draft that submits itself is appended.
    ///
    /// # Errors
    /// As [`Engine::step_run`].
    end_run(EndRun) -> Progressed;
    /// Asks the executor of a run to stop; a run that nothing works on ends at once. Every actor may, also while another
    /// program is the thread's exclusive writer; calls left open are closed when the next run starts.
    ///
    /// # Errors
    /// [`crate::Error::RunNotFound`].
    stop_run(StopRun) -> calls::Run;
    /// Asks that a side of a run with two speak next. The executor takes this up before its next step.
    ///
    /// # Errors
    /// [`crate::Error::RunNotFound`]; [`crate::Error::RunOver`]; [`crate::Error::RunHasOneSide`].
    force_turn(ForceTurn) -> calls::Run;
    /// The open run of a thread as `ThreadState` shows it; none at rest.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`].
    execution(GetExecution) -> Option<calls::ExecutionState>;
    /// Schedules an effect. Its handler runs once the delay has passed, in any process that has one, also after a restart.
    ///
    /// # Errors
    /// [`crate::Error::EffectNotFound`] where handlers are known; [`crate::Error::EffectsFull`];
    /// [`crate::Error::ThreadClosed`]; [`crate::Error::ThreadTerminated`]; [`crate::Error::VersionConflict`]; arguments
    /// that are no object, or too large.
    schedule_effect(ScheduleEffect) -> calls::Effect;
    /// The effects of a thread that wait or run, in the order in which they were scheduled.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`].
    effects(ListEffects) -> calls::Page<calls::Effect>;
    /// Lets this store run effects that came along with a backup, a copy or an import. Gives their number.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`] if one is named that does not exist.
    adopt_effects(AdoptEffects) -> calls::Adopted;
    /// Makes a thread for a subagent, and registers it with its parent in the same commit. It is born with the files
    /// that it is given.
    ///
    /// # Errors
    /// A field or a message that breaks a rule; [`crate::Error::FileNotFound`] and [`crate::Error::IsADirectory`] of an
    /// attachment; [`crate::Error::QuotaExceeded`]; [`crate::Error::ThreadClosed`]; [`crate::Error::ThreadTerminated`].
    subagent(Subagent) -> SubagentThread;
    /// Queues a silent message for the thread that this one works for. Its files are written in the same commit: so
    /// an agent needs the authority to write files there, and while the parent's lease is held it is refused.
    ///
    /// # Errors
    /// A blank text; [`crate::Error::QueueFull`]; [`crate::Error::ThreadClosed`] of the parent. With attachments also
    /// [`crate::Error::FileNotFound`] and [`crate::Error::IsADirectory`] of this thread;
    /// [`crate::Error::QuotaExceeded`], [`crate::Error::ApprovalRequired`], [`crate::Error::WriterHeld`] and
    /// [`crate::Error::NotADirectory`] of the parent.
    notify_parent(NotifyParent) -> calls::Notified;
    /// Sets a thread's activity, in its own record and in its parent's registry, in one commit. Nothing changes for a
    /// thread that works for none.
    ///
    /// # Errors
    /// A blank status.
    set_status(SetStatus) -> calls::StatusSet;
    /// Makes a new thread for an intent of its own. Both threads show from the same commit on where it came from
    /// ([`Engine::family`]); only owners spawn.
    ///
    /// # Errors
    /// A blank intent; a scope that breaks a rule; [`crate::Error::VersionConflict`].
    spawn(Spawn) -> Thread;
    /// Moves a thread on in its life, and gives it as it is now.
    ///
    /// `suspend` names the version it rests at (`suspended-12`). An open run is ended in the same commit,
    /// by everything but `resume` and `archive`; calls without a result are closed with it. Another writer's lease does
    /// not keep a thread from being suspended or closed: calls then stay open, and are closed where the conversation is
    /// read for a model. Subscribers hear `status_changed`, and `done` when the work is.
    ///
    /// # Errors
    /// [`crate::Error::InvalidTransition`], with the allowed actions; a blank or too long reason;
    /// [`crate::Error::VersionConflict`].
    lifecycle(ChangeLifecycle) -> Thread;
    /// Puts something before the executor of a thread. The next start or step of a run takes it up; until then it waits,
    /// also across restarts. Subscribers see it at once.
    ///
    /// # Errors
    /// [`crate::Error::InjectionsFull`]; [`crate::Error::ThreadClosed`]; [`crate::Error::ThreadTerminated`];
    /// [`crate::Error::VersionConflict`]; content that is too large.
    inject(Inject) -> calls::Injection;
    /// Takes up an injection by hand. Once more changes nothing, and says who took it up.
    ///
    /// # Errors
    /// [`crate::Error::InjectionNotFound`] if there is none, or it was undone.
    acknowledge(Acknowledge) -> calls::Injection;
    /// Records the answer to a question. The same question answered again gets the new answer; the old one stays in the
    /// history.
    ///
    /// # Errors
    /// A blank or too long text; [`crate::Error::ThreadClosed`]; [`crate::Error::DecisionsFull`];
    /// [`crate::Error::VersionConflict`].
    decide(Decide) -> calls::Decision;
    /// Asks for authority on a thread, or gives it to agents. It needs no lease.
    ///
    /// # Errors
    /// A parameter that breaks a rule or does not go with the direction; [`crate::Error::ThreadClosed`];
    /// [`crate::Error::NotAllowed`] if an agent delegates.
    transfer(Transfer) -> calls::Transferred;
    /// Approves an approval, once. Humans may; for a merge alone, so may agents to whom a human delegated
    /// `approve_merge`. An agent may not answer its own request.
    ///
    /// # Errors
    /// [`crate::Error::ApprovalNotFound`]; [`crate::Error::ApprovalAnswered`] if another answer came first;
    /// [`crate::Error::ApprovalUndone`]; [`crate::Error::NotAllowed`].
    approve(Approve) -> calls::Approval;
    /// Says no to an approval, once.
    ///
    /// # Errors
    /// As [`Engine::approve`].
    deny(Deny) -> calls::Approval;
    /// Withdraws a pending approval, or takes back a granted one.
    ///
    /// # Errors
    /// As [`Engine::approve`].
    revoke_approval(RevokeApproval) -> calls::Approval;
    /// Revokes a delegation: agents have to ask again from now on. Only humans may, and only revocable delegations.
    ///
    /// # Errors
    /// [`crate::Error::DelegationNotFound`] if there is none, or it was revoked before; [`crate::Error::NotAllowed`].
    revoke_delegation(RevokeDelegation) -> calls::Delegation;
    /// Makes a reference from a thread to another one, which may be a public one of another account. Both threads show
    /// the relation from then on, to those who may see them.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`], of either; a scope that breaks a rule; a thread does not refer to itself.
    reference(Refer) -> calls::Reference;
    /// Makes a thread observe another one from now on; [`Engine::run_observers`] delivers the events.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`], of either: both belong to the caller; [`crate::Error::ThreadClosed`]; an
    /// address that is no http or https URL, or holds credentials; more than 100 observers.
    observe_thread(Observe) -> calls::Observer;
    /// Merges files and values of other threads into a thread, and says how far that came.
    ///
    /// Conflicts that no strategy and no choice resolves, and a check that fails, are no error: the answer lists
    /// them, and nothing changed but the record of the merge.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`] for a thread the caller cannot see; a plan that breaks a rule;
    /// [`crate::Error::ValidationNotConfigured`]; [`crate::Error::ApprovalRequired`] for an agent that may not edit
    /// here; [`crate::Error::ThreadClosed`]; [`crate::Error::QuotaExceeded`]; [`crate::Error::VersionConflict`].
    merge(Merge) -> calls::MergeTold;
}
