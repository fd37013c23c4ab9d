//! Rust programs: stable rustc can be told to call hooks in front of accesses.

use super::RunTimeFiles;
use super::wrapped::WRAPPED;
use crate::CaptureError;

/// What rustc is told for code that it compiles: LLVM's coverage pass, with nothing but its hooks
/// for accesses.
const HOOKS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=1",
    "-Cllvm-args=-sanitizer-coverage-trace-loads",
    "-Cllvm-args=-sanitizer-coverage-trace-stores",
    "-Cdebuginfo=1",
    // Cargo strips debug information from release builds; of two such flags rustc takes the last.
    "-Cstrip=none",
    // Tells the run time that there are hooks.
    "-Clink-arg=-Wl,--defsym=__reuselens_hooks=1",
];

/// Flags for rustc (`RUSTFLAGS`), apart by spaces, with which a program is built that can be
/// measured.
///
/// # Errors
/// If our files cannot be written, or lie where a space is in the path: rustc's flags have no way
/// to say that.
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
