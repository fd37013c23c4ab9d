//! A part of an analysis: some neighbouring pieces of a trace, counted.

use std::ops::RangeInclusive;

use reuselens_locality::ExactHistogram;
use reuselens_profile::Profile;
use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use super::groups::Groups;
use super::moves::Moves;
use super::{Known, PartError, TraceIdentity, Waiting};
use crate::attribution::Uncounted;

/// A position in the trace: the number of accesses before it, and a sum over them and what they
/// were attributed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PrefixMark {
    pub accesses: u64,
    pub sum: u64,
}

/// What is known of a part without its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Version of reuselens.
    pub version: String,
    pub trace: TraceIdentity,
    /// The options that change the result, as they are typed.
    pub options: String,
    /// The first and the last piece, from 1, and how many there are.
    pub first: u32,
    pub last: u32,
    pub of: u32,
    pub before: PrefixMark,
    pub behind: PrefixMark,
    /// Accesses whose distance is known.
    pub accesses: u64,
    pub histogram: ExactHistogram,
    pub cells: Groups,
    pub elements: Groups,
    /// The cells that were merged in the part.
    #[serde(default)]
    pub moves: Moves,
}

/// A part of an analysis: some neighbouring pieces of a trace. The distances within are counted;
/// the first access to each item waits for what comes before.
///
/// [`merge`](super::merge) puts two parts together; one that has all pieces
/// [finishes](Part::finish) as the profile that [`analyze`](crate::analyze) makes of the whole
/// trace, to the byte. Memory: about 24 bytes per distinct item, and the histograms.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub(crate) head: Head,
    pub(crate) waiting: Waiting,
    /// Tables and names, if the end of the trace is in this part.
    pub(crate) ending: Option<Uncounted>,
}

impl Part {
    /// The pieces that are in it, from 1.
    pub fn pieces(&self) -> RangeInclusive<u32> {
        self.head.first..=self.head.last
    }

    /// How many pieces the trace was cut into.
    pub fn of(&self) -> u32 {
        self.head.of
    }

    /// The accesses in it.
    pub fn accesses(&self) -> u64 {
        self.head.behind.accesses - self.head.before.accesses
    }

    /// Whether it has all pieces.
    pub fn is_whole(&self) -> bool {
        self.pieces() == (1..=self.head.of)
    }

    /// Whether the trace was cut off or damaged in this part: what follows that point is missing.
    pub fn is_truncated(&self) -> bool {
        let profile = self.ending.as_ref().map(|ending| &ending.profile);
        profile.is_some_and(Profile::is_truncated)
    }

    /// The pieces that are in it, as people write them: `2/4`, `2-3/4`.
    pub fn name(&self) -> String {
        name(self.pieces(), self.head.of)
    }

    /// The profile of the whole trace.
    ///
    /// # Errors
    /// [`PartError::Missing`] if it is not whole.
    pub fn finish(self) -> Result<Profile, PartError> {
        let of = self.head.of;
        let missing = if self.head.first > 1 {
            Some(1..=self.head.first - 1)
        } else {
            (self.head.last < of).then_some(self.head.last + 1..=of)
        };
        if let Some(missing) = missing {
            return Err(missing_pieces(missing, of));
        }
        let Some(mut uncounted) = self.ending else {
            let what = "it has the last piece, and no tables";
            return Err(PartError::Damaged(what.to_owned()));
        };
        // Nothing comes before: what still waits is cold.
        let cold = vec![Distance::COLD; self.waiting.cells.len()];
        let mut known = Known::default();
        known.add(&cold, &self.waiting.cells, &self.waiting.elements);
        let mut head = self.head;
        head.count(known);
        uncounted.profile.histogram = head.histogram;
        let cells = uncounted.profile.cells.len() as u32;
        Ok(uncounted.counted(
            (0..cells).map(|cell| head.cells.take(cell).unwrap_or_default()),
            |element| head.elements.take(element),
        ))
    }
}

impl Head {
    /// Adds counts.
    pub fn count(&mut self, mut known: Known) {
        self.accesses += known.accesses;
        self.histogram.merge(&known.histogram.finish());
        self.cells.merge(Groups::of(|cell| known.keyed.get(cell)));
        self.elements
            .merge(Groups::of(|element| known.elements.take(element)));
    }
}

/// Pieces as people write them.
pub(crate) fn name(pieces: RangeInclusive<u32>, of: u32) -> String {
    let (first, last) = pieces.into_inner();
    if first == last {
        format!("{first}/{of}")
    } else {
        format!("{first}-{last}/{of}")
    }
}

pub(crate) fn missing_pieces(pieces: RangeInclusive<u32>, of: u32) -> PartError {
    let first = *pieces.start();
    PartError::Missing {
        missing: name(pieces, of),
        first: name(first..=first, of),
    }
}
