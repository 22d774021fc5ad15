//! The request to a model: the prompt, the conversation and the tools.

use serde_json::{Map, Value, json};
use threadkeep_calls::{Injection, InjectionState, ModelMessage};
use threadkeep_engine::{Error, Picture};
use threadkeep_model::{EnvName, EnvType, FilePath, MessageId, Part, Role, RunSide, Usage, Uuid, Version};
use threadkeep_providers as providers;
use threadkeep_providers::{Choice, Image, Request, Thought};

use super::begin::{CREATE_TOOL, MESSAGE_TOOL, own_tools};
use super::calls::MESSAGE;
use super::filtered::filtered;
use super::models::in_order;
use super::summary::ByModel;
use crate::attempt::Attempt;
use crate::context::{self, Given};
use crate::definitions::{Kind, PartOfPrompt, Prompt, PromptText, ToolChoice, UsedTool};
use crate::{Runtime, RuntimeError};

/// What a model is told that goes on after its own words.
const GO_ON: &str = "(Go on.)";

/// A request, and what of the thread is in it.
pub(super) struct Assembled {
    pub(super) request: Request,
    /// The version of the thread that was read.
    pub(super) as_of: Version,
    /// The first message that is sent.
    pub(super) first: Option<MessageId>,
    /// Number of messages that are sent.
    pub(super) messages: u64,
    /// The scratch of the run as hooks left it; none if no hook ran.
    pub(super) context: Option<Map<String, Value>>,
    /// What a summary took that was made first.
    pub(super) summarizing: Usage,
}

/// Makes the request with which `prompt` asks the model of a side about a thread, for a run, with this part of its budget.
///
/// # Errors
/// If the thread cannot be read, or a tool of the prompt is broken.
pub(super) async fn assemble(
    runtime: &Runtime,
    on: &Attempt,
    prompt: &Prompt,
    side: RunSide,
    (run, percent): (Uuid, u64),
) -> Result<Assembled, RuntimeError> {
    let thread = on.who.thread(on.thread).await?;
    let models = in_order(on, prompt, &thread.record)?;
    let (_, own) = on.definitions.model(&prompt.model, on.package())?;
    let model = models.first().map_or(own, |(_, first)| *first);
    let text = text_of(on, prompt).await?;
    let injected = injected(on, run).await?;
    let tools = tools(runtime, on, prompt).await?;
    let by_model = ByModel::new(runtime, on, prompt);
    let ask = context::Ask {
        engine: &on.who,
        thread: on.thread,
        definitions: &on.definitions,
        package: on.package(),
        prompt,
        model,
        side,
        fixed: Some(context::fixed(&on.definitions, model, [&text].into_iter().chain(&injected), &tools)),
        percent,
        summarize: Some(&by_model),
    };
    let Given { as_of, first, messages: said, skills, .. } = context::given(ask).await?;
    // Messages with a name were made for a tool that was queued: no model gave them.
    let answered = said.iter().filter(|said| said.role == Role::Assistant && said.name.is_none()).count();
    let filtered = Box::pin(filtered(runtime, on, text, said)).await?;
    let (said, context) = (filtered.messages, filtered.context);
    let mut system = vec![filtered.system];
    system.extend(skills);
    system.extend(injected);
    let mut request = Request {
        system,
        tools,
        choice: choice(prompt),
        parallel: prompt.parallel_tool_calls,
        tokens_max: thread.record.max_tokens,
        reasoning: prompt.reasoning.clone(),
        answered,
        ..Request::default()
    };
    let mut pictures =
        Pictures { left: prompt.recent_image_threshold as usize, are_taken: model.takes_images(), as_of };
    for message in said.iter().rev() {
        request.messages.extend(translated(on, message, &mut pictures).await?);
    }
    request.messages.reverse();
    let is_call = |part: &providers::Part| matches!(part, providers::Part::Call { .. });
    if request
        .messages
        .last()
        .is_some_and(|last| last.role == providers::Role::Assistant && !last.parts.iter().any(is_call))
    {
        // Providers want a question at the end.
        request.messages.push(providers::Message::text(providers::Role::User, GO_ON));
    }
    let (messages, summarizing) = (said.len() as u64, by_model.used());
    Ok(Assembled { request, as_of, first, messages, context, summarizing })
}

/// Whether the model of a prompt calls tools.
pub(super) fn choice(prompt: &Prompt) -> Choice {
    match prompt.tool_choice {
        ToolChoice::Auto => Choice::Auto,
        ToolChoice::None => Choice::None,
        ToolChoice::Required => Choice::Required,
    }
}

