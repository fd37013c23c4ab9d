//! Findings: what is wrong with a program's accesses, where, by what evidence, what that costs, and
//! what to change.
//!
//! A [`FindingRule`] is what is looked for; a [`Finding`] is a place where it applied. Advisors
//! (the crate `gpu-advisor` is one) take values and return findings; reports print them. Nothing
//! here knows where the values are from.
//!
//! For: crates with rules, and what shows findings. Not for: the rules themselves.

mod finding;
mod rule;
mod source_place;

pub use finding::{Confidence, Cost, Finding, FindingPlace, capitalised, ranked};
pub use rule::{Example, FindingRule};
pub use source_place::SourcePlace;
