//! Messages with files: they go to the store itself, since the wire names files that are in the store already.

use threadkeep::{At, Enter, Error};
use threadkeep_calls::Problem;
use threadkeep_client as client;

use crate::context::Context;
use crate::failure::Failure;

/// The option that needs the store, as errors name it.
const ATTACH: &str = "--attach";

/// Carries out a call on `context`'s store, and answers as a server would.
pub(crate) async fn call<C: Enter>(context: &mut Context, at: At, call: C) -> Result<C::Answer, client::Error> {
    let engine = context.engine(ATTACH).map_err(|failure| match failure {
        Failure::Problem(problem) => client::Error::Refused(problem),
        Failure::Closed | Failure::Interrupted(_) | Failure::Told(_) => refused(Error::Busy),
    })?;
    let made = engine.call(at, call).await.map_err(refused)?;
    let told = C::told(made, &engine).await.map_err(refused)?;
    let odd = |error: serde_json::Error| client::Error::NotUnderstood {
        server: "the store".to_owned(),
        what: error.to_string(),
    };
    serde_json::from_slice(&told.json).map_err(odd)
}

fn refused(error: Error) -> client::Error {
    client::Error::Refused(Box::new(Problem::from(error)))
}
