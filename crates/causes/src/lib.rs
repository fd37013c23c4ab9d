//! Why accesses miss, from columns of item accesses with their distances.
//!
//! Each analysis takes [`MissColumns`], piece by piece in the order of the trace, and returns
//! values of [`reuselens_locality::Causes`] at the end.
//!
//! For: analyses of a profile that is to say why. Not for: distances (the crate `distance`), nor
//! what follows from the counts (the crate `advisor`).

mod miss_columns;

pub use miss_columns::{MissColumns, NO_OFFSET};
