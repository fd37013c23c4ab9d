//! [`Running`]: a program that runs, as a [`Source`] of its accesses and events.
//!
//! Each call of `next` decodes what is left of a raw block, or gets the next one from the consumer
//! ([`Running::refill`]). While it waits, it also follows programs through `exec`, checks the
//! limits, and passes requests to end on to the program. After the program's end it delivers what
//! threads could not publish, then remarks for the report, then the end.

use reuselens_units::Bytes;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use reuselens_hugepages::{address_space_limit, data_limit};
use reuselens_trace::{
    Block, Event, Note, ProcessEnd, ProcessId, Projection, Source, Step, Stop, TemplateBlock,
    Templates, TraceError,
};

use crate::CaptureError;
use crate::built_in::BuiltIn;
use crate::consumer::{Consumer, Losses};
use crate::control::ControlOptions;
use crate::cuda::CudaSeen;
use crate::decode::{Decoder, TemplateStep};
use crate::dispositions::{LeftToTheProgram, send};
use crate::follow::Followed;
use crate::generated_code;
use crate::inject::try_wait;
use crate::limiter::{Limit, Limiter};
use crate::program::{Launch, process_end};
use crate::segment::{RawBlock, Segment};
use crate::terminate::Termination;
use crate::unordered::Unordered;

/// A program that runs while its accesses are read. Dropping it stops the reading, not the program.
pub struct Running {
    child: Child,
    rewritten: bool,
    /// The program, and what was built into it.
    program: OsString,
    built_in: BuiltIn,
    consumer: Consumer,
    decoder: Decoder,
    /// Raw blocks to decode next: parts of blocks still being written, and unfinished blocks of
    /// dead threads.
    unfinished: VecDeque<RawBlock>,
    /// Remarks for the report, and modules of generated code, to be delivered at the end.
    remarks: VecDeque<Event>,
    /// Paths of programs that could not be rewritten.
    unseen: BTreeSet<String>,
    ended: Option<ProcessEnd>,
    interrupts: Option<LeftToTheProgram>,
    stop: Stop,
    end_request: EndRequest,
    finished: bool,
    /// How often the queue may yet be looked into once the program has ended.
    looks_left: usize,
    end_delivered: bool,
    seen: Seen,
    cuda: CudaSeen,
    control: ControlOptions,
    limiter: Limiter,
    unordered: Unordered,
    remarks_collected: bool,
    started: SystemTime,
    /// All processes, by their number in the trace and the system's.
    processes: Vec<(ProcessId, u32)>,
    termination: Termination,
}

/// How often a block is looked for in the queue once the program has ended: often enough to take
/// all its cells. Blocks that processes that go on publish after that are not read.
const LOOKS_AFTER_END: usize = 2 * reuselens_wire::QUEUE_CELLS;

/// What [`Running::next_templates`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivered {
    /// What [`Source::next`] would have delivered.
    Rows(Step),
    /// Templates and operands.
    Templates,
}

/// What was done about a request that the program end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndRequest {
    Nothing,
    /// It got the signal.
    ToEnd,
    /// It got the signal that cannot be ignored.
    Killed,
}

