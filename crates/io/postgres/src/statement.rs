//! SQL statements with their values, and how several of them travel in one round trip.

use deadpool_postgres::Object;
use futures_util::future::join_all;
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

/// Arrays with these columns, from `$1` on, as the rows of a table `u`. `unnest` makes a table of each array first, which
/// takes longer than writing a single row: that one is taken out of the arrays.
pub(crate) fn side_by_side(columns: &str, rows: usize) -> String {
    let columns = columns.split(',').zip(1..).filter_map(|(column, n)| Some((n, column.trim().split_once(' ')?)));
    let (mut names, mut arrays) = (Vec::new(), Vec::new());
    for (n, (name, kind)) in columns {
        names.push(name);
        arrays.push(match rows {
            1 => format!("(${n}::{kind}[])[1]"),
            _ => format!("${n}::{kind}[]"),
        });
    }
    let (names, arrays) = (names.join(", "), arrays.join(", "));
    match rows {
        1 => format!("(SELECT {arrays}) AS u({names})"),
        _ => format!("unnest({arrays}) AS u({names})"),
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

/// Runs requests one after the other without waiting in between: each is sent when it is first polled. All of them go on
/// being polled: one that has to be prepared first is answered after those behind it, and the connection gives nobody an
/// answer while one of them does not take its own.
pub(crate) async fn in_order<F: Future>(requests: impl Iterator<Item = F>) -> Vec<F::Output> {
    join_all(requests).await
}
