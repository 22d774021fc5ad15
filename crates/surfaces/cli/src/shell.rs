//! For shells and for `man`: `completions` and `man`, which need no store, and `complete`, by which shells ask for threads.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use threadkeep_calls::{At, ListThreads};

use crate::context::Context;
use crate::failure::{Failure, cannot_write};
use crate::out::Out;
use crate::text::{TITLE_SHOWN_MAX, brief, or_untitled};

/// Threads that a shell offers.
const COMPLETED_MAX: usize = 100;

/// Print what a shell needs to complete commands, flags, and threads by their ids
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  threadkeep completions bash > ~/.local/share/bash-completion/completions/threadkeep
  threadkeep completions zsh > ~/.zfunc/_threadkeep
  threadkeep completions fish > ~/.config/fish/completions/threadkeep.fish")]
pub(crate) struct Completions {
    /// The shell to complete for
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut command: Command, out: &mut Out) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "threadkeep", &mut script);
        let script = String::from_utf8_lossy(&script);
        let script = match self.shell {
            Shell::Bash => format!("{script}\n{BASH}"),
            Shell::Zsh => in_zsh(&script),
            Shell::Fish => format!("{script}\n{}", in_fish(&command)),
            _ => script.into_owned(),
        };
        out.bytes(script.as_bytes())
    }
}

/// Adds threads where the script knows of nothing but flags and placeholders. Several are shown with their titles; of one,
/// the id is typed.
const BASH: &str = include_str!("complete.bash");

/// Arguments that are threads, in the script for zsh.
fn in_zsh(script: &str) -> String {
    let mut lines = Vec::new();
    for line in script.lines() {
        let bare = line.trim_start_matches([' ', '\'', ':', '*']);
        let is_thread = bare.starts_with("thread -- ") || bare.starts_with("threads -- ");
        lines.push(if is_thread { line.replace(":_default'", ":_threadkeep_ids'") } else { line.to_owned() });
        if line.starts_with("#compdef") {
            lines.push(include_str!("complete.zsh").to_owned());
        }
    }
    lines.join("\n") + "\n"
}

/// A rule for the commands whose first argument is a thread.
fn in_fish(command: &Command) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut commands = vec![command];
    while let Some(command) = commands.pop() {
        if command.get_arguments().any(|argument| ["thread", "threads"].contains(&argument.get_id().as_str())) {
            names.push(command.get_name().to_owned());
        }
        commands.extend(command.get_subcommands());
    }
    names.sort();
    names.dedup();
    let seen = format!("__fish_seen_subcommand_from {}", names.join(" "));
    format!("complete -c threadkeep -n '{seen}' -f -k -a '(threadkeep complete threads 2>/dev/null)'\n")
}

/// Print the newest threads, for a shell: the short id, a tab, and the title
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// What is completed
    #[arg(id = "what", value_name = "WHAT", value_parser = ["threads"])]
    _what: String,
}

impl Complete {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let which = ListThreads { limit: Some(COMPLETED_MAX), ..ListThreads::default() };
        for thread in context.client.call(At::none(), which).await?.items {
            let title = brief(or_untitled(thread.title.as_deref()), TITLE_SHOWN_MAX);
            context.out.line(format!("{}\t{title}", thread.short_id))?;
        }
        Ok(())
    }
}

/// Print the manual page, or write one for each command to a folder
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  threadkeep man | man -l -
  threadkeep man --to ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The folder for a page of each command
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, command: Command, out: &mut Out) -> Result<(), Failure> {
        let Some(folder) = self.to else { return out.bytes(&page(command)?) };
        let failed = |error: std::io::Error| cannot_write(&folder.display().to_string(), &error);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let mut pages = 0_u64;
        write_all(command, "", &folder, &mut pages)?;
        out.line(format!("wrote {pages} pages to {}", folder.display()))
    }
}

fn write_all(command: Command, above: &str, folder: &Path, pages: &mut u64) -> Result<(), Failure> {
    let name = if above.is_empty() { command.get_name().to_owned() } else { format!("{above}-{}", command.get_name()) };
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        write_all(below.clone(), &name, folder, pages)?;
    }
    let path = folder.join(format!("{name}.1"));
    let text = page(command.name(name.clone()).bin_name(name.replace('-', " ")))?;
    let mut file = std::fs::File::create(&path).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    file.write_all(&text).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    *pages += 1;
    Ok(())
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(|error| cannot_write("the page", &error))?;
    Ok(text)
}
