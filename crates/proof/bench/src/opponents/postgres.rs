//! PostgreSQL by hand: one statement an append, which moves the head on and inserts the entry where it says.
//!
//! Each writer has a connection of its own, on which the statement is prepared, and each append is a transaction of its
//! own, as durable as the server makes it. The columns are those of our own tables that a message needs, and the
//! indexes are the same. It has no versions to check, no forks, no leases, no keys for retries, and its feed may skip.

use std::sync::{Arc, Mutex};

use threadkeep::{SystemWorld, World};
use tokio_postgres::{Client, Statement};

use super::{ByHand, body, now_micros};
use crate::Result;
use crate::bench::{Bench, Keeper, Load, text};
use crate::ours::join;
use crate::server::Server;

/// Messages in one statement, where a history is built.
const FILL_BATCH: usize = 4_096;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS by_hand_heads (
    thread bigint PRIMARY KEY, segment bigint NOT NULL, version bigint NOT NULL, updated bigint NOT NULL,
    messages bigint NOT NULL, bytes bigint NOT NULL, last_user bigint
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS by_hand_entries (
    feed bigint GENERATED ALWAYS AS IDENTITY, segment bigint NOT NULL, position bigint NOT NULL, time bigint NOT NULL,
    actor bigint NOT NULL, ordinals bigint NOT NULL, bytes bigint NOT NULL, last_user bigint, kind smallint NOT NULL,
    format smallint NOT NULL, role smallint, depth smallint, silent boolean, body bytea
);
CREATE UNIQUE INDEX IF NOT EXISTS by_hand_entries_place ON by_hand_entries (segment, position);
CREATE INDEX IF NOT EXISTS by_hand_entries_feed ON by_hand_entries (feed);
CREATE INDEX IF NOT EXISTS by_hand_entries_message ON by_hand_entries (segment, ordinals) WHERE role IS NOT NULL;
";

const APPEND: &str = "
WITH head AS (
    UPDATE by_hand_heads SET version = version + 1, updated = $2, messages = messages + 1, bytes = bytes + length($3::bytea),
        last_user = $2
    WHERE thread = $1 RETURNING segment, version, messages, bytes
)
INSERT INTO by_hand_entries
    (segment, position, time, actor, ordinals, bytes, last_user, kind, format, role, depth, silent, body)
SELECT segment, version, $2, 1, messages, bytes, $2, 0, 1, 0, 0, false, $3 FROM head RETURNING position";

const FILL: &str = "
INSERT INTO by_hand_entries
    (segment, position, time, actor, ordinals, bytes, last_user, kind, format, role, depth, silent, body)
SELECT segment, position, $1, 1, position, position * $2::bigint, $1, 0, 1, 0, 0, false, body
FROM unnest($3::bigint[], $4::bigint[], $5::bytea[]) AS filled(segment, position, body)";

/// The messages of one thread; in which order, and how many, comes after it.
const MESSAGES: &str = "
SELECT segment, position, time, actor, ordinals, bytes, body FROM by_hand_entries
WHERE segment = (SELECT segment FROM by_hand_heads WHERE thread = $1) AND ordinals > 0 AND role IS NOT NULL
  AND NOT silent ORDER BY ordinals";

/// Two tables with threads in them.
pub(crate) struct Postgres {
    server: Arc<Server>,
    threads: Vec<i64>,
    reader: Client,
    last: Statement,
    all: Statement,
    /// A connection for each writer, opened when it is first needed.
    writers: Mutex<Vec<Arc<Writer>>>,
}

struct Writer {
    client: Client,
    append: Statement,
}

impl Postgres {
    pub(crate) fn with_threads(server: Arc<Server>, threads: usize) -> Result<Self> {
        server.run(&format!("SET client_min_messages = error; {TABLES}"))?;
        // Keys without order, as random ids have none.
        let threads: Vec<i64> = (0..threads).map(|_| (SystemWorld.chance() as u64 >> 16) as i64).collect();
        let (reader, last, all) = server.wait(async {
            let client = server.connect().await?;
            let insert =
                "INSERT INTO by_hand_heads SELECT unnest($1::bigint[]), unnest($2::bigint[]), 0, 0, 0, 0, NULL";
            client.execute(insert, &[&threads, &segments(&threads)]).await?;
            let last = client.prepare(&format!("{MESSAGES} DESC LIMIT $2")).await?;
            let all = client.prepare(&format!("{MESSAGES} LIMIT $2")).await?;
            Ok((client, last, all))
        })?;
        Ok(Self { server, threads, reader, last, all, writers: Mutex::default() })
    }

    /// Connections for this many writers.
    fn writers(&self, number: usize) -> Result<Vec<Arc<Writer>>> {
        let mut writers = self.writers.lock().expect("nobody panics while connecting");
        while writers.len() < number {
            writers.push(self.server.wait(async {
                let client = self.server.connect().await?;
                let append = client.prepare(APPEND).await?;
                Ok(Arc::new(Writer { client, append }))
            })?);
        }
        Ok(writers[..number].to_vec())
    }

    fn read(&self, statement: &Statement, thread: usize, messages: usize) -> Result<usize> {
        let thread = self.threads[thread];
        let rows =
            self.server.wait(async { Ok(self.reader.query(statement, &[&thread, &(messages as i64)]).await?) })?;
        let found = rows.iter().map(|row| {
            let place: [i64; 6] = std::array::from_fn(|at| row.get(at));
            (place, row.get::<_, &[u8]>(6).to_vec())
        });
        Ok(std::hint::black_box(found.collect::<Vec<_>>()).len())
    }
}

/// The segment of each thread, a number that has nothing to do with those of others.
fn segments(threads: &[i64]) -> Vec<i64> {
    threads.iter().map(|thread| thread.reverse_bits() >> 1).collect()
}

impl Keeper for Postgres {
    fn append(&self, bench: &Bench, load: Load) -> Result<()> {
        let clients = self.writers(load.clients)?.into_iter().enumerate().map(|(client, writer)| {
            let thread = self.threads[client % load.threads];
            bench.runtime.spawn(async move {
                for n in 0..load.each {
                    let (time, body) = (now_micros(), body(text(client + n)));
                    let row = writer.client.query_one(&writer.append, &[&thread, &time, &body]).await?;
                    std::hint::black_box(row.get::<_, i64>(0));
                }
                Result::Ok(())
            })
        });
        join(bench, clients.collect())
    }
}

impl ByHand for Postgres {
    fn fill(&self, _: &Bench, messages: usize) -> Result<()> {
        let (time, segments) = (now_micros(), segments(&self.threads));
        let bytes = body(text(0)).len() as i64;
        let positions: Vec<i64> = (1..=messages as i64).collect();
        self.server.wait(async {
            for batch in positions.chunks(FILL_BATCH.div_ceil(segments.len())) {
                let places = batch.iter().flat_map(|at| segments.iter().map(move |segment| (*segment, *at)));
                let (segment, position): (Vec<i64>, Vec<i64>) = places.unzip();
                let bodies: Vec<Vec<u8>> = position.iter().map(|at| body(text(*at as usize))).collect();
                self.reader.execute(FILL, &[&time, &bytes, &segment, &position, &bodies]).await?;
            }
            let heads =
                "UPDATE by_hand_heads SET version = $1, messages = $1, bytes = $1::bigint * $2::bigint, updated = $3, last_user = $3
                         WHERE thread = ANY($4)";
            self.reader.execute(heads, &[&(messages as i64), &bytes, &time, &self.threads]).await?;
            Ok(())
        })
    }

    fn read_last(&self, thread: usize, messages: usize) -> Result<usize> {
        self.read(&self.last, thread, messages)
    }

    fn read_all(&self, thread: usize, messages: usize) -> Result<usize> {
        self.read(&self.all, thread, messages)
    }

    fn bytes(&self) -> Result<u64> {
        self.server.bytes("LIKE 'by\\_hand\\_%'")
    }
}
