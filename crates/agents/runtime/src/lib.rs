//! Agents on threads.
//!
//! `definitions` reads a folder of agents, prompts, models, tools, effects, hooks, endpoints and skills, checks it, and
//! gives each by its name. It knows nothing of threads, models or code that runs.

pub mod definitions;
