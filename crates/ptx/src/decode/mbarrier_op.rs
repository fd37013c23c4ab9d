//! Barriers in shared memory (`mbarrier`), as the machine runs them.

use super::kernel::{Address, NamedSpace};

/// An instruction on a barrier in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct MbarrierOp {
    /// Shared, or generic.
    pub space: NamedSpace,
    pub address: Address,
    pub step: Mbarrier,
    pub site: u32,
}

/// What is done with a barrier in shared memory. Numbers are those of registers: wide ones for
/// states, narrow ones for counts, bytes and parities, predicates for results of tests.
#[derive(Clone, Copy, Debug)]
pub enum Mbarrier {
    Init {
        count: u32,
    },
    Invalidate,
    /// The phase waits for bytes.
    Expect {
        bytes: u32,
    },
    /// Bytes that it waits for are there.
    Complete {
        bytes: u32,
    },
    /// `count` threads arrive, after the phase is made to wait for `bytes` more. `state` gets what
    /// the barrier was; those who drop out are not awaited by later phases.
    Arrive {
        count: u32,
        bytes: Option<u32>,
        drops: bool,
        state: u32,
    },
    /// An arrival once the thread's copies are done; it counts among those that are awaited, or
    /// comes besides them.
    AfterCopies {
        counts: bool,
    },
    /// Whether the phase of a state has ended.
    Test {
        state: u32,
        result: u32,
    },
    /// Whether the phase with a parity has ended.
    TestParity {
        parity: u32,
        result: u32,
    },
}
