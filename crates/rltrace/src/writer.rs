//! Writes a native file, chunk by chunk.
//!
//! Whoever records or converts a trace adds blocks and events to a [`Writer`]. Blocks of rows go
//! through `template_inference` first, and become templates where that is cheaper to read. `encode`
//! turns both into the streams of a chunk; a full chunk is compressed, here or by another thread
//! (`compress`), and written. `finish` writes index, ending and trailer.
//!
//! *Invariant:* `index.chunks` lists exactly the chunks that were written; the sums and events of
//! the index go up to the last piece that was added. After an error nothing more is written.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::compress::{BackgroundCompressor, ChunkCompressor, CompressedChunk};
use crate::encode::{ChunkEncoder, FULL_ROWS, event_len};
use crate::encode_templates::TemplateOwner;
use crate::index::{ChunkEntry, Index, TRAILER, Trailer};
use crate::template_inference::TemplateInference;
use crate::{Header, MAX_BLOCK_ROWS, MAX_TEMPLATE_BLOCK_OPERANDS, MAX_TEMPLATE_BLOCK_ROWS};
use reuselens_io::chunk::{self, Content};
use reuselens_trace::summary::KINDS;
use reuselens_trace::{Block, Event, TemplateBlock, Templates, TraceError};

/// A chunk is written when it has [`FULL_ROWS`] rows, or this many bytes before compression.
const FULL_BYTES: usize = 4 << 20;
/// The most bytes of one event.
const MAX_EVENT: usize = 16 << 20;

/// Writes a native trace file to `W`, in whole chunks of about a million rows or 4 MiB.
///
/// Without [`Writer::finish`] the file lacks its ending and readers call it cut off; what was
/// flushed is read all the same. Block borders are kept. Rows are stored as templates where that is
/// cheaper to read. Memory: about 20 MiB, up to 10 MiB more once there are template blocks, up to
/// 15 MiB more once there are blocks of rows, or what the largest block needs; and for the index
/// some bytes per chunk and thread in it, and all events.
pub struct Writer<W: Write> {
    out: W,
    path: PathBuf,
    encoder: ChunkEncoder,
    /// Makes templates of rows, once there are blocks of rows.
    inference: Option<Box<TemplateInference>>,
    compressor: ChunkCompressor,
    /// The chunk that is written, or memory for the next.
    chunk: CompressedChunk,
    /// Compresses instead of `compressor`, if there is one.
    background: Option<BackgroundCompressor>,
    /// The index entry of the chunk that is being compressed there, if one is.
    compressing: Option<ChunkEntry>,
    /// Memory for the next chunk while another is being compressed.
    spare: CompressedChunk,
    /// The chunks that were written, and the one in the making.
    index: Index,
    unfinished: ChunkEntry,
    /// The number of the next chunk.
    number: u32,
    written: u64,
    broken: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a file, and writes its head. `path` is for messages only.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn new(mut out: W, path: &Path, header: &Header) -> Result<Writer<W>, TraceError> {
        let failed = |error| TraceError::io("write", path, error);
        let written = header.write(&mut out).map_err(failed)? as u64;
        Ok(Writer {
            out,
            path: path.to_owned(),
            encoder: ChunkEncoder::new(),
            inference: None,
            compressor: ChunkCompressor::new().map_err(failed)?,
            chunk: CompressedChunk::default(),
            background: None,
            compressing: None,
            spare: CompressedChunk::default(),
            index: Index::default(),
            unfinished: ChunkEntry::default(),
            number: 0,
            written,
            broken: false,
        })
    }

    /// From here on another thread compresses a chunk while the next is made: for callers with
    /// processors to spare. The same bytes are written, each chunk when the next is full or
    /// [`Self::flush`] is called. About 5 MiB more memory. If the system gives no thread, nothing
    /// changes.
    ///
    /// # Errors
    /// `FileError::Io` if there is no memory for the compressor.
    pub fn compress_in_background(&mut self) -> Result<(), TraceError> {
        let background = BackgroundCompressor::new();
        self.background = background.map_err(|error| TraceError::io("write", &self.path, error))?;
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
        // Before this chunk are those that were written, and the one that is being compressed.
        let number = self.index.chunks.len() + usize::from(self.compressing.is_some());
        self.index.event(number, event);
        self.flush_if_full()
    }

