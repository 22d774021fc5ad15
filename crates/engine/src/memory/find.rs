//! Searches the memories of an account by words and meaning.
//!
//! All memories of an account are one volume in memory, of the same kind as those of the search index. It is made when it
//! is first asked for, and made again after a memory changed; vectors of texts that stayed are kept.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use threadkeep_calls::{FoundMemory, Memory};
use threadkeep_embed::{Static, Vector};
use threadkeep_model::{Account, BlobId, Invalid, MessageId, Position, Role, SegmentId, ThreadId};
use threadkeep_search::words::{is_stop, words};
use threadkeep_search::{Builder, Document, Form, Matches, Question, Shelf, Strand, Volume, Wants};
use threadkeep_store::{BoxFuture, Registered, StoreError};

use super::alike::Vocabulary;
use super::{MEMORIES_MAX, told};
use crate::ground::beside;
use crate::search::embedded;
use crate::{Engine, Result};

/// Memories that a search gives: the default, and the maximum.
const FOUND: usize = 5;
const FOUND_MAX: usize = 100;
/// Most bytes of a question.
const QUERY_BYTES_MAX: usize = 256 << 10;
/// Accounts whose memories are kept ready.
const READY_MAX: usize = 64;

/// How alike a memory without any of the words has to be to count, and what that counts.
const ALIKE_MIN: f32 = 0.1;
const ALIKE_SHARE: f32 = 0.45;

/// The memories that are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Among {
    /// All of the account, those of its projects too.
    All,
    /// Those that hold in a thread of this project: the account's, and the project's.
    Project(Option<String>),
}

impl Among {
    fn has(&self, memory: &Memory) -> bool {
        match self {
            Self::All => true,
            Self::Project(project) => memory.project_id.is_none() || memory.project_id == *project,
        }
    }
}

/// The memories of an account, ready to be searched.
struct Index {
    /// Of what it was made: texts and embedder.
    of: BlobId,
    memories: Vec<Memory>,
    /// The vectors by their texts.
    vectors: HashMap<String, Vector>,
    model: String,
    shelf: Arc<Shelf>,
    /// The words of the texts, where the built-in vectors compare them.
    vocabulary: Option<Vocabulary>,
}

/// The accounts whose memories are ready.
#[derive(Default)]
pub(crate) struct Indexes(Mutex<HashMap<Account, Arc<Index>>>);

