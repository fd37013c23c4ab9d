//! Writes a native file, chunk by chunk.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::formats::native::chunk::{self, Content};
use crate::formats::native::encode::{ENOUGH_ROWS, Encoder, event_len};
use crate::formats::native::index::{ChunkEntry, Index, TRAILER, Trailer};
use crate::formats::native::{Header, MAX_BLOCK_ROWS, MAX_SHAPED_ROWS, MAX_SHAPED_WORDS};
use crate::summary::KINDS;
use crate::{Block, Event, ShapedBlock, Shapes, TraceError};

/// The fastest of the usual levels: while a program is recorded, packing takes as long as all else, and level 3 makes
/// files smaller by a tenth only.
const LEVEL: i32 = 1;
/// How far that level goes on where it finds nothing, and that it leaves the bytes as they are that it finds nowhere. Takes a fifth less time
/// than without, to pack, and two fifths less to unpack; files are a sixth larger.
const STEP: u32 = 2;
/// A chunk is written when it has [`ENOUGH_ROWS`], or this many bytes before compression.
const ENOUGH_BYTES: usize = 4 << 20;
/// The most bytes of one event.
const MAX_EVENT: usize = 16 << 20;

/// Writes a native trace file to `W`, in whole chunks of about a million rows or 4 MiB.
///
/// Without [`Writer::finish`] the file lacks its ending and readers call it cut off; what was flushed
/// is read all the same. Block borders are kept. Memory: about 20 MiB, or what the largest block needs, and for the index some bytes per
/// chunk and thread in it, and all events.
pub struct Writer<W: Write> {
    out: W,
    path: PathBuf,
    encoder: Encoder,
    packer: zstd::bulk::Compressor<'static>,
    plain: Vec<u8>,
    stored: Vec<u8>,
    /// What was written, and the chunk that waits.
    index: Index,
    waiting: ChunkEntry,
    /// The number of the next chunk.
    number: u32,
    written: u64,
    broken: bool,
}

fn packer() -> std::io::Result<zstd::bulk::Compressor<'static>> {
    let mut packer = zstd::bulk::Compressor::new(LEVEL)?;
    packer.set_parameter(zstd::zstd_safe::CParameter::TargetLength(STEP))?;
    Ok(packer)
}

impl<W: Write> Writer<W> {
    /// Begins a file: writes its head. `path` is for messages only.
    ///
    /// # Errors
    /// [`TraceError::Io`] if `out` refuses.
    pub fn new(mut out: W, path: &Path, header: &Header) -> Result<Writer<W>, TraceError> {
        let failed = |error| TraceError::io("write", path, error);
        let written = header.write(&mut out).map_err(failed)? as u64;
        Ok(Writer {
            out,
            path: path.to_owned(),
            encoder: Encoder::new(),
            packer: packer().map_err(failed)?,
            plain: Vec::new(),
            stored: Vec::new(),
            index: Index::default(),
            waiting: ChunkEntry::default(),
            number: 0,
            written,
            broken: false,
        })
    }