    /// Adds a block of rows.
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
        let inference = self
            .inference
            .get_or_insert_with(|| Box::new(TemplateInference::new()));
        if inference.block(block) {
            let (made, templates) = inference.made();
            let owner = TemplateOwner::Inference;
            let rows = self.encoder.template_block(made, templates, owner);
            if rows != Some(block.len()) {
                self.broken = true;
                return Err(self.refuse("rows became shapes that do not fit them".to_owned()));
            }
            let rows = block.len();
            self.index.template_block(&mut self.unfinished, made, rows);
        } else {
            self.encoder.block(block);
            self.index.block(&mut self.unfinished, block);
        }
        self.flush_if_full()
    }

    /// Adds a block of templates. All such blocks must be of one `templates`, to which templates
    /// may be added between calls. Readers get the rows that the block stands for, as one block.
    /// Cost: that of its executions and operands, not of its rows.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses, if the block's operands are not those of its templates, or
    /// if it has over [`MAX_TEMPLATE_BLOCK_ROWS`] rows or [`MAX_TEMPLATE_BLOCK_OPERANDS`] operands.
    /// The file then ends with the last complete chunk: later calls fail too.
    pub fn template_block(
        &mut self,
        block: &TemplateBlock,
        templates: &Templates,
    ) -> Result<(), TraceError> {
        let owner = TemplateOwner::Source;
        let rows = self.encoder.template_block(block, templates, owner);
        let Some(rows) = rows.filter(|&rows| rows <= MAX_TEMPLATE_BLOCK_ROWS) else {
            self.broken = true;
            return Err(self.refuse(format!(
                "a block of shapes has other words than they, or more than {MAX_TEMPLATE_BLOCK_ROWS} rows or {MAX_TEMPLATE_BLOCK_OPERANDS} words"
            )));
        };
        self.index.template_block(&mut self.unfinished, block, rows);
        self.flush_if_full()
    }

    /// Ends the chunk in the making, however small, and writes it: from then on a crash does not
    /// lose it.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses. The file then ends there: later calls fail too.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.end_chunk()?;
        self.take_chunk()?;
        let flushed = self.out.flush();
        flushed.map_err(|error| TraceError::io("write", &self.path, error))
    }

    /// Writes the last chunk, the index and the ending, and gives back `out`.
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
        self.compress_and_write(Content::Index)?;
        self.index.totals().put(&mut self.chunk.plain);
        self.compress_and_write(Content::Ending)?;
        let written = self.out.write_all(&trailer.bytes());
        written.map_err(|error| TraceError::io("write", &self.path, error))?;
        self.flush()?;
        Ok(self.out)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.index.summary.rows
    }

    /// Accesses added so far; those of blocks that are stored as templates count once their chunk
    /// is ended.
    pub fn accesses(&self) -> u64 {
        self.index.summary.accesses()
    }

    /// Bytes handed to `out` so far.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Bytes that the index and the ending take at most, if nothing more is added. Cost: that of
    /// writing the index, some ten bytes for each chunk and thread in it, and all events.
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
        let is_full = self.unfinished.rows >= FULL_ROWS || self.encoder.len() >= FULL_BYTES;
        if !(is_full || self.encoder.is_full()) {
            return Ok(());
        }
        if self.background.is_none() {
            return self.flush();
        }
        self.end_chunk()
    }

    /// Ends the chunk in the making: writes it, or hands it to the other thread.
    fn end_chunk(&mut self) -> Result<(), TraceError> {
        if self.encoder.len() == 0 {
            return Ok(());
        }
        let mut kinds = [0; KINDS];
        let into = match self.compressing {
            Some(_) => &mut self.spare,
            None => &mut self.chunk,
        };
        self.encoder.finish(&mut into.plain, &mut kinds);
        if let Some(inference) = &mut self.inference {
            inference.chunk_ended();
        }
        let mut chunk = std::mem::take(&mut self.unfinished);
        self.index.template_rows(&mut chunk, &kinds);
        self.take_chunk()?;
        let Some(background) = &self.background else {
            chunk.offset = self.written;
            self.compress_and_write(Content::Pieces)?;
            self.index.chunks.push(chunk);
            return Ok(());
        };
        background.begin(std::mem::take(&mut self.chunk));
        self.compressing = Some(chunk);
        Ok(())
    }

    /// Waits for the chunk that the other thread compresses, if there is one, and writes it. The
    /// one made meanwhile, in `spare`, then becomes `chunk`.
    fn take_chunk(&mut self) -> Result<(), TraceError> {
        let (Some(mut entry), Some(background)) = (self.compressing.take(), &mut self.background)
        else {
            return Ok(());
        };
        let compressed = background.take();
        self.chunk = self.checked(compressed)?;
        entry.offset = self.written;
        self.write(Content::Pieces)?;
        self.index.chunks.push(entry);
        std::mem::swap(&mut self.chunk, &mut self.spare);
        let flushed = self.out.flush();
        self.checked(flushed)
    }

    /// Compresses and writes the chunk that is in `chunk`.
    fn compress_and_write(&mut self, content: Content) -> Result<(), TraceError> {
        let CompressedChunk { plain, stored } = &mut self.chunk;
        let compressed = self.compressor.compress(plain, stored);
        self.checked(compressed)?;
        self.write(content)
    }

    /// Writes the chunk that is in `chunk`, which is compressed.
    fn write(&mut self, content: Content) -> Result<(), TraceError> {
        let written = self.put(content);
        self.written += self.checked(written)?;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }

    /// Writes head and bytes of the chunk. Returns how many bytes they are.
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
        let head = chunk::ChunkHead {
            content,
            number,
            plain,
        }
        .bytes(stored);
        self.out.write_all(&head)?;
        self.out.write_all(stored)?;
        Ok((head.len() + stored.len()) as u64)
    }

    /// After a failure the file ends there: all later writes fail.
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
