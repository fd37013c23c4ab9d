//! Pages: [`page`] for one profile, [`compare`] for several, [`sheet`] for other numbers. Each is a
//! single file that fetches nothing.

mod compare;
mod curve;
mod data;
mod elements;
mod escape;
mod footprint;
mod headline;
mod histogram;
mod icicle;
mod lessons;
pub(crate) mod page;
mod paths;
mod plot;
mod scene;
mod sheet;
mod source;
mod stacked;
mod tables;
mod weights;

pub use compare::{CompareOptions, ProfileVariant, compare};
pub(crate) use escape::{escape, percent, with_code};
pub use page::{HtmlOptions, page, page_of};
pub(crate) use sheet::table;
pub use sheet::{SheetSection, sheet};
pub(crate) use stacked::StackedTable;
