//! [`LiveBits`]: the time axis of the counting tree. One bit per step is set if that step is still
//! the last access to its item; counts over the bits give the number of set bits before a step
//! without a loop.

use reuselens_hugepages::Huge;

use super::chunk::{CHUNK, Chunk, LINE, add_after_32};
use crate::prefetch::prefetch;

/// The longest axis: steps are numbers of 32 bits.
const LONGEST: u64 = (1 << 32) - (1 << CHUNK);

/// The counts over 32 chunks.
#[derive(Clone, Default)]
#[repr(C, align(64))]
struct Region {
    /// For each chunk: the live steps in the chunks before it, in this region.
    chunks: [u32; 32],
    /// The live steps in the regions before this one.
    before: u64,
}

/// Bits with counts at five levels. Each count says how many live steps its block has *before* one
/// of the parts of the block: a rank is then one addition per level, without any loop, and a change
/// adds a constant to the parts that follow, which is a few vector instructions.
///
/// The counts of chunks and regions after [`now`](Self::now) have no meaning yet; they are set when
/// time enters the chunk, so that near reuses need neither of the two upper levels.
///
/// Step 0 is never used. Per step: 1/8 byte of bits and 1/28 byte of counts.
pub(crate) struct LiveBits {
    chunks: Huge<Chunk>,
    regions: Vec<Region>,
    /// The next step.
    now: u64,
    /// The first step that there is no room for.
    end: u64,
    live: u64,
    /// Live steps that there will be.
    expected: u64,
}

impl LiveBits {
    /// An axis for about `items` items; 0 if the number is unknown.
    pub(super) fn expecting(items: u64) -> Self {
        let mut bits = LiveBits {
            chunks: Huge::default(),
            regions: Vec::new(),
            now: 0,
            end: 0,
            live: 0,
            expected: items,
        };
        bits.restart(0);
        bits
    }

    /// The next step.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The number of live steps.
    #[inline(always)]
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Whether there is room for `steps` steps, which must be in one chunk. If the rest of the
    /// chunk is too short, it stays unused. Without room, [`restart`](Self::restart) the axis.
    #[inline(always)]
    pub(super) fn has_room(&mut self, steps: u64) -> bool {
        let rest = (1 << CHUNK) - (self.now & ((1 << CHUNK) - 1));
        if rest < steps {
            self.end(rest, rest);
        }
        self.now < self.end
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.bytes() + self.regions.capacity() * size_of::<Region>()
    }

    /// The most bytes held until there are `more` items.
    pub(super) fn bytes_with(&self, more: usize) -> usize {
        let chunks = (self.end_for(self.live + more as u64) >> CHUNK) as usize;
        // A list doubles at least when it grows.
        let regions = (2 * chunks.div_ceil(32)).max(4) * size_of::<Region>();
        self.bytes().max(chunks * size_of::<Chunk>() + regions)
    }

    /// The length of an axis that is made while `live` steps are live.
    fn end_for(&self, live: u64) -> u64 {
        let live = live + 64;
        // Not at once as long as is expected: that may be wrong, and all of the axis is written.
        let items = live.max(self.expected.min(16 * live));
        // A pass over the table, which no cache holds, costs more than the caches that a longer
        // axis takes: with four steps an item large tables take a twentieth longer, and with
        // sixteen two threads do.
        (8 * items).next_multiple_of(1 << CHUNK).min(LONGEST)
    }

