//! The PTX of the kernels, as it is kept in `kernels/ptx`.

/// PTX of the kernels: what the kept files have, or what a compiler made of `kernels/distance`.
#[derive(Clone, Copy, Debug)]
pub struct KernelCode {
    /// Of `scan.cu`.
    pub scan: &'static str,
    /// Of `radix.cu`.
    pub radix: &'static str,
    /// Of `dominance.cu`.
    pub dominance: &'static str,
    /// Of `hp_rda.cu`.
    pub hp_rda: &'static str,
}

/// The kept files of a compiler.
macro_rules! kept {
    ($compiler:literal) => {
        KernelCode {
            scan: include_str!(concat!("../../../kernels/ptx/", $compiler, "/scan.ptx")),
            radix: include_str!(concat!("../../../kernels/ptx/", $compiler, "/radix.ptx")),
            dominance: include_str!(concat!(
                "../../../kernels/ptx/",
                $compiler,
                "/dominance.ptx"
            )),
            hp_rda: include_str!(concat!("../../../kernels/ptx/", $compiler, "/hp_rda.ptx")),
        }
    };
}

/// A module's PTX and the names of its kernels.
type Module = (&'static str, &'static [&'static str]);

impl KernelCode {
    /// What clang makes of them: PTX 7.0 for sm_75, which all drivers since CUDA 11 take.
    pub const CLANG: Self = kept!("clang");

    /// What nvcc makes of them: PTX 9.0 for sm_75, which drivers since CUDA 13 take.
    pub const NVCC: Self = kept!("nvcc");

    /// The PTX of all modules.
    pub fn all(&self) -> [&'static str; 4] {
        [self.scan, self.radix, self.dominance, self.hp_rda]
    }

    /// The module of HP-RDA.
    pub(crate) fn hp_rda(&self) -> [Module; 1] {
        [(
            self.hp_rda,
            &["hp_local", "hp_merge_chunks", "hp_merge_block", "hp_grow"],
        )]
    }

    /// The modules of the exact engine.
    pub(crate) fn exact(&self) -> [Module; 3] {
        [
            (self.scan, &["scan_sums", "scan_all", "scan_tiles"]),
            (
                self.radix,
                &[
                    "radix_bits_32",
                    "radix_count_32",
                    "radix_sort_32",
                    "radix_link_32",
                    "radix_bits_64",
                    "radix_count_64",
                    "radix_sort_64",
                    "radix_link_64",
                ],
            ),
            (
                self.dominance,
                &[
                    "order_count",
                    "order_write",
                    "dominance_count",
                    "dominance_pass",
                    "dominance_last",
                    "distance_histogram",
                ],
            ),
        ]
    }
}
