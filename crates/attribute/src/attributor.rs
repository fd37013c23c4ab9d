//! The attributor: events and blocks in, columns out, tables at the end.

use reuselens_profile::CodeScope;
use reuselens_trace::{
    Block, Event, ItemProjection, Kind, Module, Process, ProcessId, Thread, ThreadId,
};
use reuselens_units::Bytes;

use crate::columns::Columns;
use crate::hash::FastMap;
use crate::options::Options;
use crate::pass::{CurrentThread, Pass, PassOutput, RepeatState};
use crate::places::CodePlace;
use crate::resolve::ScopePlace;
use crate::shared::Shared;
use crate::sites::SiteIndex;
use crate::stack::ShadowStack;
use crate::state::{ProcessState, ThreadState};
use crate::statement_addresses::StatementAddresses;
use crate::symbol_source::SymbolSource;
use crate::tables::Tables;

/// Finds for each access the items that it touches and the cell that it counts for.
///
/// Feed it the events and the blocks of one trace in order. Per access it does two look-ups in
/// small tables, and neither allocates, locks nor formats. Memory is bounded by the program's
/// code, data and calling contexts, not by the length of the trace.
#[derive(Debug)]
pub struct Attributor {
    options: Options,
    shared: Shared,
    repeats: RepeatState,
    processes: Vec<ProcessState>,
    process_numbers: FastMap<u16, usize>,
    threads: Vec<ThreadState>,
    /// The bytes that the threads hold: there may be many, so nobody asks them all.
    threads_held: u64,
    thread_numbers: FastMap<u32, usize>,
}

/// Item accesses at which [`Attributor::pieces`] and [`Attributor::gather`] call their consumer.
const PIECE: usize = 1 << 18;

impl Attributor {
    /// An attributor that has seen nothing.
    pub fn new(options: Options) -> Self {
        Attributor {
            shared: Shared::new(&options),
            repeats: RepeatState::default(),
            options,
            processes: Vec::new(),
            process_numbers: FastMap::default(),
            threads: Vec::new(),
            threads_held: 0,
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
            Event::Module(_) | Event::Sampling(_) | Event::Note(_) => {}
        }
    }

    /// The projection that serves: the items of some kinds of accesses, for
    /// [`reuselens_trace::Source::project`]. `None` if the analysis needs more than items.
    pub fn projection(&self) -> Option<ItemProjection> {
        let Options {
            granularity, kinds, ..
        } = self.options;
        let whole = self.options.is_totals_only() && !self.options.stores;
        whole.then(|| ItemProjection::new(granularity, |kind| kinds.counts(kind)))
    }

    /// Whether blocks may have compressed rows ([`reuselens_trace::Source::project`]), which take a
    /// part of the time.
    pub fn folds(&self) -> bool {
        self.options.folds()
    }

    /// Clears `out` and fills it with the item accesses of a block. A range operation yields an
    /// entry for each item that it covers, so `out` has no bound: see [`Self::pieces`].
    pub fn block(&mut self, block: &Block, out: &mut Columns) {
        out.clear();
        self.pass(block, out, usize::MAX, &mut |_| {});
    }

    /// As [`Self::block`], but passes the item accesses to `consume` in pieces. A piece holds at
    /// most about 2¹⁸ item accesses more than the block has rows. `columns` is the memory to use.
    pub fn pieces(
        &mut self,
        block: &Block,
        columns: &mut Columns,
        mut consume: impl FnMut(&Columns),
    ) {
        columns.clear();
        self.pass(block, columns, PIECE, &mut consume);
        if !columns.has_nothing() {
            consume(columns);
        }
    }

    /// As [`Self::pieces`], but appends the item accesses to `columns`, so that those of several
    /// blocks gather there. Calls `consume` only where a single block has more than 2¹⁸, and before
    /// cells are merged ([`Columns::merged`]). The
    /// content of `block` is unspecified afterwards: it may have swapped memory with `columns`.
    pub fn gather(
        &mut self,
        block: &mut Block,
        columns: &mut Columns,
        mut consume: impl FnMut(&Columns),
    ) {
        let process = self.process(block.process);
        // Rows that access nothing may come before or after the items: their order does not matter.
        let quiet = !block.kinds().iter().any(|kind| kind.is_access());
        let touches = &mut block.item_batch;
        let counts = !touches.named || self.names_count(process);
        // Only empty columns are swapped: the block would keep other memory, and never use it.
        let ready = touches.is_used() && columns.is_empty();
        let ready = ready && quiet && touches.bases.is_empty();
        // The items of process 0 are as the columns need them: its number adds no bits.
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
        send: &mut dyn FnMut(&Columns),
    ) {
        let process = self.process(block.process);
        let thread = self.thread(block.thread, block.process);
        out.reserve(block.len() + block.len() / 8);
        if self.shared.merging.is_due(&self.shared.cells) {
            // Which cells are merged must not depend on what was gathered.
            if !out.has_nothing() {
                send(out);
                out.clear();
            }
            self.merge_cells(out);
        }
        // Taken out of `threads`, so that the pass can search the stacks of the other threads.
        let mut stack = std::mem::take(&mut self.threads[thread].stack);
        let mut statement = std::mem::take(&mut self.threads[thread].statement);
        let mut pass = Pass::new(
            &self.options,
            &mut self.processes[process],
            &self.threads,
            CurrentThread {
                number: thread,
                stack: &mut stack,
                statement: &mut statement,
            },
            &mut self.shared,
            &mut self.repeats,
            PassOutput {
                columns: out,
                piece,
                send,
            },
        );
        pass.run(block);
        pass.complete();
        self.shared.add_cells(&self.options, out);
        self.threads[thread].stack = stack;
        self.threads[thread].statement = statement;
        self.threads[thread].add_memory(&mut self.threads_held);
    }

