//! Records allocations and frees by following the calls of allocators' functions.
//!
//! The functions are known by name ([`FUNCTIONS`]); `modules` finds their addresses in the symbol
//! tables of mapped files. A block in which such a function begins, or in which a function of the
//! same file returns, writes the arguments or the result into its block record. When that record
//! is expanded, [`follow`] matches the return with the call and writes `Alloc` and `Free` records.
//!
//! Per thread, at most one call is followed at a time: the outermost. What it calls is not counted.

use reuselens_wire::{Record, WireKind};

use super::channel::Channel;
use super::descriptor::{BlockAccess, Op};
use super::thread::Thread;

/// The functions, each with what it does. A function's number is its index here. Only the
/// outermost call counts: `operator new` is the allocation, not the `malloc` that it calls.
const FUNCTIONS: &[(&[u8], Does)] = &[
    (b"malloc", Does::Allocate(0)),
    (b"calloc", Does::AllocateProduct),
    (b"realloc", Does::Reallocate),
    (b"reallocarray", Does::ReallocateProduct),
    (b"free", Does::Free),
    (b"cfree", Does::Free),
    (b"free_sized", Does::Free),
    (b"free_aligned_sized", Does::Free),
    (b"memalign", Does::Allocate(1)),
    (b"aligned_alloc", Does::Allocate(1)),
    (b"valloc", Does::Allocate(0)),
    (b"pvalloc", Does::Allocate(0)),
    (b"posix_memalign", Does::Store),
    // `operator new` and `new[]`: of a size; with an alignment; the same where they return null.
    (b"_Znwm", Does::Allocate(0)),
    (b"_Znam", Does::Allocate(0)),
    (b"_ZnwmRKSt9nothrow_t", Does::Allocate(0)),
    (b"_ZnamRKSt9nothrow_t", Does::Allocate(0)),
    (b"_ZnwmSt11align_val_t", Does::Allocate(0)),
    (b"_ZnamSt11align_val_t", Does::Allocate(0)),
    (b"_ZnwmSt11align_val_tRKSt9nothrow_t", Does::Allocate(0)),
    (b"_ZnamSt11align_val_tRKSt9nothrow_t", Does::Allocate(0)),
    // `operator delete` and `delete[]`.
    (b"_ZdlPv", Does::Free),
    (b"_ZdaPv", Does::Free),
    (b"_ZdlPvm", Does::Free),
    (b"_ZdaPvm", Does::Free),
    (b"_ZdlPvRKSt9nothrow_t", Does::Free),
    (b"_ZdaPvRKSt9nothrow_t", Does::Free),
    (b"_ZdlPvSt11align_val_t", Does::Free),
    (b"_ZdaPvSt11align_val_t", Does::Free),
    (b"_ZdlPvmSt11align_val_t", Does::Free),
    (b"_ZdaPvmSt11align_val_t", Does::Free),
    (b"_ZdlPvSt11align_val_tRKSt9nothrow_t", Does::Free),
    (b"_ZdaPvSt11align_val_tRKSt9nothrow_t", Does::Free),
    // jemalloc's own.
    (b"mallocx", Does::Allocate(0)),
    (b"rallocx", Does::Reallocate),
    (b"dallocx", Does::Free),
    (b"sdallocx", Does::Free),
    // mimalloc's own; its `posix_memalign` jumps to the first.
    (b"mi_posix_memalign", Does::Store),
    (b"mi_malloc", Does::Allocate(0)),
    (b"mi_zalloc", Does::Allocate(0)),
    (b"mi_calloc", Does::AllocateProduct),
    (b"mi_realloc", Does::Reallocate),
    (b"mi_malloc_aligned", Does::Allocate(0)),
    (b"mi_aligned_alloc", Does::Allocate(1)),
    (b"mi_memalign", Does::Allocate(1)),
    (b"mi_free", Does::Free),
    // tcmalloc's own.
    (b"tc_posix_memalign", Does::Store),
    (b"tc_malloc", Does::Allocate(0)),
    (b"tc_calloc", Does::AllocateProduct),
    (b"tc_realloc", Does::Reallocate),
    (b"tc_memalign", Does::Allocate(1)),
    (b"tc_valloc", Does::Allocate(0)),
    (b"tc_pvalloc", Does::Allocate(0)),
    (b"tc_free", Does::Free),
];

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Allocates the number of bytes in the argument with this index, and returns the block.
    Allocate(usize),
    /// Allocates the product of the first two arguments in bytes, and returns the block.
    AllocateProduct,
    /// Gives the block in the first argument the size in the second, and returns it.
    Reallocate,
    /// The same with the product of the second and the third argument as the size.
    ReallocateProduct,
    /// Frees the block in the first argument.
    Free,
    /// Allocates the number of bytes in the third argument, and stores the block's address where
    /// the first argument points.
    Store,
}

fn does(function: u8) -> Does {
    FUNCTIONS[usize::from(function)].1
}

