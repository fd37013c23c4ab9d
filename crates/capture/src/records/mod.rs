//! [`BlockRecords`]: makes rows of block records ([`BlockRecords::expand`]), or templates and
//! operands ([`BlockRecords::append_templates`]). `decode` calls it wherever a raw block continues
//! with block records; single records between them are handled here, too.
//!
//! A *block record* is what a piece of straight-line code writes when it runs: which descriptor it
//! has, and the *operands*, those words of its addresses that are known only then. The descriptor
//! has the rest. Descriptors of code that the LLVM pass has compiled are in the program's file
//! (`descriptors`), those of rewritten code in the segment's dictionary (`dictionary`). `expand`
//! writes the rows, `templates` makes templates.

mod descriptors;
mod dictionary;
mod expand;
mod templates;

pub(crate) use descriptors::SECTION;

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_trace::{Block, Columns, Kind, TemplateBlock};
use reuselens_wire::{
    BLOCK_RECORD_BYTES_MOST, ENTER_DEPTH_UNKNOWN, REWRITTEN_BLOCK_RECORD, Record, WireKind,
    is_block_record, unpack_enter,
};

use crate::kinds::PLAIN;
use crate::segment::{Segment, words_of};
pub(crate) use descriptors::Descriptors;
use descriptors::{Descriptor, GROUP, ROWS_MOST};
use dictionary::Dictionary;
use expand::{
    Repetition, iterations, padded, write_addresses, write_code, write_conditional, write_one,
    write_repeated,
};
use templates::LoneRow;
pub(crate) use templates::TemplateBuilder;

/// Words of the longest block record; a power of two.
const WORDS_MOST: usize = BLOCK_RECORD_BYTES_MOST / 8;

/// Reads the block records of all processes.
#[derive(Default)]
pub struct BlockRecords {
    dictionary: Dictionary,
    /// By process, the descriptors of its modules; those of the module loaded last come first.
    modules: BTreeMap<u32, Vec<Arc<Descriptors>>>,
    /// Whether there was any block record of code that the LLVM pass has compiled.
    pub has_compiled: bool,
    /// Raw blocks of which a part could not be read.
    pub lost: u64,
}

/// What is needed of the process and thread that block records come from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    pub process: u32,
    /// First address above the thread's stack.
    pub stack_high: u64,
    /// Whether function entries are recorded at the call.
    pub by_call: bool,
}

impl BlockRecords {
    /// Knows no descriptors yet; those of rewritten code will be in the segment.
    pub fn new(segment: Arc<Segment>) -> BlockRecords {
        BlockRecords {
            dictionary: Dictionary::new(segment),
            ..BlockRecords::default()
        }
    }

    /// Adds the descriptors of a module of a process.
    pub fn add(&mut self, process: u32, descriptors: Arc<Descriptors>) {
        let modules = self.modules.entry(process).or_default();
        modules.insert(0, descriptors);
    }

    /// Appends the block records from `position` on as templates and operands, and the function
    /// entries and single rows between them. Stops at `wanted` rows, or at a record without a
    /// template of its own. Returns the position where it stopped.
    pub fn append_templates(
        &mut self,
        of: Origin,
        records: &mut [Record],
        mut position: usize,
        wanted: usize,
        builder: &mut TemplateBuilder,
        into: &mut TemplateBlock,
    ) -> usize {
        let words = words_of(records);
        while into.rows() < wanted {
            self.dictionary
                .append_templates(words, &mut position, wanted, builder, into);
            let &[word0, word1] = words
                .get(2 * position..2 * position + 2)
                .unwrap_or_default()
            else {
                break;
            };
            let record = Record { word0, word1 };
            let fits = if record.kind() == WireKind::Enter as u8 {
                let Entered {
                    return_address,
                    stack_pointer,
                } = entered(record, of.stack_high);
                let lone = LoneRow {
                    pc: record.pc(),
                    kind: Kind::Enter,
                    size: u8::from(of.by_call),
                    has_operand: true,
                };
                builder.push_row(lone, stack_pointer, Some(return_address), into)
            } else {
                match plain_kind(record.word1) {
                    Some(kind) if kind.operands() == 0 && kind != Kind::Operand => {
                        let lone = LoneRow {
                            pc: record.pc(),
                            kind,
                            size: record.size(),
                            has_operand: false,
                        };
                        builder.push_row(lone, record.word0, None, into)
                    }
                    _ => false,
                }
            };
            if !fits {
                break;
            }
            position += 1;
        }
        position
    }

