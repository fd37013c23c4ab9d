//! Handles: what the program gets for a stream, an event or a graph. A handle is a number that was
//! never given before, so one that was destroyed is recognised.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lock;
use crate::status::Status;

/// Handles of one kind.
pub struct Handles<T>(Mutex<BTreeMap<usize, T>>);

/// Above the handles that CUDA gives a meaning of its own: 0, 1 and 2 are streams.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

impl<T> Handles<T> {
    pub const fn new() -> Handles<T> {
        Handles(Mutex::new(BTreeMap::new()))
    }

    /// A new handle.
    pub fn add(&self, value: T) -> usize {
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        lock(&self.0).insert(handle, value);
        handle
    }

    /// Looks at what a handle is of, or changes it.
    pub fn with<R>(&self, handle: usize, look: impl FnOnce(&mut T) -> R) -> Result<R, Status> {
        let mut values = lock(&self.0);
        values
            .get_mut(&handle)
            .map(look)
            .ok_or(Status::INVALID_HANDLE)
    }

    /// Ends all handles.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    /// Ends a handle.
    pub fn remove(&self, handle: usize) -> Result<T, Status> {
        lock(&self.0).remove(&handle).ok_or(Status::INVALID_HANDLE)
    }
}
