//! Signals that ask for an end: SIGINT (Ctrl-C), SIGTERM, SIGHUP. [`listen`] takes them from the
//! first moment on. They end a command with a message; one that calls [`graceful`] ends itself.
//!
//! No unfinished file stays in either case. Signals that were ignored when this program started
//! (`nohup`) stay ignored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reuselens_io::{AtomicFile, listen_to_end_signals};
use signal_hook::low_level::{emulate_default_handler, signal_name};

use crate::say::tell;

/// Whether a command ends itself when it is asked to.
static GRACEFUL: AtomicBool = AtomicBool::new(false);
/// Whether it was asked to.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Signals within this time count as one: `timeout` sends two, one to us and one to the group.
const TOGETHER: Duration = Duration::from_millis(500);

/// Begins to listen. If that fails, signals have their default effect.
pub fn listen() {
    listen_to_end_signals(hear);
}

fn hear(signals: &mut dyn Iterator<Item = i32>) {
    let mut first: Option<Instant> = None;
    for signal in signals {
        ASKED.store(true, Ordering::Relaxed);
        let is_graceful = GRACEFUL.load(Ordering::Relaxed);
        match first {
            None if is_graceful => first = Some(Instant::now()),
            Some(first) if first.elapsed() < TOGETHER => {}
            _ => end(signal),
        }
    }
}

/// From now on a signal only asks; a second one ends the process. Returns what is set then.
pub fn graceful() -> &'static AtomicBool {
    GRACEFUL.store(true, Ordering::Relaxed);
    &ASKED
}

/// Ends as the signal does by default, with a message, and leaves no unfinished file.
fn end(signal: i32) {
    AtomicFile::remove_unfinished();
    let name = signal_name(signal).unwrap_or("a signal");
    tell!("presponse: ended by {name}");
    // It fails for signals that cannot be listened to alone.
    let _ = emulate_default_handler(signal);
}
