//! Chunks decoded by threads, some ahead of the reader, and handed over in order.
//!
//! Every chunk has a queue of its own, so the reader takes chunk after chunk in whatever order they
//! are done. What is decoded and not yet taken is bounded: by the number of chunks, and within a
//! chunk, which a forger can make large, by what a queue holds.

use std::collections::VecDeque;
use std::io::{Error, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::alone::{Alone, Decoded, Taken};
use crate::form::Form;
use reuselens_io::chunk::Stored;
use reuselens_trace::Block;

/// Rows as touches after which a part of a chunk is handed over: many, since a thread that waits is
/// woken for each, which takes as long as thousands of rows where processors are virtual, and few
/// enough that they are in a cache when it takes them.
const PART: usize = 1 << 17;
/// How many of those a row is: it takes three times the memory.
const ROW: usize = 4;
/// Parts of a chunk that may wait: more than the writer's chunks have, so that nobody who decodes
/// waits for another.
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

/// A chunk for whoever is free.
struct Job {
    chunk: Arc<Stored>,
    bare: bool,
    parts: SyncSender<Part>,
}

/// A chunk that is being decoded.
struct Flight {
    chunk: Arc<Stored>,
    parts: Receiver<Part>,
    pieces: std::vec::IntoIter<Decoded>,
    ended: Option<Taken>,
}

/// Threads that decode.
pub(super) struct Team {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    flights: VecDeque<Flight>,
    spare: Arc<Mutex<Vec<Block>>>,
    /// Whether named accesses are bare touches.
    bare: bool,
}

impl Team {
    /// A team of that many threads.
    pub(super) fn new(threads: usize, form: Form) -> Result<Team> {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let spare = Arc::default();
        let mut team = Team {
            jobs: Some(jobs),
            threads: Vec::new(),
            flights: VecDeque::new(),
            spare: Arc::clone(&spare),
            bare: true,
        };
        for _ in 0..threads {
            let (waiting, spare) = (Arc::clone(&waiting), Arc::clone(&spare));
            let mut alone = Alone::new(form)?;
            let thread = Builder::new().name("decode".to_owned());
            let thread = thread.spawn(move || work(&waiting, &spare, &mut alone))?;
            team.threads.push(thread);
        }
        Ok(team)
    }

    /// Whether another chunk keeps all threads busy, and does not go too far ahead.
    pub(super) fn has_room(&self) -> bool {
        self.flights.len() <= self.threads.len()
    }

    /// Whether all that was begun has been taken.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// Where the first chunk begins that was begun and is not taken.
    pub(super) fn start(&self) -> Option<u64> {
        self.flights.front().map(|flight| flight.chunk.start)
    }

    /// Begins with a chunk, which is handed over after those before.
    pub(super) fn begin(&mut self, chunk: Stored) {
        let flight = self.fly(Arc::new(chunk));
        self.flights.push_back(flight);
    }

    fn fly(&self, chunk: Arc<Stored>) -> Flight {
        let (sender, parts) = sync_channel(WAITING);
        let job = Job {
            chunk: Arc::clone(&chunk),
            bare: self.bare,
            parts: sender,
        };
        // If nobody is there to take it, the flight finds out.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
        Flight {
            chunk,
            parts,
            pieces: Vec::new().into_iter(),
            ended: None,
        }
    }

    /// Named accesses are not bare touches in the chunks behind the one that was begun first: they
    /// are decoded anew.
    pub(super) fn not_bare(&mut self) {
        if !std::mem::take(&mut self.bare) {
            return;
        }
        for at in 1..self.flights.len() {
            // Who decodes it finds that nobody takes the parts.
            self.flights[at] = self.fly(Arc::clone(&self.flights[at].chunk));
        }
    }

    /// The next piece of the first chunk that was begun. To be called if there is one.
    pub(super) fn next(&mut self) -> Taken {
        while let Some(flight) = self.flights.front_mut() {
            if let Some(piece) = flight.pieces.next() {
                return Taken::Piece(piece);
            }
            if let Some(ended) = flight.ended.take() {
                self.flights.pop_front();
                return ended;
            }
            let Ok(part) = flight.parts.recv() else {
                self.flights.clear();
                return Taken::Broken(Error::other("a thread that decodes it broke down"));
            };
            flight.pieces = part.pieces.into_iter();
            flight.ended = part.ended;
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

impl Drop for Team {
    fn drop(&mut self) {
        // Threads that wait for jobs or for room in a queue learn that nobody is there any more.
        self.jobs = None;
        self.flights.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What a thread does.
fn work(jobs: &Mutex<Receiver<Job>>, spare: &Mutex<Vec<Block>>, alone: &mut Alone) {
    loop {
        let job = lock(jobs).recv();
        let Ok(Job { chunk, bare, parts }) = job else {
            return;
        };
        alone.begin(&chunk, bare);
        loop {
            let part = decode(alone, spare);
            let ended = part.ended.is_some();
            if parts.send(part).is_err() || ended {
                break;
            }
        }
    }
}

/// Decodes on until a part is full or the chunk is over.
fn decode(alone: &mut Alone, spare: &Mutex<Vec<Block>>) -> Part {
    let (mut pieces, mut rows) = (Vec::new(), 0);
    while rows < PART {
        let piece = match alone.next(|| lock(spare).pop().unwrap_or_default()) {
            Taken::Piece(piece) => piece,
            ended => {
                let ended = Some(ended);
                return Part { pieces, ended };
            }
        };
        rows += match &piece {
            Decoded::Block(block) => {
                let condensed = block.touches.rows as usize + block.folds.numbers.len();
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

/// A list stays a list when a thread broke down over it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
