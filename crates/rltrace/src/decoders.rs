//! Decodes chunks: on the reader's thread ([`SerialDecoder`]), or ahead of it on the threads of a
//! pool ([`DecoderPool`]). The `Reader` uses either as [`Decoders`]: it begins chunks while there
//! is room, and takes their pieces one by one.
//!
//! *Invariant:* both deliver the same pieces in the same order, whatever the number of threads. In
//! a pool every chunk has a queue of its own, so the reader takes chunk after chunk in whatever
//! order they are done. What is decoded and not yet taken is bounded by its bytes
//! ([`ReadAhead`]): the bytes of a row differ by a factor of ten thousand between a loop that is
//! one repeat and calls of an allocator.

mod waiting;

use std::collections::VecDeque;
use std::io::Result;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use reuselens_io::chunk::{Stored, Unpacker};
use reuselens_io::varint::Damage;
use reuselens_trace::{Block, Event, ItemProjection};
use reuselens_units::Bytes;
use reuselens_workers::{Worker, lock, spawn};

use crate::decode::{ChunkDecoder, ChunkPiece};
use waiting::{ChunkBytes, WaitingBytes};

/// The form in which a reader delivers blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum BlockForm {
    /// All rows.
    #[default]
    Rows,
    /// Rows without those that repeat earlier ones.
    Repeats,
    /// Item accesses, with no more than the projection asks for.
    ItemBatch(ItemProjection),
}

impl BlockForm {
    /// What is asked for of item accesses; `None` if rows are delivered.
    pub(super) fn projection(&self) -> Option<ItemProjection> {
        match self {
            BlockForm::ItemBatch(projection) => Some(*projection),
            BlockForm::Rows | BlockForm::Repeats => None,
        }
    }

    /// Whether rows that repeat earlier ones are left out.
    pub(super) fn with_repeats(&self) -> bool {
        matches!(self, BlockForm::Repeats)
    }
}

/// The decoders of a reader.
pub(super) enum Decoders {
    /// One, on the reader's own thread.
    Serial {
        decoder: Box<SerialDecoder>,
        /// Memory for a block.
        spare: Block,
        /// Whether the items of named accesses follow from their addresses alone.
        address_only: bool,
    },
    /// One for each thread of a pool.
    Pool(DecoderPool),
}

impl Decoders {
    /// A pool of up to `threads` threads, as many as the system gives, which hold up to `ahead`.
    /// With 0 or 1 thread, and if the system gives none, a serial decoder.
    ///
    /// # Errors
    /// If there is no memory for zstd's state.
    pub(super) fn new(threads: usize, form: BlockForm, ahead: Bytes) -> Result<Decoders> {
        if threads > 1
            && let Some(pool) = DecoderPool::new(threads, form, ReadAhead::new(ahead))?
        {
            return Ok(Decoders::Pool(pool));
        }
        Ok(Decoders::Serial {
            decoder: Box::new(SerialDecoder::new(form)?),
            spare: Block::new(),
            address_only: true,
        })
    }

    /// Whether another chunk can be begun.
    pub(super) fn has_room(&self) -> bool {
        match self {
            Decoders::Serial { decoder, .. } => decoder.is_idle(),
            Decoders::Pool(pool) => pool.has_room(),
        }
    }

    /// Whether all that was begun has been taken.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Decoders::Serial { decoder, .. } => decoder.is_idle(),
            Decoders::Pool(pool) => pool.is_idle(),
        }
    }

    /// Where in the file the chunk begins whose pieces come next, if one was begun.
    pub(super) fn start(&self) -> Option<u64> {
        match self {
            Decoders::Serial { decoder, .. } => decoder.start(),
            Decoders::Pool(pool) => pool.start(),
        }
    }

    /// Begins with a chunk, which is delivered after those before. There must be room for it.
    pub(super) fn begin(&mut self, chunk: Stored) {
        match self {
            Decoders::Serial {
                decoder,
                address_only,
                ..
            } => decoder.begin(&chunk, *address_only),
            Decoders::Pool(pool) => pool.begin(chunk),
        }
    }

    /// What comes next.
    ///
    /// # Panics
    /// If a thread of the pool did, with what it panicked with.
    pub(super) fn next(&mut self) -> Taken {
        match self {
            Decoders::Serial { decoder, spare, .. } => decoder.next(|| std::mem::take(spare)),
            Decoders::Pool(pool) => pool.next(),
        }
    }

    /// From the next chunk on the items of named accesses depend on their bases: a block that was
    /// taken said so ([`elements_straddle`](reuselens_trace::ItemBatch::elements_straddle)).
    pub(super) fn need_bases(&mut self) {
        match self {
            Decoders::Serial { address_only, .. } => *address_only = false,
            Decoders::Pool(pool) => pool.need_bases(),
        }
    }

    /// Bytes that a serial decoder holds beside the block that was taken last; 0 of a pool, whose
    /// bound is known.
    pub(super) fn memory(&self) -> Bytes {
        match self {
            Decoders::Serial { decoder, spare, .. } => decoder.memory() + spare.memory(),
            Decoders::Pool(_) => Bytes(0),
        }
    }

    /// Takes the memory of a block, to use it again.
    pub(super) fn give_back(&mut self, block: Block) {
        match self {
            Decoders::Serial { spare, .. } => *spare = block,
            Decoders::Pool(pool) => pool.give_back(block),
        }
    }
}

