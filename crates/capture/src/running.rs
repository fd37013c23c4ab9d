//! A running program as a source.

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use reuselens_trace::{Block, Event, Note, ProcessEnd, ProcessId, Source, Step, TraceError};

use crate::CaptureError;
use crate::consumer::{Consumer, RawBlock};
use crate::decode::Decoder;
use crate::follow::Followed;
use crate::program::{Launch, leave_interrupts_to_the_program, process_end, take_interrupts_back};
use crate::segment::Segment;

/// A program that runs while its accesses are read. Dropping it stops the reading, not the program.
pub struct Running {
    child: Child,
    rewritten: bool,
    consumer: Consumer,
    decoder: Decoder,
    /// Blocks next in line: parts of blocks still being written, and what the dead left behind.
    unfinished: VecDeque<RawBlock>,
    notes: VecDeque<Event>,
    /// Programs that could not be rewritten.
    unseen: BTreeSet<String>,
    ended: Option<ProcessEnd>,
    finished: bool,
    told_end: bool,
    seen: Seen,
}

/// What has been seen so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    processes: u32,
    instrumented: bool,
    names: bool,
}

impl Running {
    /// Starts the program.
    ///
    /// # Errors
    /// If it does not exist or cannot be started, or there is no shared memory.
    pub fn start(launch: &Launch) -> Result<Running, CaptureError> {
        let wants = if launch.basic_blocks {
            reuselens_wire::WANTS_BASIC_BLOCKS
        } else {
            0
        };
        let segment = Segment::create(wants).map_err(|source| CaptureError::Segment { source })?;
        let started = launch.start(&segment.path())?;
        leave_interrupts_to_the_program();
        Ok(Running {
            child: started.child,
            rewritten: started.rewritten,
            consumer: Consumer::new(segment),
            decoder: Decoder::new(launch.basic_blocks),
            unfinished: VecDeque::new(),
            notes: VecDeque::new(),
            unseen: BTreeSet::new(),
            ended: None,
            finished: false,
            told_end: false,
            seen: Seen::default(),
        })
    }

    /// From here on the rows of code that the LLVM pass has seen are counted, and not delivered: shows what capture costs
    /// without its reader. All other rows are delivered as ever.
    pub fn count_only(&mut self) {
        self.decoder.count_only();
    }

    /// What was counted in place of rows, by the number of the row's kind.
    pub fn counted(&self) -> [u64; 16] {
        self.decoder.counted()
    }

    /// How the program ended; `None` while it runs.
    pub fn ended(&self) -> Option<ProcessEnd> {
        self.ended
    }

    /// Whether any process with our run time in it was seen. If not, the program was not built with
    /// `reuselens cc`.
    pub fn saw_run_time(&self) -> bool {
        self.seen.processes > 0
    }

    /// Gets the decoder its next raw block; false at the end of everything.
    fn refill(&mut self) -> bool {
        let mut raw = self.decoder.take_raw();
        loop {
            self.follow();
            if let Some(block) = self.unfinished.pop_front() {
                self.decoder.begin(block);
                return true;
            }
            if self.consumer.next(&mut raw) {
                self.unfinished.extend(self.consumer.overtaken());
                if self.unfinished.is_empty() {
                    self.decoder.begin(raw);
                    return true;
                }
                self.unfinished.push_back(std::mem::take(&mut raw));
                continue;
            }
            if self.ended.is_some() {
                // The queue was empty after the program had ended: only remains are left.
                if self.consumer.skip() {
                    continue;
                }
                if self.finished {
                    return false;
                }
                self.finish();
                continue;
            }
            let dead = self.consumer.dead();
            if !dead.is_empty() {
                self.take_complete();
                self.unfinished.extend(self.consumer.reap(&dead));
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                self.ended = Some(process_end(status));
                take_interrupts_back();
            } else if self.unfinished.is_empty() {
                self.consumer.nap();
            }
        }
    }

    /// Looks after a process that is about to become another program.
    fn follow(&mut self) {
        match self.consumer.follow() {
            Some(Followed::Unseen(path)) => {
                self.unseen.insert(path);
            }
            Some(Followed::Ended(pid, status)) if pid == self.child.id() => {
                self.ended = Some(process_end(ExitStatus::from_raw(status)));
                take_interrupts_back();
            }
            _ => {}
        }
    }

