//! `assert` in kernels: the kernel is stopped, with what CUDA prints of it.

use crate::decode::kernel::{AssertOp, LocalPlace, NamedSpace};
use crate::lanes::WARP;

use super::fault::{Fault, FaultKind};
use super::grid::LaunchConfig;
use super::memory::BlockMemory;
use super::print::{MAX_STRING, string_at};
use super::warp::Warp;

/// An assertion that does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedAssertion {
    /// What is asserted.
    pub condition: String,
    /// The file, as the compiler wrote it.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// The lanes of the warp for which it does not hold.
    pub lanes: u32,
}

impl FailedAssertion {
    /// What CUDA prints: a line for each lane.
    pub fn text(&self, launch: &LaunchConfig, block: u32, warp: u32) -> String {
        let [x, y, z] = launch.place(block);
        let line = |lane: u32| {
            let [a, b, c] = launch.thread(warp * WARP as u32 + lane);
            format!(
                "{}:{}: {}: block: [{x},{y},{z}], thread: [{a},{b},{c}] Assertion `{}` failed.\n",
                self.file, self.line, self.function, self.condition
            )
        };
        let lanes = (0..WARP as u32).filter(|lane| self.lanes >> lane & 1 != 0);
        lanes.map(line).collect()
    }
}

/// Stops the kernel, in which an assertion does not hold for the lanes of the mask. The strings are
/// those of the first of them.
#[cold]
pub fn fail(memory: &BlockMemory<'_>, warp: &Warp, op: &AssertOp, mask: u32) -> Box<Fault> {
    let lane = mask.trailing_zeros() as usize & 31;
    let handed = |place: LocalPlace, bytes| {
        let address = place.address(&warp.registers, lane);
        memory.read(NamedSpace::Local, warp, address, bytes, lane)
    };
    let text = |place| -> Result<String, Box<Fault>> {
        let bytes = string_at(memory, warp, lane, handed(place, 8), MAX_STRING)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let failed = || -> Result<FailedAssertion, Box<Fault>> {
        Ok(FailedAssertion {
            condition: text(op.condition)?,
            file: text(op.file)?,
            line: handed(op.line, 4) as u32,
            function: text(op.function)?,
            lanes: mask,
        })
    };
    match failed() {
        Ok(failed) => {
            let what = format!(
                "the assertion `{}` does not hold, in {}",
                failed.condition, failed.function
            );
            let mut fault = Fault::new(FaultKind::Assertion, Some(lane as u32), what);
            fault.assertion = Some(failed);
            fault
        }
        Err(fault) => fault,
    }
}
