//! SQL statements with their values, and how several of them travel in one round trip.

use std::task::Poll;

use deadpool_postgres::Object;
use futures_util::future::maybe_done;
use threadkeep_model::{Position, SegmentId, ThreadId};
use threadkeep_store::Result;
use tokio_postgres::types::ToSql;

/// Where an entry goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) thread: ThreadId,
    pub(crate) segment: SegmentId,
    pub(crate) position: Position,
}

/// A statement with its values.
pub(crate) struct Statement<'a> {
    sql: std::borrow::Cow<'a, str>,
    params: Vec<&'a (dyn ToSql + Sync)>,
}

impl<'a> Statement<'a> {
    pub(crate) fn new(sql: impl Into<std::borrow::Cow<'a, str>>, params: Vec<&'a (dyn ToSql + Sync)>) -> Self {
        Self { sql: sql.into(), params }
    }

    pub(crate) fn sql(&self) -> &str {
        &self.sql
    }

    pub(crate) fn params(&self) -> &[&'a (dyn ToSql + Sync)] {
        &self.params
    }

    /// One statement of this one, which begins with `WITH` and a table, of `parts`, which may name that table, and of
    /// `last`, a query of it. The parts see nothing of what the others write.
    pub(crate) fn with(self, parts: Vec<Statement<'a>>, last: &str) -> Self {
        let (mut sql, mut params) = (self.sql.into_owned(), self.params);
        for (number, part) in parts.into_iter().enumerate() {
            sql.push_str(&format!(", part{number} AS ("));
            push_shifted(&mut sql, &part.sql, params.len());
            sql.push(')');
            params.extend(part.params);
        }
        sql.push(' ');
        sql.push_str(last);
        Self { sql: sql.into(), params }
    }

    /// Ends the transaction. If a statement before it failed, the server takes all back.
    pub(crate) fn commit() -> Self {
        Self::new("COMMIT", Vec::new())
    }
}

/// Adds a statement to another one that has `before` values: `$1` becomes the first after those.
fn push_shifted(all: &mut String, sql: &str, before: usize) {
    let mut pieces = sql.split('$');
    all.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = piece[..digits].parse().expect("every $ in a statement is followed by a number");
        all.push_str(&format!("${}{}", number + before, &piece[digits..]));
    }
}

/// Runs statements one after the other without waiting in between. The first that fails is told; those after it are
/// refused by the server, as the transaction is broken.
pub(crate) async fn run(client: &Object, statements: &[Statement<'_>]) -> Result<(), tokio_postgres::Error> {
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in statements {
        prepared.push(client.prepare_cached(&statement.sql).await?);
    }
    let running =
        prepared.iter().zip(statements).map(|(prepared, statement)| client.execute(prepared, &statement.params));
    for result in in_order(running).await {
        result?;
    }
    Ok(())
}

/// Runs requests one after the other without waiting in between: each is sent when it is first polled.
pub(crate) async fn in_order<F: Future>(requests: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut requests: Vec<_> = requests.map(|request| Box::pin(maybe_done(request))).collect();
    std::future::poll_fn(|context| {
        for request in &mut requests {
            let _ = request.as_mut().poll(context);
        }
        Poll::Ready(())
    })
    .await;
    let mut answers = Vec::with_capacity(requests.len());
    for mut request in requests {
        request.as_mut().await;
        answers.extend(request.as_mut().take_output());
    }
    answers
}
