//! The hot loops, compiled for any processor, for those of the last ten years, on which counting bits is
//! one instruction, and for those with vectors of 512 bits.

use reuselens_units::Distance;

use crate::counting::compare::Portable;
#[cfg(target_arch = "x86_64")]
use crate::counting::compare::{Avx2, Avx512};
use crate::hp_rda::{Chunk, Summary};
use crate::sampled::Filter;
use crate::{CountingTree, LookupBound};

macro_rules! dispatched {
    ($(#[$doc:meta])* $name:ident => $avx512:ident, $avx2:ident($this:ident: $type:ty $(, $column:ident: $slice:ty)*)) => {
        $(#[$doc])*
        pub(crate) fn $name($this: &mut $type $(, $column: $slice)*) {
            #[cfg(target_arch = "x86_64")]
            if let Some(compare) = Avx512::new() {
                // SAFETY: the function demands a processor with the extensions that it is compiled for,
                // and there is an `Avx512` only where each of them was seen.
                return unsafe { $avx512($this, compare $(, $column)*) };
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(compare) = Avx2::new() {
                // SAFETY: as above, with `Avx2`.
                return unsafe { $avx2($this, compare $(, $column)*) };
            }
            $this.process_here(Portable $(, $column)*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $avx512($this: &mut $type, compare: Avx512 $(, $column: $slice)*) {
            $this.process_here(compare $(, $column)*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $avx2($this: &mut $type, compare: Avx2 $(, $column: $slice)*) {
            $this.process_here(compare $(, $column)*);
        }
    };
}

dispatched! {
    /// [`CountingTree::process_here`] for the processor at hand.
    process_counting => counting_avx512, counting_avx2(tree: CountingTree, items: &[u64], distances: &mut [Distance])
}

dispatched! {
    /// [`LookupBound::process_here`] for the processor at hand.
    process_bound => bound_avx512, bound_avx2(bound: LookupBound, items: &[u64])
}

dispatched! {
    /// [`Filter::process_here`] for the processor at hand.
    process_filter => filter_avx512, filter_avx2(filter: Filter, items: &[u64])
}

dispatched! {
    /// [`Chunk::process_here`] for the processor at hand.
    process_chunk => chunk_avx512, chunk_avx2(
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

    /// Elsewhere only one of the three would ever run on a given machine.
    #[test]
    fn all_compilations_agree() {
        let items: Vec<u64> = (0..200_000_u64)
            .map(|i| i * i % 30_011 / (1 + i % 7))
            .collect();
        let mut portable = vec![Distance::COLD; items.len()];
        CountingTree::new().process_here(Portable, &items, &mut portable);
        let mut other = vec![Distance::COLD; items.len()];
        CountingTree::new().process(&items, &mut other);
        assert_eq!(portable, other);
        #[cfg(target_arch = "x86_64")]
        if let Some(compare) = Avx2::new() {
            // SAFETY: there is an `Avx2`.
            unsafe { counting_avx2(&mut CountingTree::new(), compare, &items, &mut other) };
            assert_eq!(portable, other);
        }
    }
}
