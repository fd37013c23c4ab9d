//! Tests that processes and threads are announced before their rows, however many there are and
//! however short they live.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reuselens_capture::toolchain::{self, Language};
use reuselens_capture::{Capture, Launch, Running};
use reuselens_trace::{Block, Event, ProcessEnd, ProcessId, Source, Step};

fn build(folder: &Path, program: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/count");
    let output = folder.join(program);
    let source = programs.join(format!("{program}.c"));
    let arguments = ["-O1", "-pthread", "-o"].map(Into::into);
    let files = [output.clone().into_os_string(), source.into_os_string()];
    let arguments: Vec<_> = arguments.into_iter().chain(files).collect();
    assert!(
        toolchain::compile(Language::C, &arguments)
            .unwrap()
            .success()
    );
    output
}

/// What has shown itself so far.
#[derive(Default)]
struct Shown {
    processes: Vec<(ProcessId, u32)>,
    with_modules: BTreeSet<u16>,
    threads: Vec<(u32, ProcessId, u32)>,
    ended: Option<ProcessEnd>,
}

impl Shown {
    fn event(&mut self, event: &Event) {
        assert!(
            self.ended.is_none(),
            "nothing follows the end of the program"
        );
        match event {
            Event::Process(process) => {
                let parents = self.processes.iter().map(|(id, _)| *id);
                assert!(
                    process
                        .parent
                        .is_none_or(|parent| parents.into_iter().any(|id| id == parent))
                );
                self.processes.push((process.id, process.pid));
            }
            Event::Module(module) => {
                assert!(self.processes.iter().any(|(id, _)| *id == module.process));
                self.with_modules.insert(module.process.0);
            }
            Event::Thread(thread) => {
                assert!(
                    self.with_modules.contains(&thread.process.0),
                    "modules come first"
                );
                self.threads.push((thread.id.0, thread.process, thread.tid));
            }
            Event::ThreadEnded(thread) => {
                assert!(self.threads.iter().any(|(id, ..)| *id == thread.0));
            }
            Event::ProcessEnded(ProcessId(0), end) => self.ended = Some(*end),
            _ => {}
        }
    }

    /// The main thread of each process is its first: thread and process have one number there.
    fn main_threads_come_first(&self) {
        for (id, pid) in &self.processes {
            let first = self.threads.iter().find(|(_, process, _)| process == id);
            assert_eq!(
                first.map(|(.., tid)| *tid),
                Some(*pid),
                "{:?}",
                self.threads
            );
        }
    }
}

fn watch(program: &Path, arguments: &[&str]) -> Shown {
    // A shell without hooks becomes the program; what that prints is not for this test's reader.
    let shell = ["sh", "-c", "exec \"$0\" \"$@\" > /dev/null"].map(Into::into);
    let words = arguments.iter().map(Into::into);
    let command = shell
        .into_iter()
        .chain([program.into()])
        .chain(words)
        .collect();
    let mut running = Running::start(&Launch {
        command,
        capture: Capture::CompiledIn,
        ..Launch::default()
    })
    .unwrap();
    let (mut shown, mut block) = (Shown::default(), Block::new());
    loop {
        match running.next(&mut block).unwrap() {
            Step::Block => {
                let known = |(id, process, _): &(u32, ProcessId, u32)| {
                    (*id, *process) == (block.thread.0, block.process)
                };
                assert!(shown.threads.iter().any(known), "a block before its thread");
            }
            Step::Event(event) => shown.event(&event),
            Step::End => break,
        }
    }
    assert_eq!(shown.ended, running.ended());
    shown.main_threads_come_first();
    shown
}

#[test]
fn threads_of_short_programs_are_announced_before_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let count = build(folder.path(), "count");
    for round in 0..40 {
        let threads = (round % 6).to_string();
        let shown = watch(&count, &["5", "5", &threads]);
        assert_eq!(shown.ended, Some(ProcessEnd::Exit(0)));
        assert_eq!(shown.threads.len(), 1 + round % 6);
    }
}

#[test]
fn forked_process_is_announced_after_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let forking = build(folder.path(), "forking");
    for _ in 0..5 {
        let shown = watch(&forking, &[]);
        assert_eq!((shown.processes.len(), shown.threads.len()), (2, 2));
    }
}

#[test]
fn killed_program_is_announced_before_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let crash = build(folder.path(), "crash");
    for _ in 0..5 {
        let shown = watch(&crash, &["kill"]);
        assert_eq!(shown.ended, Some(ProcessEnd::Signal(9)));
    }
}
