//! The hooks for atomic operations (`__tsan_atomic*`). The compiler replaces the operations by
//! calls of these, so they are recorded *and executed* here, all in sequentially consistent order,
//! which is never weaker than the order that the program asked for. Other threads may go on because
//! of an operation that writes, so before one the thread's block is marked ([`mark`]).

use core::arch::global_asm;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use reuselens_wire::{Record, WireKind};

use crate::order::mark;
use crate::wrap::{restore_arguments, save_arguments};

const ORDER: Ordering = Ordering::SeqCst;

/// Defines an entry that records the access with its caller's pc, keeps all argument registers, and
/// jumps to the operation itself.
macro_rules! entry {
    ($name:expr, $kind:ident $size:literal $operation:path) => {
        global_asm!(
            concat!(".globl ", $name, "\n.type ", $name, ",@function\n", $name, ":"),
            "mov rax, qword ptr [rip + rl_tls@GOTTPOFF]",
            "mov rax, qword ptr fs:[rax]",
            "mov r10, qword ptr [rax]",
            "movabs r11, {meta}",
            "or r11, qword ptr [rsp]",
            "test r10w, r10w",
            "jz 2f",
            "mov qword ptr [r10], rdi",
            "mov qword ptr [r10 + 8], r11",
            "add r10, 16",
            "mov qword ptr [rax], r10",
            "jmp {operation}",
            "2:",
            save_arguments!(),
            "mov rsi, r11",
            "call {slow}",
            restore_arguments!(),
            "jmp {operation}",
            meta = const Record::meta(WireKind::$kind, $size),
            slow = sym crate::thread::slow,
            operation = sym $operation,
        );
    };
}

/// The entries of one width; the operations are those in scope.
macro_rules! entries {
    ($size:literal, $bits:literal) => {
        entry!(concat!("__tsan_atomic", $bits, "_load"), Load $size load);
        entry!(concat!("__tsan_atomic", $bits, "_store"), Store $size store);
        entry!(concat!("__tsan_atomic", $bits, "_exchange"), Atomic $size exchange);
        entry!(concat!("__tsan_atomic", $bits, "_fetch_add"), Atomic $size add);
        entry!(concat!("__tsan_atomic", $bits, "_fetch_sub"), Atomic $size sub);
        entry!(concat!("__tsan_atomic", $bits, "_fetch_and"), Atomic $size and);
        entry!(concat!("__tsan_atomic", $bits, "_fetch_or"), Atomic $size or);
        entry!(concat!("__tsan_atomic", $bits, "_fetch_xor"), Atomic $size xor);
        entry!(concat!("__tsan_atomic", $bits, "_fetch_nand"), Atomic $size nand);
        entry!(concat!("__tsan_atomic", $bits, "_compare_exchange_strong"), Atomic $size cas);
        entry!(concat!("__tsan_atomic", $bits, "_compare_exchange_weak"), Atomic $size cas);
        entry!(concat!("__tsan_atomic", $bits, "_compare_exchange_val"), Atomic $size cas_value);
    };
}

/// Defines all operations of one width.
macro_rules! width {
    ($module:ident $int:ty, $atomic:ty, $size:literal, $bits:literal) => {
        mod $module {
            use super::*;

            unsafe extern "C" fn load(place: &$atomic, _: i32) -> $int {
                place.load(ORDER)
            }
            unsafe extern "C" fn store(place: &$atomic, value: $int, _: i32) {
                mark();
                place.store(value, ORDER);
            }
            unsafe extern "C" fn exchange(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.swap(value, ORDER)
            }
            unsafe extern "C" fn add(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.fetch_add(value, ORDER)
            }
            unsafe extern "C" fn sub(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.fetch_sub(value, ORDER)
            }
            unsafe extern "C" fn and(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.fetch_and(value, ORDER)
            }
            unsafe extern "C" fn or(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.fetch_or(value, ORDER)
            }
            unsafe extern "C" fn xor(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.fetch_xor(value, ORDER)
            }
            unsafe extern "C" fn nand(place: &$atomic, value: $int, _: i32) -> $int {
                mark();
                place.fetch_nand(value, ORDER)
            }
            unsafe extern "C" fn cas(
                place: &$atomic,
                expected: &mut $int,
                value: $int,
                _: i32,
                _: i32,
            ) -> i32 {
                mark();
                match place.compare_exchange(*expected, value, ORDER, ORDER) {
                    Ok(_) => 1,
                    Err(found) => {
                        *expected = found;
                        0
                    }
                }
            }
            unsafe extern "C" fn cas_value(
                place: &$atomic,
                expected: $int,
                value: $int,
                _: i32,
                _: i32,
            ) -> $int {
                mark();
                match place.compare_exchange(expected, value, ORDER, ORDER) {
                    Ok(found) | Err(found) => found,
                }
            }

            entries!($size, $bits);
        }
    };
}

