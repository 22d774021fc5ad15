//! Arguments that are wrong: which one, of which command or from which setting, and what works instead.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use threadkeep::Invalid;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::config::File;
use crate::failure::Failure;
use crate::spelling;
use crate::suggest::{near, near_commands, near_flags, offer};
use crate::text::{TYPED_SHOWN_MAX, brief, visible};

/// Names of values that are whole numbers.
const NUMBERS: [&str; 3] = ["N", "TOKENS", "VERSION"];

/// The problem that `error` tells of. `commands` are the commands that there are.
pub(crate) fn problem(error: &Error, commands: &Command, arguments: &[OsString], file: &File) -> Problem {
    let asked = Asked::of(commands, arguments);
    let path = &asked.path;
    let all_options = format!("{path} -h");
    let refused = |detail: String| Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
    let wrong = text(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::UnknownArgument if wrong.len() > 1 && wrong[1..].bytes().all(|byte| byte.is_ascii_digit()) => {
            let flag = asked.flag_before(&wrong);
            let is_number = flag.is_some_and(|flag| {
                flag.get_value_names().is_some_and(|names| names.iter().any(|name| NUMBERS.contains(&name.as_str())))
            });
            let name = flag.and_then(Arg::get_long).map(|name| format!("--{name}"));
            let hint = match &name {
                Some(name) if is_number => format!("{name} {}; see {all_options}", &wrong[1..]),
                _ => all_options,
            };
            let rule = if is_number { "is a negative number" } else { "begins with a dash" };
            refused(format!("{}: '{wrong}' {rule}", name.as_deref().unwrap_or(path))).hint(hint)
        }
        ErrorKind::UnknownArgument if wrong.starts_with('-') => {
            let near = near_flags(wrong.trim_start_matches('-'), asked.flags(commands));
            let hint = offer(near.iter().map(|flag| format!("--{flag}")), &all_options);
            refused(format!("{path} has no option '{}'", cut(&wrong))).hint(hint)
        }
        ErrorKind::UnknownArgument => {
            // A flag whose value is optional has it after a `=`.
            let before = asked.flag_before(&wrong).filter(|flag| flag.is_require_equals_set());
            let hint = match before {
                Some(flag) => format!("{}; see {all_options}", plain(&flag.to_string())),
                None => all_options,
            };
            refused(format!("{path} takes no further argument: '{}'", cut(&wrong))).hint(hint)
        }
        ErrorKind::TooManyValues => {
            let (flag, value) = (plain(&wrong), text(error, ContextKind::InvalidValue));
            refused(format!("{path} takes {flag} without a value: '{}'", cut(&value)))
                .hint(format!("{flag}; see {all_options}"))
        }
        ErrorKind::InvalidUtf8 => {
            let odd = arguments.iter().find(|argument| argument.to_str().is_none());
            let odd = odd.map(|odd| odd.to_string_lossy().into_owned()).unwrap_or_default();
            refused(format!("{path}: '{}' is not UTF-8 text", cut(&odd))).hint(all_options)
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand);
            let has_list = path != "threadkeep" && asked.command.find_subcommand("list").is_some();
            let near = match spelling::has_shape_of_id(&name) {
                true if has_list => vec![format!("{path} list {name}")],
                true => vec![format!("threadkeep show {name}")],
                false => near_commands(commands, asked.command, path, &name),
            };
            let offered = offer(near.into_iter(), &all_options);
            refused(format!("{path} has no command '{}'", cut(&name))).hint(offered)
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let verbs = asked.command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
            let verbs: Vec<&str> = verbs.filter(|verb| *verb != "help").collect();
            refused(format!("{path} needs a command: {}", verbs.join(", "))).hint(all_options)
        }
        ErrorKind::MissingRequiredArgument => {
            let mut missing: Vec<String> =
                texts(error, ContextKind::InvalidArg).iter().map(|name| plain(name)).collect();
            missing.sort_by_key(|name| name.starts_with('-'));
            let missing: Vec<String> = missing.iter().map(|name| one_of(name)).collect();
            let hint = match &missing[..] {
                [thread] if thread == "THREAD" => format!("{path} @last; threadkeep ls lists threads"),
                _ => all_options,
            };
            refused(format!("{path} needs {}", missing.join(" and "))).hint(hint)
        }
        ErrorKind::ArgumentConflict => {
            let others: Vec<String> = texts(error, ContextKind::PriorArg).iter().map(|name| plain(name)).collect();
            let wrong = plain(&wrong);
            let detail = match &others[..] {
                [other] if *other == wrong => format!("{path} takes {wrong} once"),
                others => format!("{path} takes {wrong} or {}, not both", others.join(" ")),
            };
            refused(detail).hint(all_options)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => of_value(error, &asked, arguments, file),
        _ => refused(format!("{path}: {}", sentence(error))).hint(all_options),
    }
}

