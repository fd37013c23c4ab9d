//! What a kernel calls: its routines, and functions of CUDA's run time, with the places of their
//! arguments in local memory.

use std::ops::Range;

use super::kernel::NONE;
use crate::lanes::Registers;

/// A place in local memory: of a variable of the kernel, or of the running routine.
#[derive(Clone, Copy, Debug)]
pub struct LocalPlace {
    /// The wide register with the address of the routine's frame; `NONE` in the kernel.
    pub frame: u32,
    /// Bytes from there, or from the beginning of local memory.
    pub offset: u64,
}

impl LocalPlace {
    /// Its address, for a lane.
    pub fn address(self, registers: &Registers, lane: usize) -> u64 {
        match self.frame {
            NONE => self.offset,
            slot => registers.wide[slot as usize].0[lane].wrapping_add(self.offset),
        }
    }
}

/// A call of a routine.
#[derive(Clone, Debug)]
pub struct CallOp {
    pub callee: Callee,
    /// Variables of the caller.
    pub arguments: Vec<FramePlace>,
    pub results: Vec<FramePlace>,
    /// The routine that calls; `NONE` is the kernel.
    pub caller: u32,
}

/// Which function is called.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    Routine(u32),
    /// The wide register with its address.
    Register(u32),
}

/// A function whose body the kernel has once, with calls that lead to it and return from it. All
/// others are in the places of their calls.
#[derive(Clone, Debug, Default)]
pub struct Routine {
    /// Mangled.
    pub name: String,
    /// Its first operation.
    pub entry: u32,
    pub params: Vec<FramePlace>,
    pub returns: Vec<FramePlace>,
    /// Bytes of its frame, and what the frame's address is a multiple of.
    pub frame_bytes: u64,
    pub frame_align: u64,
    /// Its registers: narrow, wide, predicates.
    pub registers: [Range<u32>; 3],
}

/// Bytes of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FramePlace {
    /// From the beginning of the frame, or of the kernel's local memory.
    pub offset: u64,
    pub bytes: u64,
}

/// A function whose address is taken.
#[derive(Clone, Debug)]
pub struct KnownFunction {
    pub address: u64,
    /// Mangled.
    pub name: String,
    /// None if it has no body, or no call of the kernel fits it.
    pub routine: Option<u32>,
}

/// A call of `vprintf`. Its arguments are in local memory.
#[derive(Clone, Copy, Debug)]
pub struct PrintOp {
    /// Where the address of the format is.
    pub format: LocalPlace,
    /// Where the address of the arguments is.
    pub arguments: LocalPlace,
    /// Where the result goes.
    pub result: Option<LocalPlace>,
}

/// A call of `__assertfail`. Its arguments are in local memory.
#[derive(Clone, Copy, Debug)]
pub struct AssertOp {
    /// Where the address of the text of what is asserted is.
    pub condition: LocalPlace,
    /// Where that of the file's name is.
    pub file: LocalPlace,
    /// Where the line is.
    pub line: LocalPlace,
    /// Where the address of the function's name is.
    pub function: LocalPlace,
}

/// A call of `malloc` or `free`.
#[derive(Clone, Copy, Debug)]
pub struct HeapOp {
    pub call: HeapCall,
    /// Where in local memory the size or the address is.
    pub argument: LocalPlace,
}

#[derive(Clone, Copy, Debug)]
pub enum HeapCall {
    /// The address goes there, in local memory.
    Allocate(LocalPlace),
    Free,
}