    /// Makes rows of the block records from `position` on, and of the records between them that are
    /// rows. They go into the block from row `at` on. Stops at the first other record, or when
    /// there are `wanted` rows. Returns where it stopped. Counts what cannot be read as lost, and
    /// reads nothing after it.
    pub fn expand(
        &mut self,
        of: Origin,
        records: &mut [Record],
        mut position: usize,
        mut at: usize,
        wanted: usize,
        block: &mut Block,
    ) -> usize {
        let modules = self.modules.get(&of.process).map_or(&[][..], Vec::as_slice);
        let end = at.max(wanted);
        let room = end + ROWS_MOST.max(OPERANDS_MOST) + 2;
        let mut columns = block.overwrite(room + GROUP);
        let mut recent = modules.first();
        let words = words_of(records);
        while 2 * position < words.len() {
            self.dictionary
                .rows(words, &mut position, &mut at, end, &mut columns);
            if 2 * position >= words.len() {
                break;
            }
            let address = words[2 * position + 1];
            // A row and its operands stay in one block.
            let belongs = plain_kind(address) == Some(Kind::Operand) && at < room;
            if at >= end && !belongs {
                break;
            }
            let kind = kind_of(address);
            if !is_block_record(kind) {
                // Read here, too: to return and be called again for a single record would cost
                // more.
                let record = Record {
                    word0: words[2 * position],
                    word1: address,
                };
                if kind == WireKind::Enter as u8 {
                    enter(record, of, at, &mut columns);
                    (at, position) = (at + 2, position + 1);
                    continue;
                }
                let Some(kind) = plain_kind(address) else {
                    break;
                };
                put(record, kind, at, &mut columns);
                (at, position) = (at + 1, position + 1);
                continue;
            }
            let found = if kind == REWRITTEN_BLOCK_RECORD {
                self.dictionary.find(address)
            } else {
                self.has_compiled = true;
                find(modules, &mut recent, address)
            };
            let rest = &mut words[2 * position..];
            let Some(Found {
                descriptors,
                descriptor,
            }) = found
            else {
                self.lost += 1;
                position = words.len() / 2;
                break;
            };
            let length = usize::from(descriptor.length);
            if let Some(repeats) = descriptors.repeats_of(descriptor) {
                let is_complete = 2 * length <= rest.len();
                let times = iterations(repeats, descriptor, rest).filter(|_| is_complete);
                let Some(times) = times else {
                    self.lost += 1;
                    position = words.len() / 2;
                    break;
                };
                // The head's place stands for "no operand" (`NO_WORD`), which is to be read as 0.
                rest[1] = 0;
                let owned;
                let first = match rest.first_chunk() {
                    Some(first) => first,
                    None => {
                        owned = padded(rest);
                        &owned
                    }
                };
                let repetition = Repetition { repeats, times };
                write_repeated(descriptors, descriptor, repetition, first, at, &mut columns);
                at += usize::from(descriptor.rows) * times;
                position += length;
                continue;
            }
            // A loop writes many block records with the same head: these are expanded together.
            let count = count_equal(rest, address, descriptor, end - at);
            if count == 0 {
                self.lost += 1;
                position = words.len() / 2;
                break;
            }
            position += length * count;
            match descriptor.conditions {
                None => {
                    let groups = descriptors.groups_of(descriptor);
                    rest[1] = 0;
                    if count == 1
                        && let Some(first) = rest.first_chunk()
                    {
                        write_one(groups, first, at, &mut columns);
                        at += usize::from(descriptor.rows);
                        continue;
                    }
                    write_code(groups, descriptor.rows, count, at, &mut columns);
                    let column = &mut columns.addrs[at..];
                    write_addresses(groups, descriptor, rest, count, column);
                    at += usize::from(descriptor.rows) * count;
                }
                Some(first) => {
                    let first = first as usize;
                    for number in 0..count {
                        let rest = &mut rest[2 * number * length..];
                        rest[1] = 0;
                        let owned;
                        let record = match rest.first_chunk() {
                            Some(record) => record,
                            None => {
                                owned = padded(rest);
                                &owned
                            }
                        };
                        at = write_conditional(
                            descriptors,
                            descriptor,
                            first,
                            record,
                            at,
                            &mut columns,
                        );
                    }
                }
            }
        }
        block.truncate(at);
        position
    }
}

