//! Help that is finished when it is asked for: an example for every command whose help has none of its own, and usage
//! that fits the terminal.

use clap::Command;

/// Examples of a noun in its help.
const OF_A_NOUN: usize = 3;
/// Columns of an explanation that stands below its example.
const EXPLANATION: &str = "      ";

/// Commands with an example each. A noun shows the first ones of its verbs.
const EXAMPLES: &[&str] = &[
    "thread update 4e36 --title \"A better title\"",
    "thread archive 4e36",
    "thread rm 4e36",
    "run start 4e36",
    "run end 4e36 @last",
    "run list",
    "queue add 4e36 \"Use tabs.\"",
    "approvals request 4e36 deploy --reason \"the tests pass\"",
    "approvals list",
    "subagents start 4e36 researcher",
    "files write 4e36 /notes/plan.md plan.md",
    "files list 4e36 --recursive",
    "files read 4e36 /notes/plan.md",
    "kv set 4e36 build/count 3",
    "messages edit 4e36 @last \"A better text.\"",
    "code run hello.ts",
    "effects add 4e36 send_reminder --delay 1h",
    "store backup today.db",
    "store export -o everything.jsonl",
    "approvals approve 5928a90d --reason \"go ahead\"",
    "approvals deny 5928a90d --reason \"not today\"",
    "approvals revoke 5928a90d",
    "approvals delegations 4e36",
    "subagents list 4e36",
    "subagents parent 4e36",
    "subagents status 4e36 \"reading the logs\"",
    "files versions 4e36 /notes/plan.md",
    "files thumbnail 4e36 /logo.png -o small.png",
    "files rm 4e36 /notes/plan.md",
    "files move 4e36 /notes/plan.md /plan.md",
    "files mkdir 4e36 /notes/drafts",
    "files rmdir 4e36 /notes/drafts",
    "kv list 4e36 --prefix build/",
    "kv get 4e36 build/status",
    "kv rm 4e36 build/status",
    "queue list 4e36",
    "queue edit 4e36 queued-00000000-0000-8000-8000-000000000001 \"Use spaces.\"",
    "queue remove 4e36 queued-00000000-0000-8000-8000-000000000001",
    "run step 4e36 @last \"It was a typo.\" --role assistant",
    "run messages 4e36 --json",
    "run injections 4e36",
    "run show @last",
    "run ack 4e36 5928a90d-d53b-488f-a829-4e36442142ee",
    "code terminate 4e36 nightly",
    "agents list --kind tools",
    "agents show helper",
    "agents check ./definitions",
    "agents new helper",
    "agents pack my-tools",
    "memory list",
    "memory show 5928a90d-d53b-488f-a829-4e36442142ee",
    "memory search \"where does Ann live?\"",
    "memory edit 5928a90d-d53b-488f-a829-4e36442142ee \"Ann lives in Kyoto.\"",
    "memory rm 5928a90d-d53b-488f-a829-4e36442142ee",
    "effects list 4e36 --name send_reminder",
    "effects rm 4e36 5928a90d-d53b-488f-a829-4e36442142ee",
    "tools list",
    "tools invoke 4e36 summarize_day",
    "tools queue 4e36 summarize_day",
    "env list --thread 4e36",
    "env get API_KEY",
    "env rm API_KEY",
    "lock show 4e36",
    "lock take 4e36 --ttl 5m",
    "lock renew 4e36 --token 5f2c01d9a4b37e68 --ttl 5m",
    "lock release 4e36 --token 5f2c01d9a4b37e68",
    "messages insert 4e36 \"A remark\" --before M-0123456789abcdef1 --role info",
    "messages rm 4e36 @last",
    "keys create --account ann --scope write",
    "keys list",
    "keys revoke 5928",
    "projects list",
    "projects create \"Release 2\" --id release-2",
    "projects show release-2",
    "projects update release-2 --name \"Release 2.1\"",
    "projects rm release-2",
    "index status",
    "index backfill",
    "index rebuild",
    "store doctor --repair",
    "store gc --vacuum",
    "store rotate-key",
    "store sign-in",
    "thread assign 4e36 reviewer",
    "thread done 4e36 --reason \"merged\"",
    "thread suspend 4e36 --reason \"waits for the review\"",
    "thread resume 4e36",
    "thread terminate 4e36",
    "thread truncate 4e36 --from-index 5",
    "thread redo 4e36",
    "thread events 4e36 --json",
    "thread history 4e36 --after 12",
    "thread checkpoint 4e36 before-the-refactoring",
    "thread checkpoints 4e36",
    "thread relationships 4e36",
    "thread summary 4e36",
    "thread mention 4e36 b4c4 --comment \"see the plan there\"",
    "thread references 4e36",
    "thread observers 4e36",
    "thread unobserve 4e36 5928a90d-d53b-488f-a829-4e36442142ee",
    "thread merges 4e36",
    "thread decisions 4e36",
    "tree 4e36",
];

/// The same commands, each with an example in its help, and with usage that fits `columns`.
pub(crate) fn with_examples(command: Command, columns: usize) -> Command {
    below(command, "", columns)
}

fn below(command: Command, path: &str, columns: usize) -> Command {
    command.mut_subcommands(|command| {
        let path = format!("{path}{} ", command.get_name());
        let (command, most) = match command.has_subcommands() {
            true => (below(command, &path, columns), OF_A_NOUN),
            false => (fitting(command, &path, columns), 1),
        };
        let mut help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if !help.contains("Example") {
            let examples = EXAMPLES.iter().filter(|example| format!("{example} ").starts_with(&path)).take(most);
            let examples: Vec<String> = examples.map(|example| format!("\n  threadkeep {example}")).collect();
            let heading = if examples.len() > 1 { "Examples:" } else { "Example:" };
            if !examples.is_empty() {
                let before = if help.is_empty() { String::new() } else { format!("{help}\n\n") };
                help = format!("{before}{heading}{}", examples.concat());
            }
        }
        if help.is_empty() { command } else { command.after_help(wrapped(&help, columns)) }
    })
}

