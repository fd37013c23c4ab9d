//! Which crates read and write nothing, and who may print.

use super::Exception;
use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "io";
/// Why there is such a rule.
pub const WHY: &str = "the cores are pure values and functions, so that anyone can use them anywhere; only the command line talks";

/// Crates without input and output.
const PURE: [&str; 9] = [
    "units",
    "document",
    "trace",
    "distance",
    "locality",
    "profile",
    "attribute",
    "predict",
    "report",
];
const MODULES: [&str; 3] = ["fs", "process", "net"];
const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];
const OUTPUTS: [&str; 2] = ["stdout", "stderr"];
const MACROS: [&str; 5] = ["println", "print", "eprintln", "eprint", "dbg"];

const MAY_PRINT: &[Exception] = &[
    Exception {
        path: "crates/cli/src/",
        reason: "it is the command line",
    },
    Exception {
        path: "crates/presponse/src/",
        reason: "it is a command line",
    },
    Exception {
        path: "crates/io/src/console/standard_output.rs",
        reason: "standard output that fails where it is closed",
    },
    Exception {
        path: "crates/io/src/console.rs",
        reason: "what both command lines print with",
    },
    Exception {
        path: "crates/cuda/src/nvcc/",
        reason: "it is the command that a build runs in the place of nvcc",
    },
    Exception {
        path: "crates/cuda/src/run.rs",
        reason: "it sends the program's standard output to standard error",
    },
    Exception {
        path: "crates/capture/src/program.rs",
        reason: "as above",
    },
    Exception {
        path: "crates/testing/src/",
        reason: "a test that is skipped names the tool that is missing",
    },
];

/// Finds input, output and printing where none may be.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in workspace.matching("crates/", ".rs") {
        let Some((name, "src")) = split(path) else {
            continue;
        };
        if workspace.is_test(path) {
            continue;
        }
        let code = source::without_tests(&source::code(text));
        let finding = |at: usize, what: String, fix: &str| Finding {
            file: path.to_owned(),
            line: source::line(&code, at),
            what,
            why: WHY,
            fix: fix.to_owned(),
        };
        if PURE.contains(&name) {
            findings.extend(uses(&code).into_iter().map(|(at, module)| {
                let fix = "take bytes, or a trait that the caller implements";
                finding(at, format!("std::{module} in the crate {name}"), fix)
            }));
        }
        if !MAY_PRINT.iter().any(|may| may.covers(path)) {
            findings.extend(prints(&code).into_iter().map(|(at, what)| {
                finding(
                    at,
                    format!("a library prints ({what})"),
                    "return it, or make it an error",
                )
            }));
        }
    }
    findings
}

/// The crate of a file and the folder in it.
fn split(path: &str) -> Option<(&str, &str)> {
    let mut parts = path.strip_prefix("crates/")?.split('/');
    Some((parts.next()?, parts.next()?))
}

/// Mentions of modules and streams of the standard library that do input or output.
fn uses(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in source::words(code, "std") {
        let rest = code[at + 3..].trim_start();
        let Some(rest) = rest.strip_prefix("::") else {
            continue;
        };
        found.extend(
            first_names(rest)
                .into_iter()
                .filter(|n| MODULES.contains(&n.as_str()))
                .map(|n| (at, n)),
        );
    }
    for stream in STREAMS {
        let calls =
            source::words(code, stream).filter(|at| code[at + stream.len()..].starts_with('('));
        found.extend(calls.map(|at| (at, format!("io::{stream}"))));
    }
    found
}

/// The names that a path goes on with: one, or those of a group in braces.
fn first_names(rest: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let Some(group) = rest.trim_start().strip_prefix('{') else {
        return vec![word(rest)];
    };
    let (mut depth, mut names, mut start) = (1_usize, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && c == ',') {
            names.push(word(&group[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Macros that print, and outputs that are opened: `io::stdout()`.
fn prints(code: &str) -> Vec<(usize, String)> {
    let calls = |name: &'static str, mark: &'static str| {
        let places =
            source::words(code, name).filter(move |at| code[at + name.len()..].starts_with(mark));
        places.map(move |at| (at, format!("{name}{mark}")))
    };
    let macros = MACROS.into_iter().flat_map(|name| calls(name, "!"));
    macros
        .chain(OUTPUTS.into_iter().flat_map(|name| calls(name, "()")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Workspace::of(&[(path, text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn files_processes_and_streams_are_found_however_they_are_named() {
        let text = "use std::fs;\nuse std::{fmt, net::TcpStream};\nfn f() { std::process::exit(1) }\n\
                    // std::fs\nfn g() { std::io::stdin(); }\nuse std::io::Write;";
        assert_eq!(lines("crates/locality/src/a.rs", text), [1, 2, 3, 5]);
        assert_eq!(lines("crates/formats/src/a.rs", text), [0; 0]);
        assert_eq!(lines("crates/attribute/src/loader.rs", text), [1, 2, 3, 5]);
        assert_eq!(lines("crates/locality/tests/a.rs", text), [0; 0]);
    }

    #[test]
    fn libraries_do_not_print_outside_tests() {
        let text = "fn f() { println!(\"x\") }\n#[cfg(test)]\nmod tests { fn g() { eprintln!() } }";
        assert_eq!(lines("crates/trace/src/a.rs", text), [1]);
        assert_eq!(lines("crates/cli/src/a.rs", text), [0; 0]);
        let text = "fn f() { io::stderr().write(b\"x\"); }\nfn g() { command.stderr(null); }";
        assert_eq!(lines("crates/capture/src/a.rs", text), [1]);
        assert_eq!(lines("crates/io/src/console.rs", text), [0; 0]);
    }
}
