//! Profiles as text, HTML, JSON, CSV and Parquet.
//!
//! Every function here turns a [`Profile`](reuselens_locality::Profile) (or several) into a string or
//! bytes. Nothing is read or written, nothing is fetched, and equal profiles give equal bytes.
//!
//! - [`page`]: one profile as one offline HTML file.
//!
//! For: showing results. Not for: computing them; every number here comes from the `locality` crate.

mod caches;
mod html;
mod numbers;
mod words;

pub use html::{HtmlOptions, page};
