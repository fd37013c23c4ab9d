//! The project keeps to its own rules.

use std::path::Path;

use xtask::{CHECKS, Workspace, tidy};

#[test]
fn this_project_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = Workspace::read(&root).unwrap();
    // Were the files not found, nothing could be wrong with them.
    assert!(workspace.crates().len() >= 11, "{:?}", workspace.crates());
    assert!(CHECKS.len() >= 11);
    let findings: Vec<String> = tidy(&workspace).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
