//! [`Batches`]: cuts a stream into batches, by count or by time.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Context as _;
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{Edge, EdgeChange, EdgeKind, VERTEX_LIMIT, VertexNames};

use crate::exit::WrongUsage;
use crate::input::Stream;

/// Where a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchLimit {
    /// After this many changes.
    Count(u64),
    /// After this time, in the unit of the stream, since the first change of the batch.
    Time(u64),
}

/// The latest time of a stream so far, and the count of times before it.
#[derive(Clone, Copy, Debug)]
pub struct StreamClock {
    /// The latest time; the least one of all before the first.
    pub latest: i64,
    /// Times that were earlier than one before.
    pub late: u64,
}

impl Default for StreamClock {
    fn default() -> Self {
        Self {
            latest: i64::MIN,
            late: 0,
        }
    }
}

impl StreamClock {
    /// Takes the time of the next change into account.
    pub fn add(&mut self, time: i64) {
        self.late += u64::from(time < self.latest);
        self.latest = self.latest.max(time);
    }
}

/// The batches of a stream.
///
/// By time, a change that is earlier than one before it belongs to the current batch
/// ([`Self::late`] counts these), and nothing waits: a time in which nothing happens gives no
/// batch.
pub struct Batches {
    stream: Stream,
    shown: String,
    limit: BatchLimit,
    next: Option<StreamRecord>,
    clock: StreamClock,
}

impl Batches {
    /// Nothing is read yet.
    pub fn new(stream: Stream, path: &Path, limit: BatchLimit) -> Self {
        let shown = if path == Path::new("-") {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        Self {
            stream,
            shown,
            limit,
            next: None,
            clock: StreamClock::default(),
        }
    }

    /// The count of changes that were earlier than one before; 0 if batches end by count.
    pub fn late(&self) -> u64 {
        self.clock.late
    }

    /// Puts the next batch into `batch`; false at the end of the stream.
    ///
    /// # Errors
    /// If a line is no change, or has no time although batches end by time.
    pub fn next_batch(&mut self, batch: &mut Vec<StreamRecord>) -> anyhow::Result<bool> {
        batch.clear();
        let first = match self.next.take() {
            Some(first) => first,
            None => match self.read()? {
                Some(first) => first,
                None => return Ok(false),
            },
        };
        let end = match self.limit {
            BatchLimit::Count(_) => None,
            BatchLimit::Time(length) => Some(self.clock.latest.saturating_add_unsigned(length)),
        };
        batch.push(first);
        loop {
            if let BatchLimit::Count(most) = self.limit
                && batch.len() as u64 >= most
            {
                return Ok(true);
            }
            match self.read()? {
                None => return Ok(true),
                Some(record) if end.is_some_and(|end| self.clock.latest >= end) => {
                    self.next = Some(record);
                    return Ok(true);
                }
                Some(record) => batch.push(record),
            }
        }
    }

    fn read(&mut self) -> anyhow::Result<Option<StreamRecord>> {
        let read = self.stream.next_record();
        let record = read.with_context(|| format!("cannot read the stream {}", self.shown))?;
        let Some(record) = record else {
            return Ok(None);
        };
        if let BatchLimit::Time(_) = self.limit {
            let line = self.stream.line();
            let time = record.time.ok_or_else(|| {
                WrongUsage(format!(
                    "{}: line {line} has no time, so batches cannot end by time; use --batch N",
                    self.shown
                ))
            })?;
            self.clock.add(time);
        }
        Ok(Some(record))
    }
}

/// The vertices that a graph with these ids can still get.
pub fn room(names: &VertexNames) -> u64 {
    u64::from(VERTEX_LIMIT).saturating_sub(names.len())
}

/// The vertices that records add to those of `names` at most: one for each end. Only if those would
/// be more than `room`, the ids that are missing are counted, each once.
pub fn added(names: &VertexNames, records: &[StreamRecord], room: u64) -> u64 {
    let bound = 2 * records.len() as u64;
    if bound <= room {
        return bound;
    }
    let ends = records.iter().flat_map(|record| [record.from, record.to]);
    let missing: HashSet<u64> = ends.filter(|id| names.get(*id).is_none()).collect();
    missing.len() as u64
}

/// Replaces `changes` by those that `records` ask for; vertices without a number get one.
///
/// # Errors
/// If there are too many vertices. The vertices of the records before have numbers then.
pub fn replace_changes(
    kind: EdgeKind,
    names: &mut VertexNames,
    records: &[StreamRecord],
    changes: &mut Vec<EdgeChange>,
) -> anyhow::Result<()> {
    changes.clear();
    for record in records {
        changes.push(change(kind, names, record)?);
    }
    Ok(())
}

/// The change of a graph that a record of a stream asks for; vertices without a number get one.
///
/// # Errors
/// If there are too many vertices.
pub fn change(
    kind: EdgeKind,
    names: &mut VertexNames,
    record: &StreamRecord,
) -> anyhow::Result<EdgeChange> {
    let ends = names.number(record.from).zip(names.number(record.to));
    let (u, v) = ends.with_context(|| {
        format!("a graph has at most {VERTEX_LIMIT} vertices, and the stream has more")
    })?;
    let edge = Edge::new(kind, u, v);
    Ok(if record.inserts {
        EdgeChange::Insert(edge)
    } else {
        EdgeChange::Delete(edge)
    })
}
