//! The runs of a thread: which agents worked, for how long, with which models, and what it cost.

use maud::{Markup, html};
use threadkeep_calls::{Page, Run, RunStep, RunTold, Thread};
use threadkeep_model::{Executor, RunStatus, Timestamp, Usage, Uuid, Wait};

use crate::head::{Section, head};
use crate::text::{brief, counted, duration, grouped, time};
use crate::threads::percent;

/// Width of the timeline, in its own units.
const TIMELINE: u64 = 1_000;
/// Width of the shortest bar.
const BAR_MIN: u64 = 4;

fn is_open(status: RunStatus) -> bool {
    match status {
        RunStatus::Queued | RunStatus::Running | RunStatus::Waiting => true,
        RunStatus::Completed | RunStatus::Failed | RunStatus::Stopped => false,
    }
}

/// The agent of a run, or the actor that started it.
fn worker(run: &Run) -> &str {
    run.agent_id.as_deref().unwrap_or(&run.by)
}

/// The status of a run, with its dot.
fn status(status: RunStatus) -> Markup {
    html! { span.state { span.dot data-run=(status.as_str()) {} (status.as_str()) } }
}

/// The button that asks a run to stop.
fn stop(run: Uuid, is_asked: bool) -> Markup {
    html! {
        @if is_asked { span.tag { "stopping" } }
        @else { button.danger type="button" data-call=(format!("POST /v1/runs/{run}/stop")) { "Stop" } }
    }
}

/// The open run of a thread below its conversation: who works, how far it is, and how to stop it.
pub(crate) fn work(thread: &Thread) -> Markup {
    html! {
        span.working #working {
            @if let Some(run) = &thread.run {
                a.small href=(format!("/t/{}/runs/{}", thread.short_id, run.id)) {
                    span.dot data-run=(run.status.as_str()) {}
                    span #run-status role="status" { bdi { (brief(worker(run), 30)) } " " (doing(run)) }
                    span { ", " (counted(run.step_count, "step")) }
                }
                (stop(run.id, run.stop_requested_at.is_some()))
            }
        }
    }
}

/// What an open run does, in words.
fn doing(run: &Run) -> &'static str {
    let waits_for = run.waits.first().map(|wait| match wait {
        Wait::Approval { .. } => "waits for an approval",
        Wait::Child { .. } => "waits for a subagent",
        Wait::Human => "waits for you",
    });
    match run.status {
        RunStatus::Queued => "is queued",
        RunStatus::Running => "is working",
        RunStatus::Waiting => waits_for.unwrap_or("waits"),
        RunStatus::Completed => "is done",
        RunStatus::Failed => "failed",
        RunStatus::Stopped => "was stopped",
    }
}

/// The newest runs, beside a conversation.
pub(crate) fn newest(thread: &str, runs: &[Run], has_more: bool) -> Markup {
    html! {
        section {
            h2 { a href=(format!("/t/{thread}/runs")) { "Runs" } span.count { (runs.len()) @if has_more { "+" } } }
            @if runs.is_empty() { p.small { "No agent worked here yet." } }
            ul.kin {
                @for run in runs {
                    li {
                        a href=(format!("/t/{thread}/runs/{}", run.id)) { span.dot data-run=(run.status.as_str()) {} " " bdi { (brief(worker(run), 30)) } ", " (run.status.as_str()) }
                        span.small { (counted(run.step_count, "step")) @if run.usage != Usage::default() { ", " (grouped(tokens(run.usage))) " tokens" } ", " (time(run.started_at)) }
                    }
                }
            }
        }
    }
}

