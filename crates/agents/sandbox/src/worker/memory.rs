//! The heap of the code. At its limit the process ends: code could catch an error and go on asking for more.

#![allow(unsafe_code, reason = "an allocator hands out raw memory")]

use std::sync::atomic::{AtomicUsize, Ordering};

use rquickjs::allocator::Allocator;

use super::{MEMORY_EXIT, wire};

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The bytes of all blocks. A worker has one heap and one thread.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Sets the most bytes of the heap.
pub(super) fn limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// The bytes of the heap.
pub(super) fn used() -> usize {
    USED.load(Ordering::Relaxed)
}

/// The allocator of the C library, counted.
#[derive(Default)]
pub(super) struct Counted;

impl Counted {
    /// Counts `memory`, which is new; ends the process if there is none, or too much.
    fn counted(&mut self, memory: *mut libc::c_void) -> *mut u8 {
        // SAFETY: the memory was just allocated.
        USED.fetch_add(unsafe { usable(memory) }, Ordering::Relaxed);
        if memory.is_null() || used() > LIMIT.load(Ordering::Relaxed) {
            wire::end(MEMORY_EXIT);
        }
        memory.cast()
    }

    /// Ends the process before so much is even asked for.
    fn refuse_more(&self, bytes: usize) {
        if used().saturating_add(bytes) > LIMIT.load(Ordering::Relaxed) {
            wire::end(MEMORY_EXIT);
        }
    }
}

/// Bytes that a block has.
///
/// # Safety
/// `memory` is null, or was allocated here.
unsafe fn usable(memory: *mut libc::c_void) -> usize {
    #[cfg(target_os = "linux")]
    // SAFETY: as promised by the caller.
    return unsafe { libc::malloc_usable_size(memory) };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: as promised by the caller.
    return unsafe { libc::malloc_size(memory) };
}

// SAFETY: the blocks are those of the C library, with its sizes and alignment.
unsafe impl Allocator for Counted {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.refuse_more(size);
        // SAFETY: a size of 0 gets a block of its own.
        let memory = unsafe { libc::malloc(size.max(1)) };
        self.counted(memory)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        self.refuse_more(count.saturating_mul(size));
        // SAFETY: as above.
        let memory = unsafe { libc::calloc(count.max(1), size.max(1)) };
        self.counted(memory)
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the caller promises that the block is one of these.
        unsafe {
            USED.fetch_sub(usable(ptr.cast()), Ordering::Relaxed);
            libc::free(ptr.cast());
        }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        if new_size == 0 && !ptr.is_null() {
            // SAFETY: the caller promises that the block is one of these.
            unsafe { self.dealloc(ptr) };
            return std::ptr::null_mut();
        }
        // SAFETY: the caller promises that the block is one of these, or null.
        let before = unsafe { usable(ptr.cast()) };
        self.refuse_more(new_size.saturating_sub(before));
        // SAFETY: as above.
        let memory = unsafe { libc::realloc(ptr.cast(), new_size.max(1)) };
        USED.fetch_sub(before, Ordering::Relaxed);
        self.counted(memory)
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the caller promises that the block is one of these.
        unsafe { usable(ptr.cast()) }
    }
}
