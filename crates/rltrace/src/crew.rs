//! Who decodes: the reader's own thread, or others.

use crate::alone::{Alone, Taken};
use crate::form::Form;
use crate::team::Team;
use reuselens_io::chunk::Stored;
use reuselens_trace::Block;

/// Who decodes.
pub(super) enum Crew {
    /// And memory for a block, and whether named accesses are bare touches.
    Alone(Box<Alone>, Block, bool),
    Team(Team),
}

impl Crew {
    /// Whether it could begin with another chunk.
    pub(super) fn has_room(&self) -> bool {
        match self {
            Crew::Alone(alone, ..) => alone.is_idle(),
            Crew::Team(team) => team.has_room(),
        }
    }

    /// Whether all that was begun has been taken.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Crew::Alone(alone, ..) => alone.is_idle(),
            Crew::Team(team) => team.is_idle(),
        }
    }

    /// Where the chunk begins that comes next, if one was begun.
    pub(super) fn start(&self) -> Option<u64> {
        match self {
            Crew::Alone(alone, ..) => alone.start(),
            Crew::Team(team) => team.start(),
        }
    }

    pub(super) fn begin(&mut self, chunk: Stored) {
        match self {
            Crew::Alone(alone, _, bare) => alone.begin(&chunk, *bare),
            Crew::Team(team) => team.begin(chunk),
        }
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Taken {
        match self {
            Crew::Alone(alone, spare, _) => alone.next(|| std::mem::take(spare)),
            Crew::Team(team) => team.next(),
        }
    }

    /// From the next chunk on named accesses are not bare touches: one that was taken said so.
    pub(super) fn not_bare(&mut self) {
        match self {
            Crew::Alone(_, _, bare) => *bare = false,
            Crew::Team(team) => team.not_bare(),
        }
    }

    /// Takes the memory of a block, to use it again.
    pub(super) fn give_back(&mut self, block: Block) {
        match self {
            Crew::Alone(_, spare, _) => *spare = block,
            Crew::Team(team) => team.give_back(block),
        }
    }

    /// As many as `threads`; with one, or none, it is the caller's.
    pub(super) fn hire(threads: usize, form: Form) -> std::io::Result<Crew> {
        match threads {
            0 | 1 => Alone::new(form).map(|alone| Crew::Alone(Box::new(alone), Block::new(), true)),
            threads => Team::new(threads, form).map(Crew::Team),
        }
    }
}
