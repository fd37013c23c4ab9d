//! Signals for a tree of processes that fork, execute and start threads, and for reuselens, at
//! moments of chance: nobody is left behind. `programs/nightly/survivors` has the rounds, and runs
//! more of them.

use std::process::Command;

use crate::common::source;

#[test]
fn nobody_is_left_behind_by_signals() {
    let script = source("nightly/survivors/run");
    let output = Command::new(script)
        .args([env!("CARGO_BIN_EXE_reuselens"), "30"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("30 rounds, 0 with somebody left behind"),
        "{text}"
    );
}
