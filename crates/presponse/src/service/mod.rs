//! The service: clients on a loopback TCP or Unix socket change the graph and ask for answers.
//!
//! A request is a line of text; the reply is a line of JSON with `"ok"`. [`protocol`] lists them.
//! One thread, the [`writer`], applies batches: it writes them to the update log, syncs it, applies
//! them, publishes the [`Confirmed`] state after each, and only then acknowledges it. Each client
//! has a [`client`] thread, which answers questions from the confirmed state: while a batch is
//! applied, questions are answered as of the batch before. While no batch waits, the [`speculator`]
//! may work ahead of the next one.

pub mod client;
pub mod confirmed;
pub mod listener;
pub mod protocol;
pub mod speculator;
pub mod statistics;
pub mod writer;

pub use confirmed::Confirmed;
pub use listener::Listener;
pub use speculator::Speculator;
