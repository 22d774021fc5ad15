//! The frame around every screen: bar, navigation, dialogs. And the page that explains a problem.

use maud::{DOCTYPE, Markup, html};
use threadkeep_calls::{Me, Problem, Scope};

use crate::assets::path;

/// What a page may do in a browser: load from this server alone, and put HTML in place through one policy.
pub const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
     manifest-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types threadkeep";

/// The colours that the reader chose; those of the system without a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

impl Theme {
    /// The theme with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "light" => Some(Self::Light),
            "dark" => Some(Self::Dark),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The part of the page that a screen belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the entry of the same name in the navigation")]
pub enum Place {
    Threads,
    Inbox,
    Search,
    Memories,
    Projects,
    Settings,
    /// A thread, which has a screen of its own.
    Thread,
    /// An explanation of why something was refused.
    Problem,
}

/// What the frame shows beside its screen.
pub struct Frame<'a> {
    /// The reader; none for a visitor.
    pub me: Option<&'a Me>,
    /// The colours that the reader chose.
    pub theme: Option<Theme>,
    /// Approvals that wait for an answer.
    pub waiting: u64,
    /// The part of the page that the screen belongs to.
    pub place: Place,
    /// The title of the window.
    pub title: &'a str,
    /// The first line of what is shown, for previews of links; empty for pages that are not public.
    pub lead: &'a str,
    /// The agents that work here, by name.
    pub agents: &'a [String],
}

/// A whole page: `content` in its frame.
pub fn screen(frame: &Frame<'_>, content: &Markup) -> String {
    let Frame { me, theme, waiting, place, title, lead, agents } = *frame;
    let page = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme.map(Theme::as_str)] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) " · Threadkeep" }
                @if !lead.is_empty() {
                    meta name="description" content=(lead);
                    meta property="og:title" content=(title);
                    meta property="og:description" content=(lead);
                }
                link rel="icon" href=(path("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(path("app.css"));
                @for module in ["app.js", "dom.js", "call.js", "live.js", "keys.js"] {
                    link rel="modulepreload" href=(path(module));
                }
                script type="module" src=(path("app.js")) {}
            }
            body data-place=(name_of(place)) data-may=[me.map(|me| me.scope.as_str())] {
                a.skip href="#main" { "Skip to content" }
                header.bar {
                    a.brand href="/" aria-label="Threadkeep" { (mark()) span { "Threadkeep" } }
                    @if me.is_some() {
                        button.find type="button" data-open="palette" aria-keyshortcuts="Control+K" {
                            span { "Find or do…" } kbd { "Ctrl K" }
                        }
                    }
                    span.spring {}
                    @if let Some(me) = me {
                        span #live data-state="wait" role="status" { "connecting" }
                        button.icon #theme type="button" aria-label="Switch colours" title="Switch colours" { "◐" }
                        details.menu.who {
                            summary { bdi { (me.actor.name) } }
                            div {
                                p { "Account " strong { bdi { (me.account.as_str()) } } ", may " (me.scope.as_str()) }
                                a href="/settings" { "Settings" }
                                button type="button" data-open="keys" { "Keyboard" kbd { "?" } }
                                a href="/docs" { "API and docs" }
                                form method="post" action="/sign-out" { button { "Sign out" } }
                            }
                        }
                    } @else {
                        button.icon #theme type="button" aria-label="Switch colours" title="Switch colours" { "◐" }
                        @if place != Place::Problem { a.button href="/sign-in" { "Sign in" } }
                    }
                }
                @if me.is_some() { (navigation(place, waiting)) }
                main #main tabindex="-1" { (content) }
                div #offline role="status" hidden { "The server does not answer. Nothing you typed is lost." }
                div #toasts role="status" aria-live="polite" {}
                div #spoken .hidden role="log" aria-live="polite" aria-label="New messages" {}
                @if let Some(me) = me { (dialogs(me, agents)) }
            }
        }
    };
    page.into_string()
}

fn name_of(place: Place) -> &'static str {
    match place {
        Place::Threads => "threads",
        Place::Inbox => "inbox",
        Place::Search => "search",
        Place::Memories => "memories",
        Place::Projects => "projects",
        Place::Settings => "settings",
        Place::Thread => "thread",
        Place::Problem => "problem",
    }
}

/// The mark of the product: a thread that forks.
pub(crate) fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" {
            path d="M7 3v18M7 9c0 5 10 3 10 9v3" {}
            circle cx="7" cy="9" r="2.4" {}
            circle cx="17" cy="17" r="2.4" {}
        }
    }
}

