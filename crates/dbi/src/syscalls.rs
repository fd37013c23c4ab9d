//! System calls of the program: [`before`] and [`after`] are called around each. Most calls go to
//! the kernel unchanged. Calls by which the program would notice the rewriter, or run code outside
//! of the cache, are made or answered here: signals, threads, mappings, `exec`, limits.
//!
//! If other threads record, the calls are also marked in the thread's block, because threads
//! synchronise by them.

use reuselens_guest::sys::{MAP_ANONYMOUS, MAP_SHARED, PROT_EXEC, PROT_READ, PROT_WRITE};
use reuselens_guest::{clock, sys};

use super::codes::{self, CODES};
use super::segment;
use super::thread::Thread;
use super::x86_64::registers::{RAX, RDI, RDX, RSI};
use super::{
    allocations, ballast, detach, exec, expand, maps, memory_file, modules, process, signals,
    space, watch, writes,
};

/// MAP_FIXED and MAP_FIXED_NOREPLACE
const FIXED: u64 = 0x10_0010;
/// MAP_POPULATE
const POPULATE: u64 = 0x8000;
/// MAP_NONBLOCK, with which MAP_POPULATE does nothing
const NONBLOCK: u64 = 0x1_0000;
/// MREMAP_FIXED
const TO_FIXED: u64 = 2;
const SHM_RDONLY: u64 = 0o10000;
const SHM_REMAP: u64 = 0o40000;
const SHM_EXEC: u64 = 0o100000;
const SET_NAME: u64 = 15;
/// PR_SET_MDWE
const SET_DENY_WRITE_EXECUTE: u64 = 65;
const SET_GS: u64 = 0x1001;
const SET_FS: u64 = 0x1002;
const GET_GS: u64 = 0x1004;

fn argument(thread: &Thread, index: usize) -> u64 {
    const ORDER: [u8; 6] = [RDI, RSI, RDX, 10, 8, 9];
    thread.registers[usize::from(ORDER[index])]
}

/// The first arguments of a call.
pub fn arguments(thread: &Thread) -> [u64; 3] {
    [0, 1, 2].map(|index| argument(thread, index))
}

/// Whether other threads record, too, or soon will.
fn others_run() -> bool {
    codes::is_threaded() || segment::others_run()
}

/// Before a call: if there are other threads, marks that what this thread has done happened before.
/// By the call others may learn of it: it wakes one, or writes into a pipe, or ends this thread.
fn mark(thread: &mut Thread) {
    if others_run() && !thread.borrowed {
        expand::drain(thread);
        thread.channel.mark(clock::ordered_stamp());
    }
}

/// After a call, in which the thread may have waited for others: marks that what follows happens
/// later.
fn resume(thread: &mut Thread) {
    if others_run() && !thread.borrowed && thread.cursor == thread.buffer {
        thread.channel.mark(clock::ordered_stamp());
    }
}

/// The mask of signals that the current call sets while it waits, if it does.
pub fn mask_of_call(thread: &Thread) -> Option<u64> {
    let read = |at: u64| {
        let mut word = [0; 8];
        (at != 0 && sys::peek(at, &mut word)).then(|| u64::from_le_bytes(word))
    };
    let at = match thread.call_number {
        sys::RT_SIGSUSPEND => argument(thread, 0),
        sys::PPOLL => argument(thread, 3),
        sys::EPOLL_PWAIT | sys::EPOLL_PWAIT2 => argument(thread, 4),
        sys::PSELECT6 => read(argument(thread, 5))?,
        _ => return None,
    };
    read(at)
}

/// Whether a call may return for a signal that the program's mask blocks.
pub fn waits_for_signals(number: u64) -> bool {
    matches!(
        number,
        sys::RT_SIGSUSPEND
            | sys::RT_SIGTIMEDWAIT
            | sys::PPOLL
            | sys::PSELECT6
            | sys::EPOLL_PWAIT
            | sys::EPOLL_PWAIT2
    )
}

