//! Notes become rows.
//!
//! Code that the LLVM pass has seen writes notes: the address of a descriptor, and those words of
//! the addresses that only the running program knows. The descriptors are in the program's file, so
//! that is where they are read. Code that is rewritten does the same; its descriptors are in the
//! segment.

mod descriptors;
mod dictionary;
mod expand;
mod templates;

pub(crate) use descriptors::SECTION;

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_trace::{Block, Columns, Kind, ShapedBlock};
use reuselens_wire::{
    CODED, ENTER_DEPTH_UNKNOWN, NOTE, NOTE_BYTES_MOST, Record, WireKind, unpack_enter,
};

use crate::kinds::PLAIN;
use crate::segment::{Segment, words_of};
pub(crate) use descriptors::Table;
use descriptors::{Descriptor, GROUP, ROWS_MOST};
use dictionary::Dictionary;
use expand::{addresses, code, last, one, repeated, some, times};
pub(crate) use templates::Shaping;

/// Words of the longest note; a power of two.
const WORDS: usize = NOTE_BYTES_MOST / 8;

/// The descriptors of all processes.
#[derive(Default)]
pub struct Notes {
    dictionary: Dictionary,
    /// By process; those of the module that was loaded last come first.
    tables: BTreeMap<u32, Vec<Arc<Table>>>,
    /// Whether there was any note of code that the LLVM pass has seen, which that of rewritten code
    /// is not.
    pub seen: bool,
    /// Stretches of records that could not be read.
    pub lost: u64,
}

/// Whose notes they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    pub process: u32,
    /// First address above the thread's stack.
    pub stack_high: u64,
    /// Whether function entries are seen at the call.
    pub by_call: bool,
}

impl Notes {
    /// No descriptors yet; those of rewritten code will be in the segment.
    pub fn new(segment: Arc<Segment>) -> Notes {
        Notes {
            dictionary: Dictionary::new(segment),
            ..Notes::default()
        }
    }

    /// Adds what a module of a process has.
    pub fn add(&mut self, process: u32, table: Arc<Table>) {
        self.tables.entry(process).or_default().insert(0, table);
    }

