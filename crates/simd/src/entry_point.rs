//! Functions compiled for several levels.

/// Compiles a function for [`V3`](crate::V3), [`V4`](crate::V4) or [`Icelake`](crate::Icelake):
/// the one place with the names of their instructions. To call it is unsafe without a proof of the
/// level; [`entry_point!`](crate::entry_point!) calls it with one.
///
/// For x86-64 only; the caller must leave it out elsewhere.
#[macro_export]
macro_rules! compiled_for {
    (V3: $function:item) => {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        $function
    };
    (V4: $function:item) => {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
        )]
        $function
    };
    (Icelake: $function:item) => {
        #[target_feature(
            enable = "avx512vbmi,avx512vbmi2,avx512vpopcntdq",
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
        )]
        $function
    };
}

/// Defines a function with three bodies, and runs the best that its first argument, a
/// [`Level`](crate::Level), has: two that are compiled for a level, the higher one first, and one
/// for any processor. A body gets the proof of its level. What it calls must be
/// `#[inline(always)]` to be compiled for that level too.
///
/// ```
/// use reuselens_simd::{Level, entry_point};
///
/// #[inline(always)]
/// fn ones_here(words: &[u64]) -> u64 {
///     words.iter().map(|word| u64::from(word.count_ones())).sum()
/// }
///
/// entry_point! {
///     /// The bits that are set in `words`.
///     fn ones(level, words: &[u64]) -> u64 {
///         Icelake(_) => ones_here(words),
///         V3(_) => ones_here(words),
///         _ => ones_here(words),
///     }
/// }
///
/// assert_eq!(ones(Level::best(), &[1, 3, u64::MAX]), 67);
/// ```
#[macro_export]
macro_rules! entry_point {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident $(<$generic:ident: $bound:path>)? (
            $level:ident $(, $argument:ident: $type:ty)* $(,)?
        ) $(-> $result:ty)? {
            $high:ident($high_proof:pat) => $high_body:expr,
            $low:ident($low_proof:pat) => $low_body:expr,
            _ => $portable_body:expr $(,)?
        }
    ) => {
        $(#[$doc])*
        $vis fn $name $(<$generic: $bound>)? (
            $level: $crate::Level
            $(, $argument: $type)*
        ) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                $crate::compiled_for! {
                    $high: fn high $(<$generic: $bound>)? (
                        $high_proof: $crate::$high
                        $(, $argument: $type)*
                    ) $(-> $result)? {
                        $high_body
                    }
                }
                $crate::compiled_for! {
                    $low: fn low $(<$generic: $bound>)? (
                        $low_proof: $crate::$low
                        $(, $argument: $type)*
                    ) $(-> $result)? {
                        $low_body
                    }
                }
                if let Some(proof) = $crate::$high::of($level) {
                    // SAFETY: the function demands a processor with the instructions that it is
                    // compiled for, and there is a proof only where each of them was seen.
                    return unsafe { high(proof $(, $argument)*) };
                }
                if let Some(proof) = $crate::$low::of($level) {
                    // SAFETY: as above.
                    return unsafe { low(proof $(, $argument)*) };
                }
            }
            // Where there is but one body nothing is chosen.
            let _ = $level;
            $portable_body
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{Icelake, Level, V3, V4};

    trait Start {
        const FROM: u64;
    }

    struct Ten;

    impl Start for Ten {
        const FROM: u64 = 10;
    }

    #[inline(always)]
    fn total_here<S: Start>(numbers: &[u64]) -> u64 {
        numbers.iter().fold(S::FROM, |sum, number| sum + number)
    }

    entry_point! {
        fn total<S: Start>(level, _start: S, numbers: &[u64], ran: &mut Option<Level>) -> u64 {
            V4(proof) => {
                *ran = Some(proof.level());
                total_here::<S>(numbers)
            },
            V3(proof) => {
                *ran = Some(proof.level());
                total_here::<S>(numbers)
            },
            _ => {
                *ran = Some(Level::PORTABLE);
                total_here::<S>(numbers)
            },
        }
    }

    #[test]
    fn the_best_body_that_the_level_has_runs() {
        let best = Level::best();
        let v3 = V3::of(best).map(V3::level);
        let v4 = V4::of(best).map(V4::level);
        let icelake = Icelake::of(best).map(Icelake::level);
        let levels = [Some(Level::PORTABLE), v3, v4, icelake];
        for level in levels.into_iter().flatten() {
            let mut ran = None;
            assert_eq!(total(level, Ten, &[1, 2, 3], &mut ran), 16);
            // There is no body for what is beyond V4.
            let most = v4.unwrap_or(best);
            assert_eq!(ran, Some(level.min(most)));
        }
    }
}