/// The result of a call about signals, if it is answered here.
fn of_signals(thread: &mut Thread, [one, two, three, four]: [u64; 4]) -> Option<i64> {
    Some(match thread.call_number {
        sys::RT_SIGACTION => signals::sigaction(thread, one, two, three, four),
        sys::RT_SIGPROCMASK if four == 8 => signals::sigprocmask(thread, one, two, three),
        sys::SIGALTSTACK => signals::sigaltstack(thread, one, two),
        // The calls below query or wait for pending signals. The kernel does not know the held
        // ones.
        _ if thread.signals.held() == 0 => return None,
        sys::RT_SIGPENDING if two == 8 => signals::sigpending(thread, one),
        sys::RT_SIGTIMEDWAIT if four == 8 => return signals::sigwait(thread, one, two),
        _ => {
            let mask = mask_of_call(thread)?;
            return signals::interrupt(thread, mask).then_some(sys::EINTR);
        }
    })
}

/// Before a call of the program. Returns whether the kernel is to be called; if not, the result is
/// in the thread's registers. [`after`] is called in both cases.
pub fn before(thread: &mut Thread) -> bool {
    mark(thread);
    let [one, two, three, four] = [0, 1, 2, 3].map(|index| argument(thread, index));
    if let Some(result) = of_signals(thread, [one, two, three, four]) {
        return answered(thread, result);
    }
    ballast::note_call(thread.call_number);
    let result = match thread.call_number {
        sys::RT_SIGRETURN => {
            expand::drain(thread);
            if !signals::sigreturn(thread) {
                process::die_of(thread, 11);
            }
            return false;
        }
        sys::RSEQ => sys::ENOSYS,
        sys::ARCH_PRCTL if one == SET_FS => set_fs(thread, two),
        sys::ARCH_PRCTL if one == GET_GS => get_gs(two),
        sys::ARCH_PRCTL if one == SET_GS => {
            let pc = thread.call_pc;
            thread.registers[usize::from(RAX)] = thread.call_number;
            detach::detach_at(thread, pc);
            return false;
        }
        sys::FORK | sys::VFORK | sys::CLONE | sys::CLONE3 => process::clone(thread),
        sys::EXECVE | sys::EXECVEAT => {
            exec::before(thread);
            return true;
        }
        sys::MREMAP => moved([one, two, three, four, argument(thread, 4)]),
        sys::MPROTECT | sys::PKEY_MPROTECT => {
            protected(thread.call_number, [one, two, three, four])
        }
        sys::MMAP if four & FIXED != 0 => placed(thread),
        sys::MUNMAP => unmapped(thread, one, two),
        sys::SHMAT if three & SHM_REMAP != 0 => attached_over([one, two, three]),
        sys::SHMDT => detach(one),
        sys::EXIT => process::thread_ends(thread),
        sys::PRCTL if one == SET_DENY_WRITE_EXECUTE => {
            CODES.lock().take_all();
            return true;
        }
        sys::EXIT_GROUP => {
            process::ends(thread);
            return true;
        }
        _ => match other(thread) {
            Some(result) => result,
            None => return true,
        },
    };
    answered(thread, result)
}

/// `ARCH_SET_FS` of the program.
fn set_fs(thread: &mut Thread, base: u64) -> i64 {
    expand::drain(thread);
    let a = [SET_FS, base, 0, 0, 0, 0];
    // SAFETY: the program's own call; we do not use fs.
    let result = unsafe { sys::call(sys::ARCH_PRCTL, a) };
    if result == 0 {
        thread.fs_base = base;
    }
    result
}

/// `ARCH_GET_GS` of the program: the base of gs is 0 until the program sets it.
fn get_gs(into: u64) -> i64 {
    // SAFETY: the address is the program's, which has nothing of ours.
    if unsafe { sys::poke(into, &[0; 8]) } {
        0
    } else {
        sys::EFAULT
    }
}

/// A call that is none of those in [`before`]: its result, if it is answered here.
fn other(thread: &Thread) -> Option<i64> {
    let number = thread.call_number;
    let six = [0, 1, 2, 3, 4, 5].map(|index| argument(thread, index));
    let [one, two, three, four, ..] = six;
    let answer = space::before(number, [one, two, three, four], thread.borrowed)
        .or_else(|| memory_file::before(number, six));
    if answer.is_none() {
        writes::release(number, six);
    }
    answer
}

/// Sets the result of a call that was answered here.
fn answered(thread: &mut Thread, result: i64) -> bool {
    thread.registers[usize::from(RAX)] = result as u64;
    false
}

