//! Functions of allocators: recognised by their names, followed from their call to their return.

use reuselens_wire::{Record, WireKind};

use super::channel::Channel;
use super::thread::Thread;

/// The functions, by number. The first that begins counts, and what it calls does not: `operator new`
/// is the allocation, not the `malloc` in it.
pub const FUNCTIONS: [&[u8]; 20] = [
    b"malloc",
    b"calloc",
    b"realloc",
    b"free",
    b"memalign",
    b"aligned_alloc",
    b"posix_memalign",
    b"cfree",
    b"_Znwm",
    b"_Znam",
    b"_ZdlPv",
    b"_ZdaPv",
    b"_ZdlPvm",
    b"_ZdaPvm",
    b"_ZnwmRKSt9nothrow_t",
    b"_ZnamRKSt9nothrow_t",
    b"_ZnwmSt11align_val_t",
    b"_ZdlPvmSt11align_val_t",
    b"valloc",
    b"reallocarray",
];

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Allocates as many bytes as this argument says, and returns the block.
    Allocate(usize),
    /// The product of both arguments.
    AllocateProduct,
    Reallocate,
    Free,
    /// `posix_memalign`: the result is stored where the first argument points.
    Other,
}

fn does(function: u8) -> Does {
    match FUNCTIONS[usize::from(function)] {
        b"malloc"
        | b"_Znwm"
        | b"_Znam"
        | b"_ZnwmRKSt9nothrow_t"
        | b"_ZnamRKSt9nothrow_t"
        | b"_ZnwmSt11align_val_t"
        | b"valloc" => Does::Allocate(0),
        b"calloc" => Does::AllocateProduct,
        b"realloc" => Does::Reallocate,
        b"memalign" | b"aligned_alloc" => Does::Allocate(1),
        b"posix_memalign" | b"reallocarray" => Does::Other,
        _ => Does::Free,
    }
}

/// The outermost function of an allocator that a thread is in.
#[derive(Clone, Copy, Default)]
pub struct Calls {
    current: Option<Call>,
}

#[derive(Clone, Copy)]
struct Call {
    function: u8,
    arguments: [u64; 2],
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

/// A function begins.
pub fn begins(thread: &mut Thread, function: u8, arguments: [u64; 2], pointer: u64, back: u64) {
    let calls = &mut thread.waiting.calls;
    // One that lies deeper is called by the first; one as high or higher tells that the first was left.
    if calls
        .current
        .is_some_and(|call| call.pointer > pointer && call.pointer - pointer < 1 << 20)
    {
        return;
    }
    if does(function) == Does::Other {
        // Its allocation shows in the function that it calls.
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
#[inline]
pub fn returns(thread: &mut Thread, pointer: u64, result: u64) {
    if let Some(call) = thread.waiting.calls.current
        && call.pointer <= pointer
    {
        thread.waiting.calls.current = None;
        if call.pointer == pointer {
            finished(&mut thread.channel, &call, result);
        }
    }
}

fn finished(channel: &mut Channel, call: &Call, result: u64) {
    let [one, two] = call.arguments;
    match does(call.function) {
        Does::Allocate(argument) => begin(channel, result, call.arguments[argument], call.back),
        Does::AllocateProduct => begin(channel, result, one.wrapping_mul(two), call.back),
        Does::Reallocate => {
            if result != 0 || two == 0 {
                free(channel, one, call.back);
            }
            begin(channel, result, two, call.back);
        }
        Does::Free | Does::Other => {}
    }
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
