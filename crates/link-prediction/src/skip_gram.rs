//! The skip-gram model with negative sampling, as word2vec trains it.
//!
//! Source: Mikolov et al., *Distributed Representations of Words and Phrases and their
//! Compositionality*, 2013, and its program `word2vec.c`: window, order of updates, table of the
//! logistic function and decay of the learning rate are as there. Two things differ. Negatives come
//! from an alias table, not from a table of 10⁸ entries that rounds their probabilities, and the
//! learning rate falls after each walk, not after each 10,000 vertices.

use reuselens_hugepages::{Huge, prefetch};
use reuselens_simd::{Level, entry_point};

use crate::random::{AliasTable, Purpose, RandomStream};
use crate::vector::{add, dot, padded, step};
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
    /// What the input vector of the current pair changes by.
    gradient: Vec<f32>,
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
            gradient: vec![0.0; stride],
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
        self.gradient.fill(0.0);
        self.target(input, output, 1.0, rate);
        for at in turn * self.negatives..(turn + 1) * self.negatives {
            let drawn = self.drawn[at];
            if drawn != output {
                self.target(input, drawn, 0.0, rate);
            }
        }
        let start = input as usize * self.stride;
        add(&mut self.inputs[start..start + self.stride], &self.gradient);
    }

    #[inline(always)]
    fn target(&mut self, input: u32, output: u32, label: f32, rate: f32) {
        let input = input as usize * self.stride;
        let output = output as usize * self.stride;
        let input = &self.inputs[input..input + self.stride];
        let output = &mut self.outputs[output..output + self.stride];
        let rate = (label - logistic(&self.logistic, dot(input, output))) * rate;
        step(rate, input, output, &mut self.gradient);
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
}
