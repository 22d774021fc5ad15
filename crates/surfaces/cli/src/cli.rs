//! The flags of every command, and the way from arguments to an exit code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use threadkeep::{ActorKind, Invalid};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::commands::{self, Command};
use crate::config::File;
use crate::context::{Acting, Context};
use crate::examples::with_examples;
use crate::failure::{Failure, cannot_write, report};
use crate::objects;
use crate::out::Out;
use crate::place::{Given, Hints, Place};
use crate::refusal::Asked;
use crate::screen::Look;
use crate::settings::Unflagged;
use crate::{allocator, help, refusal, spelling};

/// The stack of each thread of a server.
const STACK_BYTES: usize = 8 << 20;

/// Threads for AI agents: durable, forkable conversations in one file, or on a server.
#[derive(Debug, Parser)]
#[command(name = "threadkeep", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
struct Global {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// A store: a path, sqlite:PATH, postgres://USER@HOST/DATABASE (password in PGPASSWORD), cells:FILE for several, or memory:
    #[arg(long, global = true, value_name = "URL", env = "THREADKEEP_STORE", hide_env = true, hide_short_help = true)]
    store: Option<String>,
    /// The data folder; its store is threadkeep.db in it [default: ./threadkeep-data]
    #[arg(
        long = "data",
        global = true,
        value_name = "DIR",
        env = "THREADKEEP_DATA",
        hide_env = true,
        hide_short_help = true
    )]
    data_folder: Option<PathBuf>,
    /// An object store for large contents: s3://BUCKET/PREFIX (?endpoint=URL, keys in AWS_ACCESS_KEY_ID …) or file:DIR
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "THREADKEEP_OBJECTS",
        hide_env = true,
        hide_short_help = true
    )]
    objects: Option<String>,
    /// A server, such as https://keep.example; its key is in THREADKEEP_KEY
    #[arg(long, global = true, value_name = "URL", env = "THREADKEEP_SERVER", hide_env = true, hide_short_help = true)]
    server: Option<String>,
    /// A file with settings; see threadkeep config [default: ./threadkeep.toml]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    config: Option<PathBuf>,
    /// The actor's name in the log; on a server it needs an admin key [default: local, or the key's name]
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    actor: Option<String>,
    /// The actor is an agent
    #[arg(long, global = true, hide_short_help = true)]
    agent: bool,
    #[command(flatten)]
    look: Look,
}

/// Columns of a manual page.
const MAN_COLUMNS: usize = 78;

/// Reads the arguments, runs the command, and says how it went.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let json = arguments.iter().any(|argument| argument == "--json");
    let commands = help::grouped(Cli::command(), &arguments);
    let arguments = spelling::modern(&commands, arguments);
    let read = File::read(&arguments).and_then(|file| file.apply(commands).map(|command| (file, command)));
    let (file, command) = match read {
        Ok(read) => read,
        Err(failure) => return report(failure, json, &Hints::default(), None),
    };
    let parsed = command.try_get_matches_from(&arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        let named = Named {
            server: given(&matches, "server", &cli.global.server),
            store: given(&matches, "store", &cli.global.store),
            data: given(&matches, "data_folder", &cli.global.data_folder),
            objects: given(&matches, "objects", &cli.global.objects),
        };
        Ok((named, matches, cli))
    });
    if let Ok((_, _, cli)) = &parsed {
        cli.global.look.settle(cli.global.json);
    }
    match parsed {
        Ok((named, matches, cli)) => match without_store(&cli.command, &named, &matches, &file, cli.global.json) {
            Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(failure)) => {
                let commands = Cli::command();
                let asked = Asked::of(&commands, &arguments);
                let hints = Hints::default().while_running(asked.path.clone());
                report(asked.placed(failure), cli.global.json, &hints, None)
            }
            None => match file.unflagged() {
                Ok(settings) => carry_out(named, cli, settings, &Asked::of(&Cli::command(), &arguments)),
                Err(failure) => report(failure, json, &Hints::default(), None),
            },
        },
        Err(error) => refuse(&error, &arguments, &file, json),
    }
}

/// Carries out a command that needs no store; none for all others.
fn without_store(
    command: &Command,
    named: &Named,
    matches: &clap::ArgMatches,
    file: &File,
    json: bool,
) -> Option<Result<(), Failure>> {
    let mut out = Out::new();
    let done = match command {
        Command::Config(config) => config.show(&Cli::command(), matches, file, json, &mut out),
        Command::Completions(completions) => completions.clone().run(Cli::command(), &mut out),
        Command::Code(commands::Code::Run(run)) if run.is_alone() => {
            file.unflagged().and_then(|settings| run.run_alone(settings.sandbox, json, &mut out))
        }
        Command::Agents(commands::Agents::Check(check)) => file
            .unflagged()
            .and_then(|settings| check.run_alone(&named.definitions(file)?, settings.sandbox, json, &mut out)),
        Command::Agents(commands::Agents::New(new)) => {
            named.definitions(file).and_then(|folder| new.run_alone(&folder, json, &mut out))
        }
        Command::Agents(commands::Agents::Pack(pack)) => file
            .unflagged()
            .and_then(|settings| pack.run_alone(&named.definitions(file)?, settings.sandbox, json, &mut out)),
        Command::Mcp(mcp) => mcp.install(|| named.clone().place(), &mut out)?,
        Command::Man(man) => man.clone().run(with_examples(Cli::command(), MAN_COLUMNS), &mut out),
        _ => return None,
    };
    Some(done.and_then(|()| out.flush()))
}

