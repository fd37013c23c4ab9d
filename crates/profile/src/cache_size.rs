//! [`CacheSpec`] and [`CacheSize`]: caches as people type them, by name (`L1d`), by size (`48K`),
//! or by size and ways (`48K:12`).

use std::fmt;
use std::str::FromStr;

use reuselens_locality::SetAssociative;
use reuselens_units::{Bytes, Granularity};
use thiserror::Error;

use crate::Machine;

/// A cache of any size, whose line is one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// Its size.
    pub bytes: Bytes,
    /// Lines per set; 0 = fully associative.
    pub ways: u32,
}

/// A cache by its name on a machine, or by its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheSpec {
    /// `L1d`, `L2`: a cache of the machine, as a fully associative one of that size.
    Named(String),
    /// `48K`, `48K:12`.
    Sized(CacheSize),
}

/// A cache that cannot exist, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CacheSizeError {
    /// What follows the colon is no number of ways.
    #[error(
        "'{0}' is not a number of ways; write the size and the ways, for instance 48K:12 for 12 lines in each set"
    )]
    Ways(String),
    /// Its lines do not fill sets of that many ways.
    #[error(
        "a cache of {lines} lines cannot have sets of {ways} ways; the number of lines (size / bytes of an item) must be a multiple of the ways"
    )]
    Sets {
        /// Lines of the cache.
        lines: u64,
        /// Lines of a set.
        ways: u32,
    },
}

impl CacheSize {
    /// The items that fit.
    pub fn items(&self, granularity: Granularity) -> u64 {
        self.bytes.items(granularity).get()
    }

    /// The model of its sets; `None` where it is fully associative.
    ///
    /// # Errors
    /// If its lines do not fill sets of that many ways.
    pub fn model(
        &self,
        granularity: Granularity,
    ) -> Result<Option<SetAssociative>, CacheSizeError> {
        let (lines, ways) = (self.items(granularity), u64::from(self.ways));
        match lines.checked_rem(ways) {
            None => Ok(None),
            Some(0) if lines > 0 => Ok(Some(SetAssociative::new(lines / ways, ways))),
            _ => Err(CacheSizeError::Sets {
                lines,
                ways: self.ways,
            }),
        }
    }
}

impl From<Bytes> for CacheSize {
    /// A fully associative cache.
    fn from(bytes: Bytes) -> Self {
        CacheSize { bytes, ways: 0 }
    }
}

impl fmt::Display for CacheSize {
    /// `48 KiB`, `48 KiB 12-way`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ways {
            0 => write!(f, "{}", self.bytes),
            ways => write!(f, "{} {ways}-way", self.bytes),
        }
    }
}

impl CacheSpec {
    /// The cache on this machine; `None` if the machine has none of this name.
    pub fn on(&self, machine: &Machine) -> Option<CacheSize> {
        match self {
            CacheSpec::Named(name) => machine.cache(name).map(|cache| cache.size.into()),
            CacheSpec::Sized(size) => Some(*size),
        }
    }
}

impl FromStr for CacheSpec {
    type Err = CacheSizeError;

    /// Reads `48K`, `48K:12`, `L1d`: what is no size is a name.
    fn from_str(text: &str) -> Result<Self, CacheSizeError> {
        if let Ok(bytes) = text.parse::<Bytes>() {
            return Ok(CacheSpec::Sized(bytes.into()));
        }
        let parts = text.split_once(':');
        let sized = parts.and_then(|(size, ways)| Some((size.parse::<Bytes>().ok()?, ways)));
        let Some((bytes, ways)) = sized else {
            return Ok(CacheSpec::Named(text.trim().to_owned()));
        };
        let number = ways.trim().parse().ok().filter(|ways| *ways > 0);
        let ways = number.ok_or_else(|| CacheSizeError::Ways(ways.to_owned()))?;
        Ok(CacheSpec::Sized(CacheSize { bytes, ways }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_specs_are_parsed() {
        let sized = |bytes, ways| {
            Ok(CacheSpec::Sized(CacheSize {
                bytes: Bytes(bytes),
                ways,
            }))
        };
        assert_eq!("48K".parse(), sized(48 << 10, 0));
        assert_eq!("48K:12".parse(), sized(48 << 10, 12));
        assert_eq!("1.5 MiB: 16".parse(), sized(3 << 19, 16));
        assert_eq!("L1d".parse(), Ok(CacheSpec::Named("L1d".into())));
        for wrong in ["48K:", "48K:0", "48K:x", "48K:-1", "48K:5000000000"] {
            assert!(wrong.parse::<CacheSpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ways_that_do_not_divide_the_lines_are_refused() {
        let model = |bytes, ways| {
            let cache = CacheSize {
                bytes: Bytes(bytes),
                ways,
            };
            cache.model(Granularity::LINE_64)
        };
        assert_eq!(model(48 << 10, 12), Ok(Some(SetAssociative::new(64, 12))));
        assert_eq!(model(48 << 10, 0), Ok(None));
        let error = model(48 << 10, 7).unwrap_err().to_string();
        assert!(error.contains("768 lines"), "{error}");
        assert!(model(64, 2).is_err() && model(10, 1).is_err());
    }
}
