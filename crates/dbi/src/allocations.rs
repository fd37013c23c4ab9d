//! Functions of allocators: recognised by their names, followed from their call to their return.

use reuselens_wire::{Record, WireKind};

use super::channel::Channel;
use super::descriptor::{Access, Op};
use super::thread::Thread;

/// The functions, each with what it does. Their numbers are their places here. The first that
/// begins counts, and what it calls does not: `operator new` is the allocation, not the `malloc` in
/// it.
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
    /// Allocates as many bytes as this argument says, and returns the block.
    Allocate(usize),
    /// The product of the first two arguments.
    AllocateProduct,
    Reallocate,
    /// The same to the product of the second and the third argument.
    ReallocateProduct,
    Free,
    /// Allocates as many bytes as the third argument says, and stores the block where the first
    /// points.
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

/// Whether a function stores the block where its first argument points.
pub fn stores_block(function: u8) -> bool {
    does(function) == Does::Store
}

/// What a function returned.
#[derive(Clone, Copy)]
struct Returned {
    /// The number that it returns.
    result: u64,
    /// What is where its first argument points, if it is a function that stores its block there.
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

/// A function of an allocator begins, or one returns that may be such, as a block has noted it in
/// words; `address` is that of the access.
#[inline]
pub fn noted(thread: &mut Thread, access: &Access, address: u64, word: impl Fn(u16) -> u64) {
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
    // One that lies deeper is called by the first; one as high or higher tells that the first was
    // left.
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

/// A function of a module with an allocator in it returns.
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
            // An `int`, 0 where there is a block.
            if returned.result as u32 == 0 {
                begin(channel, returned.stored.unwrap_or(0), three, call.back);
            }
        }
        Does::Free => {}
    }
}

/// The block of the first argument has another size now, and perhaps another place.
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

/// The program has mapped memory: a block, unless its allocator did so for later.
pub fn mapped(thread: &mut Thread, block: u64, bytes: u64) {
    if thread.waiting.calls.current.is_none() {
        let pc = thread.target;
        begin(&mut thread.channel, block, bytes, pc);
    }
}

/// The program has given memory back.
pub fn unmapped(thread: &mut Thread, low: u64, bytes: u64) {
    let pc = thread.target;
    thread.channel.put(&[
        Record::new(WireKind::Free, 0, pc, low),
        Record::new(WireKind::Operand, 0, 0, bytes),
    ]);
}
