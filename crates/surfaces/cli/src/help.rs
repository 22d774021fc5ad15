//! The help at the top: the commands in groups, one line each. `-h` fits one screen; `--help` adds the options
//! of every command, and examples.

use std::ffi::OsString;

use clap::Command;

use crate::examples::{with_examples, wrapped};
use crate::screen::columns;

/// The commands that people and agents use daily, by group, each with a line that fits. All others are named below.
const GROUPS: [(&str, &[(&str, &str)]); 5] = [
    (
        "Daily",
        &[
            ("new", "Make a thread"),
            ("ls", "List threads, the newest change first"),
            ("show", "Read a conversation"),
            ("say", "Add a message, or lines from stdin"),
            ("tail", "Follow a thread, or the whole store"),
            ("search", "Find conversations by words and meaning"),
            ("thread", "Change, archive, link or delete a thread"),
        ],
    ),
    (
        "Branch and merge",
        &[
            ("fork", "Go another way from any message"),
            ("tree", "Draw a thread's forks and relations"),
            ("rollback", "Go back to an earlier version, or undo that"),
            ("merge", "Merge files, values and decisions of threads"),
        ],
    ),
    (
        "Work of agents",
        &[
            ("ask", "Ask the agent of a thread, print its answer"),
            ("chat", "Talk with an agent in the terminal"),
            ("run", "Start, list, show and stop runs of agents"),
            ("approvals", "Ask for authority, approve, deny, delegate"),
        ],
    ),
    ("Files and values", &[("files", "Read, write, search and compare files"), ("kv", "Keep JSON values under keys")]),
    (
        "Server and upkeep",
        &[("serve", "Serve threads over HTTP, with a web page"), ("store", "Check, back up, copy, export, import")],
    ),
];

/// Most columns of a help: longer lines are hard to read.
const COLUMNS_MAX: usize = 100;
/// Columns from which the name of a group stands beside its first command.
const WIDE: usize = 76;

const MORE: &str = "\
More: agents, call, code, completions, config, context,
demo, env, effects, export, import, index, keys, lock, man,
mcp, memory, messages, open, projects, queue, subagents,
tools. One: COMMAND -h. All: --help.";

const LONG: &str = "\
Examples:
  threadkeep new \"My first thread\"         make a thread, and a store if there is none
  threadkeep say 4e36 \"Hello!\"             add a message; 4e36 is the beginning of the thread's short id
  threadkeep show 4e36                     read the conversation
  threadkeep search \"signing keys\"         find conversations by what they say
  threadkeep fork 4e36 --message-index 0   go another way after the first message
  threadkeep tail 4e36                     follow what happens, also in other processes
  threadkeep serve                         serve threads over HTTP, with streams

Which threads: with --server URL, the threads of that server, with the key in THREADKEEP_KEY. Else the threads of the
server that runs on the data folder, if one does. Else the store is opened here, as always with --store. Several commands
and a server can use one store at once.

Exit codes: 0 done, 1 something is broken, 2 wrong input, 3 not found, 4 not allowed, 5 conflict, 6 the server or the
store cannot do it now.";

/// The same commands, with the help at the top in groups; with `--help` in the arguments, the long one.
pub(crate) fn grouped(commands: Command, arguments: &[OsString]) -> Command {
    let is_long = arguments.iter().any(|argument| argument == "--help" || argument == "help");
    let groups = groups(columns());
    // Without a verb, a noun shows its help.
    let is_alone =
        arguments.iter().skip(1).filter(|argument| !argument.as_encoded_bytes().starts_with(b"-")).count() == 1;
    let is_help = is_long || is_alone || arguments.iter().any(|argument| argument == "-h");
    let columns = columns().min(COLUMNS_MAX);
    let commands = if is_help { with_examples(commands, columns) } else { commands };
    let usage = "{about}\n{usage-heading} threadkeep COMMAND [OPTIONS]";
    commands.after_help(wrapped(LONG, columns)).max_term_width(COLUMNS_MAX).help_template(match is_long {
        true => format!("{usage}\n\n{groups}{MORE}\n\nOptions of every command:\n{{options}}{{after-help}}"),
        false => format!("{usage}\n\n{groups}{MORE}"),
    })
}

/// A line for each command, under the name of its group or, where there is room, beside it.
fn groups(width: usize) -> String {
    let column = GROUPS.iter().map(|(group, _)| group.len()).max().unwrap_or_default();
    let mut lines = String::new();
    for (group, commands) in GROUPS {
        if width < WIDE {
            lines.push_str(&format!("{group}\n"));
        }
        for (at, (name, does)) in commands.iter().enumerate() {
            let before = match (width < WIDE, at) {
                (true, _) => String::new(),
                (false, 0) => format!("{group:<column$}"),
                (false, _) => " ".repeat(column),
            };
            lines.push_str(&format!("{before}  {name:<9}  {does}\n"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn the_groups_and_the_line_below_name_every_command_and_fit() {
        let commands = Cli::command();
        let named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().map(|(name, _)| *name)).collect();
        assert!(named.len() <= 20, "{named:?}");
        for name in &named {
            assert!(commands.find_subcommand(name).is_some_and(|command| !command.is_hide_set()), "{name}");
        }
        let below = |name: &str| MORE.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
        for command in commands.get_subcommands() {
            let name = command.get_name();
            // The older form of two verbs of `approvals`, and what shells ask.
            let is_told = named.contains(&name) || below(name) || ["transfer", "complete"].contains(&name);
            assert!(is_told, "{name} is not in the help");
        }
        for (width, lines_max) in [(60, 27), (76, 22)] {
            let text = groups(width) + MORE;
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.lines().count() <= lines_max + 1, "{}", text.lines().count());
        }
    }
}