fn navigation(place: Place, waiting: u64) -> Markup {
    let entries = [
        (Place::Threads, "/", "Threads"),
        (Place::Inbox, "/inbox", "Inbox"),
        (Place::Search, "/search", "Search"),
        (Place::Memories, "/memories", "Memories"),
        (Place::Projects, "/projects", "Projects"),
        (Place::Settings, "/settings", "Settings"),
    ];
    html! {
        nav.side aria-label="Main" {
            @for (own, to, label) in entries {
                a href=(to) aria-current=[(own == place).then_some("page")] {
                    (icon(own))
                    span { (label) }
                    @if own == Place::Inbox {
                        span.badge #waiting hidden[waiting == 0] {
                            span { (waiting) } span.hidden { " waiting" }
                        }
                    }
                }
            }
        }
    }
}

/// The icon of a part of the page.
fn icon(place: Place) -> Markup {
    let lines = match place {
        Place::Threads | Place::Thread | Place::Problem => "M5 6.5h14M5 12h14M5 17.5h9",
        Place::Inbox => "M4 13.5 6.8 5h10.4L20 13.5V19H4zM4 13.5h4.5l1.2 2.5h4.6l1.2-2.5H20",
        Place::Search => "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM20 20l-4.7-4.7",
        Place::Memories => "M6 4h12v16l-6-4-6 4zM9.5 8.5h5",
        Place::Projects => "M3.5 6h6l2 2.5h9V19h-17z",
        Place::Settings => {
            "M4 8h8M18 8h2M4 16h2M12 16h8M15 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM9 13.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z"
        }
    };
    html! { svg.icon viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" { path d=(lines) {} } }
}

fn dialogs(me: &Me, agents: &[String]) -> Markup {
    html! {
        dialog #palette aria-label="Find or do" {
            input type="text" placeholder="A thread, a page, an action…" aria-label="Find or do" autocomplete="off" spellcheck="false"
                role="combobox" aria-expanded="true" aria-controls="palette-list";
            ul #palette-list role="listbox" aria-label="Results" {}
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keyboard" }
            dl.keymap {
                @for (keys, what) in KEYS { div { dt { @for key in keys.split(' ') { kbd { (key) } } } dd { (what) } } }
            }
            form method="dialog" { button { "Close" } }
        }
        dialog #signin aria-labelledby="signin-title" {
            h2 #signin-title { "Sign in again" }
            p { "Your session ended, perhaps because the server was restarted. What you typed is still here." }
            form data-sign-in="here" {
                label { "API key" input type="password" name="key" autocomplete="off" required; }
                p.hint { "Or run " code { "threadkeep store sign-in" } " and open its link in another tab." }
                p.actions { button.primary { "Sign in" } button type="button" data-close="" { "Not now" } }
            }
        }
        @if me.scope >= Scope::Write {
            datalist #agents { @for agent in agents { option value=(agent) {} } }
            dialog #new-thread aria-labelledby="new-title" {
                h2 #new-title { "New thread" }
                form data-call="POST /v1/threads" data-then="open" {
                    label { "Title" input type="text" name="title" maxlength="200" autocomplete="off"; }
                    label { "First message" textarea name="messages.0.content" rows="4" {} }
                    @if !agents.is_empty() {
                        label { "Agent that answers" select name="agentId" {
                            option value="" { "None" }
                            @for agent in agents { option value=(agent) { (agent) } }
                        } }
                    }
                    input type="hidden" name="messages.0.role" value="user";
                    p.actions { button.primary { "Create" } button type="button" data-close="" { "Cancel" } }
                }
            }
        }
    }
}

/// The keyboard map.
const KEYS: [(&str, &str); 18] = [
    ("?", "this help"),
    ("Ctrl K", "find or do"),
    ("g t", "threads"),
    ("g i", "inbox"),
    ("g s", "search"),
    ("g m", "memories"),
    ("/", "filter or search"),
    ("n", "new thread"),
    ("j k", "next, previous row"),
    ("o", "open"),
    ("[ ]", "previous, next message"),
    ("f", "fork from the message in focus"),
    ("m", "map of the family"),
    ("c", "compare two threads of the map"),
    ("y", "copy the link"),
    (".", "actions"),
    ("r", "reply"),
    ("Ctrl Enter", "send"),
];

/// The heading of a refusal.
pub fn heading(problem: &Problem) -> &'static str {
    match problem.status.http() {
        401 => "Sign in first",
        403 => "Not allowed",
        404 => "Not found",
        410 => "Gone",
        429 => "Too many requests",
        400..=499 => "This cannot be shown",
        _ => "The server has a problem",
    }
}

/// The content of a page that explains why something was refused.
pub fn problem(problem: &Problem, request_id: &str) -> Markup {
    html! {
        section.empty {
            h1 { (heading(problem)) }
            p { (problem.detail) }
            @if let Some(hint) = &problem.hint { p.hint { (hint) } }
            p.actions {
                a.button href="/" { "Threads" }
                a href=(format!("/docs/errors/{}", problem.code)) { (problem.code) }
            }
            @if !request_id.is_empty() { p.small { "Request " code { (request_id) } } }
        }
    }
}
