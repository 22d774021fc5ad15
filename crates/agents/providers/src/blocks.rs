//! An answer while it comes: the same for every protocol.

use serde_json::Value;

use crate::names::Names;
use crate::{Answer, AnswerPart, Piece, Stop, Thought, Usage};

/// The parts that came so far.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Thinking(Thought),
    Call { index: u64, id: String, name: String, arguments: String },
}

impl Blocks {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn text(&mut self, more: &str) -> Option<Piece> {
        if more.is_empty() {
            return None;
        }
        match self.blocks.last_mut() {
            Some(Block::Text(text)) => text.push_str(more),
            _ => self.blocks.push(Block::Text(more.to_owned())),
        }
        Some(Piece::Text(more.to_owned()))
    }

    /// The reasoning that is being told; a new one if another part came in between.
    pub(crate) fn thought(&mut self, provider: &str) -> &mut Thought {
        if !matches!(self.blocks.last(), Some(Block::Thinking(_))) {
            let thought = Thought { provider: provider.to_owned(), ..Thought::default() };
            self.blocks.push(Block::Thinking(thought));
        }
        match self.blocks.last_mut() {
            Some(Block::Thinking(thought)) => thought,
            _ => unreachable!("it was just added"),
        }
    }

    /// Begins new reasoning, also right after another.
    pub(crate) fn begin_thought(&mut self, thought: Thought) {
        self.blocks.push(Block::Thinking(thought));
    }

    /// A call, which begins here or goes on. Servers may tell id and name late, twice, or not at all.
    pub(crate) fn call(&mut self, index: u64, id: &str, name: &str, more: &str) -> bool {
        let known = self.blocks.iter_mut().find(|block| matches!(block, Block::Call { index: at, .. } if *at == index));
        match known {
            Some(Block::Call { id: known_id, name: known_name, arguments, .. }) => {
                if known_id.is_empty() {
                    id.clone_into(known_id);
                }
                if known_name.is_empty() {
                    name.clone_into(known_name);
                }
                arguments.push_str(more);
                false
            }
            _ => {
                let (id, name, arguments) = (id.to_owned(), name.to_owned(), more.to_owned());
                self.blocks.push(Block::Call { index, id, name, arguments });
                true
            }
        }
    }

    /// The index of the next call, for servers that do not count.
    pub(crate) fn next_call(&self) -> u64 {
        self.blocks.iter().filter(|block| matches!(block, Block::Call { .. })).count() as u64
    }

    /// The whole answer. `answered` makes ids of calls that came without one unique in the conversation.
    pub(crate) fn answer(self, names: &Names, answered: usize) -> Answer {
        let mut ids = Vec::new();
        let mut parts = Vec::new();
        for block in self.blocks {
            parts.push(match block {
                Block::Text(text) => AnswerPart::Text(text),
                Block::Thinking(thought) => AnswerPart::Thinking(thought),
                Block::Call { mut id, name, arguments, .. } => {
                    if id.is_empty() || ids.contains(&id) {
                        id = format!("call_{answered}_{}", ids.len());
                    }
                    ids.push(id.clone());
                    AnswerPart::Call { id, name: names.ours(&name), arguments: parsed(arguments) }
                }
            });
        }
        let stop = match self.stop {
            // Some servers say that the model is done although it calls tools.
            Some(Stop::Done) | None if !ids.is_empty() => Stop::Calls,
            stop => stop.unwrap_or_default(),
        };
        Answer { model: String::new(), parts, stop, usage: self.usage }
    }
}

/// The arguments of a call. A tool without parameters is often called with no text at all.
fn parsed(arguments: String) -> Result<Value, String> {
    if arguments.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(&arguments).map_err(|_| arguments)
}
