//! Tests that rewritten programs end and print as they do otherwise, and that their accesses are
//! recorded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use reuselens_capture::{Capture, Delivered, Launch, Running};
use reuselens_trace::{Block, Event, Kind, Note, ProcessEnd, Row, Source, Step, TemplateBlock};

use crate::common::programs::build;
use crate::common::{Told, watch};

/// What was seen of a program.
#[derive(Default)]
struct Seen {
    ended: Option<ProcessEnd>,
    /// Loads and stores (an atomic access is both) of instructions below 2²⁴: those of a program
    /// that is not position-independent.
    own: [u64; 2],
    kinds: BTreeMap<u8, u64>,
    /// The program counter of the first access, and how many have it.
    first: Option<(u64, u64)>,
    processes: Vec<String>,
    remarks: Vec<String>,
    threads: u32,
}

impl Seen {
    fn add(&mut self, block: &Block) {
        for row in block.rows() {
            *self.kinds.entry(row.kind as u8).or_default() += 1;
            let (loads, stores) = match row.kind {
                Kind::Load => (1, 0),
                Kind::Store => (0, 1),
                Kind::Atomic => (1, 1),
                _ => (0, 0),
            };
            if loads + stores > 0 {
                let (first, count) = self.first.get_or_insert((row.pc, 0));
                *count += u64::from(*first == row.pc);
            }
            if row.pc < 1 << 24 {
                self.own[0] += loads;
                self.own[1] += stores;
            }
        }
    }
}

fn run(command: Vec<OsString>) -> Seen {
    let mut seen = Seen::default();
    let running = watch(command, Capture::Rewriting, |told| match told {
        Told::Rows(block) => seen.add(block),
        Told::Event(Event::Process(process)) => seen.processes.push(process.executable),
        // No loss, and most runs of several threads have it.
        Told::Event(Event::Note(note)) if note.code == Note::THREAD_ORDER => {}
        Told::Event(Event::Note(note)) => seen.remarks.push(note.code),
        Told::Event(Event::Thread(_)) => seen.threads += 1,
        Told::Event(_) => {}
    });
    seen.ended = running.ended();
    seen
}

/// Runs a program as it is and rewritten, its output going to a file; all must be the same.
fn same(program: &Path) -> Seen {
    let seen = same_but_remarks(program);
    assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    seen
}

fn same_but_remarks(program: &Path) -> Seen {
    let folder = program.parent().unwrap();
    let through = |name: &str| -> Vec<OsString> {
        let script = format!("exec \"$0\" > {}", folder.join(name).display());
        vec!["sh".into(), "-c".into(), script.into(), program.into()]
    };
    let native = through("native");
    let status = Command::new(&native[0])
        .args(&native[1..])
        .status()
        .unwrap();
    let seen = run(through("rewritten"));
    let expected = match (
        status.code(),
        std::os::unix::process::ExitStatusExt::signal(&status),
    ) {
        (Some(code), _) => ProcessEnd::Exit(code),
        (None, signal) => ProcessEnd::Signal(signal.unwrap()),
    };
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("rewritten"), read("native"));
    assert_eq!(seen.ended, Some(expected));
    seen
}

#[test]
fn signal_handlers_masks_and_faults_work() {
    let folder = tempfile::tempdir().unwrap();
    same(&build(folder.path(), "signals.c", &[]));
}

#[test]
fn faults_in_blocks_without_accesses_are_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "silent.c", &[]);
    // Through the shell the program itself is what comes after an exec.
    same(&program);
    let seen = run(vec![program.into()]);
    assert_eq!(seen.ended, Some(ProcessEnd::Exit(5)));
    // The loader's first access is made once before the exec and once behind it, at most.
    let (_, count) = seen.first.unwrap();
    assert!(count <= 2, "{count} times");
}

#[test]
fn threads_that_start_and_end_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same(&build(folder.path(), "threads.c", &[]));
    // The shell, the program's first, 160 that work, one that waits, one that never ends.
    assert_eq!(seen.threads, 1 + 1 + 160 + 2);
}

#[test]
fn forked_and_executed_processes_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same(&build(folder.path(), "processes.c", &[]));
    let ours = seen
        .processes
        .iter()
        .filter(|path| path.ends_with("/processes"));
    // At first, five forked, one spawned, one for the shell, one that is run in the end.
    assert!(ours.count() >= 8);
    assert!(
        seen.processes.iter().any(|path| path.ends_with("sh")),
        "the shell of system()"
    );
}

