//! From a source to a trace file.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use reuselens_attribute::DataFilter;
use reuselens_capture::{Delivered, Launch, Running};
use reuselens_hugepages::{catch, out_of_memory};
use reuselens_io::AtomicFile;
use reuselens_rltrace as native;
use reuselens_trace::{
    Block, Event, Note, ProcessEnd, ProcessId, Source, Step, TemplateBlock, Templates, TraceError,
};
use reuselens_units::Bytes;

use crate::Error;
use crate::data_filter::RowFilter;

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The trace file.
    pub path: PathBuf,
    /// Rows in it (accesses and all other events of threads).
    pub rows: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// How the program ended.
    pub ended: Option<ProcessEnd>,
    /// What the reader of a report must know: losses, limits, what was left out.
    pub notes: Vec<Note>,
}

impl Recorded {
    fn new(path: &Path) -> Self {
        Recorded {
            path: path.to_owned(),
            rows: 0,
            blocks: 0,
            ended: None,
            notes: Vec::new(),
        }
    }

    /// Counts a block.
    fn block(&mut self, rows: usize) {
        self.rows += rows as u64;
        self.blocks += 1;
    }

    /// Takes over what an event says of the whole.
    fn event(&mut self, event: &Event) {
        match event {
            // Said below the histogram of an analysis, and only where the order matters.
            Event::Note(note) if note.order_guessed_within().is_some() => {}
            Event::Note(note) => self.notes.push(note.clone()),
            Event::ProcessEnded(ProcessId(0), end) => self.ended = Some(*end),
            _ => {}
        }
    }
}

/// What is kept of a run.
#[derive(Clone, Debug, Default)]
pub struct RecordingOptions {
    /// Stop recording before the next chunk, if as large as the largest so far, would make the file
    /// so large, its index and ending included. The first chunk is written in any case, and so are
    /// events behind the stop.
    pub max_size: Option<Bytes>,
    /// Keep accesses to these data only.
    pub data: DataFilter,
}

/// Runs a program and writes what it does into a native trace file. While it is written, the file
/// has its partial name; if this process dies, that file is readable up to its last whole chunk.
/// Returns what was recorded; `None`, and no file, if the program has no run time of ours in it.
///
/// If the file cannot be written on (a full disk), what was written so far stays under the partial
/// name. The program goes on unseen, and this function waits for its end.
///
/// # Errors
/// If the file cannot be written, or the program cannot be run.
pub fn record_program(
    launch: &Launch,
    mut file: AtomicFile,
    options: &RecordingOptions,
) -> Result<Option<Recorded>, RecordingError> {
    // Before the program starts: a name that another recording uses is refused without a run.
    let partial = file.name_partial()?.to_owned();
    let mut running = Running::start(launch)?;
    let written = catch(|| write(&mut Program(&mut running), file, options));
    let recorded = match written.unwrap_or_else(|refused| Err(refused.into())) {
        Ok(recorded) => recorded,
        Err(error) => {
            running.stop("when the trace could not be written".to_owned());
            return Err(RecordingError {
                error: Box::new(error),
                ended: Some(running.wait()),
                partial: partial.exists().then_some(partial),
            });
        }
    };
    running.check_seen()?;
    Ok(recorded.filter(|_| running.saw_run_time()))
}

/// Why a program was not recorded to its end.
#[derive(Debug)]
pub struct RecordingError {
    /// The reason; in a box, since results that hold it are returned by value.
    pub error: Box<Error>,
    /// How the program ended; `None` if it was not started, or not seen.
    pub ended: Option<ProcessEnd>,
    /// The file with what was recorded until then.
    pub partial: Option<PathBuf>,
}

impl<E: Into<Error>> From<E> for RecordingError {
    fn from(error: E) -> Self {
        RecordingError {
            error: Box::new(error.into()),
            ended: None,
            partial: None,
        }
    }
}

/// Writes all of `source` into a native trace file at `path`, which has its partial name until it
/// is complete. `None`, and no file, if there is nothing in it.
///
/// # Errors
/// If the file exists and `force` is not set, or it cannot be written.
pub fn record(
    source: &mut dyn Source,
    path: &Path,
    force: bool,
) -> Result<Option<Recorded>, Error> {
    let file = AtomicFile::create(path, force)?;
    write(&mut Others(source), file, &RecordingOptions::default())
}

/// What is recorded.
trait Recordable {
    fn source(&self) -> &dyn Source;

    /// The next piece; templates only where `rows` is not set.
    fn next(&mut self, rows: bool, pieces: &mut Pieces) -> Result<Delivered, TraceError>;

    /// Records no more, for a reason.
    fn stop(&mut self, why: String);

    /// The templates named so far.
    fn templates(&self) -> Option<&Templates>;
}

/// What a piece is delivered in.
#[derive(Default)]
struct Pieces {
    block: Block,
    executed: TemplateBlock,
}

/// A program that runs.
struct Program<'a>(&'a mut Running);

impl Recordable for Program<'_> {
    fn source(&self) -> &dyn Source {
        self.0
    }

    fn next(&mut self, rows: bool, pieces: &mut Pieces) -> Result<Delivered, TraceError> {
        if rows {
            return self.0.next(&mut pieces.block).map(Delivered::Rows);
        }
        self.0
            .next_templates(&mut pieces.block, &mut pieces.executed)
    }

    fn stop(&mut self, why: String) {
        self.0.stop(why);
    }

    fn templates(&self) -> Option<&Templates> {
        Some(self.0.templates())
    }
}

