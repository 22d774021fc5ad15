//! What the model of a prompt is given of a thread: the conversation that fits, the summary of what was cut, memories and
//! active skills.
//!
//! The engine decides which messages fit ([`threadkeep_engine::Wanted`]). Here definitions say how many tokens there are,
//! and what was cut is summarized, by a model or without one. [`load_tokenizer`] reads the table with which tokens are counted exactly.

pub use crate::bpe::load as load_tokenizer;

use std::sync::Arc;

use serde_json::Value;
use threadkeep_calls::{ContextSummary, ContextTokens, ModelMessage};
use threadkeep_engine::{CONVERSATION_TOKENS, Cut, Engine, Estimate, Request, Tokenizer, Wanted};
use threadkeep_model::{MessageId, Part, RunSide, Thread, ThreadId, Version};
use threadkeep_store::BoxFuture;

use crate::RuntimeError;
use crate::definitions::{Definition, Definitions, Kind, Model, PartOfPrompt, Prompt, PromptText};

/// Tokens of an answer, where neither the model nor the thread says how many.
const ANSWER_TOKENS: u64 = 4_096;
/// The part of a model's tokens that an answer may take, in percent, if its limit is not smaller.
const ANSWER_PERCENT: u64 = 25;
/// Tokens for memories: a part of the conversation in percent, and the maximum.
const MEMORY_PERCENT: u64 = 5;
const MEMORY_TOKENS_MAX: u64 = 2_000;
/// Tokens of the conversation at least, however large prompt and tools are.
const CONVERSATION_TOKENS_MIN: u64 = 256;
/// The part of a budget that the text may take of which a summary is made, in percent.
pub(crate) const TOLD_PERCENT: u64 = 70;
/// Characters of a message in a text of which a summary is made.
const TOLD_CHARS_MAX: usize = 4_000;
/// How often a conversation is read again after it was cut.
const CUTS_MAX: usize = 3;
/// Estimated tokens of a tool of which only the name is known.
const TOOL_TOKENS: u64 = 150;
/// Tokens around each tool of a request.
const TOOL_FRAME_TOKENS: u64 = 12;

/// Makes a summary of what was cut, with a model.
pub trait Summarize: Send + Sync {
    /// The summary of what was told, and the name of the model; none if no model can be asked. It has at most `tokens`
    /// tokens.
    fn summarize<'a>(&'a self, told: &'a str, tokens: u64) -> BoxFuture<'a, Option<(String, String)>>;
}

/// What a model is asked about.
pub struct Ask<'a> {
    /// The engine that acts for the run.
    pub engine: &'a Engine,
    /// The thread.
    pub thread: ThreadId,
    /// The definitions with which the run began.
    pub definitions: &'a Definitions,
    /// The package of the prompt.
    pub package: Option<&'a str>,
    /// The prompt.
    pub prompt: &'a Prompt,
    /// The model that is asked.
    pub model: &'a Model,
    /// The side of an agent with two models.
    pub side: RunSide,
    /// Tokens of the system prompt and the tools, as far as they are known.
    pub fixed: Option<ContextTokens>,
    /// How much of the budget is used, in percent: 100, and less after a provider said that a request was too long.
    pub percent: u64,
    /// Makes summaries. Without it they are picked from the messages.
    pub summarize: Option<&'a dyn Summarize>,
}

/// What a model is given of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The version of the thread that was read.
    pub as_of: Version,
    /// The first message of the thread that is given.
    pub first: Option<MessageId>,
    /// The messages: the summary, the conversation, and memories before the last message of the other side.
    pub messages: Vec<ModelMessage>,
    /// The texts of the active skills, for the system prompt.
    pub skills: Vec<String>,
    /// Tokens of each part.
    pub tokens: ContextTokens,
}

