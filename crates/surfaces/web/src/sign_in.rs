//! Signing in: by a link, or by a key that is sent once and kept nowhere.

use maud::{Markup, html};

use crate::frame::mark;

/// The screen for a reader who is not signed in.
pub fn sign_in() -> Markup {
    html! {
        section.sign-in {
            h1 { (mark()) "Sign in" }
            p { "Open the link that " code { "threadkeep serve" } " printed. For a new link, run:" }
            pre tabindex="0" { code { "threadkeep store sign-in" } }
            form data-sign-in="go" {
                label { "Or paste an API key" input type="password" name="key" autocomplete="off" required; }
                p.hint { "The key is sent to this server once. The page keeps a session, and no key." }
                p.actions { button.primary { "Sign in" } a href="/docs" { "API and docs" } }
            }
        }
    }
}
