//! Code on threads: runs it, tells of it as it runs, and ends it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::Value;
use threadkeep::code::Running;
use threadkeep::{Invalid, Opened, code};
use threadkeep_calls::{CodeOutcome, CodeTerminated, ErrorCode, RunCode};
use tokio::sync::mpsc;

use crate::access::Writing;
use crate::answer::{Answer, json};
use crate::app::App;
use crate::input::{Body, Path};
use crate::runs::Taken;
use crate::table::{self, Gives, Routes};

/// Most bytes of the name of a run.
const ID_BYTES_MAX: usize = 128;
/// Events that are ready before the socket takes them.
const READY_MAX: usize = 1;

pub(crate) fn routes() -> Routes {
    let run = table::post(
        ("runCode", "/v1/threads/{thread}/code"),
        "Runs JavaScript or TypeScript in a process that reaches nothing but the calls it is granted. Agents need the authority `execute_command`.",
        run,
        Gives::json::<CodeOutcome>("The outcome, also of code that fails."),
    )
    .gives(Gives::events("With `stream`: `log` and `report` as they come, and `outcome` as the last event."))
    .example(r#"{"source":"export default () => 6 * 7"}"#)
    .fails([ErrorCode::ApprovalRequired, ErrorCode::SandboxUnavailable, ErrorCode::SandboxBusy]);
    let terminate = table::delete(
        ("terminateCode", "/v1/threads/{thread}/code/{codeRun}"),
        "Ends a run of code that was started with this id.",
        terminate,
        Gives::json::<CodeTerminated>("Whether there was one."),
    );
    Routes::new(
        "Code",
        "JavaScript and TypeScript on a thread, in processes that reach nothing else.",
        [run, terminate],
    )
}

async fn run(
    State(app): State<App>,
    Writing(access): Writing,
    Path(name): Path<String>,
    Body(mut request): Body<RunCode>,
) -> Answer {
    let thread = access.thread(&name).await?;
    if let Some(refused) = code::unknown_option(&request) {
        return Ok(json(&refused));
    }
    let id = request.id.take();
    if id.as_ref().is_some_and(|id| id.is_empty() || id.len() > ID_BYTES_MAX || id.contains(['/', '\0'])) {
        let rule = format!("has 1 to {ID_BYTES_MAX} bytes, without / and null bytes");
        return Err(Invalid::body("id", rule).into());
    }
    let stream = request.stream;
    let execution = code::start(&app.sandbox, &access.engine, thread.id, request).await?;
    let account = access.opened.key.account.clone();
    let taken = id.map(|id| Taken::take(&app.runs, (account, thread.id, id), execution.terminator())).transpose()?;
    if stream {
        return Ok(events(app, access.opened, execution, taken));
    }
    let _taken = taken;
    Ok(execution.outcome_as(|outcome| json(&outcome)).await?)
}

async fn terminate(
    State(app): State<App>,
    Writing(access): Writing,
    Path((name, id)): Path<(String, String)>,
) -> Answer {
    let thread = access.thread(&name).await?;
    let name = (access.opened.key.account.clone(), thread.id, id);
    let open = app.runs.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
    let terminated = open.is_some();
    if let Some(terminator) = open {
        terminator.terminate("the run was terminated by a request");
    }
    Ok(json(&CodeTerminated { terminated }))
}

/// The events of a run. A reader that goes away ends the run, and so does the end of its key.
fn events(app: App, opened: Opened, execution: Running, taken: Option<Taken>) -> Response {
    let (send, receive) = mpsc::channel(READY_MAX);
    tokio::spawn(tell(app, opened, execution, taken, send));
    let mut response = Response::new(axum::body::Body::from_stream(Told(receive)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn tell(app: App, opened: Opened, mut execution: Running, _taken: Option<Taken>, send: mpsc::Sender<Bytes>) {
    let mut stopping = app.stopping.clone();
    let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
    let mut stopped = std::pin::pin!(stopped);
    let mut revoked = std::pin::pin!(opened.over());
    let mut heartbeat = tokio::time::interval(app.settings.heartbeat);
    loop {
        let told = tokio::select! {
            biased;
            () = send.closed() => return,
            () = &mut revoked => return,
            () = &mut stopped => return,
            event = execution.event() => match event {
                Ok(Some((name, data))) => frame(name, &data),
                Ok(None) => break,
                // The outcome says why.
                Err(_) => break,
            },
            _ = heartbeat.tick() => Bytes::from_static(b": still here\n\n"),
        };
        if send.send(told).await.is_err() {
            return;
        }
    }
    let last = match execution.outcome_as(|outcome| frame("outcome", &serde_json::json!(outcome))).await {
        Ok(outcome) => outcome,
        Err(problem) => frame("error", &serde_json::json!(problem)),
    };
    // The reader may have gone, and then nothing is left to do.
    drop(send.send(last).await);
}

/// A server-sent event. JSON has no line breaks of its own.
fn frame(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

struct Told(mpsc::Receiver<Bytes>);

impl futures_core::Stream for Told {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}
