//! Each rule on profiles made by hand: it applies to the fault, and not where a figure is on the
//! other side of its threshold.

mod fields;
mod loops;
mod memory;
mod registry;
mod support;
mod threads;
