//! The one list of calls. HTTP, its documentation, the Rust client and the engine are made from it.

use crate::*;

/// Hands every call to a macro, as `Call => Answer;` rows in the order of the documentation.
///
/// A type without a row is no [`Call`]: the trait is implemented here alone.
#[macro_export]
macro_rules! for_each_call {
    ($each:ident) => {
        $each! {
            Create => Thread;
            GetThread => Thread;
            Update => Thread;
            Delete => Deleted;
            ListThreads => Page<ThreadSummary>;
            ChangeOwner => Thread;

            ListMessages => Page<Message<'static>>;
            Append => Appended;
            GetMessage => Message<'static>;
            EditMessage => Message<'static>;
            DeleteMessage => Deleted;
            GetHistory => Page<HistoryEntry<'static>>;
            Truncate => Thread;
            GetModelMessages => Vec<ModelMessage>;
            ListEvents => Page<LoggedEvent>;
            AppendEvent => Logged;

            Fork => Thread;
            Handoff => Thread;
            Mention => Relationship;
            Rollback => Thread;
            Redo => Thread;
            SetCheckpoint => Checkpoint;
            ListCheckpoints => Page<Checkpoint>;
            GetFamily => Family;
            ListRelationships => Page<Relationship>;
            GetSummary => Summary;
            GetWriter => Option<Writer>;
            TakeWriter => Writer;
            RenewWriter => Writer;
            ReleaseWriter => Released;

            Transfer => Transferred;
            ListApprovals => Page<Approval>;
            GetApproval => Approval;
            Approve => Approval;
            Deny => Approval;
            RevokeApproval => Approval;
            ListDelegations => Page<Delegation>;
            RevokeDelegation => Delegation;

            Merge => MergeTold;
            ListMerges => Page<MergeTold>;
            GetMerge => MergeTold;

            Refer => Reference;
            ListReferences => References;
            GetReference => Reference;
            Observe => Observer;
            ListObservers => Page<Observer>;
            GetObserver => Observer;
            Unobserve => Deleted;

            ListQueue => Page<Queued>;
            Queue => Queued;
            EditQueued => Queued;
            RemoveQueued => Deleted;
            QueueTool => QueuedTool;
            ListQueuedTools => Page<QueuedTool>;
            StartRun => Progressed<'static>;
            ListThreadRuns => Page<Run>;
            ListRuns => Page<Run>;
            GetRun => RunTold;
            StepRun => Progressed<'static>;
            SendDelta => DeltaTold;
            EndRun => Progressed<'static>;
            StopRun => Run;
            GetExecution => Option<ExecutionState>;
            ForceTurn => Run;
            GetContext => Context;
            Terminate => Thread;
            Archive => Thread;
            Unarchive => Thread;
            Assign => Thread;
            ActivateSkill => Thread;
            ScheduleEffect => Effect;
            ListEffects => Page<Effect>;
            RemoveEffect => Deleted;
            Emit => EmitTold;
            ListSubagents => Page<Child>;
            Subagent => SubagentThread;
            GetParent => Option<Thread>;
            NotifyParent => Notified;
            SetStatus => StatusSet;

            Spawn => Spawned;
            ChangeLifecycle => Thread;
            Inject => Injected;
            ListInjections => Page<Injection>;
            Acknowledge => Injection;
            Decide => Decision;
            ListDecisions => Page<Decision>;

            ListValues => Page<Value>;
            GetValue => Value;
            SetValue => Value;
            DeleteValue => Deleted;

            ListEnv => Page<EnvVariable>;
            GetEnv => EnvVariable;
            SetEnv => EnvVariable;
            DeleteEnv => Deleted;
            GetVariables => RequiredVariables;
            SupplyVariables => RequiredVariables;
            ListAccountEnv => Page<EnvVariable>;
            GetAccountEnv => EnvVariable;
            SetAccountEnv => EnvVariable;
            DeleteAccountEnv => Deleted;
            ListInstanceEnv => Page<EnvVariable>;

            SearchThreads => SearchFound;
            RunBackfill => Backfilled;

            ListProjects => Page<Project>;
            CreateProject => Project;
            GetProject => Project;
            PutProject => Project;
            UpdateProject => Project;
            DeleteProject => Deleted;

            ListMemories => Page<Memory>;
            AddMemory => Memory;
            ListProjectMemories => Page<Memory>;
            AddProjectMemory => Memory;
            GetMemory => Memory;
            EditMemory => Memory;
            DeleteMemory => Deleted;
            SearchMemories => MemoriesFound;

            ListKeys => Page<Key>;
            CreateKey => CreatedKey;
            RevokeKey => Revoked;

            RunGc => Gc;
            RunDoctor => Doctor;
            AdoptEffects => Adopted;
        }
    };
}

// Invariant: a type is a call only through its row in the list. `Call` is implemented here alone.
macro_rules! implement {
    ($($call:ident => $answer:ty;)*) => {
        $(
            impl Call for $call {
                type Answer = $answer;

                const DECLARATION: Declaration = $call::DECLARATION;
            }
        )*

        /// The declaration of every call, in the order of the documentation.
        pub const DECLARATIONS: &[Declaration] = &[$($call::DECLARATION),*];
    };
}

for_each_call!(implement);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_calls_share_a_name_an_operation_id_or_a_route() {
        let count = |of: fn(&Declaration) -> String| DECLARATIONS.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(count(|call| call.name.to_owned()), DECLARATIONS.len());
        assert_eq!(count(|call| call.id.to_owned()), DECLARATIONS.len());
        assert_eq!(count(|call| format!("{} {}", call.method.as_str(), call.path)), DECLARATIONS.len());
    }

    #[test]
    fn every_call_says_what_it_does_and_what_it_answers() {
        for call in DECLARATIONS {
            assert!(call.about.ends_with('.') && call.answers.ends_with('.'), "{}", call.name);
        }
    }
}
