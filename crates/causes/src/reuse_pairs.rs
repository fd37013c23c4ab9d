//! [`ReusePairs`]: counts of reuses by cells and carrier, in bounded memory.

use std::collections::{BTreeMap, HashMap};

use reuselens_profile::Carrier;

/// Reuses of one pair of cells, with one carrier, that miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedPair {
    /// The cell of the access before; `None` for several cells.
    pub source: Option<u32>,
    /// The cell of the access that misses.
    pub sink: u32,
    /// What carries the reuse; its index is one of
    /// [`CarriedCounts::scopes`](crate::CarriedCounts::scopes).
    pub carrier: Carrier,
    /// Reuses that miss.
    pub misses: u64,
    /// Sum of their distances in items.
    pub distance_sum: u64,
}

/// What a row is found by: the cells of the access before and of the miss, and the carrier.
type RowKey = (u32, u32, Carrier);

/// Reuses of a row, and the sum of their distances.
#[derive(Clone, Copy, Debug, Default)]
struct RowCounts {
    misses: u64,
    distance_sum: u64,
}

impl RowCounts {
    #[inline]
    fn add(&mut self, other: RowCounts) {
        self.misses = self.misses.saturating_add(other.misses);
        self.distance_sum = self.distance_sum.saturating_add(other.distance_sum);
    }
}

/// Counts by cells and carrier. When there are `most` rows, the rarer half counts for one row for
/// each cell that misses, without source and carrier: no reuse is dropped.
///
/// Cost: per reuse a comparison if the cell missed with the same source and carrier last time, else
/// a hashed look-up. Memory: 60 bytes per row, and 32 bytes per cell.
#[derive(Debug)]
pub(crate) struct ReusePairs {
    most: usize,
    rows: Vec<(RowKey, RowCounts)>,
    numbers: HashMap<RowKey, u32>,
    /// By cell that misses, the row that counted last.
    recent: Vec<u32>,
    /// By cell that misses, what has no row of its own.
    others: Vec<RowCounts>,
}

impl ReusePairs {
    pub fn new(most: usize) -> Self {
        ReusePairs {
            most: most.max(2),
            rows: Vec::new(),
            numbers: HashMap::new(),
            recent: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Counts a reuse.
    #[inline]
    pub fn add(&mut self, source: u32, sink: u32, carrier: Carrier, distance: u64) {
        let key = (source, sink, carrier);
        let counts = RowCounts {
            misses: 1,
            distance_sum: distance,
        };
        let recent = self.recent.get(sink as usize).copied().unwrap_or_default();
        match self.rows.get_mut(recent as usize) {
            Some((known, row)) if *known == key => row.add(counts),
            _ => self.add_other(key, counts),
        }
    }

    /// Counts a reuse whose access before is not known.
    #[cold]
    pub fn add_unknown(&mut self, sink: u32, distance: u64) {
        self.add_to_others(
            sink,
            RowCounts {
                misses: 1,
                distance_sum: distance,
            },
        );
    }

    fn add_to_others(&mut self, sink: u32, counts: RowCounts) {
        let sink = sink as usize;
        if sink >= self.others.len() {
            self.others.resize(sink + 1, RowCounts::default());
        }
        self.others[sink].add(counts);
    }

    fn add_other(&mut self, key: RowKey, counts: RowCounts) {
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None => {
                if self.rows.len() >= self.most {
                    self.drop_rare();
                }
                let number = self.rows.len() as u32;
                self.rows.push((key, RowCounts::default()));
                self.numbers.insert(key, number);
                number
            }
        };
        self.rows[number as usize].1.add(counts);
        let sink = key.1 as usize;
        if sink >= self.recent.len() {
            self.recent.resize(sink + 1, 0);
        }
        self.recent[sink] = number;
    }

    /// Counts the rarer half of the rows for the others of their cells.
    #[cold]
    fn drop_rare(&mut self) {
        // By the keys too, so that equal traces drop equal rows.
        self.rows
            .sort_unstable_by(|(a, of_a), (b, of_b)| (of_b.misses, a).cmp(&(of_a.misses, b)));
        let rare = self.rows.split_off(self.most / 2);
        for ((_, sink, _), counts) in rare {
            self.add_to_others(sink, counts);
        }
        self.numbers.clear();
        let rows = (0..)
            .zip(&self.rows)
            .map(|(number, (key, _))| (*key, number));
        self.numbers.extend(rows);
        self.recent.fill(0);
    }

    /// Everything that was counted, by its keys, with the carriers that `settled` gives for those
    /// of the rows.
    pub fn finish(self, settled: impl Fn(Carrier) -> Carrier) -> Vec<CarriedPair> {
        let mut sums: BTreeMap<RowKey, RowCounts> = BTreeMap::new();
        for ((source, sink, carrier), counts) in self.rows {
            let key = (source, sink, settled(carrier));
            sums.entry(key).or_default().add(counts);
        }
        let rows = sums.into_iter();
        let rows = rows.map(|((source, sink, carrier), counts)| CarriedPair {
            source: Some(source),
            sink,
            carrier,
            misses: counts.misses,
            distance_sum: counts.distance_sum,
        });
        let others = (0..).zip(self.others).filter(|(_, it)| it.misses > 0);
        let others = others.map(|(sink, counts)| CarriedPair {
            source: None,
            sink,
            carrier: Carrier::Others,
            misses: counts.misses,
            distance_sum: counts.distance_sum,
        });
        let mut pairs: Vec<CarriedPair> = rows.chain(others).collect();
        pairs.sort_unstable_by_key(|pair| (pair.sink, pair.source, pair.carrier));
        pairs
    }

    /// Bytes held, about.
    pub fn memory(&self) -> usize {
        let cells = self.recent.capacity() * 4 + self.others.capacity() * size_of::<RowCounts>();
        self.rows.capacity() * 60 + cells
    }
}
