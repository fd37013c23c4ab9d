//! Words of shapes to touches.

use super::{GROUP, GROUPS, Group, Note, Notes, ROWS, ShapeDecoder};
use crate::decode_rows::Streams;
use crate::processor::Processor;
use crate::row_classifier::Touching;
use crate::templates::is_plain;
use reuselens_io::varint::Damage;
use reuselens_trace::{ItemProjection, Kind, Row};
use reuselens_trace::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow};

/// What is known of a shape of which rows are to become touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Left {
    /// Accesses that count, and nothing else that matters. They are in [`Eight`]s too.
    Plain,
    /// All rows, and those that become touches are in [`Eight`]s too: accesses, some of them to
    /// ranges.
    Mixed,
    /// The same, but what becomes touches is what the program names.
    Named,
    /// All rows: there are some that are to be looked at by themselves.
    #[default]
    All,
}

/// Accesses that are taken together.
const EIGHT: usize = 8;
/// The most words from which those for eight accesses are taken at once.
pub(in super::super) const FEW_WORDS: usize = 16;

/// Some accesses of a shape, as words complete them.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(in super::super) struct Eight {
    pub(in super::super) displacements: [u64; EIGHT],
    /// Which word each is relative to.
    pub(in super::super) words: [u8; EIGHT],
    pub(in super::super) sizes: [u8; EIGHT],
    /// Which word is the size of those that are to ranges of any length.
    pub(in super::super) lengths: [u8; EIGHT],
    /// A bit for each that has a word.
    pub(in super::super) relative: u8,
    /// A bit for each that is to a range of any length.
    pub(in super::super) variable: u8,
    /// Whether all of them are among the first [`FEW_WORDS`].
    pub(in super::super) few_words: bool,
    /// How many accesses of the shape there are from here on.
    pub(in super::super) accesses: u16,
}

pub(super) const NO_EIGHT: Eight = Eight {
    displacements: [0; EIGHT],
    words: [0; EIGHT],
    sizes: [0; EIGHT],
    lengths: [0; EIGHT],
    relative: 0,
    variable: 0,
    few_words: true,
    accesses: 0,
};

/// A row of a shape that becomes a touch.
#[derive(Clone, Copy)]
struct Access {
    word: Option<u8>,
    displacement: u64,
    size: Size,
}

/// How many bytes an access is to.
#[derive(Clone, Copy)]
enum Size {
    Bytes(u8),
    /// As many as that word says.
    Word(u8),
}

impl Eight {
    /// Up to eight accesses. What is too much touches nothing.
    fn of(accesses: &[Access]) -> Eight {
        let mut eight = NO_EIGHT;
        for (lane, access) in accesses.iter().enumerate().take(EIGHT) {
            eight.displacements[lane] = access.displacement;
            eight.words[lane] = access.word.unwrap_or(0);
            eight.relative |= u8::from(access.word.is_some()) << lane;
            match access.size {
                Size::Bytes(bytes) => eight.sizes[lane] = bytes,
                Size::Word(word) => {
                    eight.lengths[lane] = word;
                    eight.variable |= 1 << lane;
                }
            }
        }
        let mut words = eight.words.iter().chain(&eight.lengths);
        eight.few_words = words.all(|word| usize::from(*word) < FEW_WORDS);
        eight.accesses = accesses.len() as u16;
        eight
    }
}

/// What is left of a shape's rows, and where its accesses begin. `rows` become the accesses that
/// count if no others matter.
pub(super) fn enter(
    eights: &mut Vec<Eight>,
    rows: &mut Vec<ShapeRow>,
    projection: &ItemProjection,
) -> (Left, u32) {
    let first = eights.len() - 1;
    // An operand that comes first is of a row before the shape.
    let starts = rows.first().is_some_and(|row| row.kind != Kind::Operand);
    let plain = starts && rows.iter().all(|row| is_plain(row.kind));
    if plain {
        rows.retain(|row| projection.counts(row.kind));
    }
    let found = starts.then(|| accesses(rows, projection)).flatten();
    let left = match &found {
        Some(_) if plain => Left::Plain,
        Some((_, true)) => Left::Named,
        Some((_, false)) => Left::Mixed,
        None => Left::All,
    };
    if let Some((accesses, _)) = found {
        eights.truncate(first);
        // One without any has the first, which says so.
        for at in (0..accesses.len().max(1)).step_by(EIGHT) {
            eights.push(Eight::of(&accesses[at..]));
        }
        eights.push(NO_EIGHT);
    }
    (left, first as u32)
}

/// The rows of a shape that become touches, and whether they are what the program names. `None` if
/// there are rows that are to be looked at by themselves.
fn accesses(rows: &[ShapeRow], projection: &ItemProjection) -> Option<(Vec<Access>, bool)> {
    let (mut found, mut named, mut seen) = (Vec::new(), false, false);
    let mut rows = rows.iter().peekable();
    while let Some(row) = rows.next() {
        let mut operand = || rows.next_if(|next| next.kind == Kind::Operand);
        let size = match row.kind {
            Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock | Kind::Operand => {
                continue;
            }
            Kind::Load | Kind::Store | Kind::Atomic if !projection.counts(row.kind) => continue,
            Kind::Load | Kind::Store | Kind::Atomic => Size::Bytes(row.size),
            Kind::RangeLoad | Kind::RangeStore if projection.counts(row.kind) => {
                length(operand()?)?
            }
            Kind::Named => {
                operand()?;
                named = true;
                Size::Bytes(0)
            }
            _ => return None,
        };
        seen |= row.kind != Kind::Named;
        found.push(Access {
            word: row.word,
            displacement: row.displacement,
            size,
        });
    }
    (!(named && seen)).then_some((found, named))
}

