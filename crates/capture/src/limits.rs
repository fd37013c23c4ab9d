//! Limits of the system under which programs are measured.

/// The limit of this process's address space in bytes (`ulimit -v`), which programs inherit that it
/// starts; `None` if there is none, or the system does not say.
pub fn address_space_limit() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    soft_limit(&text, "Max address space")
}

/// The soft limit of a resource in the form of `/proc/PID/limits`; `None` if it is unlimited.
fn soft_limit(limits: &str, resource: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix(resource))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_none() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max address space         3072000000           unlimited            bytes     \n\
                    Max file locks            unlimited            unlimited            locks     \n";
        assert_eq!(soft_limit(text, "Max address space"), Some(3_072_000_000));
        assert_eq!(soft_limit(text, "Max file locks"), None);
        assert_eq!(soft_limit(text, "Max realtime priority"), None);
    }
}
