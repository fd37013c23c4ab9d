//! [`PtxSum`]: what the instructions of PTX do that a source line was compiled to.

use std::collections::BTreeMap;

use reuselens_gpu_advisor::{ClassCounts, InstructionExecutions, SiteCounts, SiteReport};

/// An instruction of PTX, in all ways of calls that lead to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PtxSum {
    /// As PTX writes it; of streams its opcode only.
    pub text: String,
    /// Its column in the source, from 1; 0 if that is not known.
    pub column: u32,
    /// How often it was executed; zeros where only instructions that access memory are known.
    pub executed: ClassCounts,
    /// What it does, if it accesses memory.
    pub counts: SiteCounts,
}

/// The instructions of a source line, in the order of the PTX: by kernel, line there, and opcode,
/// since a line of PTX does not say in which of several files it is.
#[derive(Clone, Debug, Default)]
pub(super) struct PtxSums(BTreeMap<(String, u32, String), PtxSum>);

impl PtxSums {
    /// Adds the executions of an instruction of a kernel.
    pub fn add_executed(&mut self, kernel: &str, row: &InstructionExecutions) {
        if row.ptx_line == 0 {
            return;
        }
        let sum = self.sum(kernel, row.ptx_line, opcode(&row.text));
        // Sites know the opcode only.
        row.text.as_ref().clone_into(&mut sum.text);
        sum.column = row.column;
        sum.executed.merge(&row.counts);
    }

    /// Adds what a memory instruction of a kernel does, if it is one of PTX.
    pub fn add_site(&mut self, kernel: &str, site: &SiteReport) {
        let Some((opcode, line)) = site.code.ptx() else {
            return;
        };
        let sum = self.sum(kernel, line, opcode);
        if sum.text.is_empty() {
            opcode.clone_into(&mut sum.text);
        }
        sum.counts.merge(&site.counts);
    }

    /// The instructions, by kernel and line.
    pub fn rows(&self) -> impl Iterator<Item = (&str, u32, &PtxSum)> {
        let rows = self.0.iter();
        rows.map(|((kernel, line, _), sum)| (kernel.as_str(), *line, sum))
    }

    fn sum(&mut self, kernel: &str, line: u32, opcode: &str) -> &mut PtxSum {
        let key = (kernel.to_owned(), line, opcode.to_owned());
        self.0.entry(key).or_default()
    }
}

/// The opcode of an instruction, which comes after its guard: `add.u32` of `@%p1 add.u32 %r1, 1;`.
fn opcode(text: &str) -> &str {
    let mut words = text.split([' ', ';']);
    let opcode = words.find(|word| !word.starts_with('@'));
    opcode.unwrap_or_default()
}
