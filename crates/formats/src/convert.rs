//! Copies any source of accesses into text, the native trace file or a Parquet table: the command
//! `convert`.
//!
//! A damaged source is copied up to the damage, which `Converted::incomplete` reports.

use std::io::Write;
use std::path::Path;

use reuselens_units::Granularity;

use crate::{parquet, text};
use reuselens_rltrace as native;
use reuselens_trace::{Block, Event, Note, Source, Step, TraceError};

/// The form to copy into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One item per line; with a granularity item numbers, else addresses. See [`text::Writer`].
    Text(Option<Granularity>),
    /// The native trace file.
    Native,
    /// A table of rows. See [`parquet::ParquetWriter`].
    Parquet,
}

impl Target {
    /// The target that `--to NAME` means, without a granularity.
    pub fn named(name: &str) -> Option<Target> {
        match name {
            text::NAME => Some(Target::Text(None)),
            native::NAME => Some(Target::Native),
            parquet::NAME => Some(Target::Parquet),
            _ => None,
        }
    }
}

/// What was copied.
#[derive(Debug, Default)]
pub struct Converted {
    /// Blocks copied.
    pub blocks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Rows that are accesses.
    pub accesses: u64,
    /// Events between them.
    pub events: u64,
    /// Processes that began: where there are several, text mixes their addresses.
    pub processes: u64,
    /// Why the source ended early, if it did. The copy is a complete file and holds all
    /// before that.
    pub incomplete: Option<TraceError>,
}

/// Copies `source` to `out` in the form of `target`, block by block; `path` is for messages only.
///
/// A source that is damaged or cut off is copied up to there; see [`Converted::incomplete`]. A
/// native copy then also has a [`Note`] `truncated`.
///
/// # Errors
/// `FileError::Io` if `source` cannot be read or `out` not be written.
pub fn convert<W: Write + Send>(
    source: &mut dyn Source,
    target: Target,
    out: W,
    path: &Path,
) -> Result<Converted, TraceError> {
    let has_addresses = source.has_addresses();
    match target {
        Target::Text(granularity) => copy(
            source,
            text::Writer::new(out, path, granularity, has_addresses),
        ),
        Target::Native => {
            let header = native::Header {
                has_addresses,
                description: source.describe(),
            };
            copy(source, native::Writer::new(out, path, &header)?)
        }
        Target::Parquet => copy(source, parquet::ParquetWriter::new(out, path)?),
    }
}

/// What the writers of all formats have in common.
trait TraceWriter {
    fn event(&mut self, event: &Event) -> Result<(), TraceError>;
    fn block(&mut self, block: &Block) -> Result<(), TraceError>;
    fn finish(self) -> Result<(), TraceError>;
}

macro_rules! sink {
    ($writer:ty, $($bound:tt)+) => {
        impl<W: $($bound)+> TraceWriter for $writer {
            fn event(&mut self, event: &Event) -> Result<(), TraceError> {
                self.event(event)
            }

            fn block(&mut self, block: &Block) -> Result<(), TraceError> {
                self.block(block)
            }

            fn finish(self) -> Result<(), TraceError> {
                self.finish().map(drop)
            }
        }
    };
}

sink!(text::Writer<W>, Write);
sink!(native::Writer<W>, Write);
sink!(parquet::ParquetWriter<W>, Write + Send);

fn copy(source: &mut dyn Source, mut sink: impl TraceWriter) -> Result<Converted, TraceError> {
    let mut block = Block::new();
    let mut done = Converted::default();
    loop {
        match source.next(&mut block) {
            Ok(Step::Block) => {
                done.blocks += 1;
                done.rows += block.len() as u64;
                let accesses = block.kinds().iter().filter(|kind| kind.is_access());
                done.accesses += accesses.count() as u64;
                sink.block(&block)?;
            }
            // The copy gets an index of its own.
            Ok(Step::Event(Event::Note(note))) if note.code == Note::DAMAGED_INDEX => {}
            Ok(Step::Event(event)) => {
                done.events += 1;
                done.processes += u64::from(matches!(event, Event::Process(_)));
                sink.event(&event)?;
            }
            Ok(Step::End) => break,
            Err(error) if error.is_partial() => {
                sink.event(&Event::Note(truncated(&error)))?;
                done.incomplete = Some(error);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    sink.finish()?;
    Ok(done)
}

fn truncated(error: &TraceError) -> Note {
    Note {
        code: Note::TRUNCATED.to_owned(),
        message: format!("this trace was converted from an incomplete one: {error}"),
        hint: "record again for the whole of it".to_owned(),
    }
}