    /// Adds an event, in its place among the blocks.
    ///
    /// # Errors
    /// [`TraceError::Io`] if `out` refuses, or if the event's texts are over 16 MiB.
    pub fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        if event_len(event) > MAX_EVENT {
            return Err(self.refuse("an event is larger than 16 MiB".into()));
        }
        self.encoder.event(event);
        self.index.event(event);
        self.flush_if_full()
    }

    /// Adds a block.
    ///
    /// # Errors
    /// [`TraceError::Io`] if `out` refuses, or if the block has over [`MAX_BLOCK_ROWS`] rows.
    pub fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        if block.len() > MAX_BLOCK_ROWS {
            let rows = block.len();
            return Err(self.refuse(format!(
                "a block has {rows} rows, and a native file takes {MAX_BLOCK_ROWS}: hand over smaller blocks"
            )));
        }
        self.encoder.block(block);
        self.index.block(&mut self.waiting, block);
        self.flush_if_full()
    }

    /// Adds a block of shapes. Always of the same source's `shapes`, whose numbers never mean another shape. Readers get
    /// the rows that it stands for as one block. Cost: that of its notes and words, not of its rows.
    ///
    /// # Errors
    /// [`TraceError::Io`] if `out` refuses, if the block's words are not those that `shapes` says, or if it has over
    /// [`MAX_SHAPED_ROWS`] rows or [`MAX_SHAPED_WORDS`] words. The file then ends with the last whole chunk: later calls fail too.
    pub fn shaped(&mut self, block: &ShapedBlock, shapes: &Shapes) -> Result<(), TraceError> {
        let rows = self.encoder.shaped(block, shapes);
        let Some(rows) = rows.filter(|&rows| rows <= MAX_SHAPED_ROWS) else {
            self.broken = true;
            return Err(self.refuse(format!(
                "a block of shapes has other words than they, or more than {MAX_SHAPED_ROWS} rows or {MAX_SHAPED_WORDS} words"
            )));
        };
        self.index.shaped(&mut self.waiting, block, rows);
        self.flush_if_full()
    }

    /// Writes what waits as a chunk, however small: from then on a crash does not lose it.
    ///
    /// # Errors
    /// [`TraceError::Io`] if `out` refuses. The file then ends there: later calls fail too.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if self.encoder.len() > 0 {
            let mut kinds = [0; KINDS];
            self.encoder.finish(&mut self.plain, &mut kinds);
            let mut chunk = std::mem::take(&mut self.waiting);
            self.index.rows_of_shapes(&mut chunk, &kinds);
            chunk.offset = self.written;
            self.chunk(Content::Pieces)?;
            self.index.chunks.push(chunk);
        }
        let flushed = self.out.flush();
        flushed.map_err(|error| TraceError::io("write", &self.path, error))
    }

    /// Writes what waits, the index and the ending, and gives back `out`.
    ///
    /// # Errors
    /// [`TraceError::Io`] if `out` refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.flush()?;
        let trailer = Trailer {
            offset: self.written,
            number: self.number,
        };
        self.index.put(&mut self.plain);
        self.chunk(Content::Index)?;
        self.index.totals().put(&mut self.plain);
        self.chunk(Content::Ending)?;
        let written = self.out.write_all(&trailer.bytes());
        written.map_err(|error| TraceError::io("write", &self.path, error))?;
        self.flush()?;
        Ok(self.out)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.index.summary.rows
    }

    /// Accesses in the chunks that were written; those of blocks of shapes count once their chunk is.
    pub fn accesses(&self) -> u64 {
        self.index.summary.accesses()
    }

    /// Bytes handed to `out` so far.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Bytes that the index and the ending take at most, if nothing is added any more. Cost: that of writing the index,
    /// some ten bytes for each chunk and thread in it, and all events.
    pub fn ending_bytes(&self) -> u64 {
        let mut plain = Vec::new();
        let mut chunk = |put: &dyn Fn(&mut Vec<u8>)| {
            put(&mut plain);
            chunk::HEAD + zstd::zstd_safe::compress_bound(plain.len())
        };
        let index = chunk(&|plain| self.index.put(plain));
        let ending = chunk(&|plain| self.index.totals().put(plain));
        (index + ending + TRAILER) as u64
    }

    fn flush_if_full(&mut self) -> Result<(), TraceError> {
        let much = self.waiting.rows >= ENOUGH_ROWS || self.encoder.len() >= ENOUGH_BYTES;
        if much || self.encoder.is_full() {
            return self.flush();
        }
        Ok(())
    }

    /// Writes the chunk that is in `plain`.
    fn chunk(&mut self, content: Content) -> Result<(), TraceError> {
        let written = self.pack(content);
        self.broken |= written.is_err();
        self.written += written.map_err(|error| TraceError::io("write", &self.path, error))?;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    fn pack(&mut self, content: Content) -> std::io::Result<u64> {
        if self.broken {
            return Err(Error::other("an earlier write failed: the file ends there"));
        }
        let plain = u32::try_from(self.plain.len())
            .ok()
            .filter(|&len| len <= chunk::MAX_PLAIN as u32);
        let plain = plain.ok_or_else(|| Error::other("a chunk is larger than 256 MiB"))?;
        self.stored.clear();
        self.stored
            .reserve(zstd::zstd_safe::compress_bound(self.plain.len()));
        self.packer
            .compress_to_buffer(&self.plain, &mut self.stored)?;
        let number = self.number;
        let head = chunk::Head {
            content,
            number,
            plain,
        }
        .bytes(&self.stored);
        self.out.write_all(&head)?;
        self.out.write_all(&self.stored)?;
        Ok((head.len() + self.stored.len()) as u64)
    }

    fn refuse(&self, what: String) -> TraceError {
        TraceError::io(
            "write",
            &self.path,
            Error::new(ErrorKind::InvalidInput, what),
        )
    }
}