/// A source that nobody can stop.
struct Others<'a>(&'a mut dyn Source);

impl Recordable for Others<'_> {
    fn source(&self) -> &dyn Source {
        self.0
    }

    fn next(&mut self, _: bool, pieces: &mut Pieces) -> Result<Delivered, TraceError> {
        self.0.next(&mut pieces.block).map(Delivered::Rows)
    }

    fn stop(&mut self, _: String) {}

    fn templates(&self) -> Option<&Templates> {
        None
    }
}

/// How a file grows: by whole chunks, so that the next one would be as large as those before.
#[derive(Default)]
struct Growth {
    /// Bytes of the file's chunks.
    written: u64,
    /// Bytes of the file, if it ended with them.
    whole: u64,
    /// The most by which a chunk has made it larger, what its ending says of the chunk included.
    chunk: u64,
    full: bool,
}

impl Growth {
    /// Why no more is recorded, in words that follow "recording stopped", if that is now: the
    /// system refuses memory, of which more would be needed, or the next chunk would make the file
    /// `most` bytes large. Once.
    fn stop(
        &mut self,
        written: u64,
        ending: impl FnOnce() -> u64,
        most: Option<Bytes>,
    ) -> Option<String> {
        if let Some(refused) = out_of_memory().filter(|_| !self.full) {
            self.full = true;
            let bytes = Bytes(refused.bytes as u64);
            return Some(format!("when the system refused {bytes} of memory"));
        }
        let most = most.filter(|most| self.reaches(written, ending, most.get()))?;
        Some(format!(
            "before the trace file was {most} large (--max-size)"
        ))
    }

    /// Whether the next chunk would make the file `most` bytes large, its ending included, now that
    /// it has `written`; true once.
    fn reaches(&mut self, written: u64, ending: impl FnOnce() -> u64, most: u64) -> bool {
        if written == self.written || self.full {
            return false;
        }
        let whole = written + ending();
        self.chunk = self.chunk.max(whole.saturating_sub(self.whole));
        (self.written, self.whole) = (written, whole);
        self.full = whole.saturating_add(self.chunk) >= most;
        self.full
    }
}

fn header(source: &dyn Source) -> native::Header {
    native::Header {
        has_addresses: source.has_addresses(),
        description: source.describe(),
    }
}

/// A piece of what is recorded; rows and templates are where they were delivered.
enum RecordedPiece {
    Templates,
    Rows,
    Event(Event),
}

/// `None` at the end.
fn piece_of(delivered: Delivered) -> Option<RecordedPiece> {
    match delivered {
        Delivered::Templates => Some(RecordedPiece::Templates),
        Delivered::Rows(Step::Block) => Some(RecordedPiece::Rows),
        Delivered::Rows(Step::Event(event)) => Some(RecordedPiece::Event(event)),
        Delivered::Rows(Step::End) => None,
    }
}

/// Packs on another thread, if there is a processor for it. Not to be called where what was written
/// is looked at: a chunk is on its way then. Without a thread it takes longer, no more.
fn compress_in_background(writer: &mut native::Writer<AtomicFile>) {
    if reuselens_workers::processors().get() > 1 {
        let _ = writer.compress_in_background();
    }
}

/// From here on the file stays whatever happens, and goes to the disk while it grows; without a
/// thread that takes longer, no more.
fn keep(file: &mut AtomicFile) -> Result<(), TraceError> {
    file.keep_partial()?;
    let _ = file.sync_ahead();
    Ok(())
}

fn write(
    source: &mut impl Recordable,
    mut file: AtomicFile,
    options: &RecordingOptions,
) -> Result<Option<Recorded>, Error> {
    let path = &file.target().to_owned();
    let mut pieces = Pieces::default();
    // What is left out is said of rows.
    let rows = options.data != DataFilter::All;
    // What is captured is known once the program's first process has shown itself.
    let mut step = source.next(rows, &mut pieces)?;
    if step == Delivered::Rows(Step::End) {
        return Ok(None);
    }
    keep(&mut file)?;
    let mut recorded = Recorded::new(path);
    let written = file.written();
    let mut growth = Growth::default();
    let mut filter = RowFilter::new(options.data);
    let mut writer = native::Writer::new(file, path, &header(source.source()))?;
    if options.max_size.is_none() {
        compress_in_background(&mut writer);
    }
    while let Some(piece) = piece_of(step) {
        match piece {
            RecordedPiece::Templates => {
                recorded.block(pieces.executed.rows());
                if let Some(templates) = source.templates() {
                    writer.template_block(&pieces.executed, templates)?;
                }
            }
            RecordedPiece::Rows => {
                filter.block(&mut pieces.block);
                recorded.block(pieces.block.len());
                writer.block(&pieces.block)?;
            }
            RecordedPiece::Event(event) => {
                recorded.event(&event);
                filter.event(&event);
                writer.event(&event)?;
                // Rare, and needed for all that follows: it goes out at once.
                if matches!(event, Event::Process(_) | Event::Module(_)) {
                    writer.flush()?;
                }
            }
        }
        let written = written.load(Ordering::Relaxed);
        let stop = growth.stop(written, || writer.ending_bytes(), options.max_size);
        if let Some(why) = stop {
            source.stop(why);
        }
        step = source.next(rows, &mut pieces)?;
    }
    if let Some(note) = filter.note() {
        writer.event(&Event::Note(note.clone()))?;
        recorded.notes.push(note);
    }
    recorded.path = writer.finish()?.commit()?;
    Ok(Some(recorded))
}