/// The number of the function whose name these bytes begin with, ended by a zero byte.
pub fn named(name: &[u8]) -> Option<u8> {
    let is = |function: &[u8]| name.starts_with(function) && name.get(function.len()) == Some(&0);
    let index = FUNCTIONS.iter().position(|(function, _)| is(function))?;
    Some(index as u8)
}

/// Whether a function stores the block's address where its first argument points.
pub fn stores_block(function: u8) -> bool {
    does(function) == Does::Store
}

/// What a function returned.
#[derive(Clone, Copy)]
struct Returned {
    /// The number that it returns.
    result: u64,
    /// The word where its first argument points, if it is a function that stores its block there.
    stored: Option<u64>,
}

/// The outermost function of an allocator that a thread is in.
#[derive(Clone, Copy, Default)]
pub struct Calls {
    current: Option<Call>,
}

#[derive(Clone, Copy)]
struct Call {
    function: u8,
    arguments: [u64; 3],
    /// Address of the return address.
    pointer: u64,
    back: u64,
}

impl Calls {
    /// Whether a function of the allocator has not returned.
    pub fn is_within(&self) -> bool {
        self.current.is_some()
    }
}

/// Follows a call into an allocator ([`Op::Allocator`]) or a return that may be from one
/// ([`Op::Result`]); nothing for other accesses. `address` is that of the access, `word` returns a
/// word of its block record.
#[inline]
pub fn follow(thread: &mut Thread, access: &BlockAccess, address: u64, word: impl Fn(u16) -> u64) {
    match access.op {
        Op::Allocator { function, words } => {
            let arguments = [0, 1, 2].map(|index| word(words + index));
            begins(thread, function, arguments, address, word(words + 3));
        }
        Op::Result {
            pointer,
            delta,
            stored,
        } => {
            let pointer = word(pointer).wrapping_add_signed(i64::from(delta));
            let returned = Returned {
                result: word(access.word),
                stored: stored.map(word),
            };
            returns(thread, pointer, returned);
        }
        _ => {}
    }
}

/// A function begins.
fn begins(thread: &mut Thread, function: u8, arguments: [u64; 3], pointer: u64, back: u64) {
    let calls = &mut thread.waiting.calls;
    // A deeper stack pointer: the function is called by the one that is followed. The same or a
    // higher one: the followed function was left without a return.
    if calls
        .current
        .is_some_and(|call| call.pointer > pointer && call.pointer - pointer < 1 << 20)
    {
        return;
    }
    if does(function) == Does::Free {
        free(&mut thread.channel, arguments[0], back);
    }
    thread.waiting.calls.current = Some(Call {
        function,
        arguments,
        pointer,
        back,
    });
}

/// A function in a file that has an allocator returns with this stack pointer.
fn returns(thread: &mut Thread, pointer: u64, returned: Returned) {
    if let Some(call) = thread.waiting.calls.current
        && call.pointer <= pointer
    {
        thread.waiting.calls.current = None;
        if call.pointer == pointer {
            finished(&mut thread.channel, &call, returned);
        }
    }
}

fn finished(channel: &mut Channel, call: &Call, returned: Returned) {
    let [one, two, three] = call.arguments;
    let block = returned.result;
    match does(call.function) {
        Does::Allocate(argument) => begin(channel, block, call.arguments[argument], call.back),
        Does::AllocateProduct => begin(channel, block, one.wrapping_mul(two), call.back),
        Does::Reallocate => moved(channel, call, block, two),
        Does::ReallocateProduct => moved(channel, call, block, two.wrapping_mul(three)),
        Does::Store => {
            // The result is an `int`: 0 on success.
            if returned.result as u32 == 0 {
                begin(channel, returned.stored.unwrap_or(0), three, call.back);
            }
        }
        Does::Free => {}
    }
}

/// The block in the first argument has a new size, and may have moved.
fn moved(channel: &mut Channel, call: &Call, block: u64, bytes: u64) {
    if block != 0 || bytes == 0 {
        free(channel, call.arguments[0], call.back);
    }
    begin(channel, block, bytes, call.back);
}

fn begin(channel: &mut Channel, block: u64, bytes: u64, pc: u64) {
    if block != 0 {
        channel.put(&[
            Record::new(WireKind::Alloc, 0, pc, block),
            Record::new(WireKind::Operand, 0, 0, bytes),
        ]);
    }
}

fn free(channel: &mut Channel, block: u64, pc: u64) {
    if block != 0 {
        channel.put(&[
            Record::new(WireKind::Free, 0, pc, block),
            Record::new(WireKind::Operand, 0, 0, 0),
        ]);
    }
}

/// The program has mapped memory. That is an allocation, unless its allocator did it.
pub fn mapped(thread: &mut Thread, block: u64, bytes: u64) {
    if thread.waiting.calls.current.is_none() {
        let pc = thread.target;
        begin(&mut thread.channel, block, bytes, pc);
    }
}

/// The program is about to unmap memory.
pub fn unmapped(thread: &mut Thread, low: u64, bytes: u64) {
    let pc = thread.target;
    thread.channel.put(&[
        Record::new(WireKind::Free, 0, pc, low),
        Record::new(WireKind::Operand, 0, 0, bytes),
    ]);
}
