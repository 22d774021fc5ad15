//! The settings of a server, each as a flag, in the environment, or in the file: see `config`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use threadkeep::runtime::LocalModels;
use threadkeep::sandbox::{self, Level, Protections};
use threadkeep::{Engine, Invalid, Limits};
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_server::{Connections, JwtSettings, Settings, ValidationSettings, WebhookSettings};

use crate::duration::duration;
use crate::embedding::Embedding;
use crate::failure::Failure;

/// The secret of HS256, which is never a flag.
pub(crate) const JWT_SECRET: &str = "THREADKEEP_JWT_SECRET";

/// Sizes and times. What follows from the environment has the name of the flag, in capitals: THREADKEEP_PAGE_MAX.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct ServerSettings {
    /// The address and port to listen on; port 0 takes any that is free [default: 127.0.0.1:8473 or the next free]
    #[arg(long, value_name = "ADDR", value_parser = address, env = "THREADKEEP_LISTEN", hide_env = true)]
    pub(crate) listen: Option<SocketAddr>,
    /// Where people reach it, for links that it gives, such as https://keep.example [default: where it listens]
    #[arg(long, value_name = "URL", value_parser = url, env = "THREADKEEP_PUBLIC_URL", hide_env = true)]
    pub(crate) public_url: Option<String>,
    /// Lines about requests, on stderr
    #[arg(long, value_enum, default_value_t = LogTo::Json, env = "THREADKEEP_LOG", hide_env = true)]
    log: LogTo,
    /// Items in a page, unless the request says otherwise
    #[arg(long, value_name = "N", value_parser = count, default_value = "50", env = "THREADKEEP_PAGE", hide_env = true)]
    page: usize,
    /// Most items in a page
    #[arg(long, value_name = "N", value_parser = count, default_value = "1000", env = "THREADKEEP_PAGE_MAX", hide_env = true)]
    page_max: usize,
    /// Most messages in one batch
    #[arg(long, value_name = "N", value_parser = count, default_value = "1000", env = "THREADKEEP_BATCH_MAX", hide_env = true)]
    batch_max: usize,
    /// Most bytes of a message
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8MiB", env = "THREADKEEP_MESSAGE_BYTES_MAX",
          hide_env = true)]
    message_bytes_max: usize,
    /// Most bytes of a request's body
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "32MiB", env = "THREADKEEP_BODY_BYTES_MAX",
          hide_env = true)]
    body_bytes_max: usize,
    /// Most bytes of a file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1GiB", env = "THREADKEEP_FILE_BYTES_MAX",
          hide_env = true)]
    file_bytes_max: usize,
    /// Most bytes that a thread may write to files, every version counted
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64GiB", env = "THREADKEEP_FILES_BYTES_MAX",
          hide_env = true)]
    files_bytes_max: usize,
    /// Most messages that wait in the queue of a thread
    #[arg(long, value_name = "N", value_parser = count, default_value = "5", env = "THREADKEEP_QUEUED_MAX", hide_env = true)]
    queued_max: usize,
    /// Most connections at the same time
    #[arg(long, value_name = "N", value_parser = count, default_value = "10000", env = "THREADKEEP_CONNECTIONS_MAX",
          hide_env = true)]
    connections_max: usize,
    /// How often a stream says that it is still there
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15s", env = "THREADKEEP_HEARTBEAT",
          hide_env = true)]
    heartbeat: Duration,
    /// How long requests that are under way may go on when it is to stop
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", env = "THREADKEEP_DRAIN", hide_env = true)]
    drain: Duration,
    /// Webhooks may lead to this machine and to private networks, too
    #[arg(long, env = "THREADKEEP_WEBHOOKS_ALLOW_PRIVATE", hide_env = true)]
    webhooks_allow_private: bool,
    /// A file with the public keys (JWKS) that tokens are signed with: RS256, ES256
    #[arg(long, value_name = "FILE", env = "THREADKEEP_JWT_JWKS", hide_env = true)]
    jwt_jwks: Option<PathBuf>,
    /// A file with the secret that tokens are signed with (HS256); or the secret itself in THREADKEEP_JWT_SECRET
    #[arg(long, value_name = "FILE", env = "THREADKEEP_JWT_SECRET_FILE", hide_env = true)]
    jwt_secret_file: Option<PathBuf>,
    /// What `iss` of a token has to be
    #[arg(long, value_name = "TEXT", env = "THREADKEEP_JWT_ISSUER", hide_env = true)]
    jwt_issuer: Option<String>,
    /// What `aud` of a token has to be or contain
    #[arg(long, value_name = "TEXT", env = "THREADKEEP_JWT_AUDIENCE", hide_env = true)]
    jwt_audience: Option<String>,
    /// Whether the search index follows the log by itself; off, it is filled by threadkeep index backfill
    #[arg(long, value_enum, default_value_t = SearchIndex::On, env = "THREADKEEP_SEARCH_INDEX", hide_env = true)]
    search_index: SearchIndex,
    /// The key file of the secrets; every server of a shared store needs it [default: secrets.key in the data folder]
    #[arg(long, value_name = "FILE", env = "THREADKEEP_KEY_FILE", hide_env = true)]
    key_file: Option<PathBuf>,
    /// The folder of agents, prompts, models and tools [default: definitions in the data folder]
    #[arg(long, value_name = "DIR", env = "THREADKEEP_DEFINITIONS", hide_env = true)]
    definitions: Option<PathBuf>,
    /// The port of Ollama on this machine, whose model the agent `default` asks where no key is set; 0 looks for none
    #[arg(long, value_name = "PORT", default_value = "11434", env = "THREADKEEP_OLLAMA_PORT", hide_env = true)]
    ollama_port: u16,
    /// The port of llama.cpp on this machine, which is looked for in the same way
    #[arg(long, value_name = "PORT", default_value = "8080", env = "THREADKEEP_LLAMA_CPP_PORT", hide_env = true)]
    llama_cpp_port: u16,
    /// A Redis by which servers show each other text as it is made: redis://HOST:PORT, or rediss://… for encrypted connections (password in REDIS_PASSWORD)
    #[arg(long, value_name = "URL", env = "THREADKEEP_STREAMS", hide_env = true)]
    streams: Option<String>,
    /// How long text stays in Redis after the last of its run
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h", env = "THREADKEEP_STREAMS_TTL",
          hide_env = true)]
    streams_ttl: Duration,
    #[command(flatten)]
    embedding: Embedding,
    #[command(flatten)]
    checks: Checks,
    #[command(flatten)]
    cage: Cage,
}

