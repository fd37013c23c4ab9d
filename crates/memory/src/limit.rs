//! What the system allows this process.

/// The limit of this process's address space in bytes (`ulimit -v`, `RLIMIT_AS`), which programs
/// inherit that it starts; `None` if there is none, or the system does not say.
pub fn address_space_limit() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: it writes to a value of the type that it asks for.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    Some(limit.rlim_cur).filter(|limit| *limit != libc::RLIM_INFINITY)
}
