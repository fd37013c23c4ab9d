//! The limits of memory that the system has set for this process (`getrlimit`).

/// The limit of this process's address space in bytes (`ulimit -v`, `RLIMIT_AS`), which programs
/// that it starts inherit; `None` if there is none.
pub fn address_space_limit() -> Option<u64> {
    limit(|limit| {
        // SAFETY: it writes to a value of the type that it asks for.
        unsafe { libc::getrlimit(libc::RLIMIT_AS, limit) };
    })
}

/// The limit of the memory in bytes that this process can write to and shares with no other
/// (`ulimit -d`, `RLIMIT_DATA`); `None` if there is none.
pub fn data_limit() -> Option<u64> {
    limit(|limit| {
        // SAFETY: it writes to a value of the type that it asks for.
        unsafe { libc::getrlimit(libc::RLIMIT_DATA, limit) };
    })
}

/// The soft limit that `read` gets from the system.
fn limit(read: impl FnOnce(&mut libc::rlimit)) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    read(&mut limit);
    Some(limit.rlim_cur).filter(|limit| *limit != libc::RLIM_INFINITY)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn data_limit_is_the_one_in_force() {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: it writes to a value of the type that it asks for.
        unsafe { libc::getrlimit(libc::RLIMIT_DATA, &mut limit) };
        // More than any test takes.
        limit.rlim_cur = limit.rlim_max.min(1 << 50);
        // SAFETY: it reads a value of the type that it asks for.
        let set = unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) };
        assert_eq!(set, 0);
        assert_eq!(data_limit(), Some(limit.rlim_cur));
    }
}