/// What has been delivered so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    processes: u32,
    threads: u64,
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
        let segment = Arc::new(segment);
        let control = launch.control.clone();
        control.write_to(&segment.header().control, &launch.functions()?);
        let program = launch.command.first().cloned().unwrap_or_default();
        let started = SystemTime::now();
        let launched = launch.start(&segment.path())?;
        Ok(Running {
            child: launched.child,
            rewritten: launched.rewritten,
            built_in: launched.built_in,
            program,
            decoder: Decoder::new(launch.basic_blocks, control.strata, Arc::clone(&segment)),
            consumer: Consumer::new(segment),
            unfinished: VecDeque::new(),
            remarks: VecDeque::new(),
            unseen: BTreeSet::new(),
            ended: None,
            interrupts: Some(LeftToTheProgram::begin()),
            stop: launch.stop.clone(),
            end_request: EndRequest::Nothing,
            finished: false,
            looks_left: LOOKS_AFTER_END,
            end_delivered: false,
            seen: Seen::default(),
            cuda: CudaSeen::default(),
            limiter: Limiter::new(&control),
            unordered: Unordered::default(),
            control,
            remarks_collected: false,
            started,
            processes: Vec::new(),
            termination: Termination::default(),
        })
    }

    /// How the program ended; `None` while it runs.
    pub fn ended(&self) -> Option<ProcessEnd> {
        self.ended
    }

    /// Whether any process was announced, by the run time or the rewriter in it. If not, the
    /// program was not recorded.
    pub fn saw_run_time(&self) -> bool {
        self.seen.processes > 0
    }

    /// Checks that a program that should have been recorded was.
    ///
    /// # Errors
    /// [`CaptureError::Vanished`] if it ended before, [`CaptureError::Damaged`] if it wrote over
    /// the shared memory before, [`CaptureError::ShortOfSpace`] if a limit left no room to record
    /// it.
    pub fn check_seen(&self) -> Result<(), CaptureError> {
        if self.saw_run_time() || !(self.rewritten || self.built_in.run_time) {
            return Ok(());
        }
        let program = self.program.clone();
        // The rewriter ends a program with this status if there is no room for rewritten code.
        let found_no_room = self.rewritten && self.ended == Some(ProcessEnd::Exit(127));
        let is_limited = address_space_limit().is_some() || data_limit().is_some();
        let short_of_space = &self.consumer.header().short_of_space;
        if short_of_space.load(Ordering::Relaxed) != 0 || found_no_room && is_limited {
            return Err(CaptureError::short_of_space(&program));
        }
        Err(if self.consumer.is_damaged() {
            CaptureError::Damaged { program }
        } else {
            CaptureError::Vanished { program }
        })
    }

    /// As [`Source::next`], but delivers what rewritten code did as templates and operands where
    /// possible, for callers that need no rows of it. Fills either `block` or `executed`, as
    /// [`Delivered`] says. Where the recording is controlled (regions, limits of accesses),
    /// delivers everything as rows.
    ///
    /// # Errors
    /// As [`Source::next`].
    pub fn next_templates(
        &mut self,
        block: &mut Block,
        executed: &mut TemplateBlock,
    ) -> Result<Delivered, TraceError> {
        if self.control.needs_counts() {
            return self.next(block).map(Delivered::Rows);
        }
        loop {
            match self.decoder.next_templates(block, executed) {
                Some(TemplateStep::Templates) if self.limiter.is_stopped() => {}
                Some(TemplateStep::Templates) => {
                    let (begin, end) = (executed.first_stamp, executed.last_stamp);
                    let rows = executed.rows() as u64;
                    self.unordered.add(executed.thread.0, begin, end, rows);
                    return Ok(Delivered::Templates);
                }
                Some(TemplateStep::Other(step)) => {
                    if let Some(step) = self.pass_on(step, block) {
                        return Ok(Delivered::Rows(step));
                    }
                }
                None if self.refill() => {}
                None => return Ok(Delivered::Rows(self.last_steps())),
            }
        }
    }

    /// The templates that [`Self::next_templates`] has named so far.
    pub fn templates(&self) -> &Templates {
        self.decoder.templates()
    }

    /// Takes note of a step before it is delivered. `None` if the recording had stopped before it.
    fn pass_on(&mut self, step: Step, block: &mut Block) -> Option<Step> {
        match &step {
            Step::Event(event) => self.watch(event),
            Step::Block if !self.keep(block) => return None,
            Step::Block => {
                let (begin, end) = (block.first_stamp, block.last_stamp);
                let rows = block.len() as u64;
                self.unordered.add(block.thread.0, begin, end, rows);
            }
            Step::End => {}
        }
        Some(step)
    }

    /// The next step after all blocks: remarks, then the program's end, then [`Step::End`].
    fn last_steps(&mut self) -> Step {
        if !std::mem::replace(&mut self.remarks_collected, true) {
            for process in std::mem::take(&mut self.processes) {
                let known = self.decoder.modules();
                let made = generated_code::modules(process, known, self.started);
                self.remarks.extend(made.into_iter().map(Event::Module));
            }
            let sampled = self.limiter.sampled(self.consumer.control());
            self.remarks.extend(sampled.map(Event::Sampling));
            let counts = !self.consumer.is_damaged();
            let remarks = self.limiter.remarks(self.consumer.control(), counts);
            let within = self.unordered.within().unwrap_or(0);
            let order = (self.seen.threads > 1).then(|| Note::thread_order(within));
            let remarks = remarks.into_iter().chain(order).chain(self.cuda.remark());
            self.remarks.extend(remarks.map(Event::Note));
        }
        if let Some(event) = self.remarks.pop_front() {
            return Step::Event(event);
        }
        if let Some(end) = self.ended
            && self.saw_run_time()
            && !std::mem::replace(&mut self.end_delivered, true)
        {
            return Step::Event(Event::ProcessEnded(ProcessId(0), end));
        }
        self.stop.close();
        Step::End
    }

    /// Gets the decoder its next raw block; false at the end of everything.
    fn refill(&mut self) -> bool {
        let mut raw = self.decoder.take_raw();
        loop {
            self.follow();
            self.look();
            self.heed();
            if let Some(block) = self.unfinished.pop_front() {
                self.decoder.begin(block);
                return true;
            }
            if self.take(&mut raw) {
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
                if self.looks_left > 0 && self.consumer.skip() {
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
            match try_wait(&mut self.child) {
                Ok(Some(status)) => self.ended = Some(process_end(status)),
                Ok(None) if self.unfinished.is_empty() => self.consumer.nap(),
                Ok(None) => {}
                Err(_) => self.ended = Some(ProcessEnd::Unknown),
            }
            if self.ended.is_some() {
                self.interrupts = None;
            }
        }
    }

    /// Reads the next published block into `raw`; false if there is none, or once enough were read
    /// after the program's end.
    fn take(&mut self, raw: &mut RawBlock) -> bool {
        if self.ended.is_some() {
            let Some(left) = self.looks_left.checked_sub(1) else {
                return false;
            };
            self.looks_left = left;
        }
        self.consumer.next(raw)
    }

    /// Checks the limits of time, and terminates the program if that is wanted.
    fn look(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.termination.look();
        let before = self.limiter.is_stopped();
        self.limiter.look(self.consumer.control());
        if !before && self.limiter.is_stopped() {
            self.stopped();
        }
    }

    /// The recording has just stopped: begins to terminate the program if that is wanted.
    fn stopped(&mut self) {
        if self.limiter.ends_program() && self.ended.is_none() {
            let mut pids = self.consumer.still_running();
            pids.push(self.child.id());
            self.termination.begin(&pids);
        }
    }

    /// Cuts a block where the recording stops. Returns whether anything of it is left.
    fn keep(&mut self, block: &mut Block) -> bool {
        if !self.control.needs_counts() && !self.limiter.is_stopped() {
            return true;
        }
        let before = self.limiter.is_stopped();
        let kept = self.limiter.keep(block, self.consumer.control());
        if !before && self.limiter.is_stopped() {
            self.stopped();
        }
        kept
    }

    /// Stops the recording for a reason of the caller's: a text that follows "recording stopped".
    /// The program goes on, or is ended if that is wanted.
    pub fn stop(&mut self, why: String) {
        self.limiter
            .stop(Limit::Other(why), self.consumer.control());
        self.stopped();
    }

    /// Passes a request to end on to the program: the first by the signal, a second one kills it.
    /// What the program does until it ends is still read.
    fn heed(&mut self) {
        let Some(signal) = self.stop.heed() else {
            return;
        };
        if self.ended.is_some() {
            return;
        }
        if self.end_request == EndRequest::Nothing {
            self.end_request = EndRequest::ToEnd;
            send(&self.child, signal);
        } else if self.end_request == EndRequest::ToEnd && self.stop.insists() {
            self.end_request = EndRequest::Killed;
            // It may be gone already.
            let _ = self.child.kill();
        }
    }

    /// Stops reading, and waits for the program's end.
    pub fn wait(&mut self) -> ProcessEnd {
        self.consumer.close();
        loop {
            self.follow();
            self.look();
            self.heed();
            if let Some(end) = self.ended {
                self.stop.close();
                return end;
            }
            match try_wait(&mut self.child) {
                Ok(Some(status)) => self.ended = Some(process_end(status)),
                Ok(None) => self.consumer.nap(),
                Err(_) => self.ended = Some(ProcessEnd::Unknown),
            }
            if self.ended.is_some() {
                self.interrupts = None;
            }
        }
    }

    /// Follows a process that is about to become another program (`exec`).
    fn follow(&mut self) {
        match self.consumer.follow() {
            Some(Followed::Unseen(path)) => {
                self.unseen.insert(path);
            }
            Some(Followed::Ended(pid, status)) if pid == self.child.id() => {
                self.ended = Some(process_end(ExitStatus::from_raw(status)));
                self.interrupts = None;
            }
            _ => {}
        }
    }

    /// Takes all blocks in the queue. A process that is found dead may have published blocks since
    /// the queue was last empty, and these come before its unfinished one.
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

    /// After the program's end: takes what it left in the segment, and collects remarks for the
    /// report.
    fn finish(&mut self) {
        self.finished = true;
        let damaged = self.consumer.check();
        self.consumer.close();
        if damaged {
            return self.remark(
                "segment-damaged",
                "the program wrote over the memory that it shares with reuselens: nothing was read from where that was found \
                 on, and what was read just before may be wrong"
                    .to_owned(),
                "look for the stray writes (gcc -fsanitize=address, or valgrind), and measure again",
            );
        }
        let living = self.consumer.still_running();
        self.take_complete();
        self.unfinished.extend(self.consumer.rest());
        if !living.is_empty() {
            self.remark(
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
            self.remark(
                "not-rewritten",
                format!("{path} was started by the program and could not be rewritten: its accesses are missing"),
                "run it on its own, or build it with `reuselens cc`",
            );
        }
        self.remark_on_detached();
        let header = self.consumer.header();
        let signs = [&header.shared_code, &header.short_of_space];
        let [shared_code, short_of_space] = signs.map(|sign| sign.load(Ordering::Relaxed) != 0);
        if short_of_space {
            self.remark(
                "short-of-space",
                "the program ran under a limit of its address space (ulimit -v, RLIMIT_AS) or writable memory \
                 (ulimit -d, RLIMIT_DATA) that capture's part of it counts for, so its own memory may have ended \
                 earlier than without, or it was not seen"
                    .to_owned(),
                "take the limit away (ulimit -v unlimited -d unlimited) or raise it by 4 GiB",
            );
        }
        if shared_code {
            self.remark(
                "shared-code",
                "code was run in memory that is shared: what the program changed there through its own mappings was seen, what \
                 other processes or write() changed was not"
                    .to_owned(),
                "where that may have been, compare with a run without reuselens",
            );
        }
        self.remark_on_losses();
    }

    /// Adds remarks about detached threads, which went on unrecorded.
    fn remark_on_detached(&mut self) {
        let header = self.consumer.header();
        let counts = [&header.detached, &header.detached_for_filter];
        let [left, restricted] = counts.map(|count| count.load(Ordering::Relaxed));
        if left > 0 {
            self.remark(
                "left-unseen",
                format!(
                    "{left} thread(s) went on without being seen: their code cannot be rewritten (it uses \
                     the segment register gs, or the code cache is full)"
                ),
                "build the program with `reuselens cc`",
            );
        }
        const WHY: &str = "the program had restricted what its code may do (a seccomp filter or the like), and capture's part in \
                           it could have ended it";
        if restricted > 0 && !self.limiter.is_stopped() {
            let (what, hint) = if self.rewritten {
                (
                    "went on without being seen, and so did what they started",
                    "build the program with `reuselens cc`: threads that run by then are recorded to their end",
                )
            } else {
                ("began and were not recorded", "")
            };
            let message = format!("{restricted} thread(s) {what}: {WHY}");
            self.remark("left-for-filter", message, hint);
        }
    }

    /// Adds remarks about accesses that were lost.
    fn remark_on_losses(&mut self) {
        let cut_short = self.consumer.cut_short();
        if cut_short > 0 && !self.limiter.is_stopped() {
            self.remark(
                "cut-short",
                format!(
                    "{cut_short} thread(s) were killed, and what they did last is missing: up to 16,384 words of \
                     notes each, about a thousandth of a second's accesses"
                ),
                "build the program with `reuselens cc`: then every access up to the last is kept",
            );
        }
        if self.rewritten && self.built_in.run_time {
            self.remark(
                "hooks-measured",
                "the program was built with `reuselens cc` and rewritten: what its hooks do is measured with it"
                    .to_owned(),
                "profile it without --capture rewriting, or a build without reuselens",
            );
        }
        self.remark_on_events();
    }

    /// Adds remarks about records that could not be read, and threads and events that were not
    /// recorded.
    fn remark_on_events(&mut self) {
        let unread = self.decoder.unread();
        if unread > 0 {
            self.remark(
                "notes-not-read",
                format!(
                    "{unread} block(s) of events could not be read: the program, or a library of it, was built with \
                     --llvm, and its file is gone or is not the one that ran"
                ),
                "leave the program's files as they are while it runs",
            );
        }
        let Losses { threads, events } = self.consumer.losses();
        let events = events.saturating_add(self.decoder.lost_rows());
        if threads > 0 {
            self.remark(
                "unrecorded-threads",
                format!(
                    "{threads} thread(s) were not recorded: {} ran at one time, or had just ended",
                    reuselens_wire::SLOTS
                ),
                "run the program with fewer threads",
            );
        }
        if events > 0 {
            self.remark(
                "lost-events",
                format!("{events} event(s) were not recorded (nested signal handlers, or threads without a slot)"),
                "",
            );
        }
    }

    fn remark(&mut self, code: &str, message: String, hint: &str) {
        let remark = Note {
            code: code.to_owned(),
            message,
            hint: hint.to_owned(),
        };
        self.remarks.push_back(Event::Note(remark));
    }

    /// Takes note of an event before it is delivered.
    fn watch(&mut self, event: &Event) {
        if let Event::Process(process) = event {
            self.seen.processes += 1;
            // Names of generated code are of the program that the process has become last.
            self.processes.retain(|(_, pid)| *pid != process.pid);
            self.processes.push((process.id, process.pid));
            self.seen.instrumented |= process.instrumented;
            self.seen.names |= !process.instrumented;
            let replaced = self.consumer.replaced(process.pid, u32::from(process.id.0));
            self.unfinished.extend(replaced);
        }
        if let Event::Sampling(sampling) = event {
            self.limiter.sampling(*sampling);
        }
        if let Event::Module(module) = event {
            self.cuda.add(&module.path);
        }
        if let Event::Thread(thread) = event {
            self.seen.threads = self.seen.threads.max(u64::from(thread.id.0) + 1);
        }
    }
}

impl Source for Running {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            match self.decoder.next(block) {
                Some(step) => {
                    if let Some(step) = self.pass_on(step, block) {
                        return Ok(step);
                    }
                }
                None if self.refill() => {}
                None => return Ok(self.last_steps()),
            }
        }
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        let text = match (self.seen.instrumented, self.seen.names) {
            _ if self.rewritten => {
                "code rewritten while it ran: all loads and stores of the program and its libraries, \
                 the stack and spilled registers among them"
            }
            _ if self.built_in.block_records || self.decoder.has_compiled() => {
                "stores compiled in by the LLVM pass: loads, stores, atomics and memory ranges of the recompiled \
                 code, locals in memory and constants among them; not seen: register spills, libraries that were \
                 not recompiled, memory touched by inline assembly"
            }
            (true, _) => {
                "compiled-in hooks: loads, stores, atomics and memory ranges of the recompiled code; \
                 not seen: register spills, local variables and arrays whose address stays in their \
                 function, libraries that were not recompiled"
            }
            (false, true) => "the program's own RecordData and RecordAccess calls",
            (false, false) => "nothing: no process with the run time in it was seen",
        };
        format!("{text}{}", self.control.describe())
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.consumer.close();
    }
}
