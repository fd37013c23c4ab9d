//! Words of shapes to touches.

use super::{GROUP, GROUPS, Group, Note, Notes, ROWS, ShapeDecoder};
use crate::formats::native::bytes::Damage;
use crate::formats::native::dispatch::Squeeze;
use crate::formats::native::rows::Streams;
use crate::formats::native::touch_rows::Touching;
use crate::shaped::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow};
use crate::{Kind, Row, Wish};

/// What is known of a shape of which rows are to become touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Accesses that count, and nothing else that matters.
    Accesses,
    /// All rows: there are some that are to be looked at by themselves.
    All,
}

/// Leaves of a shape's rows the accesses that count, if no others matter.
pub(super) fn leave(rows: &mut Vec<ShapeRow>, wish: &Wish) -> Left {
    let plain = |kind| {
        matches!(
            kind,
            Kind::Load
                | Kind::Store
                | Kind::Atomic
                | Kind::Enter
                | Kind::Exit
                | Kind::Statement
                | Kind::BasicBlock
                | Kind::Operand
        )
    };
    // An operand that comes first is of a row before the shape.
    let starts = rows.first().is_some_and(|row| row.kind != Kind::Operand);
    if !starts || !rows.iter().all(|row| plain(row.kind)) {
        return Left::All;
    }
    rows.retain(|row| wish.counts(row.kind));
    Left::Accesses
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
        for note in &self.notes {
            let first = note.first_group as usize;
            let words = self.values[note.first_word as usize..].first_chunk();
            let groups = self.groups.get(first..);
            let (Some(words), Some(groups)) = (words, groups) else {
                return Err(ROWS);
            };
            if note.all || !to.toucher.starts_plain(to.out) {
                by_row(groups, words, note, to);
            } else {
                touch(groups, words, note, to);
            }
        }
        Ok(())
    }
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
    let count = usize::from(note.touches);
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
    for access in 0..usize::from(note.touches) {
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
    let mut left = usize::from(note.touches);
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