#[test]
fn exceptions_and_long_jumps_work() {
    let folder = tempfile::tempdir().unwrap();
    same(&build(folder.path(), "exceptions.cpp", &[]));
}

#[test]
fn generated_code_is_translated_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    same(&build(folder.path(), "generated.c", &[]));
}

#[test]
fn code_changed_through_another_mapping_is_translated_again() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same_but_remarks(&build(folder.path(), "twice.c", &[]));
    assert_eq!(seen.ended, Some(ProcessEnd::Exit(0)));
    assert_eq!(seen.remarks, ["shared-code"]);
}

#[test]
fn code_changed_beside_running_code_is_translated_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "beside.c", &[]);
    for _ in 0..2 {
        let seen = same_but_remarks(&program);
        assert_eq!(seen.ended, Some(ProcessEnd::Exit(0)));
        assert_eq!(seen.remarks, ["shared-code"]);
    }
}

#[test]
fn code_whose_other_mapping_moves_is_translated_again() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same_but_remarks(&build(folder.path(), "moves.c", &[]));
    assert_eq!(seen.ended, Some(ProcessEnd::Exit(0)));
    assert_eq!(seen.remarks, ["shared-code"]);
}

#[test]
fn library_of_cuda_that_is_loaded_later_is_remarked_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let library = path("libcuda.so.1");
    std::fs::write(
        path("library.c"),
        "int cuInit(unsigned flags) { return 100 + flags; }",
    )
    .unwrap();
    let source = format!(
        "#include <dlfcn.h>\nint main(void) {{ void *library = dlopen(\"{}\", RTLD_NOW);\n\
         return ((int (*)(unsigned))dlsym(library, \"cuInit\"))(0) != 100; }}\n",
        library.display()
    );
    std::fs::write(path("loads.c"), source).unwrap();
    for arguments in [
        vec!["-shared", "-fPIC", "-o", "libcuda.so.1", "library.c"],
        vec!["-o", "loads", "loads.c", "-ldl"],
    ] {
        let mut gcc = Command::new("gcc");
        let built = gcc.current_dir(folder.path()).args(arguments).status();
        assert!(built.unwrap().success());
    }
    let seen = same_but_remarks(&path("loads"));
    assert_eq!(seen.ended, Some(ProcessEnd::Exit(0)));
    assert_eq!(seen.remarks, ["host-only"]);
}

#[test]
fn exec_by_a_later_thread_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let seen = same_but_remarks(&build(folder.path(), "becomes.c", &["-no-pie"]));
        let ours = seen.processes.iter();
        assert_eq!(ours.filter(|path| path.ends_with("/becomes")).count(), 2);
        // What its other threads did last is lost, and that is said.
        assert!(
            seen.remarks.iter().all(|note| note == "cut-short"),
            "{:?}",
            seen.remarks
        );
        assert!(seen.own[1] >= 100_000, "{:?}", seen.own);
    }
}

#[test]
fn signals_just_before_exec_do_not_hold_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same_but_remarks(&build(folder.path(), "signalled.c", &[]));
    let ours = seen.processes.iter();
    assert_eq!(ours.filter(|path| path.ends_with("/signalled")).count(), 13);
}

#[test]
fn failed_exec_calls_delay_no_other_process() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same_but_remarks(&build(folder.path(), "fails.c", &[]));
    let echo = seen.processes.iter().filter(|path| path.ends_with("echo"));
    assert_eq!(echo.count(), 1);
    // Processes end while their threads run on.
    assert!(
        seen.remarks.iter().all(|note| note == "cut-short"),
        "{:?}",
        seen.remarks
    );
}

/// Everything a program does, as rows, whichever way they are handed over.
fn rows_of(program: &Path, as_templates: bool) -> (Block, usize) {
    let mut running = Running::start(&Launch {
        command: vec![program.into()],
        capture: Capture::Rewriting,
        ..Launch::default()
    })
    .unwrap();
    let (mut all, mut block, mut executed) = (Block::new(), Block::new(), TemplateBlock::new());
    let mut templates = 0;
    loop {
        let delivered = if as_templates {
            running.next_templates(&mut block, &mut executed).unwrap()
        } else {
            Delivered::Rows(running.next(&mut block).unwrap())
        };
        match delivered {
            Delivered::Templates => {
                templates += executed.templates().len();
                executed.expand(running.templates(), &mut block);
                assert_eq!(block.len(), executed.rows());
            }
            Delivered::Rows(Step::Block) => {}
            Delivered::Rows(Step::Event(_)) => continue,
            Delivered::Rows(Step::End) => return (all, templates),
        }
        all.append(block.kinds(), block.sizes(), block.pcs(), block.addrs());
    }
}

