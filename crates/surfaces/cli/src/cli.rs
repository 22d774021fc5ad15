//! The list of commands, and the way from arguments to an exit code.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use threadkeep::{ActorKind, Invalid};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::config::{File, Unflagged};
use crate::context::{Acting, Context};
use crate::failure::{Failure, report};
use crate::out::Out;
use crate::place::{Given, Hints, Place};
use crate::{
    agent, authority, backup, branch, call, config, copy, demo, emit, events, files, follow, health, inject, keys,
    lifecycle, list, merge, message, owner, projects, refer, relate, say, search, serve, shell, show, thread, transfer,
    tree, tree_files, upkeep, values, watch, work, writer,
};

const EXAMPLES: &str = "\
Examples:
  threadkeep create \"My first thread\"      make a thread, and a store if there is none
  threadkeep say 4e36 \"Hello!\"             add a message; 4e36 is the beginning of the thread's short id
  threadkeep show 4e36                     read the conversation
  threadkeep search \"signing keys\"         find conversations by what they say
  threadkeep fork 4e36 --message-index 0   go another way after the first message
  threadkeep tail 4e36                     follow what happens, also in other processes
  threadkeep serve                         serve threads over HTTP, with streams

Which threads: those of --server URL, by the key in THREADKEEP_KEY. Else, if a server runs on the data folder, its own: \
it is found by server.json there, which also holds a key. Else, and always with --store, the store is opened here; several \
commands, and a server, may use one store at once.

Exit codes: 0 done, 1 something is broken, 2 wrong input, 3 not found, 4 not allowed, 5 conflict, 6 the server or the store \
cannot do it now.";

/// Threads for AI agents: durable, forkable conversations in one file, or on a server.
#[derive(Debug, Parser)]
#[command(name = "threadkeep", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Global {
    /// The store: sqlite:PATH, a path, postgres://USER@HOST/DATABASE (with the password in PGPASSWORD), or memory:
    /// [default: sqlite:./threadkeep-data/threadkeep.db]
    #[arg(long, global = true, value_name = "URL", env = "THREADKEEP_STORE", hide_env = true)]
    store: Option<String>,
    /// The folder of the store, which is then threadkeep.db in it; a server that runs on it is used instead
    #[arg(long = "data", global = true, value_name = "DIR", env = "THREADKEEP_DATA", hide_env = true)]
    data_folder: Option<PathBuf>,
    /// A server, such as https://keep.example, instead of a store; its key is in THREADKEEP_KEY, never on the command line
    #[arg(long, global = true, value_name = "URL", env = "THREADKEEP_SERVER", hide_env = true)]
    server: Option<String>,
    /// The file with settings; see threadkeep config [default: ./threadkeep.toml if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    /// Who acts, for the log; by a server, with a key of scope admin [default: local, or whom the key names]
    #[arg(long, global = true, value_name = "NAME")]
    actor: Option<String>,
    /// The actor is an agent, not a person
    #[arg(long, global = true)]
    agent: bool,
}