/// The system prompt.
pub(super) async fn text_of(on: &Attempt, prompt: &Prompt) -> Result<String, RuntimeError> {
    let parts = match &prompt.prompt {
        PromptText::Text(text) => return Ok(text.clone()),
        PromptText::Parts(parts) => parts,
    };
    let mut texts = Vec::new();
    for part in parts {
        texts.push(match part {
            PartOfPrompt::Text { text } => text.clone(),
            PartOfPrompt::Include { name } => {
                let (_, included) = on.definitions.prompt(name, on.package())?;
                Box::pin(text_of(on, included)).await?
            }
            PartOfPrompt::Env { name } => shown_variable(on, &name.parse()?).await?.unwrap_or_default(),
        });
    }
    texts.retain(|text| !text.trim().is_empty());
    Ok(texts.join("\n\n"))
}

/// The value of a variable that a model may read: one that is set as text, or that the definitions bring.
async fn shown_variable(on: &Attempt, name: &EnvName) -> Result<Option<String>, RuntimeError> {
    match on.who.env(on.thread, name).await {
        Ok(value) if on.who.env_type(on.thread, name).await? == EnvType::Text => Ok(Some(value)),
        Ok(_) => Ok(None),
        Err(Error::EnvNotFound { name }) => Ok(on.defaults().find_map(|layer| layer.get(name.as_str()).cloned())),
        Err(error) => Err(error.into()),
    }
}

