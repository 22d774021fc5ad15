//! The groups of calls in the documentation, in its order.

use crate::call::Group;

pub(crate) const THREADS: Group = Group { name: "Threads", about: "Make threads, read, change, list and delete them." };
pub(crate) const MESSAGES: Group =
    Group { name: "Messages", about: "What was said in a thread, and everything that happened to it." };
pub(crate) const TREE: Group = Group {
    name: "History and family",
    about: "Other ways through a history, and what threads have to do with each other.",
};
pub(crate) const WORK: Group = Group {
    name: "Work",
    about: "Who works on a thread and with what: the queue, executions, agents, skills, subagents.",
};
pub(crate) const PRIMITIVES: Group =
    Group { name: "Primitives", about: "What people and agents do with threads in the same words." };
pub(crate) const AUTHORITY: Group = Group {
    name: "Authority",
    about: "What agents may do: approvals that somebody asks for, and delegations that somebody gives.",
};
pub(crate) const MERGES: Group = Group {
    name: "Merges",
    about: "What other threads made comes together in one of them: files, values and decisions.",
};
pub(crate) const REFERENCES: Group = Group {
    name: "References and observers",
    about: "What threads read of each other, and what they are told of each other.",
};
pub(crate) const FILES: Group = Group {
    name: "Files and values",
    about: "What a thread holds beside its conversation. Every write makes a new version, and every version stays readable.",
};
pub(crate) const ENV: Group = Group {
    name: "Variables",
    about: "Settings and secrets for the agents that work on threads. Values are sealed, and secrets are kept out of texts.",
};
pub(crate) const PROJECTS: Group = Group {
    name: "Projects",
    about: "What groups threads, with the sandbox they work in. Only their account ever sees them.",
};
pub(crate) const KEYS: Group = Group {
    name: "Keys",
    about: "Keys of all accounts, for those who administer; tickets, for browsers that cannot send a key.",
};
pub(crate) const SEARCH: Group =
    Group { name: "Search", about: "Conversations by what they say: by their words, and by what they mean." };
pub(crate) const UPKEEP: Group = Group { name: "Upkeep", about: "For those who administer. It reaches every account." };
