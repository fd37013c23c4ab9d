//! For tests: runs a program to its end and passes on what is recorded of it.

pub mod programs;

use std::ffi::OsString;

use reuselens_capture::{Capture, Launch, Running};
use reuselens_trace::{Block, Event, Source, Step};

/// What is told of a run: a block of rows, or an event.
pub enum Told<'a> {
    Rows(&'a Block),
    Event(Event),
}

/// Runs a program, tells what comes, and gives it after its end.
pub fn watch(command: Vec<OsString>, capture: Capture, mut tell: impl FnMut(Told)) -> Running {
    let launch = Launch {
        command,
        capture,
        ..Launch::default()
    };
    let mut running = Running::start(&launch).unwrap();
    let mut block = Block::new();
    loop {
        match running.next(&mut block).unwrap() {
            Step::Block => tell(Told::Rows(&block)),
            Step::Event(event) => tell(Told::Event(event)),
            Step::End => return running,
        }
    }
}
