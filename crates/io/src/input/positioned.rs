//! [`Positioned`]: an open file with a read position of its own, so that several readers can share
//! one open file. (Clones of a [`File`] share one position.)

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// An open file and a position in it. A clone reads the same open file, even if its name belongs to
/// another file by then, and has a position of its own.
#[derive(Clone)]
pub(super) struct Positioned {
    file: Arc<File>,
    place: u64,
}

impl Positioned {
    /// From the beginning.
    pub(super) fn new(file: File) -> Positioned {
        Positioned {
            file: Arc::new(file),
            place: 0,
        }
    }
}

impl Read for Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.file.read_at(buffer, self.place)?;
        self.place += count as u64;
        Ok(count)
    }
}

impl Seek for Positioned {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(place) => (place, 0),
            SeekFrom::Current(by) => (self.place, by),
            SeekFrom::End(by) => (self.file.metadata()?.len(), by),
        };
        let place = from.checked_add_signed(by);
        self.place = place.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_have_positions_of_their_own() {
        let path =
            std::env::temp_dir().join(format!("reuselens-positioned-{}", std::process::id()));
        std::fs::write(&path, "abcdef").unwrap();
        let mut one = Positioned::new(File::open(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let mut other = one.clone();
        let mut two = [0; 2];
        one.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"ab");
        assert_eq!(other.seek(SeekFrom::End(-2)).unwrap(), 4);
        other.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"ef");
        one.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"cd");
        assert_eq!(one.seek(SeekFrom::Current(-3)).unwrap(), 1);
        assert!(one.seek(SeekFrom::Current(-3)).is_err());
        assert_eq!(one.seek(SeekFrom::Start(9)).unwrap(), 9);
        assert_eq!(one.read(&mut two).unwrap(), 0);
    }
}
