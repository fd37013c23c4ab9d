//! Shows arithmetic operations to the sink of a block, with their operands.

use crate::decode::kernel::Kernel;
use crate::sink::{BlockSink, Calculation, OperandValues};

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
    let registers = &kernel.calculations[index as usize].registers;
    let mut operands = [OperandValues::Narrow(&[0; 32]); MOST];
    for (operand, register) in operands.iter_mut().zip(registers) {
        let slot = register.slot as usize;
        *operand = if register.wide {
            OperandValues::Wide(&warp.registers.wide[slot].0)
        } else {
            OperandValues::Narrow(&warp.registers.narrow[slot].0)
        };
    }
    sink.calculate(&Calculation {
        instruction: index,
        block,
        warp: warp.id,
        mask,
        operands: &operands[..registers.len()],
    });
}