impl Indexes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Account, Arc<Index>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// The caller's memories that answer a question, the best first.
    ///
    /// # Errors
    /// If the question is blank or too long; if the store cannot be read.
    pub fn find_memories<'a>(
        &'a self,
        query: &'a str,
        among: &'a Among,
        limit: Option<usize>,
    ) -> BoxFuture<'a, Result<Vec<FoundMemory>>> {
        Box::pin(async move {
            let limit = limit.unwrap_or(FOUND);
            if limit == 0 || limit > FOUND_MAX {
                return Err(Invalid::body("limit", format!("a search gives 1 to {FOUND_MAX} memories")).into());
            }
            if query.len() > QUERY_BYTES_MAX {
                return Err(
                    Invalid::body("query", format!("is longer than {QUERY_BYTES_MAX} bytes; ask for less")).into()
                );
            }
            if query.trim().is_empty() {
                return Err(Invalid::body("query", "is empty; say what to look for").into());
            }
            let index = self.memory_index().await?;
            if index.memories.is_empty() {
                return Ok(Vec::new());
            }
            let mut question = Question::new(query);
            // The built-in vectors are means of words, which those that say nothing would draw to the middle of all texts.
            let meant = if self.embedder.is_none() { telling(query) } else { query.to_owned() };
            let vector = if question.has_phrases() { None } else { self.vector_soon(embedded(&meant)).await };
            let vector = vector.filter(|vector| !vector.is_zero());
            if let Some(vector) = &vector {
                let mut direction = vec![0.0; vector.dimensions()];
                vector.add_to(&mut direction, 1.0);
                question = question.pointing(&index.model, &direction);
            }
            if question.is_empty() {
                return Ok(Vec::new());
            }
            // Words in quotes have to be there as they are, and the index alone knows that.
            let alike = match &vector {
                Some(_) => {
                    let (index, query) = (Arc::clone(&index), query.to_owned());
                    beside::aside(move || index.vocabulary.as_ref().and_then(|words| words.alike(&query))).await?
                }
                None => None,
            };
            let mut ranked = ranked(&index, question, vector.as_ref())?;
            if let Some(alike) = alike {
                ranked.iter_mut().for_each(|(at, score)| *score = alike[*at]);
                in_order(&mut ranked);
            }
            let mut found = Vec::new();
            // A few more than are wanted at a time: most of them hold.
            let mut candidates = ranked.into_iter().filter(|(at, _)| among.has(&index.memories[*at]));
            while found.len() < limit {
                let some: Vec<(usize, f32)> = candidates.by_ref().take(limit).collect();
                if some.is_empty() {
                    break;
                }
                let held =
                    self.memories_that_hold(some.iter().map(|(at, _)| index.memories[*at].clone()).collect()).await?;
                let scores: HashMap<_, _> = some.iter().map(|(at, score)| (index.memories[*at].id, *score)).collect();
                found.extend(held.into_iter().map(|memory| FoundMemory { score: scores[&memory.id], memory }));
            }
            found.truncate(limit);
            Ok(found)
        })
    }

    async fn memory_index(&self) -> Result<Arc<Index>> {
        let account = &self.caller.account;
        let documents = self.all_memories(account).await?;
        let model = self.embedder().model().id.clone();
        let of = hash(&documents, &model);
        let ready = &self.shared.room::<Indexes>();
        let before = ready.lock().get(account).cloned();
        if let Some(index) = before.as_ref().filter(|index| index.of == of) {
            return Ok(Arc::clone(index));
        }
        let memories = documents.iter().map(told).collect::<Result<Vec<_>>>()?;
        let known = before.filter(|before| before.model == model);
        let vectors = self.memory_vectors(&memories, known.as_deref()).await?;
        let is_complete = vectors.len() == texts(&memories).count();
        let is_built_in = self.embedder.is_none();
        let index = beside::aside(move || {
            let vocabulary = is_built_in.then(|| Vocabulary::of(memories.iter().map(|memory| memory.text.as_str())));
            Ok::<_, crate::Error>(Index { vocabulary, ..index(of, memories, vectors, model)? })
        });
        let index = index.await??;
        let index = Arc::new(index);
        // Without its vectors it answers by words, and is made again for the next question.
        if is_complete {
            let mut ready = ready.lock();
            if ready.len() >= READY_MAX {
                ready.clear();
            }
            ready.insert(account.clone(), Arc::clone(&index));
        }
        Ok(index)
    }

    /// The vectors of the texts, as far as they can be had soon.
    async fn memory_vectors(&self, memories: &[Memory], known: Option<&Index>) -> Result<HashMap<String, Vector>> {
        let (mut vectors, mut missing) = (HashMap::new(), Vec::new());
        for text in texts(memories) {
            match known.and_then(|known| known.vectors.get(text)) {
                Some(vector) => drop(vectors.insert(text.to_owned(), vector.clone())),
                None => missing.push(text.to_owned()),
            }
        }
        if self.embedder.is_none() {
            let made = beside::aside(move || {
                let mut batch = Static::new().batch();
                missing.into_iter().map(|text| (batch.vector(&text), text)).collect::<Vec<_>>()
            });
            vectors.extend(made.await?.into_iter().map(|(vector, text)| (text, vector)));
        } else if !missing.is_empty()
            && let Some(made) = self.vectors_soon(missing.clone()).await
        {
            vectors.extend(missing.into_iter().zip(made));
        }
        Ok(vectors)
    }
}

