//! The attributor: events and blocks in, columns out, tables at the end.

use std::collections::BTreeSet;

use reuselens_trace::{Block, Event, Kind, Module, Process, ProcessId, Thread, ThreadId, Wish};
use reuselens_units::Bytes;

use crate::columns::Columns;
use crate::hash::FastMap;
use crate::options::Options;
use crate::pass::Pass;
use crate::places::{Mappings, Place};
use crate::shared::Shared;
use crate::sites::SiteIndex;
use crate::space::Space;
use crate::stack::ShadowStack;
use crate::statement_addresses::Touched;
use crate::structures::Entries;
use crate::symbols::SymbolSource;
use crate::tables::Tables;

/// A process of the trace.
#[derive(Debug, Default)]
pub(crate) struct ProcessState {
    pub id: u16,
    /// The process and how often its code was replaced.
    pub code: u64,
    pub parent: Option<ProcessId>,
    pub instrumented: bool,
    pub space: Space,
    pub sites: SiteIndex,
    pub mappings: Mappings,
    pub entries: Entries,
    /// Live threads, by index.
    pub threads: BTreeSet<u32>,
    /// Where the stacks of those are whose bounds are known: low end and thread.
    pub stacks: BTreeSet<(u64, u32)>,
    /// The others.
    pub unbounded: BTreeSet<u32>,
    /// Whether a structure on a stack was ever named.
    pub named_on_stack: bool,
    /// Whether a thread was seen yet.
    has_main: bool,
}

/// A thread of the trace.
#[derive(Debug, Default)]
pub(crate) struct ThreadState {
    pub id: u32,
    pub process: u16,
    pub name: String,
    pub is_main: bool,
    pub stack: ShadowStack,
    pub touched: Touched,
}

/// Says for every access which item it touches and which cell it counts for.
///
/// Feed it the events and the blocks of one trace in order. Per access it does two look-ups in
/// small tables; it never allocates, locks or formats then. Memory is bounded by the program's
/// code, data and calling contexts, not by the length of the trace.
#[derive(Debug)]
pub struct Attributor {
    options: Options,
    shared: Shared,
    processes: Vec<ProcessState>,
    process_numbers: FastMap<u16, usize>,
    threads: Vec<ThreadState>,
    thread_numbers: FastMap<u32, usize>,
}

/// Touches beyond which a block is handed over in pieces.
const PIECE: usize = 1 << 18;

impl Attributor {
    /// An attributor that has seen nothing.
    pub fn new(options: Options) -> Self {
        Attributor {
            shared: Shared::new(&options),
            options,
            processes: Vec::new(),
            process_numbers: FastMap::default(),
            threads: Vec::new(),
            thread_numbers: FastMap::default(),
        }
    }

    /// Takes in an event. Mapping a module asks `symbols` for its static data.
    pub fn event(&mut self, event: &Event, symbols: &mut dyn SymbolSource) {
        self.shared.events += 1;
        match event {
            Event::Process(process) => self.process_began(process),
            Event::Module(module) if !self.options.ids => self.mapped(module, symbols),
            Event::Thread(thread) => self.thread_began(thread),
            Event::ThreadEnded(thread) => self.thread_ended(*thread),
            Event::ProcessEnded(process, _) => self.process_ended(*process),
            Event::Module(_) | Event::Note(_) => {}
        }
    }

    /// What has to be known of accesses, if it is no more than their items: a source that was asked
    /// for that ([`reuselens_trace::Source::condense`]) need not make rows of them.
    pub fn wish(&self) -> Option<Wish> {
        let Options {
            granularity, kinds, ..
        } = self.options;
        let whole = self.options.is_whole() && !self.options.stores;
        whole.then(|| Wish::new(granularity, |kind| kinds.counts(kind)))
    }

    /// Whether rows that come again may be left out of its blocks
    /// ([`reuselens_trace::Source::fold`]): then it takes a part of the time.
    pub fn folds(&self) -> bool {
        self.options.folds()
    }

    /// Clears `out` and fills it with the touches of a block. A range operation yields an entry for
    /// each item that it covers, however many: see [`Self::pieces`] for bounded columns.
    pub fn block(&mut self, block: &Block, out: &mut Columns) {
        out.clear();
        self.pass(block, out, usize::MAX, &mut |_| {});
    }

    /// As [`Self::block`], but hands the touches to `consume` in pieces: a piece holds at most
    /// about 2¹⁸ touches more than rows are there in the block. `columns` is only the memory to
    /// use.
    pub fn pieces(
        &mut self,
        block: &Block,
        columns: &mut Columns,
        mut consume: impl FnMut(&Columns),
    ) {
        columns.clear();
        self.pass(block, columns, PIECE, &mut consume);
        if !columns.is_empty() || !columns.basic_blocks.is_empty() {
            consume(columns);
        }
    }

