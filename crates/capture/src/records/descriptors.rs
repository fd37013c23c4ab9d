//! [`Descriptors`]: tables of what pieces of straight-line code do to memory, from two sources: the
//! section `reuselens_notes` of a program or library that the LLVM pass has compiled (its format is
//! described in `llvm/pass.cpp`), and entries of the segment's dictionary
//! ([`Descriptors::add_entry`] and [`Descriptors::add_part`]).
//!
//! A descriptor's rows are stored in groups of [`GROUP`], with arrays of fields, so that `expand`
//! writes a group at a time. Both sources may be damaged: what makes no sense is refused, so that
//! code here and in `expand` may use the tables without checks.

use object::{Object as _, ObjectSection as _};
use reuselens_trace::Kind;
use reuselens_wire::{BLOCK_RECORD_BYTES_MOST, DictionaryEntry, EntryRow, NO_WORD, Record};

use crate::kinds::PLAIN;

/// Rows of a group: most pieces of code have as many accesses or fewer.
pub(super) const GROUP: usize = 4;
/// Limit on the rows of one block record.
pub(super) const ROWS_MOST: usize = 256;

/// The section that the pass puts descriptors into.
pub(crate) const SECTION: &str = "reuselens_notes";
const HEAD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 8;
/// In place of an operand: the displacement is relative to its own address.
const FROM_HERE: u16 = 0xffff;
/// In place of an operand: the displacement is the address.
const FROM_ZERO: u16 = 0xfffe;
const ONE_LANE: u8 = 0x40;
const LANES: u8 = 0x41;
const TIMES: u8 = 0x42;
const STEP: u8 = 0x43;

/// Limit on the rows of one iteration of a repeated descriptor.
pub(super) const REPEATED_EACH: usize = 64;

/// A group of rows without their addresses. An address is an operand of the block record plus a
/// displacement.
#[derive(Clone, Debug)]
pub(super) struct DescriptorGroup {
    pub kinds: [Kind; GROUP],
    pub sizes: [u8; GROUP],
    pub pcs: [u64; GROUP],
    pub displacements: [u64; GROUP],
    /// Where in the block record the operands are, in units of eight bytes.
    pub operands: [u16; GROUP],
}

/// A row as an entry describes it, before it is checked.
struct RawRow {
    kind: u8,
    size: u8,
    pc: u64,
    operand: u16,
    displacement: u64,
}

/// When a row of a descriptor is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    /// If this bit of the operand at this place is set.
    OneLane(u16, u32),
    /// If any of the lowest bits of the operand at this place is set, one for each of this many
    /// lanes: then the row reaches from the first lane whose bit is set to the last.
    Lanes(u16, u32),
}

/// What a piece of straight-line code does to memory. `templates` makes a template of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    /// Its first group.
    pub group: u32,
    pub rows: u16,
    /// Length of its block records in [`Record`]s.
    pub length: u16,
    /// Where the conditions of its rows are, if any row is conditional.
    pub conditions: Option<u32>,
    /// Where it is in [`Descriptors::repeats`], if its block records stand for iterations.
    pub repeats: Option<u32>,
}

/// How a row's address changes from one iteration to the next: by an operand, if there is one, plus
/// a displacement. A row with the same address in all iterations has neither.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressStep {
    pub operand: u16,
    pub displacement: u64,
}

/// How a block record stands for many iterations of a loop. Its operands are those of the last
/// iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopIterations {
    /// The place of the operand with the number of iterations.
    pub times: u16,
    /// The first of its steps, of which there is one for each row, in groups.
    pub step: u32,
}

/// Whether an entry of this kind is about iterations.
fn is_repetition(kind: u8) -> bool {
    matches!(kind, TIMES | STEP)
}

/// A descriptor's entries about iterations.
#[derive(Default)]
struct Repeating {
    times: Option<u16>,
    /// The rows whose addresses change.
    steps: Vec<(usize, AddressStep)>,
}

impl Repeating {
    /// Takes an entry that comes after `rows` rows. `None` if it makes no sense there.
    fn take(&mut self, kind: u8, place: u16, displacement: u64, rows: usize) -> Option<()> {
        if kind == TIMES {
            self.times = Some(place);
        } else {
            let step = AddressStep {
                operand: place,
                displacement,
            };
            self.steps.push((rows.checked_sub(1)?, step));
        }
        Some(())
    }
}

