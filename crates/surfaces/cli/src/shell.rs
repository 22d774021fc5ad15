//! For shells and for `man`: `completions`, `man`. They need no store.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{Failure, cannot_write};
use crate::out::Out;

/// Print what a shell needs to complete commands and flags
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  threadkeep completions bash > ~/.local/share/bash-completion/completions/threadkeep
  threadkeep completions zsh > ~/.zfunc/_threadkeep
  threadkeep completions fish > ~/.config/fish/completions/threadkeep.fish")]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut command: Command, out: &mut Out) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "threadkeep", &mut script);
        out.bytes(&script)
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