/// A decoded piece of a chunk.
#[derive(Debug)]
pub(super) enum Decoded {
    Block(Block),
    Event(Event),
}

/// What a decoder delivers.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are pieces, of which none is to be allocated"
)]
pub(super) enum Taken {
    /// The next piece of the chunk.
    Piece(Decoded),
    /// A chunk is over.
    End,
    /// A chunk is damaged: where it begins, and how.
    Damaged(u64, Damage),
}

/// Unpacks and decodes one chunk at a time.
pub(super) struct SerialDecoder {
    unpacker: Unpacker,
    plain: Vec<u8>,
    decoder: ChunkDecoder,
    block: Block,
    /// Where the chunk that is being decoded begins, and what was wrong with it from the start.
    chunk: Option<(u64, std::result::Result<(), Damage>)>,
}

impl SerialDecoder {
    /// Delivers blocks in this form.
    pub(super) fn new(form: BlockForm) -> Result<SerialDecoder> {
        Ok(SerialDecoder {
            unpacker: Unpacker::new()?,
            plain: Vec::new(),
            decoder: ChunkDecoder::new(form),
            block: Block::new(),
            chunk: None,
        })
    }

    /// Whether there is no chunk to go on with.
    pub(super) fn is_idle(&self) -> bool {
        self.chunk.is_none()
    }

    /// Where the chunk to go on with begins.
    pub(super) fn start(&self) -> Option<u64> {
        self.chunk.map(|(start, _)| start)
    }

    /// Bytes held: of the unpacked chunk, and of blocks.
    fn memory(&self) -> Bytes {
        let plain = Bytes(self.plain.capacity() as u64);
        plain + self.block.memory() + self.decoder.memory()
    }

    /// Begins with a chunk; see [`ChunkDecoder::begin`]. An error is delivered by [`Self::next`].
    pub(super) fn begin(&mut self, chunk: &Stored, address_only: bool) {
        let unpacked = self.unpacker.unpack(chunk, &mut self.plain);
        let begun = unpacked.and_then(|()| self.decoder.begin(&self.plain, address_only));
        self.chunk = Some((chunk.start, begun));
    }

    /// The next piece of the chunk. `spare` gives memory for the block after it.
    pub(super) fn next(&mut self, spare: impl FnOnce() -> Block) -> Taken {
        let Some((start, begun)) = self.chunk else {
            return Taken::End;
        };
        let next = begun.and_then(|()| self.decoder.next(&self.plain, &mut self.block));
        let ended = match next {
            Ok(ChunkPiece::Block) => {
                let block = std::mem::replace(&mut self.block, spare());
                return Taken::Piece(Decoded::Block(block));
            }
            Ok(ChunkPiece::Event(event)) => return Taken::Piece(Decoded::Event(event)),
            Ok(ChunkPiece::End) => Taken::End,
            Err(damage) => Taken::Damaged(start, damage),
        };
        self.chunk = None;
        ended
    }
}

/// The size after which a part of a chunk is delivered, counted in item accesses. Large, because a
/// thread that waits is woken for each part, which takes as long as thousands of rows on virtual
/// processors; and small enough that a part is in a cache when it is taken.
const PART_SIZE: usize = 1 << 17;
/// The size of a row: it takes about three times the memory of an item access.
const ROW_SIZE: usize = 4;
/// The size of a piece besides its rows.
const PIECE_SIZE: usize = 16 * ROW_SIZE;
/// Bytes of a part, however few may be held: a thread is woken for each.
const SMALLEST_PART: usize = 64 << 10;
/// Blocks whose memory is kept to be used again.
const SPARE_BLOCKS: usize = 512;

