//! Limits that a program sets for its address space (`RLIMIT_AS`), where memory of capture's is
//! mapped in it too: the kernel is given larger ones.

/// No limit.
pub const UNLIMITED: u64 = u64::MAX;
/// How much the hard limit is larger yet: what capture may map later, which the soft limit follows.
const LATER_BYTES: u64 = 1 << 30;

/// The soft and the hard limit to give to the kernel where a program asks for `wanted`. `known` is
/// the hard limit that the program last saw, `actual` that of the kernel, and `ours` the bytes that
/// capture has mapped. A hard limit that the program keeps or lowers is never raised above
/// `actual`, which would take privileges.
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
    fn limits_grow_by_what_is_ours() {
        let outer = outer_limits([100, 200], UNLIMITED, UNLIMITED, OURS);
        assert_eq!(outer, [100 + OURS, 200 + OURS + LATER_BYTES]);
        let none = [UNLIMITED; 2];
        assert_eq!(outer_limits(none, UNLIMITED, UNLIMITED, OURS), none);
    }

    #[test]
    fn hard_limit_that_stays_is_not_raised() {
        let [_, first] = outer_limits([100, 200], UNLIMITED, UNLIMITED, OURS);
        // Meanwhile more is ours.
        let outer = outer_limits([150, 200], 200, first, 2 * OURS);
        assert_eq!(outer, [150 + 2 * OURS, first]);
        // The limit was there before us.
        assert_eq!(outer_limits([150, 200], 200, 200, OURS), [200, 200]);
    }

    #[test]
    fn hard_limit_that_rises_is_for_the_kernel_to_refuse() {
        let [_, outer] = outer_limits([150, 300], 200, 200, OURS);
        assert_eq!(outer, 300 + OURS + LATER_BYTES);
    }
}