/// How merges are checked. Where no server runs, commands have these settings too, from the environment and the file.
#[derive(Debug, Clone, Args)]
pub(crate) struct Checks {
    /// The shell command that checks a merge that asks for `compile`, run among the merged files
    #[arg(long, value_name = "COMMAND", env = "THREADKEEP_MERGE_COMPILE", hide_env = true)]
    merge_compile: Option<String>,
    /// The shell command that checks a merge that asks for `test`, run among the merged files
    #[arg(long, value_name = "COMMAND", env = "THREADKEEP_MERGE_TEST", hide_env = true)]
    merge_test: Option<String>,
    /// How long such a command may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m", env = "THREADKEEP_MERGE_TIMEOUT",
          hide_env = true)]
    merge_timeout: Duration,
}

impl Checks {
    pub(crate) fn settings(&self) -> ValidationSettings {
        let command = |command: &Option<String>| command.clone().filter(|command| !command.trim().is_empty());
        ValidationSettings {
            compile: command(&self.merge_compile),
            test: command(&self.merge_test),
            timeout: self.merge_timeout,
        }
    }
}

/// How code is caged.
#[derive(Debug, Clone, Args)]
struct Cage {
    /// How strong the cage of code must be: full (Landlock and seccomp), seccomp, or rlimits
    #[arg(long, value_name = "LEVEL", value_parser = |text: &str| text.parse::<Level>(), default_value = "full",
          env = "THREADKEEP_SANDBOX_LEVEL", hide_env = true)]
    sandbox_level: Level,
    /// Act as on a kernel without landlock, seccomp, or both with a comma: for tests
    #[arg(long, value_name = "WHAT", hide = true)]
    sandbox_without: Option<String>,
}

/// Who fills the search index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SearchIndex {
    /// The server does, beside requests
    On,
    /// Only threadkeep index backfill does
    Off,
}

/// Where lines about requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogTo {
    /// One line of JSON for each request, on stderr
    Json,
    /// No lines about requests
    Off,
}

