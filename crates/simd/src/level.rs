//! Levels, and the proofs that the processor has them.

use std::env;
use std::sync::OnceLock;

/// The variable with the name of the highest level to use, for tests: results never depend on the
/// level, and `cargo xtask test --on MACHINE` runs them at a lower one.
const HIGHEST: &str = "REUSELENS_TEST_LEVEL";

/// A set of instructions that this processor has.
///
/// Levels are ordered: each has the instructions of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(Rank);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Portable,
    V3,
    V4,
    Icelake,
}

impl Level {
    /// What every processor has.
    pub const PORTABLE: Level = Level(Rank::Portable);

    /// The best level of this processor. Cost: a load, since the processor is asked once.
    ///
    /// The environment variable `REUSELENS_TEST_LEVEL` (`portable`, `v3`, `v4`, `icelake`) lowers
    /// it; it never raises it.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| match env::var(HIGHEST) {
            Ok(highest) => Level::named(&highest).map_or(detected(), |most| detected().min(most)),
            Err(_) => detected(),
        })
    }

    /// [`Level::best`] if the processor gathers and scatters bits (PEXT and PDEP, of BMI2) in one
    /// step, else [`Level::PORTABLE`]. AMD's processors before 2020 have these instructions and
    /// take hundreds of steps for each. VAES is what marks the later ones, and Intel's from 2019
    /// on.
    pub fn best_with_fast_pext() -> Level {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("vaes") {
            return Level::best();
        }
        Level::PORTABLE
    }

    /// The level of a name in small letters.
    fn named(name: &str) -> Option<Level> {
        let rank = match name {
            "portable" => Rank::Portable,
            "v3" => Rank::V3,
            "v4" => Rank::V4,
            "icelake" => Rank::Icelake,
            _ => return None,
        };
        Some(Level(rank))
    }
}

/// What the processor has.
fn detected() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        use std::is_x86_feature_detected as has;
        let v3 = has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2");
        if !(v3 && has!("lzcnt") && has!("popcnt")) {
            return Level::PORTABLE;
        }
        let v4 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
        if !(v4 && has!("avx512cd")) {
            return Level(Rank::V3);
        }
        if !(has!("avx512vbmi") && has!("avx512vbmi2") && has!("avx512vpopcntdq")) {
            return Level(Rank::V4);
        }
        Level(Rank::Icelake)
    }
    #[cfg(not(target_arch = "x86_64"))]
    Level::PORTABLE
}

macro_rules! proofs {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name(());

            impl $name {
                /// The proof, if `level` has these instructions.
                pub fn of(level: Level) -> Option<Self> {
                    (level.0 >= Rank::$name).then_some($name(()))
                }

                /// The level that has these instructions and no more.
                pub fn level(self) -> Level {
                    Level(Rank::$name)
                }
            }
        )*
    };
}

proofs! {
    /// The processor has vectors of 256 bits (AVX2, FMA), BMI1, BMI2, LZCNT and POPCNT.
    V3
    /// The processor has vectors of 512 bits (AVX-512 F, BW, DQ, VL, CD), and all of [`V3`].
    V4
    /// The processor has AVX-512 VBMI, VBMI2 and VPOPCNTDQ, and all of [`V4`].
    Icelake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_proves_itself_and_those_before_it() {
        let proofs = |level| {
            let (v3, v4) = (V3::of(level).is_some(), V4::of(level).is_some());
            [v3, v4, Icelake::of(level).is_some()]
        };
        assert_eq!(proofs(Level::PORTABLE), [false; 3]);
        assert_eq!(proofs(Level(Rank::V3)), [true, false, false]);
        assert_eq!(proofs(Level(Rank::V4)), [true, true, false]);
        assert_eq!(proofs(Level(Rank::Icelake)), [true; 3]);
        assert_eq!(
            V4::of(Level(Rank::Icelake)).map(V4::level),
            Some(Level(Rank::V4))
        );
    }

    #[test]
    fn names_of_levels_are_in_their_order() {
        let names = ["portable", "v3", "v4", "icelake"];
        let levels: Vec<Option<Level>> = names.iter().map(|name| Level::named(name)).collect();
        assert!(levels.is_sorted() && levels.iter().all(Option::is_some));
        assert_eq!(Level::named("AVX2"), None);
        assert!(Level::best() <= detected());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_detected_level_is_what_the_processor_has() {
        let level = detected();
        assert_eq!(V3::of(level).is_some(), is_x86_feature_detected!("avx2"));
        let avx512bw = is_x86_feature_detected!("avx512bw");
        assert_eq!(V4::of(level).is_some(), avx512bw);
        let vbmi2 = is_x86_feature_detected!("avx512vbmi2");
        assert_eq!(Icelake::of(level).is_some(), vbmi2);
        let vaes = is_x86_feature_detected!("vaes");
        let expected = if vaes { Level::best() } else { Level::PORTABLE };
        assert_eq!(Level::best_with_fast_pext(), expected);
    }
}