/// Reads what a model is given. A conversation that takes too much of its budget is cut, and summarized first.
///
/// # Errors
/// If the thread cannot be read.
pub async fn given(ask: Ask<'_>) -> Result<Given, RuntimeError> {
    let engine = ask.engine;
    let thread = engine.thread(ask.thread).await?;
    let skills = skills(ask.definitions, ask.package, &thread);
    let request = request(ask.definitions, ask.package, ask.prompt, ask.model, ask.side, &thread);
    let Request { mut wanted, system, tools, skills: skilled, memory, .. } = request;
    let fixed = ask.fixed.unwrap_or(ContextTokens { system, tools, ..ContextTokens::default() });
    wanted.tokens = (wanted.tokens + system + tools).saturating_sub(fixed.system + fixed.tools);
    wanted.tokens = (wanted.tokens * ask.percent.min(100) / 100).max(CONVERSATION_TOKENS_MIN);
    let mut told = engine.conversation(&thread, None, &wanted).await?;
    for _ in 0..CUTS_MAX {
        let Some(cut) = told.cut.take() else { break };
        let summary = summarized(&ask, &wanted, &cut).await;
        let kept = engine.summarize_context(ask.thread, cut.covers, &summary.text, summary.model.as_deref()).await;
        match kept {
            Ok(Some(_)) => told = engine.conversation(&engine.thread(ask.thread).await?, None, &wanted).await?,
            // It was changed meanwhile, or cannot be written to: the summary serves this request alone.
            Ok(None) | Err(_) => {
                told.summary = Some(summary);
                break;
            }
        }
    }
    let (memories, remembered) = engine.remembered(&thread, &told, memory, &wanted).await?;
    let tokens = ContextTokens {
        skills: skilled,
        summary: told.summary.as_ref().map_or(0, |summary| summary.tokens),
        memories: remembered,
        messages: told.tokens.iter().sum(),
        ..fixed
    };
    let (as_of, first) = (told.version, told.messages.iter().find_map(|message| message.id));
    Ok(Given { as_of, first, messages: told.with_notes(&memories), skills, tokens: tokens.summed() })
}

async fn summarized(ask: &Ask<'_>, wanted: &Wanted, cut: &Cut) -> ContextSummary {
    let room = cut.room;
    let made = match ask.summarize {
        Some(summarize) => {
            let told = transcript(cut.before.as_deref(), &cut.messages);
            let told = wanted.fitted(&told, wanted.tokens * TOLD_PERCENT / 100);
            summarize.summarize(&told, room).await
        }
        None => None,
    };
    let (text, model) = match made.filter(|(text, _)| !text.trim().is_empty()) {
        Some((text, model)) => (wanted.fitted(&text, room), Some(model)),
        None => (cut.built_in.clone(), None),
    };
    let tokens = wanted.tokenizer.count(&text);
    ContextSummary { covers: cut.covers, text, model, version: None, tokens }
}

/// A conversation as text, after the summary of what was before it.
pub(crate) fn transcript(before: Option<&str>, messages: &[ModelMessage]) -> String {
    let mut told = Vec::new();
    told.extend(before.map(|before| format!("Summary of what was before:\n{before}")));
    for message in messages {
        let mut texts = Vec::new();
        for part in message.content.to_parts() {
            texts.extend(match part {
                Part::Text { text } => Some(text),
                Part::ToolUse { name, input, .. } => Some(format!("calls {name} {input}")),
                Part::ToolResult { content: Value::String(text), .. } => Some(text),
                Part::ToolResult { content, .. } => Some(content.to_string()),
                Part::Image { path, name, .. } | Part::File { path, name, .. } => {
                    Some(format!("[{}]", name.unwrap_or(path)))
                }
                Part::Thinking { .. } => None,
            });
        }
        let text = texts.join("\n");
        if let Some((end, _)) = text.char_indices().nth(TOLD_CHARS_MAX) {
            told.push(format!("{}: {}…", message.role, &text[..end]));
        } else if !text.trim().is_empty() {
            told.push(format!("{}: {text}", message.role));
        }
    }
    told.join("\n\n")
}

/// Tokens of what every request has beside the conversation: the texts of the system prompt, and the tools.
pub(crate) fn fixed<'a>(
    all: &Definitions,
    model: &Model,
    system: impl Iterator<Item = &'a String>,
    tools: &[threadkeep_providers::Tool],
) -> ContextTokens {
    let tokenizer = tokenizer(all, model);
    let tool = |tool: &threadkeep_providers::Tool| {
        let text = tokenizer.count(&tool.description) + tokenizer.count(&tool.schema.to_string());
        tokenizer.count(&tool.name) + text + TOOL_FRAME_TOKENS
    };
    let system = system.map(|text| tokenizer.count(text)).sum();
    ContextTokens { system, tools: tools.iter().map(tool).sum(), ..ContextTokens::default() }
}

