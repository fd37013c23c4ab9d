//! [`Tls`]: the state of each thread, in thread-local storage. It is defined in assembly, because
//! the hooks reach it with two instructions, and because there is no `thread_local!` without std.
//!
//! Only the thread itself uses its state. The slot that it names is never null: a thread without a
//! slot has [`DUMMY`], whose cursor never has room, so that its hooks take the slow path.

use core::arch::global_asm;

use reuselens_wire::{BLOCK_RECORD_BYTES_MOST, ControlStage, RecordingScope, Slot};

/// The slot of threads without one; it has no room.
pub static DUMMY: Slot = Slot {
    cursor: core::sync::atomic::AtomicU64::new(0),
    stack_high: core::sync::atomic::AtomicU64::new(0),
    block_address: core::sync::atomic::AtomicU64::new(0),
    first_stamp: core::sync::atomic::AtomicU64::new(0),
    block: core::sync::atomic::AtomicU32::new(reuselens_wire::NO_BLOCK),
    state: core::sync::atomic::AtomicU32::new(0),
    process: core::sync::atomic::AtomicU32::new(0),
    thread: core::sync::atomic::AtomicU32::new(0),
    pid: core::sync::atomic::AtomicU32::new(0),
    published: core::sync::atomic::AtomicU32::new(0),
    outside: core::sync::atomic::AtomicU32::new(0),
};

// The first field is the slot's address, from the start that of the dummy.
global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".balign 64",
    ".globl rl_tls",
    ".hidden rl_tls",
    ".type rl_tls,@object",
    ".size rl_tls,{size}",
    // The same for code compiled with the LLVM pass, which may be in libraries.
    ".globl __reuselens_tls",
    ".type __reuselens_tls,@object",
    ".size __reuselens_tls,8",
    "__reuselens_tls:",
    "rl_tls: .quad {dummy}",
    ".zero {size} - 8",
    ".text",
    dummy = sym DUMMY,
    size = const size_of::<Tls>(),
);

/// How far a thread's recording has come.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum ThreadState {
    /// No event yet.
    New = 0,
    /// It has a slot.
    Live = 1,
    /// It got no slot: its events are counted as lost.
    Unrecorded = 2,
    /// Its recording has ended.
    Ended = 3,
}

/// Room for a block record that is not recorded.
#[repr(C)]
pub struct DiscardArea {
    /// The cursor, as in a slot: code compiled with the LLVM pass advances it.
    pub cursor: u64,
    /// The page that block records are written to if the program is not measured, or 0.
    pub page: u64,
    /// Where one block record is written.
    pub record: [u8; BLOCK_RECORD_BYTES_MOST],
}

/// The layout of `rl_tls`.
#[repr(C)]
pub struct Tls {
    /// The slot that the hooks write through.
    pub slot: *const Slot,
    /// Not 0 while the run time itself runs: hooks inside are silent.
    pub busy: u64,
    /// How far its recording has come.
    pub state: ThreadState,
    /// Number of the slot.
    pub slot_index: u64,
    /// How often the destructor of this thread's key has run.
    pub destructor_rounds: u64,
    /// Depth of signal handlers.
    pub signal_depth: u64,
    /// Slot for events of signal handlers, null before the first.
    pub signal_slot: *const Slot,
    /// Number of that slot.
    pub signal_slot_index: u64,
    /// Stack pointer of the signal handler that runs.
    pub signal_pointer: u64,
    /// Where records wait to be sorted; null if everything is recorded.
    pub stage: *mut ControlStage,
    /// Address of the stage's block, kept here because the address in shared memory could be
    /// overwritten by others.
    pub stage_address: u64,
    /// The regions and the function that the thread is in, for a child process.
    pub scope: RecordingScope,
    /// Where block records go that are not recorded; see `block_records`.
    pub discard: DiscardArea,
}

/// This thread's state.
#[inline(always)]
pub fn tls() -> *mut Tls {
    let pointer: *mut Tls;
    // SAFETY: reads the thread pointer and the offset of `rl_tls`; both are set up before any code
    // of the program runs.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + rl_tls@GOTTPOFF]",
            out(reg) pointer,
            options(nostack, pure, readonly)
        );
    }
    pointer
}
