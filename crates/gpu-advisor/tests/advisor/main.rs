//! Tests of the analyses by what they report.

mod brute_force;
mod cases;
mod heat;
mod long_streams;
mod merged;
mod published;
mod rules;
mod streams;
mod support;
mod worked;