/// The command that was asked for.
pub(crate) struct Asked<'a> {
    command: &'a Command,
    /// As it is typed: `threadkeep run start`.
    pub(crate) path: String,
    typed: Vec<String>,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(commands: &'a Command, arguments: &[OsString]) -> Self {
        let (mut command, mut path, mut at) = (commands, "threadkeep".to_owned(), 1);
        while let Some(next) = spelling::word(arguments, at) {
            let Some(below) = command.find_subcommand(&arguments[next]) else { break };
            path = format!("{path} {}", below.get_name());
            (command, at) = (below, next + 1);
        }
        let typed = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
        Self { command, path, typed }
    }

    /// The flags that it takes.
    fn flags(&self, commands: &'a Command) -> Vec<&'a str> {
        let of_all = commands.get_arguments().filter(|flag| flag.is_global_set());
        let shown = self.command.get_arguments().chain(of_all).filter(|flag| !flag.is_hide_set());
        shown.filter_map(Arg::get_long).collect()
    }

    /// The same failure; a field that is an argument of this command is named like it, or like its variable if the
    /// value comes from the environment.
    pub(crate) fn placed(&self, failure: Failure) -> Failure {
        let Failure::Problem(mut problem) = failure else { return failure };
        let field = problem.field.as_deref().unwrap_or_default();
        let Some(rule) = problem.detail.strip_prefix(&format!("{field}: ")) else { return Failure::Problem(problem) };
        let last = field.rsplit('.').next().unwrap_or_default();
        let is_same = |name: &str| {
            let name = name.replace(['-', '_'], "");
            let same = |field: &str| name.eq_ignore_ascii_case(&field.replace('-', ""));
            same(last) || last.strip_suffix("Id").is_some_and(same)
        };
        // An argument has the name of its field on the wire, or the name that is typed, or both.
        let means = |argument: &&Arg| is_same(argument.get_id().as_str()) || argument.get_long().is_some_and(is_same);
        let of_all = ["server", "store", "objects", "config", "actor"].into_iter().find(|name| is_same(name));
        let own = self.command.get_opts().find(means).and_then(Arg::get_long);
        let flag = own.or(of_all);
        let mut names = self.command.get_positionals().filter_map(|argument| {
            let name = argument.get_value_names()?.first()?.as_str();
            (is_same(name) || is_same(argument.get_id().as_str())).then_some(name)
        });
        let named = names.next();
        if let Some(flag) = flag {
            let variable = format!("THREADKEEP_{}", flag.to_ascii_uppercase());
            let is_typed = self.typed.iter().any(|typed| typed.split('=').next() == Some(&format!("--{flag}")));
            // Without the value, which may hold a password.
            let is_set = std::env::var_os(&variable).is_some_and(|value| !value.is_empty());
            let is_variable = is_set && !is_typed && ["server", "store", "objects"].contains(&flag);
            let place = if is_variable { variable } else { format!("--{flag}") };
            problem.detail = format!("{place}: {rule}").into();
        } else if let Some(name) = named {
            problem.detail = format!("{name}: {rule}").into();
        }
        Failure::Problem(problem)
    }

    /// The flag that was typed right before `word`.
    fn flag_before(&self, word: &str) -> Option<&'a Arg> {
        let at = self.typed.iter().position(|typed| typed == word)?;
        self.argument(self.typed.get(at.checked_sub(1)?)?)
    }

    fn argument(&self, shown: &str) -> Option<&'a Arg> {
        let name = plain(shown);
        let name = name.split([' ', '=', '[']).next().unwrap_or_default();
        let of_all = self.command.get_arguments();
        of_all.into_iter().find(|argument| match (name.strip_prefix("--"), argument.get_long()) {
            (Some(name), Some(long)) => name == long,
            (None, None) => argument.get_value_names().is_some_and(|names| names.iter().any(|known| known == name)),
            _ => false,
        })
    }
}

