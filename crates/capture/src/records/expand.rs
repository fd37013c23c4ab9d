//! Writes the rows of block records into columns: of one block record ([`write_one`]), of many with
//! the same head ([`write_code`] and [`write_addresses`]), of one that stands for iterations of a
//! loop ([`write_repeated`]), and of one with conditional rows ([`write_conditional`]).
//!
//! All of them write groups of [`GROUP`] rows. They may write up to a group beyond the last row, so
//! callers make room for that, and truncate the block in the end. A row without an operand refers
//! to the head's word, which callers overwrite with 0 before.

use reuselens_trace::Columns;
use reuselens_wire::NO_WORD;

use super::WORDS_MOST;
use super::descriptors::{
    Condition, Descriptor, DescriptorGroup, Descriptors, GROUP, LoopIterations, REPEATED_EACH,
    ROWS_MOST,
};

/// The last block record of a raw block, with zeros after its end.
#[cold]
pub(super) fn padded(rest: &[u64]) -> [u64; WORDS_MOST] {
    std::array::from_fn(|index| rest.get(index).copied().unwrap_or(0))
}

/// Writes the rows of one block record, from row `at` on. Surplus rows of the last group are
/// overwritten by the next block record, or truncated in the end.
#[inline(always)]
pub(super) fn write_one(
    groups: &[DescriptorGroup],
    record: &[u64; WORDS_MOST],
    mut at: usize,
    columns: &mut Columns<'_>,
) {
    for group in groups {
        let rows = at..at + GROUP;
        let (Some(kinds), Some(sizes), Some(pcs), Some(addrs)) = (
            columns.kinds[rows.clone()].first_chunk_mut(),
            columns.sizes[rows.clone()].first_chunk_mut(),
            columns.pcs[rows.clone()].first_chunk_mut(),
            columns.addrs[rows].first_chunk_mut(),
        ) else {
            return;
        };
        *kinds = group.kinds;
        *sizes = group.sizes;
        *pcs = group.pcs;
        *addrs = std::array::from_fn::<u64, GROUP, _>(|lane| {
            let word = record[usize::from(group.operands[lane]) % WORDS_MOST];
            word.wrapping_add(group.displacements[lane])
        });
        at += GROUP;
    }
}

/// Writes the kinds, sizes and program counters of `count` equal block records: those of the first,
/// then copies of them.
#[inline(always)]
pub(super) fn write_code(
    groups: &[DescriptorGroup],
    rows: u16,
    count: usize,
    at: usize,
    columns: &mut Columns<'_>,
) {
    let rows = usize::from(rows);
    let kinds = columns.kinds[at..].as_chunks_mut().0;
    let sizes = columns.sizes[at..].as_chunks_mut().0;
    let pcs = columns.pcs[at..].as_chunks_mut().0;
    for (((group, kinds), sizes), pcs) in groups.iter().zip(kinds).zip(sizes).zip(pcs) {
        *kinds = group.kinds;
        *sizes = group.sizes;
        *pcs = group.pcs;
    }
    if count > 1 {
        let all = at..at + rows * count;
        repeat(&mut columns.kinds[all.clone()], rows);
        repeat(&mut columns.sizes[all.clone()], rows);
        repeat(&mut columns.pcs[all], rows);
    }
}

/// Fills a column with copies of its first rows.
fn repeat<T: Copy>(column: &mut [T], rows: usize) {
    let mut done = rows;
    while done < column.len() {
        let (from, to) = column.split_at_mut(done);
        let next = done.min(to.len());
        to[..next].copy_from_slice(&from[..next]);
        done += next;
    }
}

/// Writes the addresses of the rows of `count` equal block records, a group at a time, as
/// [`write_one`] does.
#[inline(always)]
pub(super) fn write_addresses(
    groups: &[DescriptorGroup],
    found: &Descriptor,
    records: &mut [u64],
    count: usize,
    column: &mut [u64],
) {
    let (length, rows) = (usize::from(found.length), usize::from(found.rows));
    if count >= ROW_BY_ROW {
        return write_addresses_by_row(groups, found, &records[..2 * length * count], column);
    }
    for record in 0..count {
        let rest = &mut records[2 * length * record..];
        rest[1] = 0;
        let owned;
        let words: &[u64; WORDS_MOST] = match rest.first_chunk() {
            Some(words) => words,
            None => {
                owned = padded(rest);
                &owned
            }
        };
        let column = column[record * rows..].as_chunks_mut().0;
        for (group, column) in groups.iter().zip(column) {
            *column = std::array::from_fn::<u64, GROUP, _>(|lane| {
                let word = words[usize::from(group.operands[lane]) % WORDS_MOST];
                word.wrapping_add(group.displacements[lane])
            });
        }
    }
}

