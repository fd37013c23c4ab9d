//! The run time waits, wakes and reads the clock through its module `quiet` only.
//!
//! Found are names in the text of the code. A name that is imported as another one is not.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "quiet";
/// Why there is such a rule.
pub const WHY: &str = "a program that has forbidden itself system calls is ended by the first one that the run time makes";

/// Where the rule holds, and the file that may.
const RUN_TIME: &str = "crates/runtime/src/";
const QUIET: &str = "crates/runtime/src/quiet.rs";
/// Functions of `guest::sys` that make their call always.
const CALLS: [&str; 4] = ["yield_now", "futex_wait", "futex_wake", "nap"];
/// Modules of `guest` that make such a call, or read the clock.
const MODULES: [&str; 2] = ["clock", "lock"];

/// Finds uses of `guest`'s functions in the run time whose quiet ones are in `quiet`.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in workspace.matching(RUN_TIME, ".rs") {
        if path == QUIET {
            continue;
        }
        let code = source::code(text);
        findings.extend(loud(&code).into_iter().map(|(at, name)| Finding {
            file: path.to_owned(),
            line: source::line(&code, at),
            what: format!("{name} of the crate guest, which quiet does not hold back"),
            why: WHY,
            fix: "use the function of crate::quiet, or have one there".to_owned(),
        }));
    }
    findings
}

/// Mentions of such functions and modules, as calls, in imports and in groups of imports. The
/// functions of `quiet`, and functions of the same names that are defined, are none.
fn loud(code: &str) -> Vec<(usize, &'static str)> {
    let calls = CALLS.into_iter().flat_map(|name| {
        let places = source::words(code, name).map(move |at| (at, name));
        places.filter(|(at, _)| {
            let before = code[..*at].trim_end();
            !before.ends_with("quiet::") && !before.ends_with("fn")
        })
    });
    let modules = MODULES.into_iter().flat_map(|name| {
        let places = source::words(code, name).map(move |at| (at, name));
        places.filter(move |(at, _)| {
            let is_path = code[at + name.len()..].trim_start().starts_with("::");
            is_path || is_import(code, *at)
        })
    });
    calls.chain(modules).collect()
}

/// Whether a place is in an import from `guest`.
fn is_import(code: &str, at: usize) -> bool {
    let before = &code[..at];
    let import = source::words(before, "use")
        .last()
        .map(|start| &before[start..]);
    import.is_some_and(|import| import.contains("reuselens_guest::") && !import.contains(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&Workspace::of(&[(path, text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn functions_that_make_their_call_always_are_found_in_the_run_time() {
        let text = "use reuselens_guest::sys::{self, futex_wait};\n\
                    fn f() { sys::yield_now() }\n\
                    fn g() { reuselens_guest::sys::nap(); sys::futex_wake(&WORD) }";
        let mut found = lines("crates/runtime/src/thread.rs", text);
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 3]);
        assert_eq!(lines(QUIET, text), [0; 0]);
        assert_eq!(lines("crates/dbi/src/thread.rs", text), [0; 0]);
    }

    #[test]
    fn the_clock_and_what_waits_are_found_however_they_are_imported() {
        let path = "crates/runtime/src/a/b.rs";
        assert_eq!(lines(path, "use x::y;\nuse reuselens_guest::clock;"), [2]);
        assert_eq!(
            lines(path, "use reuselens_guest::{\n  sys,\n  lock,\n};"),
            [3]
        );
        assert_eq!(
            lines(path, "fn f() {}\nuse reuselens_guest::lock::Lock;"),
            [2]
        );
        assert_eq!(lines(path, "fn f() { clock::stamp() }"), [1]);
    }

    #[test]
    fn what_goes_through_quiet_is_not_found() {
        let text = "use reuselens_guest::{modules, sys};\n\
                    use crate::quiet;\n\
                    // sys::yield_now, and a lock of the program\n\
                    fn yield_now() { quiet::yield_now() }\n\
                    fn f() -> u32 { reuselens_guest::sys::pid() + \"sys::nap\".len() }\n\
                    fn g(lock: u32) -> u32 { lock }";
        assert_eq!(lines("crates/runtime/src/publish.rs", text), [0; 0]);
    }
}
