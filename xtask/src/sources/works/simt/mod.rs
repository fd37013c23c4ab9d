//! The thesis on data sharing in SIMT architectures: characteristics of eight kernels in six
//! scenarios, and what thread mapping changes.

mod characteristics;
mod limited;
mod mappings;
mod streams;

pub use characteristics::CHARACTERISTICS;
pub use limited::LIMITED;
pub use mappings::MAPPINGS;

/// The thesis's kernels, in its order.
const KERNELS: [&str; 8] = [
    "sta",
    "gsim",
    "bfs",
    "vectoradd",
    "nbf",
    "moldyn",
    "irreg",
    "euler",
];

/// Why the published domains and degrees of the kernels over a netlist are larger than ours.
const LONGER_KERNELS: &str = "A block of the published sta takes about 65 memory instructions \
    (4103 at K = 2), and ours at most 13: what else the published kernels load is not printed, \
    so domains and degrees of sta, gsim and bfs are smaller here.";
