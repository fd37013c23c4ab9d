//! [`SampledUse`]: how well a sample of items knows the utilisation of lines.

use serde::{Deserialize, Serialize};

/// The share of the bytes of fills that are used, as a sample of the items has it, and its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledUse {
    /// The object whose fills these are: index into
    /// [`Profile::objects`](crate::Profile::objects). `None` of all together.
    pub object: Option<u32>,
    /// Sampled items with a fill.
    pub items: u64,
    /// The share of the bytes that is used, from 0 to 1.
    pub utilisation: f64,
    /// With a confidence of 95%, that of all items differs by at most this; 1 if too few items were
    /// sampled to say so.
    pub half_width: f64,
}
