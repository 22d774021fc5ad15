//! Lists of threads, compared with the model: pages, offsets and totals by title and agent.

use std::cmp::Reverse;

use threadkeep::{Archived, List, ThreadId, Total};

use crate::model::ModelThread;
use crate::run::Run;

impl Run {
    /// Asks for a list by some letters of a title and by an agent, or by neither.
    pub(crate) async fn compare_lists(&mut self) {
        let Some(known) = self.some_thread() else { return };
        let agent = known.now.worker.agent.filter(|_| self.chance.one_in(3));
        let title = known.title.filter(|_| self.chance.one_in(2)).map(|title| self.letters_of(&title));
        let matches = |thread: &&ModelThread| {
            let folded = thread.title.as_deref().unwrap_or_default().to_lowercase();
            title.as_deref().is_none_or(|letters| folded.contains(&letters.to_lowercase()))
                && (agent.is_none() || thread.now.worker.agent == agent)
        };
        let place = |thread: &&ModelThread| Reverse((thread.times.values().max().copied(), thread.id.short()));
        let mut expected: Vec<&ModelThread> = self.model.threads.iter().filter(matches).collect();
        expected.sort_by_key(place);
        let expected: Vec<ThreadId> = expected.iter().map(|thread| thread.id).collect();
        let limit = 1 + self.chance.below(7) as usize;
        let list = List {
            archived: Archived::Any,
            title,
            agent_id: agent,
            limit: Some(limit),
            total: true,
            ..List::default()
        };
        let context = format!("{}: {list:?}", self.context());
        let total = Some(Total { count: expected.len() as u64, is_exact: true });
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.engine.list(List { cursor, ..list.clone() }).await.expect("a page");
            assert_eq!(page.total, total, "{context}");
            found.extend(page.items.iter().map(|row| row.thread.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{context}");
        let offset = self.chance.below(expected.len() as u64 + 2) as usize;
        let page = self.engine.list(List { offset: Some(offset), ..list.clone() }).await.expect("a page");
        let shown: Vec<ThreadId> = page.items.iter().map(|row| row.thread.id).collect();
        let rest: Vec<ThreadId> = expected.into_iter().skip(offset).take(limit).collect();
        assert_eq!((shown, page.total), (rest, total), "{context} from {offset}");
    }

    fn some_thread(&mut self) -> Option<ModelThread> {
        let count = self.model.threads.len() as u64;
        if count == 0 {
            return None;
        }
        let at = self.chance.below(count) as usize;
        self.model.threads.get(at).cloned()
    }

    /// One to four letters in a row.
    fn letters_of(&mut self, title: &str) -> String {
        let letters: Vec<char> = title.chars().collect();
        let from = self.chance.below(letters.len() as u64 + 1) as usize;
        letters.into_iter().skip(from).take(1 + self.chance.below(4) as usize).collect()
    }
}
