//! The cage of a worker: everything that the kernel takes away from it.
//!
//! [`enter`] comes before anything else, [`lock`] with the limits of a run before its code is read. Nothing opens again.

#![allow(unsafe_code, reason = "a few calls of the kernel have no safe form")]

use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space that a worker has beside the memory limit: parsers, frames, stacks.
const BESIDE_BYTES: u64 = 128 << 20;
/// How much a worker yields to others.
const NICE: i32 = 10;

/// What a kernel can do to cage a worker, beside limits of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protections {
    /// Landlock: no files, no TCP, no signals to others.
    pub landlock: bool,
    /// Seccomp: no calls of the kernel but a few.
    pub seccomp: bool,
}

impl Protections {
    /// All that this kernel offers.
    pub fn of_this_kernel() -> Self {
        kernel::available()
    }
}

/// Gives up files, rights and priority. `parent` is the process that started this one.
pub(crate) fn enter(parent: i32, protections: Protections) -> Result<Base, String> {
    kernel::die_with(parent)?;
    // The only descriptors are the socket, and stdout and stderr, which lead nowhere.
    kernel::close_others();
    // A worker that yields less is no danger.
    _ = rustix::process::setpriority_process(None, NICE);
    let base = Base { bytes: kernel::address_space() };
    if protections.landlock {
        kernel::landlock()?;
    }
    for resource in [Resource::Core, Resource::Fsize, Resource::Nproc] {
        limit(resource, 0)?;
    }
    limit(Resource::Nofile, 3)?;
    Ok(base)
}

/// The address space of a worker before it has any code.
pub(crate) struct Base {
    bytes: u64,
}

/// Sets the limits of a run.
pub(crate) fn lock(base: &Base, protections: Protections, memory: u64, cpu_seconds: u64) -> Result<(), String> {
    // macOS does not limit address space; there the heap's own count is the limit.
    if cfg!(target_os = "linux") {
        limit(Resource::As, base.bytes + memory + BESIDE_BYTES)?;
    }
    limit(Resource::Cpu, cpu_seconds)?;
    if protections.seccomp { kernel::seccomp() } else { Ok(()) }
}

fn limit(resource: Resource, most: u64) -> Result<(), String> {
    let both = Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(resource, both).map_err(|error| format!("cannot limit {resource:?}: {error}"))
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope,
    };
    use rustix::process::{DumpableBehavior, Signal, getppid, set_dumpable_behavior, set_parent_process_death_signal};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen as Arg, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter,
    };

    use super::Protections;

    pub(super) fn available() -> Protections {
        const VERSION: libc::c_uint = 1;
        let none = std::ptr::null::<libc::c_void>();
        // SAFETY: without attributes the call only answers the version of Landlock.
        let landlock = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) } > 0;
        let kill = libc::SECCOMP_RET_KILL_PROCESS;
        // SAFETY: the call reads one number, and answers whether the kernel knows that action.
        let seccomp =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const kill) } == 0;
        Protections { landlock, seccomp }
    }

    pub(super) fn die_with(parent: i32) -> Result<(), String> {
        let failed = |error| format!("cannot bind its life to its parent's: {error}");
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
        // No other process of the user reads its memory, and a crash leaves nothing behind.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed)?;
        // The parent may have died before the line above.
        if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(parent) {
            return Err("its parent is gone".to_owned());
        }
        Ok(())
    }

    pub(super) fn close_others() {
        // SAFETY: nothing in a worker owns a descriptor above stderr: it has just begun.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    }

    /// Bytes of address space that are in use.
    pub(super) fn address_space() -> u64 {
        let pages = std::fs::read_to_string("/proc/self/statm").ok();
        let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        pages.unwrap_or(32 << 10) * rustix::param::page_size() as u64
    }

    /// Takes away everything that Landlock knows. Older kernels know less: files they all do.
    pub(super) fn landlock() -> Result<(), String> {
        let abi = ABI::V6;
        let restricted = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))
            .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
            .and_then(|rules| rules.scope(Scope::from_all(abi)))
            .and_then(Ruleset::create)
            .and_then(landlock::RulesetCreated::restrict_self)
            .map_err(|error| format!("cannot use Landlock: {error}"))?;
        match restricted.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock".to_owned()),
        }
    }

    pub(super) fn seccomp() -> Result<(), String> {
        let filter = filter().map_err(|error| format!("cannot build the seccomp filter: {error}"))?;
        apply_filter(&filter).map_err(|error| format!("cannot use seccomp: {error}"))
    }

    /// The calls that remain: the socket, memory that is never executable, time, chance, and the end.
    fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
        let is = |argument, value: u64| SeccompCondition::new(argument, Arg::Dword, Op::Eq, value);
        let rule = |condition| SeccompRule::new(vec![condition]);
        let not_executable = || {
            let exec = u64::try_from(libc::PROT_EXEC).unwrap_or(4);
            rule(SeccompCondition::new(2, Arg::Dword, Op::MaskedEq(exec), 0)?)
        };
        let own = u64::from(std::process::id());
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::from([
            (libc::SYS_read, vec![rule(is(0, 0)?)?]),
            (libc::SYS_write, vec![rule(is(0, 0)?)?, rule(is(0, 2)?)?]),
            (libc::SYS_mmap, vec![not_executable()?]),
            (libc::SYS_mprotect, vec![not_executable()?]),
            // How `abort` ends this process, and no other.
            (libc::SYS_tgkill, vec![rule(is(0, own)?)?]),
            (libc::SYS_tkill, vec![rule(is(0, own)?)?]),
        ]);
        for free in [
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_madvise,
            libc::SYS_brk,
            libc::SYS_futex,
            libc::SYS_clock_gettime,
            libc::SYS_gettimeofday,
            libc::SYS_getrandom,
            libc::SYS_sched_yield,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            libc::SYS_gettid,
            libc::SYS_getpid,
            libc::SYS_restart_syscall,
            libc::SYS_exit,
            libc::SYS_exit_group,
        ] {
            rules.insert(free, Vec::new());
        }
        let arch = std::env::consts::ARCH.try_into()?;
        SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch)?.try_into()
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use rustix::process::getppid;

    use super::Protections;

    pub(super) fn available() -> Protections {
        Protections { landlock: false, seccomp: false }
    }

    /// The socket's end ends the worker, here without a signal.
    pub(super) fn die_with(parent: i32) -> Result<(), String> {
        let own = getppid().map(|pid| pid.as_raw_nonzero().get());
        if own == Some(parent) { Ok(()) } else { Err("its parent is gone".to_owned()) }
    }

    pub(super) fn close_others() {
        for descriptor in 3..1_024 {
            // SAFETY: nothing in a worker owns a descriptor above stderr: it has just begun.
            unsafe { libc::close(descriptor) };
        }
    }

    pub(super) fn address_space() -> u64 {
        0
    }

    pub(super) fn landlock() -> Result<(), String> {
        Err("there is no Landlock on this system".to_owned())
    }

    pub(super) fn seccomp() -> Result<(), String> {
        Err("there is no seccomp on this system".to_owned())
    }
}
