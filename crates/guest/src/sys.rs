//! System calls, made directly: they touch no `errno`, run no code of the program, and need no C
//! library. A result from -4095 to -1 is an error (`-errno`).
//!
//! There is one function for each call that several guests make, and for each that has a simpler
//! form than the kernel's. The others are made by [`call`], with the numbers that are here.

mod files;
mod memory;
mod numbers;
mod processes;

use core::arch::asm;

pub use files::{File, O_RDWR, complain, executable, identity, read_link};
pub use memory::{
    MADV_DONTNEED, MADV_HUGEPAGE, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MAP_ANONYMOUS,
    MAP_FIXED, MAP_HUGETLB, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED, PROT_EXEC, PROT_NONE,
    PROT_READ, PROT_READ_WRITE, PROT_WRITE, madvise, map, may_write, mmap, munmap, peek, poke,
};
pub use numbers::*;
pub use processes::{
    die, futex_wait, futex_wake, nap, pid, process_exists, stack_limit, tid, yield_now,
};

/// Whether the result of a call is an error.
#[inline]
pub fn failed(result: i64) -> bool {
    (-4095..0).contains(&result)
}

/// One system call with up to six arguments; negative results are `-errno`.
///
/// # Safety
/// As the system call asks.
#[inline]
pub unsafe fn call(number: u64, a: [u64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the kernel preserves all registers but rax, rcx and r11; the rest is the caller's.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            out("rcx") _, out("r11") _,
            options(nostack)
        );
    }
    result
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_is_read_and_identified_as_by_the_standard_library() {
        let path = std::env::current_exe().expect("a path");
        let expected = std::fs::read(&path).expect("readable");
        let about = path.metadata().expect("is there");
        let mut ended = path.as_os_str().as_bytes().to_vec();
        ended.push(0);
        let ended = core::ffi::CStr::from_bytes_until_nul(&ended).expect("is ended");
        assert_eq!(identity(ended), Some((about.dev(), about.ino())));

        let (mut start, mut later) = ([0; 64], [0; 64]);
        let file = File::open(ended, 0).expect("is there");
        assert_eq!(file.read(&mut start), 64);
        assert_eq!(start, expected[..64]);
        assert_eq!(file.read_at(&mut later, 100), 64);
        assert_eq!(later, expected[100..164]);
        assert_eq!(file.read_at(&mut later, expected.len() as u64), 0);

        let mut target = [0; 4096];
        let length = executable(&mut target);
        assert_eq!(target[..length], *path.as_os_str().as_bytes());
        let mut short = [0; 3];
        assert_eq!(read_link(c"/proc/self/exe", &mut short), 3);
        assert_eq!(identity(c"/nowhere/at/all"), None);
        assert!(File::open(c"/nowhere/at/all", 0).is_none());
    }

    #[test]
    fn memory_is_copied_only_where_it_is_accessible() {
        const PAGE: usize = 4096;
        // SAFETY: a new mapping.
        let at = unsafe { map(0, 2 * PAGE, PROT_READ_WRITE, 0) }.expect("there is room");
        let low = at as u64;
        // SAFETY: nothing is in the mapping.
        let poke = |address: u64, from: &[u8]| unsafe { poke(address, from) };
        assert!(poke(low + 4000, b"across"));
        let mut back = [0; 6];
        assert!(peek(low + 4000, &mut back));
        assert_eq!(&back, b"across");
        // SAFETY: writes nothing.
        let is_known = unsafe { madvise(at, PAGE, MADV_POPULATE_WRITE) } != EINVAL;
        assert_eq!(may_write(low), is_known, "kernels before 5.14 do not know");
        // SAFETY: the second page of the mapping is in nobody's use.
        unsafe {
            assert_eq!(map(at + PAGE, PAGE, PROT_NONE, MAP_FIXED), Ok(at + PAGE));
        }
        assert!(!poke(low + 4094, b"four"));
        assert!(!peek(low + 4094, &mut back));
        assert!(!may_write(low + PAGE as u64));
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { munmap(at, 2 * PAGE) }, 0);
        // SAFETY: the system refuses it.
        let refused = unsafe { map(0, usize::MAX & !(PAGE - 1), PROT_NONE, 0) };
        assert_eq!(refused, Err(ENOMEM));
    }

    #[test]
    fn processes_are_known_by_their_numbers() {
        assert_eq!(pid(), std::process::id());
        assert_ne!(std::thread::spawn(tid).join().expect("ends"), tid());
        assert!(process_exists(pid()));
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        child.wait().expect("ends");
        assert!(!process_exists(child.id()));
        assert!(stack_limit() > 0);
    }
}