/// After [`before`], a signal has arrived and the call was not made. The program may make it again,
/// so what was done for it is undone where it must not be done twice.
pub fn interrupted(thread: &mut Thread) {
    if matches!(thread.call_number, sys::EXECVE | sys::EXECVEAT) {
        exec::interrupted(thread);
    }
}

/// After a call of the program.
pub fn after(thread: &mut Thread) {
    resume(thread);
    let result = thread.registers[usize::from(RAX)] as i64;
    let failed = sys::failed(result);
    let [low, bytes] = [0, 1].map(|index| argument(thread, index));
    let again = result == sys::EFAULT && !thread.retried && watch::unwatch_all();
    thread.retried = again;
    match thread.call_number {
        sys::EXECVE | sys::EXECVEAT => exec::after(thread),
        _ if again => {
            thread.registers[usize::from(RAX)] = thread.call_number;
            thread.target = thread.call_pc;
        }
        _ if failed => {}
        sys::MMAP => {
            if argument(thread, 3) & FIXED == 0 {
                let (low, rights) = (result as u64, argument(thread, 2));
                watch::appeared(low, low.saturating_add(bytes), rights);
            }
            mapped(thread, result as u64);
        }
        sys::SHMAT => attached(result as u64, argument(thread, 2)),
        number @ (sys::OPEN | sys::OPENAT | sys::OPENAT2 | sys::CREAT) => {
            memory_file::opened(number, arguments(thread), result as u64);
        }
        sys::PRCTL if low == SET_NAME && !thread.borrowed => {
            expand::drain(thread);
            process::announce_name(thread);
        }
        _ => {}
    }
}

/// `mmap` of the program has succeeded.
fn mapped(thread: &mut Thread, low: u64) {
    let [bytes, rights, how, file] = [1, 2, 3, 4].map(|index| argument(thread, index));
    // Also in `MAP_SHARED_VALIDATE`.
    if rights & PROT_WRITE != 0 && how & MAP_SHARED != 0 {
        shared(low, how & MAP_ANONYMOUS == 0);
    }
    let is_block = how & (MAP_ANONYMOUS | FIXED) == MAP_ANONYMOUS;
    if is_block && rights & PROT_EXEC == 0 {
        expand::drain(thread);
        allocations::mapped(thread, low, bytes);
    }
    if rights & PROT_EXEC != 0 && file as i32 >= 0 {
        modules::look(&mut thread.channel);
    }
}

/// `mmap` of the program at an address of its choice, where something may be mapped. Pages are
/// filled after the call, without a lock held.
fn placed(thread: &mut Thread) -> i64 {
    let mut arguments = [0, 1, 2, 3, 4, 5].map(|index| argument(thread, index));
    let [low, bytes, rights, how, ..] = arguments;
    let populates = how & (POPULATE | NONBLOCK) == POPULATE;
    if populates {
        // It may take long, and the process may be ended meanwhile.
        expand::drain(thread);
        thread.channel.publish(true);
        arguments[3] &= !POPULATE;
    }
    let range = (low, low.saturating_add(bytes));
    // SAFETY: the program's own call.
    let call = || unsafe { sys::call(sys::MMAP, arguments) };
    let result = watch::changes(range, call, |codes| codes.discard(range.0, range.1));
    if populates && !sys::failed(result) {
        populate(low, bytes, rights, how);
    }
    result
}

/// Fills pages as `MAP_POPULATE` would. If that fails, `mmap` still succeeds.
fn populate(low: u64, bytes: u64, rights: u64, how: u64) {
    let advice = match rights & (PROT_READ | PROT_WRITE | PROT_EXEC) {
        0 => return,
        some if some & PROT_WRITE != 0 && how & MAP_SHARED == 0 => sys::MADV_POPULATE_WRITE,
        _ => sys::MADV_POPULATE_READ,
    };
    // SAFETY: changes nothing that the program sees, but for the time that its accesses take.
    unsafe { sys::call(sys::MADVISE, [low, bytes, advice, 0, 0, 0]) };
}

