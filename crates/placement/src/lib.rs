//! Which data objects belong in a small fast memory (a scratchpad, HBM, DRAM above CXL), and how
//! far a choice is from the best one.
//!
//! Data flows one way:
//!
//! - [`MemoryMachine`] is the memory: its tiers, fastest first, as a TOML file describes them.
//! - [`candidates`] takes the objects of a profile that a placement can move.
//! - [`Objective`] says what an object is worth in a tier; [`Problem`] holds the numbers that are
//!   left: sizes, weights, bins.
//! - [`RULES`] are the ways to choose: the published greedy rule, what others do, and the optimum
//!   by branch and bound. All are measured by the same objective.
//! - [`plan`] does all of that, and is what a report shows.
//! - [`worth_elsewhere`] says what a plan is worth in another run.
//! - [`PlacementFile`] is a plan as a file, by which a program can be run.
//!
//! ```
//! use reuselens_placement::{Problem, ProblemBin, ProblemItem, optimum};
//!
//! let item = |bytes, weight| {
//!     ProblemItem { bytes, weight, owner: None, frequency: weight, live: None }
//! };
//! let problem = Problem {
//!     items: vec![item(6, 7.0), item(5, 5.0), item(5, 5.0)],
//!     bins: vec![ProblemBin { tier: 0, bytes: 10, gain: 1.0, owner: None }],
//! };
//! // The densest object leaves no room for another; the two others are worth more together.
//! let best = optimum::solve(&problem, optimum::NODES);
//! assert_eq!(best.choice, [None, Some(0), Some(0)]);
//! assert!(best.is_proven);
//! ```
//!
//! Source: Shen, *Exploring Heterogeneous Architectures with Tools and Applications*, 2021,
//! chapter 2 (DataPlacer).
//!
//! For: anyone who has a profile and a machine with more than one memory.
//! Not for: making profiles (the `reuselens` crate), showing plans (the `report` crate), or moving
//! data; nothing here reads a file or asks the machine.

mod baselines;
mod candidate;
mod chunks;
mod curve;
mod file;
mod flexmalloc;
mod front_cache;
mod greedy;
mod machine;
mod objective;
pub mod optimum;
mod phases;
mod plan;
mod problem;
mod rules;
mod slots;
mod temporal;
mod topology;
mod transfer;

pub use candidate::{Candidate, CandidateOptions, LeftAside, Unplaceable, candidates};
pub use chunks::exact_size;
pub use curve::{CapacityPoint, capacity_curve};
pub use file::{
    FileObject, FileTier, HUGE_PAGE, LeftOut, MAX_FILE_BYTES, PIECE_OF_TIER, PlacedKind,
    PlacementFile, PlacementFileError,
};
pub use flexmalloc::{ImportError, Imported, import_flexmalloc};
pub use machine::{
    LINE_FILL_BUFFERS, MachineFileError, MemoryMachine, MemoryTier, PARALLELISM, SHIPPED, TierKind,
    TierScope,
};
pub use objective::Objective;
pub use phases::{ContextAdvice, ContextUse, Phase, PhaseVerdict, Phases};
pub use plan::{Placed, PlacementPlan, PlanError, PlanOptions, Reason, RuleResult, TierUse, plan};
pub use problem::{Choice, Problem, ProblemBin, ProblemItem};
pub use rules::{PlacementRule, RULES};
pub use topology::{SysfsNode, TopologyError, machine_of_hwloc, machine_of_sysfs};
pub use transfer::{TransferredPlan, worth_elsewhere};
