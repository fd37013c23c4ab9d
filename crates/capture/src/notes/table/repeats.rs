//! Notes that stand for many times round a loop.

use reuselens_wire::NO_WORD;

use super::{Descriptor, GROUP, Table};

const TIMES: u8 = 0x42;
const STEP: u8 = 0x43;

/// Rows of one time round a loop, at most.
pub(in super::super) const REPEATED_EACH: usize = 64;

/// How a row's address moves, where one note stands for many times round a loop: by a word, if
/// there is one, and a displacement. A row that stays where it is has neither.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Step {
    pub word: u16,
    pub displacement: u64,
}

/// A note that stands for many times round a loop. Its words are those of the last time.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Repeats {
    /// The place of the word that says how many times.
    pub times: u16,
    /// The first of its steps, whole groups of them.
    pub step: u32,
}

/// Whether an entry says something of what is repeated.
pub(super) fn is_repetition(kind: u8) -> bool {
    matches!(kind, TIMES | STEP)
}

/// What a descriptor's entries say of that.
#[derive(Default)]
pub(super) struct Repeating {
    times: Option<u16>,
    /// By row the word and the displacement that its address moves by.
    steps: Vec<(usize, u16, u64)>,
}

impl Repeating {
    /// Takes an entry behind so many rows; `None` if it makes no sense there.
    pub(super) fn take(
        &mut self,
        kind: u8,
        place: u16,
        displacement: u64,
        rows: usize,
    ) -> Option<()> {
        if kind == TIMES {
            self.times = Some(place);
        } else {
            self.steps.push((rows.checked_sub(1)?, place, displacement));
        }
        Some(())
    }
}

impl Table {
    /// What a descriptor's notes repeat, if that is known.
    #[inline(always)]
    pub(in super::super) fn repeats_of(&self, of: &Descriptor) -> Option<Repeats> {
        self.repeats.get(of.repeats? as usize).copied()
    }

    /// Adds what a descriptor of so many rows repeats. The place of that, `Some(None)` if it
    /// repeats nothing, or `None` if it makes no sense: rows that may not be there are not
    /// repeated.
    pub(super) fn add_repeats(
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
        let none = Step {
            word: NO_WORD,
            displacement: 0,
        };
        self.steps
            .resize(step + rows.div_ceil(GROUP), [none; GROUP]);
        for &(row, word, displacement) in &repeating.steps {
            self.steps[step + row / GROUP][row % GROUP] = Step { word, displacement };
        }
        self.repeats.push(Repeats {
            times,
            step: step as u32,
        });
        Some(Some(self.repeats.len() as u32 - 1))
    }
}
