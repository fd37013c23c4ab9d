//! Where the rewriter (crate `dbi`) is placed in a program's memory, and [`Bootstrap`], the values
//! that it starts with.
//!
//! The crate `capture` (`inject`) maps the rewriter's image at [`IMAGE`], writes a `Bootstrap`
//! after it, and lets the program's first thread run the image, which reads the `Bootstrap` once.
//! Both sides take all addresses from here.

use crate::Limits;

/// Address of the rewriter's image in the program's memory: far from where programs, their
/// libraries and their stacks are, so that the program's own addresses stay as they would be.
///
/// Sanitizers divide the address space by fixed layouts. From here to 0x5555_5555_4000, where
/// position-independent programs begin, thread, memory, data-flow and address sanitizer have none
/// of their shadows and heaps, and expect memory of the program.
pub const IMAGE: u64 = 0x5500_0000_0000;
/// Bytes reserved for the image; the code cache follows them.
pub const IMAGE_ROOM: u64 = 16 << 20;
/// Bytes of the stack on which the image starts, after the image.
pub const IMAGE_STACK_BYTES: u64 = 256 << 10;
/// First address of the code cache.
pub const CACHE: u64 = IMAGE + IMAGE_ROOM;
/// First address of the rewriter's own memory, after the code cache. It begins with what has a
/// fixed size: the shared segment, and what the code cache needs beside it.
pub const ARENA: u64 = IMAGE + (1 << 30);
/// First address of the part of the rewriter's memory that grows.
pub const HEAP: u64 = ARENA + (3 << 29);
/// How many bytes of address space are reserved for the rewriter from [`IMAGE`] on, without access
/// rights: the first of these that the program's limits leave room for. What the program maps later
/// cannot get in the rewriter's way there.
pub const RESERVED_BYTES: [u64; 3] = [64 << 30, 8 << 30, 3 << 30];
/// Bytes at the beginning of the code cache, and of [`HEAP`], that are made accessible before the
/// rewriter starts: enough to start.
pub const START_BYTES: [u64; 2] = [4 << 20, 12 << 20];
const _: () = assert!(HEAP + START_BYTES[1] < IMAGE + RESERVED_BYTES[2]);

/// The registers of a stopped program, in the order of Linux' `user_regs_struct` (x86-64).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Register r15; so below.
    pub r15: u64,
    /// r14.
    pub r14: u64,
    /// r13.
    pub r13: u64,
    /// r12.
    pub r12: u64,
    /// rbp.
    pub rbp: u64,
    /// rbx.
    pub rbx: u64,
    /// r11.
    pub r11: u64,
    /// r10.
    pub r10: u64,
    /// r9.
    pub r9: u64,
    /// r8.
    pub r8: u64,
    /// rax.
    pub rax: u64,
    /// rcx.
    pub rcx: u64,
    /// rdx.
    pub rdx: u64,
    /// rsi.
    pub rsi: u64,
    /// rdi.
    pub rdi: u64,
    /// The number of the system call that the program is in.
    pub orig_rax: u64,
    /// Address of the next instruction.
    pub rip: u64,
    /// Code segment.
    pub cs: u64,
    /// Flags.
    pub eflags: u64,
    /// Stack pointer.
    pub rsp: u64,
    /// Stack segment.
    pub ss: u64,
    /// Base of the segment fs.
    pub fs_base: u64,
    /// Base of the segment gs.
    pub gs_base: u64,
    /// Data segment.
    pub ds: u64,
    /// Segment es.
    pub es: u64,
    /// Segment fs.
    pub fs: u64,
    /// Segment gs.
    pub gs: u64,
}

/// What the rewriter starts with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bootstrap {
    /// The program's registers, with which it starts.
    pub registers: Registers,
    /// The limits that the rewritten program set for itself that became this one by `exec`.
    pub limits: Limits,
    /// The end of the address space that is reserved for the rewriter.
    pub reserved_end: u64,
    /// Path of the shared segment, ended by a zero byte.
    pub segment: [u8; 64],
}
