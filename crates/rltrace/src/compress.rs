//! The bytes of a chunk that is being made ([`Output`]), and how a chunk is compressed: on the
//! writer's own thread ([`ChunkCompressor`]), or on another ([`BackgroundCompressor`]).
//!
//! The encoders append to an `Output`; the `Writer` compresses. Both ways store the same bytes.

use std::io::Result;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use reuselens_workers::Background;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

/// A list of bytes that grows at its end. The memory after the end is arbitrary: to fill it with
/// zeros first would take longer than most of what is written.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    used: usize,
}

impl Output {
    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The bytes so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Forgets everything and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Room for `count` bytes after the end. What is in it is arbitrary.
    #[inline]
    pub(super) fn room(&mut self, count: usize) -> &mut [u8] {
        let end = self.used + count;
        if end > self.bytes.len() {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.used..end]
    }

    /// `count` bytes of the room have been written.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.used += count;
    }
}

/// The fastest of the usual levels: while a program is recorded, compressing takes as long as all
/// else, and level 3 makes files smaller by a tenth only.
const LEVEL: i32 = 1;
/// How many bytes that level skips where it finds no match. With this parameter it also leaves
/// bytes uncompressed that match nothing. Compressing takes a quarter less time than without it,
/// and decompressing takes less too; files are a fifth larger.
const STEP: u32 = 3;

/// Compresses chunks.
pub(super) struct ChunkCompressor(Compressor<'static>);

impl ChunkCompressor {
    /// A compressor with the parameters of this format.
    ///
    /// # Errors
    /// If there is no memory for zstd's state.
    pub(super) fn new() -> Result<ChunkCompressor> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(CParameter::TargetLength(STEP))?;
        Ok(ChunkCompressor(compressor))
    }

    /// Puts the compressed bytes of `plain` into `stored`.
    pub(super) fn compress(&mut self, plain: &[u8], stored: &mut Vec<u8>) -> Result<()> {
        stored.clear();
        stored.reserve(compress_bound(plain.len()));
        self.0.compress_to_buffer(plain, stored)?;
        Ok(())
    }
}

/// The bytes of a chunk, and those compressed.
#[derive(Default)]
pub(super) struct CompressedChunk {
    pub(super) plain: Vec<u8>,
    pub(super) stored: Vec<u8>,
}

/// A thread that compresses one chunk while the next is made. It ends when this is dropped; what it
/// was compressing then is lost.
pub(super) struct BackgroundCompressor {
    worker: Option<Background<CompressedChunk, ()>>,
    done: Receiver<Result<CompressedChunk>>,
}

impl BackgroundCompressor {
    /// Starts the thread; `None` if the system gives none.
    ///
    /// # Errors
    /// If there is no memory for zstd's state.
    pub(super) fn new() -> Result<Option<BackgroundCompressor>> {
        let (finished, done) = sync_channel(1);
        let state = (ChunkCompressor::new()?, finished);
        let worker = Background::begin("pack", 1, state, compress_all);
        Ok(worker.ok().map(|worker| BackgroundCompressor {
            worker: Some(worker),
            done,
        }))
    }

    /// Begins with a chunk. The one before must have been taken.
    pub(super) fn begin(&self, chunk: CompressedChunk) {
        if let Some(worker) = &self.worker {
            worker.send(chunk);
        }
    }

    /// Waits for the chunk that was begun.
    ///
    /// # Errors
    /// If zstd refuses it.
    ///
    /// # Panics
    /// If the thread did, with what it panicked with.
    pub(super) fn take(&mut self) -> Result<CompressedChunk> {
        if let Ok(compressed) = self.done.recv() {
            return compressed;
        }
        if let Some(worker) = self.worker.take() {
            worker.finish();
        }
        unreachable!("the thread ends before its queue does only if it panics")
    }
}

/// Compresses chunks until there are no more, or nobody takes them.
fn compress_all(
    (mut compressor, finished): (ChunkCompressor, SyncSender<Result<CompressedChunk>>),
    jobs: Receiver<CompressedChunk>,
) {
    for mut chunk in jobs {
        let compressed = compressor.compress(&chunk.plain, &mut chunk.stored);
        if finished.send(compressed.map(|()| chunk)).is_err() {
            return;
        }
    }
}