/// What the entries of a descriptor are.
#[derive(Default)]
struct Taken {
    rows: usize,
    repeating: Repeating,
    /// Whether there were basic blocks that are not wanted.
    left_out: bool,
}

/// The descriptors of one module, as it was loaded.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    low: u64,
    /// Whether basic blocks are wanted.
    basic_blocks: bool,
    /// For each eight bytes of the section, 1 + the number of the descriptor that begins there, or
    /// 0.
    index: Vec<u32>,
    descriptors: Vec<Descriptor>,
    pub(super) groups: Vec<DescriptorGroup>,
    pub(super) conditions: Vec<Condition>,
    pub(super) repeats: Vec<LoopIterations>,
    pub(super) steps: Vec<[AddressStep; GROUP]>,
}

impl Descriptors {
    /// Reads the descriptors of a file that was loaded `bias` bytes above the addresses in it.
    /// `None` if it has none.
    pub fn read(file: &object::File<'_>, bias: u64, basic_blocks: bool) -> Option<Descriptors> {
        let section = file.section_by_name(SECTION)?;
        let bytes = section.uncompressed_data().ok()?;
        let low = bias.wrapping_add(section.address());
        Some(Descriptors::of(&bytes, low, basic_blocks))
    }

    /// Reads the descriptors in a section at address `low`. Skips those that make no sense, and
    /// stops at one that is cut off.
    fn of(bytes: &[u8], low: u64, basic_blocks: bool) -> Descriptors {
        let mut found = Descriptors {
            low,
            basic_blocks,
            index: vec![0; bytes.len() / 8],
            ..Descriptors::default()
        };
        let mut at = 0;
        while at + HEAD_BYTES <= bytes.len() {
            let count = usize::from(number16(bytes, at + 6));
            let end = at + HEAD_BYTES + ENTRY_BYTES * count;
            if count > 0 {
                let Some(descriptor) = bytes.get(at..end) else {
                    break;
                };
                if found.add(descriptor, low.wrapping_add(at as u64)).is_some() {
                    found.index[at / 8] = found.descriptors.len() as u32;
                }
            }
            at = end;
        }
        found
    }

    /// The descriptor at an address in the program.
    #[inline]
    pub(super) fn find(&self, address: u64) -> Option<&Descriptor> {
        let offset = address.wrapping_sub(self.low);
        let number = *self.index.get((offset / 8) as usize)?;
        self.descriptors.get((number as usize).wrapping_sub(1))
    }

    /// Adds an entry of the segment's dictionary, and returns the place of its descriptor. `None`
    /// if the entry makes no sense; then the tables are unchanged, because each block record with
    /// that entry tries again.
    pub(super) fn add_entry(&mut self, entry: &DictionaryEntry, rows: &[EntryRow]) -> Option<u32> {
        let (groups, conditions) = (self.groups.len(), self.conditions.len());
        let added = self.try_entry(entry, rows);
        if added.is_none() {
            self.groups.truncate(groups);
            self.conditions.truncate(conditions);
        }
        added
    }

    /// Adds an entry whose rows are the first rows of the descriptor at place `longer`. Returns the
    /// place of its own descriptor, or `None` if it makes no sense.
    pub(super) fn add_part(&mut self, entry: &DictionaryEntry, longer: u32) -> Option<u32> {
        let of = *self.at(longer)?;
        let (length, rows) = (length_of(entry)?, entry.rows as usize);
        let (first, conditions) = (of.group as usize, of.conditions.map(|first| first as usize));
        let mut words = self
            .groups
            .get(first..)?
            .iter()
            .flat_map(|group| group.operands)
            .take(rows);
        let within = words.all(|word| u32::from(word) < entry.words);
        let masks = conditions.map_or(Some(&[][..]), |first| {
            self.conditions.get(first..first + rows)
        })?;
        let mask_within = |condition: &Condition| match condition {
            Condition::Lanes(word, _) => u32::from(*word) < entry.words,
            _ => true,
        };
        if rows > usize::from(of.rows) || !within || !masks.iter().all(mask_within) {
            return None;
        }
        let always = masks.iter().all(|mask| *mask == Condition::Always);
        self.descriptors.push(Descriptor {
            group: of.group,
            rows: rows as u16,
            length,
            conditions: of.conditions.filter(|_| !always),
            repeats: None,
        });
        Some(self.descriptors.len() as u32 - 1)
    }

