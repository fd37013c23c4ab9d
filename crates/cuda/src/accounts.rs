//! [`Accounts`]: keeps the [`Ledger`] of a run, and knows which object each address of the device
//! belongs to.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use reuselens_gpu_advisor::{
    CallPath, CopySum, Direction, FillSum, HostModule, LaunchContext, LaunchFault, LaunchSum,
    Ledger, MemoryObject, ObjectRange, Origin,
};

use crate::device::{CudaFault, DeviceVariable};
use crate::static_symbols::StaticSymbols;

/// More modules, call paths, objects and sums than these are not kept: a program cannot
/// fill the memory of the process that analyses it.
const MAX_ENTRIES: usize = 1 << 16;
/// An object further from an address than this is not the one that was meant.
const NEAR: u64 = 1 << 20;

/// A block of the device's memory.
#[derive(Clone, Debug)]
struct LiveBlock {
    bytes: u64,
    object: u32,
    /// No other block had this number.
    number: u64,
    /// Bytes that copies and fills have written, from the block's beginning; of several ranges that
    /// do not touch, the longest.
    written: Range<u64>,
}

/// One copy that a program made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRecord {
    /// Object.
    pub from: u32,
    /// Object.
    pub to: u32,
    /// From where to where.
    pub direction: Direction,
    /// Who copied.
    pub call_path: u32,
    /// Bytes.
    pub bytes: u64,
    /// Whether the destination held them before.
    pub is_redundant: bool,
}

/// What is counted while a program runs.
#[derive(Debug, Default)]
pub struct Accounts {
    ledger: Ledger,
    modules: HashMap<HostModule, u32>,
    call_paths: HashMap<CallPath, u32>,
    objects: HashMap<(Origin, u32), u32>,
    copies: HashMap<(u32, u32, Direction, u32), usize>,
    fills: HashMap<(u32, u32), usize>,
    launches: HashMap<(u64, u32), usize>,
    symbols: StaticSymbols,
    /// Bytes of each object that are live.
    live_bytes: Vec<u64>,
    /// By address.
    live: BTreeMap<u64, LiveBlock>,
    /// Blocks that there have been.
    blocks: u64,
    /// What launches get, until memory is taken or freed.
    ranges: Option<Arc<[ObjectRange]>>,
}

/// The number of an entry of a list: that which is known, or a new one. 0 if the list is full.
fn number_of<K: Hash + Eq, T>(
    numbers: &mut HashMap<K, u32>,
    list: &mut Vec<T>,
    is_cut: &mut bool,
    key: K,
    new: impl FnOnce(&K) -> T,
) -> u32 {
    if let Some(&number) = numbers.get(&key) {
        return number;
    }
    if list.len() >= MAX_ENTRIES {
        *is_cut = true;
        return 0;
    }
    let number = list.len() as u32;
    list.push(new(&key));
    numbers.insert(key, number);
    number
}

/// The sum of a list that has a key; `None` if the list is full.
fn sum_of<'a, K: Hash + Eq, T>(
    numbers: &mut HashMap<K, usize>,
    list: &'a mut Vec<T>,
    is_cut: &mut bool,
    key: K,
    new: impl FnOnce() -> T,
) -> Option<&'a mut T> {
    let number = match numbers.get(&key) {
        Some(&number) => number,
        None if list.len() >= MAX_ENTRIES => {
            *is_cut = true;
            return None;
        }
        None => {
            list.push(new());
            numbers.insert(key, list.len() - 1);
            list.len() - 1
        }
    };
    list.get_mut(number)
}

impl Accounts {
    /// What was counted.
    pub fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// The number of a module; `None` if there are too many.
    pub fn module(&mut self, module: HostModule) -> Option<u32> {
        let ledger = &mut self.ledger;
        let is_known = self.modules.contains_key(&module);
        if !is_known && ledger.modules.len() >= MAX_ENTRIES {
            ledger.is_cut = true;
            return None;
        }
        let (modules, is_cut) = (&mut ledger.modules, &mut ledger.is_cut);
        Some(number_of(
            &mut self.modules,
            modules,
            is_cut,
            module,
            HostModule::clone,
        ))
    }

    /// The number of a call path.
    pub fn call_path(&mut self, path: CallPath) -> u32 {
        if path.frames.is_empty() {
            return 0;
        }
        let (paths, is_cut) = (&mut self.ledger.call_paths, &mut self.ledger.is_cut);
        number_of(&mut self.call_paths, paths, is_cut, path, CallPath::clone)
    }

