//! Shows arithmetic operations to the sink of a block, with their operands.

use crate::decode::kernel::Kernel;
use crate::sink::{BlockSink, Calculation, OperandValues};
use crate::syntax::types::Type;

use super::warp::Warp;

/// Sources of an operation at most.
const MOST: usize = 3;

/// Shows the operation with this number to the sink, if any lane does it.
#[inline(never)]
pub fn show<B: BlockSink>(
    kernel: &Kernel,
    warp: &Warp,
    sink: &mut B,
    block: u32,
    index: u32,
    mask: u32,
) {
    if mask == 0 {
        return;
    }
    let calculation = &kernel.calculations[index as usize];
    let mut operands = [OperandValues::Predicate(0); MOST];
    let sources = calculation.types.iter().zip(&calculation.registers);
    for (operand, (ty, &register)) in operands.iter_mut().zip(sources) {
        let (registers, slot) = (&warp.registers, register as usize);
        *operand = match ty {
            Type::Pred => OperandValues::Predicate(registers.predicates[slot]),
            ty if ty.size() == 8 => OperandValues::Wide(&registers.wide[slot].0),
            _ => OperandValues::Narrow(&registers.narrow[slot].0),
        };
    }
    sink.calculate(&Calculation {
        instruction: index,
        block,
        warp: warp.id,
        mask,
        operands: &operands[..calculation.types.len()],
    });
}