/// The places that flags, environment and file name.
#[derive(Clone)]
struct Named {
    server: Given<String>,
    store: Given<String>,
    data: Given<PathBuf>,
    objects: Given<String>,
}

impl Named {
    fn place(self) -> Result<Place, Failure> {
        let Self { server, store, data, objects } = self;
        let is_typed = |flag: bool, name: &'static str| flag.then_some(name);
        let other = is_typed(matches!(store, Some((_, true))), "store");
        let other = other.or_else(|| is_typed(matches!(data, Some((_, true))), "data"));
        if let (Some((_, true)), Some(other)) = (&server, other) {
            return Err(Invalid::parameter("server", format!("goes without --{other}; name one of them")).into());
        }
        let objects = objects.map(|(url, _)| objects::parse(&url)).transpose()?;
        Ok(Place::new(server, store, data).with_objects(objects))
    }

    /// The folder of definitions.
    fn definitions(&self, file: &File) -> Result<PathBuf, Failure> {
        let usual = || self.clone().place().map(|place| place.definitions());
        file.unflagged()?.definitions.map_or_else(usual, Ok)
    }
}

/// A value with whether it was on the command line; an empty value from the environment counts as none.
fn given<T: Clone + AsRef<std::ffi::OsStr>>(matches: &clap::ArgMatches, name: &str, value: &Option<T>) -> Given<T> {
    let on_command_line = matches.value_source(name) == Some(ValueSource::CommandLine);
    let value = value.clone().filter(|value| on_command_line || !value.as_ref().is_empty());
    value.map(|value| (value, on_command_line))
}

fn carry_out(named: Named, cli: Cli, settings: Unflagged, asked: &Asked<'_>) -> ExitCode {
    let Global { json, actor, agent, .. } = cli.global;
    let kind = if agent { ActorKind::Agent } else { ActorKind::Human };
    let acting = Acting { kind, name: actor };
    let place = match named.place().and_then(|named| cli.command.place(named)) {
        Ok(place) => place,
        Err(failure) => {
            let hints = Hints::default().while_running(asked.path.clone());
            return report(asked.placed(failure), json, &hints, None);
        }
    };
    let hints = place.hints().while_running(asked.path.clone());
    allocator::give_memory_back();
    // One command does one thing at a time; a server does many.
    let mut runtime = match cli.command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    // Runs of agents are deep stacks where nothing is optimized.
    let runtime = match runtime.thread_stack_size(STACK_BYTES).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let problem = Problem::new(Status::Internal, ErrorCode::Internal, format!("cannot start: {error}"));
            return report(problem.into(), json, &hints, None);
        }
    };
    runtime.block_on(async {
        let missing = cli.command.if_missing();
        let mut context = match Context::open(&place, acting, json, missing, settings).await {
            Ok(context) => context,
            Err(failure) => return report(asked.placed(failure), json, &hints, None),
        };
        let ran = cli.command.run(&mut context).await;
        if ran.is_ok() {
            context.stored();
        }
        // A reader of the output that has gone does not change how the command went.
        match (ran, context.out.finish()) {
            (Ok(code), Ok(()) | Err(Failure::Closed)) => code,
            (Ok(_), Err(failure)) | (Err(failure), _) => report(asked.placed(failure), json, &hints, context.named()),
        }
    })
}

/// Prints help, or the error in the arguments.
fn refuse(error: &clap::Error, arguments: &[OsString], file: &File, json: bool) -> ExitCode {
    let is_wrong = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => false,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => json,
        _ => true,
    };
    if is_wrong {
        let commands = Cli::command();
        return report(refusal::problem(error, &commands, arguments, file).into(), json, &Hints::default(), None);
    }
    // If the reader of the help has gone, that is no failure.
    if let Err(Failure::Problem(problem)) = error.print().map_err(|error| cannot_write("to stdout", &error)) {
        return report(Failure::Problem(problem), json, &Hints::default(), None);
    }
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => ExitCode::from(Status::BadRequest.exit()),
        _ => ExitCode::SUCCESS,
    }
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
    fn every_command_is_explained_and_hides_no_flag_of_all() {
        Cli::command().debug_assert();
        let mut commands: Vec<clap::Command> = Cli::command().get_subcommands().cloned().collect();
        while let Some(command) = commands.pop() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "'{name}' is not explained");
            for argument in command.get_arguments() {
                let globals = Cli::command();
                let globals: Vec<&str> = globals.get_arguments().map(|flag| flag.get_id().as_str()).collect();
                assert!(!globals.contains(&argument.get_id().as_str()), "'{name}' hides a global flag");
                assert!(argument.get_help().is_some(), "'{name} {}' is not explained", argument.get_id());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
