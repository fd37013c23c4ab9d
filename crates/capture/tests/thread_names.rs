//! Tests that the names that a program gives to its threads are recorded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_capture::Capture;
use reuselens_capture::toolchain::{self, Language};
use reuselens_trace::Event;

use crate::common::{Told, watch};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/count/named.c")
}

/// The last name that was told of each thread, in the order in which they began.
fn names(program: &Path, capture: Capture) -> Vec<String> {
    let mut names = BTreeMap::new();
    watch(vec![program.into()], capture, |told| match told {
        Told::Rows(block) => assert!(names.contains_key(&block.thread)),
        Told::Event(Event::Thread(thread)) => {
            names.insert(thread.id, thread.name);
        }
        Told::Event(_) => {}
    });
    names.into_values().collect()
}

#[test]
fn thread_names_are_recorded_in_rewritten_code() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("named");
    let mut command = Command::new("gcc");
    command
        .args(["-O1", "-pthread", "-o"])
        .arg(&program)
        .arg(source());
    assert!(command.status().unwrap().success());
    let seen = names(&program, Capture::Rewriting);
    assert_eq!(seen, ["", "itself", "by another", ""]);
}

#[test]
fn own_thread_names_are_recorded_in_compiled_in_capture() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("named");
    let flags = ["-O1", "-pthread", "-o"].map(OsString::from);
    let mut arguments = Vec::from(flags);
    arguments.extend([program.clone().into(), source().into()]);
    assert!(
        toolchain::compile(Language::C, &arguments)
            .unwrap()
            .success()
    );
    let seen = names(&program, Capture::CompiledIn);
    assert_eq!(seen, ["", "itself", "", ""]);
}
