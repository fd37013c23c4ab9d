//! Programs that tests compile.

use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_testing::has;
use reuselens_trace::Module;

/// A program of this source, built by a compiler with options; `None` without the compiler.
pub fn build(folder: &Path, source: (&str, &str), compiler: &[&str]) -> Option<PathBuf> {
    let [tool, options @ ..] = compiler else {
        return None;
    };
    if !has(tool) {
        return None;
    }
    let (name, content) = source;
    let (source, binary) = (folder.join(name), folder.join("program"));
    std::fs::write(&source, content).unwrap();
    let mut command = Command::new(tool);
    command.current_dir(folder).args(options).arg("-o");
    let status = command.arg(&binary).arg(&source).status().unwrap();
    assert!(status.success(), "{compiler:?}");
    Some(binary)
}

/// The module of a file.
pub fn module(path: &Path) -> Module {
    Module {
        path: path.to_str().unwrap().into(),
        ..Module::default()
    }
}
