//! Why there are no vectors.

/// Why there are no vectors. Neither its text nor its `Debug` holds a key or what was to be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Not at the moment: the endpoint does not answer, or too slowly, or there were too many requests.
    #[error("{who} gives no vectors at the moment: {what}; they are asked for again later")]
    Unavailable {
        /// The endpoint that was asked.
        who: String,
        /// The kind of failure.
        what: String,
    },
    /// Never like this: the key, the model or the address is wrong.
    #[error("{who} refuses: {what}; look at its settings")]
    Refused {
        /// The endpoint that was asked.
        who: String,
        /// Its status and its code.
        what: String,
    },
    /// The answer does not contain vectors, or not those of this model.
    #[error("{who} answered with something else than the vectors asked for: {what}")]
    NotUnderstood {
        /// The endpoint that was asked.
        who: String,
        /// What is odd about it.
        what: String,
    },
    /// A model cannot be read from its folder.
    #[error("the model in {folder} cannot be used: {what}")]
    Unusable {
        /// The path of the folder.
        folder: String,
        /// What is missing or wrong.
        what: String,
    },
}

impl EmbedError {
    /// Whether the same may succeed later, with nothing changed.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable { .. } => true,
            Self::Refused { .. } | Self::NotUnderstood { .. } | Self::Unusable { .. } => false,
        }
    }
}