    fn try_entry(&mut self, entry: &DictionaryEntry, rows: &[EntryRow]) -> Option<u32> {
        let first = self.groups.len() as u32;
        let conditions = self.conditions.len();
        let length = length_of(entry)?;
        if rows.len() > ROWS_MOST {
            return None;
        }
        for (index, row) in rows.iter().enumerate() {
            let record = Record {
                word0: 0,
                word1: row.meta,
            };
            let (word, mask) = row.words();
            let last = word.max(mask.map_or(0, |mask| mask.0));
            if u32::from(last) >= entry.words || PLAIN[usize::from(record.kind())].is_none() {
                return None;
            }
            let raw = RawRow {
                kind: record.kind(),
                size: record.size(),
                pc: record.pc(),
                operand: word,
                displacement: row.displacement,
            };
            self.add_row(&raw, index)?;
            self.conditions.push(match mask {
                Some((mask, lanes)) => Condition::Lanes(mask, u32::from(lanes).clamp(1, 64)),
                None => Condition::Always,
            });
        }
        let conditional = self.drop_if_always(conditions);
        self.descriptors.push(Descriptor {
            group: first,
            rows: rows.len() as u16,
            length,
            conditions: conditional.then_some(conditions as u32),
            repeats: None,
        });
        Some(self.descriptors.len() as u32 - 1)
    }

    /// Removes the conditions from `first` on if all of them are [`Condition::Always`]. Returns
    /// whether any is not.
    fn drop_if_always(&mut self, first: usize) -> bool {
        let all = self.conditions[first..]
            .iter()
            .all(|condition| *condition == Condition::Always);
        if all {
            self.conditions.truncate(first);
        }
        !all
    }

    /// The descriptor at a place.
    #[inline]
    pub(super) fn at(&self, place: u32) -> Option<&Descriptor> {
        self.descriptors.get(place as usize)
    }

    /// The group of row `row` of a descriptor, and its place there.
    pub(super) fn row_of(&self, of: &Descriptor, row: usize) -> Option<(&DescriptorGroup, usize)> {
        let group = self.groups.get(of.group as usize + row / GROUP)?;
        Some((group, row % GROUP))
    }

    /// The groups of a descriptor's rows.
    #[inline]
    pub(super) fn groups_of(&self, of: &Descriptor) -> &[DescriptorGroup] {
        let first = of.group as usize;
        let count = usize::from(of.rows).div_ceil(GROUP);
        self.groups.get(first..first + count).unwrap_or_default()
    }

    /// Adds the descriptor in these bytes of the section, which are at an address. `None` if it
    /// makes no sense; rows of it that stay in the tables are not found by any address.
    fn add(&mut self, bytes: &[u8], address: u64) -> Option<()> {
        let words = number16(bytes, 4);
        // With the word that names the descriptor.
        if 8 * (usize::from(words) + 1) > BLOCK_RECORD_BYTES_MOST {
            return None;
        }
        let first = self.groups.len() as u32;
        let conditions = self.conditions.len();
        let Taken {
            rows,
            repeating,
            left_out,
        } = self.take(bytes, address, words)?;
        let conditional = self.drop_if_always(conditions);
        let repeats = match rows {
            // A loop that only has basic blocks.
            0 if left_out => None,
            _ => self.add_repeats(&repeating, rows, conditional)?,
        };
        self.descriptors.push(Descriptor {
            group: first,
            rows: rows as u16,
            length: (words.max(1) + 1).div_ceil(2),
            conditions: conditional.then_some(conditions as u32),
            repeats,
        });
        (rows <= ROWS_MOST).then_some(())
    }

