//! What may be meant by a command or a flag that does not exist.

use clap::Command;

use crate::spelling;

/// Flags or commands that are offered in place of one that does not exist.
const OFFERED_MAX: usize = 3;
/// Fewest letters of which a longer name is taken to be meant.
const PREFIX_MIN: usize = 2;

/// Words of git, gh, shells and agents, with the commands that do the same here.
const WORDS: [(&str, &[&str]); 28] = [
    ("add commit post send", &["say"]),
    ("auth login", &["store sign-in", "keys create"]),
    ("branch", &["fork", "tree"]),
    ("cat view", &["show"]),
    ("checkout switch", &["fork", "rollback"]),
    ("clone", &["fork", "store copy"]),
    ("continue", &["chat"]),
    ("follow", &["tail"]),
    ("get", &["show", "kv get"]),
    ("read", &["show", "files read"]),
    ("write", &["say", "files write"]),
    ("forget", &["memory rm"]),
    ("init", &["new"]),
    ("log", &["thread history", "show"]),
    ("pull push sync", &["store copy", "store export"]),
    ("ps", &["run list"]),
    ("remember", &["memory add"]),
    ("rename", &["thread update"]),
    ("reset revert undo", &["rollback"]),
    ("server up web", &["serve"]),
    ("settings", &["config"]),
    ("version", &["--version"]),
    ("messages/add messages/new messages/create", &["say"]),
    ("messages/list messages/ls messages/show messages/read", &["show"]),
    ("thread/list thread/ls", &["ls"]),
    ("thread/rename", &["thread update"]),
    ("thread/create thread/new thread/add", &["new"]),
    ("thread/fork thread/merge thread/rollback thread/search thread/show thread/tail thread/tree", &[]),
];

/// Verbs that mean the same.
const SAME: [&[&str]; 8] = [
    &["rm", "remove", "delete", "del", "revoke", "forget", "unset", "drop"],
    &["add", "create", "new", "make"],
    &["list", "ls", "show", "status"],
    &["read", "get", "cat", "show"],
    &["write", "set", "put"],
    &["update", "rename", "edit", "change"],
    &["start", "begin", "run", "invoke"],
    &["end", "stop", "kill", "cancel", "terminate"],
];

/// Flags that mean the same elsewhere, with those that are meant here.
const FLAGS: [(&str, &[&str]); 8] = [
    ("address bind host port", &["listen"]),
    ("f force y", &["yes"]),
    ("count max n number", &["limit", "last"]),
    ("file out", &["output"]),
    ("from since", &["after", "created-after", "updated-after"]),
    ("m", &["message"]),
    ("name", &["title"]),
    ("to until", &["before", "created-before", "updated-before"]),
];

/// A hint with what may be meant, and the command that lists all.
pub(crate) fn offer(near: impl Iterator<Item = String>, all: &str) -> String {
    let near: Vec<String> = near.take(OFFERED_MAX).collect();
    if near.is_empty() { all.to_owned() } else { format!("{}; see {all}", near.join(" or ")) }
}

/// Those of `names` that `typed` may mean: it is the beginning of them, or differs in a letter or two.
pub(crate) fn near<'a>(typed: &str, names: Vec<&'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    // A short name with two other letters is another name.
    let mistakes_max = 1 + typed.chars().count() / 6;
    let mut near: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let mistakes = strsim::damerau_levenshtein(&typed, name);
        let is_beginning = typed.len() >= PREFIX_MIN && name.starts_with(&typed);
        if is_beginning || (mistakes <= mistakes_max && mistakes < name.chars().count().min(typed.chars().count())) {
            near.push((if is_beginning { 0 } else { mistakes }, name));
        }
    }
    near.sort();
    near.dedup();
    near.into_iter().map(|(_, name)| name).collect()
}

/// The flags among `flags` that `typed` may mean.
pub(crate) fn near_flags<'a>(typed: &str, flags: Vec<&'a str>) -> Vec<&'a str> {
    let typed = typed.split('=').next().unwrap_or_default();
    let found = near(typed, flags.clone());
    if !found.is_empty() {
        return found;
    }
    let meant = FLAGS.iter().filter(|(words, _)| words.split(' ').any(|word| word == typed));
    meant.flat_map(|(_, flags)| flags.iter().copied()).filter(|flag| flags.contains(flag)).collect()
}

/// Commands that `name` may mean, whole: those below `here`; at the top also verbs of any noun.
pub(crate) fn near_commands(commands: &Command, here: &Command, path: &str, name: &str) -> Vec<String> {
    let is_top = path == "threadkeep";
    let word = if is_top { name.to_owned() } else { format!("{}/{name}", here.get_name()) };
    if let Some((_, meant)) = WORDS.iter().find(|(words, _)| words.split(' ').any(|known| known == word)) {
        let meant = if meant.is_empty() { &[name][..] } else { meant };
        return meant.iter().map(|meant| format!("threadkeep {meant}")).collect();
    }
    let below = |command: &'_ Command| command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let names: Vec<String> = below(here);
    let mut found: Vec<String> =
        near(name, names.iter().map(String::as_str).collect()).iter().map(|near| format!("{path} {near}")).collect();
    if is_top && found.is_empty() {
        for noun in commands.get_subcommands() {
            let verbs: Vec<String> = below(noun);
            let verbs = near(name, verbs.iter().map(String::as_str).collect());
            let verbs = verbs.iter().filter(|verb| **verb != "help");
            found.extend(verbs.map(|verb| format!("threadkeep {} {verb}", noun.get_name())));
        }
    } else if !is_top {
        let same = SAME.iter().filter(|words| words.contains(&name)).flat_map(|words| words.iter());
        found.extend(same.filter(|word| names.iter().any(|known| known == *word)).map(|word| format!("{path} {word}")));
    }
    let older = spelling::of_today(name).filter(|(noun, _)| is_top || here.get_name() == *noun);
    found.extend(older.map(|(noun, verb)| format!("threadkeep {noun} {verb}")));
    let mut seen = Vec::new();
    found.retain(|command| {
        !seen.contains(command) && {
            seen.push(command.clone());
            true
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_beginning_or_a_slip_of_the_hand_is_offered_and_nothing_else() {
        let names = vec!["data", "at-version", "message-index", "store", "json"];
        for (typed, expected) in [
            ("at", &["at-version"][..]),
            ("stor", &["store"]),
            ("josn", &["json"]),
            ("dta", &["data"]),
            ("x", &[]),
            ("scope", &[]),
        ] {
            assert_eq!(near(typed, names.clone()), expected, "{typed}");
        }
    }

    #[test]
    fn every_word_of_another_program_means_a_command_that_is_there() {
        let commands = Cli::command();
        for (words, meant) in WORDS {
            for word in words.split(' ') {
                let is_top = !word.contains('/');
                assert!(!is_top || commands.find_subcommand(word).is_none(), "{word} is a command");
                assert!(!is_top || spelling::of_today(word).is_none(), "{word} is an older command");
            }
            for meant in meant.iter().filter(|meant| !meant.starts_with('-')) {
                let found = meant.split(' ').try_fold(&commands, |at, word| at.find_subcommand(word));
                assert!(found.is_some(), "{meant}");
            }
        }
    }
}
