//! The readers of other agents' formats, through the public surface: fixtures by expected text, files that grow, random
//! trees written and read back, and damaged files.

mod amp;
mod chatgpt;
mod claude_code;
mod cline;
mod codex;
mod damaged;
mod formats;
mod gemini_cli;
mod goose;
mod imported;
mod importing;
mod langgraph;
#[cfg(feature = "postgres")]
mod langgraph_postgres;
mod opencode;
mod pi;
mod plan;
mod seeds;
mod show;
mod trees;
mod zed;
