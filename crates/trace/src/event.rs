//! The events between blocks: processes, modules, threads and remarks.
//!
//! Events are rare, so they are values with texts, and not rows. Sources deliver them in their
//! place among the blocks; an analysis needs all events before a block to understand it.

/// Number of a process in a trace, from 0 in the order they began. Processes do not share
/// addresses: consumers keep their items apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u16);

/// Number of a thread in a trace, from 0 in the order they began, over all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// Number of a module within its process, from 0 in the order they were mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub u16);

/// A process began, or became known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number in this trace.
    pub id: ProcessId,
    /// The operating system's number.
    pub pid: u32,
    /// The process it was forked from: it starts with that one's objects.
    pub parent: Option<ProcessId>,
    /// Path of its executable; empty if unknown.
    pub executable: String,
    /// Whether the compiler's instrumentation is in it: then `RecordAccess` only names data, and
    /// the accesses are those that the compiler's hooks report.
    pub instrumented: bool,
}

/// A file was mapped into a process as code and data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The process.
    pub process: ProcessId,
    /// Its number in that process.
    pub id: ModuleId,
    /// Path of the file.
    pub path: String,
    /// What to add to an address in the file's symbol table to get the address in memory.
    pub bias: u64,
    /// First address of its mapping.
    pub low: u64,
    /// First address after its mapping.
    pub high: u64,
    /// GNU build id of the file, empty if it has none.
    pub build_id: Vec<u8>,
}

/// What the path of a file with names of generated code begins and ends with; between them is the
/// number of the process.
const CODE_NAMES: (&str, &str) = ("/tmp/perf-", ".map");

impl Module {
    /// Where the process with this number writes down the names of code that it makes while it
    /// runs, if its run-time system does (Node.js, Java, CPython): perf has it so.
    pub fn path_of_generated_code(pid: u32) -> String {
        let (begin, end) = CODE_NAMES;
        format!("{begin}{pid}{end}")
    }

    /// Whether it is code that the program made while it ran. Its path is that of the file with the
    /// names, its addresses are those in memory, and its build id says which contents it had.
    pub fn is_generated_code(&self) -> bool {
        let (begin, end) = CODE_NAMES;
        let rest = self.path.strip_prefix(begin);
        let number = rest.and_then(|rest| rest.strip_suffix(end));
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// A thread started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its number in this trace.
    pub id: ThreadId,
    /// Its process.
    pub process: ProcessId,
    /// The operating system's number.
    pub tid: u32,
    /// Lowest address of its stack, 0 if unknown.
    pub stack_low: u64,
    /// First address above its stack, 0 if unknown.
    pub stack_high: u64,
    /// Its name, empty if it has none.
    pub name: String,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this status.
    Exit(i32),
    /// A signal killed it.
    Signal(i32),
    /// Nobody saw it end.
    Unknown,
}

/// Something that the reader of the report must know: a loss, a limit, a guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A short stable name, such as `truncated`.
    pub code: String,
    /// What happened and why.
    pub message: String,
    /// What to do or type; may be empty.
    pub hint: String,
}

impl Note {
    /// Code of the note that the trace was copied from one that was cut off or damaged.
    pub const TRUNCATED: &str = "truncated";
    /// Code of the note that the index of a native file is damaged, and nothing else of it.
    pub const DAMAGED_INDEX: &str = "damaged-index";
    /// Code of the note within how many accesses the order between threads is a guess.
    pub const THREAD_ORDER: &str = "thread-order";

    /// Begins the message of [`Note::thread_order`]; the number and a space follow. This text is
    /// part of the file format: readers of traces find the number by it.
    const ORDER_GUESSED_WITHIN: &str = "within ";

    /// The note that accesses of several threads are in the order in which these synchronised, and
    /// that accesses of threads that did not synchronise may have been made in another order,
    /// within this number of accesses; 0 if no order is a guess. Traces without it do not say how
    /// the order between threads came about.
    pub fn thread_order(accesses: u64) -> Note {
        let guessed = match accesses {
            0 => "is a guess: it is that in which they synchronised",
            _ => "that did not synchronise is a guess",
        };
        Note {
            code: Note::THREAD_ORDER.to_owned(),
            message: format!(
                "{}{accesses} accesses, the order between threads {guessed}",
                Note::ORDER_GUESSED_WITHIN
            ),
            hint: String::new(),
        }
    }

    /// The number of accesses of a note made by [`Note::thread_order`], 0 if no order is a guess;
    /// `None` for all others.
    pub fn order_guessed_within(&self) -> Option<u64> {
        let rest = self.message.strip_prefix(Note::ORDER_GUESSED_WITHIN)?;
        let number = rest.split_once(' ')?.0;
        let is_order = self.code == Note::THREAD_ORDER;
        number.parse().ok().filter(|_| is_order)
    }
}

/// How a run was sampled of which bursts were recorded, one of each stratum of its accesses. Before
/// the first burst, all accesses were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// The accesses from here on are of a burst, and recorded so that others of it can be measured.
    /// If it is another burst than before, what was between them was left out.
    Filling {
        /// The number of the burst's first access in the run.
        first: u64,
    },
    /// The accesses from here on are of a burst, and those of it that are measured. Threads come to
    /// these one after the other, so that filling and measured ones may alternate.
    Measured {
        /// The number of the burst's first access in the run.
        first: u64,
        /// How many accesses of the run each of them stands for.
        stands_for: u64,
    },
    /// The run has ended, or its recording has.
    Ended {
        /// The accesses that were recorded.
        recorded: u64,
        /// Those that were made until then.
        accesses: u64,
    },
}

/// An event between blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A process began.
    Process(Process),
    /// A process ended.
    ProcessEnded(ProcessId, ProcessEnd),
    /// A module was mapped.
    Module(Module),
    /// A thread started. Repeated, with the same stack, if it gets another name.
    Thread(Thread),
    /// A thread ended.
    ThreadEnded(ThreadId),
    /// How the run was sampled, if it was.
    Sampling(Sampling),
    /// Something to tell the reader of the report.
    Note(Note),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_generated_code_are_known_by_their_path() {
        let is_generated = |path: &str| {
            let module = Module {
                path: path.to_owned(),
                ..Module::default()
            };
            module.is_generated_code()
        };
        assert!(is_generated(&Module::path_of_generated_code(7)));
        for other in [
            "/tmp/perf-.map",
            "/tmp/perf-1x.map",
            "/tmp/x",
            "perf-1.map",
            "",
        ] {
            assert!(!is_generated(other), "{other}");
        }
    }

    #[test]
    fn the_note_on_the_order_of_threads_keeps_its_number() {
        let note = Note::thread_order(8192);
        assert_eq!(note.order_guessed_within(), Some(8192));
        assert_eq!(Note::thread_order(0).order_guessed_within(), Some(0));
        // Files have this text.
        assert!(note.message.starts_with("within 8192 accesses"));
        let message = note.message.replace("within", "in");
        let unknown = Note {
            message,
            ..note.clone()
        };
        assert_eq!(unknown.order_guessed_within(), None);
        let code = Note::TRUNCATED.to_owned();
        let other = Note { code, ..note };
        assert_eq!(other.order_guessed_within(), None);
    }
}
