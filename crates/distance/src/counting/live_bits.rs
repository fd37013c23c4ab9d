//! The time axis: one bit per step, set if that step is still the last access to its item, and counts
//! over it.

use crate::prefetch::prefetch;

/// Steps per line of the bitmap: 8 words, one cache line.
const LINE: u32 = 9;
/// Steps per group of 32 lines.
const GROUP: u32 = LINE + 5;
/// Steps per chunk of 16 groups.
const CHUNK: u32 = GROUP + 4;
/// Steps per region of 32 chunks.
const REGION: u32 = CHUNK + 5;

/// A field of nine bits for each word of a line but the first.
const FIELDS: u64 = 0x0040_2010_0804_0201;
/// The shortest axis.
const SHORTEST: u64 = 1 << 15;

/// Bits with counts at five levels. Each count says how many live steps its block has *before* one of
/// the parts of the block: a rank is then one addition per level, without any loop, and a change adds
/// a constant to the parts that follow, which is a few vector instructions.
///
/// Chunks and regions after the one that holds [`now`](Self::now) have no meaning yet; they are set
/// when time enters them, so that near reuses touch none of the two upper levels.
///
/// Per step: 1/8 byte of bits and 1/32 byte of counts.
pub(super) struct LiveBits {
    words: Vec<u64>,
    /// Per line: nine bits for each word but the first, the live steps in the words before it.
    lines: Vec<u64>,
    /// Per group, for each of its lines: the live steps in the lines before it.
    groups: Vec<[u16; 32]>,
    /// Per chunk, for each of its groups: the live steps in the groups before it.
    chunks: Vec<[u32; 16]>,
    /// Per region, for each of its chunks: the live steps in the chunks before it.
    regions: Vec<[u32; 32]>,
    /// For each region: the live steps in the regions before it.
    axis: Vec<u64>,
    /// The next step.
    now: u64,
    live: u64,
}

impl LiveBits {
    pub(super) fn new() -> Self {
        let mut bits = LiveBits {
            words: Vec::new(),
            lines: Vec::new(),
            groups: Vec::new(),
            chunks: Vec::new(),
            regions: Vec::new(),
            axis: Vec::new(),
            now: 0,
            live: 0,
        };
        bits.restart();
        bits
    }

    /// The next step. Step 0 is never used.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The number of live steps.
    #[inline(always)]
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Whether there is no step left: [`restart`](Self::restart) the axis.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.now == (self.words.len() as u64) << 6
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
            + self.lines.capacity() * size_of::<u64>()
            + self.groups.capacity() * size_of::<[u16; 32]>()
            + self.chunks.capacity() * size_of::<[u32; 16]>()
            + self.regions.capacity() * size_of::<[u32; 32]>()
            + self.axis.capacity() * size_of::<u64>()
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, step: u64) {
        prefetch(&self.words, (step >> 6) as usize);
        prefetch(&self.lines, (step >> LINE) as usize);
    }

    /// The number of live steps before `step`, which must lie on the axis, before [`now`](Self::now).
    #[inline(always)]
    pub(super) fn rank(&self, step: u64) -> u64 {
        let word = (step >> 6) as usize;
        let field = (word + 7) & 7;
        let below = self.words[word] & !(u64::MAX << (step & 63));
        let in_line = (self.lines[(step >> LINE) as usize] >> (9 * field)) & 511;
        let in_group = self.groups[(step >> GROUP) as usize][(step >> LINE) as usize & 31];
        let in_chunk = self.chunks[(step >> CHUNK) as usize][(step >> GROUP) as usize & 15];
        let in_region = self.regions[(step >> REGION) as usize][(step >> CHUNK) as usize & 31];
        u64::from(below.count_ones())
            + in_line
            + u64::from(in_group)
            + u64::from(in_chunk)
            + u64::from(in_region)
            + self.axis[(step >> REGION) as usize]
    }

    /// Makes a live step a dead one.
    #[inline(always)]
    pub(super) fn clear(&mut self, step: u64) {
        self.words[(step >> 6) as usize] &= !(1 << (step & 63));
        self.count_in_chunk(step, 1_u64.wrapping_neg());
        self.live -= 1;
        if step >> CHUNK != self.now >> CHUNK {
            self.uncount_in_later_chunks(step);
        }
    }

    /// Time goes on by `steps` (not beyond the word of [`now`](Self::now)); those whose bit is set in
    /// `live`, from bit 0 on, are live.
    #[inline(always)]
    pub(super) fn advance(&mut self, steps: u64, live: u64) {
        let count = u64::from(live.count_ones());
        self.words[(self.now >> 6) as usize] |= live << (self.now & 63);
        self.count_in_chunk(self.now, count);
        self.live += count;
        self.now += steps;
        if self.now & ((1 << CHUNK) - 1) == 0 && !self.is_full() {
            self.enter_chunk();
        }
    }

    /// Adds `count` (which may be negative: arithmetic wraps) live steps at the word of `step` to all
    /// parts behind it in its line, group and chunk.
    #[inline(always)]
    fn count_in_chunk(&mut self, step: u64, count: u64) {
        let word = (step >> 6) & 7;
        let line = &mut self.lines[(step >> LINE) as usize];
        *line = line.wrapping_add(count.wrapping_mul(FIELDS & (u64::MAX << (9 * word))));
        let group = &mut self.groups[(step >> GROUP) as usize];
        let part = (step >> LINE) as u16 & 31;
        for (index, before) in (0_u16..).zip(group) {
            *before = before.wrapping_add(if index > part { count as u16 } else { 0 });
        }
        let chunk = &mut self.chunks[(step >> CHUNK) as usize];
        let part = (step >> GROUP) as u32 & 15;
        for (index, before) in (0_u32..).zip(chunk) {
            *before = before.wrapping_add(if index > part { count as u32 } else { 0 });
        }
    }

    #[inline(always)]
    fn uncount_in_later_chunks(&mut self, step: u64) {
        let region = (step >> REGION) as usize;
        let part = (step >> CHUNK) as u32 & 31;
        for (index, before) in (0_u32..).zip(&mut self.regions[region]) {
            *before = before.wrapping_sub(u32::from(index > part));
        }
        let last = (self.now >> REGION) as usize;
        for before in &mut self.axis[region + 1..=last] {
            *before -= 1;
        }
    }

    /// Gives meaning to the counts of the chunk that begins now.
    #[inline(always)]
    fn enter_chunk(&mut self) {
        let region = (self.now >> REGION) as usize;
        let part = (self.now >> CHUNK) as usize & 31;
        if part == 0 {
            self.axis[region] = self.live;
        }
        self.regions[region][part] = (self.live - self.axis[region]) as u32;
    }

    /// Compacts time: the live steps become steps 1, 2, …, in order, of an axis that has room for at
    /// least four times as many. Step s becomes `rank(s) + 1`, which the caller has taken before.
    #[cold]
    pub(super) fn restart(&mut self) {
        let steps = (4 * (self.live + 64)).next_power_of_two().max(SHORTEST);
        let live = self.live;
        // Live steps before `step`, from the start of the block of 2^log2 steps that holds it.
        let before = move |step: u64, log2: u32| {
            let rank = |step: u64| step.saturating_sub(1).min(live);
            rank(step) - rank(step >> log2 << log2)
        };
        refill(&mut self.words, steps, 6, |start| {
            let set = (1 + live).saturating_sub(start).min(64);
            let ones = if set == 64 { u64::MAX } else { !(u64::MAX << set) };
            if start == 0 { ones & !1 } else { ones }
        });
        refill(&mut self.lines, steps, LINE, |start| {
            (1..8).map(|word| before(start + (word << 6), LINE) << (9 * (word - 1))).sum()
        });
        refill(&mut self.groups, steps, GROUP, |start| {
            std::array::from_fn(|part| before(start + ((part as u64) << LINE), GROUP) as u16)
        });
        refill(&mut self.chunks, steps, CHUNK, |start| {
            std::array::from_fn(|part| before(start + ((part as u64) << GROUP), CHUNK) as u32)
        });
        refill(&mut self.regions, steps, REGION, |start| {
            std::array::from_fn(|part| before(start + ((part as u64) << CHUNK), REGION) as u32)
        });
        refill(&mut self.axis, steps, REGION, |start| before(start, 64 - 1));
        self.now = (live + 1).next_multiple_of(64);
    }
}

