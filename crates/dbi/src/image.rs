//! Declares the modules of the image, and its panic handler. The modules are in a module of their
//! own, so that the crate is empty when it is compiled neither as an image nor for its tests.

#[path = "allocations.rs"]
pub mod allocations;
#[path = "ballast.rs"]
pub mod ballast;
#[path = "blocks.rs"]
pub mod blocks;
#[path = "boot.rs"]
pub mod boot;
#[path = "channel.rs"]
pub mod channel;
#[path = "codes.rs"]
pub mod codes;
#[path = "descriptor.rs"]
pub mod descriptor;
#[path = "detach.rs"]
pub mod detach;
#[path = "dispatch.rs"]
pub mod dispatch;
#[path = "exec.rs"]
pub mod exec;
#[path = "expand.rs"]
pub mod expand;
#[path = "filter.rs"]
pub mod filter;
#[path = "gate.rs"]
pub mod gate;
#[path = "lock.rs"]
pub mod lock;
#[path = "maps.rs"]
pub mod maps;
#[path = "memory.rs"]
pub mod memory;
#[path = "memory_file.rs"]
pub mod memory_file;
#[path = "modules.rs"]
pub mod modules;
#[path = "process.rs"]
pub mod process;
#[path = "segment.rs"]
pub mod segment;
#[path = "signals.rs"]
pub mod signals;
#[path = "space.rs"]
pub mod space;
#[path = "syscalls.rs"]
pub mod syscalls;
#[path = "thread.rs"]
pub mod thread;
#[path = "watch.rs"]
pub mod watch;
#[path = "writes.rs"]
pub mod writes;
#[path = "x86_64/mod.rs"]
pub mod x86_64;
#[path = "x87.rs"]
pub mod x87;

/// A panic is a bug of ours: prints its message and ends the program.
#[cfg(reuselens_dbi)]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    use reuselens_guest::sys;
    let words = info.message().as_str().unwrap_or("it panicked");
    sys::complain("reuselens: a mistake in the rewriter: ");
    sys::complain(words);
    if let Some(place) = info.location() {
        sys::complain(" in ");
        sys::complain(place.file());
    }
    sys::complain("\n");
    sys::die(127)
}
