//! A BERT encoder like MiniLM that runs in this process, from a local folder. Nothing is downloaded.
//!
//! The folder has what models of sentence-transformers have: `config.json`, `vocab.txt` and `model.safetensors` in
//! 32-bit floats, and perhaps `sentence_bert_config.json`, which says how much of a text the model was trained to read.
//! A text's vector is the mean of the last layer's states. Models that are pooled otherwise, or that are not uncased
//! BERT, are refused rather than run wrongly.
//!
//! Texts are run one by one, without padding, on one of the runtime's threads for blocking work: some twenty messages
//! a second and core. `encoder` is the arithmetic, `folder` reads the files.

mod encoder;
mod folder;

use std::path::Path;
use std::sync::Arc;

use self::encoder::Encoder;
use self::folder::Folder;
use crate::wordpiece::{Vocabulary, Words};
use crate::{BoxFuture, EmbedError, Embedder, Model, Vector};

/// Texts that run before looking whether the caller still waits.
const BATCH_TEXTS_MAX: usize = 8;
/// What is looked at of a text; its pieces are cut where the model ends.
const TEXT_CHARS_MAX: usize = 20_000;

/// An embedder whose model runs here. It needs a tokio runtime around it.
#[derive(Debug)]
pub struct Transformer {
    model: Model,
    inside: Arc<Inside>,
}

struct Inside {
    /// One piece a line.
    vocabulary: Vocabulary<String>,
    encoder: Encoder,
    first: u32,
    last: u32,
    pieces_max: usize,
}

impl std::fmt::Debug for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inside").field("pieces_max", &self.pieces_max).finish_non_exhaustive()
    }
}

impl Transformer {
    /// Reads the model in `folder`. It blocks for as long as reading takes: a tenth of a second for 90 MB.
    ///
    /// # Errors
    /// [`EmbedError::Unusable`] if a file is missing, damaged, or of a model of another kind.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, EmbedError> {
        let path = folder.as_ref();
        let unusable = |what: String| EmbedError::Unusable { folder: path.display().to_string(), what };
        let folder = Folder::read(path).map_err(unusable)?;
        let encoder = Encoder::new(&folder).map_err(unusable)?;
        let model = Model { id: folder.id(), dimensions: folder.config.hidden_size };
        let pieces_max = folder.pieces_max;
        let vocabulary = Vocabulary::new(folder.vocabulary)
            .filter(|vocabulary| vocabulary.len() == encoder.pieces())
            .ok_or_else(|| unusable("vocab.txt is not the vocabulary of model.safetensors".to_owned()))?;
        let named = |name| vocabulary.named(name).ok_or_else(|| unusable(format!("vocab.txt has no {name}")));
        let (first, last) = (named("[CLS]")?, named("[SEP]")?);
        Ok(Self { model, inside: Arc::new(Inside { vocabulary, encoder, first, last, pieces_max }) })
    }
}

impl Inside {
    fn vector(&self, text: &str) -> Vector {
        let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
        let mut ids = vec![self.first];
        self.vocabulary.divide(&text[..end], &mut Words::default(), |id| {
            if ids.len() + 1 < self.pieces_max {
                ids.push(id);
            }
        });
        if ids.len() == 1 {
            return Vector::zeros(self.encoder.dimensions());
        }
        ids.push(self.last);
        Vector::quantise(&self.encoder.mean(&ids))
    }
}

impl Embedder for Transformer {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in texts.chunks(BATCH_TEXTS_MAX) {
                let (inside, batch) = (self.inside.clone(), batch.to_vec());
                let running = tokio::task::spawn_blocking(move || -> Vec<Vector> {
                    batch.iter().map(|text| inside.vector(text)).collect()
                });
                // It only ends early with the runtime.
                vectors.extend(running.await.map_err(|error| EmbedError::Unavailable {
                    who: "the local model".to_owned(),
                    what: if error.is_panic() { "it failed" } else { "the program is stopping" }.to_owned(),
                })?);
            }
            Ok(vectors)
        })
    }
}
