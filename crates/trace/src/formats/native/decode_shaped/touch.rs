//! Words of shapes to touches.

use super::{GROUP, GROUPS, Group, Note, Notes, ROWS, ShapeDecoder};
use crate::formats::native::bytes::Damage;
use crate::formats::native::dispatch::Squeeze;
use crate::formats::native::rows::Streams;
use crate::formats::native::shapes::is_plain;
use crate::formats::native::touch_rows::Touching;
use crate::shaped::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow};
use crate::{Kind, Row, Wish};

/// What is known of a shape of which rows are to become touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Left {
    /// Accesses that count, and nothing else that matters, relative to few words: they are in [`Eight`]s.
    Few,
    /// The same, relative to any words.
    Accesses,
    /// All rows: there are some that are to be looked at by themselves.
    #[default]
    All,
}

/// Accesses that are taken together.
const EIGHT: usize = 8;

/// Some accesses of a shape, as words complete them.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(in super::super) struct Eight {
    pub(in super::super) displacements: [u64; EIGHT],
    /// Which word each is relative to.
    pub(in super::super) words: [u8; EIGHT],
    pub(in super::super) sizes: [u8; EIGHT],
    /// A bit for each that has a word.
    pub(in super::super) relative: u8,
}

pub(super) const NO_EIGHT: Eight = Eight {
    displacements: [0; EIGHT],
    words: [0; EIGHT],
    sizes: [0; EIGHT],
    relative: 0,
};

impl Eight {
    /// Up to eight accesses. What is too much touches nothing.
    fn of(rows: &[ShapeRow]) -> Eight {
        let mut eight = NO_EIGHT;
        for (lane, row) in rows.iter().enumerate().take(EIGHT) {
            eight.displacements[lane] = row.displacement;
            eight.words[lane] = row.word.unwrap_or(0) % EIGHT as u8;
            eight.sizes[lane] = row.size;
            eight.relative |= u8::from(row.word.is_some()) << lane;
        }
        eight
    }
}

/// Adds the accesses of a shape, if they are to be there; where they begin.
pub(super) fn enter(eights: &mut Vec<Eight>, rows: &[ShapeRow], left: Left) -> u32 {
    let first = eights.len() - 1;
    if left == Left::Few {
        eights.truncate(first);
        eights.extend(rows.chunks(EIGHT).map(Eight::of));
        eights.push(NO_EIGHT);
    }
    first as u32
}

/// Leaves of a shape's rows the accesses that count, if no others matter.
pub(super) fn leave(rows: &mut Vec<ShapeRow>, words: usize, wish: &Wish) -> Left {
    // An operand that comes first is of a row before the shape.
    let starts = rows.first().is_some_and(|row| row.kind != Kind::Operand);
    if !starts || !rows.iter().all(|row| is_plain(row.kind)) {
        return Left::All;
    }
    rows.retain(|row| wish.counts(row.kind));
    if words <= EIGHT {
        Left::Few
    } else {
        Left::Accesses
    }
}

impl Group {
    /// A row at an address.
    #[inline(always)]
    fn row(&self, lane: usize, addr: u64) -> Row {
        Row {
            kind: self.kinds[lane],
            size: self.sizes[lane],
            pc: self.pcs[lane],
            addr,
        }
    }
}

impl ShapeDecoder {
    /// Makes touches of the notes of a block.
    #[inline(always)]
    pub(in super::super) fn touch_here(
        &mut self,
        squeeze: impl Squeeze,
        streams: &mut Streams<'_>,
        notes: Notes,
        to: &mut Touching<'_, false>,
    ) -> Result<(), Damage> {
        self.read(squeeze, streams, notes)?;
        // Whether it is known that plain accesses become touches. An operand that comes first may be of a row before.
        let mut plain = false;
        for note in &self.notes {
            let words = self.values.get(note.first_word as usize..);
            let words: Option<&[u64; SHAPE_WORDS_MOST]> = words.and_then(<[u64]>::first_chunk);
            let eights = self.eights.get(note.first_eight as usize..);
            let groups = self.groups.get(note.first_group as usize..);
            let (Some(words), Some(eights), Some(groups)) = (words, eights, groups) else {
                return Err(ROWS);
            };
            plain = plain || note.left != Left::All && to.toucher.starts_plain(to.out);
            match note.left {
                Left::Few if plain && few(squeeze, eights, words, note, to) => continue,
                Left::Few if plain => by_item(groups, words, note, to),
                Left::Accesses if plain => touch(groups, words, note, to),
                _ => by_row(groups, words, note, to),
            }
            plain = false;
        }
        Ok(())
    }
}

