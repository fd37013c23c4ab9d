//! Writes a native file, chunk by chunk.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::compress::{BackgroundCompressor, ChunkCompressor, CompressedChunk};
use crate::encode::{ENOUGH_ROWS, Encoder, event_len};
use crate::encode_templates::Whose;
use crate::index::{ChunkEntry, Index, TRAILER, Trailer};
use crate::template_inference::Shaper;
use crate::{Header, MAX_BLOCK_ROWS, MAX_SHAPED_ROWS, MAX_SHAPED_WORDS};
use reuselens_io::chunk::{self, Content};
use reuselens_trace::summary::KINDS;
use reuselens_trace::{Block, Event, ShapedBlock, Shapes, TraceError};

/// A chunk is written when it has [`ENOUGH_ROWS`], or this many bytes before compression.
const ENOUGH_BYTES: usize = 4 << 20;
/// The most bytes of one event.
const MAX_EVENT: usize = 16 << 20;

/// Writes a native trace file to `W`, in whole chunks of about a million rows or 4 MiB.
///
/// Without [`Writer::finish`] the file lacks its ending and readers call it cut off; what was
/// flushed is read all the same. Block borders are kept. Rows are kept as shapes where that is
/// cheaper to read. Memory: about 20 MiB, up to 10 MiB once there are shapes, up to 15 MiB once
/// there are rows, or what the largest block needs, and for the index some bytes per chunk and
/// thread in it, and all events.
pub struct Writer<W: Write> {
    out: W,
    path: PathBuf,
    encoder: Encoder,
    /// Makes shapes of rows, once there are rows.
    shaper: Option<Box<Shaper>>,
    compressor: ChunkCompressor,
    /// The chunk that is written, or memory for the next.
    chunk: CompressedChunk,
    /// Compresses instead of `compressor`, if there is one.
    background: Option<BackgroundCompressor>,
    /// What the index says of the chunk that is being compressed there.
    on_its_way: Option<ChunkEntry>,
    /// Memory that is free while a chunk is on its way.
    spare: CompressedChunk,
    /// What was written, and the chunk that waits.
    index: Index,
    waiting: ChunkEntry,
    /// The number of the next chunk.
    number: u32,
    written: u64,
    broken: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a file: writes its head. `path` is for messages only.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn new(mut out: W, path: &Path, header: &Header) -> Result<Writer<W>, TraceError> {
        let failed = |error| TraceError::io("write", path, error);
        let written = header.write(&mut out).map_err(failed)? as u64;
        Ok(Writer {
            out,
            path: path.to_owned(),
            encoder: Encoder::new(),
            shaper: None,
            compressor: ChunkCompressor::new().map_err(failed)?,
            chunk: CompressedChunk::default(),
            background: None,
            on_its_way: None,
            spare: CompressedChunk::default(),
            index: Index::default(),
            waiting: ChunkEntry::default(),
            number: 0,
            written,
            broken: false,
        })
    }

    /// From here on chunks are packed by a thread of their own, one behind what is added: for who
    /// has processors to spare. The same bytes are written, each chunk when the next is full or
    /// [`Self::flush`] is called. About 5 MiB more memory.
    ///
    /// # Errors
    /// `FileError::Io` if there is no thread to be had.
    pub fn pack_aside(&mut self) -> Result<(), TraceError> {
        let background = BackgroundCompressor::new()
            .map_err(|error| TraceError::io("write", &self.path, error))?;
        self.background = Some(background);
        Ok(())
    }

