//! Texts of definitions with `${env:NAME}` in them, which is a variable.

use super::Attempt;
use crate::RuntimeError;

/// Begins a variable in a text.
pub(crate) const ENV: &str = "${env:";

/// The names of the variables in a text.
pub(crate) fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split(ENV).skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

/// A text with its variables.
pub(crate) async fn filled_env(on: &Attempt, text: &str) -> Result<String, RuntimeError> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(ENV) {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        filled.push_str(&on.env(&name.parse().map_err(threadkeep_engine::Error::from)?).await?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
