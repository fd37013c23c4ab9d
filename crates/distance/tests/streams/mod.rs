//! Streams of 30 kinds, for whether bounds of samples hold: usual ones, and ones in which short
//! reuse is rare, in a few places or in a few items.

use reuselens_distance::generate::{Generator, Jacobi, Loop, Random, Uniform, Zipf};

/// A stream by its name.
pub struct Stream {
    pub name: &'static str,
    /// Whether its character does not change with time, and no few items make most of it.
    pub usual: bool,
    make: fn(usize) -> Vec<u64>,
}

impl Stream {
    /// Its first `number` accesses.
    pub fn items(&self, number: usize) -> Vec<u64> {
        let mut items = (self.make)(number);
        assert!(items.len() >= number, "{} is too short", self.name);
        items.truncate(number);
        items
    }
}

const fn usual(name: &'static str, make: fn(usize) -> Vec<u64>) -> Stream {
    Stream {
        name,
        usual: true,
        make,
    }
}

const fn uneven(name: &'static str, make: fn(usize) -> Vec<u64>) -> Stream {
    Stream {
        name,
        usual: false,
        make,
    }
}

/// All of them.
pub const STREAMS: [Stream; 30] = [
    usual("zipf 0.99", |n| take(Zipf::new(20_000, 0.99, 1), n)),
    usual("zipf 0.7", |n| take(Zipf::new(20_000, 0.7, 2), n)),
    usual("uniform", |n| take(Uniform::new(20_000, 1), n)),
    usual("loop of 5000", |n| take(Loop::new(1 << 40, 64, 5000), n)),
    usual("loop of 300", |n| take(Loop::new(1 << 40, 64, 300), n)),
    usual("jacobi", |n| take(Jacobi::new(64), n)),
    usual("matrix product", matrix_product),
    usual("matrix product in tiles", tiles),
    usual("binary search", binary_search),
    usual("random walk", random_walk),
    usual("all new", |n| (0..n as u64).collect()),
    usual("sliding window", sliding_window),
    usual("short-lived objects", short_lived),
    usual("stack", stack),
    usual("hash join", hash_join),
    uneven("zipf 1.3", |n| take(Zipf::new(100_000, 1.3, 3), n)),
    uneven("segments swept 1, 2 or 5 times", |n| segments(n, 1)),
    uneven("other such segments", |n| segments(n, 2)),
    uneven("segments of any length", any_segments),
    uneven("a loop at the end", |n| loop_at(n, n - n / 30, n)),
    uneven("a loop in the middle", |n| {
        loop_at(n, n / 2, n / 2 + n / 50)
    }),
    uneven("a loop now and then", loops_now_and_then),
    uneven("a rhythm like that of bursts", rhythm),
    uneven("sweeps between hot phases", phases),
    uneven("one item has half of the accesses", one_hot_item),
    uneven("accesses per item have a heavy tail", heavy_tail),
    uneven("runs of one item have a heavy tail", runs),
    uneven("start, work, end", start_work_end),
    uneven("pairs, and a few hot items", pairs),
    uneven("two phases of equal totals", two_phases),
];

fn take(mut stream: impl Generator, number: usize) -> Vec<u64> {
    let mut items = vec![0; number];
    stream.fill(&mut items);
    items
}

/// Calls `add` until there are `number` items.
fn until(number: usize, mut add: impl FnMut(&mut Vec<u64>)) -> Vec<u64> {
    let mut items = Vec::with_capacity(number);
    while items.len() < number {
        add(&mut items);
    }
    items
}

fn matrix_product(number: usize) -> Vec<u64> {
    let side = 60;
    until(number, |items| {
        for row in 0..side {
            for column in 0..side {
                for inner in 0..side {
                    items.push(row * side + inner);
                    items.push((1 << 20) + inner * side + column);
                }
                items.push((2 << 20) + row * side + column);
            }
        }
    })
}

fn tiles(number: usize) -> Vec<u64> {
    let (side, tile) = (96, 16);
    until(number, |items| {
        let steps = || (0..side).step_by(tile as usize);
        for (rows, columns) in steps().flat_map(|row| steps().map(move |column| (row, column))) {
            for inners in steps() {
                for row in rows..rows + tile {
                    for column in columns..columns + tile {
                        for inner in inners..inners + tile {
                            items.push(row * side + inner);
                            items.push((1 << 20) + inner * side + column);
                        }
                        items.push((2 << 20) + row * side + column);
                    }
                }
                if items.len() >= number {
                    return;
                }
            }
        }
    })
}

