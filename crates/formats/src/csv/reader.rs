//! The `Source` of a table: reads its lines by the fast path (`fast_line`) or else the slow one
//! (`slow_line`), and delivers them as blocks of one thread each.

use reuselens_units::Bytes;
use std::collections::VecDeque;

use crate::batch::Batch;
use crate::csv::choice::Choice;
use crate::csv::columns::{Role, TableLayout};
use crate::csv::kinds::Kinds;
use crate::csv::slow_line::Found;
use crate::csv::threads::TableThreads;
use crate::lines::{self, Bad};
use crate::names::Names;
use crate::{extent, text, unknown};
use reuselens_io::Input;
use reuselens_trace::{
    Block, Event, Kind, Note, Process, Projection, Source, Step, Thread, TraceError,
};

/// Reads a table whose header names its columns; [`TableReader::with`] lets them be chosen.
///
/// With a column of addresses, a row of the table is an access of `size` bytes (1 if there is no
/// such column; as a range operation from 256 on, which is a store for what reads and writes). With
/// one of ids, a row is one access to one item, whatever its size; ids that are words are numbered
/// as those of text are. A row's `pc` is one more than the table's, since a row's instruction is
/// looked up just before its `pc`. Memory grows with the number of distinct words and threads.
pub struct TableReader {
    input: Input,
    lines: TableLines,
    batch: Box<Batch>,
    rows: Block,
    events: VecDeque<Event>,
    failed: Option<TraceError>,
    over: bool,
}

/// What is known about the lines so far.
pub(super) struct TableLines {
    pub(super) layout: TableLayout,
    pub(super) names: Names,
    pub(super) kinds: Kinds,
    pub(super) threads: TableThreads,
    pub(super) scratch: Vec<u8>,
    /// Whether rows of ids have the sizes of their objects.
    pub(super) sizes: bool,
    /// Bytes of a unit of addresses.
    unit: u64,
    /// Whether an access that reads and writes was too large for a row of its kind.
    large_modify: bool,
    /// Whether that was reported.
    noted: bool,
}

/// What a line says.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) kind: Kind,
    pub(super) place: u64,
    pub(super) size: u64,
    pub(super) pc: u64,
}

impl TableReader {
    /// A reader at the start of `input`, with the columns that the header's names mean.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had,
    /// [`TraceError::UnknownFormat`] if no column holds addresses or ids.
    pub fn new(input: Input) -> Result<TableReader, TraceError> {
        TableReader::with(input, "")
    }

    /// A reader at the start of `input`, with columns that are chosen by name or by number from 1:
    /// `address=where,size=3,kind=,delimiter=tab,header=no`. What is not mentioned is found in the
    /// header; a role without a column (`kind=`) has none. `unit=512`: addresses are numbers of
    /// blocks of so many bytes.
    ///
    /// # Errors
    /// Those of [`TableReader::new`], and [`TraceError::UnknownFormat`] if the choice is no choice.
    pub fn with(mut input: Input, choice: &str) -> Result<TableReader, TraceError> {
        let choice = Choice::read(choice).map_err(|what| unknown(&input, what))?;
        if input.head()?.starts_with(text::BYTE_ORDER_MARK) {
            input.consume(text::BYTE_ORDER_MARK.len());
        }
        let first = first_line(&mut input, choice.header)?;
        let layout = TableLayout::new(&first, &choice).map_err(|what| unknown(&input, what))?;
        let unit = choice.unit.unwrap_or(1);
        if layout.ids() && choice.unit.is_some() {
            return Err(unknown(&input, UNIT_OF_IDS.to_owned()));
        }
        let mut events = VecDeque::from([Event::Process(Process::default())]);
        if !layout.has_threads() {
            events.push_back(Event::Thread(Thread::default()));
        }
        let lines = TableLines {
            layout,
            names: Names::default(),
            kinds: Kinds::new(),
            threads: TableThreads::default(),
            scratch: Vec::new(),
            sizes: false,
            unit,
            large_modify: false,
            noted: false,
        };
        Ok(TableReader {
            input,
            lines,
            batch: Batch::new(),
            rows: Block::new(),
            events,
            failed: None,
            over: false,
        })
    }
}