/// The words of a question that say what it is after; all of them if none does.
fn telling(query: &str) -> String {
    let all = words(query);
    let telling = all.iter().filter(|word| !word.derived && !is_stop(&word.folded));
    let telling: Vec<&str> = telling.map(|word| &query[word.span.clone()]).collect();
    if telling.is_empty() { query.to_owned() } else { telling.join(" ") }
}

/// The texts that have vectors, each once.
fn texts(memories: &[Memory]) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    memories.iter().map(|memory| memory.text.as_str()).filter(move |text| seen.insert(*text))
}

fn hash(documents: &[Registered], model: &str) -> BlobId {
    let mut all = model.as_bytes().to_vec();
    for document in documents {
        all.push(0);
        all.extend_from_slice(document.id.as_bytes());
        all.push(0);
        all.extend_from_slice(document.json.as_bytes());
    }
    BlobId::of(&all)
}

/// The id under which the index knows the memory at this place.
fn document_id(at: usize) -> MessageId {
    MessageId { segment: SegmentId::from_bits(at as u64 + 1), position: Position(1) }
}

fn index(of: BlobId, memories: Vec<Memory>, vectors: HashMap<String, Vector>, model: String) -> Result<Index> {
    let mut builder = Builder::default();
    let whole = memories.iter().all(|memory| vectors.contains_key(&memory.text));
    for (at, memory) in memories.iter().enumerate() {
        let message = document_id(at);
        // Each is a conversation of its own, so that no memory is found by the words of its neighbours.
        builder.strand(Strand {
            segment: message.segment,
            thread: ThreadId::from_bits(0),
            created: memory.created_at,
            parent: None,
            messages: Position::START,
            changes: Position::START,
        });
        let document = Document {
            message,
            carrier: message,
            form: Form::Appended,
            role: Role::User,
            time: memory.created_at,
            name: None,
            text: &memory.text,
        };
        let vector = vectors.get(&memory.text).filter(|_| whole).map(|vector| vector.as_bytes().into());
        builder.add(&document, vector.unwrap_or_default());
    }
    let volume = Volume::read(builder.finish(&model)).map_err(|error| StoreError::corrupt(error.to_string()))?;
    let shelf = Arc::new(Shelf::new(vec![Arc::new(volume)]));
    Ok(Index { of, memories, vectors, model, shelf, vocabulary: None })
}

/// The places of the memories that answer, the best first, with their scores.
fn ranked(index: &Index, question: Question, vector: Option<&Vector>) -> Result<Vec<(usize, f32)>> {
    let unreadable = |error: threadkeep_search::Unreadable| StoreError::corrupt(error.to_string());
    let wants = Wants { candidates: MEMORIES_MAX, ..Wants::default() };
    let matches = Matches::find(Arc::clone(&index.shelf), Arc::new(question), &wants).map_err(unreadable)?;
    let mut ranked = Vec::new();
    for candidate in matches.candidates() {
        let Some(exact) = matches.exact(candidate.place, &[], &[]).map_err(unreadable)? else { continue };
        let at = index.shelf.message(candidate.place).segment.bits() - 1;
        ranked.push((at as usize, exact.score));
    }
    // Memories are few, so that distant ones count too. They come after those that the index finds.
    let found: HashSet<usize> = ranked.iter().map(|(at, _)| *at).collect();
    for (at, memory) in index.memories.iter().enumerate().filter(|(at, _)| !found.contains(at)) {
        let of_text = index.vectors.get(&memory.text);
        let cosine = vector.zip(of_text).map_or(0.0, |(vector, of_text)| vector.cosine(of_text));
        if cosine >= ALIKE_MIN {
            ranked.push((at, ALIKE_SHARE * cosine));
        }
    }
    in_order(&mut ranked);
    Ok(ranked)
}

/// The best first; the newer one first among equals.
fn in_order(ranked: &mut [(usize, f32)]) {
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
}
