//! The context of every command: a client, the actor, the output, and the threads that people name.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use threadkeep::model::LeaseToken;
use threadkeep::runtime::{Background, Runtime};
use threadkeep::sandbox::Sandbox;
use threadkeep::{Actor, ActorKind, Caller, Engine, IdempotencyKey, Invalid, StoreUrl, ThreadId, Version};
use threadkeep_calls as calls;
use threadkeep_calls::At;
use threadkeep_client::Client;

use crate::cells::OpenCells;
use crate::editor::{self, Draft};
use crate::embedding::Embedding;
use crate::failure::{self, Failure};
use crate::input::or_stdin;
use crate::inside::Inside;
use crate::naming;
use crate::objects::ObjectsUrl;
use crate::out::Out;
use crate::place::{Hints, IfMissing, Place};
use crate::reach::{self, Reached, Store};
use crate::settings::Unflagged;

/// On what condition a thread is changed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct Conditions {
    /// Only if the thread is at this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) expected_version: Option<Version>,
    /// Write with the token of the thread's lock (see threadkeep lock)
    #[arg(long, value_name = "TOKEN")]
    writer: Option<LeaseToken>,
    /// A retry with the same key changes nothing, and prints the first result
    #[arg(long, value_name = "KEY", value_parser = |key: &str| IdempotencyKey::new(key))]
    pub(crate) idempotency_key: Option<IdempotencyKey>,
}

impl Conditions {
    /// The envelope of a call under these conditions.
    pub(crate) fn at(&self, at: impl Into<At>) -> At {
        let Self { expected_version: expected, writer: lease, idempotency_key: key } = self;
        At { expected: *expected, lease: *lease, key: key.clone(), ..at.into() }
    }
}

#[derive(Debug)]
pub(crate) struct Acting {
    pub(crate) kind: ActorKind,
    pub(crate) name: Option<String>,
}

impl Acting {
    /// The caller for direct work on the store.
    fn caller(self) -> Result<Caller, Invalid> {
        let mut caller = Caller::local();
        if self.kind != caller.actor.kind || self.name.is_some() {
            caller.actor = Actor::new(self.kind, self.name.unwrap_or(caller.actor.name))?;
        }
        Ok(caller)
    }
}

/// A client, who acts, and where to print.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) out: Out,
    pub(crate) json: bool,
    pub(crate) hints: Hints,
    caller: Caller,
    place: Place,
    store: Store,
    cells: Option<OpenCells>,
    embedding: Embedding,
    inside: Inside,
    named: Option<ThreadId>,
    /// A text that was written in an editor, until it is stored.
    draft: Option<Draft>,
    /// The lease of writes that do not go through the client.
    writer: Option<LeaseToken>,
}

impl Context {
    /// Reaches the server or the store; `missing` says what to do if there is no store.
    pub(crate) async fn open(
        place: &Place,
        acting: Acting,
        json: bool,
        missing: IfMissing,
        settings: Unflagged,
    ) -> Result<Self, Failure> {
        let caller = acting.caller()?;
        let place = &place.clone().with_key_file(settings.key_file.clone());
        let definitions = settings.definitions.unwrap_or_else(|| place.definitions());
        let (validation, local_models) = (settings.checks.settings(), settings.local_models);
        let inside = Inside { validation, sandbox: settings.sandbox, definitions, local_models };
        let Reached { mut client, store, cells } = reach::reach(place, missing, inside.clone()).await?;
        if caller != Caller::local() {
            client = client.acting_as(caller.actor.clone());
        }
        let (hints, place) = (place.hints(), place.clone());
        let (out, embedding) = (Out::new(), settings.embedding);
        let (named, draft, writer) = (None, None, None);
        Ok(Self { client, out, json, hints, caller, place, store, cells, embedding, inside, named, draft, writer })
    }

    /// The store itself, because `what` does not go over the wire.
    pub(crate) fn engine(&mut self, what: &str) -> Result<Engine, Failure> {
        let engine = match &mut self.store {
            Store::Open(engine) | Store::Beside(Some(engine)) => engine.clone(),
            // A server may serve another store than its folder's.
            Store::Beside(beside) if self.place.has_store() => {
                beside.insert(reach::open(&self.place, IfMissing::Fail)?).clone()
            }
            Store::Beside(None) | Store::Elsewhere => return Err(reach::needs_store(what)),
        };
        let engine = engine.acting_as(self.caller.clone());
        Ok(match (self.named, self.writer) {
            (Some(thread), Some(token)) => engine.writing_under(thread, token),
            _ => engine,
        })
    }