    /// Appends the notes from `position` on as shapes and words, and the function entries and
    /// single rows between them, until there are `wanted` rows or up to what has no shape of its
    /// own. Returns where it stopped.
    pub fn shape(
        &mut self,
        of: Origin,
        records: &mut [Record],
        mut position: usize,
        wanted: usize,
        (shaping, into): (&mut Shaping, &mut ShapedBlock),
    ) -> usize {
        let words = words_of(records);
        while into.rows() < wanted {
            self.dictionary
                .shape(words, &mut position, wanted, (shaping, into));
            let &[word0, word1] = words
                .get(2 * position..2 * position + 2)
                .unwrap_or_default()
            else {
                break;
            };
            let record = Record { word0, word1 };
            let fits = if record.kind() == WireKind::Enter as u8 {
                let (return_address, stack_pointer) = entered(record, of.stack_high);
                let alone = (record.pc(), Kind::Enter, u8::from(of.by_call), true);
                shaping.one(alone, stack_pointer, Some(return_address), into)
            } else {
                match plain_kind(record.word1) {
                    Some(kind) if kind.operands() == 0 && kind != Kind::Operand => {
                        let alone = (record.pc(), kind, record.size(), false);
                        shaping.one(alone, record.word0, None, into)
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

    /// Makes rows of the notes from `position` on, from row `at` of the block on, and of the
    /// records between them that are rows, up to the first other record or until there are `wanted`
    /// rows. Returns where it stopped; what cannot be read is counted, and nothing behind it is
    /// read.
    pub fn expand(
        &mut self,
        of: Origin,
        records: &mut [Record],
        mut position: usize,
        mut at: usize,
        wanted: usize,
        block: &mut Block,
    ) -> usize {
        let tables = self.tables.get(&of.process).map_or(&[][..], Vec::as_slice);
        let end = at.max(wanted);
        let room = end + ROWS_MOST.max(OPERANDS_MOST) + 2;
        let mut columns = block.overwrite(room + GROUP);
        let mut recent = tables.first();
        let words = words_of(records);
        while 2 * position < words.len() {
            self.dictionary
                .rows(words, &mut position, (&mut at, end), &mut columns);
            if 2 * position >= words.len() {
                break;
            }
            let address = words[2 * position + 1];
            // A row and its operands are never parted.
            let belongs = plain_kind(address) == Some(Kind::Operand) && at < room;
            if at >= end && !belongs {
                break;
            }
            let kind = kind_of(address);
            if !matches!(kind, NOTE | CODED) {
                // Taken along, because to stop and begin again costs more.
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
            let found = if kind == CODED {
                self.dictionary.find(address)
            } else {
                self.seen = true;
                find(tables, &mut recent, address)
            };
            let notes = &mut words[2 * position..];
            let Some((table, found)) = found else {
                self.lost += 1;
                position = words.len() / 2;
                break;
            };
            if let Some(repeats) = table.repeats_of(found) {
                let whole = 2 * usize::from(found.records) <= notes.len();
                let Some(times) = times(repeats, found, notes).filter(|_| whole) else {
                    self.lost += 1;
                    position = words.len() / 2;
                    break;
                };
                notes[1] = 0;
                let padded;
                let note = match notes.first_chunk() {
                    Some(note) => note,
                    None => {
                        padded = last(notes);
                        &padded
                    }
                };
                repeated(table, (found, repeats, times), note, at, &mut columns);
                at += usize::from(found.rows) * times;
                position += usize::from(found.records);
                continue;
            }
            // A loop writes the same note again and again.
            let count = alike(notes, address, found, end - at);
            if count == 0 {
                self.lost += 1;
                position = words.len() / 2;
                break;
            }
            position += usize::from(found.records) * count;
            match found.conditions {
                None => {
                    let groups = table.groups_of(found);
                    notes[1] = 0;
                    if count == 1
                        && let Some(note) = notes.first_chunk()
                    {
                        one(groups, note, at, &mut columns);
                        at += usize::from(found.rows);
                        continue;
                    }
                    code(groups, found.rows, count, at, &mut columns);
                    addresses(groups, found, notes, count, &mut columns.addrs[at..]);
                    at += usize::from(found.rows) * count;
                }
                Some(first) => {
                    for note in 0..count {
                        let rest = &mut notes[2 * note * usize::from(found.records)..];
                        rest[1] = 0;
                        let first = first as usize;
                        at = match rest.first_chunk() {
                            Some(note) => some(table, found, first, note, at, &mut columns),
                            None => some(table, found, first, &last(rest), at, &mut columns),
                        };
                    }
                }
            }
        }
        block.truncate(at);
        position
    }
}

/// Operands that a row may have: those of a name of 4096 bytes, and three.
const OPERANDS_MOST: usize = 4096 / 8 + 3;

/// A descriptor and the table that it is in.
type Found<'a> = (&'a Table, &'a Descriptor);

/// The descriptor at an address; `recent` is where the one before was.
#[inline(always)]
fn find<'a>(
    tables: &'a [Arc<Table>],
    recent: &mut Option<&'a Arc<Table>>,
    address: u64,
) -> Option<Found<'a>> {
    let of = |table: &'a Arc<Table>| Some((&**table, table.find(address)?));
    if let Some(found) = recent.and_then(of) {
        return Some(found);
    }
    *recent = tables.iter().find(|table| table.find(address).is_some());
    recent.and_then(of)
}

/// The number of a record's kind, from its second word.
#[inline(always)]
fn kind_of(word1: u64) -> u8 {
    Record { word0: 0, word1 }.kind()
}

/// The row's kind, if the record with this second word is a row as it stands.
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

/// Where the function returns that a record says was entered, and its stack pointer, or 0.
pub(crate) fn entered(record: Record, stack_high: u64) -> (u64, u64) {
    let (return_address, depth) = unpack_enter(record);
    let stack_pointer = if depth == ENTER_DEPTH_UNKNOWN {
        0
    } else {
        stack_high.wrapping_sub(depth * 8)
    };
    (return_address, stack_pointer)
}

/// Writes the two rows of a function entry.
#[inline(always)]
fn enter(record: Record, of: Origin, at: usize, columns: &mut Columns<'_>) {
    let (return_address, stack_pointer) = entered(record, of.stack_high);
    let both = [
        (
            Kind::Enter,
            u8::from(of.by_call),
            record.pc(),
            stack_pointer,
        ),
        (Kind::Operand, 0, 0, return_address),
    ];
    for (index, (kind, size, pc, address)) in both.into_iter().enumerate() {
        columns.kinds[at + index] = kind;
        columns.sizes[at + index] = size;
        columns.pcs[at + index] = pc;
        columns.addrs[at + index] = address;
    }
}

/// How many whole notes of this descriptor follow one another; as many as make `rows` rows at most.
#[inline(always)]
fn alike(words: &[u64], address: u64, found: &Descriptor, rows: usize) -> usize {
    // Counted by adding up: most notes come alone, and a division would cost more than all the
    // rest.
    let (step, each) = (
        2 * usize::from(found.records),
        usize::from(found.rows.max(1)),
    );
    let (mut at, mut made, mut count) = (0, 0, 0);
    while made < rows && at + step <= words.len() && words[at + 1] == address {
        at += step;
        made += each;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
