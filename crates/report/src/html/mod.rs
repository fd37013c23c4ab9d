//! Pages: [`page`] for one profile, [`compare`] for several. Each is a single file that fetches
//! nothing.

mod compare;
mod curve;
mod data;
mod elements;
mod footprint;
mod headline;
mod histogram;
mod icicle;
mod lessons;
mod page;
mod paths;
mod plot;
mod scene;
mod source;
mod tables;
mod weights;

pub use compare::{CompareOptions, ProfileVariant, compare};
pub use page::{HtmlOptions, page, page_of};