/// How many iterations a block record stands for; `None` if the number makes no sense.
#[inline(always)]
pub(super) fn iterations(
    repeats: LoopIterations,
    found: &Descriptor,
    record: &[u64],
) -> Option<usize> {
    let times = usize::try_from(*record.get(usize::from(repeats.times))?).ok()?;
    let rows = times.checked_mul(usize::from(found.rows))?;
    (times > 0 && rows <= ROWS_MOST).then_some(times)
}

/// How a block record stands for iterations, and for how many.
#[derive(Clone, Copy)]
pub(super) struct Repetition {
    pub repeats: LoopIterations,
    pub times: usize,
}

/// Writes the rows of a block record that stands for iterations of a loop. Its operands are those
/// of the last iteration; the addresses of the first are computed from them by the steps.
pub(super) fn write_repeated(
    descriptors: &Descriptors,
    found: &Descriptor,
    repetition: Repetition,
    record: &[u64; WORDS_MOST],
    at: usize,
    columns: &mut Columns<'_>,
) {
    const GROUPS: usize = REPEATED_EACH / GROUP;
    let Repetition { repeats, times } = repetition;
    let groups = descriptors.groups_of(found);
    write_code(groups, found.rows, times, at, columns);
    let first = repeats.step as usize;
    let steps = descriptors
        .steps
        .get(first..first + groups.len())
        .unwrap_or_default();
    let word = |place: u16| record[usize::from(place) % WORDS_MOST];
    let (mut addresses, mut moves) = ([[0; GROUP]; GROUPS], [[0; GROUP]; GROUPS]);
    for (index, (group, step)) in groups.iter().zip(steps).enumerate().take(GROUPS) {
        for lane in 0..GROUP {
            let by = word(step[lane].operand).wrapping_add(step[lane].displacement);
            let back = by.wrapping_mul(times as u64 - 1);
            let last = word(group.operands[lane]).wrapping_add(group.displacements[lane]);
            addresses[index][lane] = last.wrapping_sub(back);
            moves[index][lane] = by;
        }
    }
    let rows = usize::from(found.rows);
    for time in 0..times {
        let into = columns.addrs[at + time * rows..].as_chunks_mut().0;
        let now = addresses.iter_mut().zip(&moves).take(groups.len());
        for ((addresses, moves), into) in now.zip(into) {
            *into = *addresses;
            *addresses = std::array::from_fn(|lane| addresses[lane].wrapping_add(moves[lane]));
        }
    }
}

/// From this many equal block records on, going through them once for each of their rows is faster.
const ROW_BY_ROW: usize = 16;

/// As [`write_addresses`], but row by row: the first row of all block records, then the second, and
/// so on.
fn write_addresses_by_row(
    groups: &[DescriptorGroup],
    found: &Descriptor,
    records: &[u64],
    column: &mut [u64],
) {
    let (step, rows) = (2 * usize::from(found.length), usize::from(found.rows));
    for row in 0..rows {
        let (group, lane) = (&groups[row / GROUP], row % GROUP);
        let (word, displacement) = (usize::from(group.operands[lane]), group.displacements[lane]);
        let into = column[row..].iter_mut().step_by(rows);
        if word == usize::from(NO_WORD) {
            let count = records.len() / step;
            into.take(count).for_each(|to| *to = displacement);
            continue;
        }
        // No operand is after the last block record's end: descriptors are checked for that.
        let words = records[word.min(records.len())..].iter().step_by(step);
        for (to, word) in into.zip(words) {
            *to = word.wrapping_add(displacement);
        }
    }
}

/// Writes those rows of a descriptor whose conditions hold. Returns the row after them.
pub(super) fn write_conditional(
    descriptors: &Descriptors,
    found: &Descriptor,
    conditions: usize,
    words: &[u64; WORDS_MOST],
    mut at: usize,
    columns: &mut Columns<'_>,
) -> usize {
    let word = |place: u16| words[usize::from(place) % WORDS_MOST];
    for row in 0..usize::from(found.rows) {
        let group = &descriptors.groups[found.group as usize + row / GROUP];
        let lane = row % GROUP;
        let mut address = word(group.operands[lane]).wrapping_add(group.displacements[lane]);
        let mut size = group.sizes[lane];
        match descriptors.conditions[conditions + row] {
            Condition::Always => {}
            Condition::OneLane(place, bit) => {
                if word(place) >> bit & 1 == 0 {
                    continue;
                }
            }
            Condition::Lanes(place, lanes) => {
                let active = word(place) & (u64::MAX >> (64 - lanes));
                if active == 0 {
                    continue;
                }
                let first = active.trailing_zeros();
                let count = 64 - active.leading_zeros() - first;
                address = address.wrapping_add(u64::from(first) * u64::from(size));
                size = (u32::from(size) * count).min(255) as u8;
            }
        }
        columns.kinds[at] = group.kinds[lane];
        columns.sizes[at] = size;
        columns.pcs[at] = group.pcs[lane];
        columns.addrs[at] = address;
        at += 1;
    }
    at
}
