//! Where the vectors of the search come from: settings of a server, and of commands that open the store themselves.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use threadkeep::embed::Embedder;
use threadkeep::{Engine, Invalid};
#[cfg(any(feature = "endpoint", feature = "transformer"))]
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::failure::Failure;
#[cfg(feature = "endpoint")]
use crate::failure::cannot_read;

/// The key of an endpoint, which is never a flag.
pub(crate) const EMBEDDER_KEY: &str = "THREADKEEP_EMBEDDER_KEY";

/// Which embedder. Where no server runs, commands that search have these settings too, from the environment and the file.
#[derive(Debug, Clone, Args)]
pub(crate) struct Embedding {
    /// What makes vectors of messages, for the search: one of another kind makes new ones of all
    #[arg(long, value_enum, default_value_t = Kind::BuiltIn, env = "THREADKEEP_EMBEDDER", hide_env = true)]
    embedder: Kind,
    /// The address before /embeddings, with --embedder endpoint, such as https://models.example/v1; its key is in
    /// THREADKEEP_EMBEDDER_KEY
    #[arg(long, value_name = "URL", env = "THREADKEEP_EMBEDDER_URL", hide_env = true)]
    embedder_url: Option<String>,
    /// The model's name there
    #[arg(long, value_name = "NAME", env = "THREADKEEP_EMBEDDER_MODEL", hide_env = true)]
    embedder_model: Option<String>,
    /// How long the model's vectors are [default: what the endpoint says, which then has to answer at the start]
    #[arg(long, value_name = "N", value_parser = dimensions, env = "THREADKEEP_EMBEDDER_DIMENSIONS", hide_env = true)]
    embedder_dimensions: Option<usize>,
    /// A file with the key, instead of THREADKEEP_EMBEDDER_KEY
    #[arg(long, value_name = "FILE", env = "THREADKEEP_EMBEDDER_KEY_FILE", hide_env = true)]
    embedder_key_file: Option<PathBuf>,
    /// The folder of a model, with --embedder transformer: config.json, vocab.txt and model.safetensors
    #[arg(long, value_name = "DIR", env = "THREADKEEP_EMBEDDER_FOLDER", hide_env = true)]
    embedder_folder: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The table that is part of this program
    BuiltIn,
    /// Whatever speaks OpenAI's /v1/embeddings
    Endpoint,
    /// A model of MiniLM's kind, from a folder
    Transformer,
}

impl Embedding {
    /// Refuses settings that do not go together.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let of_an_endpoint = [
            ("embedder-url", self.embedder_url.is_some()),
            ("embedder-model", self.embedder_model.is_some()),
            ("embedder-dimensions", self.embedder_dimensions.is_some()),
            ("embedder-key-file", self.embedder_key_file.is_some()),
        ];
        let of_a_folder = [("embedder-folder", self.embedder_folder.is_some())];
        let (needed, foreign) = match self.embedder {
            Kind::BuiltIn => (&[][..], of_an_endpoint.into_iter().chain(of_a_folder).collect()),
            Kind::Endpoint => (&of_an_endpoint[..2], Vec::from(of_a_folder)),
            Kind::Transformer => (&of_a_folder[..], Vec::from(of_an_endpoint)),
        };
        if let Some((name, _)) = needed.iter().find(|(_, given)| !given) {
            let kind = self.embedder.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            return Err(Invalid::parameter(*name, format!("is missing: --embedder {kind} needs it")));
        }
        if let Some((name, _)) = foreign.iter().find(|(_, given)| *given) {
            let kind = if of_a_folder[0].0 == *name { "transformer" } else { "endpoint" };
            return Err(Invalid::parameter(*name, format!("goes with --embedder {kind}, which is not set")));
        }
        Ok(())
    }

    /// The same engine, with the vectors that these settings ask for.
    pub(crate) async fn apply(&self, engine: Engine) -> Result<Engine, Failure> {
        self.check()?;
        let embedder: Arc<dyn Embedder> = match self.embedder {
            Kind::BuiltIn => return Ok(engine),
            Kind::Endpoint => self.endpoint().await?,
            Kind::Transformer => self.transformer()?,
        };
        Ok(engine.with_embedder(embedder))
    }

    #[cfg(feature = "endpoint")]
    async fn endpoint(&self) -> Result<Arc<dyn Embedder>, Failure> {
        use threadkeep::embed::{Endpoint, EndpointSettings, Key};
        let (url, model) = (self.embedder_url.clone(), self.embedder_model.clone());
        let mut settings = EndpointSettings::new(url.unwrap_or_default(), model.unwrap_or_default());
        settings.dimensions = self.embedder_dimensions;
        settings.key = match &self.embedder_key_file {
            Some(path) => {
                let key = std::fs::read_to_string(path);
                let key = key.map_err(|error| cannot_read(&format!("the key in {}", path.display()), &error))?;
                Some(Key::new(key.trim_end()))
            }
            None => std::env::var(EMBEDDER_KEY).ok().filter(|key| !key.is_empty()).map(Key::new),
        };
        let endpoint = Endpoint::connect(settings).await.map_err(|error| {
            let problem = Problem::new(Status::Unavailable, ErrorCode::EmbedderFailed, error.to_string());
            if error.is_passing() {
                problem.hint("with --embedder-dimensions it need not answer at the start")
            } else {
                problem.hint("threadkeep config shows the settings of the embedder")
            }
        })?;
        Ok(Arc::new(endpoint))
    }

    #[cfg(not(feature = "endpoint"))]
    async fn endpoint(&self) -> Result<Arc<dyn Embedder>, Failure> {
        Err(without("endpoint").into())
    }

    #[cfg(feature = "transformer")]
    fn transformer(&self) -> Result<Arc<dyn Embedder>, Failure> {
        let folder = self.embedder_folder.clone().unwrap_or_default();
        let model = threadkeep::embed::Transformer::open(folder)
            .map_err(|error| Problem::new(Status::Unavailable, ErrorCode::EmbedderFailed, error.to_string()))?;
        Ok(Arc::new(model))
    }

    #[cfg(not(feature = "transformer"))]
    fn transformer(&self) -> Result<Arc<dyn Embedder>, Failure> {
        Err(without("transformer").into())
    }
}

#[cfg(not(all(feature = "endpoint", feature = "transformer")))]
fn without(kind: &str) -> Invalid {
    Invalid::parameter("embedder", format!("this program was built without '{kind}' (feature `{kind}`)"))
}

fn dimensions(text: &str) -> Result<usize, Invalid> {
    let number = text.parse().ok().filter(|number| (1..=65_536).contains(number));
    let rule = || Invalid::parameter("embedder-dimensions", format!("'{text}' is not a number from 1 to 65536"));
    number.ok_or_else(rule)
}
