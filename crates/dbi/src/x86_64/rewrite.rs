//! [`append`]: puts an instruction of the program into a block's body. The bytes stay as they are,
//! with two exceptions. An address relative to the instruction's own becomes an absolute address by
//! way of the scratch register. The segment register gs, whose base is 0 in the program and is our
//! own in the cache, is left out.

use iced_x86::{Encoder, Instruction, Mnemonic, OpKind, Register};

use super::body::{Body, FS};
use super::registers::{number, register};
use crate::image::thread::Thread;

/// Error: an instruction cannot be encoded with the body's scratch register.
pub struct Unfit;

/// Appends an instruction; `bytes` are its own.
pub fn append(body: &mut Body, instruction: &Instruction, bytes: &[u8]) -> Result<(), Unfit> {
    if instruction.mnemonic() == Mnemonic::Rdgsbase {
        let into = number(instruction.op0_register()).unwrap_or(0);
        body.emit.set(into, 0);
        return Ok(());
    }
    let without_gs = without_gs(instruction);
    let instruction = without_gs.as_ref().unwrap_or(instruction);
    if !instruction.is_ip_rel_memory_operand() {
        match &without_gs {
            Some(other) => encode(body, other)?,
            None => body.emit.raw(bytes),
        }
        if matches!(instruction.mnemonic(), Mnemonic::Wrfsbase) {
            follow_fs(body);
        }
        return Ok(());
    }
    let address = instruction.ip_rel_memory_address();
    let to = instruction.op0_register();
    if instruction.mnemonic() == Mnemonic::Lea && to.is_gpr64() {
        body.emit.set(number(to).unwrap_or(0), address);
        return Ok(());
    }
    // A number in the scratch register is used for all addresses near it.
    let near = body
        .scratch_value
        .filter(|value| i32::try_from(address.wrapping_sub(*value) as i64).is_ok());
    let base = near.unwrap_or_else(|| {
        let scratch = body.take_scratch();
        body.emit.set(scratch, address);
        body.scratch_value = Some(address);
        address
    });
    let mut moved = *instruction;
    let displacement = address.wrapping_sub(base);
    moved.set_memory_base(register(body.scratch));
    moved.set_memory_index(Register::None);
    moved.set_memory_displacement64(displacement);
    moved.set_memory_displ_size(if displacement == 0 { 0 } else { 8 });
    encode(body, &moved)
}

fn encode(body: &mut Body, instruction: &Instruction) -> Result<(), Unfit> {
    let mut encoder = Encoder::new(64);
    encoder.encode(instruction, 0).map_err(|_| Unfit)?;
    body.emit.raw(&encoder.take_buffer());
    Ok(())
}

/// The same instruction without the prefix for gs, if it accesses memory by it.
fn without_gs(instruction: &Instruction) -> Option<Instruction> {
    let touches = instruction.op_kinds().any(is_memory);
    let mut other = *instruction;
    other.set_segment_prefix(Register::None);
    (instruction.segment_prefix() == Register::GS && touches).then_some(other)
}

fn is_memory(kind: OpKind) -> bool {
    use OpKind::{
        Memory, MemorySegDI, MemorySegEDI, MemorySegESI, MemorySegRDI, MemorySegRSI, MemorySegSI,
    };
    matches!(
        kind,
        Memory
            | MemorySegDI
            | MemorySegEDI
            | MemorySegESI
            | MemorySegRDI
            | MemorySegRSI
            | MemorySegSI
    )
}

/// After `wrfsbase`: stores the new base of fs in the thread's state.
fn follow_fs(body: &mut Body) {
    let scratch = body.take_scratch();
    // rdfsbase scratch
    body.emit
        .raw(&[0xf3, 0x48 | scratch >> 3, 0x0f, 0xae, 0xc0 | scratch & 7]);
    body.emit
        .store_gs(core::mem::offset_of!(Thread, fs_base), scratch);
    body.changed(FS);
}