width!(bits8 u8, AtomicU8, 1, "8");
width!(bits16 u16, AtomicU16, 2, "16");
width!(bits32 u32, AtomicU32, 4, "32");
width!(bits64 u64, AtomicU64, 8, "64");

/// Sixteen bytes, by `cmpxchg16b`, which every processor has that runs programs using it.
mod bits128 {
    use super::*;

    /// Replaces the value by what `change` makes of it; the value before.
    unsafe fn update(place: *mut u128, change: impl Fn(u128) -> u128) -> u128 {
        let mut seen = 0;
        mark();
        loop {
            // SAFETY: the compiler passes aligned places; the program already needs the
            // instruction.
            let found = unsafe { swap_if(place, seen, change(seen)) };
            if found == seen {
                return found;
            }
            seen = found;
        }
    }

    /// Stores `value` if the place holds `expected`; what it held.
    unsafe fn swap_if(place: *mut u128, expected: u128, value: u128) -> u128 {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // SAFETY: by the caller; rbx, which the compiler keeps for itself, is put back. The
        // operands have registers by name: of its own choice the compiler may put `place` into rbx,
        // which holds something else by the time of the exchange.
        unsafe {
            core::arch::asm!(
                "xchg rsi, rbx",
                "lock cmpxchg16b xmmword ptr [rdi]",
                "mov rbx, rsi",
                inout("rsi") value as u64 => _,
                in("rdi") place,
                inout("rax") low, inout("rdx") high,
                in("rcx") (value >> 64) as u64,
                options(nostack)
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }

    unsafe extern "C" fn load(place: *mut u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| old) }
    }
    unsafe extern "C" fn store(place: *mut u128, value: u128, _: i32) {
        // SAFETY: as in `update`.
        unsafe { update(place, |_| value) };
    }
    unsafe extern "C" fn exchange(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |_| value) }
    }
    unsafe extern "C" fn add(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| old.wrapping_add(value)) }
    }
    unsafe extern "C" fn sub(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| old.wrapping_sub(value)) }
    }
    unsafe extern "C" fn and(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| old & value) }
    }
    unsafe extern "C" fn or(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| old | value) }
    }
    unsafe extern "C" fn xor(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| old ^ value) }
    }
    unsafe extern "C" fn nand(place: *mut u128, value: u128, _: i32) -> u128 {
        // SAFETY: as in `update`.
        unsafe { update(place, |old| !(old & value)) }
    }
    unsafe extern "C" fn cas(
        place: *mut u128,
        expected: &mut u128,
        value: u128,
        _: i32,
        _: i32,
    ) -> i32 {
        mark();
        // SAFETY: as in `update`.
        let found = unsafe { swap_if(place, *expected, value) };
        let equal = found == *expected;
        *expected = found;
        i32::from(equal)
    }
    unsafe extern "C" fn cas_value(
        place: *mut u128,
        expected: u128,
        value: u128,
        _: i32,
        _: i32,
    ) -> u128 {
        mark();
        // SAFETY: as in `update`.
        unsafe { swap_if(place, expected, value) }
    }

    entries!(16, "128");
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_: i32) {
    core::sync::atomic::fence(ORDER);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: i32) {
    core::sync::atomic::compiler_fence(ORDER);
}
