//! The `Source` of a drmemtrace file: turns entries into rows.
//!
//! Runs of plain entries (data accesses, instructions, skipped ones) are handled in a loop without
//! branches on their type; `special` handles the others one by one.

use std::collections::VecDeque;

use reuselens_units::{Accesses, Bytes};

use crate::delivery::ENOUGH;
use crate::drmemtrace::entry::{self, Class, Entry, LENGTH};
use crate::drmemtrace::first_process;
use crate::drmemtrace::segment::{self, Segment};
use crate::drmemtrace::threads::RunningThreads;
use crate::records::{buffered, cut_off};
use crate::row_stage::{RowStage, STAGED};
use reuselens_io::Input;
use reuselens_trace::{
    AnySegment, Block, Event, ItemProjection, Kind, Note, Projection, Row, Segmented, Source, Step,
    TraceError,
};

/// Kinds of data accesses, and of those that are too large for a row, by type.
const KINDS: [Kind; 2] = [Kind::Load, Kind::Store];
const RANGES: [Kind; 2] = [Kind::RangeLoad, Kind::RangeStore];

/// Reads entries. A data access belongs to the instruction before it: its `pc` is that one's
/// address plus one, since a row's instruction is looked up just before its `pc`. Blocks
/// change with the thread that runs. Accesses of more than 255 bytes become range operations;
/// prefetches and flushes are no accesses. DynamoRIO writes size 0 where an instruction does not
/// say how many bytes it accesses (`xsavec`, `xrstor`): such an access is read as one byte, and a
/// remark reports that before the first of them.
///
/// It reads all entries, or those of a segment ([`Segmented::segments`]).
pub struct DrmemtraceReader {
    pub(super) input: Input,
    threads: RunningThreads,
    /// Of a segment: which entries it has.
    pub(super) segment: Option<Segment>,
    /// Whether it waits at the beginning of each buffer: it reads one thread of several.
    by_buffer: bool,
    /// Whether its first buffer has begun.
    has_begun: bool,
    /// When and on which core the buffer begins at which it waits.
    waits: Option<BufferStart>,
    events: VecDeque<Event>,
    rows: Block,
    stage: Box<RowStage>,
    last: Instruction,
    /// Whether the remark on accesses of unknown size was delivered.
    noted: bool,
    failed: Option<TraceError>,
    over: bool,
}

/// When and on which core a buffer began, in the order of schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BufferStart {
    pub(super) time: u64,
    pub(super) core: u64,
}

impl BufferStart {
    /// What entries from a stamp of time on say. Without a core after it, it is the number that
    /// DynamoRIO has for unknown cores.
    pub(super) fn of(stamp: Entry, next: Option<Entry>) -> BufferStart {
        BufferStart {
            time: stamp.addr,
            core: next.and_then(Entry::core).unwrap_or(u64::MAX),
        }
    }
}

/// The instruction that ran last.
#[derive(Clone, Copy, Default)]
struct Instruction {
    /// Its address plus one: what the rows of its accesses have as `pc`. 0 if there is none.
    pc: u64,
    size: u16,
}