    /// Adds an event, in its place among the blocks.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses, or if the event's texts are over 16 MiB.
    pub fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        if event_len(event) > MAX_EVENT {
            return Err(self.refuse("an event is larger than 16 MiB".into()));
        }
        self.encoder.event(event);
        // Before it are those that are written, and the one on its way.
        let number = self.index.chunks.len() + usize::from(self.on_its_way.is_some());
        self.index.event(number, event);
        self.flush_if_full()
    }

    /// Adds a block.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses, or if the block has over [`MAX_BLOCK_ROWS`] rows.
    pub fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        if block.len() > MAX_BLOCK_ROWS {
            let rows = block.len();
            return Err(self.refuse(format!(
                "a block has {rows} rows, and a native file takes {MAX_BLOCK_ROWS}: hand over smaller blocks"
            )));
        }
        let shaper = self.shaper.get_or_insert_with(|| Box::new(Shaper::new()));
        if shaper.block(block) {
            let (shaped, shapes) = shaper.made();
            let rows = self.encoder.shaped(shaped, shapes, Whose::Shaper);
            if rows != Some(block.len()) {
                self.broken = true;
                return Err(self.refuse("rows became shapes that do not fit them".to_owned()));
            }
            self.index.shaped(&mut self.waiting, shaped, block.len());
        } else {
            self.encoder.block(block);
            self.index.block(&mut self.waiting, block);
        }
        self.flush_if_full()
    }

    /// Adds a block of shapes. Always of the same source's `shapes`, whose numbers never mean
    /// another shape. Readers get the rows that it stands for as one block. Cost: that of its notes
    /// and words, not of its rows.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses, if the block's words are not those that `shapes` says,
    /// or if it has over [`MAX_SHAPED_ROWS`] rows or [`MAX_SHAPED_WORDS`] words. The file then ends
    /// with the last whole chunk: later calls fail too.
    pub fn shaped(&mut self, block: &ShapedBlock, shapes: &Shapes) -> Result<(), TraceError> {
        let rows = self.encoder.shaped(block, shapes, Whose::Source);
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
    /// `FileError::Io` if `out` refuses. The file then ends there: later calls fail too.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.end_chunk()?;
        self.take_chunk()?;
        let flushed = self.out.flush();
        flushed.map_err(|error| TraceError::io("write", &self.path, error))
    }

    /// Writes what waits, the index and the ending, and gives back `out`.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.flush()?;
        let trailer = Trailer {
            offset: self.written,
            number: self.number,
        };
        self.index.put(&mut self.chunk.plain);
        self.pack(Content::Index)?;
        self.index.totals().put(&mut self.chunk.plain);
        self.pack(Content::Ending)?;
        let written = self.out.write_all(&trailer.bytes());
        written.map_err(|error| TraceError::io("write", &self.path, error))?;
        self.flush()?;
        Ok(self.out)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.index.summary.rows
    }

    /// Accesses in the chunks that were written; those of blocks that are kept as shapes count once
    /// their chunk is.
    pub fn accesses(&self) -> u64 {
        self.index.summary.accesses()
    }

    /// Bytes handed to `out` so far.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Bytes that the index and the ending take at most, if nothing is added any more. Cost: that
    /// of writing the index, some ten bytes for each chunk and thread in it, and all events.
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
        if !(much || self.encoder.is_full()) {
            return Ok(());
        }
        if self.background.is_none() {
            return self.flush();
        }
        self.end_chunk()
    }

    /// Writes what waits as a chunk, or sends it on its way.
    fn end_chunk(&mut self) -> Result<(), TraceError> {
        if self.encoder.len() == 0 {
            return Ok(());
        }
        let mut kinds = [0; KINDS];
        let into = match self.on_its_way {
            Some(_) => &mut self.spare,
            None => &mut self.chunk,
        };
        self.encoder.finish(&mut into.plain, &mut kinds);
        if let Some(shaper) = &mut self.shaper {
            shaper.chunk_ended();
        }
        let mut chunk = std::mem::take(&mut self.waiting);
        self.index.rows_of_shapes(&mut chunk, &kinds);
        self.take_chunk()?;
        let Some(background) = &self.background else {
            chunk.offset = self.written;
            self.pack(Content::Pieces)?;
            self.index.chunks.push(chunk);
            return Ok(());
        };
        let begun = background.begin(std::mem::take(&mut self.chunk));
        self.checked(begun)?;
        self.on_its_way = Some(chunk);
        Ok(())
    }

    /// Writes the chunk that is on its way, if there is one. The one made meanwhile is the next.
    fn take_chunk(&mut self) -> Result<(), TraceError> {
        let (Some(mut entry), Some(background)) = (self.on_its_way.take(), &self.background) else {
            return Ok(());
        };
        let packed = background.take();
        self.chunk = self.checked(packed)?;
        entry.offset = self.written;
        self.write(Content::Pieces)?;
        self.index.chunks.push(entry);
        std::mem::swap(&mut self.chunk, &mut self.spare);
        let flushed = self.out.flush();
        self.checked(flushed)
    }

    /// Packs and writes the chunk that is in `chunk`.
    fn pack(&mut self, content: Content) -> Result<(), TraceError> {
        let CompressedChunk { plain, stored } = &mut self.chunk;
        let packed = self.compressor.compress(plain, stored);
        self.checked(packed)?;
        self.write(content)
    }

    /// Writes the chunk that is in `chunk`, packed.
    fn write(&mut self, content: Content) -> Result<(), TraceError> {
        let written = self.put(content);
        self.written += self.checked(written)?;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    fn put(&mut self, content: Content) -> std::io::Result<u64> {
        if self.broken {
            return Err(Error::other("an earlier write failed: the file ends there"));
        }
        let CompressedChunk { plain, stored } = &self.chunk;
        let plain = u32::try_from(plain.len())
            .ok()
            .filter(|&len| len <= chunk::MAX_PLAIN as u32);
        let plain = plain.ok_or_else(|| Error::other("a chunk is larger than 256 MiB"))?;
        let number = self.number;
        let head = chunk::Head {
            content,
            number,
            plain,
        }
        .bytes(stored);
        self.out.write_all(&head)?;
        self.out.write_all(stored)?;
        Ok((head.len() + stored.len()) as u64)
    }

    /// After a failure the file ends there.
    fn checked<T>(&mut self, done: std::io::Result<T>) -> Result<T, TraceError> {
        self.broken |= done.is_err();
        done.map_err(|error| TraceError::io("write", &self.path, error))
    }

    fn refuse(&self, what: String) -> TraceError {
        TraceError::io(
            "write",
            &self.path,
            Error::new(ErrorKind::InvalidInput, what),
        )
    }
}