/// Takes the accesses of a note eight at a time; whether each of them is to one item, and nothing is taken if not. There is room for
/// all of them then.
#[inline(always)]
fn few(
    squeeze: impl Squeeze,
    eights: &[Eight],
    words: &[u64; SHAPE_WORDS_MOST],
    note: &Note,
    to: &mut Touching<'_, false>,
) -> bool {
    to.toucher.make_room(to.out);
    let (free, mask) = to.toucher.free();
    let count = usize::from(note.rows);
    let (into, _) = free.as_chunks_mut::<EIGHT>();
    let words = words.first_chunk();
    let (Some(words), Some(eight), Some(first)) = (words, eights.first(), into.first_mut()) else {
        return false;
    };
    let mut fits = squeeze.complete(eight, words, mask, first);
    if count > EIGHT {
        for (eight, into) in eights[..count.div_ceil(EIGHT)].iter().zip(into).skip(1) {
            fits &= squeeze.complete(eight, words, mask, into);
        }
    }
    to.toucher.append(if fits { count } else { 0 });
    fits
}

/// Takes the accesses of a note, whole groups at a time.
#[inline(always)]
fn touch(
    groups: &[Group],
    words: &[u64; SHAPE_WORDS_MOST],
    note: &Note,
    to: &mut Touching<'_, false>,
) {
    to.toucher.make_room(to.out);
    let (free, mask) = to.toucher.free();
    let count = usize::from(note.rows);
    let mut odd = 0;
    if let Some(few) = groups.first_chunk::<GROUPS>() {
        odd |= fill(few, words, free, mask);
    }
    if count > GROUPS * GROUP {
        let groups = &groups[GROUPS..count.div_ceil(GROUP)];
        odd |= fill(groups, words, &mut free[GROUPS * GROUP..], mask);
    }
    if odd == 0 {
        to.toucher.append(count);
    } else {
        by_item(groups, words, note, to);
    }
}

/// Writes the addresses of groups; not 0 if one of them is of more than an item.
#[inline(always)]
fn fill(groups: &[Group], words: &[u64; SHAPE_WORDS_MOST], into: &mut [u64], mask: u64) -> u8 {
    let mut odd = 0;
    for (group, into) in groups.iter().zip(into.as_chunks_mut::<GROUP>().0) {
        *into = group.addrs(words);
        for (addr, size) in into.iter().zip(group.sizes) {
            odd |= u8::from((addr & mask) + u64::from(size) > mask + 1);
        }
    }
    odd
}

/// Takes the accesses of a note one by one: some are to several items.
#[inline(never)]
fn by_item(
    groups: &[Group],
    words: &[u64; SHAPE_WORDS_MOST],
    note: &Note,
    to: &mut Touching<'_, false>,
) {
    for access in 0..usize::from(note.rows) {
        let (group, lane) = (&groups[access / GROUP], access % GROUP);
        let addr = group.addrs(words)[lane];
        if !to.toucher.push_simple(addr, group.sizes[lane]) {
            to.toucher.row(group.row(lane, addr), to.out);
        }
    }
}

/// Takes the rows of a note one by one.
#[inline(never)]
fn by_row(
    groups: &[Group],
    words: &[u64; SHAPE_WORDS_MOST],
    note: &Note,
    to: &mut Touching<'_, false>,
) {
    let mut left = usize::from(note.rows);
    for group in groups {
        let addrs = group.addrs(words);
        for (lane, addr) in addrs.into_iter().enumerate().take(left) {
            to.toucher.row(group.row(lane, addr), to.out);
        }
        left = left.saturating_sub(GROUP);
        if left == 0 {
            return;
        }
    }
}

/// The most touches of a note, and what is written beyond, fit into the room that is made for them.
const _: () =
    assert!(SHAPE_ROWS_MOST + GROUPS * GROUP <= crate::formats::native::touching::AT_ONCE);
