//! The members of a zip archive, one after the other.

use std::cmp::Ordering;
use std::io::{BufReader, Error, ErrorKind, Result};
use std::sync::atomic;

use zip::ZipArchive;
use zip::result::ZipError;

use super::PACKED;
use super::ahead::Sink;
use super::raw::Counted;

/// Hands over the members in the order of their names, numbers in them by value.
///
/// The list of members lies at the end of the file, so nothing can be had of one that was cut off.
pub(super) fn copy(packed: Counted, sink: &Sink) -> Result<bool> {
    let taken = packed.count();
    let packed = BufReader::with_capacity(PACKED, packed);
    let mut archive = ZipArchive::new(packed).map_err(failed)?;
    // What was read so far is the list of members, and lies behind them.
    taken.store(0, atomic::Ordering::Relaxed);
    let mut names = Vec::new();
    for index in 0..archive.len() {
        match archive.name_for_index(index) {
            Some(Ok(name)) if !name.ends_with('/') => names.push((name.into_owned(), index)),
            Some(Err(error)) => return Err(failed(error)),
            _ => {}
        }
    }
    names.sort_by(|one, other| by_number(one.0.as_bytes(), other.0.as_bytes()));
    for (_, index) in names {
        let mut member = archive.by_index(index).map_err(failed)?;
        if !sink.copy(&mut member)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn failed(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => error,
        error => Error::new(ErrorKind::InvalidData, error),
    }
}

/// `chunk.0002` before `chunk.0010`, and `chunk.9999` before `chunk.10000`.
fn by_number(one: &[u8], other: &[u8]) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let ((number, a), (another, b)) = (number(one), number(other));
        let order = match (number, another) {
            (Some(number), Some(another)) => (number.len(), number).cmp(&(another.len(), another)),
            _ => one.first().cmp(&other.first()),
        };
        if order != Ordering::Equal || one.is_empty() {
            return order;
        }
        (one, other) = (a, b);
    }
}

/// The number that `name` begins with, without leading zeros, if it does; and what is left without it,
/// or else without the first byte.
fn number(name: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return (None, name.get(1..).unwrap_or_default());
    }
    let (number, rest) = name.split_at(digits);
    let zeros = number.iter().take_while(|&&byte| byte == b'0').count();
    (Some(&number[zeros..]), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_go_by_value() {
        let mut names = [
            "c.10000", "b", "c.9999", "c.0010", "c.0002", "c", "c.2x", "",
        ];
        names.sort_by(|one, other| by_number(one.as_bytes(), other.as_bytes()));
        let sorted = [
            "", "b", "c", "c.0002", "c.2x", "c.0010", "c.9999", "c.10000",
        ];
        assert_eq!(names, sorted);
    }
}
