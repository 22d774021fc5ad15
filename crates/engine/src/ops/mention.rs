//! `mention`: this thread names another one.

use threadkeep_model::{Entry, Invalid, NewEntry, Related, RelationKind, ThreadId, ThreadName, strip_nulls};

use super::write;
use crate::{Engine, Error, Relationship, RelationshipRole, Result};

/// Another thread is named in this one.
#[derive(Debug, Clone)]
pub struct Mention {
    /// Which one.
    pub target: ThreadName,
    /// A description of the relation.
    pub comment: Option<String>,
}

impl Engine {
    /// Records that `thread` names another one. Both show the relation from then on; while it holds, naming it again
    /// changes nothing.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], of either; a thread does not mention itself.
    pub async fn mention(&self, thread: ThreadId, mention: Mention) -> Result<Relationship> {
        let target = self.thread(mention.target).await?.id;
        if target == thread {
            return Err(Invalid::body("target", "is the thread itself; name another one").into());
        }
        let comment = mention.comment.map(strip_nulls);
        if let Some(holds) = self.mention_of(thread, target).await? {
            return Ok(holds);
        }
        self.settle(thread, || async {
            let named_in = self.thread(thread).await?;
            let (index, anchor) = self.last_place(&named_in).await?;
            let (kind, comment) = (RelationKind::Mention, comment.clone());
            let told = NewEntry::new(&Entry::Related(Related { child: target, kind, index, anchor, comment }));
            Ok((self.commit(vec![write(&named_in, None, None, vec![told], None)]), ()))
        })
        .await?;
        let gone = Error::ThreadNotFound { thread: target.into() };
        self.mention_of(thread, target).await?.ok_or(gone)
    }

    async fn mention_of(&self, thread: ThreadId, target: ThreadId) -> Result<Option<Relationship>> {
        let holding = self.relationships(thread).await?;
        let is_it = |held: &Relationship| {
            held.kind == RelationKind::Mention && held.role == RelationshipRole::Parent && held.thread == target
        };
        Ok(holding.into_iter().find(is_it))
    }
}