    fn object(&mut self, origin: Origin, call_path: u32) -> u32 {
        if origin == Origin::Unknown {
            return 0;
        }
        let (objects, is_cut) = (&mut self.ledger.objects, &mut self.ledger.is_cut);
        let key = (origin, call_path);
        number_of(&mut self.objects, objects, is_cut, key, |(origin, path)| {
            MemoryObject {
                origin: origin.clone(),
                call_path: *path,
                ..MemoryObject::default()
            }
        })
    }

    /// A block of an object came to be.
    fn grow(&mut self, object: u32, bytes: u64) {
        let index = object as usize;
        let Some(known) = self.ledger.objects.get_mut(index) else {
            return;
        };
        if self.live_bytes.len() <= index {
            self.live_bytes.resize(index + 1, 0);
        }
        let live = &mut self.live_bytes[index];
        *live = live.saturating_add(bytes);
        known.instances += 1;
        known.bytes = known.bytes.saturating_add(bytes);
        known.largest = known.largest.max(bytes);
        known.peak_bytes = known.peak_bytes.max(*live);
    }

    /// Memory that the host alone has, which takes part in a copy. `bytes` are those of a block, if
    /// it is seen for the first time.
    pub fn host_object(&mut self, origin: Origin, call_path: u32, bytes: Option<u64>) -> u32 {
        let object = self.object(origin, call_path);
        if let Some(bytes) = bytes {
            self.grow(object, bytes);
        }
        object
    }

    /// A static variable of the host that takes part in a copy, by an address in it.
    pub fn static_variable(&mut self, module: u32, address: u64) -> u32 {
        let file = self.ledger.modules.get(module as usize);
        let symbol = file.and_then(|file| self.symbols.around(&file.path, address));
        let (address, bytes) = symbol.unwrap_or((address, 0));
        self.host_variable(Origin::Static { module, address }, bytes)
    }

    /// A variable of the host that takes part in a copy; `bytes` is 0 if they are not known.
    pub fn host_variable(&mut self, origin: Origin, bytes: u64) -> u32 {
        let object = self.object(origin, 0);
        if object != 0 && self.ledger.objects[object as usize].instances == 0 {
            self.grow(object, bytes);
        }
        object
    }

    /// Memory of the device was taken.
    pub fn allocated(&mut self, origin: Origin, call_path: u32, address: u64, bytes: u64) {
        let object = self.object(origin, call_path);
        self.grow(object, bytes);
        self.blocks += 1;
        let block = LiveBlock {
            bytes,
            object,
            number: self.blocks,
            written: 0..0,
        };
        self.live.insert(address, block);
        self.ranges = None;
    }

    /// The variables of a module got their places and first values.
    pub fn loaded(&mut self, variables: Vec<DeviceVariable>) {
        for variable in variables {
            let (name, space) = (variable.name, variable.space);
            let origin = Origin::Variable { name, space };
            self.allocated(origin, 0, variable.address, variable.bytes);
            self.written(variable.address, variable.bytes);
        }
    }

    /// A block was freed by a call path; by none if its program ended.
    pub fn freed(&mut self, address: u64, call_path: Option<u32>) {
        let Some(block) = self.live.remove(&address) else {
            return;
        };
        self.ranges = None;
        if let Some(live) = self.live_bytes.get_mut(block.object as usize) {
            *live = live.saturating_sub(block.bytes);
        }
        let object = self.ledger.objects.get_mut(block.object as usize);
        if let (Some(object), Some(path)) = (object, call_path) {
            match object.freed.binary_search_by_key(&path, |freed| freed.0) {
                Ok(index) => object.freed[index].1 += 1,
                Err(index) => object.freed.insert(index, (path, 1)),
            }
        }
    }

    /// The block around an address, and how far the address is in it.
    fn block_mut(&mut self, address: u64) -> Option<(&mut LiveBlock, u64)> {
        let (begin, block) = self.live.range_mut(..=address).next_back()?;
        let offset = address - begin;
        (offset < block.bytes).then_some((block, offset))
    }

    /// The block around an address: where it begins, its bytes, and its number.
    pub fn block_around(&self, address: u64) -> Option<[u64; 3]> {
        let (begin, block) = self.live.range(..=address).next_back()?;
        let is_around = address - begin < block.bytes;
        is_around.then_some([*begin, block.bytes, block.number])
    }

