//! Approvals that agents wait for, and those that were answered.

use maud::{Markup, html};
use threadkeep_calls::Approval;
use threadkeep_model::{ApprovalState, Fallback};

use crate::text::{actor, brief, time, title};

/// The screen of approvals: those that wait, and the newest that were answered. Each comes with the title of its thread.
pub fn inbox(
    waiting: &[(Approval, Option<String>)],
    answered: &[(Approval, Option<String>)],
    may_answer: bool,
) -> Markup {
    html! {
        div.head { h1 { "Inbox" } span.count { (waiting.len()) } }
        div #approvals { (approvals(waiting, may_answer)) }
        @if !answered.is_empty() {
            h2 { "Answered" }
            ul.rows.answered {
                @for (approval, name) in answered {
                    li.row {
                        span.tag data-state=(approval.state.as_str()) { (approval.state.as_str()) }
                        a.name href=(format!("/t/{}", approval.thread_id.short())) { bdi { (title(name.as_deref())) } }
                        span.scope { @for capability in &approval.scope { code { (capability) } " " } }
                        span.agent { @if let Some(by) = &approval.answered_by { "by " (actor(by)) } @else if approval.timed_out { "timed out" } }
                        span.when { @if let Some(at) = approval.answered_at { (time(at)) } }
                    }
                }
            }
        }
    }
}

/// The approvals that wait.
pub fn approvals(waiting: &[(Approval, Option<String>)], may_answer: bool) -> Markup {
    html! {
        @if waiting.is_empty() {
            section.empty {
                h2 { "Nothing waits for you" }
                p { "Agents ask here before they do what needs a human." }
                pre tabindex="0" { code { "threadkeep approvals request THREAD --scope deploy --reason \"Release 1.2\"" } }
            }
        }
        @for (approval, name) in waiting {
            article.approval id=(format!("a-{}", approval.id)) data-approval=(approval.id) tabindex="0" {
                header {
                    (actor(&approval.asked_by)) " wants "
                    @for capability in &approval.scope { code { (capability) } " " }
                    span.when { (time(approval.asked_at)) }
                }
                p { "on " a href=(format!("/t/{}", approval.thread_id.short())) data-key="o" { bdi { (title(name.as_deref())) } } }
                @if let Some(reason) = &approval.reason { blockquote dir="auto" { (brief(reason, 1_000)) } }
                p.small { (outcome(approval)) }
                @if may_answer {
                    div.actions {
                        form data-call=(format!("POST /v1/approvals/{}/approve", approval.id)) data-then="answered" { button.primary data-key="a" { "Approve" kbd { "a" } } }
                        form data-call=(format!("POST /v1/approvals/{}/deny", approval.id)) data-then="answered" {
                            input type="text" name="reason" placeholder="Reason (optional)" aria-label="Reason" autocomplete="off";
                            button.danger data-key="x" { "Deny" kbd { "x" } }
                        }
                    }
                }
            }
        }
    }
}

/// What happens without an answer.
fn outcome(approval: &Approval) -> Markup {
    let then = match approval.fallback {
        Fallback::Skip => "denied",
        Fallback::Block => "still waiting",
        Fallback::AutoApprove => "approved",
    };
    html! {
        @match (approval.state, approval.timeout_at) {
            (ApprovalState::Pending, Some(at)) => { "Without an answer it is " (then) " " (time(at)) "." }
            (ApprovalState::Pending, None) => "It waits until it is answered.",
            (ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Revoked, _) => (approval.state.as_str()),
        }
    }
}
