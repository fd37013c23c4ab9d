//! The skip-gram model with negative sampling, as word2vec trains it.
//!
//! Source: Mikolov et al., *Distributed Representations of Words and Phrases and their
//! Compositionality*, 2013, and its program `word2vec.c`. Window, order of the pairs, table of the
//! logistic function and decay of the learning rate are as there. Three things differ:
//!
//! - Negatives come from an alias table. The program's table of 10⁸ entries rounds probabilities.
//! - The learning rate falls after each walk, not after each 10,000 vertices.
//! - A pair and its negatives are all measured before the first of them is moved. That only shows
//!   where a negative is drawn twice for one pair, and training is a fifth faster: the sums do not
//!   wait for each other.

use reuselens_hugepages::{Huge, prefetch};
use reuselens_simd::{Level, entry_point};

use crate::random::{AliasTable, Purpose, RandomStream};
use crate::vector::{Update, dot, padded, update};
use crate::{Node2vecOptions, Walks};

/// Beyond ± this, the logistic function counts as 0 or 1.
const LARGEST_EXPONENT: f32 = 6.0;
/// Entries of the table of the logistic function.
const LOGISTIC_ENTRIES: usize = 1000;
/// Numbers in a cache line of 64 bytes.
const NUMBERS_IN_A_LINE: usize = 16;
/// The learning rate never falls below this share of its first value.
const LEAST_RATE: f32 = 1e-4;

/// The model while it is trained.
pub(crate) struct SkipGram {
    stride: usize,
    window: usize,
    negatives: usize,
    /// The vectors that are wanted, one row for each vertex.
    inputs: Huge<f32>,
    /// The vectors of vertices as the context of others.
    outputs: Huge<f32>,
    /// What the vectors of the current pair, and of its negatives, change by.
    updates: Vec<Update>,
    logistic: Vec<f32>,
    noise: AliasTable,
    /// The negatives of all pairs of one vertex in a walk.
    drawn: Vec<u32>,
    random: RandomStream,
}

impl SkipGram {
    /// Trains vectors by `walks` on one thread, and returns a padded row for each of `vertices`.
    pub fn train(
        level: Level,
        walks: &Walks,
        vertices: usize,
        options: &Node2vecOptions,
    ) -> Vec<f32> {
        if walks.visits() == 0 {
            return vec![0.0; vertices * padded(options.dimensions)];
        }
        let mut model = SkipGram::new(walks, vertices, options);
        let total = (walks.visits() * options.epochs + 1) as f32;
        let mut trained = 0;
        for _ in 0..options.epochs {
            for walk in walks.iter() {
                let left = 1.0 - trained as f32 / total;
                let rate = options.learning_rate * left.max(LEAST_RATE);
                train_walk(level, &mut model, walk, rate);
                trained += walk.len();
            }
        }
        model.inputs.to_vec()
    }

    fn new(walks: &Walks, vertices: usize, options: &Node2vecOptions) -> SkipGram {
        let stride = padded(options.dimensions);
        let mut visits = vec![0u64; vertices];
        for vertex in walks.iter().flatten() {
            visits[*vertex as usize] += 1;
        }
        let weights: Vec<f64> = visits
            .into_iter()
            .map(|visits| libm::pow(visits as f64, 0.75))
            .collect();
        let mut random = RandomStream::new(options.seed, Purpose::Vectors, 0);
        let mut inputs: Huge<f32> = Huge::new(vertices * stride);
        for row in inputs.chunks_exact_mut(stride) {
            for number in &mut row[..options.dimensions] {
                *number = (random.unit() as f32 - 0.5) / options.dimensions as f32;
            }
        }
        SkipGram {
            stride,
            window: options.window,
            negatives: options.negatives,
            inputs,
            outputs: Huge::new(vertices * stride),
            updates: Vec::with_capacity(1 + options.negatives),
            logistic: logistic_table(),
            noise: AliasTable::new(&weights),
            drawn: Vec::with_capacity(2 * options.window * options.negatives),
            random: RandomStream::new(options.seed, Purpose::SkipGram, 0),
        }
    }

    /// Trains each vertex of `walk` with those around it.
    #[inline(always)]
    fn walk(&mut self, walk: &[u32], rate: f32) {
        for (at, center) in walk.iter().enumerate() {
            let reach = 1 + self.random.below(self.window);
            let before = &walk[at.saturating_sub(reach)..at];
            let after = &walk[at + 1..(at + reach + 1).min(walk.len())];
            self.draw_noise(before.len() + after.len());
            for (turn, other) in before.iter().chain(after).enumerate() {
                self.request_noise(turn + 1);
                self.pair(turn, *other, *center, rate);
            }
        }
    }

    /// Draws the negatives of the next `pairs` pairs.
    #[inline(always)]
    fn draw_noise(&mut self, pairs: usize) {
        self.drawn.clear();
        for _ in 0..pairs * self.negatives {
            self.drawn.push(self.noise.draw(&mut self.random));
        }
        self.request_noise(0);
    }

    /// Requests the output vectors of the negatives of a pair. They are random rows, outside of the
    /// caches: while the pair before is trained, they arrive.
    #[inline(always)]
    fn request_noise(&self, turn: usize) {
        let begin = (turn * self.negatives).min(self.drawn.len());
        let end = (begin + self.negatives).min(self.drawn.len());
        for drawn in &self.drawn[begin..end] {
            let row = *drawn as usize * self.stride;
            for line in (row..row + self.stride).step_by(NUMBERS_IN_A_LINE) {
                prefetch(&self.outputs, line);
            }
        }
    }

