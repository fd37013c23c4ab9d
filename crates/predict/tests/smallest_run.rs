//! Programs of twelve kinds, each with a start that does not grow: the smallest of three runs does
//! not spoil a prediction that the two larger ones would give.

use reuselens_locality::{ExactHistogram, Log2Histogram};
use reuselens_predict::{ProgramRun, Shape, data_size, predict_program, without};
use reuselens_units::Distance;

/// The accesses of a program with input `n`.
type Program = fn(u64, &mut Vec<u64>);

/// Name, program, three inputs to predict from, and one to predict.
const PROGRAMS: [(&str, Program, [u64; 3], u64); 12] = [
    ("matrix product", matrix_product, [8, 16, 24], 56),
    ("matrix product in tiles", tiles, [8, 16, 24], 56),
    ("list in order", list_in_order, [300, 1200, 3000], 12_000),
    (
        "list in disorder",
        list_in_disorder,
        [300, 1200, 3000],
        12_000,
    ),
    ("hash join", hash_join, [200, 800, 2000], 8000),
    ("stencil", stencil, [20, 40, 64], 128),
    ("sweeps along columns and rows", adi, [20, 40, 64], 128),
    ("transform of rows", transform, [8, 16, 32], 128),
    ("sparse product", sparse_product, [100, 400, 1000], 4000),
    ("quicksort", quicksort, [500, 2000, 5000], 20_000),
    ("elimination", elimination, [10, 20, 32], 64),
    ("binary search", binary_search, [300, 1200, 3000], 12_000),
];

fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// What loading a program does: the same in every run.
fn start(items: &mut Vec<u64>) {
    let mut state = 1;
    for step in 0..6000 {
        let far = if step % 5 == 0 { 900 } else { 24 };
        items.push((1 << 40) + step / 40 + random(&mut state) % far);
    }
}

fn matrix_product(n: u64, items: &mut Vec<u64>) {
    for row in 0..n {
        for column in 0..n {
            for inner in 0..n {
                items.extend([row * n + inner, (1 << 20) + inner * n + column]);
            }
            items.push((2 << 20) + row * n + column);
        }
    }
}

fn tiles(n: u64, items: &mut Vec<u64>) {
    let steps = || (0..n).step_by(8);
    for (rows, columns) in steps().flat_map(|row| steps().map(move |column| (row, column))) {
        for inners in steps() {
            for (row, column) in (0..64).map(|at| (rows + at / 8, columns + at % 8)) {
                for inner in inners..inners + 8 {
                    items.extend([row * n + inner, (1 << 20) + inner * n + column]);
                }
                items.push((2 << 20) + row * n + column);
            }
        }
    }
}

fn list_in_order(n: u64, items: &mut Vec<u64>) {
    (0..6).for_each(|_| items.extend((0..n).flat_map(|at| [at, at])));
}

fn list_in_disorder(n: u64, items: &mut Vec<u64>) {
    let step = (7919 % n) | 1;
    (0..6).for_each(|_| items.extend((0..n).flat_map(|at| [at * step % n, at * step % n + 1])));
}

fn hash_join(n: u64, items: &mut Vec<u64>) {
    let mut state = 2;
    items.extend((0..n).flat_map(|at| [(1 << 30) + at, random(&mut state) % n]));
    for at in 0..6 * n {
        items.extend([(1 << 31) + at / 4, random(&mut state) % n]);
    }
}

fn stencil(n: u64, items: &mut Vec<u64>) {
    for _ in 0..4 {
        for row in 1..n - 1 {
            for at in row * n + 1..row * n + n - 1 {
                items.extend([at - n, at - 1, at, at + 1, at + n, (1 << 20) + at]);
            }
        }
    }
}

fn adi(n: u64, items: &mut Vec<u64>) {
    for _ in 0..2 {
        for at in n..n * n {
            items.extend([at - n, (1 << 20) + at, at]);
        }
        for at in (0..n * n)
            .map(|at| at % n * n + at / n)
            .filter(|at| at % n > 0)
        {
            items.extend([at - 1, (1 << 20) + at, at]);
        }
    }
}

fn transform(n: u64, items: &mut Vec<u64>) {
    for row in 0..n {
        let mut half = 1;
        while half < n {
            for at in (0..n).filter(|at| at & half == 0) {
                items.extend([row * n + at, row * n + at + half, (1 << 20) + at]);
            }
            half *= 2;
        }
    }
}

fn sparse_product(n: u64, items: &mut Vec<u64>) {
    for _ in 0..3 {
        let mut state = 3;
        for row in 0..n {
            for entry in 0..5 {
                items.extend([(1 << 30) + row * 5 + entry, random(&mut state) % n]);
            }
            items.push((1 << 31) + row);
        }
    }
}

