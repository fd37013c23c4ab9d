//! Profiles as pages: each one a single file that fetches nothing.

mod curve;
mod data;
mod escape;
mod headline;
mod histogram;
mod icicle;
mod lessons;
mod page;
mod plot;
mod scene;
mod source;
mod tables;

pub use page::{HtmlOptions, page};
