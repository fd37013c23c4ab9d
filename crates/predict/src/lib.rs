//! Paths to accesses, reuse distances for inputs that have not been run, and orders of statements
//! that shorten them.
//!
//! - [`PathTracker`]: the path of a thread, from the basic blocks that it runs, with loops
//!   squashed.
//! - [`predict()`]: everything about an input of another size, from profiles of two or more;
//!   [`predict_program`] and [`predict_groups`] are its parts, [`Fit`] and [`estimate()`] what
//!   those are made of.
//! - [`predict_profile`]: a profile of such an input, by data objects.
//! - [`Check`], [`GroupCheck`], [`is_right`]: how good a prediction was.
//! - [`reuse_driven`]: an order of the statements of a trace that brings uses of the same data
//!   together.
//!
//! No function here reads or writes anything; profiles come from the `profile` crate.
//!
//! For: anyone who has profiles of two inputs, or a trace of blocks.
//! Not for: making profiles (the `reuselens` crate) or showing them (the `report` crate).

mod check;
mod estimate;
mod fixed;
mod group;
mod merging;
mod object_growth;
mod pieces;
mod predicted_profile;
mod prediction;
mod program;
mod program_prediction;
mod ranking_accuracy;
mod reorder;
mod rounding;
mod shape;
mod share_model;
mod size_scale;
mod totals;
mod tracker;
mod warnings;

pub use check::{GroupCheck, GroupSeen, WrongGroup, are_near, are_right, is_right, overlap, wrong};
pub use estimate::{
    CONFIDENCE, Estimate, Intervals, estimate, estimate_distance, power, straight, work,
};
pub use fixed::fixed_data;
pub use group::{
    Asked, GroupForecast, GroupRun, Groups, PatternPrediction, Unpredictable, predict_groups,
};
pub use merging::{Merging, RARE};
pub use predicted_profile::{ObjectEstimate, PredictedProfile, UnpredictedObject, predict_profile};
pub use prediction::{
    CacheForecast, Check, FAR, GroupMisses, MOST_ITEMS, PredictOptions, Prediction, predict,
};
pub use program::{By, ProgramError, groups, same_program, sizes};
pub use program_prediction::{
    GROUPS, GroupPrediction, ProgramPrediction, ProgramRun, Rehearsal, data_size, group_means,
    predict_program, without,
};
pub use ranking_accuracy::RankingAccuracy;
pub use reorder::{Statements, TooMany, keeps_dependences, reuse_driven};
pub use reuselens_control_flow::{BasicBlock, BlockEnd};
pub use shape::{Fit, Point, Shape};
pub use totals::{CacheSums, GroupSums};
pub use tracker::PathTracker;
