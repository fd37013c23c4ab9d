//! Pages: single files that fetch nothing.

mod escape;
pub mod page;

pub use escape::{change, escape, inline, paragraphs, percent, script_json, with_code};
