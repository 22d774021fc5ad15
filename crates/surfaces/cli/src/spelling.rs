//! Older spellings of commands: `begin` means `run start`, `set-value` means `kv set`. They go on working and are
//! shown nowhere. The help and the errors that they print name the command as it is spelled now.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

use crate::import::is_source;

/// The flags of every command that take a value.
const WITH_VALUE: [&str; 7] = ["--store", "--objects", "--data", "--server", "--config", "--actor", "--color"];

/// The older names of each noun's verbs: `OLD=NEW`, or one name if the verb kept it.
const OLDER: [(&str, &str); 9] = [
    ("run", "begin=start step end model-messages=messages inject injections ack"),
    ("queue", "edit-queued=edit remove-queued=remove"),
    ("approvals", "approve deny revoke delegate delegations"),
    ("subagents", "subagent=start children=list parent notify-parent=notify status"),
    (
        "files",
        "write-file=write read-file=read delete-file=rm move-file=move mkdir rmdir find grep file-versions=versions \
         file-diff=diff thumbnail",
    ),
    ("kv", "set-value=set get-value=get values=list delete-value=rm"),
    ("messages", "edit insert delete-message=rm append-event=event"),
    (
        "thread",
        "update archive unarchive delete=rm rm change-owner=owner done suspend resume lifecycle terminate assign skill \
         history events emit watch checkpoint checkpoints truncate redo spawn handoff summary mention relationships \
         reference references read-reference observe observers unobserve merges decide decisions",
    ),
    ("store", "doctor backup restore copy gc health sign-in"),
];

/// The same arguments, with the command as it is spelled now. `commands` are the commands that there are.
pub(crate) fn modern(commands: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = word(&arguments, 1) else { return arguments };
    let name = arguments[at].to_string_lossy().into_owned();
    if ["ask", "chat"].contains(&name.as_str()) {
        name_agent(&mut arguments[at + 1..]);
    }
    if name == "help" {
        arguments.remove(at);
        arguments.push("--help".into());
        return modern(commands, arguments);
    }
    let now = match name.as_str() {
        "files" | "approvals" | "queue" => {
            let next = word(&arguments, at + 1);
            let verb = next.and_then(|next| arguments[next].to_str()).unwrap_or_default();
            let noun = commands.find_subcommand(&name);
            let is_now = noun.is_some_and(|noun| noun.find_subcommand(verb).is_some()) || verb == "help";
            match (name.as_str(), next) {
                _ if is_now || arguments.iter().any(|argument| argument == "-h" || argument == "--help") => None,
                // A word that has not the shape of an id is a verb that does not exist.
                (_, Some(next)) if next == at + 1 && !has_shape_of_id(verb) => None,
                ("approvals", _) | ("files", Some(_)) => Some((name, "list".to_owned())),
                // Without a message, it listed the queue.
                ("queue", Some(thread)) => {
                    let has_more = arguments[thread + 1..].iter().any(|argument| argument != "--json");
                    Some((name, if has_more { "add" } else { "list" }.to_owned()))
                }
                _ => None,
            }
        }
        "writer" => {
            let flags = ["--take", "--renew", "--release"];
            let flag = arguments.iter().position(|argument| flags.iter().any(|flag| argument == flag));
            let verb = flag.map(|flag| arguments.remove(flag).to_string_lossy()[2..].to_owned());
            Some(("lock".to_owned(), verb.unwrap_or_else(|| "show".to_owned())))
        }
        // An export of our own is a file, and an agent is a name.
        "import" | "export" => {
            let is_help = arguments[at..].iter().any(|argument| argument == "-h" || argument == "--help");
            let next = arguments.get(at + 1).and_then(|next| next.to_str()).unwrap_or_default();
            let is_ours = match name.as_str() {
                "import" if next.starts_with('-') => next == "-" || word(&arguments, at + 1).is_some(),
                "import" => !is_source(next) && (next.contains(['.', '/']) || Path::new(next).exists()),
                _ => format_of(&arguments[at..]).is_none_or(|format| ["threadkeep", "amp"].contains(&format)),
            };
            (is_ours && !is_help).then(|| ("store".to_owned(), name))
        }
        older => of_today(older).map(|(noun, verb)| (noun.to_owned(), verb.to_owned())),
    };
    if let Some((noun, verb)) = now {
        arguments.splice(at..=at, [noun.into(), verb.into()]);
    }
    arguments
}

/// The value of `--format`.
fn format_of(arguments: &[OsString]) -> Option<&str> {
    let at = arguments.iter().position(|argument| argument.as_encoded_bytes().starts_with(b"--format"))?;
    match arguments[at].to_str()?.split_once('=') {
        Some((_, format)) => Some(format),
        None => arguments.get(at + 1)?.to_str(),
    }
}

/// Makes `--agent NAME` mean `--agent-id NAME`, for commands that talk with an agent. Before the command, and without a
/// name, it is the flag of every command.
fn name_agent(arguments: &mut [OsString]) {
    for at in 0..arguments.len().saturating_sub(1) {
        let is_name = !arguments[at + 1].as_encoded_bytes().starts_with(b"-");
        if arguments[at] == "--agent" && is_name {
            arguments[at] = "--agent-id".into();
        }
    }
}

