//! The files of a first agent: they pass the check, and the agent and its tool work at once.

use std::io;
use std::path::Path;

use crate::definitions::is_name;

/// The files of an agent of this name: each with its path in the folder of definitions, and its text.
pub fn files(name: &str) -> Vec<(String, String)> {
    let agent = format!(
        "# An agent: who answers, and when it is done.\ntype = \"ai_human\"\ndescription = \"A first agent.\"\n\n[sideA]\nprompt = \"{name}\"\n"
    );
    let prompt = "# What the model is told, and the tools that it may call.\n\
                  prompt = \"You are a helpful assistant. Answer in short sentences.\"\n\
                  model = \"default\"\n\
                  tools = [\"count_words\"]\n";
    let model = "# This model plays a script, so the agent works at once and without a key.\n\
                 provider = \"script\"\n\
                 model = \"scripts/hello.json\"\n\
                 \n\
                 # Ollama on this machine, in place of the two lines above:\n\
                 # provider = \"openai\"\n\
                 # model = \"llama3.2\"\n\
                 # baseUrl = \"http://127.0.0.1:11434/v1\"\n\
                 \n\
                 # A model of Anthropic. Its key: threadkeep env set ANTHROPIC_API_KEY\n\
                 # provider = \"anthropic\"\n\
                 # model = \"claude-sonnet-4-5\"\n";
    let script = r#"{
  "repeat": true,
  "answers": [
    { "calls": [{ "name": "count_words", "arguments": { "text": "{{user}}" } }] },
    { "text": "You wrote {{result}} words. I only play a script: choose a model in models/default.toml." }
  ]
}
"#;
    let tool = r#"import { defineTool, z } from "threadkeep";

export default defineTool({
  description: "Counts the words of a text",
  args: z.object({ text: z.string().describe("The text") }),
  execute: async (state, args) => {
    const words = args.text.split(/\s+/).filter((word) => word !== "");
    return { status: "success", result: words.length };
  },
});
"#;
    vec![
        (format!("agents/{name}.toml"), agent),
        (format!("prompts/{name}.toml"), prompt.to_owned()),
        ("models/default.toml".to_owned(), model.to_owned()),
        ("scripts/hello.json".to_owned(), script.to_owned()),
        ("tools/count_words.ts".to_owned(), tool.to_owned()),
    ]
}

/// Writes the files of an agent of this name, and gives the paths that were written. The model and the tool may be there
/// already; they are left as they are.
///
/// # Errors
/// If the agent or its prompt exists, or a file cannot be written.
pub fn write(folder: &Path, name: &str) -> io::Result<Vec<String>> {
    if !is_name(name) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name has small letters, digits, '_' and '-'"));
    }
    let files = files(name);
    let own = |path: &str| path.ends_with(&format!("/{name}.toml")) && !path.starts_with("models/");
    if let Some((path, _)) = files.iter().find(|(path, _)| own(path) && folder.join(path).exists()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{path} exists already")));
    }
    let mut written = Vec::new();
    for (path, text) in files {
        let place = folder.join(&path);
        if place.exists() {
            continue;
        }
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(place, text)?;
        written.push(path);
    }
    Ok(written)
}