    /// Asks for the memory that [`rank`](Self::rank) will read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, step: u32) {
        let step = u64::from(step);
        if let Some(chunk) = self.chunks.get((step >> CHUNK) as usize) {
            prefetch(&chunk.words, (step >> 6) as usize % chunk.words.len());
            prefetch(&chunk.lines, (step >> LINE) as usize % chunk.lines.len());
        }
    }

    /// The number of live steps before `step`, which must be before [`now`](Self::now).
    #[inline(always)]
    pub(crate) fn rank(&self, step: u32) -> u64 {
        let step = u64::from(step);
        let chunk = (step >> CHUNK) as usize;
        let region = &self.regions[chunk >> 5];
        let before = region.before + u64::from(region.chunks[chunk % 32]);
        before + self.chunks[chunk].rank(step as usize)
    }

    /// The next `steps` steps, for which there is room, are live from here on.
    #[inline(always)]
    pub(super) fn begin(&mut self, steps: u64) {
        let chunk = &mut self.chunks[(self.now >> CHUNK) as usize];
        let (mut now, end) = (self.now, self.now + steps);
        while now < end {
            let part = (64 - (now & 63)).min(end - now);
            *chunk.word(now as usize) |= u64::MAX >> (64 - part) << (now & 63);
            chunk.count(now as usize, part);
            now += part;
        }
    }

    /// A [`Taker`], which makes live steps dead ones while time does not go on. There must be
    /// [room](Self::has_room) for time to go on.
    #[inline(always)]
    pub(super) fn taker(&mut self) -> Taker<'_> {
        let current = (self.now >> CHUNK) as usize;
        let region = &self.regions[current >> 5];
        let before = region.before + u64::from(region.chunks[current % 32]);
        let (past, rest) = self.chunks.split_at_mut(current);
        Taker {
            current,
            past,
            here: &mut rest[0],
            before,
            regions: &mut self.regions,
        }
    }

    /// Time goes on by the `steps` that began; `taken` steps died meanwhile.
    #[inline(always)]
    pub(super) fn end(&mut self, steps: u64, taken: u64) {
        self.live = self.live + steps - taken;
        self.now += steps;
        if self.now & ((1 << CHUNK) - 1) == 0 && self.now < self.end {
            self.enter_chunk();
        }
    }

    /// Gives meaning to the counts of the chunk that begins now.
    #[cold]
    fn enter_chunk(&mut self) {
        let chunk = (self.now >> CHUNK) as usize;
        let region = &mut self.regions[chunk >> 5];
        if chunk.is_multiple_of(32) {
            region.before = self.live;
        }
        region.chunks[chunk % 32] = (self.live - region.before) as u32;
    }

    /// Compacts time: the live steps become steps 1, 2, …, in order, of an axis that has room for
    /// at least eight times as many if there can be, and for the next `steps`. Step s becomes
    /// `rank(s) + 1`, which the caller has taken before.
    #[cold]
    pub(super) fn restart(&mut self, steps: u64) {
        self.end = self.end_for(self.live);
        let chunks = self.end.div_ceil(1 << CHUNK) as usize;
        if self.chunks.len() != chunks {
            // One at a time: there may be little memory.
            self.chunks = Huge::default();
            self.chunks = Huge::new(chunks);
        }
        self.regions.resize(chunks.div_ceil(32), Region::default());
        let live_end = self.live + 1;
        let before = |chunk: usize| ((chunk as u64) << CHUNK).clamp(1, live_end) - 1;
        for (index, chunk) in self.chunks.iter_mut().enumerate() {
            chunk.fill(
                live_end
                    .saturating_sub((index as u64) << CHUNK)
                    .min(1 << CHUNK),
            );
        }
        for (index, region) in self.regions.iter_mut().enumerate() {
            region.before = before(index * 32);
            region.chunks =
                std::array::from_fn(|part| (before(index * 32 + part) - region.before) as u32);
        }
        // Step 0 is not live: off with its bit, and with its count in the rest of its chunk.
        *self.chunks[0].word(0) &= !1;
        self.chunks[0].count(0, 1_u64.wrapping_neg());
        self.now = live_end.next_multiple_of(64);
        assert!(self.has_room(steps), "fewer than 2³² items");
    }
}

/// The bits between two movements of time.
pub(super) struct Taker<'a> {
    /// The chunk of the present.
    current: usize,
    here: &'a mut Chunk,
    /// The live steps before it.
    before: u64,
    /// The chunks before it.
    past: &'a mut [Chunk],
    regions: &'a mut [Region],
}

