//! Checks the end of a file: ending, index and trailer.
//!
//! Called by `Reader` when all chunks were delivered. An ending that does not match what was read
//! is an error. A damaged index or trailer is a remark ([`Note`]) only, because nothing that was
//! recorded is missing; of a segment it is an error, because the segment began where the index
//! says.

use super::Reader;
use crate::decode;
use crate::index::{Index, TRAILER, Trailer};
use reuselens_io::chunk::{Stored, Unpacker};
use reuselens_io::varint::Damage;
use reuselens_trace::{Note, TraceError};

impl Reader {
    /// Checks that the totals in the ending are those of what was read.
    pub(super) fn check_ending(&mut self, ending: &Stored) -> Result<(), TraceError> {
        let mut plain = Vec::new();
        let mut unpacker = Unpacker::new().map_err(|error| self.failed(error))?;
        let totals = unpacker.unpack(ending, &mut plain);
        let totals = totals.and_then(|()| decode::totals(&plain));
        let totals = totals.map_err(|damage| self.damaged(ending.start, damage))?;
        if totals != self.totals {
            let what = Damage("the totals in the ending are not those of the file");
            return Err(self.damaged(ending.start, what));
        }
        Ok(())
    }

    /// Checks index and trailer. Returns the remark if one of them is damaged.
    ///
    /// # Errors
    /// If there are bytes after the trace, or, of a segment, if index or trailer is damaged.
    pub(super) fn check_index(&mut self) -> Result<Option<Note>, TraceError> {
        let start = self.index.as_ref().map_or(self.start, |index| index.start);
        let index = match self.index.take() {
            Some(index) => self.index_damage(&index)?,
            None => None,
        };
        let found = self.input.at_least(TRAILER)?.first_chunk::<TRAILER>();
        let trailer = match found.map(Trailer::of) {
            Some(Some(_)) => None,
            Some(None) => Some(Damage("the trailer is damaged")),
            None => Some(Damage("the file is cut off in its trailer")),
        };
        self.input.consume(TRAILER);
        if !self.input.at_least(1)?.is_empty() {
            let what = "there are bytes after the end of the trace: was another file appended?";
            return Err(self.input.bad_bytes(self.input.offset(), what).into());
        }
        match index.or(trailer) {
            Some(damage) if self.segment.is_some() => Err(self.damaged(start, damage)),
            damage => Ok(damage.map(|damage| self.damaged_index(damage))),
        }
    }

    /// What is wrong with the index.
    fn index_damage(&self, index: &Stored) -> Result<Option<Damage>, TraceError> {
        let mut plain = Vec::new();
        let mut unpacker = Unpacker::new().map_err(|error| self.failed(error))?;
        let found = unpacker.unpack(index, &mut plain);
        Ok(match found.and_then(|()| Index::get(&plain)) {
            Ok(found) if found.totals() == self.totals => None,
            Ok(_) => Some(Damage("what the index lists is not what is in the file")),
            Err(damage) => Some(damage),
        })
    }

    /// The remark of a file of which all but the index was read.
    fn damaged_index(&self, damage: Damage) -> Note {
        let path = self.input.path().display();
        Note {
            code: Note::DAMAGED_INDEX.to_owned(),
            message: format!(
                "{path}: {}; nothing that was recorded is missing, but a part of the trace is found by reading all of it",
                damage.0
            ),
            hint: format!("reuselens convert {path} COPY.rltrace writes a new index"),
        }
    }
}
