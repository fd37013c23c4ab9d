//! The ways between the cache and our own code: registers are put into the thread's state, our
//! stack is taken, and back.
//!
//! Our code uses the general and the sixteen vector registers, whose upper halves it leaves alone;
//! so those are all that is saved.
//!
//! Our code also relies on flags that the program may set: it copies backwards with DF, faults at
//! an unaligned access with AC, and traps after each instruction with TF. On every way into it
//! these are cleared; the program's own come back with its registers.

use core::arch::global_asm;
use core::mem::offset_of;

use crate::image::thread::Thread;
use crate::image::{boot, dispatch, process, signals};

global_asm!(
    ".macro rl_save",
    "mov gs:[{r} + 0], rax\nmov gs:[{r} + 8], rcx\nmov gs:[{r} + 16], rdx\nmov gs:[{r} + 24], rbx",
    "mov gs:[{r} + 32], rsp\nmov gs:[{r} + 40], rbp\nmov gs:[{r} + 48], rsi\nmov gs:[{r} + 56], rdi",
    "mov gs:[{r} + 64], r8\nmov gs:[{r} + 72], r9\nmov gs:[{r} + 80], r10\nmov gs:[{r} + 88], r11",
    "mov gs:[{r} + 96], r12\nmov gs:[{r} + 104], r13\nmov gs:[{r} + 112], r14\nmov gs:[{r} + 120], r15",
    "mov rsp, gs:[{stack}]",
    "pushfq\npop qword ptr gs:[{flags}]",
    // `popfq` takes 20 cycles or more: only where a flag is set that our code must not have.
    "test dword ptr gs:[{flags}], {unwanted}",
    "jz 9f",
    "push {plain}\npopfq",
    "9:",
    "movups gs:[{v} + 0], xmm0\nmovups gs:[{v} + 16], xmm1\nmovups gs:[{v} + 32], xmm2\nmovups gs:[{v} + 48], xmm3",
    "movups gs:[{v} + 64], xmm4\nmovups gs:[{v} + 80], xmm5\nmovups gs:[{v} + 96], xmm6\nmovups gs:[{v} + 112], xmm7",
    "movups gs:[{v} + 128], xmm8\nmovups gs:[{v} + 144], xmm9\nmovups gs:[{v} + 160], xmm10\nmovups gs:[{v} + 176], xmm11",
    "movups gs:[{v} + 192], xmm12\nmovups gs:[{v} + 208], xmm13\nmovups gs:[{v} + 224], xmm14\nmovups gs:[{v} + 240], xmm15",
    "mov rdi, gs:[{own}]",
    ".endm",
    ".macro rl_load_general",
    "push qword ptr gs:[{flags}]\npopfq",
    "mov rax, gs:[{r} + 0]\nmov rcx, gs:[{r} + 8]\nmov rdx, gs:[{r} + 16]\nmov rbx, gs:[{r} + 24]",
    "mov rsp, gs:[{r} + 32]\nmov rbp, gs:[{r} + 40]\nmov rsi, gs:[{r} + 48]\nmov rdi, gs:[{r} + 56]",
    "mov r8, gs:[{r} + 64]\nmov r9, gs:[{r} + 72]\nmov r10, gs:[{r} + 80]\nmov r11, gs:[{r} + 88]",
    "mov r12, gs:[{r} + 96]\nmov r13, gs:[{r} + 104]\nmov r14, gs:[{r} + 112]\nmov r15, gs:[{r} + 120]",
    ".endm",
    // A block was left by an exit.
    ".globl rl_dispatch\nrl_dispatch:",
    "rl_save",
    "call {dispatch}",
    // On in the cache at rax.
    ".globl rl_resume\nrl_resume:",
    "mov gs:[{jump}], rax",
    "movups xmm0, gs:[{v} + 0]\nmovups xmm1, gs:[{v} + 16]\nmovups xmm2, gs:[{v} + 32]\nmovups xmm3, gs:[{v} + 48]",
    "movups xmm4, gs:[{v} + 64]\nmovups xmm5, gs:[{v} + 80]\nmovups xmm6, gs:[{v} + 96]\nmovups xmm7, gs:[{v} + 112]",
    "movups xmm8, gs:[{v} + 128]\nmovups xmm9, gs:[{v} + 144]\nmovups xmm10, gs:[{v} + 160]\nmovups xmm11, gs:[{v} + 176]",
    "movups xmm12, gs:[{v} + 192]\nmovups xmm13, gs:[{v} + 208]\nmovups xmm14, gs:[{v} + 224]\nmovups xmm15, gs:[{v} + 240]",
    "rl_load_general",
    "jmp qword ptr gs:[{jump}]",
    // An indirect branch to rax that the table does not have; rax and rcx are spilled.
    ".globl rl_missed\nrl_missed:",
    "mov gs:[{target}], rax",
    "mov dword ptr gs:[{exit}], -1",
    "mov rax, gs:[{spill}]",
    "mov rcx, gs:[{spill} + 8]",
    "jmp rl_dispatch",
    // A system call; the target is its address.
    ".globl rl_system_call\nrl_system_call:",
    "rl_save",
    "call {before}",
    "test eax, eax",
    "jz 2f",
    "mov rax, gs:[{r} + 0]\nmov rdi, gs:[{r} + 56]\nmov rsi, gs:[{r} + 48]\nmov rdx, gs:[{r} + 16]",
    "mov r10, gs:[{r} + 80]\nmov r8, gs:[{r} + 64]\nmov r9, gs:[{r} + 72]",
    "mov dword ptr gs:[{in_call}], 1",
    ".globl rl_call_check\nrl_call_check:",
    "cmp dword ptr gs:[{pending}], 0",
    "jne rl_call_interrupted",
    ".globl rl_call_made\nrl_call_made:",
    "syscall",
    ".globl rl_call_done\nrl_call_done:",
    "mov dword ptr gs:[{in_call}], 0",
    "mov gs:[{r} + 0], rax",
    "2: mov rdi, gs:[{own}]",
    "call {after}",
    "jmp rl_resume",
    // A signal came before the call was made, or wants it made again.
    ".globl rl_call_interrupted\nrl_call_interrupted:",
    "mov dword ptr gs:[{in_call}], 0",
    "mov rsp, gs:[{stack}]",
    "mov rdi, gs:[{own}]",
    "cld",
    "call {interrupted}",
    "jmp rl_resume",
    // The program's registers are in the state already; a signal is to be delivered.
    ".globl rl_deliver\nrl_deliver:",
    "rl_save",
    "call {deliver}",
    "jmp rl_resume",
    // An instruction that only the processor itself can run.
    ".globl rl_native\nrl_native:",
    "rl_save",
    "call {native}",
    "jmp rl_resume",
    // The first instruction of all: rdi = what the analysing side has left here.
    ".globl rl_start\nrl_start:",
    "call {start}",
    "jmp rl_resume",
    // A new thread, on its own stack of ours; its state's address is on top.
    ".globl rl_thread\nrl_thread:",
    "pop rdi",
    "wrgsbase rdi",
    "mov rsp, gs:[{stack}]",
    "call {begins}",
    "jmp rl_resume",
    // Where all signals arrive. The kernel clears DF and TF for a handler, and leaves AC as the
    // program had it.
    ".globl rl_signal\nrl_signal:",
    "push {plain}\npopfq",
    "jmp {handle}",
    // Where the kernel returns from handlers.
    ".globl rl_restorer\nrl_restorer:",
    "mov eax, 15",
    "syscall",
    r = const offset_of!(Thread, registers),
    v = const offset_of!(Thread, vectors),
    stack = const offset_of!(Thread, stack),
    flags = const offset_of!(Thread, flags),
    own = const offset_of!(Thread, own),
    jump = const offset_of!(Thread, jump),
    target = const offset_of!(Thread, target),
    exit = const offset_of!(Thread, exit),
    spill = const offset_of!(Thread, spill),
    in_call = const offset_of!(Thread, in_call),
    pending = const offset_of!(Thread, pending),
    dispatch = sym dispatch::dispatch,
    before = sym dispatch::before_call,
    after = sym dispatch::after_call,
    interrupted = sym dispatch::call_interrupted,
    deliver = sym dispatch::deliver,
    native = sym dispatch::native,
    start = sym boot::start,
    begins = sym process::thread_begins,
    handle = sym signals::handle,
    unwanted = const UNWANTED,
    plain = const PLAIN,
);

