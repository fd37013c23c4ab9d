//! [`AdvisorOptions`]: what is analysed.

use crate::GpuModel;

/// What is analysed beside divergence and bank conflicts, which always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisorOptions {
    /// Whether reuse distances are measured.
    pub reuse: bool,
    /// Size of an element: 4, 8, 16, 32, 64 or 128 bytes; others are rounded up to one of these.
    pub element_bytes: u32,
    /// Size of a line for reuse distances: 32, 64 or 128 bytes; others as above.
    pub line_bytes: u32,
    /// The GPU whose caches are modelled.
    pub model: GpuModel,
    /// Whether its caches are modelled. Costs a look-up per line of a request.
    pub caches: bool,
    /// Whether the best number of warps that use the L1 is searched for, on the first SM. Costs a
    /// look-up in each of as many caches as a block has warps, for one block in [`GpuModel::sms`].
    pub bypass: bool,
    /// Whether reuse distances are measured in caches of each SM, with and without invalidation,
    /// and in one of all; only if caches are modelled.
    pub cache_distances: bool,
    /// The most lines of requests of one block that are kept to bring them into order.
    pub window: u32,
    /// The most lines of requests that are kept for the cache model, in all resident blocks. Of a
    /// block that has more, the model leaves out the later requests.
    pub resident_window: u32,
    /// The most accesses of threads of one launch that are kept to look for a better order of
    /// threads. 0: none is looked for.
    pub mapped_accesses: u32,
}

impl Default for AdvisorOptions {
    fn default() -> AdvisorOptions {
        AdvisorOptions {
            reuse: true,
            element_bytes: 4,
            line_bytes: 128,
            model: GpuModel::default(),
            caches: true,
            bypass: true,
            cache_distances: false,
            window: 1 << 18,
            resident_window: 1 << 22,
            mapped_accesses: 0,
        }
    }
}

impl AdvisorOptions {
    /// log2 of the bytes of an element.
    pub(crate) fn element_shift(&self) -> u32 {
        shift(self.element_bytes, 4)
    }

    /// log2 of the bytes of a line.
    pub(crate) fn line_shift(&self) -> u32 {
        shift(self.line_bytes, 32)
    }
}

/// log2 of a size, from `least` to 128; rounded up.
fn shift(bytes: u32, least: u32) -> u32 {
    bytes.clamp(least, 128).next_power_of_two().ilog2()
}
