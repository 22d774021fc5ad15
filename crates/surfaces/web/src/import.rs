//! Import: files are dropped, tried without writing anything, and then imported.

use maud::{Markup, html};
use threadkeep_calls::Scope;

/// The screen on which conversations of other agents, and exports, are brought in. `agents` are the formats that can be read.
pub fn import(agents: &[&str], scope: Scope) -> Markup {
    html! {
        div.head { h1 { "Import" } }
        @if scope < Scope::Write {
            section.empty { h2 { "Your key may only read" } p { "An import needs a key that may write." } p.actions { a.button href="/settings" { "Settings" } } }
        } @else {
            section.card #import {
                p { "Bring your conversations with other agents" @if scope >= Scope::Admin { ", or an export of another Threadkeep" } ". Each file is tried first: nothing is written before you say so." }
                label.drop {
                    strong { "Drop files here" } span.button { "Choose files" }
                    input #import-files type="file" multiple;
                }
                template #import-row {
                    li.importing {
                        div.head {
                            strong { bdi {} } span.small {} span.spring {}
                            label { span.hidden { "Written by" }
                                select aria-label="Written by" {
                                    option value="" { "Which agent wrote it?" }
                                    @if scope >= Scope::Admin { option value="export" { "Threadkeep export" } }
                                    @for agent in agents { option value=(agent) { (agent) } }
                                }
                            }
                            button.primary type="button" disabled { "Import" }
                        }
                        progress max="1" hidden aria-label="Sent" {}
                        p.outcome role="status" {}
                        details.fold hidden { summary { "What was skipped" } ul {} }
                    }
                }
                ul #import-list {}
            }
            section.card {
                h2 { "From a terminal" }
                p { "On the machine that has the conversations, one command finds and imports them all:" }
                pre.shell tabindex="0" { code { "threadkeep import auto" } }
                p.small { "Sending the same file again adds only what is new." }
            }
        }
    }
}