    /// All cells, where there are several and this process has them open.
    pub(crate) fn cells(&self) -> Option<OpenCells> {
        self.cells.clone()
    }

    /// The object store of the store.
    pub(crate) fn objects(&self) -> Option<&ObjectsUrl> {
        self.place.objects.as_ref()
    }

    /// The store itself, if the client talks to it directly.
    pub(crate) fn own_engine(&self) -> Option<Engine> {
        match &self.store {
            Store::Open(engine) => Some(engine.acting_as(self.caller.clone())),
            Store::Beside(_) | Store::Elsewhere => None,
        }
    }

    /// Works on runs in this process, where no server does: until the handle is dropped.
    pub(crate) fn work_here(&self) -> Option<Background> {
        let Store::Open(engine) = &self.store else { return None };
        let Inside { sandbox, definitions, local_models, .. } = &self.inside;
        let runtime = Runtime::builder(engine.clone()).sandbox(Sandbox::new(sandbox.clone()));
        Some(runtime.definitions(definitions).default_agent(*local_models).build().start())
    }

    /// The same engine, with vectors as the environment and the file say. It is only asked for where they are needed: an
    /// embedder may have to be reached.
    pub(crate) async fn with_embedder(&self, engine: Engine) -> Result<Engine, Failure> {
        self.embedding.apply(engine).await
    }

    /// Whether a server answers, and not this process itself.
    pub(crate) fn is_served(&self) -> bool {
        matches!(self.store, Store::Elsewhere | Store::Beside(_))
    }

    /// Whether only a server is known, and no store.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.store, Store::Elsewhere)
    }

    /// Prints `value` for programs, or the sentence for people.
    pub(crate) fn say_or_show(&mut self, value: &impl Serialize, said: impl AsRef<str>) -> Result<(), Failure> {
        if self.json { self.out.json(value) } else { self.out.line(said) }
    }

    /// Prints `value` for programs, or tells people on stderr.
    pub(crate) fn note_or_show(&mut self, value: &impl Serialize, note: impl AsRef<str>) -> Result<(), Failure> {
        if self.json {
            return self.out.json(value);
        }
        self.note(note);
        Ok(())
    }

    /// The text that a person writes, in an editor that begins with `begin`, or all of stdin if it is no terminal.
    pub(crate) fn written(&mut self, begin: &str) -> Result<String, Failure> {
        if !editor::is_attended() {
            return or_stdin("-");
        }
        let (draft, text) = Draft::write(begin)?;
        self.draft = Some(draft);
        Ok(text)
    }

    /// What was written in an editor is stored.
    pub(crate) fn stored(&mut self) {
        if let Some(draft) = self.draft.take() {
            draft.stored();
        }
    }

    pub(crate) fn actor(&self) -> &Actor {
        &self.caller.actor
    }

    /// Whether the store may be shared by several machines.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self.place.url.parse(), Ok(StoreUrl::Sqlite(_) | StoreUrl::Memory))
    }

    /// The store, by its URL; empty if only a server is known.
    pub(crate) fn store_url(&self) -> &str {
        &self.place.url
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.place.folder.clone()
    }

    /// The thread that the command is about, once it was found.
    pub(crate) fn named(&self) -> Option<ThreadId> {
        self.named
    }

    /// Says something to people, beside the data: on stderr, and not to programs.
    pub(crate) fn note(&self, note: impl AsRef<str>) {
        if !self.json {
            failure::note(note.as_ref());
        }
    }

    /// The thread that `text` names; see [`naming`].
    pub(crate) async fn thread(&mut self, text: &str) -> Result<calls::Thread, Failure> {
        let thread = naming::thread(&self.client, text).await?;
        self.named = Some(thread.id);
        Ok(thread)
    }

    /// The same, to be changed: later writes use `conditions`.
    pub(crate) async fn thread_to_change(
        &mut self,
        text: &str,
        conditions: &Conditions,
    ) -> Result<calls::Thread, Failure> {
        let thread = self.thread(text).await?;
        self.write_as(conditions);
        Ok(thread)
    }

    /// Later writes use `conditions`.
    pub(crate) fn write_as(&mut self, conditions: &Conditions) {
        self.client = self.client.expecting(conditions.expected_version).keyed(conditions.idempotency_key.clone());
        if let Some(token) = conditions.writer {
            self.write_under(token);
        }
    }

    /// Later writes use this lease.
    pub(crate) fn write_under(&mut self, token: LeaseToken) {
        self.client = self.client.writing_under(token);
        self.writer = Some(token);
    }
}
