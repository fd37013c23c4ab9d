//! Rows of shapes, some at a time: all that is needed of them but the words.

use reuselens_trace::{Columns, Kind};
use reuselens_trace::{SHAPE_WORDS_MOST, ShapeRow};

/// Rows are written so many at a time.
pub(super) const GROUP: usize = 4;
/// Groups that are written in any case: as many as most shapes of a source have.
pub(super) const GROUPS: usize = 2;
/// Rows as words complete them.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) pcs: [u64; GROUP],
    pub(super) displacements: [u64; GROUP],
    /// All ones for rows that have a word, or 0.
    pub(super) masks: [u64; GROUP],
    pub(super) kinds: [Kind; GROUP],
    pub(super) sizes: [u8; GROUP],
    pub(super) words: [u8; GROUP],
}

pub(super) const NO_GROUP: Group = Group {
    pcs: [0; GROUP],
    displacements: [0; GROUP],
    masks: [0; GROUP],
    kinds: [Kind::Load; GROUP],
    sizes: [0; GROUP],
    words: [0; GROUP],
};

impl Group {
    /// Some rows; what is too much is anything.
    pub(super) fn of(rows: &[ShapeRow]) -> Group {
        let row = |lane: usize| rows.get(lane).unwrap_or(&rows[0]);
        Group {
            pcs: std::array::from_fn(|lane| row(lane).pc),
            displacements: std::array::from_fn(|lane| row(lane).displacement),
            masks: std::array::from_fn(|lane| u64::from(row(lane).word.is_some()).wrapping_neg()),
            kinds: std::array::from_fn(|lane| row(lane).kind),
            sizes: std::array::from_fn(|lane| row(lane).size),
            words: std::array::from_fn(|lane| row(lane).word.unwrap_or(0)),
        }
    }

    /// Their addresses.
    #[inline(always)]
    pub(super) fn addrs(&self, words: &[u64; SHAPE_WORDS_MOST]) -> [u64; GROUP] {
        std::array::from_fn(|lane| {
            let word = words[usize::from(self.words[lane]) % SHAPE_WORDS_MOST];
            (word & self.masks[lane]).wrapping_add(self.displacements[lane])
        })
    }
}

/// Writes the rows of a note, whole groups at a time: what is too much is written over, or taken
/// off at the end.
#[inline(always)]
pub(super) fn fill(
    groups: &[Group],
    words: &[u64; SHAPE_WORDS_MOST],
    at: usize,
    columns: &mut Columns<'_>,
) {
    let kinds = columns.kinds[at..].as_chunks_mut::<GROUP>().0;
    let sizes = columns.sizes[at..].as_chunks_mut::<GROUP>().0;
    let pcs = columns.pcs[at..].as_chunks_mut::<GROUP>().0;
    let addrs = columns.addrs[at..].as_chunks_mut::<GROUP>().0;
    let into = kinds.iter_mut().zip(sizes).zip(pcs).zip(addrs);
    for (group, (((kinds, sizes), pcs), addrs)) in groups.iter().zip(into) {
        *kinds = group.kinds;
        *sizes = group.sizes;
        *pcs = group.pcs;
        *addrs = group.addrs(words);
    }
}
