//! Recognises the system calls by which a program restricts what its own code may do from then on
//! (`seccomp` filters and the like). The run time and the rewriter are code of the program for the
//! kernel, so they are restricted, too: they ask [`restriction`] before such a call is made, and
//! stop making system calls of their own or leave the program.

/// `prctl`
const PRCTL: u64 = 157;
/// `seccomp`
const SECCOMP: u64 = 317;

/// What is restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// System calls: one that is not allowed may end the program.
    Calls,
    /// System calls, and reading the time-stamp counter.
    CallsAndTime,
}

/// What system call `number` with these first arguments restricts if it succeeds. `None` for all
/// other calls, and for calls with a null pointer by which a program only queries the kernel.
pub fn restriction(number: u64, arguments: [u64; 3]) -> Option<Restriction> {
    const SET_SECCOMP: u64 = 22;
    const SET_TIME_STAMPS: u64 = 26;
    const SET_DISPATCH: u64 = 59;
    const STRICT_MODE: u64 = 1;
    const FILTER_MODE: u64 = 2;
    const SET_STRICT: u64 = 0;
    const SET_FILTER: u64 = 1;
    const FAULT: u64 = 2;
    const ON: u64 = 1;
    let [one, two, three] = arguments;
    match (number, one, two) {
        // Strict mode forbids to read the counter, too (`seccomp_set_mode_strict`).
        (PRCTL, SET_SECCOMP, STRICT_MODE) => Some(Restriction::CallsAndTime),
        (SECCOMP, SET_STRICT, 0) if three == 0 => Some(Restriction::CallsAndTime),
        (PRCTL, SET_TIME_STAMPS, FAULT) => Some(Restriction::CallsAndTime),
        (PRCTL, SET_SECCOMP, FILTER_MODE) if three != 0 => Some(Restriction::Calls),
        (SECCOMP, SET_FILTER, _) if three != 0 => Some(Restriction::Calls),
        // Calls from most of the program's code become signals.
        (PRCTL, SET_DISPATCH, ON) => Some(Restriction::Calls),
        _ => None,
    }
}

/// How many filters of system calls a thread is under, by the text of its `/proc/…/status`; 0 if
/// that has no such line (Linux before 5.9).
pub fn filters(status: &[u8]) -> u32 {
    let count = status
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"Seccomp_filters:"));
    let digits = count.unwrap_or_default().trim_ascii().iter();
    digits.fold(0, |number: u32, digit| {
        let digit = u32::from(digit.wrapping_sub(b'0'));
        number.saturating_mul(10).saturating_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_reads_the_count_or_zero() {
        assert_eq!(
            filters(b"Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t12\nX:\t3\n"),
            12
        );
        assert_eq!(filters(b"Name:\tx\nSeccomp:\t2\n"), 0);
    }

    #[test]
    fn queries_and_other_calls_are_no_restriction() {
        assert_eq!(restriction(PRCTL, [22, 2, 0]), None);
        assert_eq!(restriction(SECCOMP, [1, 1, 0]), None);
        assert_eq!(restriction(SECCOMP, [2, 0, 4096]), None);
        assert_eq!(restriction(PRCTL, [15, 2, 4096]), None);
        assert_eq!(restriction(1, [22, 1, 0]), None);
    }

    #[test]
    fn filters_and_strict_mode_are_restrictions() {
        assert_eq!(restriction(PRCTL, [22, 2, 4096]), Some(Restriction::Calls));
        assert_eq!(restriction(SECCOMP, [1, 1, 4096]), Some(Restriction::Calls));
        let strict = Some(Restriction::CallsAndTime);
        assert_eq!(restriction(PRCTL, [22, 1, 0]), strict);
        assert_eq!(restriction(SECCOMP, [0, 0, 0]), strict);
    }
}