    /// Adds the rows and conditions of a descriptor whose block records have `words` words besides
    /// the head.
    fn take(&mut self, bytes: &[u8], address: u64, words: u16) -> Option<Taken> {
        let sites = address.wrapping_add_signed(i64::from(signed32(bytes, 0)));
        let conditions = self.conditions.len();
        let mut taken = Taken::default();
        for (index, entry) in bytes[HEAD_BYTES..].chunks_exact(ENTRY_BYTES).enumerate() {
            let place = match number16(entry, 2) {
                FROM_HERE | FROM_ZERO => NO_WORD,
                0 => 0,
                word if word < words => word + 1,
                _ => return None,
            };
            let displacement = i64::from(signed32(entry, 4));
            let condition = match entry[0] {
                // Basic blocks are not wanted. The entry's program counter stays unused.
                kind if kind == Kind::BasicBlock as u8 && !self.basic_blocks => {
                    taken.left_out = true;
                    continue;
                }
                ONE_LANE => Condition::OneLane(place, displacement as u32 % 64),
                LANES => Condition::Lanes(place, (displacement as u32).clamp(1, 64)),
                kind if is_repetition(kind) => {
                    let (repeating, rows) = (&mut taken.repeating, taken.rows);
                    repeating.take(kind, place, displacement as u64, rows)?;
                    continue;
                }
                kind => {
                    let here = address.wrapping_add((HEAD_BYTES + ENTRY_BYTES * index + 4) as u64);
                    let is_here = number16(entry, 2) == FROM_HERE;
                    let base = if is_here { here } else { 0 };
                    let raw = RawRow {
                        kind,
                        size: entry[1],
                        // The address after the instruction, as in all streams.
                        pc: sites.wrapping_add(index as u64 + 1),
                        operand: place,
                        displacement: base.wrapping_add_signed(displacement),
                    };
                    self.add_row(&raw, taken.rows)?;
                    self.conditions.push(Condition::Always);
                    taken.rows += 1;
                    continue;
                }
            };
            *self.conditions[conditions..].last_mut()? = condition;
        }
        Some(taken)
    }

    /// How block records of a descriptor stand for iterations, if they do.
    #[inline(always)]
    pub(super) fn repeats_of(&self, of: &Descriptor) -> Option<LoopIterations> {
        self.repeats.get(of.repeats? as usize).copied()
    }

    /// Adds how the block records of a descriptor with `rows` rows stand for iterations. Returns
    /// the place of that, or `Some(None)` if they do not. `None` if that makes no sense, as for
    /// conditional rows, which are never repeated.
    fn add_repeats(
        &mut self,
        repeating: &Repeating,
        rows: usize,
        conditional: bool,
    ) -> Option<Option<u32>> {
        let Some(times) = repeating.times else {
            return repeating.steps.is_empty().then_some(None);
        };
        if times == NO_WORD || rows == 0 || rows > REPEATED_EACH || conditional {
            return None;
        }
        let step = self.steps.len();
        let none = AddressStep {
            operand: NO_WORD,
            displacement: 0,
        };
        self.steps
            .resize(step + rows.div_ceil(GROUP), [none; GROUP]);
        for &(row, moved) in &repeating.steps {
            self.steps[step + row / GROUP][row % GROUP] = moved;
        }
        self.repeats.push(LoopIterations {
            times,
            step: step as u32,
        });
        Some(Some(self.repeats.len() as u32 - 1))
    }

    /// Adds row `number` of the descriptor that is being added. `None` if its kind does not exist.
    fn add_row(&mut self, row: &RawRow, number: usize) -> Option<()> {
        const PC_MASK: u64 = (1 << 48) - 1;
        let kind = Kind::from_u8(row.kind)?;
        if number.is_multiple_of(GROUP) {
            self.groups.push(DescriptorGroup {
                kinds: [Kind::Load; GROUP],
                sizes: [0; GROUP],
                pcs: [0; GROUP],
                displacements: [0; GROUP],
                operands: [NO_WORD; GROUP],
            });
        }
        let (group, at) = (self.groups.last_mut()?, number % GROUP);
        group.kinds[at] = kind;
        group.sizes[at] = row.size;
        // Operands belong to the row before.
        group.pcs[at] = if kind == Kind::Operand {
            0
        } else {
            row.pc & PC_MASK
        };
        group.displacements[at] = row.displacement;
        group.operands[at] = row.operand;
        Some(())
    }
}

/// Length of an entry's block records in [`Record`]s; `None` if it makes no sense.
fn length_of(entry: &DictionaryEntry) -> Option<u16> {
    // An entry that was not written yet is all zero.
    let is_valid = entry.words > 0 && entry.words.is_multiple_of(2);
    let fits = is_valid && entry.words as usize * 8 <= BLOCK_RECORD_BYTES_MOST;
    fits.then_some((entry.words / 2) as u16)
}

fn number16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn signed32(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
pub(super) mod tests;