    /// The object that an address of the device belongs to; 0 if it is none's.
    pub fn object_at(&mut self, address: u64) -> u32 {
        self.block_mut(address).map_or(0, |(block, _)| block.object)
    }

    /// A copy or a fill wrote here.
    pub fn written(&mut self, address: u64, bytes: u64) {
        let Some((block, offset)) = self.block_mut(address) else {
            return;
        };
        let new = offset..offset.saturating_add(bytes);
        let known = &mut block.written;
        if new.start <= known.end && known.start <= new.end {
            *known = known.start.min(new.start)..known.end.max(new.end);
        } else if new.end - new.start > known.end - known.start {
            *known = new;
        }
    }

    /// Whether copies and fills are known to have written all of these bytes.
    pub fn is_written(&mut self, address: u64, bytes: u64) -> bool {
        self.block_mut(address).is_some_and(|(block, offset)| {
            block.written.start <= offset && offset.saturating_add(bytes) <= block.written.end
        })
    }

    /// The program copied.
    pub fn copied(&mut self, record: CopyRecord) {
        let key = (record.from, record.to, record.direction, record.call_path);
        let (copies, is_cut) = (&mut self.ledger.copies, &mut self.ledger.is_cut);
        let sum = sum_of(&mut self.copies, copies, is_cut, key, || CopySum {
            from: record.from,
            to: record.to,
            direction: record.direction,
            call_path: record.call_path,
            count: 0,
            bytes: 0,
            redundant: 0,
            redundant_bytes: 0,
        });
        let Some(sum) = sum else { return };
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(record.bytes);
        if record.is_redundant {
            sum.redundant += 1;
            sum.redundant_bytes = sum.redundant_bytes.saturating_add(record.bytes);
        }
    }

    /// The program filled.
    pub fn filled(&mut self, object: u32, call_path: u32, bytes: u64) {
        let (fills, is_cut) = (&mut self.ledger.fills, &mut self.ledger.is_cut);
        let key = (object, call_path);
        let sum = sum_of(&mut self.fills, fills, is_cut, key, || FillSum {
            object,
            call_path,
            count: 0,
            bytes: 0,
        });
        if let Some(sum) = sum {
            sum.count += 1;
            sum.bytes = sum.bytes.saturating_add(bytes);
        }
    }

    /// What is known of a launch. Cheap if no memory was taken or freed since the last one.
    pub fn context(&mut self, call_path: u32) -> LaunchContext {
        let ranges = self.ranges.get_or_insert_with(|| {
            let live = self.live.iter();
            live.map(|(&start, block)| ObjectRange {
                start,
                end: start.saturating_add(block.bytes),
                object: block.object,
            })
            .collect()
        });
        LaunchContext {
            call_path,
            objects: Arc::clone(ranges),
        }
    }

    /// A kernel ran, or did not.
    pub fn launched(
        &mut self,
        kernel: u64,
        name: &str,
        call_path: u32,
        outcome: Result<(), &CudaFault>,
    ) {
        let (launches, is_cut) = (&mut self.ledger.launches, &mut self.ledger.is_cut);
        let key = (kernel, call_path);
        let sum = sum_of(&mut self.launches, launches, is_cut, key, || LaunchSum {
            kernel: name.to_owned(),
            call_path,
            launches: 0,
            failed: 0,
        });
        if let Some(sum) = sum {
            match outcome {
                Ok(()) => sum.launches += 1,
                Err(_) => sum.failed += 1,
            }
        }
        if let Err(fault) = outcome {
            self.failed(name, call_path, fault);
        }
    }

    /// A kernel was stopped, or was refused before it could run.
    pub fn failed(&mut self, kernel: &str, call_path: u32, fault: &CudaFault) {
        let object = fault.address.and_then(|address| self.near(address));
        let fault = LaunchFault {
            kernel: kernel.to_owned(),
            call_path,
            message: fault.message.clone(),
            object,
            // Only kernels that have begun to run end all work of their program.
            is_refused: !fault.status.is_fatal(),
            count: 1,
        };
        self.ledger.count_fault(fault);
    }

