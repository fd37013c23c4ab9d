//! The volumes of an MSR trace: each distinct pair of host and disk gets 2^48 addresses of its own,
//! in the order in which they appear, so that requests to different volumes never share an item.
//!
//! Used by `msr`, for each line.

use std::collections::HashMap;

/// Bits of an offset within a volume.
pub(super) const BITS: u32 = 48;
/// The most volumes whose ranges fit into 64 bits.
const MOST: usize = 1 << (64 - BITS);
/// The longest name of a host with its disk.
const LONGEST: usize = 256;
/// Entries of the cache of recently used volumes: a power of two.
const RECENT_VOLUMES: usize = 64;

/// The volumes seen so far, numbered from 0.
pub(super) struct Volumes {
    bases: HashMap<Box<[u8]>, u64>,
    /// The cache: short names as numbers, and their bases; 0 is an empty entry.
    recent: [(u64, u64); RECENT_VOLUMES],
}

impl Default for Volumes {
    fn default() -> Volumes {
        Volumes {
            bases: HashMap::new(),
            recent: [(0, 0); RECENT_VOLUMES],
        }
    }
}

impl Volumes {
    /// The first address of a volume.
    ///
    /// # Errors
    /// In words, if the name is too long or there are too many volumes.
    #[inline(always)]
    pub(super) fn base(&mut self, name: &[u8]) -> Result<u64, String> {
        let mut key = 0;
        if name.len() < 8 {
            // The leading one distinguishes names that begin with zero bytes.
            key = name
                .iter()
                .fold(1, |key, &byte| (key << 8) | u64::from(byte));
        }
        let place = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % RECENT_VOLUMES;
        let (known, base) = self.recent[place];
        if key != 0 && key == known {
            return Ok(base);
        }
        let base = self.find(name)?;
        self.recent[place] = (key, base);
        Ok(base)
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, name: &[u8]) -> Result<u64, String> {
        if name.len() > LONGEST {
            return Err(format!("the name of a host is longer than {LONGEST} bytes"));
        }
        if let Some(&base) = self.bases.get(name) {
            return Ok(base);
        }
        let number = self.bases.len();
        if number >= MOST {
            return Err(format!("there are over {MOST} volumes"));
        }
        let base = (number as u64) << BITS;
        self.bases.insert(name.into(), base);
        Ok(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_numbered_in_order_of_appearance() {
        let mut volumes = Volumes::default();
        let long = b"a-host-with-a-long-name,12";
        for _ in 0..2 {
            assert_eq!(volumes.base(b"hm,0"), Ok(0));
            assert_eq!(volumes.base(b"hm,1"), Ok(1 << 48));
            assert_eq!(volumes.base(long), Ok(2 << 48));
            assert_eq!(volumes.base(b"\0hm,0"), Ok(3 << 48));
        }
        assert!(volumes.base(&[b'x'; 300]).is_err());
    }

    #[test]
    fn more_volumes_than_ranges_are_refused() {
        let mut volumes = Volumes::default();
        for number in 0..MOST {
            let name = format!("h,{number}");
            assert_eq!(volumes.base(name.as_bytes()), Ok((number as u64) << 48));
        }
        assert!(volumes.base(b"one,more").is_err());
        assert_eq!(volumes.base(b"h,65535"), Ok(65_535 << 48));
    }
}
