//! The lifecycle of a thread: its states, and the table of the transitions between them.

use serde::{Deserialize, Serialize};

use crate::text::{from_words, words};

/// The state of a thread's lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// Work on the thread continues.
    #[default]
    Active,
    /// Work is paused until it is resumed.
    Suspended,
    /// The work is done.
    Completed,
    /// The work was given up.
    Cancelled,
    /// Archived for good, and hidden from the main list.
    Archived,
}

words!(Lifecycle:
    Active "active", Suspended "suspended", Completed "completed", Cancelled "cancelled", Archived "archived"
);

/// An action that moves a thread from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LifecycleAction {
    /// The work is done.
    Done,
    /// The thread is archived, for good.
    Archive,
    /// The work is given up.
    Cancel,
    /// The work is paused.
    Suspend,
    /// The work goes on.
    Resume,
}

/// A transition that the table does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a thread that is {} does not take '{}': it allows {}", from.as_str(), action.as_str(), from.allowed_in_words())]
pub struct InvalidTransition {
    /// The state the thread is in.
    pub from: Lifecycle,
    /// The action that was asked for.
    pub action: LifecycleAction,
}

impl Lifecycle {
    /// Whether the content of the thread may change in this state.
    pub fn is_open(self) -> bool {
        match self {
            Self::Active | Self::Suspended => true,
            Self::Completed | Self::Cancelled | Self::Archived => false,
        }
    }

    /// The state after `action`.
    ///
    /// # Errors
    /// [`InvalidTransition`] if this state does not allow the action.
    pub fn after(self, action: LifecycleAction) -> Result<Self, InvalidTransition> {
        use LifecycleAction::{Archive, Cancel, Done, Resume, Suspend};
        match (self, action) {
            (Self::Active, Suspend) => Ok(Self::Suspended),
            (Self::Suspended, Resume) => Ok(Self::Active),
            (Self::Active, Done) => Ok(Self::Completed),
            (Self::Active, Cancel) => Ok(Self::Cancelled),
            (Self::Completed | Self::Cancelled, Archive) => Ok(Self::Archived),
            (Self::Active, Resume | Archive)
            | (Self::Suspended, Suspend | Done | Cancel | Archive)
            | (Self::Completed | Self::Cancelled, Suspend | Resume | Done | Cancel)
            | (Self::Archived, Suspend | Resume | Done | Cancel | Archive) => {
                Err(InvalidTransition { from: self, action })
            }
        }
    }

    /// The actions that this state allows.
    pub fn allowed(self) -> Vec<LifecycleAction> {
        LifecycleAction::ALL.into_iter().filter(|action| self.after(*action).is_ok()).collect()
    }

    /// The same in words: `done, cancel or suspend`; `nothing` where the state is final.
    pub fn allowed_in_words(self) -> String {
        let allowed: Vec<&str> = self.allowed().into_iter().map(LifecycleAction::as_str).collect();
        match &allowed[..] {
            [] => "nothing".to_owned(),
            [only] => (*only).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}

words!(LifecycleAction: Done "done", Archive "archive", Cancel "cancel", Suspend "suspend", Resume "resume");
from_words!(LifecycleAction, "action");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_allows_what_the_drawing_shows_and_nothing_else() {
        let drawn: Vec<String> =
            [Lifecycle::Active, Lifecycle::Suspended, Lifecycle::Completed, Lifecycle::Cancelled, Lifecycle::Archived]
                .map(|state| format!("{}: {}", state.as_str(), state.allowed_in_words()))
                .to_vec();
        assert_eq!(
            drawn,
            [
                "active: done, cancel or suspend",
                "suspended: resume",
                "completed: archive",
                "cancelled: archive",
                "archived: nothing",
            ]
        );
        let refused = Lifecycle::Completed.after(LifecycleAction::Resume);
        let expected = InvalidTransition { from: Lifecycle::Completed, action: LifecycleAction::Resume };
        assert_eq!(refused, Err(expected));
    }

    #[test]
    fn actions_are_found_by_their_text() {
        for action in LifecycleAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        let unknown = "pause".parse::<LifecycleAction>().expect_err("no such action");
        assert!(unknown.rule.contains("done, archive, cancel, suspend, resume"), "{}", unknown.rule);
    }
}