    /// Puts in line what waits in the queue: a process that is found dead may have done all its work
    /// since the queue was last seen empty, and its complete blocks come before the unfinished one.
    fn take_complete(&mut self) {
        let mut raw = RawBlock::default();
        for _ in 0..reuselens_wire::QUEUE_CELLS {
            if !self.consumer.next(&mut raw) {
                break;
            }
            self.unfinished.extend(self.consumer.overtaken());
            self.unfinished.push_back(std::mem::take(&mut raw));
        }
    }

    /// Takes what the program left behind and writes down what the reader must know.
    fn finish(&mut self) {
        self.finished = true;
        self.consumer.close();
        let living = self.consumer.still_running();
        self.take_complete();
        self.unfinished.extend(self.consumer.rest());
        if !living.is_empty() {
            self.note(
                "still-running",
                format!(
                    "{} process(es) started by the program were still running when it ended; their \
                     accesses count up to that moment",
                    living.len()
                ),
                "have the program wait for its children",
            );
        }
        for path in std::mem::take(&mut self.unseen) {
            self.note(
                "not-rewritten",
                format!("{path} was started by the program and could not be rewritten: its accesses are missing"),
                "run it on its own, or build it with `reuselens cc`",
            );
        }
        let left = self.consumer.left();
        if left > 0 {
            self.note(
                "left-unseen",
                format!(
                    "{left} thread(s) went on without being seen: their code cannot be rewritten (it uses \
                     the segment register gs, or the code cache is full), or they called exec beside others"
                ),
                "build the program with `reuselens cc`",
            );
        }
        self.note_losses();
    }

    /// Says what was not recorded, or recorded and not understood.
    fn note_losses(&mut self) {
        let (_, unread) = self.decoder.notes();
        if unread > 0 {
            self.note(
                "notes-not-read",
                format!(
                    "{unread} block(s) of events could not be read: the program, or a library of it, was built with \
                     --llvm, and its file is gone or is not the one that ran"
                ),
                "leave the program's files as they are while it runs",
            );
        }
        let (threads, events) = self.consumer.losses();
        if threads > 0 {
            self.note(
                "unrecorded-threads",
                format!(
                    "{threads} thread(s) were not recorded: {} ran at one time, or had just ended",
                    reuselens_wire::SLOTS
                ),
                "run the program with fewer threads",
            );
        }
        if events > 0 {
            self.note(
                "lost-events",
                format!("{events} event(s) were not recorded (nested signal handlers, or threads without a slot)"),
                "",
            );
        }
    }

    fn note(&mut self, code: &str, message: String, hint: &str) {
        let note = Note {
            code: code.to_owned(),
            message,
            hint: hint.to_owned(),
        };
        self.notes.push_back(Event::Note(note));
    }

    /// Looks at an event on its way out.
    fn watch(&mut self, event: &Event) {
        if let Event::Process(process) = event {
            self.seen.processes += 1;
            self.seen.instrumented |= process.instrumented;
            self.seen.names |= !process.instrumented;
            let replaced = self.consumer.replaced(process.pid, u32::from(process.id.0));
            self.unfinished.extend(replaced);
        }
    }
}

impl Source for Running {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            if let Some(step) = self.decoder.next(block) {
                if let Step::Event(event) = &step {
                    self.watch(event);
                }
                return Ok(step);
            }
            if !self.refill() {
                break;
            }
        }
        if let Some(event) = self.notes.pop_front() {
            return Ok(Step::Event(event));
        }
        if let Some(end) = self.ended
            && self.saw_run_time()
            && !std::mem::replace(&mut self.told_end, true)
        {
            return Ok(Step::Event(Event::ProcessEnded(ProcessId(0), end)));
        }
        Ok(Step::End)
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        if self.rewritten {
            return "code rewritten while it ran: all loads and stores of the program and its libraries, \
                    the stack and spilled registers among them"
                .to_owned();
        }
        if self.decoder.notes().0 {
            return "stores compiled in by the LLVM pass: loads, stores, atomics and memory ranges of the recompiled \
                    code, locals in memory and constants among them; not seen: register spills, libraries that were \
                    not recompiled, memory touched by inline assembly"
                .to_owned();
        }
        let text = match (self.seen.instrumented, self.seen.names) {
            (true, _) => {
                "compiled-in hooks: loads, stores, atomics and memory ranges of the recompiled code; \
                 not seen: register spills, locals whose address is not taken, libraries that were \
                 not recompiled"
            }
            (false, true) => "the program's own RecordData and RecordAccess calls",
            (false, false) => "nothing: no process with the run time in it was seen",
        };
        text.to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.consumer.close();
        take_interrupts_back();
    }
}
