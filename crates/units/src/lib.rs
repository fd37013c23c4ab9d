//! Units and small value types that every reuselens crate shares.
//!
//! A number without a unit is how one tool's "reuse" comes to mean requests and another's distinct
//! lines. Here every quantity that crosses a crate's border is a newtype: [`Bytes`], [`Items`],
//! [`Accesses`], [`Distance`], and the [`Granularity`] that turns addresses into items.
//!
//! For: every crate of the workspace. Not for: anything that computes; there is no analysis here.

mod distance;
mod format;
mod granularity;
mod quantity;
mod shown;

pub use distance::Distance;
pub use format::{
    DASH, counted, grouped, grouped_wide, hexadecimal, listed, percent, ratio_percent,
};
pub use granularity::{Granularity, GranularityError};
pub use quantity::{Accesses, Bytes, Items, SizeError};
pub use shown::{shown, shown_json, shown_lines};
