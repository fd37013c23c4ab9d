//! Branch divergence: which basic blocks warps execute with only a part of their threads, and which
//! branches split warps.
//!
//! The counts are made where kernels run; here they are summed, and turned into percentages.
//!
//! Source: Shen 2021, section 3.3; branch efficiency is Nsight Compute's.

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_advice::SourcePlace;
use reuselens_warp::{DeviceCall, InstructionClass};

use crate::{ClassCounts, InstructionMix, ratio};

/// Executions of a basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasicBlockExecutions {
    /// Number of the basic block in the kernel, in the order of the code.
    pub block: u32,
    /// Where it begins, as `file:line:column` or `file:line`; empty if that is not known.
    pub place: Arc<str>,
    /// The calls of device functions that lead there from the kernel.
    pub calls: Arc<[DeviceCall]>,
    /// Executions by warps.
    pub executions: u64,
    /// Of those, the ones whose active lanes were not all threads that the warp began with.
    pub divergent: u64,
}

/// Executions of a branch instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchExecutions {
    /// Number of the branch in the kernel, in the order of the code.
    pub branch: u32,
    /// Its place in the source; empty if that is not known.
    pub place: Arc<str>,
    /// The calls of device functions that lead there from the kernel.
    pub calls: Arc<[DeviceCall]>,
    /// Executions by warps.
    pub executions: u64,
    /// Of those, the ones after which lanes went different ways.
    pub splits: u64,
    /// Active lanes of all executions.
    pub lanes: u64,
}

/// Executions of an instruction under a guard (`@%p st.global`), which is what compilers often make
/// of a short `if`: no branch and no divergence, but lanes whose guard does not hold do nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardedExecutions {
    /// Number of the instruction among those of the kernel that have a guard, in the order of the
    /// code.
    pub instruction: u32,
    /// Its place in the source; empty if that is not known.
    pub place: Arc<str>,
    /// The calls of device functions that lead there from the kernel.
    pub calls: Arc<[DeviceCall]>,
    /// Executions by warps.
    pub executions: u64,
    /// Active lanes of all executions.
    pub lanes: u64,
    /// Of those, the ones whose guard did not hold.
    pub lanes_off: u64,
}

/// Executions of an instruction. One of a function that was put in the place of several calls is
/// one for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionExecutions {
    /// Number of the instruction in the kernel, in the order of the code.
    pub instruction: u32,
    /// Its place in the source, as `file:line`; empty if that is not known.
    pub place: Arc<str>,
    /// Its column there, from 1; 0 if that is not known.
    pub column: u32,
    /// The calls of device functions that lead there from the kernel.
    pub calls: Arc<[DeviceCall]>,
    /// Its line in the PTX; 0 if that is not known.
    pub ptx_line: u32,
    /// The instruction, as PTX writes it.
    pub text: Arc<str>,
    /// What it is.
    pub class: InstructionClass,
    /// How often it was executed.
    pub counts: ClassCounts,
}

/// The control flow of a kernel, and how often its instructions were executed. Empty where it was
/// not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchReport {
    /// Basic blocks, by their numbers.
    pub basic_blocks: Vec<BasicBlockExecutions>,
    /// Branches, by their numbers.
    pub branches: Vec<BranchExecutions>,
    /// Instructions under a guard that are no branches, by their numbers.
    pub guarded: Vec<GuardedExecutions>,
    /// All instructions, by their numbers.
    pub instructions: Vec<InstructionExecutions>,
}

/// The control flow of one line of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineBranches {
    /// `file:line`.
    pub line: String,
    /// The calls of device functions that lead there from the kernel; in a sum over several call
    /// paths, those of one of them.
    pub calls: Arc<[DeviceCall]>,
    /// Executions of basic blocks that begin there.
    pub executions: u64,
    /// Divergent ones of these.
    pub divergent: u64,
    /// Executions of branches there.
    pub branches: u64,
    /// Those of these that split the warp.
    pub splits: u64,
    /// Executions of other instructions under a guard there.
    pub guarded: u64,
    /// Active lanes of those.
    pub guarded_lanes: u64,
    /// Of those lanes, the ones that the guard switched off.
    pub lanes_off: u64,
    /// All instructions there.
    pub instructions: ClassCounts,
}

impl BranchReport {
    /// All instructions by class.
    pub fn mix(&self) -> InstructionMix {
        let mut mix = InstructionMix::default();
        for row in &self.instructions {
            mix.add(row.class, &row.counts);
        }
        mix
    }

    /// Executions of basic blocks by warps.
    pub fn executions(&self) -> u64 {
        self.basic_blocks.iter().map(|block| block.executions).sum()
    }

    /// Divergent executions of basic blocks.
    pub fn divergent(&self) -> u64 {
        self.basic_blocks.iter().map(|block| block.divergent).sum()
    }

    /// Divergent executions of basic blocks, of all: the published *branch divergence*, from 0 to
    /// 1.
    pub fn divergence(&self) -> f64 {
        ratio(self.divergent(), self.executions())
    }

