//! Accesses that are left out where kernels go on after a bad one: see [`OnFault`].

use std::collections::{BTreeMap, HashMap};

use crate::decode::KernelPlace;

use super::fault::{Fault, KernelError};

/// What happens when a lane accesses memory that is not there, or by an address that is no multiple
/// of the access's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFault {
    /// The kernel is stopped, with an error.
    #[default]
    Stop,
    /// The lane's access is left out: a load gives 0, a store and an atomic operation change
    /// nothing, and an atomic operation gives 0. Sinks do not see it.
    Continue,
}

/// The accesses of an instruction that were left out.
#[derive(Clone, Debug)]
pub struct SkippedAccess {
    /// The kernel's name, mangled.
    pub kernel: String,
    /// The instruction.
    pub place: KernelPlace,
    /// Accesses of lanes.
    pub lanes: u64,
    /// The first of them, by the order of the blocks, as it would have stopped the kernel.
    pub first: KernelError,
}

/// The first of them as an error says it, and how many there are.
impl std::fmt::Display for SkippedAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lanes {
            1 => write!(f, "{} (left out)", self.first),
            lanes => write!(
                f,
                "{} (the first of {lanes} that were left out)",
                self.first
            ),
        }
    }
}

/// What a block has left out, by operation.
#[derive(Debug, Default)]
pub struct SkippedLog(BTreeMap<u32, SkippedByOp>);

#[derive(Debug)]
pub struct SkippedByOp {
    pub lanes: u64,
    /// The warp that did so first, and how.
    pub warp: u32,
    pub fault: Box<Fault>,
}

impl SkippedLog {
    /// Counts an access of a lane. `fault` is asked only for the first one of an operation.
    pub fn add(&mut self, pc: u32, warp: u32, fault: impl FnOnce() -> Box<Fault>) {
        let found = self.0.entry(pc).or_insert_with(|| SkippedByOp {
            lanes: 0,
            warp,
            fault: fault(),
        });
        found.lanes += 1;
    }

    /// What was left out, by the number of the operation.
    pub fn into_ops(self) -> impl Iterator<Item = (u32, SkippedByOp)> {
        self.0.into_iter()
    }
}

/// What was left out by several blocks or launches, by kernel and place.
#[derive(Clone, Debug, Default)]
pub struct SkippedSum {
    found: Vec<SkippedAccess>,
    indices: HashMap<(String, KernelPlace), usize>,
}

impl SkippedSum {
    /// Adds what was left out later.
    pub fn add(&mut self, more: Vec<SkippedAccess>) {
        for access in more {
            let next = self.found.len();
            let key = (access.kernel.clone(), access.place.clone());
            match *self.indices.entry(key).or_insert(next) {
                index if index < next => self.found[index].lanes += access.lanes,
                _ => self.found.push(access),
            }
        }
    }

    /// In the order in which they were found.
    pub fn accesses(&self) -> &[SkippedAccess] {
        &self.found
    }

    /// In the order in which they were found.
    pub fn into_accesses(self) -> Vec<SkippedAccess> {
        self.found
    }
}
