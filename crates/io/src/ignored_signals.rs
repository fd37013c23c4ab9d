//! Which signals a process ignores since its beginning.

/// The signals that this process ignores, one per bit, signal 1 the lowest: those that it was
/// started with (`nohup`) as long as it has changed none. 0 where the system does not say.
pub fn ignored_signals() -> u64 {
    // It has the name of this program, which may be any bytes.
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
