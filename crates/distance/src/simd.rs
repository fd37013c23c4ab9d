//! [`Simd`]: the sets of vector instructions that the hot loops are compiled for, as users of the
//! crate name them. Results never depend on the choice.

use reuselens_simd::{Icelake, Level, V3};

/// A set of vector instructions that hot loops are compiled for. Results never depend on it. Each
/// holds those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of its kind has.
    Portable,
    /// 256 bits, and counting of bits: Intel from 2013, AMD from 2015 on.
    Avx2,
    /// 512 bits, with VPOPCNTDQ and VBMI2: Intel from 2019, AMD from 2022 on.
    Avx512,
}

impl Simd {
    /// All of them, the simplest first.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// The best that this processor has: what is used if nothing else is said.
    pub fn best() -> Self {
        let mut all = Self::ALL.into_iter().rev();
        all.find(|simd| simd.is_here()).unwrap_or(Simd::Portable)
    }

    /// Whether this processor has it.
    pub fn is_here(self) -> bool {
        let best = Level::best();
        match self {
            Simd::Portable => true,
            Simd::Avx2 => V3::of(best).is_some(),
            Simd::Avx512 => Icelake::of(best).is_some(),
        }
    }

    /// What this processor has of it: the best level of the machine that is not above it.
    pub(crate) fn level(self) -> Level {
        let best = Level::best();
        match self {
            Simd::Portable => Level::PORTABLE,
            Simd::Avx2 => V3::of(best).map_or(Level::PORTABLE, V3::level),
            Simd::Avx512 => best,
        }
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simd_level_is_the_best_available() {
        assert!(Simd::best().is_here());
        for simd in Simd::ALL {
            assert_eq!(simd.is_here(), simd <= Simd::best(), "{}", simd.name());
        }
    }
}
