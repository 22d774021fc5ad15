//! The arithmetic of a BERT encoder: embeddings, then layers of attention and of a small network, each with a
//! residual and a normalisation.

use ndarray::{Array1, Array2, ArrayView1, Axis, s};

use super::folder::Folder;

/// The weights, ready to run.
pub(super) struct Encoder {
    words: Array2<f32>,
    positions: Array2<f32>,
    /// The embedding of "first sentence", which all are.
    sentence: Array1<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    heads: usize,
    query: Linear,
    key: Linear,
    value: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    inner: Linear,
    outer: Linear,
    outer_norm: Norm,
}

struct Linear {
    /// Weights by [outputs, inputs].
    weight: Array2<f32>,
    bias: Array1<f32>,
}

struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
    epsilon: f32,
}

impl Encoder {
    /// Takes the weights from `folder`; they have to fit together.
    pub(super) fn new(folder: &Folder) -> Result<Self, String> {
        let hidden = folder.config.hidden_size;
        let types = folder.matrix("embeddings.token_type_embeddings.weight")?;
        let encoder = Self {
            words: folder.matrix("embeddings.word_embeddings.weight")?,
            positions: folder.matrix("embeddings.position_embeddings.weight")?,
            sentence: types.outer_iter().next().ok_or("there are no types of tokens")?.to_owned(),
            norm: Norm::new(folder, "embeddings.LayerNorm")?,
            layers: (0..folder.config.num_hidden_layers).map(|at| Layer::new(folder, at)).collect::<Result<_, _>>()?,
        };
        let wide = [encoder.words.ncols(), encoder.positions.ncols(), encoder.sentence.len()];
        if hidden == 0 || wide != [hidden; 3] || encoder.positions.nrows() < folder.pieces_max || folder.pieces_max < 3
        {
            return Err("its embeddings do not fit to config.json".to_owned());
        }
        Ok(encoder)
    }

    /// How many pieces it knows.
    pub(super) fn pieces(&self) -> usize {
        self.words.nrows()
    }

    /// How long its vectors are.
    pub(super) fn dimensions(&self) -> usize {
        self.words.ncols()
    }

    /// The mean of the last layer's states for `ids`: at least one, and not more than there are positions.
    pub(super) fn mean(&self, ids: &[u32]) -> Vec<f32> {
        let mut states = Array2::zeros((ids.len(), self.dimensions()));
        for ((mut state, id), position) in states.outer_iter_mut().zip(ids).zip(self.positions.outer_iter()) {
            state += &self.words.row(*id as usize);
            state += &position;
            state += &self.sentence;
        }
        self.norm.apply(&mut states);
        for layer in &self.layers {
            states = layer.apply(&states);
        }
        (states.sum_axis(Axis(0)) / ids.len() as f32).to_vec()
    }
}

impl Layer {
    fn new(folder: &Folder, at: usize) -> Result<Self, String> {
        let hidden = folder.config.hidden_size;
        let linear =
            |part: &str, outputs, inputs| Linear::new(folder, &format!("encoder.layer.{at}.{part}"), outputs, inputs);
        let norm = |part: &str| Norm::new(folder, &format!("encoder.layer.{at}.{part}"));
        let wide = folder.row(&format!("encoder.layer.{at}.intermediate.dense.bias"))?.len();
        Ok(Self {
            heads: folder.config.num_attention_heads,
            query: linear("attention.self.query", hidden, hidden)?,
            key: linear("attention.self.key", hidden, hidden)?,
            value: linear("attention.self.value", hidden, hidden)?,
            mixed: linear("attention.output.dense", hidden, hidden)?,
            mixed_norm: norm("attention.output.LayerNorm")?,
            inner: linear("intermediate.dense", wide, hidden)?,
            outer: linear("output.dense", hidden, wide)?,
            outer_norm: norm("output.LayerNorm")?,
        })
    }

    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut mixed = self.mixed.apply(&self.attention(states)) + states;
        self.mixed_norm.apply(&mut mixed);
        let mut inner = self.inner.apply(&mixed);
        inner.mapv_inplace(gelu);
        let mut states = self.outer.apply(&inner) + mixed;
        self.outer_norm.apply(&mut states);
        states
    }

    /// For each head: every state becomes a mean of all values, by how well its query fits to their keys.
    fn attention(&self, states: &Array2<f32>) -> Array2<f32> {
        let (query, key, value) = (self.query.apply(states), self.key.apply(states), self.value.apply(states));
        let size = states.ncols() / self.heads;
        let mut all = Array2::zeros(states.raw_dim());
        for head in 0..self.heads {
            let part = s![.., head * size..(head + 1) * size];
            let mut scores = query.slice(part).dot(&key.slice(part).t()) / (size as f32).sqrt();
            for mut row in scores.outer_iter_mut() {
                let most = row.fold(f32::NEG_INFINITY, |most, score| most.max(*score));
                row.mapv_inplace(|score| (score - most).exp());
                let sum = row.sum();
                row /= sum;
            }
            all.slice_mut(part).assign(&scores.dot(&value.slice(part)));
        }
        all
    }
}

impl Linear {
    fn new(folder: &Folder, name: &str, outputs: usize, inputs: usize) -> Result<Self, String> {
        let (weight, bias) = (folder.matrix(&format!("{name}.weight"))?, folder.row(&format!("{name}.bias"))?);
        if weight.dim() != (outputs, inputs) || bias.len() != outputs {
            return Err(format!("{name} does not fit to config.json"));
        }
        Ok(Self { weight, bias })
    }

    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        states.dot(&self.weight.t()) + &self.bias
    }
}

impl Norm {
    fn new(folder: &Folder, name: &str) -> Result<Self, String> {
        let (weight, bias) = (folder.row(&format!("{name}.weight"))?, folder.row(&format!("{name}.bias"))?);
        if [weight.len(), bias.len()] != [folder.config.hidden_size; 2] {
            return Err(format!("{name} does not fit to config.json"));
        }
        Ok(Self { weight, bias, epsilon: folder.config.layer_norm_eps })
    }

    fn apply(&self, states: &mut Array2<f32>) {
        for mut state in states.outer_iter_mut() {
            let mean = average(state.view());
            state -= mean;
            let spread = (average((&state * &state).view()) + self.epsilon).sqrt();
            state /= spread;
            state *= &self.weight;
            state += &self.bias;
        }
    }
}

fn average(values: ArrayView1<'_, f32>) -> f32 {
    values.sum() / values.len() as f32
}

/// x times the share of a normal distribution below x.
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// Abramowitz and Stegun 7.1.26: within 1.5e-7 of the true value.
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series = t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    (1.0 - series * (-x * x).exp()).copysign(x)
}
