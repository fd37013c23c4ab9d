//! Streams of items with known character, for benchmarks and tests.
//!
//! Four of them are the yardstick that exact engines are compared with: [`Zipf`] (skewed),
//! [`Uniform`] (no locality), [`Loop`] (every distance the same) and [`Jacobi`] (a stencil over two
//! grids). Each is endless, needs no memory per item, and gives the same stream for the same
//! parameters and seed on every machine (but for [`Zipf`], whose weights go through the platform's
//! `powf`).

/// An endless stream of items.
pub trait Generator {
    /// The next item.
    fn next_item(&mut self) -> u64;

    /// Fills a block with the next items.
    fn fill(&mut self, block: &mut [u64]) {
        for item in block {
            *item = self.next_item();
        }
    }
}

/// The four streams of the yardstick by name: `zipf`, `uniform`, `loop`, `jacobi`.
pub const YARDSTICK: [&str; 4] = ["zipf", "uniform", "loop", "jacobi"];

/// A stream of the yardstick: Zipf(0.99) over a million ids, uniform over four million, a loop over
/// two million, Jacobi on 1024 × 1024 elements. `None` if there is none of this name.
pub fn yardstick(name: &str) -> Option<Box<dyn Generator>> {
    Some(match name {
        "zipf" => Box::new(Zipf::new(1_000_000, 0.99, 1)),
        "uniform" => Box::new(Uniform::new(4_000_000, 1)),
        "loop" => Box::new(Loop::new(0x7f00_0000_0000, 64, 2_000_000)),
        "jacobi" => Box::new(Jacobi::new(1024)),
        _ => return None,
    })
}

/// A random number generator, small and good enough to choose items: SplitMix64 (Steele, Lea &
/// Flood 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        scramble(self.state)
    }

    /// A number below `bound`, or 0 if that is 0. (The bias, below `bound` / 2^64, is of no matter
    /// here.)
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A bijection that makes ids from ranks, so that neighbours in rank are no neighbours as items.
#[inline]
fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Items drawn independently, the one of rank r with a probability in proportion to r^−α.
///
/// Sampling is exact, by an alias table (Walker 1977, Vose 1991) of 12 bytes per item.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Per column: the chance that a draw of it stays, and where it goes if not.
    columns: Vec<(f64, u32)>,
    random: Random,
}

impl Zipf {
    /// A stream over `items` items (at least 1) with exponent `alpha`.
    pub fn new(items: u32, alpha: f64, seed: u64) -> Self {
        let weights: Vec<f64> = (1..=items.max(1))
            .map(|rank| f64::from(rank).powf(-alpha))
            .collect();
        Zipf {
            columns: alias_table(&weights),
            random: Random::new(seed),
        }
    }
}

/// Columns of equal probability, each shared by at most two outcomes.
fn alias_table(weights: &[f64]) -> Vec<(f64, u32)> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut columns: Vec<(f64, u32)> = weights
        .iter()
        .zip(0..)
        .map(|(weight, index)| (weight / mean, index))
        .collect();
    let (mut small, mut large): (Vec<u32>, Vec<u32>) = columns
        .iter()
        .map(|column| column.1)
        .partition(|&index| columns[index as usize].0 < 1.0);
    while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
        columns[taker as usize].1 = giver;
        columns[giver as usize].0 -= 1.0 - columns[taker as usize].0;
        if columns[giver as usize].0 < 1.0 {
            large.pop();
            small.push(giver);
        }
    }
    columns
}

impl Generator for Zipf {
    #[inline]
    fn next_item(&mut self) -> u64 {
        let column = self.random.below(self.columns.len() as u64);
        let (stay, alias) = self.columns[column as usize];
        let rank = if self.random.unit() < stay {
            column
        } else {
            u64::from(alias)
        };
        scramble(rank + 1)
    }
}

/// Items drawn independently, all equally likely.
#[derive(Clone, Debug)]
pub struct Uniform {
    items: u64,
    random: Random,
}

impl Uniform {
    /// A stream over `items` items.
    pub fn new(items: u64, seed: u64) -> Self {
        Uniform {
            items,
            random: Random::new(seed),
        }
    }
}

impl Generator for Uniform {
    #[inline]
    fn next_item(&mut self) -> u64 {
        scramble(self.random.below(self.items) + 1)
    }
}