/// How many bytes a range has, if it is a word or few.
fn length(operand: &ShapeRow) -> Option<Size> {
    match (operand.word, operand.displacement) {
        (Some(word), 0) => Some(Size::Word(word)),
        (None, bytes @ 1..=255) => Some(Size::Bytes(bytes as u8)),
        _ => None,
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
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        notes: Notes,
        to: &mut Touching<'_, false>,
    ) -> Result<(), Damage> {
        self.read(squeeze, streams, notes)?;
        // Whether it is known that operands that come next are of nothing before.
        let mut closed = false;
        for note in &self.notes {
            let words = self.values.get(note.first_word as usize..);
            let words: Option<&[u64; SHAPE_WORDS_MOST]> = words.and_then(<[u64]>::first_chunk);
            let eights = self.eights.get(note.first_eight as usize..);
            let groups = self.groups.get(note.first_group as usize..);
            let (Some(words), Some(eights), Some(groups)) = (words, eights, groups) else {
                return Err(ROWS);
            };
            if !closed && note.left != Left::All {
                to.toucher.starts(to.out);
                closed = true;
            }
            let takes = match note.left {
                Left::Plain | Left::Mixed => !to.toucher.is_by_name(),
                Left::Named => to.toucher.takes_names(),
                Left::All => false,
            };
            if takes && accesses_of(squeeze, eights, words, to) {
                continue;
            }
            by_row(groups, words, note, to);
            closed = false;
        }
        Ok(())
    }
}

/// Takes the accesses of a note, eight at a time; whether each of them is to one item, and nothing
/// is taken if not. There is room for all of them then.
#[inline(always)]
fn accesses_of(
    squeeze: impl Processor,
    eights: &[Eight],
    words: &[u64; SHAPE_WORDS_MOST],
    to: &mut Touching<'_, false>,
) -> bool {
    to.toucher.make_room(to.out);
    let (free, mask) = to.toucher.free();
    let (into, _) = free.as_chunks_mut::<EIGHT>();
    let (Some(eight), Some(first)) = (eights.first(), into.first_mut()) else {
        return false;
    };
    let count = usize::from(eight.accesses);
    let mut fits = complete(squeeze, eight, words, mask, first);
    let others = count.div_ceil(EIGHT).max(1);
    let (Some(eights), Some(into)) = (eights.get(1..others), into.get_mut(1..others)) else {
        return false;
    };
    // Not by `skip`: what is called there is not compiled for the processor at hand.
    for (eight, into) in eights.iter().zip(into) {
        fits &= complete(squeeze, eight, words, mask, into);
    }
    to.toucher.append(if fits { count } else { 0 });
    fits
}

/// [`Processor::complete`], but for accesses that are relative to many words.
#[inline(always)]
fn complete(
    squeeze: impl Processor,
    eight: &Eight,
    words: &[u64; SHAPE_WORDS_MOST],
    mask: u64,
    into: &mut [u64; EIGHT],
) -> bool {
    match words.first_chunk() {
        Some(few) if eight.few_words => squeeze.complete(eight, few, mask, into),
        _ => completed(eight, words, mask, into),
    }
}

/// The addresses of some accesses, relative to `words`. Whether each is in one item, and to a byte
/// at least if it is to a range; of an item `mask` are the bits below it.
#[inline(always)]
pub(in super::super) fn completed<const WORDS: usize>(
    of: &Eight,
    words: &[u64; WORDS],
    mask: u64,
    into: &mut [u64; EIGHT],
) -> bool {
    let mut odd = 0;
    let word = |of: u8| words[usize::from(of) % WORDS];
    for (lane, addr) in into.iter_mut().enumerate() {
        let relative = u64::from(of.relative >> lane & 1).wrapping_neg();
        *addr = (word(of.words[lane]) & relative).wrapping_add(of.displacements[lane]);
        odd |= u64::from(u64::from(of.sizes[lane]) > mask + 1 - (*addr & mask));
    }
    let mut variable = of.variable;
    while variable != 0 {
        let lane = variable.trailing_zeros() as usize;
        variable &= variable - 1;
        let bytes = word(of.lengths[lane]);
        // Nothing comes round, whatever the length is.
        odd |= u64::from(bytes.wrapping_sub(1) >= mask + 1 - (into[lane] & mask));
    }
    odd == 0
}

/// Takes the rows of a note one by one.
#[inline(never)]
fn by_row(
    groups: &[Group],
    words: &[u64; SHAPE_WORDS_MOST],
    note: &Note,
    to: &mut Touching<'_, false>,
) {
    to.toucher.make_room(to.out);
    let mut left = usize::from(note.rows);
    for group in groups {
        let addrs = group.addrs(words);
        for (lane, addr) in addrs.into_iter().enumerate().take(left) {
            let simple = to.toucher.takes(group.kinds[lane])
                && to.toucher.push_simple(addr, group.sizes[lane]);
            if !simple {
                to.toucher.row(group.row(lane, addr), to.out);
            }
        }
        left = left.saturating_sub(GROUP);
        if left == 0 {
            return;
        }
    }
}

/// The most touches of a note, and what is written beyond, fit into the room that is made for them.
const _: () = assert!(SHAPE_ROWS_MOST + GROUPS * GROUP <= crate::item_extractor::AT_ONCE);
