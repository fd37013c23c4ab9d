//! Why there is no profile.

use reuselens_hugepages::OutOfMemory;
use reuselens_io::FileError;
use reuselens_units::Bytes;
use thiserror::Error;

/// Why an analysis could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace cannot be read at all, or not be written.
    #[error(transparent)]
    Trace(#[from] reuselens_trace::TraceError),
    /// The program cannot be run.
    #[error(transparent)]
    Capture(#[from] reuselens_capture::CaptureError),
    /// A bound on the distances for an engine that has none.
    #[error(
        "the engine '{engine}' cannot stop at a largest distance, only 'counting' can; leave out --engine or --max-distance"
    )]
    NotBounded {
        /// The engine that was asked for.
        engine: String,
    },
    /// Bounded memory and something that needs a table of all items.
    #[error(
        "--times and --forward hold a table of all items, so --max-distance would not bound the memory; leave out the one or the other"
    )]
    UnboundedTable,
    /// Forward distances from an engine that does not tell the distance of each access in order.
    #[error(
        "the engine '{engine}' does not tell the distance of every access in order, which --forward needs; take --engine counting, or leave out --forward"
    )]
    NoForward {
        /// The engine that was asked for.
        engine: String,
    },
    /// An option of engines that cut a trace into chunks, with another engine.
    #[error(
        "{option} is for the engines {engines}, and the engine is '{engine}'; leave it out, or take --engine hp-rda"
    )]
    NoChunks {
        /// The option, as it is typed.
        option: &'static str,
        /// The engines that have it.
        engines: &'static str,
        /// The engine that was asked for.
        engine: String,
    },
    /// A number of chunks, or a size, that an engine cannot have.
    #[error("{option} {number} is out of range; write 1 to {most}")]
    Chunks {
        /// The option, as it is typed.
        option: &'static str,
        /// What was asked for.
        number: u64,
        /// The largest.
        most: u64,
    },
    /// Two options that contradict each other.
    #[error("{one} and {other} do not go together: {why}; leave out the one or the other")]
    Together {
        /// One, as it is typed.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// Ids, which lie nowhere, and a choice of data by where they lie.
    #[error(
        "this is a trace of ids, which are neither on a heap nor on a stack, so --data has nothing to choose by; leave out --data"
    )]
    NoPlaces,
    /// Ids, which lie nowhere, and data to place them by.
    #[error(
        "this is a trace of ids, which have no objects in memory that could be placed; leave out --placement"
    )]
    NothingToPlace,
    /// Ids, which have no bytes, and causes of misses.
    #[error(
        "this is a trace of ids, which have no bytes and no lines, so there is nothing to say of why they miss; leave out --why"
    )]
    NoLines,
    /// A cache that holds less than one item.
    #[error(
        "a cache of {cache} holds no item of {item}; write a larger one, for instance --why=1M"
    )]
    NoCache {
        /// The cache that was asked for.
        cache: Bytes,
        /// Bytes of an item.
        item: Bytes,
    },
    /// Weighing by sizes that the trace does not have.
    #[error(
        "the trace has no sizes of objects to weigh them by; formats that have them are oraclegeneral, vscsi, and csv with columns of ids and sizes (reuselens formats); leave out --weigh"
    )]
    NoSizes,
    /// Distances per program thread from an engine that follows all threads as one stream.
    #[error(
        "the engine '{engine}' follows all threads of the program as one stream and cannot tell distances within each of them; take --engine counting, or leave out --sharing {sharing}"
    )]
    NotPrivate {
        /// The engine that was asked for.
        engine: String,
        /// The sharing that was asked for: `private` or `coherent`.
        sharing: &'static str,
    },
    /// A sample of distances per program thread.
    #[error(
        "--sample looks at all threads of the program as one stream and cannot tell distances within each of them; leave out --sample or --sharing {sharing}"
    )]
    NoPrivateSample {
        /// The sharing that was asked for: `private` or `coherent`.
        sharing: &'static str,
    },
    /// A trace without statements.
    #[error(
        "the trace has no statements to reorder: the program must have debug information (-g), or name its elements and mark its statements (RecordAccess, RecordStatement) and be built with --rl-names; record it again: reuselens record -- PROGRAM"
    )]
    NoStatements,
    /// Too many statements.
    #[error(transparent)]
    TooManyStatements(#[from] reuselens_predict::TooMany),
    /// The order that was found does not keep the dependences: a fault of ours.
    #[error(
        "the order that was found breaks a dependence, so it is worth nothing; this is a bug of reuselens, please report the trace"
    )]
    Reordered,
    /// There is no such engine.
    #[error(transparent)]
    Engine(#[from] crate::engines::EngineError),
    /// An engine for a GPU without one.
    #[error(
        "the engine '{engine}' runs on a GPU: {why}. Or write --device interpreter to run its kernels on the processor, which is slow, or take --engine {processor}"
    )]
    NoGpu {
        /// The engine that was asked for.
        engine: String,
        /// Why there is none.
        why: reuselens_cuda_driver::DriverError,
        /// An engine for the processor that gives the same.
        processor: &'static str,
    },
    /// A device refuses something.
    #[error(transparent)]
    Device(#[from] reuselens_distance_gpu::GpuDistanceError),
    /// The system refuses memory.
    #[error(
        "the system refused {} of memory, and there is no report without it; allow more address space (ulimit -v) or memory, or set a --memory-limit below that",
        Bytes(.0.bytes as u64)
    )]
    Memory(OutOfMemory),
    /// A piece of a trace cannot be analysed, or parts not be put together.
    #[error(transparent)]
    Part(#[from] crate::shard::PartError),
}

impl From<OutOfMemory> for Error {
    fn from(refused: OutOfMemory) -> Error {
        Error::Memory(refused)
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Error::Trace(error.into())
    }
}

impl Error {
    /// Whether the options are wrong: they contradict each other, or this kind of trace.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Trace(_)
            | Error::Capture(_)
            | Error::Device(_)
            | Error::NoGpu { .. }
            | Error::Memory(_)
            | Error::NoStatements
            | Error::TooManyStatements(_) => false,
            Error::Part(error) => error.is_usage(),
            _ => true,
        }
    }
}