/// The flags that our code runs with at first: interrupts, and the bit that is always set.
const PLAIN: u32 = 1 << 9 | 1 << 1;
/// Flags that our code must not run with: trap (TF), direction (DF), nested task (NT), alignment
/// check (AC).
const UNWANTED: u32 = 1 << 8 | 1 << 10 | 1 << 14 | 1 << 18;

unsafe extern "C" {
    fn rl_dispatch();
    fn rl_missed();
    fn rl_system_call();
    fn rl_native();
    fn rl_call_check();
    fn rl_call_made();
    fn rl_call_done();
    fn rl_call_interrupted();
    fn rl_deliver();
    fn rl_signal();
    fn rl_restorer();
    fn rl_thread();
}

macro_rules! addresses {
    ($($(#[$about:meta])* $name:ident $symbol:ident),+ $(,)?) => { $(
        $(#[$about])*
        pub fn $name() -> u64 {
            $symbol as *const () as u64
        }
    )+ };
}

addresses! {
    /// Where blocks go that leave by an exit.
    dispatch_address rl_dispatch,
    /// Where indirect branches go that are not in the table.
    missed_address rl_missed,
    /// Where system calls go.
    system_call_address rl_system_call,
    /// Where blocks go that cannot be translated.
    native_address rl_native,
    /// Where a signal is delivered.
    deliver_address rl_deliver,
    /// Where all signals arrive.
    signal_address rl_signal,
    /// Where the kernel returns from handlers.
    restorer_address rl_restorer,
    /// Where new threads begin.
    thread_address rl_thread,
    /// What interrupted system calls go on with.
    interrupted_address rl_call_interrupted,
}

/// From the look for signals before a system call up to the call itself.
pub fn is_before_call(address: u64) -> bool {
    let (check, made) = (
        rl_call_check as *const () as u64,
        rl_call_made as *const () as u64,
    );
    (check..=made).contains(&address)
}

/// The system call of the program, and what comes after it.
pub fn is_call(address: u64) -> bool {
    let (made, done) = (
        rl_call_made as *const () as u64,
        rl_call_done as *const () as u64,
    );
    (made..=done).contains(&address)
}
