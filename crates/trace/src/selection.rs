//! A part of a trace: some of its rows, some of its time, some of its threads.
//!
//! The command line makes a [`Selection`] of the [`Place`]s that a user names. `rltrace::Reader`
//! takes it by itself, with the help of the index; [`Selected`] applies it to any other source.
//! Both cut each block with [`Selection::cut`], row by row.

use reuselens_units::Bytes;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::summary::stamps;
use crate::{Block, Kind, Projection, Source, Step, ThreadId, TraceError};

/// Which rows of a trace are wanted: those that meet all three conditions.
///
/// All events are delivered, in their places: what a row means depends on modules and threads that
/// came before. Blocks without a wanted row are left out.
///
/// What rows mean depends on calls and on allocated memory too. With [`Self::state`] rows of such
/// kinds are delivered as well, of all threads and from the beginning of the trace to the end of
/// the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Numbers of rows, from 0 over all threads in the order of the trace. A row and its operand
    /// rows stay together: where the first of them is.
    pub rows: Range<u64>,
    /// Stamps: blocks that were made at a time in this range, also partly. Blocks without stamps
    /// are wanted only if all stamps are.
    pub stamps: Range<u64>,
    /// Threads; all if it is empty.
    pub threads: BTreeSet<ThreadId>,
    /// Whether to keep rows of which [`Kind::is_state`] is true outside the range, but not after
    /// it.
    pub state: bool,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            rows: 0..u64::MAX,
            stamps: 0..u64::MAX,
            threads: BTreeSet::new(),
            state: false,
        }
    }
}

impl Selection {
    /// Whether all of a trace is wanted.
    pub fn is_all(&self) -> bool {
        let all = Selection::default();
        self.rows == all.rows && self.stamps == all.stamps && self.threads.is_empty()
    }

    /// Removes from `block` the rows that are not wanted. Returns whether any are left. `first` is
    /// the number of its first row.
    pub fn cut(&self, block: &mut Block, first: u64) -> bool {
        let stamps = stamps(block.first_stamp, block.last_stamp);
        let kinds = block.kinds();
        let place = |row: u64| row.saturating_sub(first).min(kinds.len() as u64) as usize;
        let operands = |from: usize| {
            let rest = kinds[from..].iter();
            rest.take_while(|&&kind| kind == Kind::Operand).count()
        };
        // An operand is of the row before it, if that is in the block.
        let with_operands = |at: usize| if at == 0 { 0 } else { at + operands(at) };
        let end = with_operands(place(self.rows.end));
        let start = if self.wants_thread(block.thread) && self.wants_stamps(stamps) {
            with_operands(place(self.rows.start)).min(end)
        } else {
            end
        };
        if self.state && start > 0 && !self.is_before(stamps) {
            block.keep_state(start..end, end);
        } else if (start, end) != (0, kinds.len()) {
            block.keep(start..end);
        }
        !block.is_empty()
    }

    /// Whether some of the rows `rows` may be wanted, if `threads` made them between these stamps.
    /// With `has_state`, rows of which [`Kind::is_state`] is true may be among them.
    pub fn wants(
        &self,
        rows: Range<u64>,
        stamps: Option<(u64, u64)>,
        mut threads: impl Iterator<Item = ThreadId>,
        has_state: bool,
    ) -> bool {
        if rows.is_empty() || rows.start >= self.rows.end {
            return false;
        }
        let itself = rows.end > self.rows.start
            && self.wants_stamps(stamps)
            && threads.any(|thread| self.wants_thread(thread));
        itself || (self.state && has_state && !self.is_before(stamps))
    }

    /// Whether the wanted time ends before something that was made between these stamps.
    fn is_before(&self, stamps: Option<(u64, u64)>) -> bool {
        stamps.is_some_and(|(first, _)| first >= self.stamps.end)
    }

    fn wants_thread(&self, thread: ThreadId) -> bool {
        self.threads.is_empty() || self.threads.contains(&thread)
    }

    fn wants_stamps(&self, stamps: Option<(u64, u64)>) -> bool {
        if self.stamps == (0..u64::MAX) {
            return true;
        }
        stamps.is_some_and(|(first, last)| last >= self.stamps.start && first < self.stamps.end)
    }
}

/// The wanted part of any source. Reads all of the source; for a native file with an index,
/// `rltrace::Reader::select` reads less.
pub struct Selected<S> {
    source: S,
    selection: Selection,
    /// Rows with numbers so far.
    rows: u64,
    /// Whether operand rows have numbers.
    counts_operands: bool,
    block: Block,
}

