//! Settings: the reader, keys, health of the server; and the list of projects.

use maud::{Markup, html};
use threadkeep_calls::{Key, Me, Project, Scope, SearchStatus};

use crate::text::{brief, grouped, kind_of, size, time};
use crate::threads::percent;

/// The state of the server.
pub struct Health<'a> {
    /// Whether code of requests runs; else why not.
    pub sandbox: &'a str,
    /// The search index.
    pub index: Option<&'a SearchStatus>,
}

/// The screen of settings. Keys are shown to administrators.
pub fn settings(me: &Me, keys: Option<&[Key]>, health: &Health<'_>) -> Markup {
    html! {
        div.head { h1 { "Settings" } }
        section.card {
            h2 { "You" }
            dl.facts-list {
                div { dt { "Account" } dd { bdi { (me.account.as_str()) } } }
                div { dt { "Acting as" } dd { (kind_of(me.actor.kind)) " " bdi { (me.actor.name) } } }
                div { dt { "May" } dd { (me.scope.as_str()) } }
                div { dt { "Server" } dd { "Threadkeep " (me.version) } }
            }
        }
        section.card {
            h2 { "Keys" }
            @match keys {
                None => p.small { "Your key may not see keys. An administrator's key may." },
                Some(keys) => {
                    @if keys.is_empty() { p.small { "No keys were created yet. This machine uses its local key." } }
                    @else {
                        div.scroll tabindex="0" role="region" aria-label="Keys" { table {
                            thead { tr { th { "Name" } th { "Account" } th { "Scope" } th { "Made" } th { "Ends" } th { span.hidden { "Action" } } } }
                            tbody { @for key in keys {
                                tr .gone[key.revoked_at.is_some()] {
                                    td { bdi { (brief(&key.name, 40)) } @if key.kind != threadkeep_model::ActorKind::Human { " " span.tag { (kind_of(key.kind)) } } }
                                    td { bdi { (brief(key.account.as_str(), 40)) } }
                                    td { (key.scope.as_str()) }
                                    td { (time(key.created_at)) }
                                    td { @if let Some(at) = key.revoked_at { "revoked " (time(at)) } @else if let Some(at) = key.expires_at { (time(at)) } @else { "never" } }
                                    td { @if key.revoked_at.is_none() { form data-call=(format!("DELETE /v1/keys/{}", percent(&key.id))) data-then="reload" data-sure="Revoke this key? Everything it opened ends at once." { button.danger { "Revoke" } } } }
                                }
                            } }
                        } }
                    }
                    details.fold { summary { "New key" }
                        form data-call="POST /v1/keys" data-then="shows" data-shows="key" {
                            label { "Account" input type="text" name="account" value=(me.account.as_str()) required autocomplete="off"; }
                            label { "Name" input type="text" name="name" autocomplete="off"; }
                            label { "Scope" select name="scope" { @for scope in [Scope::Write, Scope::Read, Scope::Admin] { option value=(scope.as_str()) { (scope.as_str()) } } } }
                            label.check { input type="checkbox" name="agent:boolean" value="true"; " For an agent" }
                            p.actions { button.primary { "Create" } }
                        }
                        p #new-key hidden { "This key is shown once: " code {} " " button type="button" data-copy="" { "Copy" } }
                    }
                }
            }
        }
        section.card {
            h2 { "Import" }
            p { "Bring your conversations with other agents, or an export of another Threadkeep." }
            p.actions { a.button href="/import" { "Import files" } }
        }
        section.card {
            h2 { "Health" }
            dl.facts-list {
                div { dt { "Sandbox" } dd { (health.sandbox) } }
                @if let Some(index) = health.index {
                    div { dt { "Search index" } dd { (if index.caught_up { "up to date" } else { "behind" }) ", " (grouped(index.messages)) " messages, " (size(index.bytes)) } }
                    div { dt { "Embedder" } dd { (index.model) } }
                }
                div { dt { "More" } dd {  a href="/metrics" { "Metrics" } " · " a href="/docs" { "API and docs" } " · " a href="/openapi.json" { "OpenAPI" } } }
            }
        }
    }
}

/// The screen of projects.
pub fn projects(found: &[Project], may_write: bool) -> Markup {
    html! {
        div.head { h1 { "Projects" } span.count { (found.len()) } }
        @if found.is_empty() {
            section.empty { h2 { "No projects" } p { "A project groups threads." } pre tabindex="0" { code { "threadkeep projects create garden --name Garden" } } }
        } @else {
            ul.rows #rows {
                @for project in found {
                    li.row {
                        span.dot data-state="project" {}
                        a.name href=(format!("/?projectId={}", percent(&project.id))) { bdi { (brief(&project.name, 80)) } }
                        span.agent { code { bdi { (brief(&project.id, 40)) } } }
                        span.when { (time(project.created_at)) }
                        @if may_write {
                            form data-call=(format!("DELETE /v1/projects/{}", percent(&project.id))) data-then="reload" data-sure="Delete this project? Its threads stay." { button.quiet aria-label=(format!("Delete {}", brief(&project.name, 40))) { "×" } }
                        }
                    }
                }
            }
        }
        @if may_write {
            details.fold { summary { "New project" }
                form data-call="POST /v1/projects" data-then="reload" {
                    label { "Name" input type="text" name="name" required autocomplete="off"; }
                    label { "Id (made if empty)" input type="text" name="id" autocomplete="off"; }
                    p.actions { button.primary { "Create" } }
                }
            }
        }
    }
}
