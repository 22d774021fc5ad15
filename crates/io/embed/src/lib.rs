//! Texts as vectors: near each other where the texts mean something alike.
//!
//! [`Embedder`] is the one interface. Store the id of the [`Model`] beside its vectors: vectors of different models
//! cannot be compared.
//!
//! [`Static`] is built in: a table with a vector for each piece of a word, shipped with the program. It needs no
//! download, no folder and no runtime, and makes some ten thousand vectors a second. Two more are features: `Endpoint`
//! (`endpoint`) asks any server with OpenAI's `/v1/embeddings`, `Transformer` (`transformer`) runs a model like MiniLM
//! from a folder.
//!
//! ```
//! use threadkeep_embed::Static;
//!
//! let built_in = Static::new();
//! let question = built_in.vector("How do I sign in?");
//! let near = built_in.vector("The login page asks for a password");
//! let far = built_in.vector("Bananas ripen faster in the sun");
//! assert!(question.cosine(&near) > question.cosine(&far));
//! ```

mod characters;
#[cfg(feature = "endpoint")]
mod endpoint;
mod error;
mod fixed;
#[cfg(feature = "transformer")]
mod transformer;
mod vector;
mod wordpiece;

use std::future::Future;
use std::pin::Pin;

#[cfg(feature = "endpoint")]
pub use endpoint::{Endpoint, EndpointSettings, Key};
pub use error::EmbedError;
pub use fixed::{Batch, Static};
#[cfg(feature = "transformer")]
pub use transformer::Transformer;
pub use vector::{Vector, dot};

/// A future in a box, so that traits can promise one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The model that made a vector. Vectors of different models are never compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Names the model and its version, such as `threadkeep-static-1`. Equal ids mean that vectors can be compared, now
    /// and after any update of the program.
    pub id: String,
    /// How long its vectors are.
    pub dimensions: usize,
}

/// Makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// The model behind it; the same for as long as the embedder lives.
    fn model(&self) -> &Model;

    /// A vector for each of `texts`, in their order, each as long as [`Model::dimensions`] says.
    ///
    /// Every text is accepted: a long one is cut, and one without content has a vector of zeros, which is near to
    /// nothing. Any number of texts is accepted: they are divided into batches here.
    ///
    /// # Errors
    /// [`EmbedError`], for all of `texts`: [`EmbedError::is_passing`] tells whether later may be better.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>>;
}
