//! The passes that gain from it, that of which nothing is to be known but the items and that over
//! rows that come again, compiled for vectors of 512 bits, of 256 bits, and for any processor;
//! which is chosen when it runs.

use reuselens_trace::Block;

use super::Pass;

impl Pass<'_> {
    /// [`run_whole_here`](Self::run_whole_here) for the processor at hand.
    pub(super) fn run_whole(&mut self, block: &Block) {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                // SAFETY: all that the function is compiled for was seen.
                return unsafe { whole_avx512(self, block) };
            }
            if has_avx2() {
                // SAFETY: all that the function is compiled for was seen.
                return unsafe { whole_avx2(self, block) };
            }
        }
        self.run_whole_here(block);
    }

    /// [`run_folded_here`](Self::run_folded_here) for the processor at hand.
    pub(super) fn run_folded(&mut self, block: &Block) {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                // SAFETY: all that the function is compiled for was seen.
                return unsafe { folded_avx512(self, block) };
            }
            if has_avx2() {
                // SAFETY: all that the function is compiled for was seen.
                return unsafe { folded_avx2(self, block) };
            }
        }
        self.run_folded_here(block);
    }
}

/// Whether the processor has vectors of 256 bits, and what functions that are compiled for those
/// use besides.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// The same of 512 bits.
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
fn whole_avx512(pass: &mut Pass<'_>, block: &Block) {
    pass.run_whole_here(block);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn whole_avx2(pass: &mut Pass<'_>, block: &Block) {
    pass.run_whole_here(block);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn folded_avx512(pass: &mut Pass<'_>, block: &Block) {
    pass.run_folded_here(block);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn folded_avx2(pass: &mut Pass<'_>, block: &Block) {
    pass.run_folded_here(block);
}