fn tokens(usage: Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

/// A cost in millionths, as people read it.
fn cost(micros: u64) -> String {
    let whole = micros as f64 / 1e6;
    if micros >= 1_000_000 { format!("{whole:.2}") } else { format!("{whole:.4}") }
}

/// The screen of a thread's runs, the newest first.
pub fn runs(thread: &Thread, page: &Page<Run>, may_write: bool) -> Markup {
    let short = thread.short_id.to_string();
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Runs, may_write))
            div #runs data-live="" {
                @if page.items.is_empty() {
                    section.empty {
                        h2 { "No runs yet" }
                        p { "A run is one piece of work of an agent on this thread. An agent starts it, or you do:" }
                        pre tabindex="0" { code { "threadkeep run start " (short) } }
                    }
                } @else {
                    ul.rows.runs #rows { @for run in &page.items { (row(&short, run, may_write)) } }
                }
                @if let Some(cursor) = &page.next_cursor { p.more { a href=(format!("/t/{short}/runs?cursor={}", percent(cursor))) { "Older runs" } } }
            }
        }
    }
}

fn row(short: &str, run: &Run, may_write: bool) -> Markup {
    html! {
        li.row {
            span.dot data-run=(run.status.as_str()) {}
            a.name href=(format!("/t/{short}/runs/{}", run.id)) { bdi { (brief(worker(run), 60)) } }
            span.what { (run.status.as_str()) @if let Some(reason) = &run.reason { ", " (words(reason)) } }
            span.number { (counted(run.step_count, "step")) }
            span.number { @if tokens(run.usage) > 0 { (grouped(tokens(run.usage))) " tokens" } }
            span.number { @if run.usage.cost_micros > 0 { "cost " (cost(run.usage.cost_micros)) } }
            span.number { @if let Some(end) = run.completed_at { (duration(between(run.started_at, end))) } }
            span.when { (time(run.started_at)) }
            span { @if may_write && is_open(run.status) { (stop(run.id, run.stop_requested_at.is_some())) } }
        }
    }
}

/// A code, such as `stop_tool`, as words.
fn words(code: &str) -> String {
    code.replace('_', " ")
}

fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_micros() - from.as_micros()).unwrap_or(0)
}

/// The screen of a run: facts, what it waits for, and its steps on a timeline.
pub fn run(thread: &Thread, told: &RunTold, may_write: bool) -> Markup {
    let short = thread.short_id.to_string();
    let end = told.completed_at.or_else(|| told.steps.last().map(|step| step.at)).unwrap_or(told.started_at);
    let whole = between(told.started_at, end).max(1);
    let usage = told.usage;
    let fact = |name: &str, said: Markup| html! { div { dt { (name) } dd { (said) } } };
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Runs, may_write))
            nav.crumbs aria-label="Path" { a href=(format!("/t/{short}/runs")) { "runs" } span { "/" } code { (told.id) } }
            div #run data-live="" {
                section.card {
                    div.head {
                        h2 { bdi { (brief(told.agent_id.as_deref().unwrap_or(&told.by), 60)) } }
                        (status(told.status))
                        @if let Some(reason) = &told.reason { span.tag { (words(reason)) } }
                        span.spring {}
                        @if may_write && is_open(told.status) { (stop(told.id, told.stop_requested_at.is_some())) }
                    }
                    dl.figures {
                        (fact("Steps", html! { (grouped(told.step_count)) }))
                        (fact("Time", html! { (duration(whole)) }))
                        (fact("Tokens in", html! { (grouped(usage.input_tokens)) @if usage.cache_read_tokens > 0 { small { (grouped(usage.cache_read_tokens)) " cached" } } }))
                        (fact("Tokens out", html! { (grouped(usage.output_tokens)) }))
                        (fact("Cost", html! { @if usage.cost_micros > 0 { (cost(usage.cost_micros)) } @else { "–" } }))
                    }
                    p.facts {
                        span { "started by " bdi { (brief(&told.by, 60)) } " " (time(told.started_at)) }
                        @if let Some(at) = told.completed_at { span { "ended " (time(at)) } }
                        span { @match told.executor { Executor::Runtime => "run by this server", Executor::Caller => "run by its caller" } }
                        @if told.attempt > 1 { span { "attempt " (told.attempt) } }
                        @if let Some(at) = told.expires_at { span { "may be taken over " (time(at)) } }
                    }
                    @for wait in &told.waits { p.warn { (waiting(wait)) } }
                }
                @if told.steps.is_empty() { p.empty { "No step was stored yet." } }
                @else { ol.steps-list aria-label="Steps" { @for (place, step) in told.steps.iter().enumerate() { (step_row(&short, told, place, step, whole)) } } }
            }
        }
    }
}

