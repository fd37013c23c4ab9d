//! [`Decoder`]: makes rows and events of the records in raw blocks. With
//! [`Decoder::next_templates`] it makes templates and operands of block records instead of rows.
//!
//! A raw block is decoded in steps: each step delivers rows, or one event. Records may be anything,
//! for the program can write over them: what cannot be read ends the raw block. `records` has the
//! part about block records, this file has all other kinds of records.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use object::Object as _;
use reuselens_io::{path_of, read_object_file, text_of_bytes};
use reuselens_trace::{
    Block, Event, Kind, Module, ModuleId, Process, ProcessId, Row, Sampling, Step, TemplateBlock,
    Templates, Thread, ThreadId,
};
use reuselens_wire::{Record, Stratum, WireKind, is_block_record};

use crate::kinds::PLAIN;
use crate::records::{BlockRecords, Descriptors, Origin, TemplateBuilder, entered};
use crate::segment::{RawBlock, Segment};

/// Rows after which a block is delivered: as many as a raw block of plain records makes.
pub(crate) const ROWS_WANTED: usize = 4096;
/// Longest path or name that a record may announce, in bytes.
const TEXT_MOST: u64 = 4096;

/// What [`Decoder::next_templates`] found.
pub(crate) enum TemplateStep {
    /// Templates and operands, in the template block.
    Templates,
    /// What [`Decoder::next`] would have found.
    Other(Step),
}

/// Decodes raw blocks, one after the other.
#[derive(Default)]
pub struct Decoder {
    raw: RawBlock,
    position: usize,
    events: VecDeque<Event>,
    modules: Vec<Module>,
    /// The threads that have not ended.
    threads: BTreeMap<u32, Thread>,
    /// By process, the name of its first thread, which threads without a name of their own have,
    /// too; `None` before the first thread is announced.
    common: BTreeMap<u32, Option<String>>,
    /// Processes whose code is rewritten: their function entries are recorded at the call.
    rewritten: BTreeSet<u32>,
    /// Whether the process of the current raw block is one of these.
    by_call: bool,
    block_records: BlockRecords,
    builder: TemplateBuilder,
    /// Whether everything is delivered as rows, because there were too many templates.
    without_templates: bool,
    basic_blocks: bool,
    /// What the places of bursts come from, if bursts are recorded.
    strata: Option<u64>,
    /// By thread, the burst that it has come to, by its first access, and whether its accesses are
    /// measured.
    parts: BTreeMap<u32, (u64, bool)>,
    /// The same of what is delivered.
    part: (u64, bool),
    /// Descriptors by the file that they are from and where it was loaded: processes share them.
    descriptors: BTreeMap<LoadedFile, Option<Arc<Descriptors>>>,
}

/// A file as it was loaded into a process.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LoadedFile {
    path: String,
    bias: u64,
    build_id: Vec<u8>,
}

/// The operand of a process's record by which its code is rewritten.
const REWRITTEN: u64 = 2;

impl Decoder {
    /// A decoder that delivers basic blocks, or skips them; `strata` as in the options of the
    /// recording. `segment` has the dictionary of block records of rewritten code.
    pub fn new(basic_blocks: bool, strata: Option<u64>, segment: Arc<Segment>) -> Decoder {
        Decoder {
            basic_blocks,
            strata,
            block_records: BlockRecords::new(segment),
            ..Decoder::default()
        }
    }

    /// Starts with a new raw block; the one before must be used up.
    pub fn begin(&mut self, raw: RawBlock) {
        self.by_call = self.rewritten.contains(&raw.process);
        self.raw = raw;
        self.position = 0;
        let change = self.change_of_part();
        self.events.extend(change.map(Event::Sampling));
    }

    /// Gives the raw block back, to be filled again.
    pub fn take_raw(&mut self) -> RawBlock {
        self.position = 0;
        std::mem::take(&mut self.raw)
    }

    /// The modules announced so far.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Whether there was a block record of code compiled with the LLVM pass.
    pub fn has_compiled(&self) -> bool {
        self.block_records.has_compiled
    }

    /// Raw blocks of which a part could not be read.
    pub fn unread(&self) -> u64 {
        self.block_records.lost
    }

