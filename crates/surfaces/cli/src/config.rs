//! Where settings come from: flags, the environment, a file; and `config`, which shows it.
//!
//! A setting has one name: `page-max` in the file is the flag `--page-max` and `THREADKEEP_PAGE_MAX` in the
//! environment. A value in the file becomes the default of the flag, so it is read and refused like one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::Serialize;
use threadkeep::StoreUrl;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::embedding::EMBEDDER_KEY;
use crate::failure::{Failure, cannot_read};
use crate::out::Out;
use crate::place::{DEFAULT_FOLDER, STORE_FILE, cells_file};
use crate::refusal;
use crate::screen::{columns, screen};
use crate::settings::{JWT_SECRET, ServerSettings, Unflagged};
use crate::suggest::near;
use crate::text::{brief, visible};

/// The file that is read if it exists and no other is named.
const FILE: &str = "threadkeep.toml";
const FILE_VARIABLE: &str = "THREADKEEP_CONFIG";
const KEY_VARIABLE: &str = "THREADKEEP_KEY";
/// Flags of all commands that are settings, by their ids and names.
const GLOBAL: [(&str, &str); 4] =
    [("store", "store"), ("data_folder", "data"), ("objects", "objects"), ("server", "server")];
/// Columns for where a setting comes from, on a narrow terminal.
const SOURCE_SHOWN: usize = 11;
/// Commands that have the settings of a server.
const WITH_SETTINGS: [&str; 2] = ["serve", "config"];

/// Show every setting, its value, and where it comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep config                        all of them
  threadkeep config --page-max 200         as they would be with this flag
  threadkeep --config work.toml config

The file has lines such as  page-max = 200  and  listen = \"0.0.0.0:8473\", with the names of the flags. It is the one that
--config or THREADKEEP_CONFIG names, else ./threadkeep.toml if it is there. Flags go before the environment, and the
environment before the file. Secrets are never flags and never in the file: THREADKEEP_KEY, THREADKEEP_JWT_SECRET,
THREADKEEP_EMBEDDER_KEY.")]
pub(crate) struct Config {
    #[command(flatten)]
    pub(crate) settings: ServerSettings,
}

/// A file that does not hold settings.
fn wrong(detail: String) -> Failure {
    let problem = Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
    problem.hint("threadkeep config lists the settings; see threadkeep config -h").into()
}

/// The content of the file.
#[derive(Debug, Default)]
pub(crate) struct File {
    path: Option<PathBuf>,
    values: BTreeMap<String, String>,
}

impl File {
    /// The file that arguments or environment name, or the one in this folder.
    pub(crate) fn read(arguments: &[OsString]) -> Result<Self, Failure> {
        let named = named(arguments).or_else(|| std::env::var_os(FILE_VARIABLE).filter(|name| !name.is_empty()));
        let path = PathBuf::from(named.clone().unwrap_or_else(|| FILE.into()));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // No file, or a folder that this user cannot look into, such as the home of the person who ran sudo.
            Err(_) if named.is_none() && std::fs::metadata(&path).is_err() => return Ok(Self::default()),
            Err(error) => return Err(cannot_read(&path.display().to_string(), &error)),
        };
        let values = parse(&text).map_err(|what| wrong(format!("{}: {what}", path.display())))?;
        Ok(Self { path: Some(path), values })
    }

    /// The commands, with the values of the file as the defaults of their flags.
    pub(crate) fn apply(&self, mut command: Command) -> Result<Command, Failure> {
        let known = names(&command);
        if let Some(unknown) = self.values.keys().find(|name| !known.contains(name)) {
            let path = self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            let near = near(unknown, known.iter().map(String::as_str).collect());
            let meant = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(wrong(format!("{path}: there is no setting '{unknown}'{meant}")));
        }
        for (name, value) in &self.values {
            if let Some((id, _)) = GLOBAL.iter().find(|(_, known)| known == name) {
                command = command.mut_arg(id, |arg| arg.default_value(value.clone()));
                continue;
            }
            let id = name.replace('-', "_");
            for below in WITH_SETTINGS {
                command =
                    command.mut_subcommand(below, |below| below.mut_arg(&id, |arg| arg.default_value(value.clone())));
            }
        }
        Ok(command)
    }

    /// The settings of a server that commands without flags for them have, too. All others are read as well, so
    /// that a wrong one is refused wherever it is noticed first.
    pub(crate) fn unflagged(&self) -> Result<Unflagged, Failure> {
        let known = ServerSettings::augment_args(Command::new("threadkeep"));
        let mut command = known.clone();
        // The name of an address is looked up by the server alone.
        command = command.mut_arg("listen", |arg| arg.env(Resettable::Reset));
        let ids: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        for id in ids.iter().filter(|id| *id != "listen") {
            if let Some(value) = self.values.get(&id.replace('_', "-")) {
                command = command.mut_arg(id, |arg| arg.default_value(value.clone()));
            }
        }
        let none = [OsString::from("threadkeep")];
        let read = command.try_get_matches_from(&none);
        let settings = read
            .and_then(|matches| ServerSettings::from_arg_matches(&matches))
            .map_err(|error| refusal::problem(&error, &known, &none, self))?;
        settings.limits()?;
        let (checks, embedding) = (settings.checks().clone(), settings.embedding().clone());
        let (key_file, definitions) = (settings.key_file(), settings.definitions());
        let (sandbox, local_models) = (settings.sandbox(), settings.local_models());
        Ok(Unflagged { checks, embedding, key_file, sandbox, definitions, local_models })
    }

    /// The line of the file with the setting `name`, and which file it is.
    pub(crate) fn line(&self, name: &str) -> Option<String> {
        let (path, value) = (self.path.as_ref()?, self.values.get(name)?);
        Some(format!("{name} = {} in {}", visible(value), path.display()))
    }

    fn source(&self, matches: &ArgMatches, id: &str, name: &str) -> String {
        let file = || self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        match matches.value_source(id) {
            Some(ValueSource::CommandLine) => format!("flag --{name}"),
            Some(ValueSource::EnvVariable) => format!("environment {}", variable(name)),
            Some(_) if self.values.contains_key(name) => format!("file {}", file()),
            _ => "default".to_owned(),
        }
    }
}

