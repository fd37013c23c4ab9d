//! What the attributor knows of each process and of each thread of a trace.
//!
//! What processes and threads have in common is in [`crate::shared`].

use std::collections::BTreeSet;

use reuselens_trace::ProcessId;

use crate::element_spans::KnownExtents;
use crate::places::Mappings;
use crate::sites::SiteIndex;
use crate::space::AddressSpace;
use crate::stack::ShadowStack;
use crate::statement_addresses::StatementAddresses;
use crate::structures::Entries;

/// A process of the trace.
#[derive(Debug, Default)]
pub(crate) struct ProcessState {
    pub id: u16,
    /// The process, and how often its code was replaced.
    pub code: u64,
    pub parent: Option<ProcessId>,
    /// Whether its compiler instrumented its accesses. Accesses that the program names itself do
    /// not count then.
    pub instrumented: bool,
    pub space: AddressSpace,
    pub sites: SiteIndex,
    /// Where objects begin: for offsets in elements.
    pub extents: KnownExtents,
    pub mappings: Mappings,
    pub entries: Entries,
    /// Live threads, by index.
    pub threads: BTreeSet<u32>,
    /// Live threads whose stack bounds are known: low end of the stack, and index.
    pub stacks: BTreeSet<(u64, u32)>,
    /// Live threads whose stack bounds are unknown, by index.
    pub unbounded: BTreeSet<u32>,
    /// Whether the program ever named a structure on a stack.
    pub named_on_stack: bool,
    /// Whether it had a thread before.
    has_main: bool,
}

impl ProcessState {
    /// A process that has run nothing yet.
    pub fn new(id: ProcessId) -> Self {
        ProcessState {
            id: id.0,
            code: id.0.into(),
            ..Self::default()
        }
    }

    /// Continues with the parent's memory, modules and names, as a forked child does.
    pub fn fork_from(&mut self, parent: &ProcessState) {
        self.space = parent.space.fork();
        self.mappings = parent.mappings.clone();
        self.entries = parent.entries.fork();
        self.parent = Some(ProcessId(parent.id));
        self.named_on_stack = parent.named_on_stack;
        self.sites = SiteIndex::default();
        self.extents = KnownExtents::default();
    }

    /// Drops the maps of its memory, which nothing needs after the process has ended.
    pub fn end(&mut self) {
        let old = std::mem::take(self);
        *self = ProcessState {
            id: old.id,
            code: old.code,
            instrumented: old.instrumented,
            mappings: old.mappings,
            has_main: old.has_main,
            ..Self::default()
        };
    }

    /// Adds a live thread whose stack bounds are unknown. Returns whether it is the main thread:
    /// the process's first.
    pub fn add_thread(&mut self, thread: u32) -> bool {
        self.threads.insert(thread);
        self.unbounded.insert(thread);
        !std::mem::replace(&mut self.has_main, true)
    }

    /// Replaces the stack bounds of a thread, if it is live: low and high end, 0 for an unknown
    /// high end. A thread that has ended gets none, so no access of another thread finds its stack.
    pub fn move_stack(&mut self, thread: u32, old_low: u64, (low, high): (u64, u64)) {
        self.stacks.remove(&(old_low, thread));
        self.unbounded.remove(&thread);
        if self.threads.contains(&thread) {
            match high {
                0 => self.unbounded.insert(thread),
                _ => self.stacks.insert((low, thread)),
            };
        }
    }

    /// Removes a thread that has ended, and its stack that begins at `low`.
    pub fn remove_thread(&mut self, thread: u32, low: u64) {
        self.threads.remove(&thread);
        self.unbounded.remove(&thread);
        self.stacks.remove(&(low, thread));
    }
}

/// A thread of the trace.
#[derive(Debug, Default)]
pub(crate) struct ThreadState {
    pub id: u32,
    pub process: u16,
    pub name: String,
    /// Whether it is its process's first thread.
    pub is_main: bool,
    pub stack: ShadowStack,
    pub statement: StatementAddresses,
    /// The bytes that it held when it was last looked at.
    pub held: u64,
}

impl ThreadState {
    /// Looks at what it holds, and adds what has changed to what all threads hold.
    pub fn add_memory(&mut self, of_all: &mut u64) {
        let held = self.stack.memory() + self.statement.memory();
        *of_all = *of_all - self.held + held;
        self.held = held;
    }
}
