//! Calls that are about an account or the whole store: projects, keys, search, upkeep.

use std::fmt::Debug;
use std::sync::Arc;

use threadkeep_calls as calls;
use threadkeep_calls::{
    Backfilled, CreateKey, CreateProject, CreatedKey, DeleteProject, Deleted, Doctor, Gc, GetProject, ListKeys,
    ListProjects, Page, Project, PutProject, RevokeKey, Revoked, RunBackfill, RunDoctor, RunGc, Scope, SearchFound,
    SearchThreads, UpdateProject,
};
use threadkeep_model::{Actor, ActorKind, Invalid, ThreadId, Value};
use threadkeep_store::{Progress, TimeRange};

use crate::ground::carry::Carry;
use crate::ground::cursor::{after, read};
use crate::keys::NewKey;
use crate::shown::gc_shown;
use crate::{Engine, Error, Result, Search};

fn quiet() -> Progress {
    Arc::new(|_, _, _| {})
}

/// A page of `list`, of `items` that were read with one more than it has, and the cursor of its last.
fn page<T, U: From<T>>(list: impl Debug, mut items: Vec<T>, limit: usize, id: impl Fn(&T) -> &str) -> Page<U> {
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| more).map(|last| after(list, id(last)));
    Page::new(items.into_iter().map(U::from).collect(), next_cursor, None)
}

impl Carry for ListProjects {
    type Made = Page<Project>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<Project>> {
        let limit = engine.page_limit(self.limit)?;
        let list = ("projects", engine.caller.account.clone());
        let last = self.cursor.as_deref().map(|cursor| read(&list, cursor)).transpose()?;
        let projects = engine.projects(last, limit + 1).await?;
        Ok(page(&list, projects, limit, |project| &project.id))
    }
}

impl Carry for CreateProject {
    type Made = Project;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Project> {
        let Self { id, name, icon_name, sandbox } = self;
        if let Some(id) = &id
            && engine.project(id).await?.is_some()
        {
            return Err(Error::ProjectExists { project: id.clone() });
        }
        engine.put_project(id, name, icon_name, sandbox).await
    }
}

impl Carry for GetProject {
    type Made = Project;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Project> {
        engine.project(&self.project).await?.ok_or(Error::ProjectNotFound { project: self.project })
    }
}

impl Carry for PutProject {
    type Made = Project;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Project> {
        let Self { project, id, name, icon_name, sandbox } = self;
        if id.is_some_and(|given| given != project) {
            return Err(Invalid::body("id", "is not the one in the path").into());
        }
        engine.put_project(Some(project), name, icon_name, sandbox).await
    }
}

impl Carry for UpdateProject {
    type Made = Project;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Project> {
        let missing = || Error::ProjectNotFound { project: self.project.clone() };
        let before = engine.project(&self.project).await?.ok_or_else(missing)?;
        let Project { id, name, icon_name, sandbox, .. } = self.applied_to(before)?;
        engine.put_project(Some(id), name, icon_name, sandbox).await
    }
}

impl Carry for DeleteProject {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Deleted> {
        Ok(Deleted { deleted: engine.delete_project(&self.project).await? })
    }
}

impl Carry for ListKeys {
    type Made = Page<calls::Key>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<calls::Key>> {
        let limit = engine.page_limit(self.limit)?;
        let last = self.cursor.as_deref().map(|cursor| read("keys", cursor)).transpose()?;
        let keys = engine.keys(last.map(str::to_owned), limit + 1).await?;
        let Page { items, next_cursor, .. } = page::<_, crate::Key>("keys", keys, limit, |key| &key.id);
        Ok(Page::new(items.iter().map(calls::Key::from).collect(), next_cursor, None))
    }
}

impl Carry for CreateKey {
    type Made = CreatedKey;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<CreatedKey> {
        let Self { account, scope, name, agent, expires_at } = self;
        let kind = if agent { ActorKind::Agent } else { ActorKind::Human };
        if engine.is_agent() && kind != ActorKind::Agent {
            return Err(Error::NotAllowed { what: "an agent makes keys for agents only".to_owned() });
        }
        let actor = Actor::new(kind, name.unwrap_or_else(|| account.as_str().to_owned()))?;
        let scope = scope.unwrap_or(Scope::Write);
        let (key, secret) = engine.create_key(NewKey { account, actor, scope, expires: expires_at }).await?;
        Ok(CreatedKey { key: secret, about: calls::Key::from(&key) })
    }
}

impl Carry for RevokeKey {
    type Made = Revoked;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Revoked> {
        Ok(Revoked { revoked: engine.revoke_key(&self.key).await? })
    }
}

impl Carry for SearchThreads {
    type Made = SearchFound;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<SearchFound> {
        let begun = std::time::Instant::now();
        if self.metadata.as_ref().is_some_and(|json| !json.is_object()) {
            let rule = "must be a JSON object, such as {\"key\":\"value\"}";
            return Err(Invalid::body("metadata", rule).into());
        }
        let thread = match self.thread_id {
            Some(name) => Some(engine.thread(name).await?.id),
            None => None,
        };
        let search = Search {
            query: self.query,
            agent: self.agent_id,
            project: self.project_id,
            thread,
            time: TimeRange { after: self.after, before: self.before },
            role: self.role,
            metadata: self.metadata.as_ref().map(Value::of),
            tag: self.tag,
            limit: self.limit,
            context: self.context_window,
            include_superseded: self.include_superseded,
        };
        let found = engine.search(search).await?;
        let took_ms = begun.elapsed().as_micros() as f64 / 1_000.0;
        Ok(SearchFound { results: found.iter().map(calls::SearchResult::from).collect(), took_ms })
    }
}

impl Carry for RunBackfill {
    type Made = Backfilled;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Backfilled> {
        engine.backfill(self.agent_id, quiet()).await
    }
}

impl Carry for RunGc {
    type Made = Gc;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Gc> {
        Ok(gc_shown(engine.gc(self.vacuum, quiet()).await?))
    }
}

impl Carry for RunDoctor {
    type Made = Doctor;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Doctor> {
        let found = Doctor::from(engine.doctor(quiet()).await?);
        if !self.repair || found.derived.is_empty() {
            return Ok(found);
        }
        engine.repair(quiet()).await?;
        let after = Doctor::from(engine.doctor(quiet()).await?);
        let repaired = after.derived.is_empty();
        let derived = if repaired { found.derived } else { after.derived };
        Ok(Doctor { healthy: repaired && after.damage.is_empty(), repaired, derived, damage: after.damage, ..found })
    }
}
