//! Which thread and process the next accesses of a drmemtrace file belong to.
//!
//! Used by `reader`.
//!
//! A thread or process gets its number, and its event, when it has its first access.

use std::collections::{HashMap, VecDeque};

use reuselens_trace::{Block, Event, Process, ProcessId, Thread, ThreadId};

/// Processes and threads by the system's numbers, and who runs now.
#[derive(Clone)]
pub(super) struct RunningThreads {
    processes: HashMap<u64, ProcessId>,
    threads: HashMap<u64, (ThreadId, ProcessId)>,
    begun: u32,
    pid: u64,
    tid: u64,
    /// Whether `current` is that of `tid`.
    is_current: bool,
    current: (ThreadId, ProcessId),
}

impl RunningThreads {
    /// Nobody runs yet; until an entry says otherwise, it will be in process `pid`.
    pub(super) fn new(pid: u64) -> RunningThreads {
        RunningThreads {
            processes: HashMap::new(),
            threads: HashMap::new(),
            begun: 0,
            pid,
            tid: 0,
            is_current: false,
            current: (ThreadId(0), ProcessId(0)),
        }
    }

    /// An entry says that thread `tid` runs from now on.
    pub(super) fn runs(&mut self, tid: u64) {
        self.is_current &= tid == self.tid;
        self.tid = tid;
    }

    /// An entry says that the thread that runs belongs to process `pid`.
    pub(super) fn belongs(&mut self, pid: u64) {
        let known = self.threads.get(&self.tid).map(|&(_, process)| process);
        if known.is_some() && known != self.processes.get(&pid).copied() {
            // The system gave the number of a thread that is gone to another one.
            self.threads.remove(&self.tid);
            self.is_current = false;
        }
        self.pid = pid;
    }

    /// An entry says that thread `tid` is over.
    pub(super) fn ends(&mut self, tid: u64, events: &mut VecDeque<Event>) {
        if let Some((thread, _)) = self.threads.remove(&tid) {
            events.push_back(Event::ThreadEnded(thread));
        }
        self.is_current &= tid != self.tid;
    }

    /// The system's number of the thread that runs.
    pub(super) fn tid(&self) -> u64 {
        self.tid
    }

    /// The system's number of the process of the thread that runs.
    pub(super) fn pid(&self) -> u64 {
        self.pid
    }

    /// Whether `tid` is the thread that runs.
    pub(super) fn is_running(&self, tid: u64) -> bool {
        tid == self.tid
    }

    /// Whether the thread that runs belongs to process `pid`.
    pub(super) fn is_of(&self, pid: u64) -> bool {
        pid == self.pid
    }

    /// Labels `rows` with the running thread and process, with events for new ones. `false` if
    /// there are more processes or threads than there are numbers for.
    pub(super) fn label(&mut self, rows: &mut Block, events: &mut VecDeque<Event>) -> bool {
        if !self.is_current {
            let known = self.threads.get(&self.tid).copied();
            let Some(current) = known.or_else(|| self.begin(events)) else {
                return false;
            };
            self.current = current;
            self.is_current = true;
        }
        (rows.thread, rows.process) = self.current;
        true
    }

    fn begin(&mut self, events: &mut VecDeque<Event>) -> Option<(ThreadId, ProcessId)> {
        let process = match self.processes.get(&self.pid) {
            Some(&process) => process,
            None => {
                let id = ProcessId(u16::try_from(self.processes.len()).ok()?);
                self.processes.insert(self.pid, id);
                events.push_back(Event::Process(Process {
                    id,
                    pid: self.pid as u32,
                    ..Process::default()
                }));
                id
            }
        };
        let id = ThreadId(self.begun);
        self.begun = self.begun.checked_add(1)?;
        self.threads.insert(self.tid, (id, process));
        events.push_back(Event::Thread(Thread {
            id,
            process,
            tid: self.tid as u32,
            ..Thread::default()
        }));
        Some((id, process))
    }
}
