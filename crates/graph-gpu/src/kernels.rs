//! The PTX of the kernels, as it is kept in `kernels/ptx`.

/// PTX of the kernels: what the kept files have, or what a compiler made of `kernels/graphs`.
#[derive(Clone, Copy, Debug)]
pub struct KernelCode {
    /// Of `lists.cu`.
    pub lists: &'static str,
    /// Of `depths.cu`.
    pub depths: &'static str,
    /// Of `components.cu`.
    pub components: &'static str,
    /// Of `triangles.cu`.
    pub triangles: &'static str,
}

/// The kept files of a compiler.
macro_rules! kept {
    ($compiler:literal) => {
        KernelCode {
            lists: include_str!(concat!("../../../kernels/ptx/", $compiler, "/lists.ptx")),
            depths: include_str!(concat!("../../../kernels/ptx/", $compiler, "/depths.ptx")),
            components: include_str!(concat!(
                "../../../kernels/ptx/",
                $compiler,
                "/components.ptx"
            )),
            triangles: include_str!(concat!(
                "../../../kernels/ptx/",
                $compiler,
                "/triangles.ptx"
            )),
        }
    };
}

impl KernelCode {
    /// What clang makes of them: PTX 7.0 for sm_80, which all drivers since CUDA 11 take.
    pub const CLANG: Self = kept!("clang");

    /// What nvcc makes of them: PTX 9.0 for sm_80, which drivers since CUDA 13 take.
    pub const NVCC: Self = kept!("nvcc");

    /// Each module with the names of its kernels.
    pub(crate) fn modules(&self) -> [(&'static str, &'static [&'static str]); 4] {
        [
            (
                self.lists,
                &["lists_merge", "lists_replace", "lists_compact"],
            ),
            (
                self.depths,
                &["depths_expand", "depths_lose", "depths_offer"],
            ),
            (
                self.components,
                &[
                    "components_begin",
                    "components_join",
                    "components_insert",
                    "components_cut",
                    "components_part",
                    "components_mend",
                    "components_count",
                    "components_largest",
                    "components_repair",
                    "components_label",
                ],
            ),
            (self.triangles, &["triangles_count"]),
        ]
    }
}
