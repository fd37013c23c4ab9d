//! [`is_alive`]: whether a process lives, found out with two system calls and no allocation.
//!
//! The run time and the rewriter ask it of the analysing process while they wait for that process,
//! the rewriter also of other measured processes (`dbi/exec.rs`). Each passes in its own way of
//! making the two calls.

/// Bytes of a path that [`is_alive`] reads, its zero byte included.
const PATH_BYTES: usize = 32;

/// Whether process `pid` lives. A dead process whose parent has not waited for it yet (a zombie)
/// counts as dead, though its number is still taken. `exists` must return whether the number is
/// taken (`kill` with signal 0); `read_link` reads a symbolic link whose path ends with a zero
/// byte, and returns a negative `errno` on failure.
pub fn is_alive(pid: u32, exists: impl Fn(u32) -> bool, read_link: impl Fn(&[u8]) -> i64) -> bool {
    const ENOENT: i64 = -2;
    if !exists(pid) {
        return false;
    }
    // A zombie has no executable: its link does not exist. Where /proc is not mounted, no process
    // has the link, hence the check of our own. Not `/proc/self`: that is the process's first
    // thread, which may have ended.
    let (path, length) = executable(pid);
    read_link(&path[..length]) != ENOENT || read_link(b"/proc/thread-self/exe\0") == ENOENT
}

/// `/proc/PID/exe` and its length, with a zero byte.
fn executable(pid: u32) -> ([u8; PATH_BYTES], usize) {
    let mut path = [0; PATH_BYTES];
    let mut length = 0;
    let mut add = |bytes: &[u8]| {
        path[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    };
    add(b"/proc/");
    let mut digits = [0; 10];
    let (mut rest, mut first) = (pid, digits.len());
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    add(&digits[first..]);
    add(b"/exe\0");
    (path, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_path_contains_the_pid() {
        for (pid, expected) in [
            (0, &b"/proc/0/exe\0"[..]),
            (907, b"/proc/907/exe\0"),
            (u32::MAX, b"/proc/4294967295/exe\0"),
        ] {
            let (path, length) = executable(pid);
            assert_eq!(&path[..length], expected);
        }
    }

    #[test]
    fn zombie_is_dead_and_unreadable_link_is_alive() {
        let zombie = |path: &[u8]| {
            if path.starts_with(b"/proc/thread-self") {
                5
            } else {
                -2
            }
        };
        assert!(!is_alive(5, |_| true, zombie));
        assert!(is_alive(5, |_| true, |_| 7));
        // No /proc, or another user's process.
        assert!(is_alive(5, |_| true, |_| -2));
        assert!(is_alive(5, |_| true, |_| -13));
        assert!(!is_alive(5, |_| false, |_| 7));
    }
}
