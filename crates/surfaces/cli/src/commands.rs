//! The list of commands: a few verbs and nouns at the top, and the verbs of each noun.
//!
//! [`crate::help`] shows them in groups. [`crate::spelling`] turns the older, flat names into these.

use std::process::ExitCode;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::place::{IfMissing, Place};
use crate::{
    agent, agents, ask, authority, backup, branch, call, cells, chat, code, config, copy, demo, effects, emit, env,
    events, export, files, follow, given, health, import, inject, keys, lifecycle, list, mcp, memory, merge, message,
    open, owner, projects, refer, relate, runs, say, search, serve, shell, show, thread, tools, transfer, tree,
    tree_files, upkeep, values, watch, work, writer,
};

/// Makes enums of commands, and the way from each command to its code. Those in a second block need no store, and were
/// carried out before one was looked for.
macro_rules! commands {
    ($(
        $(#[$enum_meta:meta])*
        $enum:ident { $($(#[$meta:meta])* $name:ident($type:ty),)* } $({ $($(#[$free_meta:meta])* $free:ident($free_type:ty),)* })?
    )*) => {$(
        $(#[$enum_meta])*
        #[derive(Debug, Subcommand)]
        pub(crate) enum $enum {
            $($(#[$meta])* $name($type),)*
            $($($(#[$free_meta])* $free($free_type),)*)?
        }

        impl $enum {
            pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
                match self {
                    // Each in a box: together they would be one type that is too deep to lay out.
                    $(Self::$name(command) => Box::pin(command.run(context)).await.map(Exit::code),)*
                    $($(Self::$free(_) => Ok(ExitCode::SUCCESS),)*)?
                }
            }
        }
    )*};
}

/// How a command that was carried out ends.
trait Exit {
    fn code(self) -> ExitCode;
}

impl Exit for () {
    fn code(self) -> ExitCode {
        ExitCode::SUCCESS
    }
}

impl Exit for ExitCode {
    fn code(self) -> ExitCode {
        self
    }
}

commands! {
    /// Every command at the top.
    Command {
        #[command(alias = "create")]
        New(thread::Create),
        #[command(alias = "list")]
        Ls(list::List),
        Show(show::Show),
        #[command(alias = "append")]
        Say(say::Append),
        Ask(ask::Ask),
        Chat(chat::Chat),
        Tail(follow::Tail),
        Search(search::Search),
        /// Change a thread, archive it, close it, delete it, link it to others
        #[command(subcommand)]
        Thread(Thread),
        Fork(branch::Fork),
        Tree(tree::Tree),
        Rollback(branch::Rollback),
        Merge(merge::Merge),
        /// Start, list and stop the runs of agents; take their steps by hand
        #[command(subcommand)]
        Run(Run),
        /// Queue messages for the next step of a run
        #[command(subcommand)]
        Queue(Queue),
        /// Request, answer and delegate the authority of agents
        #[command(subcommand)]
        Approvals(Approvals),
        /// Start subagents, and follow what they do
        #[command(subcommand)]
        Subagents(Subagents),
        /// Read, write and search the files of a thread
        #[command(subcommand)]
        Files(Files),
        /// Keep JSON values under keys of a thread
        #[command(subcommand)]
        Kv(Kv),
        /// Schedule work for later, list and cancel it
        #[command(subcommand, hide = true)]
        Effects(Effects),
        /// Set, list and remove the variables and secrets of threads and accounts
        #[command(subcommand, hide = true, after_help = env::EXAMPLES)]
        Env(Env),
        #[command(hide = true)]
        Import(import::Import),
        #[command(hide = true)]
        Export(export::Export),
        Serve(Box<serve::Serve>),
        #[command(hide = true)]
        Open(open::Open),
        /// Make, list and revoke the keys that open a server
        #[command(subcommand, after_help = keys::EXAMPLES)]
        Keys(Keys),
        /// Check, back up, copy, export and import a store
        #[command(subcommand)]
        Store(Store),
        /// Write to a thread alone: take, renew, release and show its lock
        #[command(subcommand, hide = true, after_help = writer::EXAMPLES)]
        Lock(Lock),
        /// Edit, insert and delete messages
        #[command(subcommand, hide = true)]
        Messages(Messages),
        /// Make, show, change and delete the projects that threads belong to
        #[command(subcommand, hide = true, after_help = projects::EXAMPLES)]
        Projects(Projects),
        #[command(hide = true)]
        Context(given::Given),
        /// Remember texts across threads; list, search, edit and forget them
        #[command(subcommand, hide = true, after_help = memory::EXAMPLES)]
        Memory(Memory),
        /// Show, complete or rebuild the search index
        #[command(subcommand, hide = true, after_help = search::INDEX_HELP)]
        Index(Index),
        /// Run JavaScript and TypeScript that reaches nothing but what it is granted
        #[command(subcommand, hide = true)]
        Code(Code),
        /// Write, check, list and show agents, prompts, models and tools
        #[command(subcommand, hide = true, after_help = agents::EXAMPLES)]
        Agents(Agents),
        /// List, invoke and queue the tools of a thread
        #[command(subcommand, hide = true, after_help = tools::EXAMPLES)]
        Tools(Tools),
        #[command(hide = true)]
        Mcp(mcp::Mcp),
        #[command(hide = true)]
        Demo(demo::Demo),
        #[command(hide = true)]
        Transfer(authority::Transfer),
        #[command(hide = true)]
        Call(call::Call),
        #[command(hide = true)]
        Complete(shell::Complete),
    }
    {
        #[command(hide = true)]
        Config(Box<config::Config>),
        #[command(hide = true)]
        Completions(shell::Completions),
        #[command(hide = true)]
        Man(shell::Man),
    }

    /// What can be done with a thread as such.
    Thread {
        Update(thread::Update),
        Archive(agent::Archive),
        Unarchive(agent::Unarchive),
        #[command(alias = "delete")]
        Rm(thread::Delete),
        Owner(owner::ChangeOwner),
        Done(lifecycle::Done),
        Suspend(lifecycle::Suspend),
        Resume(lifecycle::Resume),
        Lifecycle(lifecycle::Lifecycle),
        Terminate(work::Terminate),
        Assign(agent::Assign),
        Skill(agent::Skill),
        History(follow::History),
        Events(events::Events),
        Emit(emit::Emit),
        Watch(watch::Watch),
        Checkpoint(branch::Checkpoint),
        Checkpoints(branch::Checkpoints),
        Truncate(branch::Truncate),
        Redo(work::Redo),
        Spawn(branch::Spawn),
        Handoff(relate::Handoff),
        Summary(relate::Summary),
        Mention(relate::Mention),
        Relationships(relate::Relationships),
        Reference(refer::Reference),
        References(refer::References),
        ReadReference(refer::ReadReference),
        Observe(refer::Observe),
        Observers(refer::Observers),
        Unobserve(refer::Unobserve),
        Merges(merge::Merges),
        Decide(inject::Decide),
        Decisions(inject::Decisions),
    }

    /// Runs: the work of agents on a thread.
    Run {
        Start(runs::Start),
        Step(runs::Step),
        End(runs::End),
        List(runs::List),
        Show(runs::Show),
        Stop(runs::Stop),
        State(runs::State),
        Turn(runs::Turn),
        Messages(work::ModelMessages),
        Inject(inject::Inject),
        Injections(inject::Injections),
        Ack(inject::Ack),
    }

    /// Messages that wait for a run.
    Queue {
        Add(work::AddQueued),
        List(work::ListQueued),
        Edit(work::EditQueued),
        Remove(work::RemoveQueued),
    }

    /// Permission for risky actions of agents.
    Approvals {
        List(authority::Approvals),
        Request(authority::Request),
        Approve(authority::Approve),
        Deny(authority::Deny),
        Revoke(authority::Revoke),
        Delegate(authority::Delegate),
        Delegations(authority::Delegations),
    }

    /// Threads that work for a thread.
    Subagents {
        Start(agent::Subagent),
        List(agent::Children),
        Parent(agent::Parent),
        Variables(agent::Variables),
        Notify(agent::NotifyParent),
        Status(agent::Status),
    }

    /// Files of a thread.
    Files {
        #[command(alias = "ls")]
        List(tree_files::Files),
        Read(files::ReadFile),
        Write(files::WriteFile),
        #[command(alias = "mv")]
        Move(files::MoveFile),
        #[command(alias = "delete")]
        Rm(files::DeleteFile),
        Mkdir(files::Mkdir),
        Rmdir(files::Rmdir),
        Find(tree_files::Find),
        Grep(tree_files::Grep),
        Versions(tree_files::FileVersions),
        Diff(tree_files::FileDiff),
        Thumbnail(files::Thumbnail),
    }

    /// Values of a thread.
    Kv {
        #[command(alias = "ls")]
        List(values::Values),
        Get(values::GetValue),
        Set(values::SetValue),
        #[command(alias = "delete")]
        Rm(values::DeleteValue),
    }

    /// Work that runs later.
    Effects {
        #[command(alias = "ls")]
        List(effects::List),
        Add(effects::Add),
        #[command(alias = "delete")]
        Rm(effects::Rm),
        Adopt(effects::Adopt),
    }

    /// Variables of threads and accounts.
    Env {
        #[command(alias = "ls")]
        List(env::List),
        Get(env::Get),
        Set(env::Set),
        #[command(alias = "delete")]
        Rm(env::Rm),
    }

    /// The lock of a thread.
    Lock {
        Show(writer::Show),
        Take(writer::Take),
        Renew(writer::Renew),
        Release(writer::Release),
    }

    /// Messages of a thread.
    Messages {
        Edit(message::Edit),
        Insert(say::Insert),
        #[command(alias = "delete")]
        Rm(message::DeleteMessage),
        Event(say::AppendEvent),
    }

    /// Keys of a server.
    Keys {
        Create(keys::Create),
        List(keys::List),
        Revoke(keys::Revoke),
    }

    /// Groups of threads.
    Projects {
        List(projects::List),
        Create(projects::Create),
        Show(projects::Show),
        Update(projects::Update),
        #[command(alias = "delete")]
        Rm(projects::Delete),
    }

    /// Texts that are remembered across threads.
    Memory {
        Add(memory::Add),
        #[command(alias = "ls")]
        List(memory::List),
        Show(memory::Show),
        Search(memory::Search),
        Edit(memory::Edit),
        #[command(alias = "delete")]
        Rm(memory::Rm),
    }

    /// Code in a sandbox.
    Code {
        Run(code::Run),
        Terminate(code::Terminate),
    }

    /// The folder of definitions.
    Agents {
        #[command(alias = "ls")]
        List(agents::List),
        Show(agents::Show),
    }
    {
        Check(agents::Check),
        New(agents::New),
        Pack(agents::Pack),
    }

    /// Tools on a thread.
    Tools {
        #[command(alias = "ls")]
        List(tools::List),
        Invoke(tools::Invoke),
        Queue(tools::Queue),
    }

    /// The search index.
    Index {
        Status(search::Status),
        Backfill(search::Backfill),
        Rebuild(search::Rebuild),
    }

    /// The store as a whole, and the server on it.
    Store {
        Doctor(upkeep::Doctor),
        Backup(backup::Backup),
        Restore(backup::Restore),
        Export(transfer::Export),
        Import(transfer::Import),
        Copy(Box<copy::Copy>),
        Gc(upkeep::Gc),
        RotateKey(env::RotateKey),
        Health(health::Health),
        SignIn(health::SignIn),
    }
}

impl Command {
    /// What it does where there is no store.
    pub(crate) fn if_missing(&self) -> IfMissing {
        match self {
            Self::New(_) | Self::Serve(_) | Self::Demo(_) | Self::Import(_) | Self::Mcp(_) | Self::Chat(_) => {
                IfMissing::Begin
            }
            Self::Store(Store::Import(_) | Store::Restore(_)) => IfMissing::Begin,
            Self::Keys(Keys::Create(_)) | Self::Projects(Projects::Create(_)) | Self::Env(Env::Set(_)) => {
                IfMissing::Begin
            }
            Self::Call(call) if call.may_begin() => IfMissing::Begin,
            Self::Ls(_) | Self::Search(_) | Self::Complete(_) | Self::Approvals(Approvals::List(_)) => IfMissing::Empty,
            Self::Keys(Keys::List(_)) | Self::Projects(Projects::List(_)) | Self::Agents(_) => IfMissing::Empty,
            Self::Tools(Tools::List(_)) => IfMissing::Empty,
            Self::Memory(Memory::Add(_)) => IfMissing::Begin,
            Self::Memory(Memory::List(_) | Memory::Search(_)) => IfMissing::Empty,
            _ => IfMissing::Fail,
        }
    }

    /// Whether it works on the store itself, even if a server runs. Parts of other commands do, too: those that
    /// attach files or show attached ones, `tail` without a thread, and exports of one thread or in Amp's JSON. They
    /// open the store beside the server that runs on it, and fail with `--server`.
    fn needs_store(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Store(Store::Copy(_) | Store::Restore(_)) => true,
            Self::Thread(Thread::Watch(watch)) => watch.needs_store(),
            _ => false,
        }
    }

    /// Whether it is about a whole store, so that each cell needs it by itself.
    fn is_about_one_store(&self) -> bool {
        matches!(
            self,
            Self::Index(_) | Self::Store(Store::Doctor(_) | Store::Backup(_) | Store::Restore(_) | Store::Gc(_))
        )
    }

    /// The store it works on. `named` comes from flags and environment.
    pub(crate) fn place(&self, named: Place) -> Result<Place, Failure> {
        if self.is_about_one_store() {
            cells::refuse(&named)?;
        }
        let place = if let Self::Store(Store::Copy(copy)) = self { copy.source(&named)? } else { named };
        Ok(if self.needs_store() { place.without_server() } else { place })
    }
}
