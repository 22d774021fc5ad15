//! From `serve` to a listening port and to the first answer, and memory at rest: on an empty folder, and on one that
//! holds many threads.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use threadkeep::model::{Head, Segment, SegmentId, Tally};
use threadkeep::{Account, Position, Record, SystemWorld, Thread, ThreadId, World};
use threadkeep_store::{ImportBatch, SegmentRow};

use super::Http;
use crate::Result;
use crate::bench::Place;
use crate::http::client::{Client, Target};
use crate::http::serving::{free_port, until};
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "http-start";

/// Until the port of an empty folder listens, and of one with many threads, in microseconds.
const EMPTY_MICROS_MAX: f64 = 300e3;
const FULL_MICROS_MAX: f64 = 1e6;
/// Resident memory at rest, in bytes.
const RESIDENT_MAX: f64 = 40e6;
/// How long after its first answer a server is at rest.
const REST: Duration = Duration::from_secs(1);
/// Threads in one step of the import.
const BATCH: usize = 2_000;

pub(super) fn measure(http: &Http<'_>) -> Result<Vec<Line>> {
    let threads = http.sizes.threads;
    let mut lines = begin(http, 0, "an empty folder", EMPTY_MICROS_MAX)?;
    lines.extend(begin(http, threads, &format!("{threads} threads"), FULL_MICROS_MAX)?);
    Ok(lines)
}

fn begin(http: &Http<'_>, threads: usize, what: &str, micros_max: f64) -> Result<Vec<Line>> {
    let (mut listening, mut answering, mut resident) = (Series::default(), Series::default(), Series::default());
    let mut room = http.bench.room()?;
    for round in 0..http.bench.rounds {
        // An empty folder is a new one each time.
        let name = if threads == 0 { format!("empty-{round}") } else { "full".to_owned() };
        let home = http.home(&room, &name);
        if threads > 0 && round == 0 {
            let place = match room.place("unused") {
                Place::File(_) => Place::File(home.folder().join("threadkeep.db")),
                schema => schema,
            };
            fill(http, &place, threads)?;
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let spawned = home.spawn(address.port())?;
        let listens = until(&spawned, || TcpStream::connect(address).is_ok())?;
        let healthy = Target { address, key: String::new() }.request("GET", "/healthz", "", "");
        let answers = until(&spawned, || {
            let asked = async { Result::<u16>::Ok(Client::connect(address).await?.ask(&healthy).await?.0) };
            http.runtime.block_on(asked).is_ok_and(|status| status == 200)
        })?;
        let serving = spawned.ready()?;
        std::thread::sleep(REST);
        listening.push(listens.as_secs_f64() * 1e6);
        answering.push(answers.as_secs_f64() * 1e6);
        resident.push(serving.memory()?.0 as f64);
        serving.stop()?;
        if threads == 0 {
            room = http.bench.room()?;
        }
    }
    let line = |measure: &str, unit, series| Line::new(NAME, format!("{what}: {measure}"), unit, series);
    Ok(vec![
        line("from start to a listening port", Unit::Micros, listening).aim(Aim::AtMost(micros_max)),
        line("from start to the first answer", Unit::Micros, answering),
        line("resident memory at rest", Unit::Bytes, resident).aim(Aim::AtMost(RESIDENT_MAX)),
    ])
}

/// Makes this many threads in a new store.
fn fill(http: &Http<'_>, place: &Place, threads: usize) -> Result<()> {
    let ours = Ours::open(place)?;
    let world = SystemWorld;
    let all: Vec<usize> = (0..threads).collect();
    for some in all.chunks(BATCH) {
        let made: Vec<Thread> = some
            .iter()
            .map(|n| {
                let (id, segment) =
                    (ThreadId::from_chance(world.chance()), SegmentId::from_chance(world.chance() as u64));
                let now = world.now();
                let head =
                    Head { version: Position(0), segment, era: 0, fence: 0, updated: now, tally: Tally::default() };
                let record = Record { title: Some(format!("Thread {n}")), ..Record::default() };
                Thread { id, account: Account::local(), created: now, head, record }
            })
            .collect();
        let segments = made.iter().map(|thread| SegmentRow {
            segment: Segment {
                id: thread.head.segment,
                thread: thread.id,
                first: Position(1),
                link: None,
                birth: Tally::default(),
                created: thread.created,
            },
            origin: Some((thread.account.clone(), thread.record.clone())),
        });
        let segments = segments.collect();
        let import =
            ImportBatch { segments, threads: made, finished: true, now: world.now(), ..ImportBatch::default() };
        http.bench.runtime.block_on(ours.stores().upkeep.import(import))?;
    }
    Ok(())
}
