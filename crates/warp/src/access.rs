//! [`WarpAccess`]: one memory instruction that one warp has executed, with an address for each
//! thread; and its [`Space`] and [`WarpKind`]. It is the record of streams of warp instructions.

/// Threads of a warp.
pub const LANES: usize = 32;

/// Which memory an access goes to. The numbers are those of the stream file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Space {
    /// Device memory that all threads see.
    Global = 0,
    /// The block's shared memory; addresses begin at 0 in each block.
    Shared = 1,
    /// A thread's own memory; addresses begin at 0 in each thread.
    Local = 2,
    /// Constant memory.
    Constant = 3,
    /// Parameters of the kernel.
    Parameter = 4,
}

impl Space {
    /// All of them, in the order of their numbers.
    pub const ALL: [Space; 5] = [
        Space::Global,
        Space::Shared,
        Space::Local,
        Space::Constant,
        Space::Parameter,
    ];

    /// The space with this number, if there is one.
    #[inline]
    pub const fn from_u8(number: u8) -> Option<Space> {
        Some(match number {
            0 => Space::Global,
            1 => Space::Shared,
            2 => Space::Local,
            3 => Space::Constant,
            4 => Space::Parameter,
            _ => return None,
        })
    }

    /// Its name in PTX.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Constant => "const",
            Space::Parameter => "param",
        }
    }
}

/// What an access does. The numbers are those of the stream file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum WarpKind {
    /// Reads.
    Load = 0,
    /// Writes.
    Store = 1,
    /// Reads and writes in one atomic step; one access.
    Atomic = 2,
}

impl WarpKind {
    /// The kind with this number, if there is one.
    #[inline]
    pub const fn from_u8(number: u8) -> Option<WarpKind> {
        Some(match number {
            0 => WarpKind::Load,
            1 => WarpKind::Store,
            2 => WarpKind::Atomic,
            _ => return None,
        })
    }
}

/// One memory instruction of one warp: up to 32 accesses, one for each active thread.
///
/// Under divergence each path has records of its own, with the threads that took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpAccess {
    /// Which instruction of the kernel: an index into [`crate::Launch::sites`]. Sites are
    /// numbered in their order in the kernel's code; those of functions that are called through
    /// pointers, or that call themselves, come after the kernel's own, function by function.
    pub site: u32,
    /// What barriers order is ordered by phases: if a record has to come before another one in each
    /// possible execution because of barriers, its phase is the lower one. Phases do not decrease
    /// within a warp. All are 0 without barriers, and where the producer does not see them.
    pub phase: u32,
    /// The number of its memory instruction in its phase, from 1; it increases within a warp and
    /// phase. Records of a block with the same phase, position and site are issued together. Where
    /// warps run independently, the memory instructions of each warp are counted; analyses can
    /// align warps by their sites.
    pub position: u64,
    /// Its block's index in the grid: `x + grid.x · (y + grid.y · z)`.
    pub block: u32,
    /// Its warp's index in the block. A lane is thread `32 · warp + lane` of the block.
    pub warp: u32,
    /// A bit for each active lane, lane 0 lowest. Never 0.
    pub mask: u32,
    /// The memory.
    pub space: Space,
    /// Load, store or atomic.
    pub kind: WarpKind,
    /// Bytes that each thread accesses: 1 to 255.
    pub bytes: u8,
    /// The byte address of each lane; those of inactive lanes are meaningless.
    pub addresses: [u64; LANES],
}
