//! Which rows of a run are kept in a trace file, by the memory that they access: what a later
//! analysis of these data needs, and little more.

use std::collections::BTreeMap;

use reuselens_attribute::DataFilter;
use reuselens_trace::{Block, Event, Kind, Note, ProcessId, Row};

/// Follows where heap, stacks and modules are, and removes the rows of other data from blocks.
///
/// Memory is *heap* from its allocation to its end, *stack* between the bounds of a thread's stack,
/// and *static* where a module is mapped and what follows it (`.bss`). Whoever analyses the trace
/// looks closer: an access that is kept need not count, but none that counts is left out.
pub(crate) struct RowFilter {
    data: DataFilter,
    processes: BTreeMap<ProcessId, Memory>,
    kept: Block,
    /// Accesses that were left out.
    pub left_out: u64,
}

/// What a process's memory is: by first address, the end, which is the first address after it.
#[derive(Clone, Default)]
struct Memory {
    heap: BTreeMap<u64, u64>,
    stacks: BTreeMap<u64, u64>,
    modules: BTreeMap<u64, u64>,
}

fn has(ranges: &BTreeMap<u64, u64>, address: u64) -> bool {
    let before = ranges.range(..=address).next_back();
    before.is_some_and(|(_, end)| address < *end)
}

/// Whether a range of addresses, `last` included, has some of these.
fn overlap(ranges: &BTreeMap<u64, u64>, first: u64, last: u64) -> bool {
    let before = ranges.range(..=last).next_back();
    before.is_some_and(|(_, end)| first < *end)
}

impl Memory {
    /// Whether a block operation may access such data.
    fn reaches(&self, data: DataFilter, first: u64, last: u64) -> bool {
        match data {
            DataFilter::All => true,
            DataFilter::Heap => overlap(&self.heap, first, last),
            DataFilter::Stack => overlap(&self.stacks, first, last),
            DataFilter::Static => overlap(&self.modules, first, last),
        }
    }

    fn is(&self, data: DataFilter, address: u64) -> bool {
        match data {
            DataFilter::All => true,
            DataFilter::Heap => has(&self.heap, address),
            DataFilter::Stack => has(&self.stacks, address) && !has(&self.heap, address),
            DataFilter::Static => has(&self.modules, address) && !has(&self.heap, address),
        }
    }

    /// A block of `bytes` bytes ends, or the one that begins here.
    fn free(&mut self, low: u64, bytes: u64) {
        if bytes == 0 {
            self.heap.remove(&low);
            return;
        }
        let high = low.saturating_add(bytes);
        let overlapping: Vec<(u64, u64)> = {
            let from = self
                .heap
                .range(..=low)
                .next_back()
                .map_or(low, |(at, _)| *at);
            let range = self.heap.range(from..high);
            range.map(|(low, high)| (*low, *high)).collect()
        };
        for (start, end) in overlapping.into_iter().filter(|(_, end)| *end > low) {
            self.heap.remove(&start);
            if start < low {
                self.heap.insert(start, low);
            }
            if end > high {
                self.heap.insert(high, end);
            }
        }
    }
}

impl RowFilter {
    pub fn new(data: DataFilter) -> Self {
        RowFilter {
            data,
            processes: BTreeMap::new(),
            kept: Block::new(),
            left_out: 0,
        }
    }

    /// What the reader of the report must know.
    pub fn note(&self) -> Option<Note> {
        let data = match self.data {
            DataFilter::All => return None,
            DataFilter::Heap => "the heap",
            DataFilter::Stack => "stacks",
            DataFilter::Static => "static data",
        };
        let left_out = reuselens_units::grouped(self.left_out);
        Some(Note {
            code: "other-data".into(),
            message: format!(
                "only accesses to {data} were kept; {left_out} others were left out (--data)"
            ),
            hint: String::new(),
        })
    }