impl DrmemtraceReader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<DrmemtraceReader, TraceError> {
        let threads = RunningThreads::new(first_process(input.head()?));
        Ok(DrmemtraceReader::of(input, threads, None))
    }

    /// A reader of `input` at which `threads` has arrived.
    pub(super) fn of(
        input: Input,
        threads: RunningThreads,
        segment: Option<Segment>,
    ) -> DrmemtraceReader {
        DrmemtraceReader {
            input,
            threads,
            segment,
            by_buffer: false,
            has_begun: false,
            waits: None,
            events: VecDeque::new(),
            rows: Block::new(),
            stage: RowStage::new(),
            last: Instruction::default(),
            noted: false,
            failed: None,
            over: false,
        }
    }

    /// A reader at the start of `input`, whose first bytes are buffered, that waits at the
    /// beginning of each buffer but the first: see [`Self::next_of_buffer`].
    pub(super) fn of_thread(mut input: Input) -> DrmemtraceReader {
        let pid = input.head().map_or(0, first_process);
        let mut reader = DrmemtraceReader::of(input, RunningThreads::new(pid), None);
        reader.by_buffer = true;
        reader
    }

    /// Who runs.
    pub(super) fn threads(&mut self) -> &mut RunningThreads {
        &mut self.threads
    }

    /// When and on which core the buffer begins at which the reader waits.
    pub(super) fn next_buffer(&self) -> Option<BufferStart> {
        self.waits
    }

    /// Goes on with the buffer at which the reader waits.
    pub(super) fn pass_stamp(&mut self) {
        if self.waits.take().is_some() {
            self.consume(1);
        }
    }

    /// The next event or block of a buffer; `None` at the beginning of the next buffer.
    ///
    /// # Errors
    /// Those of [`Source::next`].
    pub(super) fn next_of_buffer(&mut self, block: &mut Block) -> Result<Option<Step>, TraceError> {
        loop {
            // Events of a fill come before its rows: they say whose those are.
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(Step::Event(event)));
            }
            if !self.rows.is_empty() {
                std::mem::swap(&mut self.rows, block);
                self.rows.clear();
                return Ok(Some(Step::Block));
            }
            if self.over {
                return self.failed.take().map_or(Ok(Some(Step::End)), Err);
            }
            if self.waits.is_some() {
                return Ok(None);
            }
            match self.fill() {
                Ok(more) => self.over = !more,
                Err(error) => {
                    self.over = true;
                    self.failed = Some(error);
                }
            }
        }
    }

    /// Appends rows of one thread; `false` at the end.
    fn fill(&mut self) -> Result<bool, TraceError> {
        while self.rows.len() < ENOUGH {
            // Never past that many rows, so that blocks are the same however the bytes come.
            let most = STAGED.min(ENOUGH - self.rows.len());
            let count = self.buffered()?.min(most);
            if count == 0 {
                return Ok(false);
            }
            let (entries, _) = self.input.at_least(0)?.as_chunks::<LENGTH>();
            let entries = &entries[..count];
            let first = Entry::of(&entries[0]);
            if self.by_buffer && first.is_stamp() {
                // Rows before it are delivered first.
                if self.rows.is_empty() && self.has_begun {
                    let (entries, _) = self.input.at_least(2 * LENGTH)?.as_chunks::<LENGTH>();
                    let next = entries.get(1).map(Entry::of);
                    self.waits = Some(BufferStart::of(first, next));
                    return Ok(true);
                }
                if !self.rows.is_empty() {
                    return Ok(true);
                }
                self.has_begun = true;
                self.consume(1);
                continue;
            }
            if first.class() == Class::Special {
                let turns = matches!(first.kind, entry::THREAD | entry::THREAD_EXIT | entry::PID);
                if turns && !self.rows.is_empty() {
                    return Ok(true);
                }
                self.special(first)?;
                self.consume(1);
                continue;
            }
            let (last, stage) = (&mut self.last, &mut self.stage);
            let (taken, staged) = if self.by_buffer {
                plain::<true>(entries, last, stage)
            } else {
                plain::<false>(entries, last, stage)
            };
            self.consume(taken);
            if staged > 0 {
                self.label()?;
                self.stage.flush(staged, &mut self.rows);
            }
        }
        Ok(true)
    }

    /// Whole entries that are buffered; 0 at the end of the input or of the segment.
    fn buffered(&mut self) -> Result<usize, TraceError> {
        let left = self.segment.as_ref().and_then(|segment| segment.left);
        buffered(&mut self.input, LENGTH, left, |bytes| {
            cut_off(bytes, LENGTH)
        })
    }

    /// Takes the first `entries` buffered entries.
    fn consume(&mut self, entries: usize) {
        self.input.consume(entries * LENGTH);
        if let Some(left) = self
            .segment
            .as_mut()
            .and_then(|segment| segment.left.as_mut())
        {
            *left -= entries as u64;
        }
    }

    fn label(&mut self) -> Result<(), TraceError> {
        if self.threads.label(&mut self.rows, &mut self.events) {
            return Ok(());
        }
        let what = "there are more processes than a trace can have";
        Err(self.input.bad_bytes(self.input.offset(), what).into())
    }

    /// What takes more than a row. There are no rows yet if it is about threads.
    fn special(&mut self, entry: Entry) -> Result<(), TraceError> {
        let wrong = match entry.kind {
            0 | 1 if entry.size > 0 => {
                self.label()?;
                self.rows.push(Row {
                    kind: RANGES[usize::from(entry.kind)],
                    size: 0,
                    pc: self.last.pc,
                    addr: entry.addr,
                });
                self.rows.push_operand(entry.size.into());
                return Ok(());
            }
            0 | 1 => {
                if !std::mem::replace(&mut self.noted, true) {
                    self.events.push_back(Event::Note(unknown_size()));
                }
                self.label()?;
                self.rows.push(Row {
                    kind: KINDS[usize::from(entry.kind)],
                    size: 1,
                    pc: self.last.pc,
                    addr: entry.addr,
                });
                return Ok(());
            }
            entry::THREAD | entry::THREAD_EXIT | entry::PID if self.changes(entry) => {
                "another thread runs, of which other segments do not know".to_owned()
            }
            entry::THREAD => {
                self.threads.runs(entry.addr);
                return Ok(());
            }
            entry::THREAD_EXIT => {
                self.threads.ends(entry.addr, &mut self.events);
                return Ok(());
            }
            entry::PID => {
                self.threads.belongs(entry.addr);
                return Ok(());
            }
            entry::BUNDLE if entry.size <= 8 => {
                self.last.bundle(entry);
                return Ok(());
            }
            entry::BUNDLE => "a bundle has more instructions than fit".to_owned(),
            kind => {
                format!("there is no entry of type {kind} in the drmemtrace that is known here")
            }
        };
        Err(self.input.bad_bytes(self.input.offset(), wrong).into())
    }

    /// Whether an entry changes who runs in a way that other segments would have to know.
    fn changes(&self, entry: Entry) -> bool {
        let Some(segment) = &self.segment else {
            return false;
        };
        match entry.kind {
            entry::THREAD => !self.threads.is_running(entry.addr),
            entry::PID => !self.threads.is_of(entry.addr),
            _ => segment.left.is_some(),
        }
    }
}