/// What a run waits for.
fn waiting(wait: &Wait) -> Markup {
    html! {
        @match wait {
            Wait::Approval { .. } => { "It waits for an approval. " a href="/inbox" { "Answer it in the inbox" } },
            Wait::Child { thread_id } => { "It waits for a subagent. " a href=(format!("/t/{}", thread_id.short())) { "Open its thread" } },
            Wait::Human => "It waits for a message of a human.",
        }
    }
}

/// A step: when on the timeline of its run, and what its model took.
fn step_row(short: &str, told: &RunTold, place: usize, step: &RunStep, whole: u64) -> Markup {
    let before = place.checked_sub(1).map_or(told.started_at, |before| told.steps[before].at);
    let (from, to) = (between(told.started_at, before).min(whole), between(told.started_at, step.at).min(whole));
    let scale = |micros: u64| micros.saturating_mul(TIMELINE) / whole;
    let (x, width) = (scale(from).min(TIMELINE - BAR_MIN), (scale(to).saturating_sub(scale(from))).max(BAR_MIN));
    html! {
        li.step {
            div.head {
                strong { "Step " (step.number) } @if step.continues { span.tag { "continued" } }
                @if step.attempt > 1 { span.tag { "attempt " (step.attempt) } }
                @if let Some(model) = &step.model { span { bdi { (brief(&model.model, 60)) } } @if let Some(side) = &model.side { span.tag { "side " bdi { (brief(side, 20)) } } } }
                span.spring {}
                a href=(format!("/t/{short}?v={}", step.version)) { "v" (step.version) }
                span.small { "+" (duration(to)) }
            }
            svg.timeline viewBox=(format!("0 0 {TIMELINE} 8")) preserveAspectRatio="none" aria-hidden="true" {
                rect.track width=(TIMELINE) height="8" {}
                rect.spent x=(x) width=(width) height="8" {}
            }
            @if let Some(model) = &step.model {
                p.facts {
                    span { (grouped(model.usage.input_tokens)) " tokens in" @if model.usage.cache_read_tokens > 0 { ", " (grouped(model.usage.cache_read_tokens)) " cached" } }
                    span { (grouped(model.usage.output_tokens)) " tokens out" }
                    @if model.usage.cost_micros > 0 { span { "cost " (cost(model.usage.cost_micros)) } }
                    @if let Some(first) = model.first_response_ms { span { "first text after " (duration(first.saturating_mul(1_000))) } }
                    @if let Some(took) = model.duration_ms { span { "answered in " (duration(took.saturating_mul(1_000))) } }
                    @if model.messages > 0 { span { "read " (counted(model.messages, "message")) @if let Some(version) = model.as_of { " at " a href=(format!("/t/{short}?v={version}")) { "v" (version) } } } }
                    // Of the last question of a run, the call knows where its messages began.
                    @let saw = match model.as_of {
                        _ if told.steps[place + 1..].iter().all(|later| later.model.is_none()) => Some(format!("run={}", told.id)),
                        as_of => as_of.map(|version| format!("v={version}")),
                    };
                    @if let Some(saw) = saw { a href=(format!("/t/{short}/context?{saw}")) { "what it saw" } }
                    @if let Some(prompt) = &model.prompt { span { "prompt " bdi { (brief(prompt, 60)) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_costs_keep_their_digits() {
        assert_eq!((cost(12_345_678), cost(1_234), cost(0)), ("12.35".into(), "0.0012".into(), "0.0000".into()));
    }
}
