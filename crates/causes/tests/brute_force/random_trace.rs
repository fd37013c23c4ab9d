//! Random traces of several threads, with the distances of their definition.

use std::ops::Range;

use reuselens_causes::{CauseCell, CellPlace, MissColumns, NO_OFFSET};
use reuselens_units::{Distance, Granularity};

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }
}

/// A trace with a column of each kind, of several threads.
pub struct RandomTrace {
    pub threads: Vec<u32>,
    pub items: Vec<u64>,
    pub distances: Vec<Distance>,
    pub in_cells: Vec<u32>,
    pub bytes: Vec<u64>,
    pub stores: Vec<bool>,
    pub offsets: Vec<u32>,
    pub cells: Vec<CauseCell>,
    pub places: Vec<CellPlace>,
}

impl RandomTrace {
    /// Mostly short, and of few items; some long ones with more items than small tables hold.
    pub fn new(random: &mut Random, granularity: Granularity) -> Self {
        let (length, items) = match random.below(40) {
            0 => (4000, 3000),
            1 => (1 + random.below(3000), 40),
            _ => (1 + random.below(400), 1 + random.below(24)),
        };
        Self::with(random, granularity, length, items)
    }

    pub fn with(
        random: &mut Random,
        granularity: Granularity,
        length: usize,
        items: usize,
    ) -> Self {
        let threads = [1, 2, 2, 3, 5, 40][random.below(6)];
        let (cells, places) = cells(random);
        let mut trace = RandomTrace {
            threads: Vec::new(),
            items: Vec::new(),
            distances: Vec::new(),
            in_cells: Vec::new(),
            bytes: Vec::new(),
            stores: Vec::new(),
            offsets: Vec::new(),
            cells,
            places,
        };
        let mut thread = 0;
        for _ in 0..length {
            if random.below(3) == 0 {
                thread = random.below(threads) as u32 * 7;
            }
            trace.access(random, granularity, thread, items);
        }
        trace.distances = distances(&trace.items);
        trace
    }

    fn access(&mut self, random: &mut Random, granularity: Granularity, thread: u32, items: usize) {
        let again = self.items.last().copied().filter(|_| random.below(2) == 0);
        let cell = random.below(self.cells.len());
        let bits = granularity.bytes().min(64) as usize;
        let first = random.below(bits);
        let size = [1, 2, 4, 8, 8, 64][random.below(6)].min(bits - first);
        let element = self.cells[cell].element_bytes as usize;
        self.threads.push(thread);
        // Some numbers of items use the bits of processes.
        let item = random.below(items) as u64 ^ (random.below(2) as u64) << 45;
        self.items.push(again.unwrap_or(item));
        self.in_cells.push(cell as u32);
        self.bytes.push((u64::MAX >> (64 - size)) << first);
        self.stores.push(random.below(3) == 0);
        self.offsets.push(match random.below(8) {
            0 => NO_OFFSET,
            _ if element == 0 => NO_OFFSET,
            _ => random.below(element) as u32,
        });
    }

    /// The number of accesses.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Cells that accesses before `end` are of: the largest number, plus 1.
    pub fn cells_up_to(&self, end: usize) -> usize {
        let cells = self.in_cells[..end].iter();
        cells.max().map_or(0, |cell| *cell as usize + 1)
    }

    /// The accesses in pieces, each of one thread.
    pub fn pieces(&self, random: &mut Random) -> Vec<Range<usize>> {
        let rarity = 1 + random.below(600);
        let mut pieces = Vec::new();
        let mut begin = 0;
        for end in 1..=self.len() {
            let cut = end == self.len() || self.threads[end] != self.threads[begin];
            if cut || random.below(rarity) == 0 {
                pieces.push(begin..end);
                begin = end;
            }
        }
        pieces
    }

    /// A piece.
    pub fn columns(&self, piece: Range<usize>) -> MissColumns<'_> {
        MissColumns {
            thread: self.threads[piece.start],
            items: &self.items[piece.clone()],
            distances: &self.distances[piece.clone()],
            cells: &self.in_cells[piece.clone()],
            bytes: &self.bytes[piece.clone()],
            stores: &self.stores[piece.clone()],
            offsets: &self.offsets[piece],
        }
    }
}

/// Cells of a few instructions and objects. In the profile these have other numbers.
fn cells(random: &mut Random) -> (Vec<CauseCell>, Vec<CellPlace>) {
    let elements = [0, 4, 8, 12, 24, 64, 100, 1024];
    let of_objects: Vec<u32> = (0..4).map(|_| elements[random.below(8)]).collect();
    let are_single: Vec<bool> = (0..4).map(|_| random.below(3) == 0).collect();
    let cell = |random: &mut Random| {
        let object = random.below(4);
        CauseCell {
            site: random.below(5) as u32,
            object: object as u32 * 1000,
            element_bytes: of_objects[object],
            is_single: are_single[object],
        }
    };
    let count = 1 + random.below(12);
    let cells: Vec<CauseCell> = (0..count).map(|_| cell(random)).collect();
    let place = |cell: &CauseCell| CellPlace {
        site: 9 - cell.site,
        object: 7 - cell.object / 1000,
    };
    let places = cells.iter().map(place).collect();
    (cells, places)
}

/// The distances: an item's index in the list of items by their last accesses.
fn distances(items: &[u64]) -> Vec<Distance> {
    let mut stack: Vec<u64> = Vec::new();
    let distance = |item: &u64| {
        let found = stack.iter().position(|other| other == item);
        if let Some(at) = found {
            stack.remove(at);
        }
        stack.insert(0, *item);
        found.map_or(Distance::COLD, |at| Distance::new(at as u64))
    };
    items.iter().map(distance).collect()
}