/// Whether `word` has the shape of an id, or is `@last`.
pub(crate) fn has_shape_of_id(word: &str) -> bool {
    let digits = word.strip_prefix("T-").or(word.strip_prefix("t-")).unwrap_or(word);
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    word.starts_with('@') || (is_hex && digits.len() >= 4)
}

/// The noun and the verb that an older name means.
pub(crate) fn of_today(older: &str) -> Option<(&'static str, &'static str)> {
    OLDER.iter().find_map(|(noun, verbs)| {
        let mut verbs = verbs.split_whitespace().map(|verb| verb.split_once('=').unwrap_or((verb, verb)));
        verbs.find(|(old, _)| *old == older).map(|(_, now)| (*noun, now))
    })
}

/// Where the first argument at or after `from` is that is no flag, nor the value of a flag that every command has.
pub(crate) fn word(arguments: &[OsString], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(argument) = arguments.get(at) {
        if argument == "--" {
            return None;
        }
        if WITH_VALUE.iter().any(|flag| argument == flag) {
            at += 2;
        } else if argument.as_encoded_bytes().starts_with(b"-") {
            at += 1;
        } else {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn now(line: &str) -> String {
        let arguments = line.split(' ').map(OsString::from).collect();
        let words = modern(&Cli::command(), arguments).into_iter();
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_flag_of_all_commands_that_takes_a_value_is_known() {
        for flag in Cli::command().get_arguments().filter(|flag| flag.is_global_set()) {
            let name = format!("--{}", flag.get_long().expect("a name"));
            assert_eq!(WITH_VALUE.contains(&name.as_str()), flag.get_action().takes_values(), "{name}");
        }
    }

    #[test]
    fn every_older_name_means_a_command_that_is_there_and_hides_none() {
        let commands = Cli::command();
        for (noun, verbs) in OLDER {
            let noun = commands.find_subcommand(noun).expect(noun);
            for (old, now) in verbs.split_whitespace().map(|verb| verb.split_once('=').unwrap_or((verb, verb))) {
                assert!(noun.find_subcommand(now).is_some(), "{} {now}", noun.get_name());
                assert!(commands.find_subcommand(old).is_none(), "'{old}' is a command of its own");
            }
        }
    }

    #[test]
    fn older_spellings_are_turned_into_those_of_today() {
        for (old, expected) in [
            ("threadkeep --store a.db begin 4e36", "threadkeep --store a.db run start 4e36"),
            ("threadkeep --json set-value 4e36 a 1", "threadkeep --json kv set 4e36 a 1"),
            ("threadkeep files 4e36 --recursive", "threadkeep files list 4e36 --recursive"),
            ("threadkeep files --json list 4e36", "threadkeep files --json list 4e36"),
            ("threadkeep approvals", "threadkeep approvals list"),
            ("threadkeep approvals --state all", "threadkeep approvals list --state all"),
            ("threadkeep approvals --help", "threadkeep approvals --help"),
            ("threadkeep queue 4e36", "threadkeep queue list 4e36"),
            ("threadkeep queue 4e36 hello", "threadkeep queue add 4e36 hello"),
            ("threadkeep queue add 4e36 hello", "threadkeep queue add 4e36 hello"),
            ("threadkeep queue ad 4e36", "threadkeep queue ad 4e36"),
            ("threadkeep files read-all 4e36", "threadkeep files read-all 4e36"),
            ("threadkeep approvals aprove 4e36", "threadkeep approvals aprove 4e36"),
            ("threadkeep writer 4e36", "threadkeep lock show 4e36"),
            ("threadkeep writer 4e36 --take --ttl 5m", "threadkeep lock take 4e36 --ttl 5m"),
            ("threadkeep say 4e36 begin", "threadkeep say 4e36 begin"),
            ("threadkeep chat --agent helper", "threadkeep chat --agent-id helper"),
            ("threadkeep --agent ask 4e36 hello", "threadkeep --agent ask 4e36 hello"),
            ("threadkeep ask 4e36 hello --agent --actor bot", "threadkeep ask 4e36 hello --agent --actor bot"),
            ("threadkeep import all.jsonl", "threadkeep store import all.jsonl"),
            ("threadkeep import --format amp -", "threadkeep store import --format amp -"),
            ("threadkeep import codex", "threadkeep import codex"),
            ("threadkeep import auto --yes", "threadkeep import auto --yes"),
            ("threadkeep export 4e36", "threadkeep store export 4e36"),
            ("threadkeep export -o a.jsonl", "threadkeep store export -o a.jsonl"),
            ("threadkeep export 4e36 --format markdown", "threadkeep export 4e36 --format markdown"),
            ("threadkeep export --help", "threadkeep export --help"),
            ("threadkeep export markdown --format amp", "threadkeep store export markdown --format amp"),
            ("threadkeep export 4e36 --format=html", "threadkeep export 4e36 --format=html"),
            ("threadkeep import claude", "threadkeep import claude"),
            ("threadkeep frobnicate", "threadkeep frobnicate"),
            ("threadkeep help", "threadkeep --help"),
            ("threadkeep help begin", "threadkeep run start --help"),
            ("threadkeep help run frob", "threadkeep run frob --help"),
            ("threadkeep", "threadkeep"),
        ] {
            assert_eq!(now(old), expected);
        }
    }
}