/// How the model of a thread's agent is asked; none if the agent is not defined here.
pub(crate) fn request_of(all: &Definitions, thread: &Thread) -> Option<Request> {
    let (name, agent) = all.agent(thread.record.agent_id.as_deref()?, None).ok()?;
    let package = name.package.as_deref();
    let (_, prompt) = all.prompt(&agent.side_a.prompt, package).ok()?;
    let (_, model) = all.model(&prompt.model, package).ok()?;
    Some(request(all, package, prompt, model, RunSide::A, thread))
}

fn request(
    all: &Definitions,
    package: Option<&str>,
    prompt: &Prompt,
    model: &Model,
    side: RunSide,
    thread: &Thread,
) -> Request {
    let tokenizer = tokenizer(all, model);
    let system = tokenizer.count(&prompt_text(all, package, prompt));
    let tools = prompt.tools.len() as u64 * TOOL_TOKENS;
    let skills: u64 = skills(all, package, thread).iter().map(|text| tokenizer.count(text)).sum();
    let window = model.context_tokens.unwrap_or(CONVERSATION_TOKENS);
    let answer = model.max_tokens.into_iter().chain(thread.record.max_tokens).min().unwrap_or(ANSWER_TOKENS);
    let left = window.saturating_sub(answer.min(window * ANSWER_PERCENT / 100));
    let left = left.saturating_sub(system + tools + skills).max(CONVERSATION_TOKENS_MIN);
    let memory = (left * MEMORY_PERCENT / 100).min(MEMORY_TOKENS_MAX);
    let wanted = Wanted {
        tokens: left - memory,
        tokenizer,
        recent_messages: prompt.recent_messages.map(|count| count as usize),
        images: prompt.recent_image_threshold as usize,
        past_tools: prompt.include_past_tools,
        side,
        ..Wanted::default()
    };
    Request { model: Some(model.model.clone()), wanted, system, tools, skills, memory }
}

/// Counts as the model does: with its table where the definition names one, else as well as that is known.
fn tokenizer(all: &Definitions, model: &Model) -> Tokenizer {
    if let Some(exact) = model.tokenizer.as_deref().and_then(|file| all.tokenizer(file)) {
        return exact;
    }
    let name = model.model.rsplit('/').next().unwrap_or_default();
    let begins = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
    Arc::new(if begins(&["gpt-4-", "gpt-3.5"]) || name == "gpt-4" {
        Estimate::CL100K
    } else if begins(&["gpt-", "chatgpt-", "o1", "o3", "o4"]) {
        Estimate::O200K
    } else {
        Estimate::OTHER
    })
}

/// The texts of a system prompt that are known without a thread.
fn prompt_text(all: &Definitions, package: Option<&str>, prompt: &Prompt) -> String {
    let parts = match &prompt.prompt {
        PromptText::Text(text) => return text.clone(),
        PromptText::Parts(parts) => parts,
    };
    let text = |part: &PartOfPrompt| match part {
        PartOfPrompt::Text { text } => text.clone(),
        PartOfPrompt::Include { name } => match all.prompt(name, package) {
            Ok((_, included)) if !std::ptr::eq(included, prompt) => prompt_text(all, package, included),
            Ok(_) | Err(_) => String::new(),
        },
        PartOfPrompt::Env { .. } => String::new(),
    };
    parts.iter().map(text).collect::<Vec<_>>().join("\n\n")
}

/// The texts of the skills that are active on a thread.
fn skills(all: &Definitions, package: Option<&str>, thread: &Thread) -> Vec<String> {
    let active = thread.record.activated_skills.iter();
    active
        .filter_map(|skill| match all.get(Kind::Skill, &skill.name, package).ok()?.1 {
            Definition::Text(text) => Some(text.clone()),
            Definition::Agent(_)
            | Definition::Prompt(_)
            | Definition::Model(_)
            | Definition::Mcp(_)
            | Definition::HttpTool(_) => None,
        })
        .collect()
}
