//! The limits of a run. The worker keeps to them with errors that code can read; the host checks them again, and kills a
//! worker that breaks one.

use std::time::Duration;

/// Most bytes of a frame.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// Levels of nesting that a value may have.
pub const DEPTH_MAX: usize = 128;
/// Most values in a frame: a byte on the wire can be 32 bytes in memory.
pub const VALUES_MAX: usize = 1_000_000;
/// Most bytes that a run sends to the host.
pub const RUN_BYTES_MAX: usize = 64 << 20;
/// Most bytes of all reports of a run, which the host keeps.
pub const REPORTS_BYTES_MAX: usize = 4 << 20;
/// Most values in all reports of a run.
pub const REPORTS_VALUES_MAX: usize = 100_000;
/// Most calls of host functions in a run.
pub const CALLS_MAX: usize = 100_000;
/// Most calls of host functions that wait for their answer.
pub const CALLS_OPEN_MAX: usize = 64;
/// Most bytes of all logs of a run; later logs are dropped.
pub const LOGS_BYTES_MAX: usize = 1 << 20;
/// What an entry of the log counts beside its text, so that empty ones are bounded as well.
pub const LOG_ENTRY_BYTES: usize = 64;
/// Most bytes of the message and of the stack of an error.
pub const ERROR_BYTES_MAX: usize = 64 << 10;

/// The memory limit of code that names none.
pub const MEMORY_BYTES: usize = 64 << 20;
/// The memory limits that code may name.
pub const MEMORY_BYTES_RANGE: std::ops::RangeInclusive<usize> = (1 << 20)..=(1 << 30);
/// The time limit of code that names none.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time limit that code may name.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// Outcomes that are written down at the same time.
pub const WRITTEN_MAX: usize = 2;
/// Runs at the same time.
pub const RUNS_MAX: usize = 64;
/// Runs that wait for a place.
pub const WAITING_MAX: usize = 256;
/// Workers that are kept ready after the first run.
pub const READY_MAX: usize = 2;
/// How long a worker may take to start.
pub const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long no run is open before freed memory goes back to the system.
pub const REST: Duration = Duration::from_secs(1);
/// How often freed memory goes back to the system after a run, if no other one begins.
pub const RESTS: usize = 10;
