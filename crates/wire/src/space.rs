//! [`outer_limits`]: which limits of the address space (`RLIMIT_AS`) and of private writable memory
//! (`RLIMIT_DATA`) the kernel is given when a measured program sets its own. Memory of the run time
//! or of the rewriter is mapped in the program and must not count, so the kernel's limits are
//! larger by that. The run time and the rewriter call this where they replace the program's
//! `setrlimit` and `prlimit`.

/// No limit.
pub const UNLIMITED: u64 = u64::MAX;
/// The soft and the hard limit of the address space, then those of private writable memory, as a
/// program has set them for itself: the kernel's are larger. [`UNLIMITED`] for what it has not set.
pub type Limits = [u64; 4];

/// What is added to the hard limit for memory that capture maps later: the kernel lets a process
/// raise its soft limit up to the hard one.
const LATER_BYTES: u64 = 1 << 30;

/// The soft and the hard limit, in bytes, to give to the kernel when a program asks for `wanted`.
/// `known` is the hard limit that the program saw last, `actual` the kernel's hard limit, and
/// `ours` the bytes that capture has mapped. If the program keeps or lowers its hard limit, the
/// kernel's is not raised above `actual`, for that takes privileges.
pub fn outer_limits(wanted: [u64; 2], known: u64, actual: u64, ours: u64) -> [u64; 2] {
    let [soft, hard] = wanted;
    let more = hard.saturating_add(ours).saturating_add(LATER_BYTES);
    let outer = if hard <= known {
        more.min(actual)
    } else {
        more
    };
    [soft.saturating_add(ours).min(outer), outer]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: u64 = 7 << 20;

    #[test]
    fn limits_grow_by_the_bytes_of_capture() {
        let outer = outer_limits([100, 200], UNLIMITED, UNLIMITED, OURS);
        assert_eq!(outer, [100 + OURS, 200 + OURS + LATER_BYTES]);
        let none = [UNLIMITED; 2];
        assert_eq!(outer_limits(none, UNLIMITED, UNLIMITED, OURS), none);
    }

    #[test]
    fn unchanged_hard_limit_is_not_raised() {
        let [_, first] = outer_limits([100, 200], UNLIMITED, UNLIMITED, OURS);
        // Capture has mapped more since.
        let outer = outer_limits([150, 200], 200, first, 2 * OURS);
        assert_eq!(outer, [150 + 2 * OURS, first]);
        // The limit was set before capture began.
        assert_eq!(outer_limits([150, 200], 200, 200, OURS), [200, 200]);
    }

    #[test]
    fn raised_hard_limit_is_passed_to_the_kernel() {
        let [_, outer] = outer_limits([150, 300], 200, 200, OURS);
        assert_eq!(outer, 300 + OURS + LATER_BYTES);
    }
}
