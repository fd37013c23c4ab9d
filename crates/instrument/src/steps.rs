//! [`CodeStep`]: what a replay of records knows of each instruction of a file.

use std::collections::BTreeSet;

use reuselens_warp::{Space, WarpKind};

use crate::left_out::{LeftOut, LeftOutReason};
use crate::site::Instrumented;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeStep {
    /// Line of the opcode in the PTX that was given, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// The site of the basic block that it is in.
    pub block: u32,
    /// Its own site; none if it has no hook.
    pub site: Option<u32>,
    /// What it does beside what hooks record.
    pub act: StepAct,
}

/// What an instruction does beside what hooks record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepAct {
    /// Nothing that matters here.
    Other,
    /// Accesses parameters of the kernel, or arguments and results of calls.
    Pass {
        space: Space,
        kind: WarpKind,
        bytes: u8,
    },
    /// Waits for the other warps of the block.
    Wait,
    /// Ends the function.
    Return,
    /// Calls a function of this name, or of the address in the register of this name.
    Call(String),
}

impl Instrumented {
    /// What has no hook in a kernel and in the functions that it calls; with PTX that has hooks for
    /// its flow ([`InstrumentOptions::flow`](crate::InstrumentOptions::flow)).
    ///
    /// Cost: a pass over the instructions of the file for each call of a call.
    pub fn left_out_of(&self, kernel: &str) -> Vec<&LeftOut> {
        let mut reached = BTreeSet::from([kernel]);
        let mut before = 0;
        while before < reached.len() {
            before = reached.len();
            for step in &self.steps {
                let function = self.sites[step.block as usize].function.as_str();
                if let StepAct::Call(callee) = &step.act
                    && reached.contains(function)
                {
                    reached.insert(callee);
                }
            }
        }
        let is_of = |left: &&LeftOut| match left.reason {
            LeftOutReason::NoBody => reached.contains(left.opcode.as_str()),
            _ => reached.contains(left.function.as_str()),
        };
        self.left_out.iter().filter(is_of).collect()
    }
}
