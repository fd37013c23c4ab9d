//! Rows as an Apache Parquet table, for DuckDB, pandas, polars and the like. Written only.
//!
//! Used by `convert`, as one of its targets. `lib.rs` lists it in `FORMATS`, without a reader.
//!
//! Source: the Apache Parquet format, <https://parquet.apache.org/docs/file-format/>.

use std::io::{Error, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use crate::AnySource;
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, Event, Kind, TraceError};

/// What to type after `--to`.
pub const NAME: &str = "parquet";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "a table for DuckDB, pandas or polars: process, thread, kind, size, pc, address";

/// Rows of a row group.
const GROUP: usize = 1 << 20;
/// Rows whose kind is spelled out at once.
const PART: usize = 8 << 10;

const SCHEMA: &str = "message rows {
    REQUIRED INT32 process (INTEGER(16, false));
    REQUIRED INT32 thread (INTEGER(32, false));
    REQUIRED BYTE_ARRAY kind (STRING);
    REQUIRED INT32 size (INTEGER(8, false));
    REQUIRED INT64 pc (INTEGER(64, false));
    REQUIRED INT64 address (INTEGER(64, false));
}";

/// Whether the file begins as Parquet does.
pub fn detect(head: &[u8]) -> Confidence {
    if head.starts_with(b"PAR1") {
        Confidence::Certain
    } else {
        Confidence::No
    }
}

pub(super) fn refuse(input: Input) -> Result<AnySource, TraceError> {
    let what = "it is a Parquet table, which is written but not read: keep the native trace, or \
                turn the table into text with one item per line"
        .to_owned();
    Err(TraceError::UnknownFormat {
        path: input.path().to_owned(),
        what,
    })
}

/// Writes every row of a trace, operand rows too, in order, as row groups of a million rows.
///
/// Columns: `process` (u16), `thread` (u32), `kind` (string: `load`, `store`, `atomic`,
/// `range-load`, `range-store`, `enter`, `exit`, `alloc`, `free`, `named`, `statement`, `data`,
/// `partial-data`, `operand`), `size` (u8, bytes), `pc` (u64), `address` (u64; what it is depends
/// on the kind, see [`Kind`]). Stamps and events are left out. Memory: about 40 MiB.
pub struct ParquetWriter<W: Write + Send> {
    table: SerializedFileWriter<W>,
    path: PathBuf,
    processes: Vec<i32>,
    threads: Vec<i32>,
    kinds: Vec<Kind>,
    sizes: Vec<i32>,
    pcs: Vec<i64>,
    addrs: Vec<i64>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a table in `out`; `path` is for messages only.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn new(out: W, path: &Path) -> Result<ParquetWriter<W>, TraceError> {
        let table = begin(out).map_err(|error| failed(path, error))?;
        Ok(ParquetWriter {
            table,
            path: path.to_owned(),
            processes: Vec::new(),
            threads: Vec::new(),
            kinds: Vec::new(),
            sizes: Vec::new(),
            pcs: Vec::new(),
            addrs: Vec::new(),
        })
    }

    /// Events are not in the table.
    ///
    /// # Errors
    /// None; the others of its kind have some.
    pub fn event(&mut self, _event: &Event) -> Result<(), TraceError> {
        Ok(())
    }

    /// Adds the rows of a block.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        let rows = self.kinds.len() + block.len();
        self.processes.resize(rows, block.process.0.into());
        self.threads.resize(rows, block.thread.0.cast_signed());
        self.kinds.extend_from_slice(block.kinds());
        self.sizes
            .extend(block.sizes().iter().map(|&size| i32::from(size)));
        self.pcs
            .extend(block.pcs().iter().map(|pc| pc.cast_signed()));
        self.addrs
            .extend(block.addrs().iter().map(|addr| addr.cast_signed()));
        while self.kinds.len() >= GROUP {
            self.group(GROUP)
                .map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    /// Writes the rest and the table's footer, and gives back `out`.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        let rows = self.kinds.len();
        let written = if rows > 0 { self.group(rows) } else { Ok(()) };
        let out = written.and_then(|()| self.table.into_inner());
        let mut out = out.map_err(|error| failed(&self.path, error))?;
        out.flush()
            .map_err(|error| TraceError::io("write", &self.path, error))?;
        Ok(out)
    }

    /// Writes the first `rows` rows as a row group.
    fn group(&mut self, rows: usize) -> Result<(), ParquetError> {
        let mut group = self.table.next_row_group()?;
        let mut numbers = [&mut self.processes, &mut self.threads, &mut self.sizes].into_iter();
        let mut words = [&mut self.pcs, &mut self.addrs].into_iter();
        while let Some(mut column) = group.next_column()? {
            match column.untyped() {
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let Some(values) = numbers.next() else { break };
                    writer.write_batch(&values[..rows], None, None)?;
                    values.drain(..rows);
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let Some(values) = words.next() else { break };
                    writer.write_batch(&values[..rows], None, None)?;
                    values.drain(..rows);
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    for part in self.kinds[..rows].chunks(PART) {
                        let names: Vec<ByteArray> =
                            part.iter().map(|&kind| name(kind).into()).collect();
                        writer.write_batch(&names, None, None)?;
                    }
                    self.kinds.drain(..rows);
                }
                _ => {}
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

fn begin<W: Write + Send>(out: W) -> Result<SerializedFileWriter<W>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP))
        .set_column_dictionary_enabled("address".into(), false)
        .set_column_encoding("address".into(), Encoding::DELTA_BINARY_PACKED)
        .build();
    SerializedFileWriter::new(out, schema, Arc::new(properties))
}

pub(super) fn failed(path: &Path, error: ParquetError) -> TraceError {
    let source = match error {
        ParquetError::External(error) => match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::other(error),
        },
        error => Error::other(error),
    };
    TraceError::io("write", path, source)
}

/// How the table spells a kind.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "load",
        Kind::Store => "store",
        Kind::Atomic => "atomic",
        Kind::RangeLoad => "range-load",
        Kind::RangeStore => "range-store",
        Kind::Enter => "enter",
        Kind::Exit => "exit",
        Kind::Alloc => "alloc",
        Kind::Free => "free",
        Kind::Named => "named",
        Kind::Statement => "statement",
        Kind::Data => "data",
        Kind::PartialData => "partial-data",
        Kind::Operand => "operand",
        Kind::BasicBlock => "basic-block",
    }
}