/// The remark on a trace with accesses of size 0.
fn unknown_size() -> Note {
    Note {
        code: "unknown-size".to_owned(),
        message:
            "DynamoRIO recorded no size for some accesses (those of xsavec, xrstor and the like); \
                  each counts as one access to the item at its address"
                .to_owned(),
        hint: "they are few; what else such an instruction accesses is missing from the trace"
            .to_owned(),
    }
}

impl Instruction {
    /// Instructions that follow this one, each given by its length only.
    fn bundle(&mut self, entry: Entry) {
        let lengths = entry.addr.to_le_bytes();
        for &length in lengths.iter().take(entry.size.into()) {
            self.pc = self.pc.wrapping_add(self.size.into());
            self.size = length.into();
        }
    }
}

/// Goes through entries up to one that is special: how many those are, and how many rows of them
/// are on the stage now. Nothing in it branches on what the entries are, since the order of
/// entries cannot be predicted. `BY_BUFFER`: it stops before the beginning of a buffer too.
fn plain<const BY_BUFFER: bool>(
    entries: &[[u8; LENGTH]],
    last: &mut Instruction,
    stage: &mut RowStage,
) -> (usize, usize) {
    let (mut staged, mut pc) = (0, last.pc);
    let mut instruction = None;
    let mut taken = entries.len();
    for (index, bytes) in entries.iter().enumerate() {
        let entry = Entry::of(bytes);
        let class = entry.class();
        if class == Class::Special || (BY_BUFFER && entry.is_stamp()) {
            taken = index;
            break;
        }
        let is_instruction = class == Class::Instruction;
        let after = entry.addr.wrapping_add(1);
        pc = if is_instruction { after } else { pc };
        instruction = if is_instruction {
            Some(bytes)
        } else {
            instruction
        };
        let row = Row {
            kind: KINDS[usize::from(entry.kind & 1)],
            size: entry.size as u8,
            pc,
            addr: entry.addr,
        };
        stage.put(staged, row);
        staged += usize::from(class == Class::Data);
    }
    if let Some(bytes) = instruction {
        let size = Entry::of(bytes).size;
        *last = Instruction { pc, size };
    }
    (taken, staged)
}

impl Source for DrmemtraceReader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            if let Some(step) = self.next_of_buffer(block)? {
                return Ok(step);
            }
            self.pass_stamp();
        }
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!(
            "data accesses that DynamoRIO's drmemtrace recorded in {}",
            self.input.path().display()
        )
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

impl Segmented for DrmemtraceReader {
    /// Of a file that is not packed, or of an archive, if its beginning names one thread. Segments
    /// end with an error where another one runs.
    fn segments(
        &mut self,
        _: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        segment::segments(&mut self.input, most, shortest)
    }
}
