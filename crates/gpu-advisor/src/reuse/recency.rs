//! [`Recency`]: how many items were accessed last at each time, and sums over the latest times.

/// log2 of the times of a sum, and of the sums of a sum.
const FAN_SHIFT: u32 = 6;
const FAN: usize = 1 << FAN_SHIFT;
/// Times of a new one.
const FIRST: usize = FAN;

/// Items by the time of their last access. Times are small numbers; when they run out, those
/// without an item are given up, and the others renumbered.
///
/// A query adds up at most 64 times, 64 sums of 64 times, and the sums of 4,096 times that there
/// are. Memory: about 4 bytes for each time, whose number is up to four times that of the requests
/// that have an item which was not accessed since.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    items: Vec<u32>,
    sums: Vec<u32>,
    tops: Vec<u32>,
    /// The present time.
    now: usize,
    total: u32,
}

impl Recency {
    pub fn new() -> Recency {
        Recency {
            items: vec![0; FIRST],
            sums: vec![0; 1],
            tops: vec![0; 1],
            now: 0,
            total: 0,
        }
    }

    /// Removes the items and keeps the memory.
    pub fn clear(&mut self) {
        self.items[..self.now].fill(0);
        self.sums[..self.now.div_ceil(FAN)].fill(0);
        self.tops[..self.now.div_ceil(FAN * FAN)].fill(0);
        (self.now, self.total) = (0, 0);
    }

    /// Number of distinct items.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// The present time.
    #[inline]
    pub fn now(&self) -> u32 {
        self.now as u32
    }

    /// Items whose last access was at `time` or later, and before now.
    #[inline]
    pub fn since(&self, time: u32) -> u32 {
        let time = time as usize;
        let (sum, top) = (time / FAN, time / (FAN * FAN));
        let add = |counts: &[u32]| counts.iter().sum::<u32>();
        let times = add(&self.items[time..((sum + 1) * FAN).min(self.now)]);
        if (sum + 1) * FAN >= self.now {
            return times;
        }
        let sums_end = ((top + 1) * FAN).min(self.now.div_ceil(FAN));
        let tops_end = self.now.div_ceil(FAN * FAN).max(top + 1);
        times + add(&self.sums[sum + 1..sums_end]) + add(&self.tops[top + 1..tops_end])
    }

    /// Takes items away from a time.
    #[inline]
    pub fn remove(&mut self, time: u32, items: u32) {
        let time = time as usize;
        self.items[time] -= items;
        self.sums[time / FAN] -= items;
        self.tops[time / (FAN * FAN)] -= items;
        self.total -= items;
    }

    /// Gives items the present time, and begins the next. Returns whether times have run out:
    /// [`Recency::renumber`] must be called then.
    #[inline]
    pub fn advance(&mut self, items: u32) -> bool {
        self.items[self.now] += items;
        self.sums[self.now / FAN] += items;
        self.tops[self.now / (FAN * FAN)] += items;
        self.total += items;
        self.now += 1;
        self.now == self.items.len()
    }

    /// Gives up times without items. Returns the new time of each old one.
    pub fn renumber(&mut self) -> Vec<u32> {
        let mut numbers = vec![0; self.now];
        let mut kept = Vec::new();
        for (number, &items) in numbers.iter_mut().zip(&self.items) {
            *number = kept.len() as u32;
            if items > 0 {
                kept.push(items);
            }
        }
        let mut times = self.items.len();
        if kept.len() * 2 > times {
            times *= 4;
        }
        self.now = kept.len();
        self.items = kept;
        self.items.resize(times, 0);
        self.sums = sums_of(&self.items);
        self.tops = sums_of(&self.sums);
        numbers
    }
}

fn sums_of(counts: &[u32]) -> Vec<u32> {
    counts.chunks(FAN).map(|chunk| chunk.iter().sum()).collect()
}
