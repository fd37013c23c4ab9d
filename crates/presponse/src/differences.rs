//! [`DifferenceWriter`]: batches as lines `from to batch difference`, the form in which
//! differential dataflow and other programs take a graph that changes.
//!
//! The difference is 1 for an edge that comes and -1 for one that goes; requests that change
//! nothing have no line. The graph at the beginning is the batch of that name. Batches are sorted,
//! and within a batch edges are. An undirected edge is one line. A batch that changes nothing has a
//! comment, `# batch B`, as all others have before their lines. The last line is `# vertices N`:
//! vertices without edges count, too.

use std::io::{self, Write};

use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{
    Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph, VertexId, VertexNames,
};

use crate::batches;
use crate::state::{Recover, Snapshot};

/// Writes batches.
pub struct DifferenceWriter<W> {
    out: W,
    kind: EdgeKind,
    names: VertexNames,
    graph: SortedGraph,
    /// Batches, that of the beginning included.
    pub batches: u64,
    /// Lines with differences.
    pub lines: u64,
}

impl<W: Write> DifferenceWriter<W> {
    /// Begins with an empty graph.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, kind: EdgeKind) -> io::Result<Self> {
        let name = match kind {
            EdgeKind::Undirected => "undirected",
            EdgeKind::Directed => "directed",
        };
        writeln!(
            out,
            "# presponse differences, {name}: from to batch difference"
        )?;
        Ok(Self {
            out,
            kind,
            names: VertexNames::new(),
            graph: SortedGraph::new(kind, 0),
            batches: 0,
            lines: 0,
        })
    }

    /// Writes the graph at the beginning, whose edges are sorted, each once.
    ///
    /// # Errors
    /// If writing fails.
    pub fn begin(&mut self, batch: u64, names: VertexNames, edges: Vec<Edge>) -> io::Result<()> {
        self.names = names;
        self.graph.grow(self.names.len() as VertexId);
        self.graph.load(edges.iter().copied());
        self.write(batch, &[], &edges)
    }

    /// Writes what a batch changes.
    ///
    /// # Errors
    /// If writing fails, or there are too many vertices.
    pub fn batch(&mut self, batch: u64, records: &[StreamRecord]) -> anyhow::Result<()> {
        let mut changes = Vec::with_capacity(records.len());
        batches::replace_changes(self.kind, &mut self.names, records, &mut changes)?;
        Ok(self.apply(batch, &changes)?)
    }

    /// Writes the count of vertices, and returns the underlying writer and the count of edges that
    /// are left.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        writeln!(self.out, "# vertices {}", self.names.len())?;
        Ok((self.out, self.graph.edges()))
    }

    fn apply(&mut self, batch: u64, changes: &[EdgeChange]) -> io::Result<()> {
        self.graph.grow(self.names.len() as VertexId);
        let delta = self.graph.apply(changes);
        self.write(batch, &delta.deleted, &delta.inserted)
    }

    fn write(&mut self, batch: u64, deleted: &[Edge], inserted: &[Edge]) -> io::Result<()> {
        writeln!(self.out, "# batch {batch}")?;
        for (edges, difference) in [(deleted, -1), (inserted, 1)] {
            for edge in edges {
                let id = |number| self.names.id(number).unwrap_or_default();
                let (from, to) = (id(edge.from), id(edge.to));
                writeln!(self.out, "{from} {to} {batch} {difference}")?;
            }
        }
        self.batches += 1;
        self.lines += (deleted.len() + inserted.len()) as u64;
        Ok(())
    }
}

impl<W: Write> Recover for DifferenceWriter<W> {
    fn snapshot(&mut self, snapshot: Snapshot) -> anyhow::Result<()> {
        Ok(self.begin(snapshot.batch, snapshot.names, snapshot.edges)?)
    }

    fn batch(&mut self, batch: u64, changes: &[StreamRecord]) -> anyhow::Result<()> {
        Self::batch(self, batch, changes)
    }
}
