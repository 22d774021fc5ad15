//! Upkeep of a store without a server: time, memory, and the space that it gives back.

use super::build::long_thread;
use super::generate::{DELETED_EACH, deleted_threads};
use super::site::{Ran, Site};
use super::table::{Aim, Measured};
use crate::Result;
use crate::bench::Place;
use crate::http::client::Client;
use crate::report::Unit;

/// The most memory that upkeep may use, in bytes.
const PEAK_MAX: f64 = 200e6;
/// How much faster than the store the time may grow.
const GROWTH_MAX: f64 = 1.2;
/// The part of the deleted threads' space that is given back.
const GIVEN_BACK_MIN: f64 = 0.8;

/// What a command cost.
fn cost(site: &Site, what: &str, ran: &Ran) -> [Measured; 2] {
    [
        Measured::new(format!("{what}: time"), Unit::Micros, ran.took.as_secs_f64() * 1e6)
            .aim_if(true, Aim::Growth(GROWTH_MAX * site.part)),
        Measured::new(format!("{what}: resident memory at its peak"), Unit::Bytes, ran.peak as f64).at_most(PEAK_MAX),
    ]
}

/// Backup, copy, export, import and doctor.
pub(super) fn upkeep(site: &Site) -> Result<Vec<Measured>> {
    let path =
        |name: &str| -> Result<String> { Ok(site.aside(name).to_str().ok_or("a path that is no text")?.to_owned()) };
    let (backup, copied, exported) = (path("backup.db")?, path("copied.db")?, path("exported.jsonl")?);
    let mut measured = Vec::new();
    let ran = site.run(&["backup", &backup])?.well("backup")?;
    measured.extend(cost(site, "backup", &ran));
    // The URL of a server would be an argument, which others can read, and it may hold a password.
    if let Place::File(from) = site.place() {
        let (from, to) = (format!("sqlite:{}", from.display()), format!("sqlite:{copied}"));
        let ran = site.run(&["copy", "--from", &from, "--to", &to])?.well("copy")?;
        measured.extend(cost(site, "copy", &ran));
        remove(site, "copied.db")?;
    }
    remove(site, "backup.db")?;
    let ran = site.run(&["export", "--output", &exported])?.well("export")?;
    measured.extend(cost(site, "export", &ran));
    if !site.bench.is_on_server() {
        let imported = site.aside("imported");
        let ran = site.run_in(&imported, &["import", &exported])?.well("import")?;
        measured.extend(cost(site, "import", &ran));
        std::fs::remove_dir_all(imported)?;
    }
    remove(site, "exported.jsonl")?;
    let ran = site.run(&["doctor"])?.well("doctor")?;
    measured.extend(cost(site, "doctor", &ran));
    Ok(measured)
}

/// Removes a store or another file that a command wrote.
fn remove(site: &Site, name: &str) -> Result<()> {
    for entry in std::fs::read_dir(site.aside(""))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(name.trim_end_matches(".db")) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Deletes the long thread and a tenth of the others, and gives their space back. It is the last row: the store is
/// another one afterwards.
pub(super) fn gc(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    site.net.block_on(async {
        let mut client = Client::connect(target.address).await?;
        for thread in deleted_threads(&site.sizes).chain([long_thread()]) {
            let request = target.request("DELETE", &format!("/v1/threads/{thread}"), "", "");
            client.expect(200, &request).await?;
        }
        Ok::<(), crate::Error>(())
    })?;
    serving.stop()?;
    let before = site.bytes()?;
    let ran = site.run(&["gc", "--vacuum"])?.well("gc --vacuum")?;
    let given_back = before.saturating_sub(site.bytes()?) as f64;
    let sizes = &site.sizes;
    let deleted_messages = sizes.long + sizes.ordinary_messages() / DELETED_EACH;
    let share = site.built_bytes as f64 * deleted_messages as f64 / sizes.messages as f64;
    let mut measured: Vec<_> = cost(site, "gc --vacuum", &ran).into();
    measured.extend([
        Measured::new("space of the store before", Unit::Bytes, before as f64),
        Measured::new("space given back", Unit::Bytes, given_back),
        Measured::new("space given back, of the share of the deleted messages", Unit::Times, given_back / share)
            // PostgreSQL keeps the space for rows to come.
            .aim_if(!site.bench.is_on_server(), Aim::AtLeast(GIVEN_BACK_MIN)),
    ]);
    Ok(measured)
}