impl<S: Source> Selected<S> {
    /// That part of `source`.
    pub fn new(source: S, selection: Selection) -> Selected<S> {
        Selected {
            source,
            selection,
            rows: 0,
            counts_operands: true,
            block: Block::new(),
        }
    }

    /// That part of a source whose operand rows have no numbers: for formats in which an access of
    /// any size is one line or record.
    pub fn without_operands(source: S, selection: Selection) -> Selected<S> {
        Selected {
            counts_operands: false,
            ..Selected::new(source, selection)
        }
    }

    /// Removes from the block the rows that are not wanted. Returns whether any are left.
    fn cut(&mut self) -> bool {
        let (kinds, first) = (self.block.kinds(), self.rows);
        let is_numbered = |kind: Kind| self.counts_operands || kind != Kind::Operand;
        let numbered = kinds.iter().filter(|&&kind| is_numbered(kind)).count();
        self.rows += numbered as u64;
        if numbered == kinds.len() {
            return self.selection.cut(&mut self.block, first);
        }
        // The index of the row of a number: rows before the block are its first one, and rows
        // after it its end.
        let index = |number: u64| {
            let Some(wanted) = number.checked_sub(first) else {
                return 0;
            };
            let indices = (0..).zip(kinds).filter(|&(_, &kind)| is_numbered(kind));
            let mut indices = indices.map(|(index, _)| index);
            let wanted = usize::try_from(wanted).ok();
            wanted
                .and_then(|wanted| indices.nth(wanted))
                .unwrap_or(kinds.len() as u64)
        };
        let rows = index(self.selection.rows.start)..index(self.selection.rows.end);
        let selection = Selection {
            rows,
            ..self.selection.clone()
        };
        selection.cut(&mut self.block, 0)
    }
}

impl<S: Source> Source for Selected<S> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            match self.source.next(&mut self.block)? {
                Step::Block => {
                    if self.cut() {
                        std::mem::swap(block, &mut self.block);
                        return Ok(Step::Block);
                    }
                }
                other => return Ok(other),
            }
        }
    }

    fn has_addresses(&self) -> bool {
        self.source.has_addresses()
    }

    fn is_of_one_thread(&self) -> bool {
        self.source.is_of_one_thread()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn memory(&self) -> Bytes {
        self.source.memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.source.read_ahead_within(most);
    }

    /// Sizes only: a part of a trace is cut row by row.
    fn project(&mut self, projection: Projection) -> bool {
        projection == Projection::Sizes && self.source.project(projection)
    }
}

/// A place in a trace, as users name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// The row of this number, from 0.
    Row(u64),
    /// After this share of the rows.
    RowShare(f64),
    /// This many ticks after the first stamp.
    Ticks(u64),
    /// After this share of the time from the first stamp to the last.
    TimeShare(f64),
}

/// The length of a trace in rows and in time, which shares are relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows.
    pub rows: u64,
    /// The first and the last stamp, 0 if there are none.
    pub stamps: (u64, u64),
}

impl Place {
    /// Whether an [`Extent`] is needed to find it.
    pub fn is_relative(self) -> bool {
        !matches!(self, Place::Row(_))
    }

    /// The row, or else the stamp, that is meant.
    fn find(self, extent: &Extent) -> (Option<u64>, Option<u64>) {
        let (first, last) = extent.stamps;
        match self {
            Place::Row(row) => (Some(row), None),
            Place::RowShare(share) => (Some((extent.rows as f64 * share).round() as u64), None),
            Place::Ticks(ticks) => (None, Some(first.saturating_add(ticks))),
            Place::TimeShare(share) => {
                let ticks = (last.saturating_sub(first) as f64 * share).round() as u64;
                (None, Some(first.saturating_add(ticks)))
            }
        }
    }
}

impl Selection {
    /// From one place to another, of these threads. `extent` is used only if a place is relative.
    pub fn between(
        from: Option<Place>,
        to: Option<Place>,
        threads: BTreeSet<ThreadId>,
        extent: &Extent,
    ) -> Selection {
        let mut selection = Selection {
            threads,
            ..Selection::default()
        };
        let (row, stamp) = from.map_or((None, None), |place| place.find(extent));
        selection.rows.start = row.unwrap_or(0);
        selection.stamps.start = stamp.unwrap_or(0);
        // A range ends before its end, and the last stamp is wanted too.
        let to = to.filter(|place| *place != Place::TimeShare(1.0));
        let (row, stamp) = to.map_or((None, None), |place| place.find(extent));
        selection.rows.end = row.unwrap_or(u64::MAX);
        selection.stamps.end = stamp.unwrap_or(u64::MAX);
        selection
    }
}
