//! [`append`]: puts an instruction of the program into a block's body. The bytes stay as they are,
//! unless the instruction has an address relative to its own: that becomes an absolute address by
//! way of the scratch register.

use iced_x86::{Encoder, Instruction, Mnemonic, Register};

use super::body::{Body, FS};
use super::registers::{number, register};
use crate::image::thread::Thread;

/// Error: an instruction cannot be encoded with the body's scratch register.
pub struct Unfit;

/// Appends an instruction; `bytes` are its own.
pub fn append(body: &mut Body, instruction: &Instruction, bytes: &[u8]) -> Result<(), Unfit> {
    if !instruction.is_ip_rel_memory_operand() {
        body.emit.raw(bytes);
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
    let mut encoder = Encoder::new(64);
    encoder.encode(&moved, 0).map_err(|_| Unfit)?;
    body.emit.raw(&encoder.take_buffer());
    Ok(())
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
