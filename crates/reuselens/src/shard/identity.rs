//! Which trace, which options: what parts must have in common.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use reuselens_io::Packing;
use reuselens_units::Granularity;
use serde::{Deserialize, Serialize};

use super::PartError;
use crate::AnalysisOptions;

/// Bytes at each end of a file that are looked at.
const END: u64 = 1 << 20;

/// Which trace: its size and its ends, wherever it lies and whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceIdentity {
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32 of the first MiB.
    pub head: u32,
    /// CRC-32 of the last MiB.
    pub tail: u32,
}

impl TraceIdentity {
    /// That of the trace file at `path`.
    ///
    /// # Errors
    /// [`PartError::NoFile`] if it is no regular file (a pipe cannot be read in pieces),
    /// [`PartError::Packed`] if it is compressed (where pieces begin would be chance),
    /// [`PartError::Unreadable`] if it cannot be read.
    pub fn of_file(path: &Path) -> Result<TraceIdentity, PartError> {
        let no_file = || PartError::NoFile {
            path: path.to_owned(),
        };
        if path == Path::new("-") {
            return Err(no_file());
        }
        let failed = |source| PartError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(no_file());
        }
        let head = end(&mut file).map_err(failed)?;
        // It is unpacked on a thread that runs ahead: how far that is in the file when a block
        // comes out is chance, and pieces cut there would not fit.
        if let Some(packing) = Packing::of(&head) {
            return Err(PartError::Packed {
                path: path.to_owned(),
                packing: packing.name(),
                unpack: packing.command(),
            });
        }
        let start = SeekFrom::Start(about.len().saturating_sub(END));
        file.seek(start).map_err(failed)?;
        Ok(TraceIdentity {
            bytes: about.len(),
            head: crc32fast::hash(&head),
            tail: crc32fast::hash(&end(&mut file).map_err(failed)?),
        })
    }
}

/// The next MiB, or less at the end of the file.
fn end(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The options that change the result, as they are typed.
pub(crate) fn typed(options: &AnalysisOptions, granularity: Granularity) -> String {
    let word = |word: String| word.to_lowercase();
    let mut text = format!(
        "--granularity {} --kind {} --data {} --names {}",
        granularity.bytes(),
        word(format!("{:?}", options.kinds)),
        word(format!("{:?}", options.data)),
        word(format!("{:?}", options.names)),
    );
    if !options.contexts {
        text.push_str(" --no-contexts");
    }
    if options.elements {
        text.push_str(" --elements");
    }
    text
}

/// Which piece of how many, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    number: u32,
    of: u32,
}

impl Piece {
    /// The most pieces that a trace is cut into.
    pub const MOST: u32 = 1 << 20;

    /// Piece `number` of `of`; `None` unless 1 ≤ `number` ≤ `of` ≤ [`Piece::MOST`].
    pub fn new(number: u32, of: u32) -> Option<Piece> {
        let whole = (1..=of).contains(&number) && of <= Self::MOST;
        whole.then_some(Piece { number, of })
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// The number of the piece that holds a block before which `done` of `all` bytes were read.
    pub(crate) fn at(self, done: u64, all: u64) -> u32 {
        let share = u128::from(done) * u128::from(self.of) / u128::from(all.max(1));
        u32::try_from(share).unwrap_or(u32::MAX).min(self.of - 1) + 1
    }
}

impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl std::str::FromStr for Piece {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        let piece = numbers.and_then(|(number, of)| Piece::new(number, of));
        piece.ok_or_else(|| {
            format!(
                "'{text}' is no piece; write its number and how many there are, for instance 1/4 to 4/4 (at most {})",
                Self::MOST
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_counted_from_one() {
        let piece: Piece = "2/3".parse().unwrap();
        assert_eq!((piece.number(), piece.of()), (2, 3));
        assert_eq!(piece.to_string(), "2/3");
        for wrong in [
            "0/3",
            "4/3",
            "1/0",
            "1",
            "a/b",
            "1/2/3",
            "",
            "-1/2",
            "1/1048577",
        ] {
            let error = wrong.parse::<Piece>().unwrap_err();
            assert!(error.contains("1/4"), "{error}");
        }
    }

    #[test]
    fn every_byte_belongs_to_one_piece() {
        let piece = Piece::new(1, 3).unwrap();
        let found: Vec<u32> = (0..=10).map(|done| piece.at(done, 10)).collect();
        assert_eq!(found, [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(piece.at(0, 0), 1);
        assert_eq!(piece.at(u64::MAX, u64::MAX), 3);
    }
}
