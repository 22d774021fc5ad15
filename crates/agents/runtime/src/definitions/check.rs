//! What definitions name: it must exist, and be of the right kind.

use std::collections::BTreeSet;

use threadkeep_engine::Tokenizer;

use super::place::{Path, Step, keys};
use super::problem::suggestion;
use super::shapes::{Agent, AgentKind, McpServer, Model, PartOfPrompt, Prompt, PromptText, Side, problem_at};
use super::{Definition, Definitions, Kind, MCP_PREFIX, Name, endpoint, http_tool};
use crate::attempt::Declared;
use crate::bpe;

/// Tools of the program itself begin with this.
const BUILT_IN: &str = "threadkeep/";
/// Tools without a package that the program has for every agent.
const BUILT_IN_NAMES: [&str; 4] = ["skill", "remember", "subagent_create", "subagent_message"];

/// Checks all definitions, and notes what each of them reaches.
pub(super) fn check(all: &mut Definitions, folder: &std::path::Path) {
    let names: Vec<Name> = all.definitions.keys().cloned().collect();
    for name in names {
        let mut checking = Checking { all, name: &name, found: Vec::new(), reaches: BTreeSet::new(), tokenizer: None };
        match &all.definitions[&name] {
            Definition::Agent(agent) => checking.agent(agent),
            Definition::Prompt(prompt) => checking.prompt(prompt),
            Definition::Model(model) => checking.model(model, folder),
            Definition::Mcp(server) => checking.mcp(server),
            Definition::HttpTool(tool) => {
                if let Some((field, rule)) = http_tool::mistake(tool) {
                    checking.wrong(keys(&[field]), rule);
                }
                if let Err((field, rule)) = Declared::of_http(&name.text(), tool) {
                    checking.wrong(keys(&[&field]), rule);
                }
                if let Some(skill) = &tool.skill {
                    checking.needs(Kind::Skill, skill, keys(&["skill"]));
                }
            }
            Definition::Text(_) if name.kind == Kind::Endpoint => {
                if let Some(rule) = endpoint::mistake(&name.name) {
                    checking.wrong(Vec::new(), rule);
                }
            }
            Definition::Text(_) => {}
        }
        let Checking { found, reaches, tokenizer, .. } = checking;
        if let Some(source) = all.sources.get(&name) {
            let found: Vec<_> = found.into_iter().map(|(path, what)| problem_at(source, &path, what)).collect();
            if !found.is_empty() {
                all.problems.entry(name.clone()).or_default().extend(found);
            }
        }
        all.reaches.insert(name, reaches);
        all.tokenizers.extend(tokenizer);
    }
}

struct Checking<'a> {
    all: &'a Definitions,
    name: &'a Name,
    found: Vec<(Path, String)>,
    reaches: BTreeSet<Name>,
    tokenizer: Option<(String, Tokenizer)>,
}

