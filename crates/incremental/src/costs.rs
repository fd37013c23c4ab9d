//! What the predictions of all repairs have in common, as costs in ids that a search reads.
//!
//! The constants, and those of `depths/costs.rs` and `components/costs.rs`, were measured on meshes
//! and social graphs. The example `regret` measures how good they are: how much longer batches take
//! by this choice than by the better one for each batch.
//!
//! ```text
//! cargo run --release -p reuselens-incremental --example regret -- FOLDER depths n15 10000 24
//! ```
//!
//! `components` is the other answer. FOLDER has the files of the graphs: n15 is a mesh;
//! `mathoverflow`, `email-Eu` and `ca-HepPh` are other names. `docs/design/graphs.md` has the
//! results for 3,000, 10,000 and 30,000 changes.

/// A vertex that recomputing reaches costs as much as reading this many ids.
const RECOMPUTED_VERTEX: u64 = 16;
/// To look at a changed edge costs as much as reading this many ids before a repair begins: 2 to
/// 4.5.
const LOOK: u64 = 3;

/// What it costs to look at so many changed edges.
pub(crate) fn looking(changes: usize) -> u64 {
    LOOK * changes as u64
}

/// What it costs to recompute an answer that reads so many ids and reaches so many vertices.
pub(crate) fn recomputing(ids: u64, vertices: u64) -> u64 {
    ids + RECOMPUTED_VERTEX * vertices
}