/// The end of a help in lines that fit. Sentences are filled anew. An example that is too wide has its explanation
/// below it, and goes on in a second line as a shell reads it.
pub(crate) fn wrapped(help: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut sentences = String::new();
    for line in help.lines().chain([""]) {
        let is_sentence = !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        if is_sentence {
            sentences.push_str(if sentences.is_empty() { "" } else { " " });
            sentences.push_str(line);
            continue;
        }
        if !sentences.is_empty() {
            lines.extend(filled(&sentences, "", "", columns));
            sentences.clear();
        }
        if line.chars().count() <= columns {
            lines.push(line.to_owned());
            continue;
        }
        let (example, explanation) = match line.trim_start().split_once("  ") {
            Some((example, explanation)) => (example, explanation.trim_start()),
            None => (line.trim_start(), ""),
        };
        lines.extend(filled(example, "  ", " \\", columns));
        lines.extend(filled(explanation, EXPLANATION, "", columns));
    }
    lines.join("\n").trim_end().to_owned()
}

/// `text` in lines that begin with `indent`; `more` ends each one that goes on. What is in quotation marks stays whole.
fn filled(text: &str, indent: &str, more: &str, columns: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_open(last) => *last = format!("{last} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() + more.len() <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(line) => {
                line.push_str(more);
                let further = if more.is_empty() { indent } else { EXPLANATION };
                lines.push(format!("{further}{word}"));
            }
            None => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

/// Whether a quotation begins in `word` and does not end.
fn is_open(word: &str) -> bool {
    let mut open = None;
    for c in word.chars() {
        open = match (open, c) {
            (None, '"') => Some('"'),
            (None, '\'') if word.starts_with('\'') => Some('\''),
            (Some(quote), c) if c == quote => None,
            (open, _) => open,
        };
    }
    open.is_some()
}

/// The same command; usage that is wider than the terminal goes on in a second line.
fn fitting(command: Command, path: &str, columns: usize) -> Command {
    const HEADING: &str = "Usage: ";
    let name = format!("threadkeep {}", path.trim_end());
    let usage = command.clone().bin_name(&name).render_usage().to_string();
    let mut usage = usage.strip_prefix(HEADING).unwrap_or(&usage).to_owned();
    // The options of every command are not among its own yet.
    if !usage.contains("[OPTIONS]") {
        usage = usage.replacen(&name, &format!("{name} [OPTIONS]"), 1);
    }
    if HEADING.len() + usage.chars().count() <= columns {
        return command;
    }
    let mut lines = vec![String::new()];
    for word in usage.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(last) if HEADING.len() + line + 1 + word.chars().count() <= columns => {
                last.push_str(if line == 0 { "" } else { " " });
                last.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    command.override_usage(lines.join(&format!("\n{}", " ".repeat(HEADING.len()))))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The words of a line, as a shell splits it.
    fn words(line: &str) -> Vec<String> {
        let quoted = line.split('"').enumerate();
        quoted
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect()
    }

    #[test]
    fn every_example_is_understood() {
        for example in EXAMPLES {
            let arguments = ["threadkeep".to_owned()].into_iter().chain(words(example));
            let parsed = Cli::command().try_get_matches_from(arguments);
            assert!(parsed.is_ok(), "{example}: {}", parsed.expect_err("refused"));
        }
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        let mut without = Vec::new();
        let mut commands: Vec<(String, Command)> = vec![(String::new(), with_examples(Cli::command(), 60))];
        while let Some((path, command)) = commands.pop() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            // The help at the top has its own.
            let is_told = help.contains("Example") || path.is_empty();
            if !is_told && !["transfer", "complete"].contains(&command.get_name()) {
                without.push(path.clone());
            }
            let below = command.get_subcommands().map(|below| (format!("{path} {}", below.get_name()), below.clone()));
            commands.extend(below);
        }
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn the_end_of_a_help_is_filled_and_an_example_can_still_be_pasted() {
        let help = "Examples:\n  threadkeep say 4e36 \"two words\" --role assistant   say it\n\nOne line\nand another.";
        assert_eq!(wrapped(help, 80), help.replace("line\nand", "line and"));
        let narrow = "Examples:\n  threadkeep say 4e36 \\\n      \"two words\" --role \\\n      assistant\n      say it\n\nOne line and another.";
        assert_eq!(wrapped(help, 29), narrow);
    }

    #[test]
    fn help_fits_60_columns() {
        let mut root = with_examples(Cli::command(), 60);
        root.build();
        let mut wide = Vec::new();
        let mut commands: Vec<Command> = root.get_subcommands().cloned().collect();
        while let Some(command) = commands.pop() {
            let mut shown = command.clone().term_width(60);
            for help in [shown.render_help().to_string(), shown.render_long_help().to_string()] {
                // A word, such as a JSON text in an example, is not cut.
                let is_wide = |line: &&str| line.chars().count() > 60 && line.trim().contains("  ");
                let usage = help.lines().find(|line| line.starts_with("Usage:") && line.chars().count() > 60);
                wide.extend(help.lines().find(is_wide).or(usage).map(str::to_owned));
            }
            commands.extend(command.get_subcommands().cloned());
        }
        assert!(wide.is_empty(), "{wide:#?}");
    }
}
