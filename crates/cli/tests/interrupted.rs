//! System calls that a signal interrupts are made again. `programs/nightly/nth_call` has all calls
//! of more commands.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::common::{Place, has};

/// The first calls of each of these kinds, of those that `record` makes itself and that no library
/// makes again.
#[test]
fn interrupted_calls_of_a_recording_are_made_again() {
    if !has("strace") {
        return;
    }
    for call in ["ftruncate", "waitid", "wait4", "flock"] {
        let place = Place::new();
        let fault = format!("inject={call}:error=EINTR:when=1");
        let mut strace = Command::new("strace");
        strace
            .args(["-qq", "-o", "calls", "-e", "signal=none"])
            .args(["-e", &format!("trace={call}"), "-e", &fault])
            .arg(env!("CARGO_BIN_EXE_reuselens"))
            .args(["record", "-q", "-o", "run.rltrace", "--", "true"])
            .current_dir(place.path(""))
            .stdin(Stdio::null());
        let done = strace.output().unwrap();
        let calls = std::fs::read_to_string(place.path("calls")).unwrap();
        assert!(calls.contains("INJECTED"), "{call}: {calls}");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && error.is_empty(), "{call}: {error}");
        place.run(&["info", "run.rltrace"]).succeeds();
    }
}
