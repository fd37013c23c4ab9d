//! Why a program misses, and what to change: a [`Profile`](reuselens_profile::Profile) in,
//! findings out.
//!
//! [`advise`] applies each rule of the registry ([`rules`]) whose data the profile has, and returns
//! a [`MissAdvice`]: the findings by falling cost, and what is [`Unknown`] with the command that
//! records it. Most rules need why accesses miss ([`Causes`](reuselens_profile::Causes)); a few
//! need the distances alone. Nothing is read or written.
//!
//! A rule is a file in `rules/`, with its description `RULE`, its thresholds, and a function
//! `find`. Rules ask `MissFacts`, which sums the profile's cells once.
//!
//! For: whoever shows what to change (the crate `report`). Not for: GPU kernels (the crate
//! `gpu-advisor`), nor for counting why accesses miss (the crate `causes`).

mod facts;
mod hottest;
mod miss_advice;
mod need;
mod rules;

pub use miss_advice::{MissAdvice, advise};
pub use need::{NextStep, Unknown, repeat_command};
pub use rules::rules;
