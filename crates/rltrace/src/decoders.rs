//! Decodes chunks: where they are read ([`SerialDecoder`]), or by threads of a pool, some ahead of
//! the reader ([`DecoderPool`]). Both hand over the same pieces in the same order; a reader uses
//! either as [`Decoders`].
//!
//! In a pool every chunk has a queue of its own, so the reader takes chunk after chunk in whatever
//! order they are done. What is decoded and not yet taken is bounded: by the number of chunks, and
//! within a chunk, which a forger can make large, by what a queue holds.

use std::collections::VecDeque;
use std::io::{Error, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use reuselens_io::chunk::{Stored, Unpacker};
use reuselens_io::varint::Damage;
use reuselens_trace::{Block, Event, ItemProjection};

use crate::decode::{Decoder, Piece};

/// What a reader delivers of the rows of a file.
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
    pub(super) fn is_folded(&self) -> bool {
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
        /// Whether named accesses are bare touches.
        bare: bool,
    },
    /// One for each thread of a pool.
    Pool(DecoderPool),
}

impl Decoders {
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

    /// Where the chunk begins that comes next, if one was begun.
    pub(super) fn start(&self) -> Option<u64> {
        match self {
            Decoders::Serial { decoder, .. } => decoder.start(),
            Decoders::Pool(pool) => pool.start(),
        }
    }

    /// Begins with a chunk, which is handed over after those before. There is room for it.
    pub(super) fn begin(&mut self, chunk: Stored) {
        match self {
            Decoders::Serial { decoder, bare, .. } => decoder.begin(&chunk, *bare),
            Decoders::Pool(pool) => pool.begin(chunk),
        }
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Taken {
        match self {
            Decoders::Serial { decoder, spare, .. } => decoder.next(|| std::mem::take(spare)),
            Decoders::Pool(pool) => pool.next(),
        }
    }

    /// From the next chunk on named accesses are not bare touches: one that was taken said so.
    pub(super) fn not_bare(&mut self) {
        match self {
            Decoders::Serial { bare, .. } => *bare = false,
            Decoders::Pool(pool) => pool.not_bare(),
        }
    }

    /// Takes the memory of a block, to use it again.
    pub(super) fn give_back(&mut self, block: Block) {
        match self {
            Decoders::Serial { spare, .. } => *spare = block,
            Decoders::Pool(pool) => pool.give_back(block),
        }
    }

    /// A pool of `threads` threads; with 0 or 1 a serial decoder.
    ///
    /// # Errors
    /// If there is no thread to be had, or no memory for zstd's state.
    pub(super) fn new(threads: usize, form: BlockForm) -> Result<Decoders> {
        if threads > 1 {
            return DecoderPool::new(threads, form).map(Decoders::Pool);
        }
        Ok(Decoders::Serial {
            decoder: Box::new(SerialDecoder::new(form)?),
            spare: Block::new(),
            bare: true,
        })
    }
}

/// A decoded piece of a chunk.
#[derive(Debug)]
pub(super) enum Decoded {
    Block(Block),
    Event(Event),
}

/// What a decoder hands over.
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
    /// A thread broke down.
    Broken(Error),
}

/// Unpacks and decodes one chunk at a time.
pub(super) struct SerialDecoder {
    unpacker: Unpacker,
    plain: Vec<u8>,
    decoder: Decoder,
    rows: Block,
    /// Where the chunk that is being decoded begins, and what was wrong with it from the start.
    chunk: Option<(u64, std::result::Result<(), Damage>)>,
}

