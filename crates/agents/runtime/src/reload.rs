//! The present definitions: read when first asked for, swapped as a whole when the folder changed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use threadkeep_engine::Error;

use crate::attempt::built_in::is_built_in;
use crate::definitions::{DefaultAgent, Definition, Definitions, FoundModel, Kind, MCP_PREFIX, Name, Problems, stamp};

/// How often the folder is looked at.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// The definitions of a folder, and those that the program brings.
pub(crate) struct Present {
    folder: Option<PathBuf>,
    brought: BTreeMap<Name, Definition>,
    /// Whether the agent `default` is built in.
    has_default: bool,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// None before they were read.
    definitions: Option<Arc<Definitions>>,
    stamp: Option<blake3::Hash>,
    /// A model for the agent `default` that no file names.
    model: Option<FoundModel>,
}

impl Present {
    pub(crate) fn new(folder: Option<PathBuf>, brought: BTreeMap<Name, Definition>, has_default: bool) -> Self {
        Self { folder, brought, has_default, held: Mutex::default() }
    }

    /// Gives the agent `default` this model, where no file defines one.
    ///
    /// # Errors
    /// As [`Present::reload`].
    pub(crate) fn model_found(&self, model: FoundModel) -> io::Result<()> {
        let mut held = self.held();
        held.model = Some(model);
        self.read(&mut held).map(drop)
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The definitions as they are now. Work that began with them keeps them: a reload swaps, and changes nothing.
    pub(crate) fn get(&self) -> Arc<Definitions> {
        let mut held = self.held();
        if let Some(definitions) = &held.definitions {
            return Arc::clone(definitions);
        }
        let first = self.read(&mut held);
        let unread = |why| {
            let folder = self.folder.as_deref().unwrap_or(Path::new(""));
            Arc::new(Definitions::unreadable(folder, &why, &self.brought))
        };
        let first = first.unwrap_or_else(unread);
        held.definitions = Some(Arc::clone(&first));
        first
    }

    /// Reads the folder again.
    ///
    /// # Errors
    /// If it cannot be read. The definitions stay as they were.
    pub(crate) fn reload(&self) -> io::Result<Arc<Definitions>> {
        self.read(&mut self.held())
    }

    /// Reads the folder again if its files changed. Before the first use there is nothing to renew.
    ///
    /// # Errors
    /// As [`Present::reload`].
    pub(crate) fn renew(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut held = self.held();
        if held.definitions.is_some() && held.stamp != Some(stamp(folder)?) {
            self.read(&mut held)?;
        }
        Ok(())
    }

    fn read(&self, held: &mut Held) -> io::Result<Arc<Definitions>> {
        // The stamp comes first: a file that changes while it is read is read again.
        let stamp = self.folder.as_deref().map(stamp).transpose()?;
        let default = match self.has_default {
            true => DefaultAgent::BuiltIn(held.model.as_ref()),
            false => DefaultAgent::AsDefined,
        };
        let read = Definitions::of(self.folder.as_deref(), &self.brought, default)?;
        let same = held.definitions.take().filter(|before| before.hash() == read.hash());
        let definitions = same.unwrap_or_else(|| Arc::new(read));
        (held.definitions, held.stamp) = (Some(Arc::clone(&definitions)), stamp);
        Ok(definitions)
    }

    /// Passes if a tool, or an agent to hand off to, of this name can be queued.
    pub(crate) fn queueable(&self, all: &Definitions, name: &str, package: Option<&str>) -> Result<(), Error> {
        if is_built_in(name) {
            return Ok(());
        }
        if let Some((server, _)) = name.strip_prefix(MCP_PREFIX).and_then(|written| all.find_mcp(written, package)) {
            // Whether the server has the tool shows when it is called.
            return all.get(Kind::Mcp, &server.text(), None).map(drop).map_err(refused);
        }
        let found = all.get(Kind::Tool, name, package).map(drop);
        let found = found.or_else(|missing| match missing {
            Problems::NotFound { .. } => all.get(Kind::Agent, name, package).map(drop).map_err(|_| missing),
            Problems::Invalid { .. } => Err(missing),
        });
        found.map_err(refused)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(problems: Problems) -> Error {
    let what = problems.to_string();
    match problems {
        Problems::NotFound { .. } => Error::ToolNotFound { what },
        Problems::Invalid { .. } => Error::DefinitionInvalid { what },
    }
}