/// How a pool divides the bytes that it may hold. A chunk may be as large as a forger makes it, so
/// none of these is its size.
///
/// With four threads, five chunks are begun: in addition to what waits (3/8), four of them may
/// have one part that waits (1/8), the four threads and the reader have one in hand (5/32), and the
/// spare blocks have a quarter. A part is larger than its share if its one block is, or if the
/// share is less than [`SMALLEST_PART`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReadAhead {
    /// Of a part.
    part: usize,
    /// Of parts that wait.
    waiting: usize,
    /// Of spare blocks.
    spare: usize,
}

impl ReadAhead {
    fn new(all: Bytes) -> ReadAhead {
        let all = usize::try_from(all.get()).unwrap_or(usize::MAX);
        ReadAhead {
            part: (all / 32).max(SMALLEST_PART),
            waiting: all / 8 * 3,
            spare: all / 4,
        }
    }
}

/// Some pieces of a chunk; in its last part also how it ended.
struct ChunkPart {
    pieces: Vec<Decoded>,
    /// Bytes held by the pieces.
    bytes: usize,
    ended: Option<Taken>,
}

/// A chunk for the next free thread.
struct DecodeJob {
    chunk: Arc<Stored>,
    address_only: bool,
    parts: Sender<ChunkPart>,
    waiting: Arc<ChunkBytes>,
}

/// A chunk that is being decoded. The stored bytes stay, in case it must be decoded anew.
struct PendingChunk {
    chunk: Arc<Stored>,
    parts: Receiver<ChunkPart>,
    pieces: std::vec::IntoIter<Decoded>,
    ended: Option<Taken>,
    waiting: Arc<ChunkBytes>,
    shared: Arc<PoolShared>,
}

impl Drop for PendingChunk {
    /// A decoder that waits for room goes on, and finds that nobody takes its parts.
    fn drop(&mut self) {
        self.shared.waiting.drop_chunk(&self.waiting);
    }
}

/// Blocks whose memory is used again.
#[derive(Default)]
struct SpareBlocks {
    blocks: Vec<Block>,
    bytes: usize,
}

impl SpareBlocks {
    fn pop(&mut self) -> Option<Block> {
        let block = self.blocks.pop()?;
        self.bytes -= held(&block);
        Some(block)
    }

    /// Keeps a block if all together are at most `most` bytes.
    fn push(&mut self, block: Block, most: usize) {
        let bytes = self.bytes + held(&block);
        if self.blocks.len() < SPARE_BLOCKS && bytes <= most {
            self.blocks.push(block);
            self.bytes = bytes;
        }
    }
}

/// The bytes of a block.
fn held(block: &Block) -> usize {
    block.memory().get() as usize
}

/// What the threads of a pool share.
struct PoolShared {
    jobs: Mutex<Receiver<DecodeJob>>,
    spare: Mutex<SpareBlocks>,
    waiting: WaitingBytes,
    ahead: ReadAhead,
}

/// Threads that decode chunks ahead of the reader.
pub(super) struct DecoderPool {
    /// Taken when the pool is dropped, so that threads that wait for jobs end.
    jobs: Option<Sender<DecodeJob>>,
    workers: Vec<Worker<()>>,
    pending: VecDeque<PendingChunk>,
    shared: Arc<PoolShared>,
    /// Whether the items of named accesses follow from their addresses alone.
    address_only: bool,
}

impl DecoderPool {
    /// A pool of up to that many threads; `None` if the system gives none.
    ///
    /// # Errors
    /// If there is no memory for zstd's state.
    fn new(threads: usize, form: BlockForm, ahead: ReadAhead) -> Result<Option<DecoderPool>> {
        let (sender, jobs) = channel();
        let shared = Arc::new(PoolShared {
            jobs: Mutex::new(jobs),
            spare: Mutex::default(),
            waiting: WaitingBytes::new(ahead.waiting),
            ahead,
        });
        let mut workers = Vec::new();
        for _ in 0..threads {
            let state = (Arc::clone(&shared), SerialDecoder::new(form)?);
            let work = |(shared, mut decoder): (Arc<PoolShared>, SerialDecoder)| {
                decode_chunks(&shared, &mut decoder);
            };
            match spawn("decode", state, work) {
                Ok(worker) => workers.push(worker),
                Err(_) => break,
            }
        }
        Ok((!workers.is_empty()).then(|| DecoderPool {
            jobs: Some(sender),
            workers,
            pending: VecDeque::new(),
            shared,
            address_only: true,
        }))
    }

    /// Whether another chunk keeps all threads busy, and does not go too far ahead.
    pub(super) fn has_room(&self) -> bool {
        self.pending.len() <= self.workers.len()
    }