    /// The next piece of the raw block, `None` when it is used up.
    pub fn next(&mut self, block: &mut Block) -> Option<Step> {
        if let Some(event) = self.events.pop_front() {
            return Some(Step::Event(event));
        }
        self.fill(block);
        if !block.is_empty() {
            return Some(Step::Block);
        }
        self.events.pop_front().map(Step::Event)
    }

    /// The templates that [`Self::next_templates`] has named so far.
    pub fn templates(&self) -> &Templates {
        &self.builder.templates
    }

    /// Rows that were lost because there was no room for their templates.
    pub fn lost_rows(&self) -> u64 {
        self.builder.lost
    }

    /// As [`Self::next`], but delivers block records of rewritten code as templates and operands.
    pub fn next_templates(
        &mut self,
        block: &mut Block,
        executed: &mut TemplateBlock,
    ) -> Option<TemplateStep> {
        if !self.by_call || self.without_templates {
            return self.next(block).map(TemplateStep::Other);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(TemplateStep::Other(Step::Event(event)));
        }
        self.fill_templates(executed);
        if executed.rows() > 0 {
            return Some(TemplateStep::Templates);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(TemplateStep::Other(Step::Event(event)));
        }
        let rest = self.without_templates.then(|| self.next(block)).flatten();
        rest.map(TemplateStep::Other)
    }

    /// Turns records into templates and operands up to the next control record.
    fn fill_templates(&mut self, executed: &mut TemplateBlock) {
        executed.clear();
        executed.process = ProcessId(self.raw.process as u16);
        executed.thread = ThreadId(self.raw.thread);
        executed.first_stamp = self.raw.first_stamp;
        executed.last_stamp = self.raw.last_stamp;
        while executed.rows() < ROWS_WANTED {
            let (of, builder) = (self.origin(), &mut self.builder);
            let records = &mut self.raw.records;
            self.position = self.block_records.append_templates(
                of,
                records,
                self.position,
                ROWS_WANTED,
                builder,
                executed,
            );
            let Some(&record) = self.raw.records.get(self.position) else {
                break;
            };
            if executed.rows() >= ROWS_WANTED {
                break;
            }
            let number = record.kind();
            let is_row = PLAIN[usize::from(number)].is_some() || number == WireKind::Enter as u8;
            if is_row || is_block_record(number) {
                self.without_templates = !self.builder.has_room();
                if self.without_templates {
                    break;
                }
                self.expand_next(executed);
            } else if number >= WireKind::Process as u8 {
                self.position += 1;
                if let Some(event) = self.control(number, record) {
                    self.events.push_back(event);
                    break;
                }
            } else {
                // Garbage, as in `fill`.
                self.position = self.raw.records.len();
            }
        }
    }

    /// Delivers the next rows that have no template: ranges, allocations, conditional rows.
    fn expand_next(&mut self, executed: &mut TemplateBlock) {
        let of = self.origin();
        let mut scratch = std::mem::take(&mut self.builder.scratch);
        let records = &mut self.raw.records;
        self.position = self
            .block_records
            .expand(of, records, self.position, 0, 1, &mut scratch);
        if self.position >= self.raw.records.len() {
            drop_torn_end(&mut scratch);
        }
        self.builder.scratch = scratch;
        self.builder.push_scratch(executed);
    }

    fn origin(&self) -> Origin {
        Origin {
            process: self.raw.process,
            stack_high: self.raw.stack_high,
            by_call: self.by_call,
        }
    }

    /// Turns records into rows up to the next control record.
    fn fill(&mut self, block: &mut Block) {
        let first = self.raw.records.get(self.position);
        if first.is_some_and(|record| is_block_record(record.kind())) {
            // The block is not cleared first: overwriting it costs less.
            self.expand(0, block);
        } else {
            block.clear();
        }
        block.process = ProcessId(self.raw.process as u16);
        block.thread = ThreadId(self.raw.thread);
        block.first_stamp = self.raw.first_stamp;
        block.last_stamp = self.raw.last_stamp;
        block.reserve(self.raw.records.len() - self.position);
        while block.len() < ROWS_WANTED {
            self.plain_rows(block);
            let Some(&record) = self.raw.records.get(self.position) else {
                break;
            };
            self.position += 1;
            let number = record.kind();
            if is_block_record(number) {
                self.position -= 1;
                self.expand(block.len(), block);
            } else if number == WireKind::Enter as u8 {
                self.enter(record, block);
            } else if number >= WireKind::Process as u8 {
                if let Some(event) = self.control(number, record) {
                    self.events.push_back(event);
                    break;
                }
            } else {
                // Garbage: the program wrote over its block. The rows before it are good.
                self.position = self.raw.records.len();
            }
        }
        drop_torn_end(block);
    }

