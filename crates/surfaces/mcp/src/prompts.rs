//! Prompts: texts that a person picks in the host of an agent.

use rmcp::model::{ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;
use threadkeep_calls::Problem;
use threadkeep_client::Client;
use threadkeep_client::model::ThreadName;

use crate::resources::markdown;

const CONTINUE: &str = "continue_thread";
const SUMMARISE: &str = "summarise_thread";
const REVIEW: &str = "review_merge";

/// The prompts that there are.
pub(crate) fn list() -> Vec<Prompt> {
    let thread = || PromptArgument::new("thread").with_description("The id of the thread.").with_required(true);
    let source = PromptArgument::new("source").with_description("The id of the thread to merge.").with_required(true);
    vec![
        Prompt::new(CONTINUE, Some("Go on with a thread where it ended."), Some(vec![thread()])),
        Prompt::new(SUMMARISE, Some("Sum up a thread: goal, decisions, open questions."), Some(vec![thread()])),
        Prompt::new(REVIEW, Some("Review a merge into a thread before it happens."), Some(vec![thread(), source])),
    ]
}

/// A prompt with the messages of its thread.
pub(crate) async fn get(
    client: &Client,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let named = |argument: &str| {
        let text = arguments.and_then(|arguments| arguments.get(argument)).and_then(Value::as_str);
        let missing = || ErrorData::invalid_params(format!("the argument '{argument}' is missing"), None);
        text.ok_or_else(missing)?.parse::<ThreadName>().map_err(|invalid| refused(invalid.into()))
    };
    let shown = async |thread: ThreadName| markdown(client, thread).await.map_err(refused);
    let text = match name {
        CONTINUE => {
            let thread = named("thread")?;
            format!(
                "Go on with the conversation below. It is the thread {thread} in Threadkeep. Append what you say with the \
                 tool `append`, role assistant. If a text is cut, read it with `read_messages`.\n\n{}",
                shown(thread).await?
            )
        }
        SUMMARISE => {
            let thread = named("thread")?;
            format!(
                "Sum up the conversation below, the thread {thread}: its goal, what was decided and why, what was done, what is \
                 open. Name messages by their ids. If earlier messages are missing, read them with `read_messages` first.\
                 \n\n{}",
                shown(thread).await?
            )
        }
        REVIEW => {
            let (thread, source) = (named("thread")?, named("source")?);
            format!(
                "Review the merge of the thread {source} into the thread {thread}. Call `merge` with dryRun=true and sources \
                 [\"{source}\"]. Explain each file, value and decision that would change, and each conflict with the way \
                 you would resolve it. Do not merge before the user agrees.\n\nThe thread {source}:\n\n{}",
                shown(source).await?
            )
        }
        other => return Err(ErrorData::invalid_params(format!("there is no prompt '{other}'"), None)),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

/// A problem as an error of the protocol.
pub(crate) fn refused(problem: Problem) -> ErrorData {
    let text = match &problem.hint {
        Some(hint) => format!("{}: {}; {hint}", problem.code, problem.detail),
        None => format!("{}: {}", problem.code, problem.detail),
    };
    let data = serde_json::to_value(&problem).ok();
    if problem.code.ends_with("_not_found") {
        return ErrorData::resource_not_found(text, data);
    }
    ErrorData::invalid_params(text, data)
}
