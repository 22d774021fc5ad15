//! Finds model servers on this machine that need no key.

use std::time::Duration;

use http::header::ACCEPT;
use serde_json::Value;
use threadkeep_outgoing::{Address, Limits, Outgoing, Reach, empty};

/// How long a server on this machine may take to answer.
const ANSWER_MAX: Duration = Duration::from_millis(200);
/// Bytes of a list of models.
const LIST_BYTES_MAX: usize = 1 << 20;

/// A model server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    /// The program: `ollama` or `llama.cpp`.
    pub program: &'static str,
    /// Its base URL for chat completions.
    pub base_url: String,
    /// The models it has, in its order.
    pub models: Vec<String>,
}

/// The servers that answer within a moment, Ollama first. `ollama` and `llama` are their usual addresses, such as
/// `127.0.0.1:11434` and `127.0.0.1:8080`; one that is not given is not looked for.
pub async fn find_local(ollama: Option<&str>, llama: Option<&str>) -> Vec<Local> {
    let (ollama, llama) = tokio::join!(
        found("ollama", ollama, "/api/tags", "models", "name"),
        found("llama.cpp", llama, "/v1/models", "data", "id"),
    );
    ollama.into_iter().chain(llama).collect()
}

async fn found(program: &'static str, at: Option<&str>, path: &str, list: &str, name: &str) -> Option<Local> {
    let at = at?;
    let limits = Limits { connect: ANSWER_MAX, answer: ANSWER_MAX, bytes: LIST_BYTES_MAX };
    let address = Address::parse(&format!("http://{at}{path}")).ok()?;
    let request = http::Request::get(path).header(ACCEPT, "application/json").body(empty()).ok()?;
    let answer = Outgoing::new(Reach::Anywhere, limits).ask(&address, request).await.ok()?;
    let answer: Value = serde_json::from_slice(answer.body()).ok()?;
    let models: Vec<String> =
        answer[list].as_array()?.iter().filter_map(|model| model[name].as_str().map(str::to_owned)).collect();
    Some(Local { program, base_url: format!("http://{at}/v1"), models }).filter(|local| !local.models.is_empty())
}
