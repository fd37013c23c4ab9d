//! What runs inside the program: the functions of CUDA's runtime, and in [`driver`] those of its
//! driver.
//!
//! Each function checks what it is given, and asks the analysing process. Work is done when it is
//! submitted, so streams only matter while they are captured into a graph: [`work`].
//!
//! What it must never do: return success for what was not done. A function that is not here returns
//! CUDA's own "operation not supported", and is named in the report: [`missing`].

mod arrays;
mod blocks;
mod call_paths;
mod captures;
mod connection;
mod copies;
mod devices;
mod driver;
mod errors;
mod events;
mod graph_memory;
mod graph_nodes;
mod graphs;
mod guarded;
mod handles;
mod heap;
mod hook;
mod jit_links;
mod kernels;
mod linking;
mod loads;
mod machine_code;
mod managed;
mod memory;
mod missing;
mod modules;
mod pools;
mod printed;
mod properties;
mod python;
mod sides;
mod streams;
mod symbol_tables;
mod symbols;
mod textures;
mod user_objects;
mod work;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, whoever panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Three sizes, as C passes them by value (`dim3`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl From<Dim3> for [u64; 3] {
    fn from(dim: Dim3) -> [u64; 3] {
        [dim.x, dim.y, dim.z].map(u64::from)
    }
}
