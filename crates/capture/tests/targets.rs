//! Tests that programs of others with a use of memory of their own (sanitizers, emulators, code
//! generators) end and print under the rewriter as they do natively.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use reuselens_capture::{Capture, Delivered, Launch, Running, process_end};
use reuselens_trace::{Block, ProcessEnd, Step, TemplateBlock};

/// Runs a command natively and under the rewriter: both must end and print the same. Returns the
/// end and what was printed.
fn same(folder: &Path, command: &[&str]) -> (ProcessEnd, String) {
    let through = |name: &str| -> Vec<OsString> {
        let script = format!("exec \"$@\" > {}", folder.join(name).display());
        let shell = ["sh".into(), "-c".into(), script.into(), "sh".into()];
        shell
            .into_iter()
            .chain(command.iter().map(OsString::from))
            .collect()
    };
    let native = through("native");
    let status = Command::new(&native[0]).args(&native[1..]).status();
    let expected = process_end(status.unwrap());
    let launch = Launch {
        command: through("rewritten"),
        capture: Capture::Rewriting,
        ..Launch::default()
    };
    let mut running = Running::start(&launch).unwrap();
    let (mut block, mut executed) = (Block::new(), TemplateBlock::default());
    let mut accesses = 0;
    loop {
        match running.next_templates(&mut block, &mut executed).unwrap() {
            Delivered::Templates => accesses += executed.rows(),
            Delivered::Rows(Step::Block) => accesses += block.len(),
            Delivered::Rows(Step::End) => break,
            Delivered::Rows(_) => {}
        }
    }
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("rewritten"), read("native"), "{command:?}");
    assert_eq!(running.ended(), Some(expected), "{command:?}");
    assert!(accesses > 10_000, "{command:?}: {accesses}");
    (expected, read("native"))
}

/// Compiles a program of `programs/rewrite`.
fn build(folder: &Path, compiler: &str, flags: &[&str], source: &str) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rewrite");
    let output = folder.join("program");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-w", "-pthread", "-o"]);
    command.arg(&output).args(flags).arg(programs.join(source));
    assert!(command.status().unwrap().success(), "{compiler} {flags:?}");
    output.to_str().unwrap().to_owned()
}

/// Builds and runs a program with a sanitizer.
fn sanitized(compiler: &str, sanitizer: &str) {
    let folder = tempfile::tempdir().unwrap();
    let flag = format!("-fsanitize={sanitizer}");
    let program = build(folder.path(), compiler, &[&flag], "race.c");
    let (end, text) = same(folder.path(), &[&program]);
    assert_eq!((end, &*text), (ProcessEnd::Exit(16), "1998000\n"));
}

#[test]
fn shadow_of_thread_sanitizer_has_its_place() {
    sanitized("gcc", "thread");
}

#[test]
fn shadows_of_sanitizers_of_clang_have_their_places() {
    const RUN_TIMES: &str = "/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.msan-x86_64.a";
    if !reuselens_testing::has("clang-19") || !reuselens_testing::has(RUN_TIMES) {
        return;
    }
    for sanitizer in ["thread", "memory", "dataflow", "address"] {
        sanitized("clang-19", sanitizer);
    }
}

/// The path of a file of `programs/targets`.
fn target(name: &str) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/targets");
    programs.join(name).to_str().unwrap().to_owned()
}

/// Runs a command whose tool may be missing; it ends with this status.
fn runs(command: &[&str], status: i32) {
    if reuselens_testing::has(command[0]) {
        let folder = tempfile::tempdir().unwrap();
        let (end, _) = same(folder.path(), command);
        assert_eq!(end, ProcessEnd::Exit(status), "{command:?}");
    }
}

#[test]
fn code_of_luajit_runs() {
    runs(&["luajit", &target("primes.lua")], 3);
}

#[test]
fn code_of_node_runs() {
    runs(&["node", &target("hot.js")], 4);
}

#[test]
fn code_of_java_runs() {
    if !reuselens_testing::has("java") || !reuselens_testing::has("javac") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let classes = folder.path().to_str().unwrap();
    let source = target("Hot.java");
    let mut compiler = Command::new("javac");
    let compiled = compiler.args(["-d", classes, &source]).status();
    assert!(compiled.unwrap().success());
    let small = ["-XX:+UseSerialGC", "-XX:CICompilerCount=2", "-Xmx64m"];
    let command = [&["java"][..], &small, &["-cp", classes, "Hot"]].concat();
    runs(&command, 5);
}

#[test]
fn code_of_gforth_runs() {
    runs(&["gforth", &target("squares.fs")], 6);
}

#[test]
fn code_of_sbcl_runs_between_collections() {
    runs(&["sbcl", "--script", &target("collect.lisp")], 7);
}

#[test]
fn code_of_guile_runs() {
    runs(&["guile", "--no-auto-compile", &target("hot.scm")], 8);
}

#[test]
fn code_of_tcc_runs_in_its_own_process() {
    runs(&["tcc", "-run", &target("../rewrite/race.c")], 16);
}

/// Runs a program of `programs/rewrite` in an emulator.
fn emulated(source: &str) {
    if reuselens_testing::has("qemu-x86_64") {
        let folder = tempfile::tempdir().unwrap();
        let guest = build(folder.path(), "gcc", &["-static"], source);
        same(folder.path(), &["qemu-x86_64", &guest]);
    }
}

#[test]
fn guest_of_an_emulator_runs() {
    emulated("race.c");
}

#[test]
fn guest_that_modifies_itself_runs() {
    emulated("generated.c");
}
