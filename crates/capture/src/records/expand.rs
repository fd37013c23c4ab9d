//! Rows from what a note says and what its descriptor knows: one note, the same note many times
//! over, and rows that may not be there.

use reuselens_trace::Columns;
use reuselens_wire::NO_WORD;

use super::WORDS;
use super::descriptors::{
    Condition, Descriptor, GROUP, Group, REPEATED_EACH, ROWS_MOST, Repeats, Table,
};

/// The last note of a stretch, and nothing behind it.
#[cold]
pub(super) fn last(rest: &[u64]) -> [u64; WORDS] {
    std::array::from_fn(|index| rest.get(index).copied().unwrap_or(0))
}

/// Writes the rows of one note, whole groups at a time: what is too much is written over, or taken
/// off at the end.
#[inline(always)]
pub(super) fn one(groups: &[Group], note: &[u64; WORDS], mut at: usize, columns: &mut Columns<'_>) {
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
            let word = note[usize::from(group.words[lane]) % WORDS];
            word.wrapping_add(group.displacements[lane])
        });
        at += GROUP;
    }
}

/// Writes the rows' kinds, sizes and program counters: those of one note, and then over and over
/// again.
#[inline(always)]
pub(super) fn code(
    groups: &[Group],
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

/// Fills a column with its first rows.
fn repeat<T: Copy>(column: &mut [T], rows: usize) {
    let mut done = rows;
    while done < column.len() {
        let (from, to) = column.split_at_mut(done);
        let next = done.min(to.len());
        to[..next].copy_from_slice(&from[..next]);
        done += next;
    }
}

/// Writes the addresses of the rows of `count` notes, whole groups at a time: what is too much is
/// written over, or taken off at the end.
#[inline(always)]
pub(super) fn addresses(
    groups: &[Group],
    found: &Descriptor,
    notes: &mut [u64],
    count: usize,
    column: &mut [u64],
) {
    let (length, rows) = (usize::from(found.records), usize::from(found.rows));
    if count >= ROW_BY_ROW {
        return addresses_by_row(groups, found, &notes[..2 * length * count], column);
    }
    for note in 0..count {
        let rest = &mut notes[2 * length * note..];
        rest[1] = 0;
        let padded;
        let words: &[u64; WORDS] = match rest.first_chunk() {
            Some(words) => words,
            None => {
                padded = last(rest);
                &padded
            }
        };
        let column = column[note * rows..].as_chunks_mut().0;
        for (group, column) in groups.iter().zip(column) {
            *column = std::array::from_fn::<u64, GROUP, _>(|lane| {
                let word = words[usize::from(group.words[lane]) % WORDS];
                word.wrapping_add(group.displacements[lane])
            });
        }
    }
}

/// How many times a note stands for the rows of its descriptor; `None` if that makes no sense.
#[inline(always)]
pub(super) fn times(repeats: Repeats, found: &Descriptor, note: &[u64]) -> Option<usize> {
    let times = usize::try_from(*note.get(usize::from(repeats.times))?).ok()?;
    let rows = times.checked_mul(usize::from(found.rows))?;
    (times > 0 && rows <= ROWS_MOST).then_some(times)
}

/// Writes the rows of a note that stands for so many times: its words are of the last one. What is
/// too much is written over, or taken off at the end.
pub(super) fn repeated(
    table: &Table,
    (found, repeats, times): (&Descriptor, Repeats, usize),
    note: &[u64; WORDS],
    at: usize,
    columns: &mut Columns<'_>,
) {
    const GROUPS: usize = REPEATED_EACH / GROUP;
    let groups = table.groups_of(found);
    code(groups, found.rows, times, at, columns);
    let first = repeats.step as usize;
    let steps = table
        .steps
        .get(first..first + groups.len())
        .unwrap_or_default();
    let word = |place: u16| note[usize::from(place) % WORDS];
    let (mut addresses, mut moves) = ([[0; GROUP]; GROUPS], [[0; GROUP]; GROUPS]);
    for (index, (group, step)) in groups.iter().zip(steps).enumerate().take(GROUPS) {
        for lane in 0..GROUP {
            let by = word(step[lane].word).wrapping_add(step[lane].displacement);
            let back = by.wrapping_mul(times as u64 - 1);
            let last = word(group.words[lane]).wrapping_add(group.displacements[lane]);
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

/// So many equal notes are worth going through once for each of their rows.
const ROW_BY_ROW: usize = 16;

/// The same for many equal notes: all first rows, all second rows and so on.
fn addresses_by_row(groups: &[Group], found: &Descriptor, notes: &[u64], column: &mut [u64]) {
    let (step, rows) = (2 * usize::from(found.records), usize::from(found.rows));
    for row in 0..rows {
        let (group, lane) = (&groups[row / GROUP], row % GROUP);
        let (word, displacement) = (usize::from(group.words[lane]), group.displacements[lane]);
        let into = column[row..].iter_mut().step_by(rows);
        if word == usize::from(NO_WORD) {
            let count = notes.len() / step;
            into.take(count).for_each(|to| *to = displacement);
            continue;
        }
        // A word behind the last note's end is not there: descriptors are checked for that.
        let words = notes[word.min(notes.len())..].iter().step_by(step);
        for (to, word) in into.zip(words) {
            *to = word.wrapping_add(displacement);
        }
    }
}

/// Those rows of a descriptor whose conditions hold.
pub(super) fn some(
    table: &Table,
    found: &Descriptor,
    conditions: usize,
    words: &[u64; WORDS],
    mut at: usize,
    columns: &mut Columns<'_>,
) -> usize {
    let word = |place: u16| words[usize::from(place) % WORDS];
    for row in 0..usize::from(found.rows) {
        let group = &table.groups[found.group as usize + row / GROUP];
        let lane = row % GROUP;
        let mut address = word(group.words[lane]).wrapping_add(group.displacements[lane]);
        let mut size = group.sizes[lane];
        match table.conditions[conditions + row] {
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
