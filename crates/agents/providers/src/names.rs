//! Names that providers accept: letters, digits, `_` and `-`, at most 64 characters.
//!
//! Our tools have names such as `threadkeep/search` and `mcp:files/read`. Each gets an accepted spelling for one request,
//! and the model's calls are translated back. Ids of calls that came from elsewhere are treated the same way.

use std::collections::{BTreeMap, BTreeSet};

/// Characters of a name.
const NAME_MAX: usize = 64;

/// Accepted spellings of the names in one request, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    sent: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl Names {
    /// The spelling that is sent for `name`; always the same for the same name.
    pub(crate) fn sent(&mut self, name: &str) -> String {
        match self.sent.get(name) {
            Some(sent) => sent.clone(),
            None => self.fresh(name),
        }
    }

    /// A spelling that was not sent yet, which is sent for `name` from now on: ids of calls may not repeat in a request.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let accepted = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        let plain: String = name.chars().map(accepted).take(NAME_MAX).collect();
        let plain = if plain.is_empty() { "_".to_owned() } else { plain };
        let mut spelling = plain.clone();
        let mut number = 2;
        while !self.taken.insert(spelling.clone()) {
            let ending = format!("_{number}");
            spelling = plain.chars().take(NAME_MAX - ending.len()).chain(ending.chars()).collect();
            number += 1;
        }
        self.sent.insert(name.to_owned(), spelling.clone());
        spelling
    }

    /// Our name for a spelling that came back; the spelling itself if it was never sent.
    pub(crate) fn ours(&self, spelling: &str) -> String {
        let ours = self.sent.iter().find(|(_, sent)| *sent == spelling);
        ours.map_or_else(|| spelling.to_owned(), |(name, _)| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_accepted_spelling_and_comes_back() {
        let mut names = Names::default();
        let long = "x".repeat(100);
        let all = [
            "plain",
            "threadkeep/search",
            "threadkeep_search",
            "threadkeep:search",
            "",
            "é",
            &long,
            &format!("{long}y"),
        ];
        let sent: Vec<String> = all.iter().map(|name| names.sent(name)).collect();
        assert_eq!(sent[..4], ["plain", "threadkeep_search", "threadkeep_search_2", "threadkeep_search_3"]);
        let accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        for (name, sent) in all.iter().zip(&sent) {
            assert!((1..=NAME_MAX).contains(&sent.len()) && sent.chars().all(accepted), "{sent}");
            assert_eq!((&names.ours(sent), &names.sent(name)), (&(*name).to_owned(), sent));
        }
        assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(names.ours("never_sent"), "never_sent");
    }
}