/// What others told this run aside from the conversation.
async fn injected(on: &Attempt, run: Uuid) -> Result<Option<String>, RuntimeError> {
    let taken = on.who.injections(on.thread, InjectionState::Taken).await?;
    let told = |injection: &Injection| {
        let content = injection.content.to_value();
        let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        format!("[{} from {}] {content}", injection.kind.as_str(), injection.actor.name)
    };
    let lines: Vec<String> = taken.iter().filter(|taken| taken.run_id == Some(run)).map(told).collect();
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// The tools of a prompt, as a model is told of them.
pub(super) async fn tools(
    runtime: &Runtime,
    on: &Attempt,
    prompt: &Prompt,
) -> Result<Vec<providers::Tool>, RuntimeError> {
    let (mut tools, mut agents) = (Vec::new(), Vec::new());
    for used in prompt.tools.iter().filter(|used| used.name != CREATE_TOOL && used.name != MESSAGE_TOOL) {
        let (description, schema) = match (
            on.definitions.find(Kind::Tool, &used.name, on.package()),
            on.definitions.find(Kind::Agent, &used.name, on.package()),
            on.definitions.find(Kind::Prompt, &used.name, on.package()),
        ) {
            (None, Some(_), _) => {
                let (_, agent) = on.definitions.agent(&used.name, on.package())?;
                let about = agent.tool_description.clone().or_else(|| agent.description.clone()).unwrap_or_default();
                agents.extend(Some(used.name.clone()).filter(|_| !used.is_plain));
                (about, called_schema(used))
            }
            (None, None, Some(_)) => {
                let (_, prompt) = on.definitions.prompt(&used.name, on.package())?;
                let schema = prompt.required_schema.clone().map(Value::Object);
                let schema = schema.unwrap_or_else(|| called_schema(used));
                (prompt.tool_description.clone().unwrap_or_default(), schema)
            }
            (Some(_), _, _) | (None, None, None) => {
                let declared = runtime.declared(on, &used.name).await?;
                (declared.description, object_schema(declared.args))
            }
        };
        tools.push(providers::Tool { name: used.name.clone(), description, schema });
    }
    tools.extend(own_tools(prompt, &agents));
    Ok(tools)
}

/// Every provider wants the schema of an object.
fn object_schema(mut args: Map<String, Value>) -> Value {
    args.entry("type").or_insert_with(|| "object".into());
    args.entry("properties").or_insert_with(|| json!({}));
    Value::Object(args)
}

/// The arguments of an agent or a prompt that is called as a tool: the first message, and files where it takes some.
fn called_schema(used: &UsedTool) -> Value {
    let property = used.called.init_user_message_property.as_deref().unwrap_or(MESSAGE);
    let mut properties =
        Map::from_iter([(property.to_owned(), json!({ "type": "string", "description": "What it is asked" }))]);
    if let Some(files) = &used.called.init_attachments_property {
        let about = "Paths of files of this thread";
        properties
            .insert(files.clone(), json!({ "type": "array", "items": { "type": "string" }, "description": about }));
    }
    json!({ "type": "object", "properties": properties, "required": [property] })
}

/// A message in the words of providers; none if nothing of it is sent.
async fn translated(
    on: &Attempt,
    message: &ModelMessage,
    pictures: &mut Pictures,
) -> Result<Option<providers::Message>, RuntimeError> {
    let role = match message.role {
        Role::Assistant => providers::Role::Assistant,
        Role::User | Role::Tool | Role::System | Role::Info => providers::Role::User,
    };
    let mut parts = Vec::new();
    for part in message.content.to_parts().into_iter().rev() {
        parts.extend(match part {
            Part::Text { text } if message.role == Role::System => {
                Some(providers::Part::Text(format!("[system] {text}")))
            }
            Part::Text { text } => Some(providers::Part::Text(text)),
            Part::Image { path, name, .. } => Some(picture(on, message.id, &path, name.as_deref(), pictures).await?),
            Part::File { path, name, .. } => {
                Some(providers::Part::Text(format!("[file {}]", name.as_deref().unwrap_or(&path))))
            }
            Part::ToolUse { id, name, input } => Some(providers::Part::Call { id, name, arguments: input }),
            Part::ToolResult { tool_use_id, content, is_error } => {
                let (text, images) = result(on, content, pictures).await?;
                Some(providers::Part::Result { call: tool_use_id, text, images, is_error })
            }
            // The reasoning of the other side is its own.
            Part::Thinking { .. } if role == providers::Role::User => None,
            Part::Thinking { text, provider, signature, data } => {
                provider.map(|provider| providers::Part::Thinking(Thought { text, provider, signature, data }))
            }
        });
    }
    parts.reverse();
    Ok((!parts.is_empty()).then_some(providers::Message { role, parts }))
}

/// A picture among the files of the thread.
pub(super) async fn image(on: &Attempt, path: &str, mime_type: &str) -> Result<Option<Image>, RuntimeError> {
    let Ok(path) = path.parse::<FilePath>() else { return Ok(None) };
    let Some(found) = on.who.stat(on.thread, &path, None).await? else { return Ok(None) };
    let Some(file) = found.file() else { return Ok(None) };
    let bytes = on.who.file_content(file, None).await?;
    Ok(Some(Image { mime_type: mime_type.to_owned(), bytes: bytes.to_vec().into() }))
}

/// The pictures that a request may have.
struct Pictures {
    /// How many more, from the newest on.
    left: usize,
    /// Whether the model takes any.
    are_taken: bool,
    /// The version of the thread that is read.
    as_of: Version,
}

/// A picture of a message, or a line that says why the model does not get it.
async fn picture(
    on: &Attempt,
    message: Option<MessageId>,
    path: &str,
    name: Option<&str>,
    pictures: &mut Pictures,
) -> Result<providers::Part, RuntimeError> {
    let told = |why: &str| providers::Part::Text(format!("[picture {}: {why}]", name.unwrap_or(path)));
    if !pictures.are_taken {
        return Ok(told("this model takes no pictures"));
    }
    if pictures.left == 0 {
        return Ok(told("older pictures are left out"));
    }
    Ok(match on.who.picture(on.thread, message, (path, name), pictures.as_of).await? {
        Picture::Given { mime_type, bytes } => {
            pictures.left -= 1;
            providers::Part::Image(Image { mime_type: mime_type.to_owned(), bytes })
        }
        Picture::NotGiven(line) => providers::Part::Text(line),
    })
}

/// The result of a call: its text, and the pictures in it.
async fn result(on: &Attempt, content: Value, pictures: &mut Pictures) -> Result<(String, Vec<Image>), RuntimeError> {
    let parts = match content {
        Value::String(text) => return Ok((text, Vec::new())),
        Value::Array(parts) => parts,
        other => return Ok((other.to_string(), Vec::new())),
    };
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in parts.into_iter().rev() {
        match serde_json::from_value(part.clone()) {
            Ok(Part::Text { text }) => texts.push(text),
            Ok(Part::Image { path, name, .. }) => match picture(on, None, &path, name.as_deref(), pictures).await? {
                providers::Part::Image(image) => images.push(image),
                providers::Part::Text(text) => texts.push(text),
                providers::Part::Call { .. } | providers::Part::Result { .. } | providers::Part::Thinking(_) => {}
            },
            Ok(Part::File { path, name, .. }) => texts.push(format!("[file {}]", name.as_deref().unwrap_or(&path))),
            Ok(Part::ToolUse { .. } | Part::ToolResult { .. } | Part::Thinking { .. }) | Err(_) => {
                texts.push(part.to_string());
            }
        }
    }
    texts.reverse();
    images.reverse();
    Ok((texts.join("\n"), images))
}
