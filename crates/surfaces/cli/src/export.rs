//! `export`: a thread in a format that other agents and tools read.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use threadkeep::{Invalid, WayOut};
use threadkeep_transcripts::formats::{self, Format};
use threadkeep_transcripts::import::session_of;

use crate::context::Context;
use crate::failure::{Failure, cannot_write};
use crate::transfer::{amp, whole_file};

/// Write a thread in a format that other agents and tools read
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep export 4e36 --format markdown
  threadkeep export 4e36 --format claude-code -o session.jsonl    with all branches
  threadkeep export 4e36 --format openai                          messages of OpenAI's chat API

What a format cannot hold is named on stderr. The whole history of a thread, for another Threadkeep:
threadkeep store export 4e36")]
pub(crate) struct Export {
    /// The thread
    thread: String,
    /// amp, claude-code, openai, markdown, atif, or jsonl, which loses nothing
    #[arg(long, value_parser = which)]
    format: Which,
    /// A file to write to, instead of stdout; it is there whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
enum Which {
    Amp,
    Other(Format),
}

fn which(text: &str) -> Result<Which, Invalid> {
    let other = |invalid: Invalid| Invalid { rule: format!("{}, amp", invalid.rule), ..invalid };
    if text == "amp" { Ok(Which::Amp) } else { text.parse().map(Which::Other).map_err(other) }
}

impl Export {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let format = match self.format {
            Which::Amp => return amp::export(context, Some(&self.thread), self.output.as_deref()).await,
            Which::Other(format) => format,
        };
        let thread = context.thread(&self.thread).await?.id;
        let engine = context.engine("an export")?;
        let exported = formats::export(&session_of(&engine, thread).await?, format);
        let text = engine.redactor(WayOut::Export, Some(thread)).await?.text(&exported.text).into_owned();
        match &self.output {
            None => context.out.bytes(text.as_bytes())?,
            Some(path) => {
                let shown = path.display().to_string();
                let write = async |mut file: &std::fs::File| {
                    file.write_all(text.as_bytes()).map_err(|error| cannot_write(&shown, &error))
                };
                whole_file(path, write).await?;
            }
        }
        for lost in exported.lost {
            context.note(format!("{} cannot hold {lost}", format.as_str()));
        }
        Ok(())
    }
}
