//! The plan as the preloaded library reads it: a file of 64-bit words, mapped shared, so that the
//! library's counts are in the file when the program is gone, whatever ended it.
//!
//! A header, then tables of records of fixed sizes. All are words; counts are changed atomically.

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"rlplace1");

/// The environment variable that names the file.
pub const PLAN_VARIABLE: &str = "REUSELENS_PLACEMENT";
/// Tiers of a plan, at most.
pub const MAX_TIERS: usize = 15;
/// C++'s functions that allocate for their caller (`operator new` and `new[]`: of a size; with an
/// alignment; the same where they return null), each with the zero byte that ends it.
pub const NEW_NAMES: [&str; 8] = [
    "_Znwm\0",
    "_Znam\0",
    "_ZnwmRKSt9nothrow_t\0",
    "_ZnamRKSt9nothrow_t\0",
    "_ZnwmSt11align_val_t\0",
    "_ZnamSt11align_val_t\0",
    "_ZnwmSt11align_val_tRKSt9nothrow_t\0",
    "_ZnamSt11align_val_tRKSt9nothrow_t\0",
];
/// Bytes of a huge page on x86-64.
pub const HUGE_PAGE: usize = 2 << 20;
/// Bytes of a span: blocks of the heap take the memory of a tier in pieces of so many.
pub const SPAN: usize = 64 << 10;

/// Words of the header.
pub mod head {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// Whether pages are asked for where they are.
    pub const VERIFY: usize = 1;
    /// Whether modules are found by name, whatever their build.
    pub const LOOSE: usize = 2;
    /// Words of the file.
    pub const WORDS: usize = 3;
    /// Seven tables, each as number of records and first word.
    pub const TABLES: usize = 4;
    /// Processes that the library started in.
    pub const STARTED: usize = 18;
    /// Processes whose `malloc` is not the library's: the program has its own.
    pub const OWN_ALLOCATOR: usize = 19;
    /// Blocks for which no address range could be had.
    pub const NO_RANGE: usize = 20;
    /// Words of the header.
    pub const SIZE: usize = 21;
}

/// Numbers of the tables.
pub mod table {
    /// Tiers.
    pub const TIERS: usize = 0;
    /// Modules.
    pub const MODULES: usize = 1;
    /// Objects.
    pub const OBJECTS: usize = 2;
    /// Paths.
    pub const PATHS: usize = 3;
    /// Calls of paths.
    pub const CALLS: usize = 4;
    /// Chunks of objects.
    pub const CHUNKS: usize = 5;
    /// Functions of the program that allocate for their caller and that it does not export: module,
    /// first address and first after in its file.
    pub const WRAPPERS: usize = 6;
    /// Words of a record of each.
    pub const SIZES: [usize; 7] = [
        super::tier::SIZE,
        super::module::SIZE,
        super::object::SIZE,
        super::path::SIZE,
        super::call::SIZE,
        2,
        3,
    ];
}

/// A tier.
pub mod tier {
    /// How it is made: [`way`](super::way).
    pub const WAY: usize = 0;
    /// The node, where that is the way.
    pub const NODE: usize = 1;
    /// Bytes.
    pub const CAPACITY: usize = 2;
    /// The most bytes that one process had in it.
    pub const PEAK: usize = 3;
    /// Calls for memory of this way that the system refused.
    pub const REFUSED: usize = 4;
    /// The system's error at the last of them.
    pub const ERROR: usize = 5;
    /// Words.
    pub const SIZE: usize = 6;
}

/// How a tier is made.
pub mod way {
    /// Transparent huge pages.
    pub const MADVISE: u64 = 1;
    /// From the pool of huge pages.
    pub const HUGETLB: u64 = 2;
    /// On a memory node.
    pub const NODE: u64 = 3;
}

/// A module.
pub mod module {
    /// Bytes of its build id.
    pub const BUILD_LEN: usize = 0;
    /// The build id.
    pub const BUILD: usize = 1;
    /// Longer build ids are cut.
    pub const BUILD_MAX: usize = 32;
    /// Bytes of its file name.
    pub const NAME_LEN: usize = 5;
    /// The file name.
    pub const NAME: usize = 6;
    /// Longer names are cut.
    pub const NAME_MAX: usize = 256;
    /// Processes that mapped it.
    pub const SEEN: usize = 38;
    /// Processes that mapped a file of this name and another build.
    pub const OTHER_BUILD: usize = 39;
    /// Words.
    pub const SIZE: usize = 40;
}

/// An object.
pub mod object {
    /// Number of its tier.
    pub const TIER: usize = 0;
    /// 1 for a symbol.
    pub const IS_STATIC: usize = 1;
    /// Its size.
    pub const BYTES: usize = 2;
    /// Number of its first chunk.
    pub const CHUNK: usize = 3;
    /// Number of chunks.
    pub const CHUNKS: usize = 4;
    /// Blocks that were placed.
    pub const BLOCKS: usize = 5;
    /// Their bytes.
    pub const PLACED: usize = 6;
    /// Blocks that the tier had no room for.
    pub const NO_ROOM: usize = 7;
    /// Their bytes.
    pub const NO_ROOM_BYTES: usize = 8;
    /// Bytes found where they belong.
    pub const AS_PLANNED: usize = 9;
    /// Bytes found elsewhere.
    pub const ELSEWHERE: usize = 10;
    /// Bytes that no memory was behind, as nothing accessed them.
    pub const UNTOUCHED: usize = 11;
    /// Bytes that the system did not say anything about.
    pub const UNKNOWN: usize = 12;
    /// Words.
    pub const SIZE: usize = 13;
}

/// A path.
pub mod path {
    /// Number of its object.
    pub const OBJECT: usize = 0;
    /// Number of its first call, the innermost.
    pub const CALL: usize = 1;
    /// Number of calls.
    pub const CALLS: usize = 2;
    /// Words.
    pub const SIZE: usize = 3;
}

/// A call of a path.
pub mod call {
    /// Number of its module, or [`ANY`].
    pub const MODULE: usize = 0;
    /// The return address, as in the module's file; of a symbol its address.
    pub const OFFSET: usize = 1;
    /// Words.
    pub const SIZE: usize = 2;
    /// Stands for any number of calls.
    pub const ANY: u64 = u64::MAX;
}