    /// Makes rows of the block records that are next, from row `at` on.
    fn expand(&mut self, at: usize, block: &mut Block) {
        let of = self.origin();
        let records = &mut self.raw.records;
        self.position =
            self.block_records
                .expand(of, records, self.position, at, ROWS_WANTED, block);
    }

    /// Appends records up to the first that is not simply a row.
    fn plain_rows(&mut self, block: &mut Block) {
        let rest = &self.raw.records[self.position..];
        let is_row = |record: &Record| PLAIN[record.kind() as usize].is_some();
        let count = rest
            .iter()
            .position(|record| !is_row(record))
            .unwrap_or(rest.len());
        block.extend(rest[..count].iter().map(|record| Row {
            kind: PLAIN[record.kind() as usize].unwrap_or(Kind::Operand),
            size: record.size(),
            pc: record.pc(),
            addr: record.word0,
        }));
        self.position += count;
    }

    fn enter(&self, record: Record, block: &mut Block) {
        let found = entered(record, self.raw.stack_high);
        block.push(Row {
            kind: Kind::Enter,
            size: u8::from(self.by_call),
            pc: record.pc(),
            addr: found.stack_pointer,
        });
        block.push_operand(found.return_address);
    }

    /// The next operand of a control record.
    fn operand(&mut self) -> Option<u64> {
        let record = self.raw.records.get(self.position)?;
        if record.kind() != WireKind::Operand as u8 {
            return None;
        }
        self.position += 1;
        Some(record.word0)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.operand()?.min(TEXT_MOST) as usize;
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.operand()?.to_le_bytes());
        }
        bytes.truncate(length);
        Some(text_of_bytes(&bytes).into_owned())
    }

    /// The name of a thread; empty if it is that of its program, which is the name of threads
    /// without one of their own.
    fn name(&mut self) -> Option<String> {
        let mut name = self.text()?;
        if let Some(Some(common)) = self.common.get(&self.raw.process)
            && *common == name
        {
            name.clear();
        }
        Some(name)
    }

    /// As [`name`](Self::name), for a thread that begins. The first thread of a program has the
    /// program's name, whatever link it was started by; the first thread of a forked child has the
    /// name of the thread that forked.
    fn first_name(&mut self) -> Option<String> {
        let name = self.text()?;
        let Some(common) = self.common.get_mut(&self.raw.process) else {
            return Some(name);
        };
        let is_common = *common.get_or_insert_with(|| name.clone()) == name;
        Some(if is_common { String::new() } else { name })
    }

    fn control(&mut self, number: u8, record: Record) -> Option<Event> {
        let process = ProcessId(self.raw.process as u16);
        let thread = ThreadId(self.raw.thread);
        if number == WireKind::Process as u8 {
            let parent = self.operand()?;
            let instrumented = self.operand()?;
            if instrumented == REWRITTEN {
                self.rewritten.insert(self.raw.process);
                self.by_call = true;
            }
            let instrumented = instrumented != 0;
            let executable = self.text()?;
            self.common.insert(self.raw.process, None);
            let parent = parent.checked_sub(1).map(|number| ProcessId(number as u16));
            let pid = record.word0 as u32;
            Some(Event::Process(Process {
                id: process,
                pid,
                parent,
                executable,
                instrumented,
            }))
        } else if number == WireKind::Thread as u8 {
            let (stack_low, stack_high) = (self.operand()?, self.operand()?);
            let tid = record.word0 as u32;
            let name = self.first_name()?;
            let about = Thread {
                id: thread,
                process,
                tid,
                stack_low,
                stack_high,
                name,
            };
            self.threads.insert(thread.0, about.clone());
            Some(Event::Thread(about))
        } else if number == WireKind::ThreadName as u8 {
            let name = self.name()?;
            let about = self.threads.get_mut(&thread.0);
            let about = about.filter(|about| about.name != name)?;
            about.name = name;
            Some(Event::Thread(about.clone()))
        } else if number == WireKind::ThreadEnd as u8 {
            self.threads.remove(&thread.0);
            self.parts.remove(&thread.0);
            Some(Event::ThreadEnded(thread))
        } else if number == WireKind::Module as u8 {
            let (low, high) = (self.operand()?, self.operand()?);
            let path = self.text()?;
            self.module(process, record.word0, low, high, path)
        } else if number == WireKind::Burst as u8 {
            self.sampling(record.word0).map(Event::Sampling)
        } else {
            None
        }
    }

    /// The thread of the raw block has come to the part of a burst that begins with this access, if
    /// one of those that were asked for has such a part.
    fn sampling(&mut self, first: u64) -> Option<Sampling> {
        let burst = Stratum::of(first)?.burst(self.strata?);
        if first != burst.begin && first != burst.measured {
            return None;
        }
        self.parts
            .insert(self.raw.thread, (burst.begin, first == burst.measured));
        self.change_of_part()
    }

    /// What changes as the next accesses are of the raw block's thread. What it did before the
    /// burst that is on, and has handed on late, is not measured.
    fn change_of_part(&mut self) -> Option<Sampling> {
        let part = self.parts.get(&self.raw.thread);
        let (own, is_measured) = part.copied().unwrap_or_default();
        let first = own.max(self.part.0);
        // Bursts only follow each other: a thread that is behind has no burst of its own again.
        let is_measured = is_measured && own == first;
        let part = (first, is_measured);
        if std::mem::replace(&mut self.part, part) == part {
            return None;
        }
        Some(if is_measured {
            Sampling::Measured {
                first,
                stands_for: Stratum::STANDS_FOR,
            }
        } else {
            Sampling::Filling { first }
        })
    }

    /// The event of a module, unless the module is known already or is not a file.
    fn module(
        &mut self,
        process: ProcessId,
        bias: u64,
        low: u64,
        high: u64,
        path: String,
    ) -> Option<Event> {
        let same = |m: &&Module| m.process == process && m.low == low && m.path == path;
        if self.modules.iter().any(|module| same(&module)) || !path_of(&path).is_file() {
            return None;
        }
        let count = self
            .modules
            .iter()
            .filter(|module| module.process == process)
            .count();
        let id = ModuleId(count as u16);
        let build_id = self.look_into(process, &path, bias);
        let module = Module {
            process,
            id,
            path,
            bias,
            low,
            high,
            build_id,
        };
        self.modules.push(module.clone());
        Some(Event::Module(module))
    }

    /// Reads a module's file: returns its GNU build id, empty if it has none, and keeps its
    /// descriptors.
    fn look_into(&mut self, process: ProcessId, path: &str, bias: u64) -> Vec<u8> {
        // The program names its modules: they may be anything.
        let bytes = read_object_file(&path_of(path)).map_or(Vec::new(), |(_, bytes)| bytes);
        let Ok(file) = object::File::parse(bytes.as_slice()) else {
            return Vec::new();
        };
        let build_id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
        let key = LoadedFile {
            path: path.to_owned(),
            bias,
            build_id: build_id.clone(),
        };
        let read = || Descriptors::read(&file, bias, self.basic_blocks).map(Arc::new);
        // Without a build id a file of the same name may be another one.
        let descriptors = if build_id.is_empty() {
            read()
        } else {
            self.descriptors.entry(key).or_insert_with(read).clone()
        };
        if let Some(descriptors) = descriptors {
            self.block_records.add(u32::from(process.0), descriptors);
        }
        build_id
    }
}

/// Removes the last row of a block if operands of it are missing: its thread died while it wrote
/// them.
fn drop_torn_end(block: &mut Block) {
    let operands = block
        .kinds()
        .iter()
        .rev()
        .take_while(|kind| **kind == Kind::Operand)
        .count();
    let Some(last) = block.len().checked_sub(operands + 1) else {
        return block.clear();
    };
    let kind = block.kinds()[last];
    let name = if kind == Kind::Data {
        block.addrs().get(last + 3).copied()
    } else {
        None
    };
    let wanted = kind.operands() as u64 + name.unwrap_or(0).div_ceil(8);
    if (operands as u64) < wanted {
        block.truncate(last);
    }
}

#[cfg(test)]
mod tests;
