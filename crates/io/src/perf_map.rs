//! [`PerfMap`]: the names of code that a program made while it ran, from the file that Node.js,
//! Java, CPython and other run-time systems write for perf: `/tmp/perf-PID.map`.
//!
//! A line is the code's first address and its number of bytes, both hexadecimal, and its name
//! (`tools/perf/Documentation/jit-interface.txt` of Linux). Code may be thrown away and its place
//! used again, so the last line that names an address is right.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use crate::open_regular_file;

/// The most bytes of a file that is read.
const MOST: u64 = 256 << 20;

/// Names of code by its addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// By first address: the first after it, and the name. No two overlap.
    code: BTreeMap<u64, (u64, String)>,
    id: Vec<u8>,
}

impl PerfMap {
    /// Reads the file of a process. A file of another user is refused: anyone may write to `/tmp`.
    /// With `since`, one that was not changed after that is refused, too: it may be of an earlier
    /// process with the same number.
    ///
    /// # Errors
    /// The system's, or why the file is refused.
    pub fn read(path: &Path, since: Option<SystemTime>) -> Result<PerfMap> {
        let refused = |why: &str| Err(Error::new(ErrorKind::InvalidInput, why));
        let (file, length) = open_regular_file(path)?;
        let about = file.metadata()?;
        if about.uid() != rustix::process::geteuid().as_raw() {
            return refused("it is of another user");
        }
        if since.is_some_and(|since| about.modified().is_ok_and(|at| at < since)) {
            return refused("it is older than the run");
        }
        if length > MOST {
            return refused("it has more than 256 MiB");
        }
        let mut bytes = Vec::new();
        // The file may grow while it is read.
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(PerfMap::parse(&bytes))
    }

    /// The names in the bytes of such a file. Lines that are none are passed over.
    pub fn parse(bytes: &[u8]) -> PerfMap {
        let mut map = PerfMap::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Some((low, high, name)) = named(line) {
                map.add(low, high, name);
            }
        }
        let sum = crc32fast::hash(bytes);
        map.id = [&sum.to_le_bytes()[..], &(bytes.len() as u64).to_le_bytes()].concat();
        map
    }

    /// Takes the place of all code that it overlaps.
    fn add(&mut self, low: u64, high: u64, name: String) {
        let before = self.code.range(..high).rev();
        let overlapping = before.take_while(|(_, (end, _))| *end > low);
        let gone: Vec<u64> = overlapping.map(|(begin, _)| *begin).collect();
        for begin in gone {
            self.code.remove(&begin);
        }
        self.code.insert(low, (high, name));
    }

    /// The name of the code at an address, and where it begins.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let (low, (high, name)) = self.code.range(..=address).next_back()?;
        (address < *high).then_some((name.as_str(), *low))
    }

    /// Ascending, the first addresses of all code and the first after it.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.code.iter().map(|(low, (high, _))| (*low, *high))
    }

    /// A number of the file's contents, by which it is known again.
    pub fn id(&self) -> &[u8] {
        &self.id
    }
}

/// What a line says.
fn named(line: &[u8]) -> Option<(u64, u64, String)> {
    let line = String::from_utf8_lossy(line);
    let mut parts = line.trim_end().splitn(3, ' ');
    let mut number = || {
        let digits = parts.next()?;
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        u64::from_str_radix(digits, 16).ok()
    };
    let (low, bytes) = (number()?, number()?);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let high = low.checked_add(bytes).filter(|_| bytes > 0)?;
    Some((low, high, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_an_address_is_its_name() {
        let map = PerfMap::parse(
            b"1000 20 first\n1020 10 second one\nno line\n1018 c third\n2000 0 nothing\nffffffffffffffff 5 wraps\n",
        );
        let name = |address| map.find(address).map(|(name, _)| name);
        assert_eq!(name(0x1000), None, "the third has taken its place");
        assert_eq!(name(0x1018), Some("third"));
        assert_eq!(name(0x1023), Some("third"));
        assert_eq!(name(0x1024), None);
        assert_eq!((name(0x2000), name(u64::MAX)), (None, None));
        assert_eq!(map.ranges().count(), 1);
        let both = PerfMap::parse(b"0x10 8 a\n18 8 b c\n");
        assert_eq!(both.find(0x1f), Some(("b c", 0x18)));
        assert_eq!(both.find(0x17), Some(("a", 0x10)));
        assert_ne!(both.id(), map.id());
    }

    #[test]
    fn files_of_earlier_processes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map");
        std::fs::write(&path, "10 8 a\n").unwrap();
        assert!(PerfMap::read(&path, None).is_ok());
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert!(PerfMap::read(&path, Some(later)).is_err());
    }
}