    /// Takes note of an event.
    pub fn event(&mut self, event: &Event) {
        if self.data == DataFilter::All {
            return;
        }
        match event {
            Event::Process(process) => {
                let parent = process.parent.and_then(|id| self.processes.get(&id));
                let memory = parent.cloned().unwrap_or_default();
                self.processes.insert(process.id, memory);
            }
            Event::Module(module) => {
                let memory = self.processes.entry(module.process).or_default();
                memory.modules.insert(module.low, module.high);
            }
            Event::Thread(thread) => {
                let memory = self.processes.entry(thread.process).or_default();
                memory.stacks.insert(thread.stack_low, thread.stack_high);
            }
            _ => {}
        }
    }

    /// Leaves out of a block the accesses to other data.
    pub fn block(&mut self, block: &mut Block) {
        if self.data == DataFilter::All {
            return;
        }
        let memory = self.processes.entry(block.process).or_default();
        let kept = &mut self.kept;
        kept.clear();
        (kept.process, kept.thread) = (block.process, block.thread);
        (kept.first_stamp, kept.last_stamp) = (block.first_stamp, block.last_stamp);
        let mut keeps = true;
        for (index, row) in block.rows().enumerate() {
            if row.kind != Kind::Operand {
                keeps = keep(memory, self.data, block, index, &row);
                self.left_out += u64::from(!keeps);
            }
            if keeps {
                kept.push(row);
            }
        }
        std::mem::swap(block, kept);
    }
}

/// Whether a row stays; takes note of what it says of memory.
fn keep(memory: &mut Memory, data: DataFilter, block: &Block, index: usize, row: &Row) -> bool {
    let operand = || block.operand(index);
    match row.kind {
        Kind::Load | Kind::Store | Kind::Atomic | Kind::Named => memory.is(data, row.addr),
        Kind::RangeLoad | Kind::RangeStore => {
            let last = row.addr.saturating_add(operand().saturating_sub(1));
            memory.reaches(data, row.addr, last)
        }
        Kind::Alloc => {
            let bytes = operand();
            memory.free(row.addr, bytes);
            memory.heap.insert(row.addr, row.addr.saturating_add(bytes));
            true
        }
        Kind::Free => {
            memory.free(row.addr, operand());
            true
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_trace::Module;

    fn load(addr: u64) -> Row {
        Row {
            kind: Kind::Load,
            size: 8,
            pc: 1,
            addr,
        }
    }

    fn memory(block: &mut Block, kind: Kind, addr: u64, bytes: u64) {
        block.push(Row { kind, ..load(addr) });
        block.push_operand(bytes);
    }

    fn kept(data: DataFilter) -> Vec<u64> {
        let mut filter = RowFilter::new(data);
        filter.event(&Event::Module(Module {
            low: 1000,
            high: 2000,
            ..Module::default()
        }));
        let mut block = Block::new();
        memory(&mut block, Kind::Alloc, 5000, 100);
        block.push(load(5000));
        block.push(load(1500));
        memory(&mut block, Kind::Free, 5040, 20);
        block.push(load(5045));
        block.push(load(5060));
        memory(&mut block, Kind::RangeLoad, 4990, 20);
        // Begins before the heap and ends after it.
        memory(&mut block, Kind::RangeLoad, 4900, 300);
        memory(&mut block, Kind::Free, 5000, 0);
        block.push(load(5010));
        filter.block(&mut block);
        let loads = block
            .rows()
            .filter(|row| matches!(row.kind, Kind::Load | Kind::RangeLoad));
        loads.map(|row| row.addr).collect()
    }

    #[test]
    fn heap_is_heap_from_its_beginning_to_its_end() {
        assert_eq!(kept(DataFilter::Heap), [5000, 5060, 4990, 4900]);
        assert_eq!(kept(DataFilter::Static), [1500]);
        assert_eq!(kept(DataFilter::Stack), [0; 0]);
        assert_eq!(kept(DataFilter::All).len(), 7);
    }
}
