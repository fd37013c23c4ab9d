//! Signals that ask for an end: SIGINT (Ctrl-C), SIGTERM, SIGHUP. [`listen`] takes them, and
//! [`graceful`] is for commands that report what there is so far; other commands end at once.
//!
//! No unfinished file stays in either case. Signals that were ignored when this program started
//! (`nohup`) stay ignored.

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use reuselens::io::{AtomicFile, listen_to_end_signals};
use reuselens::profile::signal_name;
use reuselens::trace::Stop;
use signal_hook::low_level::emulate_default_handler;

use crate::say::tell;

/// Set when a graceful command is asked to end.
static GRACEFUL: OnceLock<Stop> = OnceLock::new();
/// Passes a signal on to another program; false if that has ended.
type Forward = Box<dyn Fn(i32) -> bool + Send + Sync>;
/// Set when signals are for another program.
static FORWARD: OnceLock<Forward> = OnceLock::new();

/// How long a command may take to notice that it is asked to end; a pipe that it reads may be
/// silent.
const PATIENCE: Duration = Duration::from_secs(2);
/// Signals within this time count as one: `timeout` sends two, one to us and one to the group.
const TOGETHER: Duration = Duration::from_millis(500);

/// Begins to listen. If that fails, signals have their default effect.
pub fn listen() {
    listen_to_end_signals(hear);
}

/// From now on a signal only asks: the command looks here, and reports what there is.
pub fn graceful() -> Stop {
    GRACEFUL.get_or_init(Stop::default).clone()
}

/// From now on signals end nothing here until `forward`, which passes them on to a program, returns
/// false. To be called once.
pub fn forward_by(forward: impl Fn(i32) -> bool + Send + Sync + 'static) {
    let _ = FORWARD.set(Box::new(forward));
}

/// The exit code after a signal cut the work short: 128 plus its number, as in shells.
pub fn code() -> Option<ExitCode> {
    let signal = GRACEFUL.get()?.signal()?;
    Some(ExitCode::from(128 + (signal & 0x7f) as u8))
}

fn hear(signals: &mut dyn Iterator<Item = i32>) {
    let mut first: Option<Instant> = None;
    for signal in signals {
        if let Some(forward) = FORWARD.get() {
            if !forward(signal) {
                end(signal);
            }
            continue;
        }
        let Some(stop) = GRACEFUL.get() else {
            end(signal);
            continue;
        };
        match first {
            None => {
                first = Some(Instant::now());
                stop.ask(signal);
                let watched = std::thread::Builder::new().spawn(move || {
                    std::thread::sleep(PATIENCE);
                    if !stop.is_heeded() {
                        end(signal);
                    }
                });
                if watched.is_err() {
                    end(signal);
                }
            }
            Some(first) if first.elapsed() < TOGETHER => {}
            // A command that works on after its program was killed is asked no more.
            Some(_) if stop.insists() => end(signal),
            Some(_) => {
                first = Some(Instant::now());
                stop.ask(signal);
            }
        }
    }
}

/// Ends as the signal does by default, with a message, and leaves no unfinished file.
fn end(signal: i32) {
    AtomicFile::remove_unfinished();
    tell!("reuselens: ended by {}", signal_name(signal));
    // It fails for signals that cannot be listened to alone.
    let _ = emulate_default_handler(signal);
}
