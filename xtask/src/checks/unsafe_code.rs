//! Where `unsafe` may stand.

use super::Exception;
use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "unsafe";
/// Why there is such a rule.
pub const WHY: &str = "unsafe code is reviewed by hand, so it stays in few and known files";

const ALLOWED: &[Exception] = &[
    Exception {
        path: "crates/guest/src/",
        reason: "lives in other people's programs: raw system calls, what their loader has mapped",
    },
    Exception {
        path: "crates/runtime/src/",
        reason: "lives in other people's programs: assembly, raw system calls, libc",
    },
    Exception {
        path: "crates/dbi/src/",
        reason: "lives in other people's programs: machine code, raw system calls, their memory",
    },
    Exception {
        path: "crates/preload/src/shim/",
        reason: "lives in other people's programs: an allocator, raw system calls, their stacks",
    },
    Exception {
        path: "crates/cuda/src/guest/",
        reason: "lives in other people's programs: functions that C calls, memory that C owns",
    },
    Exception {
        path: "crates/cuda-driver/src/driver.rs",
        reason: "calls the functions of CUDA's driver, which it finds in a library of C",
    },
    Exception {
        path: "crates/cuda-driver/tests/fakes.rs",
        reason: "opens libraries of C as drivers",
    },
    Exception {
        path: "programs/cuda/cudarc/src/main.rs",
        reason: "launches a kernel, as the crate cudarc has it",
    },
    Exception {
        path: "programs/types/slots.rs",
        reason: "takes memory of bytes for structures, as allocators do",
    },
    Exception {
        path: "python/src/host_memory.rs",
        reason: "copies arrays of Python, which it has by their addresses",
    },
    Exception {
        path: "python/src/device.rs",
        reason: "says of which launch those arrays are",
    },
    Exception {
        path: "crates/cuda/src/run.rs",
        reason: "passes signals on to the program",
    },
    Exception {
        path: "crates/preload/src/run.rs",
        reason: "passes signals on to the program",
    },
    Exception {
        path: "crates/wire/src/mapped.rs",
        reason: "finds the parts of the shared memory",
    },
    Exception {
        path: "crates/capture/src/inject/tracee.rs",
        reason: "stops programs and writes into them (ptrace)",
    },
    Exception {
        path: "crates/capture/src/segment.rs",
        reason: "maps the memory shared with the measured program",
    },
    Exception {
        path: "crates/capture/src/program.rs",
        reason: "sets up a child process between fork and exec",
    },
    Exception {
        path: "crates/capture/src/exec_arguments.rs",
        reason: "makes the kernel's call that executes a program, with pointers to C strings",
    },
    Exception {
        path: "crates/capture/src/dispositions.rs",
        reason: "reads and sets what signals do, sends them",
    },
    Exception {
        path: "crates/capture/src/terminate.rs",
        reason: "sends signals to measured programs",
    },
    Exception {
        path: "crates/io/src/console/standard_output.rs",
        reason: "looks at standard output before Rust's start opens it",
    },
    Exception {
        path: "crates/annotate/src/raw.rs",
        reason: "calls the run time's C interface",
    },
    Exception {
        path: "crates/hugepages/src/allocator.rs",
        reason: "is an allocator, and ends the process where another cannot",
    },
    Exception {
        path: "crates/hugepages/tests/large_blocks.rs",
        reason: "asks the C library what it holds",
    },
    Exception {
        path: "crates/hugepages/src/limit.rs",
        reason: "asks the system for a limit",
    },
    Exception {
        path: "crates/hugepages/src/huge.rs",
        reason: "looks at mapped memory as a slice of numbers",
    },
    Exception {
        path: "crates/distance/src/counting/chunk.rs",
        reason: "says that bits and counts may be all zeros",
    },
    Exception {
        path: "crates/distance/src/counting/line.rs",
        reason: "says that a line may be all zeros",
    },
    Exception {
        path: "crates/distance/src/counting/compare/",
        reason: "vector instructions, and loads for them",
    },
    Exception {
        path: "crates/hugepages/src/prefetch.rs",
        reason: "asks the processor for a cache line ahead of time",
    },
    Exception {
        path: "crates/ptx/src/lanes/isa.rs",
        reason: "calls code compiled for AVX2 or AVX-512 once that was detected",
    },
    Exception {
        path: "crates/simd/src/entry_point.rs",
        reason: "calls code compiled for AVX2 or AVX-512 once that was detected",
    },
    Exception {
        path: "crates/rltrace/src/processor.rs",
        reason: "calls code compiled for BMI2 once that was detected",
    },
    Exception {
        path: "crates/rltrace/src/processor/varint.rs",
        reason: "vector instructions once they were detected, loads and stores for them",
    },
    Exception {
        path: "crates/rltrace/src/processor/avx512.rs",
        reason: "loads and stores for vector instructions",
    },
];

/// Finds `unsafe` elsewhere, and files that are listed for nothing.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in workspace.matching("", ".rs") {
        if ALLOWED.iter().any(|allowed| allowed.covers(path)) {
            continue;
        }
        let code = source::code(text);
        findings.extend(source::words(&code, "unsafe").map(|at| Finding {
            file: path.to_owned(),
            line: source::line(&code, at),
            what: "unsafe code in a file that is not listed for it".to_owned(),
            why: WHY,
            fix: "write it safely, or list the file with a reason in xtask/src/checks/unsafe_code.rs"
                .to_owned(),
        }));
    }
    findings.extend(
        ALLOWED
            .iter()
            .filter(|allowed| is_stale(workspace, allowed))
            .map(|stale| Finding {
                file: stale.path.to_owned(),
                line: 0,
                what: format!("listed for unsafe code ({}), and has none", stale.reason),
                why: WHY,
                fix: "take it off the list in xtask/src/checks/unsafe_code.rs".to_owned(),
            }),
    );
    findings
}

/// Whether an entry covers files, none of which has `unsafe` in it.
fn is_stale(workspace: &Workspace, allowed: &Exception) -> bool {
    let mut covered = workspace
        .files()
        .filter(|(path, _)| allowed.covers(path))
        .peekable();
    covered.peek().is_some()
        && !covered.any(|(_, text)| {
            source::words(&source::code(text), "unsafe")
                .next()
                .is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_in_files_not_listed_is_found() {
        let text = "// unsafe\nconst A: &str = \"unsafe\";\nfn f() { unsafe { g() } }";
        let workspace = Workspace::of(&[
            ("crates/trace/src/a.rs", text),
            ("crates/runtime/src/a.rs", text),
        ]);
        let found = check(&workspace);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].file.as_str(), found[0].line),
            ("crates/trace/src/a.rs", 3)
        );
    }

    #[test]
    fn an_entry_for_nothing_is_found() {
        let workspace = Workspace::of(&[("crates/hugepages/src/prefetch.rs", "fn f() {}")]);
        assert_eq!(check(&workspace).len(), 1);
    }
}
