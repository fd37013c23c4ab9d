//! Answers about a graph that stay exact while its edges come and go.
//!
//! | answer | recomputed | as published | ours |
//! |---|---|---|---|
//! | depth of each vertex from a root | [`StaticDepths`] | [`PublishedDepths`] | [`Depths`] |
//! | component of each vertex | [`StaticComponents`] | [`PublishedComponents`] | [`Components`] |
//! | triangles at each vertex | [`StaticTriangles`] | [`PublishedTriangles`] | [`Triangles`] |
//!
//! All of them implement [`Maintain`]: after a batch they get the changed graph and its
//! [`Delta`](reuselens_graph::Delta), and their answer is that of the changed graph. The published
//! rules are those of Shen, *Exploring Heterogeneous Architectures with Tools and Applications*
//! (2021), chapter 4, with the printed errors corrected.
//!
//! In a directed graph depths follow the edges; components and triangles are those of the graph
//! without directions.
//!
//! Ours decide for each batch, by the work that they predict, whether to repair the answer or to
//! recompute it ([`Policy`]).
//!
//! For: programs that ask the same questions after each batch. Not for: questions that are asked
//! once, and graphs with weights.

mod components;
mod costs;
mod depths;
mod maintain;
mod triangles;
mod weak;

pub use components::{Components, PublishedComponents, StaticComponents};
pub use depths::{Depths, PublishedDepths, StaticDepths, UNREACHED};
pub use maintain::{Choice, Maintain, Policy, Work};
pub use triangles::{PublishedTriangles, StaticTriangles, Triangles};
