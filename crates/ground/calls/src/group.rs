//! The groups of calls in the documentation, in its order.

use crate::call::Group;

pub(crate) const THREADS: Group = Group { name: "Threads", about: "Make threads, read, change, list and delete them." };
pub(crate) const MESSAGES: Group =
    Group { name: "Messages", about: "Read, append, edit and delete the messages of a thread, and read its log." };
pub(crate) const TREE: Group = Group {
    name: "History and family",
    about: "Fork, hand off, roll back and name versions. Show related threads and the exclusive writer.",
};
pub(crate) const WORK: Group =
    Group { name: "Work", about: "The work of agents on a thread: queue, tools, effects, skills and subagents." };
pub(crate) const RUNS: Group = Group {
    name: "Runs",
    about: "Runs of agents: start, follow and stop them, or work on them with an executor of your own.",
};
pub(crate) const PRIMITIVES: Group =
    Group { name: "Primitives", about: "Spawn, lifecycle, inject and decide: the verbs that people and agents share." };
pub(crate) const AUTHORITY: Group = Group {
    name: "Authority",
    about: "What agents may do: approvals that they request, and delegations that humans give.",
};
pub(crate) const MERGES: Group =
    Group { name: "Merges", about: "Merge files, values and decisions of other threads into a thread." };
pub(crate) const REFERENCES: Group = Group {
    name: "References and observers",
    about: "Read other threads through references, and get their events through observers.",
};
pub(crate) const FILES: Group = Group {
    name: "Files and values",
    about: "The files and values of a thread. Every write makes a new version, and every version stays readable.",
};
pub(crate) const ENV: Group = Group {
    name: "Variables",
    about: "Settings and secrets for the agents that work on threads. Values are sealed, and secrets are kept out of texts.",
};
pub(crate) const PROJECTS: Group = Group {
    name: "Projects",
    about: "Groups of threads, with the sandbox they work in. Only the account of a project sees it.",
};
pub(crate) const MEMORIES: Group = Group {
    name: "Memories",
    about: "Texts that are remembered across threads, in an account or a project. Only their account sees them.",
};
pub(crate) const KEYS: Group =
    Group { name: "Keys", about: "Keys of all accounts, for administrators. Tickets and sign-in links, for browsers." };
pub(crate) const SEARCH: Group =
    Group { name: "Search", about: "Find conversations by their words and by their meaning." };
pub(crate) const UPKEEP: Group = Group {
    name: "Upkeep",
    about: "Garbage collection, checks, exports and backups. They cover every account and need an admin key.",
};