    /// Merges cold cells. Nothing remembers their numbers after that but `out`.
    fn merge_cells(&mut self, out: &mut Columns) {
        out.merged = self.shared.merge_cold_cells();
        // Some of their numbers may be those of other cells already.
        let mut is_gone = vec![false; self.cells()];
        for (cell, _) in &out.merged {
            is_gone[*cell as usize] = true;
            if let Some(visits) = &mut self.shared.visits {
                visits.footprints.forget_cell(*cell);
            }
        }
        for process in &mut self.processes {
            process.sites.forget_cells(|cell| is_gone[cell as usize]);
        }
    }

    /// The loads, stores, atomics, range operations and named accesses so far that count.
    pub fn references(&self) -> u64 {
        self.shared.references
    }

    /// Adds what `earlier` has counted: the segment of the same trace before this one, of which
    /// this attributor has seen the events only. With [`Self::projection`] the result is that of
    /// one attributor that has seen both segments.
    pub fn put_behind(&mut self, earlier: Attributor) {
        self.shared.put_behind(earlier.shared);
    }

    /// The number of cells so far: the smallest groups of accesses that a profile breaks down by.
    pub fn cells(&self) -> usize {
        self.shared.cells.keys().len()
    }

    /// The memory held, about.
    pub fn memory(&self) -> Bytes {
        let processes = self
            .processes
            .iter()
            .map(|p| p.space.memory() + p.sites.memory());
        let states = self.threads.capacity() * size_of::<ThreadState>();
        let tables = self.shared.memory() + self.repeats.memory();
        Bytes(processes.sum::<u64>() + self.threads_held + states as u64 + tables)
    }

    /// Resolves all names. Cost: a symbol look-up per site, context and object that was accessed.
    pub fn finish(self, symbols: &mut dyn SymbolSource) -> Tables {
        self.finish_with_scopes(&[], symbols)
    }

    /// As [`Self::finish`], with the names of these scopes.
    pub fn finish_with_scopes(
        self,
        scopes: &[CodeScope],
        symbols: &mut dyn SymbolSource,
    ) -> Tables {
        let scopes: Vec<_> = scopes.iter().map(|scope| self.scope_place(scope)).collect();
        // Names need memory, and need neither of these.
        drop((self.processes, self.repeats));
        crate::resolve::tables(self.shared, &self.threads, &scopes, symbols)
    }

    /// Where a scope is in the modules that its process has mapped last.
    fn scope_place(&self, scope: &CodeScope) -> ScopePlace {
        let process = self.process_numbers.get(&scope.process);
        let mappings = process.map(|number| &self.processes[*number].mappings);
        let place = |after: u64| mappings.map_or(CodePlace::UNKNOWN, |it| it.place(after));
        ScopePlace::new(scope, place)
    }

    fn process(&mut self, id: ProcessId) -> usize {
        let next = self.processes.len();
        let number = *self.process_numbers.entry(id.0).or_insert(next);
        if number == next {
            self.processes.push(ProcessState::new(id));
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
            let mut child = std::mem::take(&mut self.processes[number]);
            child.fork_from(&self.processes[parent_number]);
            self.processes[number] = child;
        }
        self.processes[number].instrumented = event.instrumented;
    }

    fn process_ended(&mut self, id: ProcessId) {
        let number = self.process(id);
        self.processes[number].end();
    }

    fn thread_began(&mut self, event: &Thread) {
        let known = self.thread_numbers.get(&event.id.0).copied();
        let number = known.unwrap_or_else(|| self.add_thread(event));
        let bounds = (event.stack_low, event.stack_high);
        if known.is_some() && self.threads[number].stack.bounds() == bounds {
            // The thread continues under another name.
            self.threads[number].name.clone_from(&event.name);
            return;
        }
        let inherited = self.inherited_stack(event);
        let stack = inherited.unwrap_or(ShadowStack::new(event.stack_low, event.stack_high));
        let thread = &mut self.threads[number];
        thread.name.clone_from(&event.name);
        let old = std::mem::replace(&mut thread.stack, stack);
        thread.add_memory(&mut self.threads_held);
        let process = ProcessId(thread.process);
        let process = self.process(process);
        self.processes[process].move_stack(number as u32, old.bounds().0, bounds);
    }

    /// The frames that the first thread of a forked child continues with: those of the thread that
    /// forked, which is the one on the same stack.
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
        let is_main = self.processes[process].add_thread(number as u32);
        self.thread_numbers.insert(event.id.0, number);
        self.threads.push(ThreadState {
            id: event.id.0,
            process: event.process.0,
            is_main,
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
        thread.statement = StatementAddresses::default();
        thread.add_memory(&mut self.threads_held);
        let process = ProcessId(thread.process);
        let process = self.process(process);
        self.processes[process].remove_thread(number as u32, stack.bounds().0);
    }

    fn mapped(&mut self, module: &Module, symbols: &mut dyn SymbolSource) {
        let number = self.process(module.process);
        let index = self.shared.module(module);
        let extents = self.shared.statics(index, module, symbols);
        self.shared.keep_frame_layouts(index, module, symbols);
        self.shared.keep_block_types(symbols);
        self.shared.keep_functions(index, module, symbols);
        let process = &mut self.processes[number];
        process
            .space
            .map(module.low, module.high, module.bias, extents);
        if process.mappings.add(module, index) {
            // From now on the same addresses are other code.
            process.code += 1 << 16;
            process.sites = SiteIndex::default();
        }
        self.place_late(number);
    }

    /// Gives places to the code that ran before its module was announced.
    fn place_late(&mut self, number: usize) {
        let process = &self.processes[number];
        let place = |pc: u64, old: &mut CodePlace| {
            if old.module == CodePlace::NO_MODULE {
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
