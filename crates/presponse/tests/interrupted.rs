//! `serve`, where signals interrupt its system calls, as they do on network file systems.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::common::{Place, Service};

/// Starts a service whose first calls of this kind with this file fail once, as if a signal
/// interrupted them.
fn start_interrupted(place: &Place, call: &str, file: &Path) -> Service {
    let log = place.path("calls");
    let fault = format!("inject={call}:error=EINTR:when=1");
    let mut strace = Command::new("strace");
    strace
        // The service is the child, and strace its child.
        .args(["-D", "-f", "-qq", "-e", "signal=none", "-o"])
        .arg(&log)
        .arg("-P")
        .arg(file)
        .args(["-e", &format!("trace={call}"), "-e", &fault])
        .arg(env!("CARGO_BIN_EXE_presponse"))
        .stderr(Stdio::null());
    let (graph, state) = (place.path("graph"), place.path("state"));
    let words = [graph.to_str().unwrap(), "--state", state.to_str().unwrap()];
    let service = Service::start_as(strace, &place.path("socket"), &words);
    let calls = std::fs::read_to_string(log).unwrap();
    assert!(calls.contains("INJECTED"), "{call}: {calls}");
    service
}

#[test]
fn interrupted_calls_of_a_start_are_made_again() {
    if !reuselens_testing::has("strace") {
        return;
    }
    for (call, file) in [("openat", "state"), ("flock", "state/lock")] {
        let place = Place::new();
        place.write("graph", "1 2\n2 3\n");
        std::fs::create_dir(place.path("state")).unwrap();
        place.write("state/lock", "");
        let service = start_interrupted(&place, call, &place.path(file));
        let reply = service.client().ask("apply 1\n+ 3 4\n");
        assert_eq!(reply["batch"], json!(1), "{call}: {reply}");
    }
}