impl Checking<'_> {
    fn wrong(&mut self, path: Path, what: impl Into<String>) {
        self.found.push((path, what.into()));
    }

    fn package(&self) -> Option<&str> {
        self.name.package.as_deref()
    }

    /// A name that must be that of a definition.
    fn needs(&mut self, kind: Kind, name: &str, path: Path) {
        match self.all.find(kind, name, self.package()) {
            Some(found) => drop(self.reaches.insert(found.clone())),
            None => {
                let near = suggestion(self.all.near(kind, name));
                self.wrong(path, format!("there is no {} '{name}'{near}", kind.word()));
            }
        }
    }

    /// A file that repeats its name must repeat it right.
    fn is_called(&mut self, said: Option<&String>) {
        if let Some(said) = said.filter(|said| **said != self.name.name) {
            let what = format!("the file is named '{}', and `name` says '{said}'", self.name.name);
            self.wrong(keys(&["name"]), what);
        }
    }

    fn agent(&mut self, agent: &Agent) {
        self.is_called(agent.name.as_ref());
        self.side(&agent.side_a, "sideA");
        match (&agent.side_b, agent.kind) {
            (Some(side), AgentKind::DualAi) => self.side(side, "sideB"),
            (None, AgentKind::AiHuman) => {}
            (Some(_), AgentKind::AiHuman) => {
                self.wrong(keys(&["sideB"]), "only an agent of the type dual_ai has sideB")
            }
            (None, AgentKind::DualAi) => self.wrong(keys(&["type"]), "an agent of the type dual_ai needs sideB"),
        }
        if agent.expose_as_tool && agent.tool_description.is_none() {
            self.wrong(keys(&["exposeAsTool"]), "an agent that is exposed as a tool needs toolDescription");
        }
        for (at, hook) in agent.hooks.iter().enumerate() {
            self.needs(Kind::Hook, hook, vec![Step::Key("hooks".into()), Step::Index(at)]);
        }
    }

    fn side(&mut self, side: &Side, name: &str) {
        self.needs(Kind::Prompt, &side.prompt, keys(&[name, "prompt"]));
        let prompt = self.all.find(Kind::Prompt, &side.prompt, self.package());
        let Some(Definition::Prompt(prompt)) = prompt.and_then(|prompt| self.all.definitions.get(prompt)) else {
            return;
        };
        let named = [
            ("stopTool", side.stop_tool.as_ref(), keys(&[name, "stopTool"])),
            ("sessionStop", side.session_stop.as_ref().map(|tool| &tool.name), keys(&[name, "sessionStop", "name"])),
            ("sessionFail", side.session_fail.as_ref().map(|tool| &tool.name), keys(&[name, "sessionFail", "name"])),
            (
                "sessionStatus",
                side.session_status.as_ref().map(|tool| &tool.name),
                keys(&[name, "sessionStatus", "name"]),
            ),
        ];
        for (field, tool, path) in named {
            let Some(tool) = tool.filter(|tool| prompt.tools.iter().all(|used| used.name != **tool)) else { continue };
            let near = super::problem::nearest(tool, prompt.tools.iter().map(|used| used.name.as_str()));
            let what =
                format!("{field} names '{tool}', which is no tool of the prompt '{}'{}", side.prompt, suggestion(near));
            self.wrong(path, what);
        }
        if side.stop_tool_response_property.is_some() && side.stop_tool.is_none() {
            self.wrong(keys(&[name, "stopToolResponseProperty"]), "stopToolResponseProperty needs stopTool");
        }
    }

    fn prompt(&mut self, prompt: &Prompt) {
        self.is_called(prompt.name.as_ref());
        self.needs(Kind::Model, &prompt.model, keys(&["model"]));
        if let PromptText::Parts(parts) = &prompt.prompt {
            for (at, part) in parts.iter().enumerate() {
                if let PartOfPrompt::Include { name } = part {
                    let path = vec![Step::Key("prompt".into()), Step::Index(at), Step::Key("name".into())];
                    self.needs(Kind::Prompt, name, path.clone());
                    if self.includes_itself(name) {
                        self.wrong(path, format!("the prompt includes itself by '{name}'"));
                    }
                }
            }
        }
        for (at, tool) in prompt.tools.iter().enumerate() {
            self.tool(&tool.name, vec![Step::Key("tools".into()), Step::Index(at)]);
            if prompt.tools[..at].iter().any(|other| other.name == tool.name) {
                let path = vec![Step::Key("tools".into()), Step::Index(at)];
                self.wrong(path, format!("the tool '{}' is listed twice", tool.name));
            }
        }
        for (at, hook) in prompt.hooks.iter().flatten().enumerate() {
            self.needs(Kind::Hook, hook, vec![Step::Key("hooks".into()), Step::Index(at)]);
        }
    }

    /// Whether including `name` leads back to this prompt.
    fn includes_itself(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&Name> = self.all.find(Kind::Prompt, name, self.package()).into_iter().collect();
        while let Some(prompt) = next.pop() {
            if prompt == self.name {
                return true;
            }
            if !seen.insert(prompt) {
                continue;
            }
            let Some(Definition::Prompt(definition)) = self.all.definitions.get(prompt) else { continue };
            let PromptText::Parts(parts) = &definition.prompt else { continue };
            next.extend(parts.iter().filter_map(|part| match part {
                PartOfPrompt::Include { name } => self.all.find(Kind::Prompt, name, prompt.package.as_deref()),
                PartOfPrompt::Text { .. } | PartOfPrompt::Env { .. } => None,
            }));
        }
        false
    }

    /// What a prompt may call: a tool, a sub-prompt, an agent, one of the program's own, or one of an MCP server.
    fn tool(&mut self, name: &str, path: Path) {
        if name.starts_with(BUILT_IN) || BUILT_IN_NAMES.contains(&name) {
            return;
        }
        if let Some(of_server) = name.strip_prefix(MCP_PREFIX) {
            match (self.all.find_mcp(of_server, self.package()), of_server.split_once('/')) {
                (Some((found, _)), _) => drop(self.reaches.insert(found.clone())),
                (None, Some((server, tool))) if !tool.is_empty() => self.needs(Kind::Mcp, server, path),
                (None, _) => {
                    self.wrong(path, format!("a tool of an MCP server is written mcp:SERVER/TOOL, not '{name}'"))
                }
            }
            return;
        }
        let kinds = [Kind::Tool, Kind::Prompt, Kind::Agent];
        match kinds.iter().find_map(|kind| self.all.find(*kind, name, self.package())) {
            Some(found) => drop(self.reaches.insert(found.clone())),
            None => {
                let near = kinds.iter().find_map(|kind| self.all.near(*kind, name));
                self.wrong(path, format!("there is no tool, prompt or agent '{name}'{}", suggestion(near)));
            }
        }
    }

    fn model(&mut self, model: &Model, folder: &std::path::Path) {
        self.is_called(model.name.as_ref());
        if let Some(file) = &model.tokenizer {
            match bpe::load(&folder.join(file)) {
                Ok(read) => self.tokenizer = Some((file.clone(), read)),
                Err(wrong) => self.wrong(keys(&["tokenizer"]), wrong),
            }
        }
        for (at, fallback) in model.fallbacks.iter().enumerate() {
            let path = vec![Step::Key("fallbacks".into()), Step::Index(at)];
            if self.all.find(Kind::Model, fallback, self.package()) == Some(self.name) {
                self.wrong(path, "a model cannot fall back to itself");
            } else {
                self.needs(Kind::Model, fallback, path);
            }
        }
    }

    fn mcp(&mut self, server: &McpServer) {
        match (&server.command, &server.url) {
            (Some(command), None) if command.is_empty() => self.wrong(keys(&["command"]), "`command` names a program"),
            (Some(_), None) | (None, Some(_)) => {}
            (Some(_), Some(_)) => self.wrong(keys(&["url"]), "an MCP server has `command` or `url`, not both"),
            (None, None) => self.wrong(Vec::new(), "an MCP server has `command` or `url`"),
        }
        if let Some(Err(wrong)) = server.url.as_deref().map(threadkeep_outgoing::Address::parse) {
            self.wrong(keys(&["url"]), wrong.to_string());
        }
        let tool = Declared::new("", serde_json::Map::new());
        if let Err((field, rule)) = tool.of_mcp("x", server) {
            self.wrong(keys(&[&field]), rule);
        }
    }
}
