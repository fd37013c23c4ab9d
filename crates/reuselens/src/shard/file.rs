//! The file of a part, `NAME.I-of-N.rlpart`: equal parts are equal bytes.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | the mark `8F 72 6C 70 61 72 74 0A` (`\x8Frlpart\n`) |
//! | 8 | 4 | version of the form, now 1 |
//! | 12 | 4 | CRC-32 of everything after it |
//! | 16 | 8 | length of the body before compression |
//! | 24 | 8 | length of the body as it follows |
//! | 32 | | the body, compressed with Zstandard |
//!
//! The body: three times a length (8 bytes) and as many bytes: what is known of the part, as JSON;
//! the tables and names as the file of a profile without accesses, or nothing; the elements that
//! are counted, as JSON. Then the number of items that wait, and that again if they have
//! elements, else 0 (8 bytes each); and their columns: by first access, by last access (8 bytes
//! each), cells and elements (4 each). Numbers are little endian. Fields may be added to the JSON.

use reuselens_distance::Recency;
use reuselens_profile::{ElementTypes, FrameError, Framed, Packed, Profile};
use reuselens_units::Bytes;

use super::part::{Head, Part};
use super::{PartError, Waiting};
use crate::attribution::Uncounted;
use crate::available_memory;

const FORM: Framed = Framed {
    mark: *b"\x8Frlpart\n",
    version: 1,
    level: 1,
    largest: 64 << 30,
};
/// What reading takes, in bodies: it, and the columns that are made of it.
const TIMES: u64 = 2;
/// No attribution has so many cells or elements: histograms for more are not made.
const MOST_GROUPS: u32 = 1 << 20;

impl Part {
    /// The bytes of its file. Equal parts give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        FORM.to_bytes(&self.body())
    }

    fn body(&self) -> Vec<u8> {
        let ending = self.ending.as_ref();
        let sections = [
            // There are no maps with odd keys, so this cannot fail.
            serde_json::to_vec(&self.head).unwrap_or_default(),
            ending.map_or_else(Vec::new, |ending| ending.profile.to_bytes()),
            serde_json::to_vec(&ending.map_or((&[][..], &[][..]), |ending| {
                (&*ending.elements, &*ending.waiting_sites)
            }))
            .unwrap_or_default(),
        ];
        let mut body = Vec::new();
        for section in sections {
            body.extend((section.len() as u64).to_le_bytes());
            body.extend(section);
        }
        let waiting = &self.waiting;
        for length in [waiting.cells.len(), waiting.elements.len()] {
            body.extend((length as u64).to_le_bytes());
        }
        for column in [&waiting.recency.firsts, &waiting.recency.lasts] {
            body.extend(column.iter().flat_map(|item| item.to_le_bytes()));
        }
        for column in [&waiting.cells, &waiting.elements] {
            body.extend(column.iter().flat_map(|number| number.to_le_bytes()));
        }
        body
    }

    /// Reads the bytes of a part's file. Whatever the bytes are, this returns: its memory is
    /// bounded by three quarters of what is free.
    ///
    /// # Errors
    /// [`PartError::Damaged`] if the bytes are not those of a whole part, [`PartError::TooNew`] if
    /// a later version wrote them, [`PartError::TooLarge`] if they unpack to more than there is
    /// memory for.
    pub fn from_bytes(bytes: &[u8]) -> Result<Part, PartError> {
        let free = available_memory().map_or(Bytes(u64::MAX), |free| Bytes(free.get() / 4 * 3));
        Part::from_body(&unpack(&FORM.open(bytes)?, free)?)
    }

    /// Whether bytes begin like a part's file.
    pub fn is_part(bytes: &[u8]) -> bool {
        FORM.is_in(bytes)
    }

    /// Reads a body. For tests that make up bodies, which no checksum protects.
    #[doc(hidden)]
    pub fn from_body(body: &[u8]) -> Result<Part, PartError> {
        let mut rest = body;
        let head: Head = serde_json::from_slice(section(&mut rest)?).map_err(damaged)?;
        let tables = section(&mut rest)?;
        let elements = section(&mut rest)?;
        let part = Part {
            waiting: waiting(rest)?,
            ending: ending(tables, elements)?,
            head,
        };
        part.check()?;
        Ok(part)
    }

    /// Every number leads somewhere, and the counts add up.
    fn check(&self) -> Result<(), PartError> {
        let (head, waiting) = (&self.head, &self.waiting);
        let numbers = waiting.cells.iter().chain(&waiting.elements);
        let accesses = head.behind.accesses.checked_sub(head.before.accesses);
        let sound = (1..=head.last).contains(&head.first)
            && (head.first..=super::Piece::MOST).contains(&head.of)
            && head.last <= head.of
            && self.ending.is_some() == (head.last == head.of)
            && head.histogram.cold() == 0
            && head.histogram.accesses() == head.accesses
            && head.accesses.checked_add(waiting.cells.len() as u64) == accesses
            && head.cells.is_sound(MOST_GROUPS)
            && head.elements.is_sound(MOST_GROUPS)
            && head.moves.is_sound(MOST_GROUPS)
            && numbers.into_iter().all(|number| *number < MOST_GROUPS);
        if sound {
            return Ok(());
        }
        Err(damaged("its numbers contradict each other"))
    }
}

