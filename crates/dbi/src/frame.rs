//! Signal frames: [`push`] builds on the program's stack the frame with which the kernel calls a
//! handler, and [`sigreturn`] restores the registers from it, both as the kernel does
//! (`arch/x86/kernel/signal.c`). `signals` uses them, because it delivers signals itself.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use reuselens_guest::sys;

use super::{Action, CR2, ERROR, FLAGS, OLD_MASK, ORDER, RIP, SA_ONSTACK, TRAP, change_mask};
use crate::image::thread::Thread;
use crate::image::x86_64::registers::{RAX, RDI, RDX, RSI, RSP};
use crate::image::x86_64::standard_state_bytes;
use crate::image::{codes, x87};

/// Words of the frame: return address, context, `siginfo`.
const WORDS: usize = 1 + 38 + 16;
const CONTEXT: usize = 1;
const REGISTERS: usize = CONTEXT + 5;
const FLOATING: usize = REGISTERS + 23;
const MASK: usize = FLOATING + 9;
const INFO: usize = MASK + 1;
/// The most bytes of the state of vector registers and other extended registers.
const STATE_MOST: usize = 12 << 10;
/// Where in that state the kernel's own words are.
const SOFTWARE: usize = 464;
const MAGIC_BEGIN: u32 = 0x4650_5853;
const MAGIC_END: u32 = 0x4650_5845;
/// Where in that state the sixteen vector registers begin.
const VECTORS: usize = 160;
const RED_ZONE: u64 = 128;
/// Flags that handlers do not inherit: trap, direction, resume.
const CLEARED: u64 = 1 << 8 | 1 << 10 | 1 << 16;
/// Flags that a program may set.
const SETTABLE: u64 = 0x5_4dd5;

#[repr(align(64))]
struct ProcessorState([u8; STATE_MOST]);

/// Builds the frame and makes the thread continue in the handler. False if the frame cannot be
/// written to the stack.
pub fn push(thread: &mut Thread, signal: u32, action: &Action) -> bool {
    let features = features();
    let bytes = state_bytes(features);
    let stack = top(thread, action);
    let state_at = (stack - bytes - 4) & !63;
    let frame_at = ((state_at - 8 * WORDS as u64) & !15) - 8;
    let mut state = ProcessorState([0; STATE_MOST]);
    save(thread, &mut state, bytes as usize, features);
    let frame = frame(thread, action, state_at);
    let mut words = [0_u8; 8 * WORDS];
    for (to, word) in words.chunks_exact_mut(8).zip(frame) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    let state = &state.0[..bytes as usize + 4];
    // SAFETY: the program's stack, or where it wants its signals' frames: it has nothing of ours.
    if !unsafe { sys::poke(state_at, state) && sys::poke(frame_at, &words) } {
        return false;
    }
    let mut set = |register: u8, value: u64| thread.registers[usize::from(register)] = value;
    set(RDI, u64::from(signal));
    set(RSI, frame_at + 8 * INFO as u64);
    set(RDX, frame_at + 8 * CONTEXT as u64);
    set(RAX, 0);
    set(RSP, frame_at);
    thread.flags &= !CLEARED;
    thread.target = action.handler;
    thread.signals.stack.started();
    reset(thread, features);
    true
}

/// Bytes of the state in a frame. Remembered, as asking the processor takes long in a virtual
/// machine.
fn state_bytes(features: u64) -> u64 {
    /// The features, and in the lowest 16 bits the bytes.
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let known = KNOWN.load(Ordering::Relaxed);
    if known >> 16 == features {
        return known & 0xffff;
    }
    let bytes = standard_state_bytes(features).min(STATE_MOST as u64 - 4);
    KNOWN.store(features << 16 | bytes, Ordering::Relaxed);
    bytes
}

/// The top of the stack that a handler gets.
fn top(thread: &Thread, action: &Action) -> u64 {
    let pointer = thread.registers[usize::from(RSP)];
    let alternate = (action.flags & SA_ONSTACK != 0)
        .then(|| thread.signals.stack.top(pointer))
        .flatten();
    alternate.unwrap_or(pointer - RED_ZONE)
}

fn frame(thread: &Thread, action: &Action, state_at: u64) -> [u64; WORDS] {
    /// UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
    const CONTEXT_FLAGS: u64 = 7;
    /// cs 0x33, ss 0x2b
    const SEGMENTS: u64 = 0x002b_0000_0000_0033;
    let mut frame = [0; WORDS];
    frame[0] = action.restorer;
    frame[CONTEXT] = CONTEXT_FLAGS;
    frame[CONTEXT + 2..CONTEXT + 5].copy_from_slice(&thread.signals.stack.words());
    for (number, at) in ORDER.into_iter().enumerate() {
        frame[REGISTERS + at] = thread.registers[number];
    }
    frame[REGISTERS + RIP] = thread.target;
    frame[REGISTERS + FLAGS] = thread.flags;
    frame[REGISTERS + FLAGS + 1] = SEGMENTS;
    let trap = thread.signals.trap;
    frame[REGISTERS + ERROR] = trap.error;
    frame[REGISTERS + TRAP] = trap.number;
    frame[REGISTERS + OLD_MASK] = thread.signals.mask;
    frame[REGISTERS + CR2] = trap.address;
    frame[FLOATING] = state_at;
    frame[MASK] = thread.signals.mask;
    frame[INFO..].copy_from_slice(&thread.signals.info);
    frame
}

