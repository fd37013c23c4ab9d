//! Signals that ask a command line for its end.

use std::sync::mpsc;
use std::thread::Builder;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Takes SIGINT (Ctrl-C), SIGTERM and SIGHUP, but those that were ignored when this program started
/// (`nohup`), and gives them to `hear` on a thread of its own: the iterator waits for the next one.
/// They are taken when this function returns. If that fails, they have their default effect.
pub fn listen_to_end_signals(hear: impl FnOnce(&mut dyn Iterator<Item = i32>) + Send + 'static) {
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let wanted = wanted.filter(move |signal| ignored >> (signal - 1) & 1 == 0);
    let (ready, begun) = mpsc::channel();
    let listener = Builder::new().name("signals".to_owned()).spawn(move || {
        let signals = Signals::new(wanted);
        // The receiver is waiting.
        let _ = ready.send(());
        if let Ok(mut signals) = signals {
            hear(&mut signals.forever());
        }
    });
    if listener.is_ok() {
        // It fails where there is nothing to wait for.
        let _ = begun.recv();
    }
}

/// The signals that this process ignores, one per bit, signal 1 the lowest: those that it was
/// started with as long as it has changed none. 0 where the system does not say.
fn ignored_signals() -> u64 {
    // It has the name of this program, which may be any bytes.
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