fn quicksort(n: u64, items: &mut Vec<u64>) {
    let mut state = 4;
    let mut numbers: Vec<u64> = (0..n).map(|_| random(&mut state)).collect();
    let mut parts = vec![(0, n as usize)];
    while let Some((begin, end)) = parts.pop() {
        if end - begin < 2 {
            continue;
        }
        let pivot = numbers[(begin + end) / 2];
        let part = &mut numbers[begin..end];
        items.extend(begin as u64..end as u64);
        part.sort_unstable_by_key(|number| (*number > pivot, *number == pivot));
        let below = part.iter().filter(|number| **number < pivot).count();
        parts.push((begin + below + 1, end));
        parts.push((begin, begin + below));
    }
}

fn elimination(n: u64, items: &mut Vec<u64>) {
    for pivot in 0..n {
        for row in pivot + 1..n {
            for column in pivot..n {
                items.extend([row * n + column, pivot * n + column]);
            }
        }
    }
}

fn binary_search(n: u64, items: &mut Vec<u64>) {
    let mut state = 5;
    for _ in 0..n {
        let (mut low, mut high, wanted) = (0, n, random(&mut state) % n);
        while low < high {
            let middle = (low + high) / 2;
            items.push(middle);
            (low, high) = if middle < wanted {
                (middle + 1, high)
            } else {
                (low, middle)
            };
        }
    }
}

/// The distances of a program's accesses, its start included: a tree of sums over time.
fn run(program: Program, n: u64) -> ExactHistogram {
    let mut items = Vec::new();
    start(&mut items);
    program(n, &mut items);
    distances(&items)
}

/// The distances of the start.
fn started() -> ExactHistogram {
    let mut items = Vec::new();
    start(&mut items);
    distances(&items)
}

fn distances(items: &[u64]) -> ExactHistogram {
    let mut sums = vec![0_i64; items.len() + 1];
    let mut last = std::collections::HashMap::new();
    let mut histogram = ExactHistogram::new();
    for (time, item) in items.iter().enumerate() {
        let add = |sums: &mut [i64], time: usize, by| {
            let mut at = time + 1;
            while at < sums.len() {
                sums[at] += by;
                at += at & at.wrapping_neg();
            }
        };
        let upto = |sums: &[i64], time: usize| {
            let (mut at, mut sum) = (time + 1, 0);
            while at > 0 {
                sum += sums[at];
                at &= at - 1;
            }
            sum
        };
        let distance = last.insert(*item, time).map_or(Distance::COLD, |before| {
            add(&mut sums, before, -1);
            Distance::new((last.len() as i64 - 1 - upto(&sums, before)) as u64)
        });
        add(&mut sums, time, 1);
        histogram.add(distance, 1);
    }
    histogram
}

/// 1 − ½·Σ|a − b| over log2 bins and first touches.
fn accuracy(predicted: &ExactHistogram, observed: &ExactHistogram) -> f64 {
    let shares = |histogram: &ExactHistogram| {
        let bins = Log2Histogram::of(histogram);
        let all = histogram.accesses() as f64;
        let counts = (0..Log2Histogram::BINS).map(|bin| bins.count(bin));
        let counts = counts.chain([histogram.cold()]);
        counts.map(|count| count as f64 / all).collect::<Vec<_>>()
    };
    let pairs = shares(predicted).into_iter().zip(shares(observed));
    1.0 - pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

#[test]
fn the_smallest_of_three_runs_does_not_spoil_the_prediction() {
    let mut accuracies = Vec::new();
    for (name, program, inputs, input) in PROGRAMS {
        let histograms = inputs.map(|n| run(program, n));
        let observed = run(program, input);
        let started = started();
        let size = |histogram| data_size(&without(histogram, &started)).unwrap() as f64;
        let runs: Vec<ProgramRun> = histograms
            .iter()
            .map(|histogram| ProgramRun {
                size: size(histogram),
                grown: size(histogram),
                start: &started,
                histogram,
            })
            .collect();
        let asked = (size(&observed), size(&observed));
        let accuracy = |runs: &[ProgramRun]| {
            let predicted = predict_program(runs, &Shape::ALL, asked).unwrap();
            accuracy(&predicted.histogram, &observed)
        };
        let (three, larger) = (accuracy(&runs), accuracy(&runs[1..]));
        println!("{name}: {three:.3} from three runs, {larger:.3} from the larger two");
        accuracies.push((name, three, larger));
    }
    // A rank of 5000 accesses is 5 of them: that is the noise of quicksort, whose ranks move. With
    // the start among the ranks and in the sizes, the means were 0.617 and 0.647.
    for (name, three, larger) in &accuracies {
        assert!(three > &(larger - 0.02), "{name}: {three} against {larger}");
    }
    let mean = |of: fn(&(&str, f64, f64)) -> f64| accuracies.iter().map(of).sum::<f64>() / 12.0;
    let (three, larger) = (mean(|it| it.1), mean(|it| it.2));
    assert!(three > larger - 0.005, "{three} against {larger}");
    assert!(three > 0.91, "{three}");
}
