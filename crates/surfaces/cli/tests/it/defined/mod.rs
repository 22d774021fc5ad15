//! What a folder of definitions gives a thread beside tools: effects, tools of MCP servers, packages.

mod effects;
mod mcp;
mod pack;
