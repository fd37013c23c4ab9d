//! The hot loops, compiled for any processor, for those of the last ten years, on which counting bits is
//! one instruction, and for those with vectors of 512 bits.

use reuselens_units::Distance;

use crate::{CountingTree, LookupBound};

macro_rules! dispatched {
    ($(#[$doc:meta])* $name:ident => $avx512:ident, $avx2:ident($this:ident: $type:ty $(, $column:ident: $slice:ty)*)) => {
        $(#[$doc])*
        pub(crate) fn $name($this: &mut $type $(, $column: $slice)*) {
            #[cfg(target_arch = "x86_64")]
            match level() {
                // SAFETY: all that the function demands is a processor with the extensions that it is
                // compiled for, and `level` has just seen each of them.
                Level::Avx512 => return unsafe { $avx512($this $(, $column)*) },
                // SAFETY: as above.
                Level::Avx2 => return unsafe { $avx2($this $(, $column)*) },
                Level::Portable => {}
            }
            $this.process_here($($column),*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $avx512($this: &mut $type $(, $column: $slice)*) {
            $this.process_here($($column),*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $avx2($this: &mut $type $(, $column: $slice)*) {
            $this.process_here($($column),*);
        }
    };
}

/// What the processor has.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Portable,
    Avx2,
    Avx512,
}

#[cfg(target_arch = "x86_64")]
fn level() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vpopcntdq");
    match (avx512, avx2) {
        (true, _) => Level::Avx512,
        (false, true) => Level::Avx2,
        (false, false) => Level::Portable,
    }
}

dispatched! {
    /// [`CountingTree::process_here`] for the processor at hand.
    process_counting => counting_avx512, counting_avx2(tree: CountingTree, items: &[u64], distances: &mut [Distance])
}

dispatched! {
    /// [`LookupBound::process_here`] for the processor at hand.
    process_bound => bound_avx512, bound_avx2(bound: LookupBound, items: &[u64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;

    /// Elsewhere only one of the two would ever run on a given machine.
    #[test]
    fn portable_and_dispatched_code_agree() {
        let items: Vec<u64> = (0..200_000_u64)
            .map(|i| i * i % 30_011 / (1 + i % 7))
            .collect();
        let mut portable = vec![Distance::COLD; items.len()];
        let mut dispatched = portable.clone();
        CountingTree::new().process_here(&items, &mut portable);
        CountingTree::new().process(&items, &mut dispatched);
        assert_eq!(portable, dispatched);
    }
}
