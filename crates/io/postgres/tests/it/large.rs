//! What is sent in long messages does not stay in memory: a connection keeps room for the longest message that it sent.

use threadkeep_model::{Account, Entry, Expect, MessageBody, NewEntry, ThreadCommit, Write};
use threadkeep_store::{NewVolume, Reshelving, Shelves, Store};

use crate::keep::{Keep, block_on, changed, commit, create, until};

const MESSAGE_BYTES: usize = 12 << 10;
const MESSAGES: usize = 256;

impl Keep {
    /// The connections of our stores.
    fn connected(&self) -> Vec<Vec<Option<String>>> {
        let name = self.schema.name();
        self.sql(&format!(
            "SELECT pid FROM pg_stat_activity WHERE application_name = '{name}' AND pid <> pg_backend_pid()"
        ))
    }
}

#[test]
fn a_connection_that_sent_a_long_message_is_closed() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        let is_closed = async |before: Vec<_>| {
            until("a connection is closed", async || {
                let connected = keep.connected();
                before.iter().any(|one| !connected.contains(one))
            })
            .await;
        };

        store.commit(commit(vec![changed(thread)])).await.expect("a change");
        let before = keep.connected();
        store.commit(commit(vec![changed(thread)])).await.expect("a change");
        assert_eq!(keep.connected(), before, "short messages go over the same connections");
        let said = NewEntry::new(&Entry::MessageAppended(MessageBody::user(&"x".repeat(MESSAGE_BYTES))));
        let entries = vec![said; MESSAGES];
        let many = Write { thread, expect: Expect::default(), branch: None, entries, record: None, owner: None };
        store.commit(commit(vec![ThreadCommit::Write(many)])).await.expect("messages");
        is_closed(before).await;

        store.commit(commit(vec![changed(thread)])).await.expect("a change");
        let before = keep.connected();
        let content = vec![7; MESSAGES * MESSAGE_BYTES].into();
        let (account, model) = (Account::local(), String::new());
        let volume = NewVolume { account, documents: 1, text_bytes: 1, model, content };
        let (edition, note) = store.edition().await.expect("an edition");
        let change = Reshelving { edition, note, add: vec![volume], remove: Vec::new() };
        assert!(store.reshelve(change).await.expect("a volume"));
        is_closed(before).await;
    });
}