/// Makes one element of each block of 2^log2 steps from the block's first step.
fn refill<T>(blocks: &mut Vec<T>, steps: u64, log2: u32, make: impl Fn(u64) -> T) {
    let number = steps.div_ceil(1 << log2);
    blocks.clear();
    blocks.reserve_exact(number as usize);
    blocks.extend((0..number).map(|block| make(block << log2)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks of all steps, bit by bit.
    fn check(bits: &LiveBits) {
        let mut rank = 0;
        for step in 0..bits.now() {
            let live = bits.words[(step >> 6) as usize] >> (step & 63) & 1;
            if live == 1 || step % 61 == 0 {
                assert_eq!(bits.rank(step), rank, "step {step} of {}", bits.now());
            }
            rank += live;
        }
        assert_eq!(rank, bits.live());
    }

    #[test]
    fn ranks_hold_through_clearing_crossing_and_compaction() {
        let mut bits = LiveBits::new();
        let mut random = 1_u64;
        for round in 0..4 {
            while !bits.is_full() {
                bits.advance(64, u64::MAX >> (random >> 60));
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let step = (random >> 20) % bits.now();
                if bits.words[(step >> 6) as usize] >> (step & 63) & 1 == 1 {
                    bits.clear(step);
                }
            }
            check(&bits);
            bits.restart();
            assert!((bits.words.len() as u64) << 6 >= 4 * bits.live(), "round {round}");
            check(&bits);
        }
        assert!(bits.live() > 1 << CHUNK, "the test must cross chunks");
    }

    /// Far more steps than a test could walk: the uppermost level alone.
    #[test]
    fn regions_count() {
        let mut bits = LiveBits::new();
        bits.live = (3 << REGION) + 12_345;
        bits.restart();
        assert!(bits.axis.len() > 8);
        for step in (1..bits.live).step_by(1 << 19) {
            assert_eq!(bits.rank(step), step - 1);
        }
        bits.clear(5);
        assert_eq!(bits.rank(5), 4);
        assert_eq!(bits.rank(6), 4);
        for step in (7..bits.live).step_by(1 << 19) {
            assert_eq!(bits.rank(step), step - 2);
        }
        while bits.now & ((1 << REGION) - 1) != 0 {
            bits.advance(64, 1);
        }
        bits.advance(64, 1);
        assert_eq!(bits.rank(bits.now - 64), bits.live - 1);
    }
}