/// `base`, `base + stride`, …, `items` items, over and over: all distances are `items − 1`.
#[derive(Clone, Debug)]
pub struct Loop {
    base: u64,
    stride: u64,
    items: u64,
    at: u64,
}

impl Loop {
    /// A loop. Sums wrap; `items` of 0 counts as 1.
    pub fn new(base: u64, stride: u64, items: u64) -> Self {
        Loop {
            base,
            stride,
            items: items.max(1),
            at: 0,
        }
    }
}

impl Generator for Loop {
    #[inline]
    fn next_item(&mut self) -> u64 {
        let item = self.base.wrapping_add(self.stride.wrapping_mul(self.at));
        self.at += 1;
        if self.at == self.items {
            self.at = 0;
        }
        item
    }
}

/// The byte addresses of a five-point stencil from one square grid of 8-byte elements into another,
/// the grids changing places after each sweep: centre, west, east, south, north, then the store.
#[derive(Clone, Debug)]
pub struct Jacobi {
    side: u64,
    row: u64,
    column: u64,
    access: usize,
    /// The grid that is read, the grid that is written.
    grids: [u64; 2],
}

impl Jacobi {
    /// A stencil on `side` × `side` elements; a side below 3 counts as 3.
    pub fn new(side: u64) -> Self {
        let side = side.max(3);
        let first = 0x7f10_0000_0000;
        let grids = [first, first + side * side * 8 + 4096];
        Jacobi {
            side,
            row: 1,
            column: 1,
            access: 0,
            grids,
        }
    }

    #[inline]
    fn step(&mut self) {
        self.access = 0;
        self.column += 1;
        if self.column == self.side - 1 {
            self.column = 1;
            self.row += 1;
            if self.row == self.side - 1 {
                self.row = 1;
                self.grids.swap(0, 1);
            }
        }
    }
}

impl Generator for Jacobi {
    #[inline]
    fn next_item(&mut self) -> u64 {
        let centre = self.row * self.side + self.column;
        let element = match self.access {
            1 => centre - 1,
            2 => centre + 1,
            3 => centre + self.side,
            4 => centre - self.side,
            _ => centre,
        };
        let item = self.grids[usize::from(self.access == 5)] + element * 8;
        self.access += 1;
        if self.access == 6 {
            self.step();
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(generator: &mut dyn Generator, number: usize) -> Vec<u64> {
        let mut items = vec![0; number];
        generator.fill(&mut items);
        items
    }

    #[test]
    fn zipf_draws_in_proportion() {
        let mut zipf = Zipf::new(3, 1.0, 5);
        let items = take(&mut zipf, 110_000);
        for (rank, share) in [(1, 60_000), (2, 30_000), (3, 20_000)] {
            let drawn = items.iter().filter(|item| **item == scramble(rank)).count();
            assert!(drawn.abs_diff(share) < 1_000, "rank {rank}: {drawn}");
        }
    }

    #[test]
    fn the_alias_table_keeps_all_weight() {
        let weights: Vec<f64> = (1..=1000).map(|rank| 1.0 / f64::from(rank)).collect();
        let mut shares = vec![0.0; weights.len()];
        for (index, (stay, alias)) in alias_table(&weights).into_iter().enumerate() {
            shares[index] += stay.min(1.0);
            shares[alias as usize] += (1.0 - stay).max(0.0);
        }
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        for (share, weight) in shares.iter().zip(&weights) {
            assert!((share * mean - weight).abs() < 1e-9);
        }
    }

    #[test]
    fn streams_repeat_with_the_seed_and_go_on_over_blocks() {
        for name in YARDSTICK {
            let mut one = yardstick(name).unwrap();
            let mut other = yardstick(name).unwrap();
            let whole = take(one.as_mut(), 100);
            let mut halves = take(other.as_mut(), 37);
            halves.extend(take(other.as_mut(), 63));
            assert_eq!(whole, halves, "{name}");
        }
        assert!(yardstick("other").is_none());
    }

    #[test]
    fn loops_close_and_stencils_swap() {
        assert_eq!(take(&mut Loop::new(10, 5, 3), 5), [10, 15, 20, 10, 15]);
        let items = take(&mut Jacobi::new(3), 12);
        let [read, written] = [items[0], items[5]];
        assert_eq!(items[1..5], [read - 8, read + 8, read + 24, read - 24]);
        assert_eq!(
            (items[6], items[11]),
            (written, read),
            "the grids change places"
        );
    }
}