/// Makes the list of commands, and the way from each to its code.
macro_rules! commands {
    ({ $($(#[$meta:meta])* $name:ident($type:ty),)* } { $($free:ident($free_type:ty),)* }) => {
        /// Every command, in the order of the help.
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$meta])* $name($type),)*
            $($free($free_type),)*
        }

        impl Command {
            async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
                match self {
                    $(Self::$name(command) => command.run(context).await.map(Exit::code),)*
                    // These need no store, and were carried out before one was looked for.
                    $(Self::$free(_) => Ok(ExitCode::SUCCESS),)*
                }
            }
        }
    };
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
    {
        #[command(visible_alias = "new")]
        Create(thread::Create),
        #[command(visible_alias = "ls")]
        List(list::List),
        Search(search::Search),
        Show(show::Show),
        #[command(visible_alias = "say")]
        Append(say::Append),
        AppendEvent(say::AppendEvent),
        Insert(say::Insert),
        Edit(message::Edit),
        DeleteMessage(message::DeleteMessage),
        Update(thread::Update),
        Fork(branch::Fork),
        Handoff(relate::Handoff),
        Spawn(branch::Spawn),
        Mention(relate::Mention),
        Rollback(branch::Rollback),
        Redo(work::Redo),
        Checkpoint(branch::Checkpoint),
        Checkpoints(branch::Checkpoints),
        Truncate(branch::Truncate),
        Archive(agent::Archive),
        Unarchive(agent::Unarchive),
        Lifecycle(lifecycle::Lifecycle),
        Done(lifecycle::Done),
        Suspend(lifecycle::Suspend),
        Resume(lifecycle::Resume),
        Assign(agent::Assign),
        Skill(agent::Skill),
        WriteFile(files::WriteFile),
        ReadFile(files::ReadFile),
        Files(tree_files::Files),
        Find(tree_files::Find),
        Grep(tree_files::Grep),
        DeleteFile(files::DeleteFile),
        MoveFile(files::MoveFile),
        Mkdir(files::Mkdir),
        Rmdir(files::Rmdir),
        FileVersions(tree_files::FileVersions),
        FileDiff(tree_files::FileDiff),
        Thumbnail(files::Thumbnail),
        SetValue(values::SetValue),
        GetValue(values::GetValue),
        Values(values::Values),
        DeleteValue(values::DeleteValue),
        Begin(work::Begin),
        Step(work::Step),
        End(work::End),
        Queue(work::Queue),
        EditQueued(work::EditQueued),
        RemoveQueued(work::RemoveQueued),
        Terminate(work::Terminate),
        ModelMessages(work::ModelMessages),
        Inject(inject::Inject),
        Injections(inject::Injections),
        Ack(inject::Ack),
        Decide(inject::Decide),
        Decisions(inject::Decisions),
        Merge(merge::Merge),
        Merges(merge::Merges),
        Subagent(agent::Subagent),
        Children(agent::Children),
        Parent(agent::Parent),
        NotifyParent(agent::NotifyParent),
        Status(agent::Status),
        ChangeOwner(owner::ChangeOwner),
        Transfer(authority::Transfer),
        Approvals(authority::Approvals),
        Approve(authority::Approve),
        Deny(authority::Deny),
        Revoke(authority::Revoke),
        Delegations(authority::Delegations),
        Reference(refer::Reference),
        References(refer::References),
        ReadReference(refer::ReadReference),
        Observe(refer::Observe),
        Observers(refer::Observers),
        Unobserve(refer::Unobserve),
        Writer(writer::Writer),
        Tail(follow::Tail),
        Watch(watch::Watch),
        History(follow::History),
        Events(events::Events),
        Tree(tree::Tree),
        Relationships(relate::Relationships),
        Summary(relate::Summary),
        Export(transfer::Export),
        Import(transfer::Import),
        Copy(copy::Copy),
        #[command(visible_alias = "rm")]
        Delete(thread::Delete),
        Emit(emit::Emit),
        Projects(projects::Projects),
        Serve(Box<serve::Serve>),
        Keys(keys::Keys),
        Index(search::Index),
        Gc(upkeep::Gc),
        Doctor(upkeep::Doctor),
        Backup(backup::Backup),
        Restore(backup::Restore),
        Health(health::Health),
        SignIn(health::SignIn),
        Demo(demo::Demo),
        #[command(hide = true)]
        Call(call::Call),
    }
    {
        Config(Box<config::Config>),
        Completions(shell::Completions),
        Man(shell::Man),
    }
}

impl Command {
    /// Whether it may begin a new store; all others only make sense where there is one.
    fn may_begin(&self) -> bool {
        match self {
            Self::Create(_) | Self::Import(_) | Self::Serve(_) | Self::Restore(_) | Self::Demo(_) => true,
            Self::Keys(keys) => keys.may_begin(),
            Self::Projects(projects) => projects.may_begin(),
            Self::Call(call) => call.may_begin(),
            _ => false,
        }
    }

    /// Whether it works on the store itself, even if a server runs. Parts of other commands do, too: those that
    /// attach files or show attached ones, `tail` without a thread, and exports of one thread or in Amp's JSON. They
    /// open the store beside the server that runs on it, and fail with `--server`.
    fn needs_store(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Copy(_) | Self::Restore(_) => true,
            Self::Watch(watch) => watch.needs_store(),
            _ => false,
        }
    }

    /// The store it works on. `named` comes from flags and environment.
    fn place(&self, named: Place) -> Result<Place, Failure> {
        let place = if let Self::Copy(copy) = self { copy.source(&named)? } else { named };
        Ok(if self.needs_store() { place.without_server() } else { place })
    }
}

/// Reads the arguments, runs the command, and says how it went.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let json = arguments.iter().any(|argument| argument == "--json");
    let read = File::read(&arguments).and_then(|file| file.apply(Cli::command()).map(|command| (file, command)));
    let (file, command) = match read {
        Ok(read) => read,
        Err(failure) => return report(failure, json, &Hints::default(), None),
    };
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        let named = Named {
            server: given(&matches, "server", &cli.global.server),
            store: given(&matches, "store", &cli.global.store),
            data: given(&matches, "data_folder", &cli.global.data_folder),
        };
        Ok((named, matches, cli))
    });
    match parsed {
        Ok((named, matches, cli)) => match without_store(&cli.command, &matches, &file, cli.global.json) {
            Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(failure)) => report(failure, cli.global.json, &Hints::default(), None),
            None => match file.unflagged() {
                Ok(settings) => carry_out(named, cli, settings),
                Err(failure) => report(failure, json, &Hints::default(), None),
            },
        },
        Err(error) => refuse(&error, json),
    }
}