    /// Makes the input vector of `input` predict `output`, and not the negatives of this turn.
    #[inline(always)]
    fn pair(&mut self, turn: usize, input: u32, output: u32, rate: f32) {
        self.updates.clear();
        let input = input as usize * self.stride;
        self.target(input, output, 1.0, rate);
        for at in turn * self.negatives..(turn + 1) * self.negatives {
            let drawn = self.drawn[at];
            if drawn != output {
                self.target(input, drawn, 0.0, rate);
            }
        }
        let input = &mut self.inputs[input..input + self.stride];
        update(input, &mut self.outputs, &self.updates);
    }

    /// Notes how far the vectors of a pair are to move towards each other.
    #[inline(always)]
    fn target(&mut self, input: usize, output: u32, label: f32, rate: f32) {
        let row = output as usize * self.stride;
        let input = &self.inputs[input..input + self.stride];
        let product = dot(input, &self.outputs[row..row + self.stride]);
        let rate = (label - logistic(&self.logistic, product)) * rate;
        self.updates.push(Update { row, rate });
    }
}

entry_point! {
    /// Trains `model` by one walk.
    fn train_walk(level, model: &mut SkipGram, walk: &[u32], rate: f32) {
        V4(_) => model.walk(walk, rate),
        V3(_) => model.walk(walk, rate),
        _ => model.walk(walk, rate),
    }
}

/// The logistic function from −[`LARGEST_EXPONENT`] to [`LARGEST_EXPONENT`]. `libm` computes it,
/// whose results are the same on all machines.
fn logistic_table() -> Vec<f32> {
    (0..LOGISTIC_ENTRIES)
        .map(|entry| {
            let position = entry as f64 / LOGISTIC_ENTRIES as f64 * 2.0 - 1.0;
            let exponential = libm::exp(position * f64::from(LARGEST_EXPONENT));
            (exponential / (exponential + 1.0)) as f32
        })
        .collect()
}

#[inline(always)]
fn logistic(table: &[f32], x: f32) -> f32 {
    if x >= LARGEST_EXPONENT {
        1.0
    } else if x <= -LARGEST_EXPONENT {
        0.0
    } else {
        let scale = LOGISTIC_ENTRIES as f32 / (2.0 * LARGEST_EXPONENT);
        // A value just below the largest can be rounded up to the end of the table.
        let entry = ((x + LARGEST_EXPONENT) * scale) as usize;
        table[entry.min(LOGISTIC_ENTRIES - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pair, SimpleGraph};

    #[test]
    fn logistic_table_is_within_a_step_of_the_function() {
        let table = logistic_table();
        for step in -700..=700 {
            let x = step as f32 / 100.0;
            let exact = 1.0 / (1.0 + (-x).exp());
            assert!((logistic(&table, x) - exact).abs() < 0.0035, "{x}");
        }
        assert_eq!(logistic(&table, f32::NAN), table[0]);
    }

    /// Vectors as plain numbers.
    fn rows(table: &[f32], stride: usize) -> Vec<Vec<f64>> {
        let row = |row: &[f32]| row.iter().map(|x| f64::from(*x)).collect();
        table.chunks_exact(stride).map(row).collect()
    }

    #[test]
    fn a_pair_moves_vectors_as_the_formula_says() {
        let pairs: Vec<Pair> = (0..9).filter_map(|u| Pair::new(u, u + 1)).collect();
        let graph = SimpleGraph::new(10, &pairs);
        let options = Node2vecOptions {
            dimensions: 40,
            ..Node2vecOptions::default()
        };
        let mut model = SkipGram::new(&Walks::new(&graph, &options), 10, &options);
        let stride = model.stride;
        for (at, number) in model.inputs.iter_mut().enumerate() {
            *number += (at % 7) as f32 * 0.1 - 0.3;
        }
        for (at, number) in model.outputs.iter_mut().enumerate() {
            *number = (at % 5) as f32 * 0.1 - 0.2;
        }
        let (input, output, rate) = (3, 4, 0.025);
        let (inputs, outputs) = (rows(&model.inputs, stride), rows(&model.outputs, stride));
        model.draw_noise(2);
        let negatives = model.drawn[options.negatives..].to_vec();
        model.pair(1, input, output, rate);

        let mut wanted = (inputs.clone(), outputs.clone());
        let noise = negatives.iter().filter(|drawn| **drawn != output);
        for (target, label) in noise.map(|drawn| (*drawn, 0.0)).chain([(output, 1.0)]) {
            let (from, to) = (&inputs[input as usize], &outputs[target as usize]);
            let product: f64 = from.iter().zip(to).map(|(a, b)| a * b).sum();
            let step = (label - 1.0 / (1.0 + (-product).exp())) * f64::from(rate);
            for lane in 0..stride {
                wanted.0[input as usize][lane] += step * to[lane];
                wanted.1[target as usize][lane] += step * from[lane];
            }
        }
        let is_close = |a: &[Vec<f64>], b: &[Vec<f64>]| {
            let mut both = a.iter().flatten().zip(b.iter().flatten());
            both.all(|(a, b)| (a - b).abs() < 2e-4)
        };
        // The steps are larger than the tolerance by far.
        assert!(!is_close(&wanted.0, &inputs) && !is_close(&wanted.1, &outputs));
        assert!(is_close(&wanted.0, &rows(&model.inputs, stride)));
        assert!(is_close(&wanted.1, &rows(&model.outputs, stride)));
    }
}
