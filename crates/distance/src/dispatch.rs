//! The hot loops, compiled once for any processor and once for those of the last ten years, on which
//! counting bits is one instruction.

use reuselens_units::Distance;

use crate::hp_rda::{Chunk, Summary};
use crate::{CountingTree, LookupBound};

macro_rules! dispatched {
    ($(#[$doc:meta])* $name:ident => $with_avx2:ident($this:ident: $type:ty $(, $column:ident: $slice:ty)*)) => {
        $(#[$doc])*
        pub(crate) fn $name($this: &mut $type $(, $column: $slice)*) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
            {
                // SAFETY: all that the function demands is a processor with the five extensions that
                // it is compiled for, and each was just seen to be there.
                return unsafe { $with_avx2($this $(, $column)*) };
            }
            $this.process_here($($column),*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $with_avx2($this: &mut $type $(, $column: $slice)*) {
            $this.process_here($($column),*);
        }
    };
}

dispatched! {
    /// [`CountingTree::process_here`] for the processor at hand.
    process_counting => counting_avx2(tree: CountingTree, items: &[u64], distances: &mut [Distance])
}

dispatched! {
    /// [`LookupBound::process_here`] for the processor at hand.
    process_bound => bound_avx2(bound: LookupBound, items: &[u64])
}

dispatched! {
    /// [`Chunk::process_here`] for the processor at hand.
    process_chunk => chunk_avx2(
        chunk: Chunk,
        items: &[u64],
        distances: &mut [Distance],
        summaries: &mut Vec<Summary>
    )
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
