//! What a model answers: pieces as they come, then the whole.

use serde_json::Value;

use crate::Thought;

/// Something that came, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// The answer begins; `model` is the definition's name of the model that gives it.
    Began {
        /// The name of the model.
        model: String,
    },
    /// More text for the reader.
    Text(String),
    /// More reasoning.
    Thinking(String),
    /// A call of a tool begins.
    Call {
        /// The name of the tool, in our spelling.
        name: String,
    },
    /// All pieces of this answer so far are void: the connection broke, and the model is asked anew.
    Discarded {
        /// Why, for people.
        why: String,
    },
    /// The answer is whole.
    Ended(Answer),
}

/// An answer of a model, with all its pieces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The definition's name of the model that gave it.
    pub model: String,
    /// Its parts, in order.
    pub parts: Vec<AnswerPart>,
    /// Why the model stopped.
    pub stop: Stop,
    /// Tokens that were used; none if the provider did not tell.
    pub usage: Option<Usage>,
}

impl Answer {
    /// The text for the reader, joined.
    pub fn text(&self) -> String {
        let text = |part: &AnswerPart| if let AnswerPart::Text(text) = part { Some(text.clone()) } else { None };
        self.parts.iter().filter_map(text).collect()
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// Text for the reader.
    Text(String),
    /// Reasoning.
    Thinking(Thought),
    /// A call of a tool.
    Call {
        /// The id, which the result must repeat.
        id: String,
        /// The name of the tool, in our spelling.
        name: String,
        /// The arguments: what the model wrote as JSON, or the text itself if that is no JSON.
        arguments: Result<Value, String>,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stop {
    /// It said all it wanted to say.
    #[default]
    Done,
    /// It waits for the results of its calls.
    Calls,
    /// The answer reached its limit of tokens.
    Length,
    /// The provider or the model declined.
    Refused,
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request that the provider read anew.
    pub input: u64,
    /// Tokens of the request that came from the provider's cache.
    pub cache_read: u64,
    /// Tokens of the request that the provider put into its cache.
    pub cache_write: u64,
    /// Tokens of the answer, thinking included.
    pub output: u64,
}

/// Prices of a model, in millionths of the currency for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prices {
    /// For tokens that are read anew.
    pub input: u64,
    /// For tokens from the cache.
    pub cache_read: u64,
    /// For tokens that enter the cache.
    pub cache_write: u64,
    /// For tokens of the answer.
    pub output: u64,
}

impl Prices {
    /// What an answer costs, in millionths of the currency, rounded up: a sum of costs is never too low.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = of(usage.input, self.input)
            + of(usage.cache_read, self.cache_read)
            + of(usage.cache_write, self.cache_write)
            + of(usage.output, self.output);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_counts_each_kind_of_token_at_its_price() {
        // 3.00, 0.30, 3.75 and 15.00 for a million.
        let prices = Prices { input: 3_000_000, cache_read: 300_000, cache_write: 3_750_000, output: 15_000_000 };
        let usage = Usage { input: 1_000, cache_read: 10_000, cache_write: 200, output: 500 };
        assert_eq!(prices.cost(&usage), 3_000 + 3_000 + 750 + 7_500);
        assert_eq!(prices.cost(&Usage { cache_read: 1, ..Usage::default() }), 1, "rounded up");
        assert_eq!(Prices::default().cost(&usage), 0);
        let most = Usage { input: u64::MAX, ..Usage::default() };
        assert_eq!(Prices { input: u64::MAX, ..Prices::default() }.cost(&most), u64::MAX);
    }
}