impl Taker<'_> {
    /// Makes a live step a dead one, and returns how many live steps are before it.
    #[inline(always)]
    pub(super) fn take(&mut self, step: u32) -> u64 {
        let step = step as usize;
        let index = step >> CHUNK;
        if index == self.current {
            return self.before + take_in(self.here, step);
        }
        let region = &mut self.regions[index >> 5];
        let before = region.before + u64::from(region.chunks[index % 32]);
        let rank = before + take_in(&mut self.past[index], step);
        add_after_32(&mut region.chunks, index, 1_u32.wrapping_neg());
        for region in &mut self.regions[(index >> 5) + 1..=self.current >> 5] {
            region.before -= 1;
        }
        self.before -= 1;
        rank
    }
}

/// The same within the chunk of the step.
#[inline(always)]
fn take_in(chunk: &mut Chunk, step: usize) -> u64 {
    let rank = chunk.rank(step);
    *chunk.word(step) &= !(1 << (step & 63));
    chunk.count(step, 1_u64.wrapping_neg());
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: u32 = CHUNK + 5;

    fn bit(bits: &LiveBits, step: u64) -> u64 {
        let word = step as usize >> 6 & ((1 << (CHUNK - 6)) - 1);
        bits.chunks[(step >> CHUNK) as usize].words[word] >> (step & 63) & 1
    }

    fn clear(bits: &mut LiveBits, step: u64) {
        let rank = bits.rank(step as u32);
        assert_eq!(bits.taker().take(step as u32), rank);
        bits.end(0, 1);
    }

    /// A word of time, of which those in `live` stay alive.
    fn advance(bits: &mut LiveBits, live: u64) {
        let now = bits.now as u32;
        bits.begin(64);
        for bit in (0..64).filter(|bit| live >> bit & 1 == 0) {
            bits.taker().take(now + bit);
        }
        bits.end(64, u64::from(live.count_zeros()));
    }

    /// The ranks of all steps, bit by bit.
    fn check(bits: &LiveBits) {
        let mut rank = 0;
        for step in 0..bits.now() {
            let live = bit(bits, step);
            if live == 1 || step % 61 == 0 {
                assert_eq!(
                    bits.rank(step as u32),
                    rank,
                    "step {step} of {}",
                    bits.now()
                );
            }
            rank += live;
        }
        assert_eq!(rank, bits.live());
    }

    #[test]
    fn ranks_hold_through_clearing_crossing_and_compaction() {
        let mut bits = LiveBits::expecting(0);
        let mut random = 1_u64;
        for round in 0..4 {
            while bits.has_room(64) {
                advance(&mut bits, u64::MAX >> (random >> 60));
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let step = (random >> 20) % bits.now();
                if bit(&bits, step) == 1 && bits.has_room(64) {
                    clear(&mut bits, step);
                }
            }
            check(&bits);
            bits.restart(64);
            assert!(bits.end >= 8 * bits.live(), "round {round}");
            check(&bits);
        }
        assert!(bits.live() > 1 << CHUNK, "the test must cross chunks");
    }

    /// Far more steps than a test could walk: the uppermost level alone.
    #[test]
    fn regions_count() {
        let mut bits = LiveBits::expecting(0);
        bits.live = (3 << REGION) + 12_345;
        bits.restart(64);
        assert!(bits.regions.len() > 8);
        for step in (1..bits.live).step_by(1 << 19) {
            assert_eq!(bits.rank(step as u32), step - 1);
        }
        clear(&mut bits, 5);
        assert_eq!(bits.rank(5), 4);
        assert_eq!(bits.rank(6), 4);
        for step in (7..bits.live).step_by(1 << 19) {
            assert_eq!(bits.rank(step as u32), step - 2);
        }
        while bits.now & ((1 << REGION) - 1) != 0 {
            assert!(bits.has_room(64));
            advance(&mut bits, 1);
        }
        advance(&mut bits, 1);
        assert_eq!(bits.rank(bits.now as u32 - 64), bits.live - 1);
    }
}