impl Source for TableReader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            self.events.extend(self.lines.threads.switch());
            if let Some(event) = self.events.pop_front() {
                return Ok(Step::Event(event));
            }
            if self.over {
                return self.failed.take().map_or(Ok(Step::End), Err);
            }
            self.rows.clear();
            self.lines.names.begin_block();
            let (lines, batch) = (&mut self.lines, &mut *self.batch);
            let filled = lines::fill(&mut self.input, &mut self.rows, |text, rows| {
                lines.parse(text, rows, batch)
            });
            match filled {
                Ok(more) => self.over = !more,
                Err(error) => (self.over, self.failed) = (true, Some(error)),
            }
            if self.lines.large_modify && !std::mem::replace(&mut self.lines.noted, true) {
                self.events.push_back(Event::Note(large_modify()));
            }
            if !self.rows.is_empty() {
                self.rows.process = Process::default().id;
                self.rows.thread = self.lines.threads.id;
                std::mem::swap(&mut self.rows, block);
                return Ok(Step::Block);
            }
        }
    }

    fn has_addresses(&self) -> bool {
        !self.lines.layout.ids()
    }

    fn is_of_one_thread(&self) -> bool {
        !self.lines.layout.has_threads()
    }

    fn project(&mut self, projection: Projection) -> bool {
        let layout = &self.lines.layout;
        let can = layout.ids() && layout.number(Role::Size) > 0;
        self.lines.sizes = can && projection == Projection::Sizes;
        self.lines.sizes
    }

    fn describe(&self) -> String {
        let what = if self.has_addresses() {
            "accesses"
        } else {
            "items"
        };
        format!("{what} in the table {}", self.input.path().display())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }

    fn memory(&self) -> Bytes {
        self.lines.names.memory() + self.lines.threads.memory()
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}
}

impl TableLines {
    fn parse(&mut self, text: &[u8], rows: &mut Block, batch: &mut Batch) -> Result<usize, Bad> {
        let ids = self.layout.ids();
        lines::each(text, rows, batch, |text, at, batch| {
            let (access, next) = match self.fast_line(text, at) {
                Some(found) => found,
                None if self.names.fill_a_block() => return Ok(at),
                None => match self.slow_line(text, at)? {
                    (Found::Access(access), next) => (access, next),
                    (Found::Empty, next) => return Ok(next),
                    (Found::OtherThread, _) => return Ok(at),
                },
            };
            let size = if ids && !self.sizes { 1 } else { access.size };
            // An id is no place from which an object reaches anywhere.
            let (place, most) = if ids {
                (0, extent::OBJECT)
            } else if let Some(place) = access.place.checked_mul(self.unit) {
                (place, extent::REQUEST)
            } else {
                return Err(beyond(at, &access, self.unit));
            };
            if !extent::fits(place, size, most) {
                let column = self.layout.number(Role::Size);
                let what = extent::wrong(place, size, most, column);
                return Err(Bad { at, what });
            }
            self.large_modify |= access.kind == Kind::Atomic && size > u8::MAX.into();
            let place = if ids { access.place } else { place };
            batch.push(access.kind, size, access.pc, place);
            Ok(next)
        })
    }
}

/// Why ids have no unit.
const UNIT_OF_IDS: &str = "unit=BYTES is for addresses, and this table has ids: choose the column of block \
     numbers with `--format csv:address=COLUMN,unit=BYTES`";

/// What is wrong with an address in a unit.
#[cold]
fn beyond(at: usize, access: &Access, unit: u64) -> Bad {
    let what = format!(
        "the address {}, in units of {unit} bytes, is beyond the end of the address space",
        access.place
    );
    Bad { at, what }
}

/// The remark on accesses that read and write, and are too large for a row of that kind.
fn large_modify() -> Note {
    Note {
        code: "large-modify".to_owned(),
        message: "accesses of 256 bytes or more that read and write are counted as stores, each as one access"
            .to_owned(),
        hint: "with --kind loads they are left out".to_owned(),
    }
}

/// The first line that is not empty: taken if it is a header, else only looked at.
fn first_line(input: &mut Input, header: bool) -> Result<Vec<u8>, TraceError> {
    if !header {
        let mut lines = input.head()?.split(|&byte| byte == b'\n');
        let first = lines.find(|line| !line.trim_ascii().is_empty());
        return Ok(first.unwrap_or_default().to_vec());
    }
    while let Some(line) = input.line()? {
        if !line.trim_ascii().is_empty() {
            return Ok(line.to_vec());
        }
    }
    Ok(Vec::new())
}
