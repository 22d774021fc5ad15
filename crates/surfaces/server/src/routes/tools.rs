//! Tools on a thread, invoked at once. Queued tools are calls of the list.

use axum::extract::State;
use threadkeep::runtime::tools::never;
use threadkeep_calls::{ErrorCode, InvokeTool, ToolTold};

use crate::access::Writing;
use crate::answer::{Answer, json};
use crate::app::App;
use crate::input::{Body, Path};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let invoke = table::post(
        ("invokeTool", "/v1/threads/{thread}/tools/{tool}/invoke"),
        "Runs a tool on a thread at once, with the authority of the caller, and logs its call and its result.",
        invoke,
        Gives::json::<ToolTold>("The result, also of a tool that fails."),
    )
    .example(r#"{"args":{"name":"review"}}"#)
    .fails([
        ErrorCode::ToolNotFound,
        ErrorCode::DefinitionInvalid,
        ErrorCode::ApprovalRequired,
        ErrorCode::ThreadClosed,
        ErrorCode::SandboxUnavailable,
        ErrorCode::SandboxBusy,
    ]);
    Routes::new("Work", "", [invoke])
}

async fn invoke(
    State(app): State<App>,
    Writing(access): Writing,
    Path((thread, tool)): Path<(String, String)>,
    Body(InvokeTool { args }): Body<InvokeTool>,
) -> Answer {
    let thread = access.thread(&thread).await?;
    // A client that goes away drops the future, which kills the worker.
    let told = app.runtime.invoke(&access.engine, thread.id, (&tool, args), &never()).await?;
    Ok(json(&told))
}