/// The file that `--config` names.
fn named(arguments: &[OsString]) -> Option<OsString> {
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        if argument == "--config" {
            return arguments.next().cloned();
        }
        if let Some(name) = argument.to_str().and_then(|argument| argument.strip_prefix("--config=")) {
            return Some(name.into());
        }
    }
    None
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_owned())?;
    let plain = |(name, value): (String, toml::Value)| match value {
        toml::Value::String(text) => Ok((name, text)),
        toml::Value::Integer(number) => Ok((name, number.to_string())),
        toml::Value::Boolean(so) => Ok((name, so.to_string())),
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
            Err(format!("'{name}' is neither a text, a whole number, nor true or false"))
        }
    };
    table.into_iter().map(plain).collect()
}

/// The names of all settings, in the order of the help.
fn names(command: &Command) -> Vec<String> {
    let global = GLOBAL.iter().map(|(_, name)| (*name).to_owned());
    global.chain(of_the_server(command).into_iter().map(|(_, name)| name)).collect()
}

/// The settings of a server, by their ids and names.
fn of_the_server(command: &Command) -> Vec<(String, String)> {
    let serve = command.find_subcommand(WITH_SETTINGS[0]);
    let flags = serve.into_iter().flat_map(Command::get_arguments);
    let settings = flags.filter(|flag| flag.get_env().is_some());
    settings.filter_map(|flag| Some((flag.get_id().to_string(), flag.get_long()?.to_owned()))).collect()
}

fn variable(name: &str) -> String {
    format!("THREADKEEP_{}", name.replace('-', "_").to_ascii_uppercase())
}

/// A setting, its value, and where it comes from.
#[derive(Serialize)]
struct Shown {
    name: String,
    value: Option<String>,
    source: String,
}

impl Config {
    /// Prints all settings. `matches` has the values of flags, environment and file.
    pub(crate) fn show(
        &self,
        command: &Command,
        matches: &ArgMatches,
        file: &File,
        json: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        // Settings that would be refused in use are refused here too.
        self.settings.limits()?;
        self.settings.embedding().check()?;
        let own = matches.subcommand().map_or(matches, |(_, own)| own);
        let mut all = Vec::new();
        for (id, name) in GLOBAL {
            all.push(shown(file, own, id, name));
        }
        for (id, name) in of_the_server(command) {
            all.push(shown(file, own, &id, &name));
        }
        for name in [KEY_VARIABLE, JWT_SECRET, EMBEDDER_KEY] {
            let is_set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let source = if is_set { format!("environment {name}") } else { "default".to_owned() };
            let name = name.trim_start_matches("THREADKEEP_").to_ascii_lowercase().replace('_', "-");
            all.push(Shown { name, value: is_set.then(|| "(secret)".to_owned()), source });
        }
        if json {
            return out.json(&all);
        }
        let wide = all.iter().map(|shown| shown.name.len()).max().unwrap_or_default();
        let value = |shown: &Shown| shown.value.clone().unwrap_or_else(|| "-".to_owned());
        let value_wide = all.iter().map(|shown| value(shown).chars().count()).max().unwrap_or_default();
        // On a narrow terminal a long value is cut, and not where it comes from.
        let room = columns().saturating_sub(wide + SOURCE_SHOWN + 4).max(SOURCE_SHOWN);
        let value_wide = if screen().is_terminal { value_wide.min(room) } else { value_wide };
        for one in &all {
            let value = value(one);
            let fits = value.chars().count() <= value_wide;
            let value = if fits { value } else { brief(&value, value_wide.saturating_sub(1)) };
            out.row(format!("{:<wide$}  {value:<value_wide$}  {}", one.name, one.source))?;
        }
        Ok(())
    }
}

fn shown(file: &File, matches: &ArgMatches, id: &str, name: &str) -> Shown {
    let raw =
        matches.get_raw(id).and_then(|mut values| values.next()).map(|value| value.to_string_lossy().into_owned());
    let value = raw.filter(|value| !value.is_empty()).map(|value| match name {
        "store" => safe(&value),
        // An unknown URL may hold a key.
        "streams" => without_password(&value),
        "objects" if crate::objects::parse(&value).is_err() => "(not understood)".to_owned(),
        _ => value,
    });
    let source = file.source(matches, id, name);
    let value = value.or_else(|| match name {
        "data" => Some(DEFAULT_FOLDER.to_owned()),
        "store" => Some(format!("{STORE_FILE} in the data folder")),
        "listen" => Some("127.0.0.1:8473, or the next free port".to_owned()),
        _ => None,
    });
    Shown { name: name.to_owned(), value, source }
}

/// The address of a Redis without its password.
fn without_password(url: &str) -> String {
    let scheme = if url.starts_with("rediss:") { "rediss" } else { "redis" };
    url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, host)| format!("{scheme}://{host}"))
}

/// A store's address without its password.
fn safe(url: &str) -> String {
    match url.parse::<StoreUrl>() {
        #[cfg(feature = "postgres")]
        Ok(StoreUrl::Postgres(url)) => url.to_string(),
        Ok(StoreUrl::Sqlite(_) | StoreUrl::Memory) => url.to_owned(),
        Err(_) if cells_file(url).is_some() => url.to_owned(),
        // An unknown URL may hold a password.
        Err(_) => "(not understood)".to_owned(),
    }
}
