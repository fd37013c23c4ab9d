//! Finds what is where in a file: by its index, or else by reading all of it.

use crate::index::{Index, TRAILER, Trailer};
use reuselens_io::chunk::{Chunks, Content, Unpacker};
use reuselens_io::varint::Damage;
use reuselens_io::{FileError, Input};
use reuselens_trace::TraceError;

/// The index of a file, or why there is none to be had. The input is anywhere then.
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
            // Chunks lie before it, one behind the other.
            let lie = index
                .chunks
                .windows(2)
                .all(|two| two[0].offset < two[1].offset);
            let last = index
                .chunks
                .last()
                .is_none_or(|last| last.offset < trailer.offset);
            if lie && last { Ok(index) } else { Err(NONE) }
        }))
}