    /// Executions of branches after which all lanes went the same way, of all: *branch efficiency*,
    /// from 0 to 1. 1 without branches.
    pub fn efficiency(&self) -> f64 {
        let all: u64 = self.branches.iter().map(|branch| branch.executions).sum();
        let splits: u64 = self.branches.iter().map(|branch| branch.splits).sum();
        match all {
            0 => 1.0,
            all => ratio(all.saturating_sub(splits), all),
        }
    }

    /// Basic blocks, branches and instructions summed by source line, in the order of files and
    /// lines. What has no place is under the empty line.
    pub fn by_line(&self) -> Vec<LineBranches> {
        let mut lines: Vec<LineBranches> = Vec::new();
        for one in self.by_call() {
            match lines.last_mut().filter(|last| last.line == one.line) {
                Some(last) => last.merge(&one),
                None => lines.push(one),
            }
        }
        lines
    }

    /// As [`BranchReport::by_line`], with a row for each of the calls of device functions that lead
    /// to a line.
    pub fn by_call(&self) -> Vec<LineBranches> {
        let mut lines = LineRows::new();
        for block in &self.basic_blocks {
            let line = line_of(&mut lines, &block.place, &block.calls);
            line.executions += block.executions;
            line.divergent += block.divergent;
        }
        for branch in &self.branches {
            let line = line_of(&mut lines, &branch.place, &branch.calls);
            line.branches += branch.executions;
            line.splits += branch.splits;
        }
        for guarded in &self.guarded {
            let line = line_of(&mut lines, &guarded.place, &guarded.calls);
            line.guarded += guarded.executions;
            line.guarded_lanes += guarded.lanes;
            line.lanes_off += guarded.lanes_off;
        }
        for row in &self.instructions {
            let line = line_of(&mut lines, &row.place, &row.calls);
            line.instructions.merge(&row.counts);
        }
        lines.into_values().collect()
    }

    /// Adds the executions of a launch of the same code.
    pub fn merge(&mut self, other: &BranchReport) {
        merge_rows(
            &mut self.basic_blocks,
            &other.basic_blocks,
            |row| row.block,
            |row, more| {
                row.executions += more.executions;
                row.divergent += more.divergent;
            },
        );
        merge_rows(
            &mut self.branches,
            &other.branches,
            |row| row.branch,
            |row, more| {
                row.executions += more.executions;
                row.splits += more.splits;
                row.lanes += more.lanes;
            },
        );
        merge_rows(
            &mut self.guarded,
            &other.guarded,
            |row| row.instruction,
            |row, more| {
                row.executions += more.executions;
                row.lanes += more.lanes;
                row.lanes_off += more.lanes_off;
            },
        );
        merge_rows(
            &mut self.instructions,
            &other.instructions,
            |row| row.instruction,
            |row, more| row.counts.merge(&more.counts),
        );
    }
}

/// Adds rows to those with the same number, and keeps all in the order of numbers.
fn merge_rows<R: Clone>(
    rows: &mut Vec<R>,
    others: &[R],
    number: impl Fn(&R) -> u32,
    add: impl Fn(&mut R, &R),
) {
    for other in others {
        match rows.binary_search_by_key(&number(other), &number) {
            Ok(at) => add(&mut rows[at], other),
            Err(at) => rows.insert(at, other.clone()),
        }
    }
}

impl LineBranches {
    /// Adds the executions of another row.
    fn merge(&mut self, other: &LineBranches) {
        self.executions += other.executions;
        self.divergent += other.divergent;
        self.branches += other.branches;
        self.splits += other.splits;
        self.guarded += other.guarded;
        self.guarded_lanes += other.guarded_lanes;
        self.lanes_off += other.lanes_off;
        self.instructions.merge(&other.instructions);
    }
}

/// By file, line, and the calls that lead there.
type LineRows<'p> = BTreeMap<(&'p str, u64, &'p [DeviceCall]), LineBranches>;

fn line_of<'m, 'p>(
    lines: &'m mut LineRows<'p>,
    place: &'p str,
    calls: &'p Arc<[DeviceCall]>,
) -> &'m mut LineBranches {
    let (file, line) = file_and_line(place);
    lines
        .entry((file, line, &calls[..]))
        .or_insert_with(|| LineBranches {
            line: source_line(place),
            calls: Arc::clone(calls),
            ..LineBranches::default()
        })
}

/// `file:line` of a place with or without a column; empty if the place is.
pub fn source_line(place: &str) -> String {
    match file_and_line(place) {
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// File and line of a place; line 0 if it has none.
fn file_and_line(place: &str) -> (&str, u64) {
    SourcePlace::parse(place).map_or((place, 0), |it| (it.file, it.line))
}

#[cfg(test)]
mod tests {
    use super::source_line;

    #[test]
    fn source_lines_are_without_columns_and_unknown_lines() {
        for (place, line) in [
            ("/p/k.cu:12:7", "/p/k.cu:12"),
            ("k.cu:12", "k.cu:12"),
            ("k.cu:0", "k.cu"),
            ("k.cu:0:0", "k.cu"),
            ("k.cu", "k.cu"),
            ("", ""),
        ] {
            assert_eq!(source_line(place), line);
        }
    }
}