#[test]
fn templates_and_operands_expand_to_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    // Instructions of their own kind have masks and ranges, which have no template.
    for source in ["counted.c", "instructions.c"] {
        let program = build(folder.path(), source, &["-no-pie"]);
        let (rows, none) = rows_of(&program, false);
        let (again, templates) = rows_of(&program, true);
        assert!(none == 0 && templates > 1000, "{templates} templates");
        assert!(rows.len() > 10_000 && templates < rows.len());
        // The start has what the kernel chose at random; the program itself does the same each
        // time.
        let own = |block: &Block| -> Vec<Row> {
            block
                .rows()
                .filter(|row| (1..1 << 24).contains(&row.pc))
                .collect()
        };
        let (rows, again) = (own(&rows), own(&again));
        assert!(
            rows.len() > 1000 && rows == again,
            "{source}: {} and {} rows",
            rows.len(),
            again.len()
        );
    }
}

#[test]
fn string_and_masked_instructions_work() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same(&build(folder.path(), "instructions.c", &[]));
    assert!(seen.kinds.contains_key(&(Kind::RangeLoad as u8)));
    assert!(seen.kinds.contains_key(&(Kind::RangeStore as u8)));
}

#[test]
fn program_that_uses_gs_goes_on_unrecorded_with_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same_but_remarks(&build(folder.path(), "segment.c", &[]));
    assert_eq!(seen.remarks, ["left-unseen"]);
}

#[test]
fn program_of_32_bits_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (program, source) = (folder.path().join("narrow"), folder.path().join("narrow.c"));
    std::fs::write(&source, "void _start(void) { for (;;) {} }").unwrap();
    let built = Command::new("gcc")
        .args(["-m32", "-nostdlib", "-static", "-o"])
        .args([&program, &source])
        .output()
        .unwrap();
    if !built.status.success() {
        return println!("no compiler for 32 bits here: refusal is not tried");
    }
    let launch = Launch {
        command: vec![program.into()],
        ..Launch::default()
    };
    let refused = Running::start(&launch).err().unwrap().to_string();
    assert!(refused.contains("not a 64-bit program"), "{refused}");
    assert!(refused.contains("`reuselens cc`"), "{refused}");
}

#[test]
fn static_program_is_recorded_with_its_allocator() {
    let folder = tempfile::tempdir().unwrap();
    let seen = same(&build(folder.path(), "counted.c", &["-static"]));
    assert!(
        seen.kinds[&(Kind::Alloc as u8)] >= 3000,
        "its allocator is recognised"
    );
}

/// Loads and stores of a program's own instructions as valgrind's lackey sees them; `None` without
/// it.
fn lackey(program: &Path) -> Option<[u64; 2]> {
    let output = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--log-fd=2"])
        .arg(program)
        .output()
        .ok()?;
    let (mut own, mut counts) = (false, [0, 0]);
    for line in output.stderr.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let address = line.get(3..).and_then(|rest| rest.split(',').next());
        let address = address.and_then(|text| u64::from_str_radix(text, 16).ok());
        match (line.get(..3), address) {
            (Some("I  "), Some(pc)) => own = pc < 1 << 24,
            (Some(" L "), Some(_)) if own => counts[0] += 1,
            (Some(" S "), Some(_)) if own => counts[1] += 1,
            (Some(" M "), Some(_)) if own => {
                counts[0] += 1;
                counts[1] += 1;
            }
            _ => {}
        }
    }
    Some(counts)
}

#[test]
fn loads_and_stores_match_valgrind() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "counted.c", &["-no-pie", "-O1"]);
    let seen = same(&program);
    let Some(expected) = lackey(&program) else {
        println!("no valgrind here: counts are not compared");
        return;
    };
    for (seen, expected) in seen.own.into_iter().zip(expected) {
        println!("{seen} seen, {expected} expected");
        assert!(expected > 100_000);
        let difference = seen.abs_diff(expected);
        assert!(
            difference * 1000 <= expected,
            "{seen} seen, {expected} expected"
        );
    }
}

#[test]
fn child_forked_while_its_parent_ends_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    same_but_remarks(&build(folder.path(), "ended.c", &[]));
}
