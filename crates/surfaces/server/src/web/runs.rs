//! Screens of a thread's runs, and of what a model is given.

use serde::Deserialize;
use threadkeep::{Position, Uuid};
use threadkeep_calls as api;
use threadkeep_web::{self as web, Place};

use super::{Asked, Visit};
use crate::answer::Answer;
use crate::input::Path;

/// Runs of a page.
const RUNS: usize = 50;

/// Messages that are shown with the beginning of their text.
const TEXTS_MAX: usize = 200;

/// Which runs to list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Listing {
    cursor: Option<String>,
}

pub(super) async fn list(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Listing>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let shown = visit.ask(thread.id, api::GetThread::default()).await?;
    let page = visit.ask(thread.id, api::ListThreadRuns { limit: Some(RUNS), cursor: asked.cursor }).await?;
    visit.screen(Place::Thread, "Runs", web::runs(&shown, &page, visit.may_write())).await
}

pub(super) async fn one(visit: Visit, Path((name, run)): Path<(String, String)>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let run: Uuid = run.parse()?;
    let told = visit.ask(threadkeep::calls::At::none(), api::GetRun { run }).await?;
    if told.thread_id != thread.id {
        return Err(threadkeep::Error::RunNotFound { run }.into());
    }
    let shown = visit.ask(thread.id, api::GetThread::default()).await?;
    visit.screen(Place::Thread, "Run", web::run(&shown, &told, visit.may_write())).await
}

/// Which request to a model to show: that of a run, one at a version, or the next one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Seeing {
    v: Option<u64>,
    run: Option<String>,
}

pub(super) async fn context(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Seeing>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let run: Option<Uuid> = asked.run.filter(|run| !run.is_empty()).map(|run| run.parse()).transpose()?;
    let call = api::GetContext { as_of: asked.v.map(Position), run_id: run };
    let context = visit.ask(thread.id, call).await?;
    let newest = api::ListMessages {
        order: Some(api::Order::Descending),
        limit: Some(context.messages.len().clamp(1, TEXTS_MAX)),
        as_of: Some(context.version),
        ..api::ListMessages::default()
    };
    let messages = visit.ask(thread.id, newest).await?.items;
    let shown = visit.ask(thread.id, api::GetThread::default()).await?;
    let content = web::context(&web::ContextShown {
        thread: &shown,
        context: &context,
        as_of: asked.v.or_else(|| run.map(|_| context.version.0)),
        run,
        messages: &messages,
        may_write: visit.may_write(),
    });
    visit.screen(Place::Thread, "Context", content).await
}
