//! Who decodes: the reader's own thread, or others.

use crate::formats::native::alone::{Alone, Taken};
use crate::formats::native::chunk::Stored;
use crate::formats::native::team::Team;
use crate::{Block, Wish};

/// Who decodes.
pub(super) enum Crew {
    /// And memory for a block.
    Alone(Box<Alone>, Block),
    Team(Team),
}

impl Crew {
    /// Whether it could begin with another chunk.
    pub(super) fn has_room(&self) -> bool {
        match self {
            Crew::Alone(alone, _) => alone.is_idle(),
            Crew::Team(team) => team.has_room(),
        }
    }

    /// Whether all that was begun has been taken.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Crew::Alone(alone, _) => alone.is_idle(),
            Crew::Team(team) => team.is_idle(),
        }
    }

    /// Where the chunk begins that comes next, if one was begun.
    pub(super) fn start(&self) -> Option<u64> {
        match self {
            Crew::Alone(alone, _) => alone.start(),
            Crew::Team(team) => team.start(),
        }
    }

    pub(super) fn begin(&mut self, chunk: Stored) {
        match self {
            Crew::Alone(alone, _) => alone.begin(&chunk),
            Crew::Team(team) => team.begin(chunk),
        }
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Taken {
        match self {
            Crew::Alone(alone, spare) => alone.next(|| std::mem::take(spare)),
            Crew::Team(team) => team.next(),
        }
    }

    /// Takes the memory of a block, to use it again.
    pub(super) fn give_back(&mut self, block: Block) {
        match self {
            Crew::Alone(_, spare) => *spare = block,
            Crew::Team(team) => team.give_back(block),
        }
    }

    /// As many as `threads` for a file of this version; with one, or none, it is the caller's.
    pub(super) fn hire(threads: usize, version: u16, wish: Option<Wish>) -> std::io::Result<Crew> {
        match threads {
            0 | 1 => {
                Alone::new(version, wish).map(|alone| Crew::Alone(Box::new(alone), Block::new()))
            }
            threads => Team::new(threads, version, wish).map(Crew::Team),
        }
    }
}
