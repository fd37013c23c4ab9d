//! Flags for rustc ([`rust_flags`]) with which a Rust program records its accesses: stable rustc
//! can run LLVM's coverage pass, which calls a hook before each access, and link the run time.

use super::RunTimeFiles;
use super::wrapped::WRAPPED;
use crate::CaptureError;

/// Flags by which rustc runs LLVM's coverage pass, with its hooks for accesses only.
const HOOKS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=1",
    "-Cllvm-args=-sanitizer-coverage-trace-loads",
    "-Cllvm-args=-sanitizer-coverage-trace-stores",
    "-Cdebuginfo=1",
    // Cargo strips debug information from release builds; of two such flags rustc takes the last.
    "-Cstrip=none",
    // By this symbol the run time knows that the program has hooks.
    "-Clink-arg=-Wl,--defsym=__reuselens_hooks=1",
];

/// Flags for rustc (`RUSTFLAGS`), separated by spaces, with which a program is built that can be
/// measured.
///
/// # Errors
/// If our files cannot be written, or their path has a space in it, which cannot be quoted in
/// rustc's flags.
pub fn rust_flags() -> Result<String, CaptureError> {
    let files = RunTimeFiles::install()?;
    let object = files.object().display().to_string();
    if object.contains(char::is_whitespace) {
        return Err(CaptureError::Unsupported(
            "flags for rustc cannot hold a path with a space in it, and our files lie in one; set XDG_CACHE_HOME to \
             another directory",
        ));
    }
    let mut flags: Vec<String> = HOOKS.map(str::to_owned).to_vec();
    flags.push(format!("-Clink-arg={object}"));
    flags.push(format!(
        "-Clink-arg=-Wl,--dynamic-list={}",
        files.dynamic_list().display()
    ));
    flags.extend(WRAPPED.map(|function| format!("-Clink-arg=-Wl,--wrap={function}")));
    Ok(flags.join(" "))
}