    /// Whether all that was begun has been taken.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Where the first chunk begins that was begun and is not taken.
    pub(super) fn start(&self) -> Option<u64> {
        self.pending.front().map(|first| first.chunk.start)
    }

    /// Begins with a chunk, which is delivered after those before.
    pub(super) fn begin(&mut self, chunk: Stored) {
        let chunk = self.submit(Arc::new(chunk));
        self.pending.push_back(chunk);
    }

    fn submit(&self, chunk: Arc<Stored>) -> PendingChunk {
        let (sender, parts) = channel();
        let waiting = Arc::<ChunkBytes>::default();
        let job = DecodeJob {
            chunk: Arc::clone(&chunk),
            address_only: self.address_only,
            parts: sender,
            waiting: Arc::clone(&waiting),
        };
        if let Some(jobs) = &self.jobs {
            // The other end is in `shared`.
            let _ = jobs.send(job);
        }
        PendingChunk {
            chunk,
            parts,
            pieces: Vec::new().into_iter(),
            ended: None,
            waiting,
            shared: Arc::clone(&self.shared),
        }
    }

    /// The chunks after the first that is pending are decoded anew, with bases.
    pub(super) fn need_bases(&mut self) {
        if !std::mem::take(&mut self.address_only) {
            return;
        }
        for at in 1..self.pending.len() {
            // The decoder of what is dropped finds that nobody takes its parts, and stops.
            self.pending[at] = self.submit(Arc::clone(&self.pending[at].chunk));
        }
    }

    /// The next piece of the first chunk that was begun; [`Taken::End`] if there is no chunk.
    ///
    /// # Panics
    /// If a thread did, with what it panicked with.
    pub(super) fn next(&mut self) -> Taken {
        while let Some(first) = self.pending.front_mut() {
            if let Some(piece) = first.pieces.next() {
                return Taken::Piece(piece);
            }
            if let Some(ended) = first.ended.take() {
                self.pending.pop_front();
                return ended;
            }
            let Ok(part) = first.parts.recv() else {
                self.end_workers().for_each(Worker::join);
                unreachable!("a decoder drops its chunk only if it panics");
            };
            // Now, and not when its pieces are taken: meanwhile the next part is decoded.
            self.shared.waiting.take(&first.waiting, part.bytes);
            first.pieces = part.pieces.into_iter();
            first.ended = part.ended;
        }
        Taken::End
    }

    /// Makes the threads end: those that wait for jobs, or for room in a queue.
    fn end_workers(&mut self) -> impl Iterator<Item = Worker<()>> + '_ {
        self.jobs = None;
        self.pending.clear();
        self.workers.drain(..)
    }

    /// Takes the memory of a block, to use it again.
    pub(super) fn give_back(&self, block: Block) {
        lock(&self.shared.spare).push(block, self.shared.ahead.spare);
    }
}

impl Drop for DecoderPool {
    fn drop(&mut self) {
        for worker in self.end_workers() {
            // Who drops a reader wants nothing more of it, so a panic has no one to go to.
            let _ = catch_unwind(AssertUnwindSafe(|| worker.join()));
        }
    }
}

/// What a thread of a pool does: it decodes chunks until there are no more jobs.
fn decode_chunks(shared: &PoolShared, decoder: &mut SerialDecoder) {
    loop {
        let job = lock(&shared.jobs).recv();
        let Ok(job) = job else {
            return;
        };
        decoder.begin(&job.chunk, job.address_only);
        loop {
            let part = decode_part(decoder, shared);
            let ended = part.ended.is_some();
            let wanted = shared.waiting.add(&job.waiting, part.bytes);
            if !wanted || job.parts.send(part).is_err() || ended {
                break;
            }
        }
    }
}

/// Decodes until a part is full or the chunk is over.
fn decode_part(decoder: &mut SerialDecoder, shared: &PoolShared) -> ChunkPart {
    let (mut pieces, mut size, mut bytes) = (Vec::new(), 0, 0);
    let mut ended = None;
    while size < PART_SIZE && bytes < shared.ahead.part {
        let piece = match decoder.next(|| lock(&shared.spare).pop().unwrap_or_default()) {
            Taken::Piece(piece) => piece,
            end => {
                ended = Some(end);
                break;
            }
        };
        size += PIECE_SIZE;
        bytes += size_of::<Decoded>();
        if let Decoded::Block(block) = &piece {
            let others = block.item_batch.rows as usize + block.repeats.numbers.len();
            size += ROW_SIZE * block.len() + others;
            bytes += held(block);
        }
        pieces.push(piece);
    }
    ChunkPart {
        pieces,
        bytes,
        ended,
    }
}

#[cfg(test)]
mod tests;