impl ServerSettings {
    /// The sizes that the engine accepts.
    pub(crate) fn limits(&self) -> Result<Limits, Invalid> {
        if self.page > self.page_max {
            return Err(Invalid::parameter("page", format!("is {}, and --page-max only {}", self.page, self.page_max)));
        }
        Ok(Limits {
            page: self.page,
            page_max: self.page_max,
            batch_max: self.batch_max,
            message_bytes_max: self.message_bytes_max,
            queued_max: self.queued_max,
            file_bytes_max: self.file_bytes_max,
            files_bytes_max: self.files_bytes_max as u64,
            ..Limits::default()
        })
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            body_bytes_max: self.body_bytes_max,
            heartbeat: self.heartbeat.max(Duration::from_millis(100)),
            public_url: self.public_url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
            log: self.log == LogTo::Json,
            search_index: self.search_index == SearchIndex::On,
            validation: self.checks.settings(),
            sandbox: self.sandbox(),
            definitions: self.definitions(),
            local_models: self.local_models(),
            webhooks: WebhookSettings { allow_private: self.webhooks_allow_private, ..WebhookSettings::default() },
            ..Settings::default()
        }
    }

    /// Shows text as it is made to other servers, and that of others here.
    #[cfg(feature = "redis")]
    pub(crate) fn relay(&self, engine: &Engine) -> Result<(), Invalid> {
        if let Some(url) = self.streams.as_ref().filter(|url| !url.is_empty()) {
            engine.relay_through(threadkeep::relay::Redis::start(url.parse()?, self.streams_ttl));
        }
        Ok(())
    }

    #[cfg(not(feature = "redis"))]
    pub(crate) fn relay(&self, _: &Engine) -> Result<(), Invalid> {
        let rule = "needs a program that was built with Redis (feature `redis`)";
        self.streams.as_ref().map_or(Ok(()), |_| Err(Invalid::parameter("streams", rule)))
    }

    /// Where the vectors of the search come from.
    pub(crate) fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// The key file of the secrets, if another one than usual is named.
    pub(crate) fn key_file(&self) -> Option<PathBuf> {
        self.key_file.clone()
    }

    /// The folder of definitions, if another one than usual is named.
    pub(crate) fn definitions(&self) -> Option<PathBuf> {
        self.definitions.clone()
    }

    /// Where model servers on this machine are looked for.
    pub(crate) fn local_models(&self) -> LocalModels {
        LocalModels { ollama: self.ollama_port, llama_cpp: self.llama_cpp_port }
    }

    /// How code is caged.
    pub(crate) fn sandbox(&self) -> sandbox::Settings {
        let Cage { sandbox_level: level, sandbox_without } = &self.cage;
        let without = |what: &str| sandbox_without.iter().flat_map(|all| all.split(',')).any(|one| one.trim() == what);
        let Protections { landlock, seccomp } = Protections::of_this_kernel();
        let protections =
            Protections { landlock: landlock && !without("landlock"), seccomp: seccomp && !without("seccomp") };
        sandbox::Settings { level: *level, protections, worker: None }
    }

    /// How merges are checked.
    pub(crate) fn checks(&self) -> &Checks {
        &self.checks
    }

    pub(crate) fn connections(&self) -> Connections {
        Connections { at_once_max: self.connections_max, drain: self.drain, ..Connections::default() }
    }

    pub(crate) fn tokens(&self) -> Result<JwtSettings, Failure> {
        let from_file = self.jwt_secret_file.as_ref().map(|path| {
            std::fs::read_to_string(path).map(|secret| secret.trim_end().to_owned()).map_err(|error| {
                let detail = format!("the secret in {} cannot be read: {error}", path.display());
                Problem::new(Status::Unavailable, ErrorCode::CannotRead, detail)
            })
        });
        let from_environment = std::env::var(JWT_SECRET).ok().filter(|secret| !secret.is_empty());
        Ok(JwtSettings {
            secret: from_file.transpose()?.or(from_environment),
            jwks: self.jwt_jwks.clone(),
            issuer: self.jwt_issuer.clone(),
            audience: self.jwt_audience.clone(),
        })
    }
}

/// An address with a port, by number or by name.
fn address(text: &str) -> Result<SocketAddr, Invalid> {
    let rule =
        || Invalid::parameter("listen", format!("'{text}' is not an address with a port, such as 127.0.0.1:8473"));
    text.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(rule)
}

fn url(text: &str) -> Result<String, Invalid> {
    let host = ["http://", "https://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    if host.is_some_and(|host| !host.is_empty() && !host.contains([' ', '"', '<', '?', '#'])) {
        return Ok(text.to_owned());
    }
    Err(Invalid::parameter("public-url", format!("'{text}' is not an address such as https://keep.example")))
}

fn count(text: &str) -> Result<usize, Invalid> {
    let number = text.replace('_', "").parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Invalid::parameter("number", format!("'{text}' is not a number above 0")))
}

/// A number of bytes, with or without a unit.
pub(crate) fn size(text: &str) -> Result<usize, Invalid> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "B" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    let bytes = number.parse::<usize>().ok().zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        Invalid::parameter("size", format!("'{text}' is not a number of bytes such as 1000, 64KiB, 8MiB or 1GiB"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_and_a_unit_and_bytes_need_none() {
        for (text, bytes) in [("1", 1), ("1000", 1_000), ("64KiB", 65_536), ("8 MiB", 8 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "MiB", "-1", "1.5MiB", "8MB", "8mib", "99999999999999999999", "99999999999GiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}

/// Settings from the environment and the file, for commands without flags for them.
#[derive(Debug)]
pub(crate) struct Unflagged {
    /// How merges are checked.
    pub(crate) checks: Checks,
    /// Where vectors come from.
    pub(crate) embedding: Embedding,
    /// The key file of the secrets, if another one than usual is named.
    pub(crate) key_file: Option<PathBuf>,
    /// How code is caged.
    pub(crate) sandbox: threadkeep::sandbox::Settings,
    /// The folder of definitions, if another one than usual is named.
    pub(crate) definitions: Option<PathBuf>,
    /// Where model servers on this machine are looked for.
    pub(crate) local_models: LocalModels,
}