    /// As [`Self::pieces`], but lets the touches of several blocks gather in `columns`: what is
    /// there is left there, and `consume` is only called where a single block touches more than is
    /// good. What is in the block afterwards is anything: its memory may be in the columns, and
    /// theirs in it.
    pub fn gather(
        &mut self,
        block: &mut Block,
        columns: &mut Columns,
        mut consume: impl FnMut(&Columns),
    ) {
        let process = self.process(block.process);
        // Rows that touch nothing may come before the touches or behind them.
        let quiet = !block.kinds().iter().any(|kind| kind.is_access());
        let touches = &mut block.touches;
        let counts = !touches.named || self.names_count(process);
        // A block of rows keeps what is not its own: its memory would be held and not used.
        let ready = touches.is_there() && columns.is_empty();
        let ready = ready && quiet && touches.bases.is_empty();
        // Items of another process have its number folded in.
        if ready && counts && block.process == ProcessId(0) {
            std::mem::swap(&mut columns.items, &mut touches.items);
            touches.before.fill(0);
        }
        self.pass(block, columns, PIECE, &mut consume);
    }

    /// Whether accesses that a process names count.
    fn names_count(&self, process: usize) -> bool {
        self.options.kinds.counts(Kind::Named) && !self.processes[process].instrumented
    }

    fn pass(
        &mut self,
        block: &Block,
        out: &mut Columns,
        piece: usize,
        full: &mut dyn FnMut(&Columns),
    ) {
        let process = self.process(block.process);
        let thread = self.thread(block.thread, block.process);
        out.reserve(block.len() + block.len() / 8);
        // Taken out, so that the stacks of the other threads can be looked into meanwhile.
        let mut stack = std::mem::take(&mut self.threads[thread].stack);
        let mut touched = std::mem::take(&mut self.threads[thread].touched);
        let mut pass = Pass::new(
            &self.options,
            &mut self.processes[process],
            &self.threads,
            thread,
            (&mut stack, &mut touched),
            &mut self.shared,
            (out, piece, full),
        );
        pass.run(block);
        out.complete();
        if self.options.basic_blocks {
            self.shared.tell_sites(out);
        }
        self.threads[thread].stack = stack;
        self.threads[thread].touched = touched;
    }

    /// The loads, stores, atomics, range operations and named accesses so far that count.
    pub fn references(&self) -> u64 {
        self.shared.references
    }

    /// Puts behind what `earlier` has seen: the stretch of the same trace before this one, of which
    /// this has seen the events only. Where no more than items is known of accesses
    /// ([`Self::wish`]), it stands as if it had seen all.
    pub fn put_behind(&mut self, earlier: Attributor) {
        self.shared.put_behind(earlier.shared);
    }

    /// The cells so far: groups of accesses that a profile has apart.
    pub fn cells(&self) -> usize {
        self.shared.cells.keys().len()
    }

    /// The memory held, about.
    pub fn memory(&self) -> Bytes {
        let processes = self
            .processes
            .iter()
            .map(|p| p.space.memory() + p.sites.memory());
        let threads = self
            .threads
            .iter()
            .map(|t| t.stack.memory() + t.touched.memory());
        let states = self.threads.capacity() * size_of::<ThreadState>();
        Bytes(processes.chain(threads).sum::<u64>() + states as u64 + self.shared.memory())
    }

    /// Resolves all names. Cost: a symbol look-up per site, context and object that was accessed.
    pub fn finish(self, symbols: &mut dyn SymbolSource) -> Tables {
        // The names take memory too, and need none of this.
        drop(self.processes);
        crate::resolve::tables(self.shared, &self.threads, symbols)
    }

    fn process(&mut self, id: ProcessId) -> usize {
        let next = self.processes.len();
        let number = *self.process_numbers.entry(id.0).or_insert(next);
        if number == next {
            let code = u64::from(id.0);
            self.processes.push(ProcessState {
                id: id.0,
                code,
                ..ProcessState::default()
            });
        }
        number
    }

    fn thread(&mut self, id: ThreadId, process: ProcessId) -> usize {
        match self.thread_numbers.get(&id.0) {
            Some(&number) => number,
            None => self.add_thread(&Thread {
                id,
                process,
                ..Thread::default()
            }),
        }
    }

    fn process_began(&mut self, event: &Process) {
        let number = self.process(event.id);
        if let Some(parent) = event.parent.filter(|parent| *parent != event.id) {
            let parent_number = self.process(parent);
            let from = &self.processes[parent_number];
            let (space, mappings) = (from.space.fork(), from.mappings.clone());
            let (entries, named) = (from.entries.fork(), from.named_on_stack);
            let child = &mut self.processes[number];
            (child.space, child.mappings, child.entries) = (space, mappings, entries);
            (child.parent, child.named_on_stack) = (Some(parent), named);
            child.sites = SiteIndex::default();
        }
        self.processes[number].instrumented = event.instrumented;
    }