fn save(thread: &Thread, state: &mut ProcessorState, bytes: usize, features: u64) {
    let (low, high) = (features as u32, (features >> 32) as u32);
    // SAFETY: the state is aligned and as large as the processor says.
    unsafe {
        asm!("xsave64 [{}]", in(reg) state.0.as_mut_ptr(), in("eax") low, in("edx") high, options(nostack));
    }
    for (index, vector) in thread.vectors.iter().enumerate() {
        for (half, word) in vector.iter().enumerate() {
            let at = VECTORS + index * 16 + half * 8;
            state.0[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    let pointer = &mut state.0[x87::POINTER..x87::POINTER + 8];
    let found = u64::from_le_bytes((*pointer).try_into().unwrap_or_default());
    if let Some(pc) = codes::program_counter(found) {
        pointer.copy_from_slice(&pc.to_le_bytes());
    }
    // The vectors are valid even if `xsave` left them out as never used.
    state.0[512] |= 3;
    let mut software = |at: usize, word: &[u8]| {
        state.0[SOFTWARE + at..SOFTWARE + at + word.len()].copy_from_slice(word);
    };
    software(0, &MAGIC_BEGIN.to_le_bytes());
    software(4, &(bytes as u32 + 4).to_le_bytes());
    software(8, &features.to_le_bytes());
    software(16, &(bytes as u32).to_le_bytes());
    state.0[bytes..bytes + 4].copy_from_slice(&MAGIC_END.to_le_bytes());
}

/// The components of the processor's state that the system has enabled, without those that the
/// program must ask for first (AMX) and has not.
fn features() -> u64 {
    const GET_PERMITTED: u64 = 0x1022;
    let (low, high): (u32, u32);
    let mut permitted = 0_u64;
    let a = [GET_PERMITTED, &raw mut permitted as u64, 0, 0, 0, 0];
    // SAFETY: processors with xsave have the instruction; the kernel writes a word.
    let result = unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
        sys::call(sys::ARCH_PRCTL, a)
    };
    let enabled = u64::from(high) << 32 | u64::from(low);
    if sys::failed(result) {
        enabled
    } else {
        enabled & permitted
    }
}

/// Resets the processor's state, as the kernel does for a handler: rounding, masks of exceptions,
/// protection keys, and the contents of all vector registers.
fn reset(thread: &mut Thread, features: u64) {
    const CONTROL: usize = 24;
    const PLAIN_CONTROL: u32 = 0x1f80;
    const KEYS: u64 = 1 << 9;
    /// The kernel's default: all keys but the first deny all accesses.
    const PLAIN_KEYS: u32 = 0x5555_5554;
    // A header of zeros makes the processor reset all components.
    let mut state = ProcessorState([0; STATE_MOST]);
    state.0[CONTROL..CONTROL + 4].copy_from_slice(&PLAIN_CONTROL.to_le_bytes());
    let components = features & !KEYS;
    let (low, high) = (components as u32, (components >> 32) as u32);
    // SAFETY: aligned, in the form that the processor expects; this code does not depend on what is
    // reset. Memory of ours has the first key.
    unsafe {
        asm!("xrstor64 [{}]", in(reg) state.0.as_ptr(), in("eax") low, in("edx") high,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
            out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
            out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _,
            out("xmm15") _, options(nostack));
        if features & KEYS != 0 {
            asm!("wrpkru", in("eax") PLAIN_KEYS, in("ecx") 0, in("edx") 0, options(nostack));
        }
    }
    thread.vectors = [[0; 2]; 16];
}

/// `rt_sigreturn` of the program: takes the thread's registers and mask from the frame. False if
/// that cannot be read.
pub fn sigreturn(thread: &mut Thread) -> bool {
    let frame_at = thread.registers[usize::from(RSP)] - 8;
    let mut words = [0_u8; 8 * INFO];
    if !sys::peek(frame_at, &mut words) {
        return false;
    }
    let word = |at: usize| {
        let bytes = words[8 * at..8 * at + 8].try_into();
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    for (number, at) in ORDER.into_iter().enumerate() {
        thread.registers[number] = word(REGISTERS + at);
    }
    thread.target = word(REGISTERS + RIP);
    let flags = word(REGISTERS + FLAGS);
    thread.flags = thread.flags & !SETTABLE | flags & SETTABLE;
    let mask = word(MASK);
    let restored = restore(thread, word(FLOATING));
    let stack = [2, 3, 4].map(|at| word(CONTEXT + at));
    let pointer = thread.registers[usize::from(RSP)];
    // A stack that cannot be changed now stays, as in the kernel.
    thread.signals.stack.change(stack, pointer);
    change_mask(thread, mask);
    restored
}

fn restore(thread: &mut Thread, at: u64) -> bool {
    if at == 0 {
        reset(thread, features());
        return true;
    }
    let mut state = ProcessorState([0; STATE_MOST]);
    if !sys::peek(at, &mut state.0[..576]) {
        return false;
    }
    let number =
        |from: usize| u32::from_le_bytes(state.0[from..from + 4].try_into().unwrap_or_default());
    let bytes = number(SOFTWARE + 16) as usize;
    let is_extended = number(SOFTWARE) == MAGIC_BEGIN && (576..=STATE_MOST).contains(&bytes);
    if is_extended && !sys::peek(at, &mut state.0[..bytes]) {
        return false;
    }
    for (index, vector) in thread.vectors.iter_mut().enumerate() {
        for (half, word) in vector.iter_mut().enumerate() {
            let at = VECTORS + index * 16 + half * 8;
            *word = u64::from_le_bytes(state.0[at..at + 8].try_into().unwrap_or_default());
        }
    }
    // SAFETY: aligned, and in the form that the kernel or we wrote; a program that broke it faults
    // here, as it would in the kernel.
    unsafe {
        if is_extended {
            asm!("xrstor64 [{}]", in(reg) state.0.as_ptr(), in("eax") -1, in("edx") -1, options(nostack));
        } else {
            asm!("fxrstor64 [{}]", in(reg) state.0.as_ptr(), options(nostack));
        }
    }
    true
}
