//! Work on other threads, in the one way that this project does it.
//!
//! - A thread that the system refuses is no error. [`spawn`] and [`Background::begin`] give the
//!   work back, and [`together`] runs with the threads it gets, so the caller does the work itself.
//! - A panic of a worker is passed on to the thread that waits for it, with its payload.
//! - A worker that panics leaves nobody waiting: [`OnPanic`] tells the others while it unwinds.
//! - A lock is taken through [`lock`], which ignores poisoning: a panic is passed on anyway, and
//!   what the locks here protect is valid between statements.
//! - A queue of jobs is bounded ([`Background`]), so a fast sender does not fill the memory.
//!
//! All of this costs something per thread, per job or per wait. Nothing here is meant to be called
//! per access.
//!
//! For: crates of this workspace that share work among threads. Not for: waiting for programs,
//! files or signals, and not for scheduling; who does what is decided by the caller.

mod background;
mod locks;
mod processors;
mod spawn;

pub use background::Background;
pub use locks::{lock, wait, wait_timeout};
pub use processors::processors;
pub use spawn::{OnPanic, Worker, spawn, together};