/// The most operands of a row: those of a name of 4096 bytes, and three.
const OPERANDS_MOST: usize = 4096 / 8 + 3;

/// A descriptor, and the tables that it belongs to.
#[derive(Clone, Copy)]
struct Found<'a> {
    descriptors: &'a Descriptors,
    descriptor: &'a Descriptor,
}

/// The descriptor at an address. `recent` is the module of the last one.
#[inline(always)]
fn find<'a>(
    modules: &'a [Arc<Descriptors>],
    recent: &mut Option<&'a Arc<Descriptors>>,
    address: u64,
) -> Option<Found<'a>> {
    let of = |descriptors: &'a Arc<Descriptors>| {
        Some(Found {
            descriptors,
            descriptor: descriptors.find(address)?,
        })
    };
    if let Some(found) = recent.and_then(of) {
        return Some(found);
    }
    *recent = modules.iter().find(|module| module.find(address).is_some());
    recent.and_then(of)
}

/// The number of a record's kind, from its second word.
#[inline(always)]
fn kind_of(word1: u64) -> u8 {
    Record { word0: 0, word1 }.kind()
}

/// The row's kind, if the record with this second word is a row.
#[inline(always)]
fn plain_kind(word1: u64) -> Option<Kind> {
    PLAIN[usize::from(kind_of(word1))]
}

/// Writes a record that is a row.
#[inline(always)]
fn put(record: Record, kind: Kind, at: usize, columns: &mut Columns<'_>) {
    columns.kinds[at] = kind;
    columns.sizes[at] = record.size();
    columns.pcs[at] = record.pc();
    columns.addrs[at] = record.word0;
}

/// The contents of the record of a function entry.
pub(crate) struct Entered {
    pub return_address: u64,
    /// 0 if it is not known.
    pub stack_pointer: u64,
}

/// Reads the record of a function entry.
pub(crate) fn entered(record: Record, stack_high: u64) -> Entered {
    let (return_address, depth) = unpack_enter(record);
    let stack_pointer = if depth == ENTER_DEPTH_UNKNOWN {
        0
    } else {
        stack_high.wrapping_sub(depth * 8)
    };
    Entered {
        return_address,
        stack_pointer,
    }
}

/// Writes the two rows of a function entry.
#[inline(always)]
fn enter(record: Record, of: Origin, at: usize, columns: &mut Columns<'_>) {
    let found = entered(record, of.stack_high);
    columns.kinds[at] = Kind::Enter;
    columns.sizes[at] = u8::from(of.by_call);
    columns.pcs[at] = record.pc();
    columns.addrs[at] = found.stack_pointer;
    columns.kinds[at + 1] = Kind::Operand;
    columns.sizes[at + 1] = 0;
    columns.pcs[at + 1] = 0;
    columns.addrs[at + 1] = found.return_address;
}

/// How many complete block records with this head follow one another; at most those that make
/// `rows` rows.
#[inline(always)]
fn count_equal(words: &[u64], head: u64, found: &Descriptor, rows: usize) -> usize {
    // Counted by addition: most block records have no equal neighbour, and a division would cost
    // more than all the rest.
    let (step, each) = (
        2 * usize::from(found.length),
        usize::from(found.rows.max(1)),
    );
    let (mut at, mut made, mut count) = (0, 0, 0);
    while made < rows && at + step <= words.len() && words[at + 1] == head {
        at += step;
        made += each;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