    /// The object at an address, or before it, or after it: the order in which the interpreter's
    /// messages name buffers.
    fn near(&self, address: u64) -> Option<u32> {
        let before = self.live.range(..=address).next_back();
        let before = before.filter(|(begin, block)| address - *begin < block.bytes + NEAR);
        let after = || {
            let after = self.live.range(address..).next();
            after.filter(|(begin, _)| *begin - address < NEAR)
        };
        let (_, block) = before.or_else(after)?;
        Some(block.object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;

    const COPY: CopyRecord = CopyRecord {
        from: 0,
        to: 1,
        direction: Direction::HostToDevice,
        call_path: 0,
        bytes: 8,
        is_redundant: false,
    };

    #[test]
    fn blocks_of_one_place_are_one_object_with_its_peak() {
        let mut accounts = Accounts::default();
        accounts.allocated(Origin::Malloc, 4, 0x1000, 64);
        accounts.allocated(Origin::Malloc, 4, 0x2000, 32);
        accounts.freed(0x1000, Some(9));
        accounts.allocated(Origin::Malloc, 4, 0x3000, 16);
        accounts.allocated(Origin::Malloc, 5, 0x4000, 16);
        accounts.freed(0x2000, Some(9));
        accounts.freed(0x4000, None);
        accounts.freed(0x5000, Some(9));
        let ledger = accounts.into_ledger();
        let object = &ledger.objects[1];
        assert_eq!((object.instances, object.bytes), (3, 112));
        assert_eq!((object.largest, object.peak_bytes), (64, 96));
        assert_eq!((&object.freed[..], object.unfreed()), (&[(9, 2)][..], 1));
        assert_eq!((ledger.objects.len(), ledger.objects[2].unfreed()), (3, 1));
    }

    #[test]
    fn launches_share_ranges_until_memory_changes() {
        let mut accounts = Accounts::default();
        accounts.allocated(Origin::Malloc, 1, 0x2000, 64);
        accounts.allocated(Origin::Managed, 1, 0x1000, 16);
        let (first, second) = (accounts.context(1), accounts.context(2));
        assert!(Arc::ptr_eq(&first.objects, &second.objects));
        assert_eq!(
            (first.object(0x2010), first.object(0x1010)),
            (Some(1), None)
        );
        accounts.freed(0x2000, Some(1));
        let third = accounts.context(1);
        assert_eq!(
            (third.object(0x2010), third.object(0x1000)),
            (None, Some(2))
        );
    }

    #[test]
    fn only_what_was_written_counts_as_written() {
        let mut accounts = Accounts::default();
        accounts.allocated(Origin::Malloc, 1, 0x1000, 64);
        accounts.written(0x1000, 16);
        accounts.written(0x1010, 8);
        assert!(accounts.is_written(0x1004, 20));
        assert!(!accounts.is_written(0x1004, 21));
        // A second range that does not touch the first is forgotten if it is shorter.
        accounts.written(0x1030, 8);
        assert!(!accounts.is_written(0x1030, 8));
        accounts.written(u64::MAX, u64::MAX);
        assert!(!accounts.is_written(0x1040, 1));
    }

    #[test]
    fn copies_and_launches_are_sums() {
        let mut accounts = Accounts::default();
        for is_redundant in [false, true, true] {
            accounts.copied(CopyRecord {
                is_redundant,
                ..COPY
            });
        }
        accounts.copied(CopyRecord {
            call_path: 3,
            bytes: u64::MAX,
            ..COPY
        });
        let fault = CudaFault {
            address: Some(0x1044),
            ..CudaFault::new(Status::ILLEGAL_ADDRESS, "beyond")
        };
        accounts.allocated(Origin::Malloc, 1, 0x1000, 64);
        accounts.launched(7, "k", 2, Ok(()));
        accounts.launched(7, "k", 2, Err(&fault));
        accounts.launched(7, "k", 2, Err(&fault));
        let ledger = accounts.into_ledger();
        let copy = ledger.copies[0];
        assert_eq!((copy.count, copy.bytes), (3, 24));
        assert_eq!((copy.redundant, copy.redundant_bytes), (2, 16));
        assert_eq!(ledger.copies.len(), 2);
        let launch = &ledger.launches[0];
        assert_eq!((launch.launches, launch.failed), (1, 2));
        let [stopped] = &ledger.faults[..] else {
            panic!("{:?}", ledger.faults)
        };
        let found = (stopped.object, stopped.is_refused, stopped.count);
        assert_eq!(found, (Some(1), false, 2));
    }

    #[test]
    fn full_lists_say_so() {
        let mut accounts = Accounts::default();
        for address in 0..MAX_ENTRIES as u64 + 2 {
            let origin = Origin::Static { module: 0, address };
            accounts.host_object(origin, 0, None);
        }
        assert_eq!(accounts.ledger.objects.len(), MAX_ENTRIES);
        assert!(accounts.ledger.is_cut);
    }
}