impl SerialDecoder {
    /// Delivers rows in this form.
    pub(super) fn new(form: BlockForm) -> Result<SerialDecoder> {
        Ok(SerialDecoder {
            unpacker: Unpacker::new()?,
            plain: Vec::new(),
            decoder: Decoder::new(form),
            rows: Block::new(),
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

    /// Begins with a chunk; see [`Decoder::begin`].
    pub(super) fn begin(&mut self, chunk: &Stored, bare: bool) {
        let unpacked = self.unpacker.unpack(chunk, &mut self.plain);
        let begun = unpacked.and_then(|()| self.decoder.begin(&self.plain, bare));
        self.chunk = Some((chunk.start, begun));
    }

    /// The next piece of the chunk. A block gets its memory from `spare`.
    pub(super) fn next(&mut self, spare: impl FnOnce() -> Block) -> Taken {
        let Some((start, begun)) = self.chunk else {
            return Taken::End;
        };
        let next = begun.and_then(|()| self.decoder.next(&self.plain, &mut self.rows));
        let ended = match next {
            Ok(Piece::Block) => {
                let rows = std::mem::replace(&mut self.rows, spare());
                return Taken::Piece(Decoded::Block(rows));
            }
            Ok(Piece::Event(event)) => return Taken::Piece(Decoded::Event(event)),
            Ok(Piece::End) => Taken::End,
            Err(damage) => Taken::Damaged(start, damage),
        };
        self.chunk = None;
        ended
    }
}

/// Rows as touches after which a part of a chunk is handed over: many, since a thread that waits is
/// woken for each, which takes as long as thousands of rows where processors are virtual, and few
/// enough that they are in a cache when it takes them.
const PART: usize = 1 << 17;
/// How many of those a row is: it takes three times the memory.
const ROW: usize = 4;
/// Parts of a chunk that may wait: more than the writer's chunks have, so that no
/// decoder waits for another.
const WAITING: usize = 48;
/// What a piece costs besides its rows.
const PIECE: usize = 16 * ROW;
/// Blocks kept to be used again.
const SPARE: usize = 512;

/// Some pieces of a chunk; in its last part also how it ended.
struct Part {
    pieces: Vec<Decoded>,
    ended: Option<Taken>,
}

/// A chunk for the next free thread.
struct Job {
    chunk: Arc<Stored>,
    bare: bool,
    parts: SyncSender<Part>,
}

/// A chunk that is being decoded.
struct PendingChunk {
    chunk: Arc<Stored>,
    parts: Receiver<Part>,
    pieces: std::vec::IntoIter<Decoded>,
    ended: Option<Taken>,
}

/// Threads that decode chunks ahead of the reader.
pub(super) struct DecoderPool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    pending: VecDeque<PendingChunk>,
    spare: Arc<Mutex<Vec<Block>>>,
    /// Whether named accesses are bare touches.
    bare: bool,
}

impl DecoderPool {
    /// A pool of that many threads.
    pub(super) fn new(threads: usize, form: BlockForm) -> Result<DecoderPool> {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let spare = Arc::default();
        let mut pool = DecoderPool {
            jobs: Some(jobs),
            threads: Vec::new(),
            pending: VecDeque::new(),
            spare: Arc::clone(&spare),
            bare: true,
        };
        for _ in 0..threads {
            let (waiting, spare) = (Arc::clone(&waiting), Arc::clone(&spare));
            let mut decoder = SerialDecoder::new(form)?;
            let thread = Builder::new().name("decode".to_owned());
            let thread = thread.spawn(move || work(&waiting, &spare, &mut decoder))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Whether another chunk keeps all threads busy, and does not go too far ahead.
    pub(super) fn has_room(&self) -> bool {
        self.pending.len() <= self.threads.len()
    }

    /// Whether all that was begun has been taken.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Where the first chunk begins that was begun and is not taken.
    pub(super) fn start(&self) -> Option<u64> {
        self.pending.front().map(|first| first.chunk.start)
    }

    /// Begins with a chunk, which is handed over after those before.
    pub(super) fn begin(&mut self, chunk: Stored) {
        let chunk = self.submit(Arc::new(chunk));
        self.pending.push_back(chunk);
    }

    fn submit(&self, chunk: Arc<Stored>) -> PendingChunk {
        let (sender, parts) = sync_channel(WAITING);
        let job = Job {
            chunk: Arc::clone(&chunk),
            bare: self.bare,
            parts: sender,
        };
        // If no thread is there to take it, the other end of `parts` closes.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
        PendingChunk {
            chunk,
            parts,
            pieces: Vec::new().into_iter(),
            ended: None,
        }
    }

    /// Named accesses are not bare touches in the chunks after the one that was begun first: they
    /// are decoded anew.
    pub(super) fn not_bare(&mut self) {
        if !std::mem::take(&mut self.bare) {
            return;
        }
        for at in 1..self.pending.len() {
            // Its decoder finds that nobody takes the parts.
            self.pending[at] = self.submit(Arc::clone(&self.pending[at].chunk));
        }
    }

    /// The next piece of the first chunk that was begun. To be called if there is one.
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
                self.pending.clear();
                return Taken::Broken(Error::other("a thread that decodes it broke down"));
            };
            first.pieces = part.pieces.into_iter();
            first.ended = part.ended;
        }
        Taken::End
    }

    /// Takes back the memory of a block.
    pub(super) fn give_back(&self, block: Block) {
        let mut spare = lock(&self.spare);
        if spare.len() < SPARE {
            spare.push(block);
        }
    }
}

impl Drop for DecoderPool {
    fn drop(&mut self) {
        // Threads that wait for jobs or for room in a queue learn that nobody is there any more.
        self.jobs = None;
        self.pending.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What a thread does.
fn work(jobs: &Mutex<Receiver<Job>>, spare: &Mutex<Vec<Block>>, decoder: &mut SerialDecoder) {
    loop {
        let job = lock(jobs).recv();
        let Ok(Job { chunk, bare, parts }) = job else {
            return;
        };
        decoder.begin(&chunk, bare);
        loop {
            let part = decode(decoder, spare);
            let ended = part.ended.is_some();
            if parts.send(part).is_err() || ended {
                break;
            }
        }
    }
}

/// Decodes on until a part is full or the chunk is over.
fn decode(decoder: &mut SerialDecoder, spare: &Mutex<Vec<Block>>) -> Part {
    let (mut pieces, mut rows) = (Vec::new(), 0);
    while rows < PART {
        let piece = match decoder.next(|| lock(spare).pop().unwrap_or_default()) {
            Taken::Piece(piece) => piece,
            ended => {
                let ended = Some(ended);
                return Part { pieces, ended };
            }
        };
        rows += match &piece {
            Decoded::Block(block) => {
                let condensed = block.item_batch.rows as usize + block.repeats.numbers.len();
                ROW * block.len() + condensed + PIECE
            }
            Decoded::Event(_) => PIECE,
        };
        pieces.push(piece);
    }
    Part {
        pieces,
        ended: None,
    }
}

/// Ignores poisoning: a list is valid between statements, also after a thread broke down.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