fn damaged(what: impl std::fmt::Display) -> PartError {
    PartError::Damaged(what.to_string())
}

/// Takes a length and so many bytes from the front of `rest`.
fn section<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], PartError> {
    let short = || damaged("its content ends too early");
    let (length, after) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(damaged)?;
    let (section, after) = after.split_at_checked(length).ok_or_else(short)?;
    *rest = after;
    Ok(section)
}

/// Tables and names.
fn ending(tables: &[u8], elements: &[u8]) -> Result<Option<Uncounted>, PartError> {
    let (elements, waiting_sites) = match serde_json::from_slice(elements) {
        Ok(both) => both,
        // Parts of versions that did not know of waiting have the elements alone.
        Err(_) => (
            serde_json::from_slice(elements).map_err(damaged)?,
            Vec::new(),
        ),
    };
    if tables.is_empty() {
        return Ok(None);
    }
    let profile = Profile::from_bytes(tables).map_err(damaged)?;
    Ok(Some(Uncounted {
        profile,
        elements,
        // Shards count no causes.
        element_types: ElementTypes::default(),
        waiting_sites,
    }))
}

/// The columns of what waits.
fn waiting(bytes: &[u8]) -> Result<Waiting, PartError> {
    let short = || damaged("its columns are not of one length");
    let (lengths, columns) = bytes.split_at_checked(16).ok_or_else(short)?;
    let (length, with_elements) = (number(&lengths[..8]), number(&lengths[8..]));
    let length = usize::try_from(length).map_err(damaged)?;
    let column = |bytes: usize| length.checked_mul(bytes).ok_or_else(short);
    let (firsts, rest) = columns.split_at_checked(column(8)?).ok_or_else(short)?;
    let (lasts, rest) = rest.split_at_checked(column(8)?).ok_or_else(short)?;
    let (cells, elements) = rest.split_at_checked(column(4)?).ok_or_else(short)?;
    let sound = elements.len() as u64 == with_elements.saturating_mul(4)
        && (with_elements == 0 || elements.len() == cells.len());
    if !sound {
        return Err(short());
    }
    let items = |bytes: &[u8]| -> Vec<u64> {
        let (items, _) = bytes.as_chunks::<8>();
        items.iter().map(|item| u64::from_le_bytes(*item)).collect()
    };
    let numbers = |bytes: &[u8]| -> Vec<u32> {
        let (numbers, _) = bytes.as_chunks::<4>();
        numbers
            .iter()
            .map(|number| u32::from_le_bytes(*number))
            .collect()
    };
    let (firsts, lasts) = (items(firsts), items(lasts));
    Ok(Waiting {
        recency: Recency { firsts, lasts },
        cells: numbers(cells),
        elements: numbers(elements),
    })
}

fn number(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}

impl From<FrameError> for PartError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Version(found) => PartError::TooNew {
                found,
                known: FORM.version,
            },
            other => damaged(other),
        }
    }
}

/// Decompresses a body, if there is memory for it and what is made of it.
fn unpack(packed: &Packed, free: Bytes) -> Result<Vec<u8>, PartError> {
    let needed = Bytes(packed.length() * TIMES);
    if needed > free {
        return Err(PartError::TooLarge { needed, free });
    }
    let mut body = Vec::new();
    // Exactly that much, now that it is known to be there: growing takes up to twice as much.
    let size = usize::try_from(packed.length()).map_err(damaged)?;
    body.try_reserve_exact(size.saturating_add(1))
        .map_err(damaged)?;
    Ok(packed.unpack(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_for_which_there_is_no_memory_is_not_unpacked() {
        let body = vec![0; 1 << 20];
        let packed = zstd::bulk::compress(&body, FORM.level).unwrap();
        assert!(packed.len() < 1000, "a small file");
        let inflate = |length, free| unpack(&FORM.packed(&packed, length)?, Bytes(free));
        assert_eq!(inflate(1 << 20, 2 << 20).unwrap(), body);
        let error = inflate(1 << 20, (2 << 20) - 1).unwrap_err();
        assert!(matches!(error, PartError::TooLarge { .. }));
        let error = error.to_string();
        assert!(
            error.contains("2 MiB") && error.contains("more memory"),
            "{error}"
        );
        // It holds more than it says.
        let error = inflate(1 << 10, 2 << 20).unwrap_err();
        assert!(matches!(error, PartError::Damaged(_)), "{error}");
        let error = inflate(u64::MAX, u64::MAX).unwrap_err();
        assert!(matches!(error, PartError::Damaged(_)), "{error}");
    }
}