    /// The maps of a process that has ended are of no use any more.
    fn process_ended(&mut self, id: ProcessId) {
        let number = self.process(id);
        let old = std::mem::take(&mut self.processes[number]);
        self.processes[number] = ProcessState {
            id: old.id,
            code: old.code,
            instrumented: old.instrumented,
            mappings: old.mappings,
            has_main: old.has_main,
            ..ProcessState::default()
        };
    }

    fn thread_began(&mut self, event: &Thread) {
        let known = self.thread_numbers.get(&event.id.0).copied();
        let number = known.unwrap_or_else(|| self.add_thread(event));
        let bounds = (event.stack_low, event.stack_high);
        if known.is_some() && self.threads[number].stack.bounds() == bounds {
            // It goes on, with another name.
            self.threads[number].name.clone_from(&event.name);
            return;
        }
        let inherited = self.inherited_stack(event);
        let stack = inherited.unwrap_or(ShadowStack::new(event.stack_low, event.stack_high));
        let thread = &mut self.threads[number];
        thread.name.clone_from(&event.name);
        let old = std::mem::replace(&mut thread.stack, stack);
        let process = ProcessId(thread.process);
        let process = self.process(process);
        let process = &mut self.processes[process];
        process.stacks.remove(&(old.bounds().0, number as u32));
        process.unbounded.remove(&(number as u32));
        // One that has ended and goes on after all is looked for in no other thread's accesses.
        if process.threads.contains(&(number as u32)) {
            match bounds {
                (_, 0) => process.unbounded.insert(number as u32),
                (low, _) => process.stacks.insert((low, number as u32)),
            };
        }
    }

    /// A forked child goes on with the frames of the thread that forked: the one on the same stack.
    fn inherited_stack(&self, event: &Thread) -> Option<ShadowStack> {
        let bounds = (event.stack_low, event.stack_high);
        let child = &self.processes[*self.process_numbers.get(&event.process.0)?];
        let parent = &self.processes[*self.process_numbers.get(&child.parent?.0)?];
        if child.threads.len() != 1 || bounds.1 == 0 {
            return None;
        }
        let begin_there = parent.stacks.range((bounds.0, 0)..=(bounds.0, u32::MAX));
        let mut stacks = begin_there.map(|(_, thread)| &self.threads[*thread as usize].stack);
        stacks.find(|stack| stack.bounds() == bounds).cloned()
    }

    fn add_thread(&mut self, event: &Thread) -> usize {
        let process = self.process(event.process);
        let number = self.threads.len();
        let process = &mut self.processes[process];
        process.threads.insert(number as u32);
        process.unbounded.insert(number as u32);
        self.thread_numbers.insert(event.id.0, number);
        self.threads.push(ThreadState {
            id: event.id.0,
            process: event.process.0,
            is_main: !std::mem::replace(&mut process.has_main, true),
            ..ThreadState::default()
        });
        number
    }

    fn thread_ended(&mut self, id: ThreadId) {
        let Some(&number) = self.thread_numbers.get(&id.0) else {
            return;
        };
        let thread = &mut self.threads[number];
        let stack = std::mem::take(&mut thread.stack);
        thread.touched = Touched::default();
        let process = ProcessId(thread.process);
        let process = self.process(process);
        let process = &mut self.processes[process];
        process.threads.remove(&(number as u32));
        process.unbounded.remove(&(number as u32));
        process.stacks.remove(&(stack.bounds().0, number as u32));
    }

    fn mapped(&mut self, module: &Module, symbols: &mut dyn SymbolSource) {
        let number = self.process(module.process);
        let index = self.shared.module(module);
        let extents = self.shared.statics(index, module, symbols);
        self.shared.keep_frame_layouts(index, module, symbols);
        self.shared.keep_functions(index, module, symbols);
        let process = &mut self.processes[number];
        process
            .space
            .map(module.low, module.high, module.bias, extents);
        if process.mappings.add(module, index) {
            // The same addresses are other code now.
            process.code += 1 << 16;
            process.sites = SiteIndex::default();
        }
        self.place_late(number);
    }

    /// Code that ran before its module was announced gets its place.
    fn place_late(&mut self, number: usize) {
        let process = &self.processes[number];
        let place = |pc: u64, old: &mut Place| {
            if old.module == Place::NO_MODULE {
                *old = process.mappings.place(pc);
            }
        };
        for (pc, site) in process.sites.unplaced() {
            place(*pc, &mut self.shared.sites[*site as usize].place);
        }
        self.shared.contexts.for_each_unplaced(|code, pc, old| {
            if code == process.code {
                place(pc, old);
            }
        });
        self.shared
            .objects
            .for_each_place(|old| place(old.address.saturating_add(1), old));
    }
}
