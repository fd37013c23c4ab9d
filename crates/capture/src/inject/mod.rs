//! [`inject`]: puts the rewriter (crate `dbi`) into a program that was just loaded and has not
//! executed an instruction.
//!
//! The program is traced and stopped (`ptrace`). It is made to map memory for the image ([`room`]),
//! which is then written there, followed by a [`Bootstrap`] with the program's registers; the
//! program counter is set to the image's first instruction. The caller then stops tracing, so that
//! debuggers and the program itself may trace.

mod image;
mod room;
mod tracee;

use std::io;

use reuselens_wire::{Bootstrap, IMAGE, IMAGE_STACK_BYTES, Limits, Registers};

use image::Image;
pub use tracee::{Tracee, WaitOutcome, try_wait};

/// Why a program cannot be rewritten.
#[derive(Debug)]
pub enum Refusal {
    /// It is not for this processor.
    Foreign,
    /// A limit leaves no room for the rewriter.
    NoRoom,
    /// It may have no memory that is both writable and executable.
    NotExecutable,
    /// The system does not let us.
    System(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::System(error)
    }
}

/// Puts the rewriter into a program that is stopped after `exec`, its signals held. It is still
/// stopped then. `limits` are those that the program before had set for itself.
///
/// # Errors
/// If it is no 64-bit x86 program, or the system refuses. The program may go on by itself then.
pub fn inject(tracee: &Tracee, segment: &str, limits: Limits) -> Result<(), Refusal> {
    let image = Image::get().ok_or(Refusal::Foreign)?;
    if !tracee.is_native()? {
        return Err(Refusal::Foreign);
    }
    tracee.die_with_us()?;
    let registers = tracee.registers()?;
    let bootstrap_at = IMAGE + image.bytes.len() as u64;
    let top = (bootstrap_at + IMAGE_STACK_BYTES).next_multiple_of(4096);
    let reserved_end = room::reserve(tracee, &registers)?;
    tracee.write(IMAGE, &image.bytes)?;
    let [space, most_space, data, most_data] = limits;
    let numbers = [space, most_space, data, most_data, reserved_end];
    tracee.write(bootstrap_at, &bootstrap(&registers, segment, numbers))?;
    let go = Registers {
        rip: IMAGE + image.entry,
        rsp: top - 64,
        rdi: bootstrap_at,
        orig_rax: u64::MAX,
        ..registers
    };
    tracee.set_registers(&go)?;
    Ok(())
}

/// The bytes of a [`Bootstrap`]. `numbers` are its limits and the end of the reserved space.
fn bootstrap(registers: &Registers, segment: &str, numbers: [u64; 5]) -> Vec<u8> {
    const _: () = assert!(size_of::<Bootstrap>() == 27 * 8 + 5 * 8 + 64);
    let r = registers;
    let words = [
        r.r15, r.r14, r.r13, r.r12, r.rbp, r.rbx, r.r11, r.r10, r.r9, r.r8, r.rax, r.rcx, r.rdx,
        r.rsi, r.rdi, r.orig_rax, r.rip, r.cs, r.eflags, r.rsp, r.ss, r.fs_base, r.gs_base, r.ds,
        r.es, r.fs, r.gs,
    ];
    let words = words.into_iter().chain(numbers);
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    let mut path = segment.as_bytes().to_vec();
    path.truncate(63);
    path.resize(64, 0);
    bytes.extend(path);
    bytes
}
