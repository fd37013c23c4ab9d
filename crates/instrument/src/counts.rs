//! [`SiteCounts`]: how often a site was executed, and by how many lanes; as hooks count it on the
//! device ([`read_counts`]), or as records come to it.

/// Bytes of the counts of a site in the variable of a module.
pub const COUNT_BYTES: usize = 32;

/// The executions of a site, as the interpreter counts them (`FlowCounts` of the crate `ptx`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteCounts {
    /// Executions by warps.
    pub warps: u64,
    /// Those of them in which lanes did not all do the same. Of a basic block or a barrier: threads
    /// of the warp were elsewhere, or had ended. Of a branch: lanes went different ways. Of a
    /// memory instruction: the guard held for some lanes, and not for others.
    pub mixed: u64,
    /// Executions by threads.
    pub threads: u64,
    /// Threads whose guard held; all, if there is none.
    pub taken: u64,
}

/// The counts of all sites in the bytes of a module's variable
/// ([`Instrumented::variable`](crate::Instrumented::variable)). The host sets its bytes to 0 before
/// a launch, or before the first of several that are to be counted together.
///
/// A site has four numbers of 64 bits, little-endian, in the order of the fields. Bytes beyond the
/// last site with all four are not looked at.
pub fn read_counts(bytes: &[u8]) -> Vec<SiteCounts> {
    let sites = bytes.as_chunks::<COUNT_BYTES>().0.iter();
    let counts = sites.map(|site| {
        let (numbers, _) = site.as_chunks::<8>();
        let number = |at: usize| numbers.get(at).copied().map_or(0, u64::from_le_bytes);
        SiteCounts {
            warps: number(0),
            mixed: number(1),
            threads: number(2),
            taken: number(3),
        }
    });
    counts.collect()
}
