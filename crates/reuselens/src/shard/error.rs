//! Why parts cannot be made, read or merged.

use std::path::PathBuf;

use thiserror::Error;

/// Why a part cannot be made, read, merged or finished.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PartError {
    /// A pipe or the like: it cannot be read by several, each from its beginning.
    #[error(
        "{} is no file, and only a file can be analysed in pieces: every piece reads it from its beginning; save it to a file first, or use `reuselens analyze` for all of it at once", path.display()
    )]
    NoFile {
        /// What it was called.
        path: PathBuf,
    },
    /// A compressed trace: how far a reader is in it when a block comes out is chance.
    #[error(
        "{} is compressed with {packing}, and only an unpacked file can be cut into pieces that fit; unpack it first (`{unpack} {}`), or use `reuselens analyze` for all of it at once", path.display(), path.display()
    )]
    Packed {
        /// The file.
        path: PathBuf,
        /// What it is packed with.
        packing: &'static str,
        /// The command that unpacks it.
        unpack: &'static str,
    },
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The source does not say how far it is.
    #[error(
        "this trace does not say how long it is, so it cannot be cut into pieces; save it to a file, or use `reuselens analyze` for all of it at once"
    )]
    NoLength,
    /// A way of counting that does not go piece by piece.
    #[error(
        "the engine '{engine}' does not work piece by piece; leave --engine out (pieces are analysed with the counting tree)"
    )]
    Engine {
        /// What was asked for.
        engine: String,
    },
    /// Something that is only counted over a whole trace.
    #[error(
        "{option} is not counted piece by piece; leave it out, or use `reuselens analyze` for all of the trace at once"
    )]
    Option {
        /// What was asked for, as it is typed.
        option: &'static str,
    },
    /// It would take too much.
    #[error(
        "piece {piece} needs more memory than the {limit} it may have; raise --memory-limit, take a larger --granularity, or cut the trace into more pieces"
    )]
    OutOfMemory {
        /// Which.
        piece: String,
        /// The limit.
        limit: reuselens_units::Bytes,
    },
    /// Not of the same trace.
    #[error(
        "pieces {one} and {other} are of different traces ({one_is}; {other_is}), so they have nothing to add up; make all with `reuselens shard I/N TRACE` from the same file"
    )]
    OtherTrace {
        /// Pieces of the first.
        one: String,
        /// Pieces of the other.
        other: String,
        /// What the first trace is.
        one_is: String,
        /// What the other trace is.
        other_is: String,
    },
    /// Not measured in the same way.
    #[error(
        "pieces {one} and {other} were made in different ways: one with {one_is}, the other with {other_is}; make all pieces with the same options and the same version of reuselens"
    )]
    OtherWay {
        /// Pieces of the first.
        one: String,
        /// Pieces of the other.
        other: String,
        /// Options and version of the first.
        one_is: String,
        /// Options and version of the other.
        other_is: String,
    },
    /// The same piece twice.
    #[error("piece {piece} is in both {one} and {other}; name each piece once")]
    Twice {
        /// Which.
        piece: String,
        /// Pieces of the first.
        one: String,
        /// Pieces of the other.
        other: String,
    },
    /// Something is missing between them, or before or behind.
    #[error("missing: {missing}; make it with `reuselens shard {first} TRACE`")]
    Missing {
        /// The pieces.
        missing: String,
        /// The first of them.
        first: String,
    },
    /// The earlier part ended with other numbers than the later began with.
    #[error(
        "pieces {one} and {other} do not fit: the accesses before the second were attributed in another way than by the first; make both where the same program files can be read, from the same trace"
    )]
    Misfit {
        /// Pieces of the first.
        one: String,
        /// Pieces of the other.
        other: String,
    },
    /// No part at all.
    #[error("there is no part to merge; name some, for instance `reuselens merge trace.*.rlpart`")]
    Nothing,
    /// Unpacked, the part takes more memory than there is. The message does not name the file.
    #[error(
        "this part needs {needed} of memory to be read, and it may have {free} (three quarters of what is free); read it on a machine with more memory, or make it again with `reuselens shard I/N TRACE` if it cannot be that large"
    )]
    TooLarge {
        /// What reading it takes.
        needed: reuselens_units::Bytes,
        /// What it may take.
        free: reuselens_units::Bytes,
    },
    /// The file of a part cannot be read. The message does not name the file.
    #[error(
        "this is no whole part of an analysis: {0}; copy it again, or make it again with `reuselens shard I/N TRACE`"
    )]
    Damaged(String),
    /// A later reuselens wrote it.
    #[error(
        "this part has form {found}, and this reuselens reads forms up to {known}: a later version wrote it; merge it with that version, or make it again with this one"
    )]
    TooNew {
        /// The version of its form.
        found: u32,
        /// The latest that can be read.
        known: u32,
    },
}

impl PartError {
    /// Whether the options ask for what is not done piece by piece.
    pub fn is_usage(&self) -> bool {
        matches!(self, PartError::Engine { .. } | PartError::Option { .. })
    }
}
