//! Compiles the items-only pass and the pass over repeats for vectors of 512 bits, of 256 bits, and
//! for any processor, and chooses among these when it runs. The other ways over a block gain
//! nothing from vectors.

use reuselens_trace::Block;

use super::Pass;

impl Pass<'_> {
    /// [`run_items_only_here`](Self::run_items_only_here) for the processor at hand.
    pub(super) fn run_items_only(&mut self, block: &Block) {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                // SAFETY: the processor has all features that the function is compiled for.
                return unsafe { items_only_avx512(self, block) };
            }
            if has_avx2() {
                // SAFETY: the processor has all features that the function is compiled for.
                return unsafe { items_only_avx2(self, block) };
            }
        }
        self.run_items_only_here(block);
    }

    /// [`run_repeats_here`](Self::run_repeats_here) for the processor at hand.
    pub(super) fn run_repeats(&mut self, block: &Block) {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                // SAFETY: the processor has all features that the function is compiled for.
                return unsafe { repeats_avx512(self, block) };
            }
            if has_avx2() {
                // SAFETY: the processor has all features that the function is compiled for.
                return unsafe { repeats_avx2(self, block) };
            }
        }
        self.run_repeats_here(block);
    }
}

/// Whether the processor has what the functions for vectors of 256 bits are compiled for.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// Whether it has what those for 512 bits are compiled for.
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn items_only_avx512(pass: &mut Pass<'_>, block: &Block) {
    pass.run_items_only_here(block);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn items_only_avx2(pass: &mut Pass<'_>, block: &Block) {
    pass.run_items_only_here(block);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn repeats_avx512(pass: &mut Pass<'_>, block: &Block) {
    pass.run_repeats_here(block);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn repeats_avx2(pass: &mut Pass<'_>, block: &Block) {
    pass.run_repeats_here(block);
}
