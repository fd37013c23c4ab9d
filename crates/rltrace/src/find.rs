//! Finds the index of a file from its end: the trailer says where it is.
//!
//! Called by `Reader::take_index`. A file without a usable index is no error: the caller then reads
//! all of it. *Invariant:* the chunks of an index that is returned are in ascending order and
//! before the index.

use crate::index::{Index, TRAILER, Trailer};
use reuselens_io::chunk::{Chunks, Content, Unpacker};
use reuselens_io::varint::Damage;
use reuselens_io::{FileError, Input};
use reuselens_trace::TraceError;

/// The index of a file, or why there is none to be had. Leaves the input at an arbitrary place.
///
/// # Errors
/// `FileError::Io` if the file cannot be read.
pub(super) fn index(input: &mut Input) -> Result<Result<Index, String>, TraceError> {
    let Some(length) = input.reach() else {
        return Ok(Err(
            "it comes through a pipe or is compressed, so its end cannot be looked at first"
                .to_owned(),
        ));
    };
    match at_end(input, length) {
        Ok(index) => Ok(index.map_err(|damage| damage.0.to_owned())),
        Err(TraceError::File(FileError::Corrupt { what, .. })) => Ok(Err(what)),
        Err(error) => Err(error),
    }
}

fn at_end(input: &mut Input, length: u64) -> Result<Result<Index, Damage>, TraceError> {
    const NONE: Damage = Damage("its end with the index is missing or damaged");
    let Some(start) = length.checked_sub(TRAILER as u64) else {
        return Ok(Err(NONE));
    };
    input.jump(start)?;
    let trailer = input.at_least(TRAILER)?.first_chunk::<TRAILER>();
    let Some(trailer) = trailer.and_then(Trailer::of).filter(|at| at.offset < start) else {
        return Ok(Err(NONE));
    };
    input.jump(trailer.offset)?;
    let chunk = Chunks::from(trailer.number).next(input)?;
    if chunk.content != Content::Index {
        return Ok(Err(NONE));
    }
    let mut plain = Vec::new();
    let unpacker = Unpacker::new();
    let mut unpacker = unpacker.map_err(|error| TraceError::io("decode", input.path(), error))?;
    let unpacked = unpacker.unpack(&chunk, &mut plain);
    Ok(unpacked
        .and_then(|()| Index::get(&plain))
        .and_then(|index| {
            // One chunk after the other, and all before the index.
            let ascending = index
                .chunks
                .windows(2)
                .all(|two| two[0].offset < two[1].offset);
            let last = index
                .chunks
                .last()
                .is_none_or(|last| last.offset < trailer.offset);
            if ascending && last {
                Ok(index)
            } else {
                Err(NONE)
            }
        }))
}