/// Carries out a command that needs no store; none for all others.
fn without_store(
    command: &Command,
    matches: &clap::ArgMatches,
    file: &File,
    json: bool,
) -> Option<Result<(), Failure>> {
    let mut out = Out::new();
    let done = match command {
        Command::Config(config) => config.show(&Cli::command(), matches, file, json, &mut out),
        Command::Completions(completions) => completions.clone().run(Cli::command(), &mut out),
        Command::Man(man) => man.clone().run(Cli::command(), &mut out),
        _ => return None,
    };
    Some(done.and_then(|()| out.flush()))
}

/// The places that flags, environment and file name.
struct Named {
    server: Given<String>,
    store: Given<String>,
    data: Given<PathBuf>,
}

impl Named {
    fn place(self) -> Result<Place, Failure> {
        let Self { server, store, data } = self;
        if matches!((&server, &store), (Some((_, true)), Some((_, true)))) {
            return Err(Invalid::parameter("server", "goes without --store; name one of them").into());
        }
        Ok(Place::new(server, store, data))
    }
}

/// A value with whether it was on the command line; an empty value from the environment counts as none.
fn given<T: Clone + AsRef<std::ffi::OsStr>>(matches: &clap::ArgMatches, name: &str, value: &Option<T>) -> Given<T> {
    let on_command_line = matches.value_source(name) == Some(ValueSource::CommandLine);
    let value = value.clone().filter(|value| on_command_line || !value.as_ref().is_empty());
    value.map(|value| (value, on_command_line))
}

fn carry_out(named: Named, cli: Cli, settings: Unflagged) -> ExitCode {
    let Global { json, actor, agent, .. } = cli.global;
    let kind = if agent { ActorKind::Agent } else { ActorKind::Human };
    let acting = Acting { kind, name: actor };
    let place = match named.place().and_then(|named| cli.command.place(named)) {
        Ok(place) => place,
        Err(failure) => return report(failure, json, &Hints::default(), None),
    };
    let hints = place.hints();
    // One command does one thing at a time; a server does many.
    let mut runtime = match cli.command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let problem = Problem::new(Status::Internal, ErrorCode::Internal, format!("cannot start: {error}"));
            return report(problem.into(), json, &hints, None);
        }
    };
    runtime.block_on(async {
        let may_begin = cli.command.may_begin();
        let mut context = match Context::open(&place, acting, json, may_begin, settings).await {
            Ok(context) => context,
            Err(failure) => return report(failure, json, &hints, None),
        };
        let ran = cli.command.run(&mut context).await;
        match ran.and_then(|code| context.out.flush().map(|()| code)) {
            Ok(code) => code,
            Err(failure) => report(failure, json, &hints, context.named()),
        }
    })
}

/// Prints help, or the error in the arguments.
fn refuse(error: &clap::Error, json: bool) -> ExitCode {
    let is_wrong = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => false,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !json,
        _ => true,
    };
    if !is_wrong || (!json && error.source().is_none()) {
        // If the reader of the help has gone, that is no failure.
        drop(error.print());
        return if is_wrong { ExitCode::from(Status::BadRequest.exit()) } else { ExitCode::SUCCESS };
    }
    let problem = match error.source().and_then(|source| source.downcast_ref::<Invalid>()) {
        Some(invalid) => Problem::from(invalid.clone()),
        None => {
            let shown = error.render().to_string();
            let detail = shown.trim_start_matches("error: ").lines().next().unwrap_or_default().to_owned();
            Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail).hint("threadkeep --help")
        }
    };
    report(problem.into(), json, &Hints::default(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_on_the_command_line_by_its_name() {
        for declaration in threadkeep_calls::DECLARATIONS {
            let parsed = Cli::try_parse_from(["threadkeep", "call", declaration.name]);
            assert!(parsed.is_ok(), "no call '{}'", declaration.name);
        }
        assert!(Cli::try_parse_from(["threadkeep", "call", "frobnicate"]).is_err());
    }

    #[test]
    fn the_aliases_are_there_and_everything_is_explained() {
        Cli::command().debug_assert();
        let commands = Cli::command();
        for (alias, name) in [("new", "create"), ("say", "append"), ("ls", "list"), ("rm", "delete")] {
            let command = commands.find_subcommand(alias).expect(alias);
            assert_eq!(command.get_name(), name);
        }
        for command in commands.get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "'{name}' is not explained");
            for argument in command.get_arguments() {
                let globals = ["store", "data_folder", "server", "config", "json", "actor", "agent"];
                assert!(!globals.contains(&argument.get_id().as_str()), "'{name}' hides a global flag");
                assert!(argument.get_help().is_some(), "'{name} {}' is not explained", argument.get_id());
            }
        }
    }
}