/// `munmap` of the program. The free is recorded before the call: another thread may be given the
/// same addresses right after it, and records that.
fn unmapped(thread: &mut Thread, low: u64, bytes: u64) -> i64 {
    expand::drain(thread);
    if low.is_multiple_of(4096) && bytes != 0 {
        allocations::unmapped(thread, low, bytes);
    }
    // SAFETY: the program's own call.
    let call = || unsafe { sys::call(sys::MUNMAP, [low, bytes, 0, 0, 0, 0]) };
    watch::goes((low, low.saturating_add(bytes)), call)
}

/// `mprotect` or `pkey_mprotect` of the program.
fn protected(number: u64, [low, bytes, rights, key]: [u64; 4]) -> i64 {
    let range = (low, low.saturating_add(bytes));
    // SAFETY: the program's own call.
    let call = || unsafe { sys::call(number, [low, bytes, rights, key, 0, 0]) };
    let result = watch::changes(range, call, |codes| {
        if rights & (PROT_EXEC | PROT_WRITE) == PROT_EXEC | PROT_WRITE {
            // It may change from now on without a call. It will be watched once it is translated
            // again.
            codes.discard(range.0, range.1);
        } else if rights & PROT_EXEC != 0 {
            codes.revise(range.0, range.1);
        } else if rights & PROT_WRITE == 0 {
            // It is no code any more. (What is made writable most often becomes code again.)
            codes.discard(range.0, range.1);
        }
    });
    if rights & PROT_WRITE != 0 {
        watch::renew();
    }
    result
}

/// Shared memory may be written at `low` from now on. Private mappings of the same file with code
/// change with it, page by page until they are written to themselves: their blocks are discarded.
fn shared(low: u64, is_file: bool) {
    watch::renew();
    if is_file {
        for (low, high) in maps::code_of_the_file_at(low) {
            CODES.lock().discard(low, high);
        }
    }
}

/// A segment has been attached by `shmat`.
fn attached(low: u64, how: u64) {
    if how & SHM_REMAP == 0 {
        let right = |asked: bool, right: u64| if asked { right } else { 0 };
        let rights = PROT_READ
            | right(how & SHM_RDONLY == 0, PROT_WRITE)
            | right(how & SHM_EXEC != 0, PROT_EXEC);
        // If the end is unknown: the memory was not mapped before, so nothing was watched there.
        let end = maps::end_of_segment(low).unwrap_or(low);
        watch::appeared(low, end, rights);
    }
    watch::renew();
}

/// `shmat` of the program with `SHM_REMAP`, at an address where something may be mapped.
fn attached_over([segment, low, how]: [u64; 3]) -> i64 {
    const STATE: u64 = 2;
    // `struct shmid64_ds`: after `struct ipc64_perm` it has the segment's size.
    let mut state = [0_u64; 14];
    let into = state.as_mut_ptr() as u64;
    // SAFETY: the kernel writes these 112 bytes. A process that may attach a segment may read its
    // state.
    unsafe { sys::call(sys::SHMCTL, [segment, STATE, into, 0, 0, 0]) };
    let low_page = low & !4095;
    let range = (low_page, low_page.saturating_add(state[6]));
    // SAFETY: the program's own call.
    let call = || unsafe { sys::call(sys::SHMAT, [segment, low, how, 0, 0, 0]) };
    watch::changes(range, call, |codes| codes.discard(range.0, range.1))
}

/// `mremap` of the program.
fn moved([low, before, after, flags, to]: [u64; 5]) -> i64 {
    // With an old size of 0, a second mapping of the same shared memory is made.
    let bytes = if before == 0 { after } else { before };
    let from = (low, low.saturating_add(bytes));
    // The memory at the new address may be unmapped even if the call fails.
    let over = if flags & TO_FIXED == 0 {
        from
    } else {
        (to, to.saturating_add(after))
    };
    watch::moves(&[from, over], after, || {
        // SAFETY: the program's own call.
        unsafe { sys::call(sys::MREMAP, [low, before, after, flags, to, 0]) }
    })
}

/// `shmdt` of the program. The segment's end is looked up before the call.
fn detach(low: u64) -> i64 {
    // SAFETY: the program's own call.
    let call = || unsafe { sys::call(sys::SHMDT, [low, 0, 0, 0, 0, 0]) };
    let end = maps::end_of_segment(low).unwrap_or(u64::MAX);
    watch::goes((low, end), call)
}
