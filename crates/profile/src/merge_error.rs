//! [`MergeError`]: why profiles cannot be merged.

use thiserror::Error;

/// Profiles that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is none.
    #[error(
        "there is no profile to merge; name one or more, for instance `reuselens merge a.rlprof b.rlprof`"
    )]
    Nothing,
    /// They count different items.
    #[error(
        "the profiles count different items ({first} and {other} bytes each), so their distances do not add up; make them all with --granularity {first}"
    )]
    Granularity {
        /// Bytes per item of the first.
        first: u64,
        /// Bytes per item of one that differs.
        other: u64,
    },
    /// They look back over different accesses.
    #[error(
        "some of the profiles have another cache for each thread than others, or one for all threads, so they do not add up; make them all with the same --sharing"
    )]
    Sharing,
    /// Distances of some are sums of sizes.
    #[error(
        "some of the profiles weigh objects by their sizes and others do not, so their distances do not add up; make them all with --weigh bytes, or none"
    )]
    Weight,
    /// Some have placement data, or chunks of other sizes.
    #[error(
        "some of the profiles have placement data, or other chunks of large objects, and others do not, so their objects do not add up; make them all with the same --placement, or none"
    )]
    Placement,
    /// The chunks of an object have other sizes.
    #[error(
        "the profiles split '{0}' into chunks of different sizes, so its chunks do not add up; make them all with one chunk size that is large enough, for instance --placement=16M"
    )]
    Chunks(String),
}
