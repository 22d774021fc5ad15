//! The instruments: syncs, pages, CPU time and wall time of this process, CPU time and memory of others.
//!
//! Syncs and pages are counted where they leave the process: this program defines `fsync`, `fdatasync`, `pread` and
//! `pwrite` itself, and hands them on to the kernel. The bundled SQLite is linked statically, so its calls come here
//! too, as do those of the standard library. CPU time is that of the whole process, clients included.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::Result;

/// The page size of the stores. Only reads and writes of exactly this size are counted as pages: headers of frames
/// and files are smaller.
const PAGE_BYTES: usize = 8_192;

/// The cost of a number of operations.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    operations: f64,
    wall: Duration,
    cpu: Duration,
    syncs: u64,
    pages_read: u64,
    pages_written: u64,
}

impl Spent {
    /// Does `work`, which consists of `operations`, and returns its cost.
    pub(crate) fn on(operations: usize, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        let before = Reading::now();
        work()?;
        let after = Reading::now();
        Ok(Self {
            operations: operations as f64,
            wall: after.wall - before.wall,
            cpu: after.cpu.saturating_sub(before.cpu),
            syncs: after.syncs - before.syncs,
            pages_read: after.pages_read - before.pages_read,
            pages_written: after.pages_written - before.pages_written,
        })
    }

    /// How many syncs an operation took.
    pub(crate) fn syncs(&self) -> f64 {
        self.syncs as f64 / self.operations
    }

    /// Microseconds of CPU an operation.
    pub(crate) fn cpu(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.operations
    }

    /// Microseconds an operation, as those who wait see it.
    pub(crate) fn time(&self) -> f64 {
        self.wall.as_secs_f64() * 1e6 / self.operations
    }

    /// How many operations it did in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations / self.wall.as_secs_f64()
    }

    /// Pages read and written an operation.
    pub(crate) fn pages(&self) -> f64 {
        (self.pages_read + self.pages_written) as f64 / self.operations
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.syncs += other.syncs;
        self.pages_read += other.pages_read;
        self.pages_written += other.pages_written;
    }
}

struct Reading {
    wall: Instant,
    cpu: Duration,
    syncs: u64,
    pages_read: u64,
    pages_written: u64,
}

impl Reading {
    fn now() -> Self {
        Self {
            wall: Instant::now(),
            cpu: calls::cpu(),
            syncs: calls::SYNCS.load(Relaxed),
            pages_read: calls::PAGES_READ.load(Relaxed),
            pages_written: calls::PAGES_WRITTEN.load(Relaxed),
        }
    }
}

/// The median time of doing `work` so often, in microseconds.
pub(crate) fn typical_micros(times: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut micros = Vec::with_capacity(times);
    for _ in 0..times {
        let begin = Instant::now();
        work()?;
        micros.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&micros))
}

/// The value below which this percentage of `values` lies.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// The middle one of `values`.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

/// Other processes: their cost, and the signals that end them.
pub(crate) mod process {
    use std::time::Duration;

    use crate::Result;

    /// The signals for a process.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum Signal {
        /// It is asked to end.
        Terminate,
    }

    /// User and system time of `process` so far.
    pub(crate) fn cpu_of(process: u32) -> std::io::Result<Duration> {
        super::calls::cpu_of(process)
    }

    /// Sends `signal` to `process`.
    pub(crate) fn signal(process: u32, signal: Signal) -> std::io::Result<()> {
        match signal {
            Signal::Terminate => super::calls::signal(process, libc::SIGTERM),
        }
    }

    /// The bytes in the status of `process` under `name`, such as `VmRSS:`.
    pub(crate) fn memory_of(process: u32, name: &str) -> Result<u64> {
        const KIB: u64 = 1_024;
        let path = format!("/proc/{process}/status");
        let status = std::fs::read_to_string(&path)
            .map_err(|error| format!("{path} cannot be read, and it says what memory is in use: {error}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib =
            line.and_then(|line| line.split_whitespace().next()).ok_or_else(|| format!("{path} has no {name}"))?;
        Ok(kib.parse::<u64>()? * KIB)
    }
}

/// System calls, counted on their way. Functions of the C library are defined here under their own names, and
/// clocks and signals have no safe wrapper: both need unsafe code, and it stays in this module.
mod calls {
    #![allow(unsafe_code)]

    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    pub(super) static SYNCS: AtomicU64 = AtomicU64::new(0);
    pub(super) static PAGES_READ: AtomicU64 = AtomicU64::new(0);
    pub(super) static PAGES_WRITTEN: AtomicU64 = AtomicU64::new(0);

    /// User and system time of another process, by a clock that counts in nanoseconds.
    pub(super) fn cpu_of(process: u32) -> std::io::Result<Duration> {
        let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: both calls fill in variables that live longer than the calls.
        let failed = unsafe {
            libc::clock_getcpuclockid(process.cast_signed(), &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        match failed {
            true => Err(std::io::Error::last_os_error()),
            false => Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32)),
        }
    }

    /// Sends a signal to another process.
    pub(super) fn signal(process: u32, signal: libc::c_int) -> std::io::Result<()> {
        // SAFETY: no memory is involved.
        match unsafe { libc::kill(process.cast_signed(), signal) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// User and system time of the whole process.
    pub(super) fn cpu() -> Duration {
        // SAFETY: zeroes are a valid `rusage`, and the kernel fills in the one it is given.
        let usage = unsafe {
            let mut usage = std::mem::zeroed::<libc::rusage>();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000);
        time(usage.ru_utime) + time(usage.ru_stime)
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    mod counted {
        use std::sync::atomic::AtomicU64;
        use std::sync::atomic::Ordering::Relaxed;

        use libc::{c_int, c_void, off64_t, size_t, ssize_t};

        use super::super::PAGE_BYTES;
        use super::{PAGES_READ, PAGES_WRITTEN, SYNCS};

        fn count_page(pages: &AtomicU64, bytes: size_t) {
            if bytes == PAGE_BYTES {
                pages.fetch_add(1, Relaxed);
            }
        }

        // SAFETY, of all that follow: arguments and result are those of the system call of the same name, and
        // `syscall` sets `errno` as the C library's own function would.

        #[unsafe(no_mangle)]
        extern "C" fn fsync(file: c_int) -> c_int {
            SYNCS.fetch_add(1, Relaxed);
            unsafe { libc::syscall(libc::SYS_fsync, file) as c_int }
        }

        #[unsafe(no_mangle)]
        extern "C" fn fdatasync(file: c_int) -> c_int {
            SYNCS.fetch_add(1, Relaxed);
            unsafe { libc::syscall(libc::SYS_fdatasync, file) as c_int }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn pread64(file: c_int, to: *mut c_void, bytes: size_t, at: off64_t) -> ssize_t {
            count_page(&PAGES_READ, bytes);
            unsafe { libc::syscall(libc::SYS_pread64, file, to, bytes, at) as ssize_t }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn pread(file: c_int, to: *mut c_void, bytes: size_t, at: off64_t) -> ssize_t {
            unsafe { pread64(file, to, bytes, at) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn pwrite64(file: c_int, from: *const c_void, bytes: size_t, at: off64_t) -> ssize_t {
            count_page(&PAGES_WRITTEN, bytes);
            unsafe { libc::syscall(libc::SYS_pwrite64, file, from, bytes, at) as ssize_t }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn pwrite(file: c_int, from: *const c_void, bytes: size_t, at: off64_t) -> ssize_t {
            unsafe { pwrite64(file, from, bytes, at) }
        }
    }
}