fn binary_search(number: usize) -> Vec<u64> {
    let mut random = Random::new(5);
    until(number, |items| {
        let (mut low, mut high, wanted) = (0, 60_000, random.below(60_000));
        while low < high {
            let middle = (low + high) / 2;
            items.push(middle);
            if middle < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
    })
}

/// A walk over a grid that mostly stays near.
fn random_walk(number: usize) -> Vec<u64> {
    let (mut random, mut at) = (Random::new(6), 1_u64 << 30);
    until(number, |items| {
        at = match random.below(400) {
            0 => (1 << 30) + random.below(8000),
            step => at + step % 3 - 1,
        };
        items.push(at);
    })
}

/// Accesses to a window that moves on by an item now and then.
fn sliding_window(number: usize) -> Vec<u64> {
    let mut random = Random::new(7);
    let mut at = 0;
    until(number, |items| {
        at += u64::from(random.below(8) == 0);
        items.push(at + random.below(2000));
    })
}

/// New items, each used a few times soon after; now and then a sweep over the last 5000.
fn short_lived(number: usize) -> Vec<u64> {
    let (mut random, mut newest) = (Random::new(8), 5000_u64);
    until(number, |items| {
        newest += 1;
        items.push(newest);
        for _ in 0..random.below(6) {
            items.push(newest - random.below(60));
        }
        if newest % 4000 == 0 {
            items.extend(newest - 5000..newest);
        }
    })
}

/// Calls and returns: a stack that grows and shrinks at random.
fn stack(number: usize) -> Vec<u64> {
    let (mut random, mut depth) = (Random::new(9), 500_u64);
    until(number, |items| {
        depth = match random.below(2) {
            0 => (depth + 8).min(30_000),
            _ => depth.max(9) - 8,
        };
        items.extend(depth..depth + 8);
    })
}

/// A sweep over new items, each of which looks up one of 8000.
fn hash_join(number: usize) -> Vec<u64> {
    let (mut random, mut row) = (Random::new(10), 1_u64 << 40);
    until(number, |items| {
        row += 1;
        items.push(row);
        items.push(random.below(8000));
    })
}

/// Segments of 100, 5000 or 60,000 items, each swept 1, 2 or 5 times: short reuse is rare in time.
fn segments(number: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    until(number, |items| {
        let begin = random.below(1_000_000);
        let length = [100, 1000, 12_000][random.below(3) as usize];
        for _ in 0..[1, 2, 5][random.below(3) as usize] {
            items.extend(begin..begin + length);
        }
    })
}

/// The same with lengths from 8 to 16,000, evenly in their logarithm.
fn any_segments(number: usize) -> Vec<u64> {
    let mut random = Random::new(3);
    until(number, |items| {
        let begin = random.below(1_000_000);
        let length = (8.0 * 2000_f64.powf(random.unit())) as u64;
        for _ in 0..1 + random.below(4) {
            items.extend(begin..begin + length);
        }
    })
}

/// All accesses are new, but for those from `begin` to `end`: a loop over 70 items.
fn loop_at(number: usize, begin: usize, end: usize) -> Vec<u64> {
    let item = |at: usize| match at {
        at if at >= begin && at < end => (1 << 40) + at as u64 % 70,
        at => at as u64,
    };
    (0..number).map(item).collect()
}

/// Uniform accesses, and every now and then a loop over a few items.
fn loops_now_and_then(number: usize) -> Vec<u64> {
    let mut random = Random::new(11);
    until(number, |items| {
        let gap = random.below(60_000);
        for _ in 0..gap {
            items.push(random.below(9000));
        }
        let (begin, length) = (1_000_000 + random.below(1 << 30), 5 + random.below(40));
        for _ in 0..20 {
            items.extend(begin..begin + length);
        }
    })
}

/// Phases of 8192 accesses: a loop over 40 items, and a sweep.
fn rhythm(number: usize) -> Vec<u64> {
    let mut sweep = 0;
    until(number, |items| {
        items.extend((0..8192).map(|step| (1 << 40) + step % 40));
        items.extend((0..8192).map(|step| (sweep + step) % 50_000));
        sweep += 8192;
    })
}

/// A sweep over much data every now and then, and between them something that fits into small
/// caches.
fn phases(number: usize) -> Vec<u64> {
    let (mut near, mut random) = (Zipf::new(500, 0.8, 3), Random::new(4));
    until(number, |items| {
        let phase = 2000 + random.below(6000);
        items.extend((0..phase).map(|_| near.next_item()));
        items.extend((0..3000).map(|line| 0x1000_0000 + 64 * line));
    })
}

fn one_hot_item(number: usize) -> Vec<u64> {
    let mut random = Random::new(12);
    until(number, |items| {
        items.push(1 << 40);
        items.push(random.below(15_000));
    })
}

/// Items are accessed as often as a Pareto distribution of exponent 1.1 has it, each within its
/// own time.
fn heavy_tail(number: usize) -> Vec<u64> {
    let mut random = Random::new(13);
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut newest = 0;
    until(number, |items| {
        while live.len() < 3000 {
            let accesses = random.unit().max(1e-9).powf(-1.0 / 1.1);
            live.push((newest, accesses.min(1e6) as u64 + 1));
            newest += 1;
        }
        let at = random.below(live.len() as u64) as usize;
        items.push(live[at].0);
        live[at].1 -= 1;
        if live[at].1 == 0 {
            live.swap_remove(at);
        }
    })
}

/// A sweep in which single items are accessed many times in a row.
fn runs(number: usize) -> Vec<u64> {
    let (mut random, mut at) = (Random::new(14), 0);
    until(number, |items| {
        at += 1;
        let run = random.unit().max(1e-9).powf(-1.0 / 1.3).min(1e4) as usize;
        items.extend(std::iter::repeat_n(at % 20_000, run));
    })
}

fn start_work_end(number: usize) -> Vec<u64> {
    let mut items: Vec<u64> = (0..number as u64 / 10).collect();
    items.extend(take(Zipf::new(10_000, 0.9, 15), number * 7 / 10));
    items.extend(take(Loop::new(1 << 40, 64, 700), number));
    items
}

/// Items that are accessed twice, and a few that are accessed thousands of times.
fn pairs(number: usize) -> Vec<u64> {
    let (mut random, mut at) = (Random::new(16), 0);
    until(number, |items| {
        at += 2;
        items.extend([at, at + 1, at, at + 1]);
        if random.below(3) == 0 {
            items.push((1 << 40) + random.below(12));
        }
    })
}

/// A sweep of 900 items nearly always; twice for a short time one of 12 items.
fn two_phases(number: usize) -> Vec<u64> {
    let item = |at: usize| match at * 40 / number {
        13 | 29 => (1 << 40) + at as u64 % 12,
        _ => at as u64 % 900,
    };
    (0..number).map(item).collect()
}
