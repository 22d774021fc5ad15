//! Folders of definitions: whole ones, and ones that are broken in every way.

mod agents;
mod broken;
mod context;
mod dual;
mod effects;
mod fields;
mod reasons;
mod reload;
mod requests;
mod sub_prompts;
mod subagents;
mod support;
mod titles;
mod tokens;
mod whole;
