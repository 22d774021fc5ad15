//! The allocator of the C library: memory that some work needed for a moment goes back to the system.
//!
//! glibc by itself keeps it. Each thread may have a heap of its own, up to eight for each processor. A large block comes
//! from the system and goes back to it, but only until the first of its size was freed: from then on blocks of that size,
//! up to 32 MiB, lie in the heaps, and twice as much may stay unused at the end of each heap. A server merges volumes of
//! the search index on one thread after the other. So one heap after the other grew by tens of megabytes, and kept them.
//! `gc` on PostgreSQL, which reads such volumes too, took a quarter more memory.

/// Blocks of so many bytes and more come from the system, and go back to it when they are freed: more than the parts of
/// 1 MiB in which files are read and written. Once it is set, glibc does not change it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BLOCK_BYTES_MIN: i32 = 2 << 20;
/// Most bytes that stay unused at the end of a heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const UNUSED_BYTES_MAX: i32 = 2 << 20;
/// Most heaps for each processor. With one, threads would often wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_A_PROCESSOR: usize = 2;

/// Makes the allocator give memory back, before other threads start.
pub(crate) fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let heaps = i32::try_from(processors * HEAPS_A_PROCESSOR).unwrap_or(i32::MAX);
        #[expect(unsafe_code, reason = "a call of the C library")]
        // SAFETY: it takes two numbers, and may be called at any time. What it refuses stays as it was.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, BLOCK_BYTES_MIN);
            libc::mallopt(libc::M_TRIM_THRESHOLD, UNUSED_BYTES_MAX);
            libc::mallopt(libc::M_ARENA_MAX, heaps);
        }
    }
}
