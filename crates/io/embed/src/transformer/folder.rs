//! A model's files: its configuration, its vocabulary and its weights.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use ndarray::{Array1, Array2};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How much of a text models of sentence-transformers read, if theirs does not say.
const PIECES_MAX: usize = 256;

/// The sizes of the encoder, from `config.json`.
#[derive(Deserialize)]
pub(super) struct Config {
    model_type: String,
    hidden_act: String,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) layer_norm_eps: f32,
}

#[derive(Default, Deserialize)]
struct Sentences {
    max_seq_length: Option<usize>,
}

#[derive(Default, Deserialize)]
struct Letters {
    do_lower_case: Option<bool>,
}

#[derive(Default, Deserialize)]
struct Pooling {
    pooling_mode_mean_tokens: Option<bool>,
}

/// Where a tensor is.
#[derive(Deserialize)]
struct Place {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// A model's files, read.
pub(super) struct Folder {
    pub(super) config: Config,
    pub(super) vocabulary: String,
    /// Pieces of a text that the model reads, with the two around them.
    pub(super) pieces_max: usize,
    weights: Vec<u8>,
    places: HashMap<String, Place>,
    data: Range<usize>,
}

impl Folder {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let config: Config = optional(path, "config.json")?.ok_or("there is no config.json")?;
        let sentences: Sentences = optional(path, "sentence_bert_config.json")?.unwrap_or_default();
        let letters: Letters = optional(path, "tokenizer_config.json")?.unwrap_or_default();
        let pooling: Pooling = optional(path, "1_Pooling/config.json")?.unwrap_or_default();
        if config.model_type != "bert" || config.hidden_act != "gelu" {
            return Err(format!("it is a {} model with {}, not BERT with gelu", config.model_type, config.hidden_act));
        }
        if letters.do_lower_case == Some(false) || pooling.pooling_mode_mean_tokens == Some(false) {
            return Err("it is not uncased, or its vectors are not the mean of its states".to_owned());
        }
        if config.num_attention_heads == 0 || !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            return Err("config.json has heads that do not divide hidden_size".to_owned());
        }
        let vocabulary = fs::read_to_string(path.join("vocab.txt")).map_err(|error| format!("vocab.txt: {error}"))?;
        let weights =
            fs::read(path.join("model.safetensors")).map_err(|error| format!("model.safetensors: {error}"))?;
        let (places, data) = places(&weights).ok_or("model.safetensors is damaged")?;
        let pieces_max = sentences.max_seq_length.unwrap_or(PIECES_MAX).min(config.max_position_embeddings);
        Ok(Self { config, vocabulary, pieces_max, weights, places, data })
    }

    /// The id of exactly these weights, with all settings that affect a vector.
    pub(super) fn id(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let config = &self.config;
        hasher.update(
            format!("{} {} {} ", config.num_attention_heads, config.layer_norm_eps, self.pieces_max).as_bytes(),
        );
        hasher.update(blake3::hash(self.vocabulary.as_bytes()).as_bytes());
        hasher.update(&self.weights);
        format!("transformer:{}", &hasher.finalize().to_hex()[..32])
    }

    /// The matrix called `name`.
    pub(super) fn matrix(&self, name: &str) -> Result<Array2<f32>, String> {
        let (shape, values) = self.tensor(name)?;
        let wrong = || format!("{name} is no matrix");
        let &[rows, columns] = shape else { return Err(wrong()) };
        Array2::from_shape_vec((rows, columns), values).map_err(|_| wrong())
    }

    /// The row of numbers `name`.
    pub(super) fn row(&self, name: &str) -> Result<Array1<f32>, String> {
        Ok(self.tensor(name)?.1.into())
    }

    fn tensor(&self, name: &str) -> Result<(&[usize], Vec<f32>), String> {
        // Some are saved as part of a larger model.
        let place = self.places.get(name).or_else(|| self.places.get(&format!("bert.{name}")));
        let place = place.ok_or_else(|| format!("model.safetensors has no {name}"))?;
        if place.dtype != "F32" {
            return Err(format!("{name} is stored as {}; 32-bit floats (F32) are read", place.dtype));
        }
        let [from, to] = place.data_offsets;
        let bytes = self.weights[self.data.clone()].get(from..to).ok_or_else(|| format!("{name} is cut off"))?;
        Ok((&place.shape, bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
    }
}

/// The JSON in `name`, if there is such a file.
fn optional<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, String> {
    match fs::read(folder.join(name)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| format!("{name}: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// The table of contents of a safetensors file: a length in eight bytes, so much JSON, then the numbers.
fn places(file: &[u8]) -> Option<(HashMap<String, Place>, Range<usize>)> {
    let (length, rest) = file.split_first_chunk()?;
    let head = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let mut named: HashMap<String, serde_json::Value> = serde_json::from_slice(head).ok()?;
    named.remove("__metadata__");
    let read = |(name, place)| Some((name, serde_json::from_value(place).ok()?));
    Some((named.into_iter().map(read).collect::<Option<_>>()?, length.len() + head.len()..file.len()))
}
