//! Counts with their unit in the type ([`Bytes`], [`Items`], [`Accesses`]), and sizes as people
//! type them (`48K`).

use std::fmt;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Granularity;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(transparent)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The number without its unit.
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
    };
}

quantity!(
    /// A number of bytes.
    Bytes
);
quantity!(
    /// A number of distinct data items (of one granularity).
    Items
);
quantity!(
    /// A number of accesses to items, duplicates counted: also the unit of reuse *time*.
    Accesses
);

impl Items {
    /// The bytes that this many items of `granularity` hold; saturates.
    pub const fn bytes(self, granularity: Granularity) -> Bytes {
        Bytes(self.0.saturating_mul(granularity.bytes()))
    }
}

impl Bytes {
    /// The number of complete items of `granularity` that fit.
    pub const fn items(self, granularity: Granularity) -> Items {
        Items(self.0 >> granularity.shift())
    }
}

impl fmt::Display for Bytes {
    /// `48 KiB`, `1.5 MiB`, `712 B`: at most one decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let power = (self.0.ilog2() / 10) as usize;
        let unit = 1_u64 << (10 * power);
        let tenths = (u128::from(self.0) * 10 + u128::from(unit) / 2) / u128::from(unit);
        let text = if tenths.is_multiple_of(10) {
            format!("{} {}", tenths / 10, UNITS[power - 1])
        } else {
            format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[power - 1])
        };
        f.pad(&text)
    }
}

/// A size that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{text}' is not a size; write a number of bytes, or a number with K, M, G or T, for instance 48K or 1.5MiB"
)]
pub struct SizeError {
    text: String,
}

impl FromStr for Bytes {
    type Err = SizeError;

    /// Reads `4096`, `48K`, `48KiB`, `1.5M`, `2 GiB`: letters are powers of 1024.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let fail = || SizeError {
            text: text.to_owned(),
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(fail()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(Bytes).ok_or_else(fail);
        }
        let value: f64 = number.parse().map_err(|_| fail())?;
        let bytes = value * (1_u64 << shift) as f64;
        if bytes.is_finite() && bytes >= 0.0 && bytes < u64::MAX as f64 {
            Ok(Bytes(bytes.round() as u64))
        } else {
            Err(fail())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print() {
        for (text, bytes) in [
            ("4096", 4096),
            ("48K", 48 << 10),
            ("1.5 MiB", 3 << 19),
            ("2g", 2 << 30),
        ] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "x", "-1", "1.2.3K", "9999999999T", "12Q"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert_eq!(Bytes(48 << 10).to_string(), "48 KiB");
        assert_eq!(Bytes(3 << 19).to_string(), "1.5 MiB");
        assert_eq!(Bytes(712).to_string(), "712 B");
        assert_eq!(Bytes(u64::MAX).to_string(), "16 EiB");
    }
}
