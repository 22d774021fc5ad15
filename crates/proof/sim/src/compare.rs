//! Readers and followers, and the comparison of threads with the model.

use threadkeep::{Error, Message, MessageId, Page, Position, ThreadId};
use threadkeep_model::Kind;

use crate::model::{Item, Worker};
use crate::run::{Follower, Reading, Run};

impl Run {
    pub(crate) async fn begin_reading(&mut self, thread: ThreadId) {
        let newest_first = self.chance.one_in(2);
        let page = Page::first().everything().limit(2);
        let page = if newest_first { page.newest_first() } else { page };
        let page = self.engine.messages(thread, page).await.expect("a page");
        let mut left: Vec<_> = self.model.thread(thread).now.shown().into_iter().map(told).collect();
        if newest_first {
            left.reverse();
        }
        let first: Vec<_> = page.items.iter().map(shown).collect();
        assert_eq!(first, left[..left.len().min(2)], "{}", self.context());
        if let Some(cursor) = page.next {
            self.readings.push(Reading { thread, cursor, left: left.split_off(2) });
        }
    }

    /// Every reader reads one more page: it sees the state from when it began.
    pub(crate) async fn read_on(&mut self) {
        let context = self.context();
        for mut reading in std::mem::take(&mut self.readings) {
            let page = Page::after(&reading.cursor).everything().limit(3);
            let page = self.engine.messages(reading.thread, page).await.expect("the next page");
            let wanted = reading.left.len().min(3);
            let items: Vec<_> = page.items.iter().map(shown).collect();
            assert_eq!(items, reading.left[..wanted], "{context}: a page shows the state it began with");
            match page.next {
                Some(cursor) => {
                    reading.left.drain(..wanted);
                    reading.cursor = cursor;
                    self.readings.push(reading);
                }
                None => assert_eq!(wanted, reading.left.len(), "{context}: no message is missing"),
            }
        }
    }

    pub(crate) async fn follow(&mut self, thread: ThreadId) {
        let known = self.model.thread(thread);
        let (birth, version) = (known.birth, known.version);
        let seen = birth + self.chance.below(version - birth + 1);
        let subscription = self.engine.subscribe(thread, Position(seen)).await.expect("a subscription");
        self.followers.push(Follower { thread, subscription, seen });
        let ahead = self.engine.subscribe(thread, Position(version + 1)).await;
        assert!(matches!(ahead, Err(Error::VersionInFuture { .. })));
    }

    /// Compares everything that a thread shows with the model.
    pub(crate) async fn compare(&mut self, thread: ThreadId) {
        let context = self.context();
        let known = self.model.thread(thread).clone();
        let now = self.engine.thread(thread).await.expect("a living thread");
        assert_eq!(now.head.version.0, known.version, "{context}");
        assert_eq!(now.record.title, known.title, "{context}");
        let skills: Vec<String> = now.record.activated_skills.iter().map(|skill| skill.name.clone()).collect();
        let worker = Worker { agent: now.record.agent_id, skills };
        assert_eq!(worker, known.now.worker, "{context}: agent and skills");
        assert_eq!(self.held(thread, None).await, known.now.held, "{context}: files and values");
        let waiting = self.engine.queued(thread).await.expect("a queue");
        let waiting: Vec<String> =
            waiting.iter().map(|item| item.queued_message.content.to_text().into_owned()).collect();
        assert_eq!(waiting, known.queue, "{context}: the queue");
        let limit = 1 + self.chance.below(5) as usize;
        let page = || Page::first().everything().limit(limit);
        let items = self.all(thread, page()).await;
        let expected: Vec<_> = known.now.shown().into_iter().cloned().collect();
        check(&context, &items, &expected);
        assert_eq!(now.head.tally.messages(), expected.len() as u64, "{context}: the count");
        let mut backwards = self.all(thread, page().newest_first()).await;
        backwards.reverse();
        check(&context, &backwards, &expected);
        let offset = self.chance.below(expected.len() as u64 + 2) as usize;
        let rest = self.all(thread, page().offset(offset as u64)).await;
        check(&format!("{context}, offset {offset}"), &rest, &expected[offset.min(expected.len())..]);
        let mut rest = self.all(thread, page().newest_first().offset(offset as u64)).await;
        rest.reverse();
        let end = expected.len().saturating_sub(offset);
        check(&format!("{context}, offset {offset} from the end"), &rest, &expected[..end]);
        let then = known.birth + self.chance.below(known.version - known.birth + 1);
        let items = self.all(thread, page().as_of(Position(then))).await;
        let expected: Vec<_> = known.then[&then].shown().into_iter().cloned().collect();
        check(&format!("{context}, as of {then}"), &items, &expected);
        let held = self.held(thread, Some(Position(then))).await;
        assert_eq!(held, known.then[&then].held, "{context}: files and values as of {then}");
        let own: Vec<(u64, Kind)> = self
            .engine
            .history(thread, Position(known.birth), 10_000)
            .await
            .expect("history")
            .iter()
            .map(|entry| (entry.version.0, entry.kind))
            .collect();
        assert_eq!(own, known.history, "{context}: history");
        let mut related: Vec<(ThreadId, ThreadId)> = Vec::new();
        for relationship in self.engine.relationships(thread).await.expect("relationships") {
            related.push(match relationship.role {
                threadkeep::RelationshipRole::Parent => (thread, relationship.thread_id),
                threadkeep::RelationshipRole::Child => (relationship.thread_id, thread),
            });
        }
        let mut expected = self.model.holding(thread);
        related.sort();
        expected.sort();
        assert_eq!(related, expected, "{context}: relations");
    }

    pub(crate) async fn all(&self, thread: ThreadId, page: Page) -> Vec<Message> {
        let first = self.engine.messages(thread, page.clone()).await.expect("a page");
        let (mut items, mut next) = (first.items, first.next);
        while let Some(cursor) = next {
            let page = self.engine.messages(thread, Page::after(cursor).everything().limit(3)).await.expect("a page");
            items.extend(page.items);
            next = page.next;
        }
        items
    }
}

fn told(item: &Item) -> (MessageId, String) {
    (item.id, item.text.clone())
}

fn shown(message: &Message) -> (MessageId, String) {
    (message.id, message.text().expect("text"))
}

pub(crate) fn metadata_of(message: &Message) -> Option<String> {
    message.body().expect("a body").metadata.map(|metadata| metadata.as_str().to_owned())
}

fn check(context: &str, items: &[Message], expected: &[Item]) {
    let is: Vec<_> = items.iter().map(|message| (shown(message), metadata_of(message), message.version.0)).collect();
    let ought: Vec<_> = expected.iter().map(|item| (told(item), item.metadata.clone(), item.version)).collect();
    assert_eq!(is, ought, "{context}");
}