/// A value that is wrong, with where it comes from and what would do.
fn of_value(error: &Error, asked: &Asked<'_>, arguments: &[OsString], file: &File) -> Problem {
    let (shown, value) = (text(error, ContextKind::InvalidArg), text(error, ContextKind::InvalidValue));
    let name = plain(&shown).split(['=', ' ']).next().unwrap_or_default().to_owned();
    let place = place(asked, &shown, &name, arguments, file);
    let hint = match (&place, asked.argument(&shown)) {
        (Some(place), Some(argument)) => setting_that_works(place, argument),
        _ => format!("{} -h", asked.path),
    };
    let invalid = error.source().and_then(|source| source.downcast_ref::<Invalid>());
    if let Some(invalid) = invalid {
        let mut problem = Problem::from(invalid.clone());
        problem.detail = format!("{}: {}", place.as_deref().unwrap_or(&name), invalid.rule).into();
        return problem.hint(hint);
    }
    let refused = |detail: String| Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
    let subject = place.unwrap_or_else(|| format!("{name} of {}", asked.path));
    let valid = texts(error, ContextKind::ValidValue);
    let value = cut(&value);
    match (&valid[..], error.source()) {
        ([], _) if value.is_empty() => refused(format!("{subject} needs a value: {}", plain(&shown))).hint(hint),
        ([], Some(source)) if source.is::<std::num::ParseIntError>() => {
            let is_digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let rule = if is_digits { "is too large" } else { "is not a whole number from 0" };
            refused(format!("{subject}: '{value}' {rule}")).hint(hint)
        }
        ([], Some(source)) => refused(format!("{subject}: '{value}' does not fit: {source}")).hint(hint),
        ([], None) => refused(format!("{subject}: '{value}' does not fit")).hint(hint),
        (valid, _) => {
            let first = near(&value, valid.iter().map(String::as_str).collect()).first().copied().unwrap_or(&valid[0]);
            let choice = valid.join(", ");
            let said =
                if value.is_empty() { "needs a value".to_owned() } else { format!("'{value}' is none of its values") };
            let value = match subject.split_once('=').filter(|(variable, _)| variable.starts_with("THREADKEEP_")) {
                Some((variable, _)) => format!("{variable}={first}"),
                None if name.starts_with('-') => format!("{name} {first}"),
                None => (*first).to_owned(),
            };
            refused(format!("{subject}: {said}: {choice}")).hint(format!("{value}; see {hint}"))
        }
    }
}

/// A hint with the default of a setting, if it has one, spelled for its variable or for the file.
fn setting_that_works(place: &str, argument: &Arg) -> String {
    const ALL: &str = "threadkeep config -h";
    let (Some(name), [default]) = (argument.get_long(), argument.get_default_values()) else { return ALL.to_owned() };
    let default = default.to_string_lossy();
    match place.split_once('=').filter(|(variable, _)| variable.starts_with("THREADKEEP_")) {
        Some((variable, _)) => format!("{variable}={default}; see {ALL}"),
        None if default.bytes().all(|byte| byte.is_ascii_digit()) => format!("{name} = {default}; see {ALL}"),
        None => format!("{name} = \"{default}\"; see {ALL}"),
    }
}

/// The setting, if the value of `name` is one from the environment or from the file.
fn place(asked: &Asked<'_>, shown: &str, name: &str, arguments: &[OsString], file: &File) -> Option<String> {
    let is_flag = |argument: &OsString| {
        let argument = argument.to_string_lossy();
        argument == name || argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    };
    if arguments.iter().any(is_flag) {
        return None;
    }
    let argument = asked.argument(shown)?;
    if let Some(variable) = argument.get_env()
        && let Some(value) = std::env::var_os(variable)
    {
        let (variable, value) = (variable.to_string_lossy(), value.to_string_lossy().into_owned());
        return Some(format!("{variable}={}", visible(&value)));
    }
    file.line(argument.get_long()?)
}

/// `--from-index N|--from-message-id MESSAGE` as `one of --from-index N, --from-message-id MESSAGE`.
fn one_of(name: &str) -> String {
    if name.contains('|') { format!("one of {}", name.replace('|', ", ")) } else { name.to_owned() }
}

/// What somebody typed, on one line and not too long.
pub(crate) fn cut(typed: &str) -> String {
    brief(typed, TYPED_SHOWN_MAX)
}

/// `<THREAD>...` as `THREAD`, and `--archived[=<WHEN>]` as `--archived=WHEN`.
fn plain(shown: &str) -> String {
    shown.trim_end_matches("...").replace(['<', '>', '[', ']'], "")
}

/// The first paragraphs of what clap says, in one line.
fn sentence(error: &Error) -> String {
    let shown = error.render().to_string();
    let said = shown.trim_start_matches("error: ").split("\n\nUsage:").next().unwrap_or_default();
    let said = said.split("\n\nFor more information").next().unwrap_or_default();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn text(error: &Error, kind: ContextKind) -> String {
    texts(error, kind).join(" ")
}
