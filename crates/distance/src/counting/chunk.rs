//! [`Chunk`]: the bits of 256 Ki steps of the time axis, with counts over them at three levels.
//! [`live_bits`](super::live_bits) puts the axis together of chunks.

use reuselens_hugepages::Zeroable;

/// Steps per line of the bitmap: 8 words, one cache line.
pub(super) const LINE: u32 = 9;
/// Steps per group of 32 lines.
const GROUP: u32 = LINE + 5;
/// Steps per chunk of 16 groups.
pub(super) const CHUNK: u32 = GROUP + 4;

/// Row `part` masks the parts after `part` of a block. The last row is all ones and never used:
/// without it the compiler sees that the first column is 0, leaves it out, and splits vectors
/// unevenly.
#[repr(align(64))]
struct MaskAfter<T>([[T; 32]; 33]);

macro_rules! after {
    ($type:ty) => {{
        let mut rows = [[<$type>::MAX; 32]; 33];
        let mut index = 0;
        while index < 32 * 32 {
            if index % 32 <= index / 32 {
                rows[index / 32][index % 32] = 0;
            }
            index += 1;
        }
        MaskAfter(rows)
    }};
}

/// The same for the eight words of a line.
#[repr(align(16))]
struct MaskAfterWord([[u16; 8]; 9]);

static AFTER_WORD: MaskAfterWord = {
    let mut rows = [[u16::MAX; 8]; 9];
    let mut index = 0;
    while index < 8 * 8 {
        if index % 8 <= index / 8 {
            rows[index / 8][index % 8] = 0;
        }
        index += 1;
    }
    MaskAfterWord(rows)
};
static AFTER_16: MaskAfter<u16> = after!(u16);
static AFTER_32: MaskAfter<u32> = after!(u32);

/// Adds `count` to those of `parts` that come after `part`. The mask is copied before the sum is
/// made: then this is a few vector instructions, and no branch depends on `part`.
#[inline(always)]
fn add_after_16(parts: &mut [u16; 32], part: usize, count: u16) {
    let mask = AFTER_16.0[part % 32];
    for (before, mask) in parts.iter_mut().zip(mask) {
        *before = before.wrapping_add(count & mask);
    }
}

/// The same for wider counts.
#[inline(always)]
pub(super) fn add_after_32<const N: usize>(parts: &mut [u32; N], part: usize, count: u32) {
    let mask = AFTER_32.0[part % 32];
    for (before, mask) in parts.iter_mut().zip(mask) {
        *before = before.wrapping_add(count & mask);
    }
}

/// The bits of 256 Ki steps, and counts over them at three levels.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Chunk {
    pub(super) words: [u64; 1 << (CHUNK - 6)],
    /// Per line, for each of its words: the live steps in the words before it.
    pub(super) lines: [[u16; 8]; 1 << (CHUNK - LINE)],
    /// Per group, for each of its lines: the live steps in the lines before it.
    groups: [[u16; 32]; 16],
    /// For each group: the live steps in the groups before it.
    parts: [u32; 16],
}

// SAFETY: plain numbers, of which all are valid.
unsafe impl Zeroable for Chunk {}

impl Chunk {
    /// The live steps before `step` in this chunk.
    #[inline(always)]
    pub(super) fn rank(&self, step: usize) -> u64 {
        let word = step >> 6;
        let below = self.words[word % self.words.len()] & !(u64::MAX << (step & 63));
        let in_line = self.lines.as_flattened()[word % self.words.len()];
        let group = (step >> GROUP) % 16;
        let in_group = self.groups[group][(step >> LINE) % 32];
        u64::from(below.count_ones())
            + u64::from(in_line)
            + u64::from(in_group)
            + u64::from(self.parts[group])
    }

    #[inline(always)]
    pub(super) fn word(&mut self, step: usize) -> &mut u64 {
        &mut self.words[(step >> 6) % (1 << (CHUNK - 6))]
    }

    /// Adds `count` (which may be negative: arithmetic wraps) live steps in the word of `step` to
    /// all parts after it in its line, group and chunk.
    #[inline(always)]
    pub(super) fn count(&mut self, step: usize, count: u64) {
        let line = &mut self.lines[(step >> LINE) % (1 << (CHUNK - LINE))];
        let mask = AFTER_WORD.0[(step >> 6) & 7];
        for (before, mask) in line.iter_mut().zip(mask) {
            *before = before.wrapping_add(count as u16 & mask);
        }
        let group = (step >> GROUP) % 16;
        add_after_16(&mut self.groups[group], step >> LINE, count as u16);
        add_after_32(&mut self.parts, group, count as u32);
    }

    /// Sets the bits of exactly those steps that are below `end` (steps of this chunk).
    pub(super) fn fill(&mut self, end: u64) {
        let before = |step: u64, log2: u32| step.min(end) - (step >> log2 << log2).min(end);
        for (start, word) in (0_u64..).step_by(64).zip(&mut self.words) {
            let set = end.saturating_sub(start).min(64);
            *word = if set == 64 {
                u64::MAX
            } else {
                !(u64::MAX << set)
            };
        }
        for (start, line) in (0_u64..).step_by(1 << LINE).zip(&mut self.lines) {
            *line = std::array::from_fn(|word| before(start + ((word as u64) << 6), LINE) as u16);
        }
        for (start, line) in (0_u64..)
            .step_by(1 << LINE)
            .zip(self.groups.as_flattened_mut())
        {
            *line = before(start, GROUP) as u16;
        }
        for (start, part) in (0_u64..).step_by(1 << GROUP).zip(&mut self.parts) {
            *part = before(start, CHUNK) as u32;
        }
    }
}
