//! The bytes of a chunk that is being made ([`Output`]), and how they are compressed: on the
//! writer's own thread ([`ChunkCompressor`]), or on another ([`BackgroundCompressor`]).

use std::io::{Error, Result};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

/// Bytes that are added at the end. The memory after the end holds anything: to make it zeros
/// first would take longer than most of what is written.
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

    /// Room for `count` bytes after the end. It holds anything.
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

/// The fastest of the usual levels: while a program is recorded, compressing takes as long as
/// all else,
/// and level 3 makes files smaller by a tenth only.
const LEVEL: i32 = 1;
/// How far that level goes on where it finds nothing, and that it leaves bytes as they are that it
/// finds nowhere. Takes a quarter less time than without to compress, and less to decompress;
/// files are a fifth larger.
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
    jobs: SyncSender<CompressedChunk>,
    done: Receiver<Result<CompressedChunk>>,
}

impl BackgroundCompressor {
    /// Starts the thread.
    ///
    /// # Errors
    /// If there is none to be had.
    pub(super) fn new() -> Result<BackgroundCompressor> {
        let mut compressor = ChunkCompressor::new()?;
        let (jobs, waiting) = sync_channel::<CompressedChunk>(1);
        let (finished, done) = sync_channel(1);
        let thread = Builder::new().name("pack".to_owned());
        thread.spawn(move || {
            while let Ok(mut chunk) = waiting.recv() {
                let packed = compressor.compress(&chunk.plain, &mut chunk.stored);
                if finished.send(packed.map(|()| chunk)).is_err() {
                    return;
                }
            }
        })?;
        Ok(BackgroundCompressor { jobs, done })
    }

    /// Begins with a chunk; the one before was taken.
    pub(super) fn begin(&self, chunk: CompressedChunk) -> Result<()> {
        self.jobs.send(chunk).map_err(|_| gone())
    }

    /// Waits for the chunk that was begun.
    pub(super) fn take(&self) -> Result<CompressedChunk> {
        self.done.recv().map_err(|_| gone())?
    }
}

fn gone() -> Error {
    Error::other("the thread that packs has ended")
}
