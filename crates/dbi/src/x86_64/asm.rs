//! The assembly between the code cache and our own code. Each entry saves the program's registers
//! into the thread's state, switches to our stack, calls a Rust function, and returns to the cache
//! with the registers restored (`rl_resume`). The functions below return the entries' addresses,
//! for code in the cache to jump to.
//!
//! Our code uses the general registers and the low halves of the sixteen vector registers, so only
//! these are saved.
//!
//! Flags that the program may set would change what our code does: with DF it copies backwards,
//! with AC it faults at unaligned accesses, with TF it traps after each instruction. Each entry
//! clears them; the program's own flags are restored with its registers.

use core::arch::global_asm;
use core::mem::offset_of;

use crate::image::thread::Thread;
use crate::image::{boot, dispatch, process, signals, x87};

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
    // Continues in the cache at rax, with the program's registers.
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
    // A signal arrived before the call was made: the program makes the call again after it.
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
    // An instruction that cannot be translated.
    ".globl rl_native\nrl_native:",
    "rl_save",
    "call {native}",
    "jmp rl_resume",
    // In the middle of a block: the next instruction stores the last address of the x87 unit.
    ".globl rl_pointer\nrl_pointer:",
    "rl_save",
    "call {pointer}",
    "jmp rl_resume",
    // Leaves the cache for good, with the program's registers in place and the target in `back`.
    // The base of gs becomes what it is in the program, so the last steps need no state: `iretq`
    // takes stack, flags and target from our stack.
    ".globl rl_leave\nrl_leave:",
    "mov gs:[{r} + 0], rax\nmov gs:[{r} + 32], rsp",
    "mov rsp, gs:[{stack}]",
    // `iretq` fails with NT set.
    "push {plain}\npopfq",
    "mov eax, ss\npush rax",
    "push qword ptr gs:[{r} + 32]\npush qword ptr gs:[{flags}]",
    "mov eax, cs\npush rax",
    "push qword ptr gs:[{back}]\npush qword ptr gs:[{r} + 0]",
    "mov eax, 0\nwrgsbase rax",
    "pop rax",
    "iretq",
    // The image's first instruction: rdi = address of the `Bootstrap`.
    ".globl rl_start\nrl_start:",
    "call {start}",
    "jmp rl_resume",
    // A new thread starts, on its stack for our code; its state's address is on top.
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
    back = const offset_of!(Thread, back),
    pointer = sym x87::show,
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

/// The flags with which our code starts: interrupts enabled, and the bit that is always set.
const PLAIN: u32 = 1 << 9 | 1 << 1;
/// Flags that our code must not run with: trap (TF), direction (DF), nested task (NT), alignment
/// check (AC).
const UNWANTED: u32 = 1 << 8 | 1 << 10 | 1 << 14 | 1 << 18;

unsafe extern "C" {
    fn rl_dispatch();
    fn rl_missed();
    fn rl_system_call();
    fn rl_native();
    fn rl_pointer();
    fn rl_leave();
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
    /// Entry for a block that is left by an exit.
    dispatch_address rl_dispatch,
    /// Entry for an indirect branch whose target is not in the look-up table.
    missed_address rl_missed,
    /// Entry for a system call.
    system_call_address rl_system_call,
    /// Entry for a block that ends with an instruction that cannot be translated.
    native_address rl_native,
    /// Entry from the middle of a block, before an instruction that stores the last address of the
    /// x87 unit.
    pointer_address rl_pointer,
    /// Where a thread leaves the cache for good.
    leave_address rl_leave,
    /// Entry for the delivery of a signal, with the program's registers in place.
    deliver_address rl_deliver,
    /// The handler of all signals, as the kernel knows it.
    signal_address rl_signal,
    /// What that handler returns to.
    restorer_address rl_restorer,
    /// Start of new threads.
    thread_address rl_thread,
    /// Where a system call continues that a signal interrupted before it was made.
    interrupted_address rl_call_interrupted,
}

/// Whether an address is between the check for signals before a system call and the call itself,
/// that included.
pub fn is_before_call(address: u64) -> bool {
    let (check, made) = (
        rl_call_check as *const () as u64,
        rl_call_made as *const () as u64,
    );
    (check..=made).contains(&address)
}

/// Whether an address is that of the program's system call or of the instruction after it.
pub fn is_call(address: u64) -> bool {
    let (made, done) = (
        rl_call_made as *const () as u64,
        rl_call_done as *const () as u64,
    );
    (made..=done).contains(&address)
}
