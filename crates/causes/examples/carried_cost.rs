//! What finding the carriers of reuses costs per access, with the look-up of items: `cargo run
//! --release -p reuselens-causes --example carried_cost`. Matrix products of several sizes, by the
//! loops `i j k`, and an interpreter whose one dispatcher jumps to 200 handlers in a random order.

use reuselens_causes::{CauseCounts, CauseOptions, MissColumns, NO_OFFSET};
use reuselens_control_flow::{BasicBlock, BlockEnd};
use reuselens_distance::{CountingTree, Engine};
use reuselens_units::{Bytes, Distance};

/// Accesses of a piece, about.
const PIECE: usize = 1 << 15;
/// Operations that the interpreter knows.
const HANDLERS: u64 = 200;

/// Item accesses with their blocks.
#[derive(Default)]
struct Piece {
    items: Vec<u64>,
    cells: Vec<u32>,
    blocks: Vec<(u32, BasicBlock)>,
    distances: Vec<Distance>,
}

fn block(start: u64, end: BlockEnd, taken: u64) -> BasicBlock {
    BasicBlock {
        start,
        length: 16,
        taken,
        end,
    }
}

/// The pieces of the product of two matrices of `n` rows of `n` doubles.
fn product(n: u64) -> Vec<Piece> {
    let matrix = |base: u64, row: u64, column: u64| (base << 40) + (row * n + column) / 8;
    let mut pieces = vec![Piece::default()];
    for i in 0..n {
        for j in 0..n {
            let full = pieces.last().is_none_or(|last| last.items.len() > PIECE);
            pieces.extend(full.then(Piece::default));
            let Some(piece) = pieces.last_mut() else {
                return pieces;
            };
            let access = |piece: &mut Piece, item, cell| {
                piece.items.push(item);
                piece.cells.push(cell);
            };
            let at = |piece: &Piece| piece.items.len() as u32;
            piece
                .blocks
                .push((at(piece), block(16, BlockEnd::Falls, 0)));
            for k in 0..n {
                piece
                    .blocks
                    .push((at(piece), block(32, BlockEnd::Branch, 32)));
                access(piece, matrix(1, i, k), 0);
                access(piece, matrix(2, k, j), 1);
            }
            piece
                .blocks
                .push((at(piece), block(48, BlockEnd::Branch, 16)));
            access(piece, matrix(3, i, j), 2);
        }
        let Some(piece) = pieces.last_mut() else {
            return pieces;
        };
        piece
            .blocks
            .push((piece.items.len() as u32, block(64, BlockEnd::Branch, 16)));
    }
    pieces
}

/// The pieces of an interpreter: each of so many operations has a block of the dispatcher, which
/// loads the operation, and one of its handler, which loads an operand.
fn interpreter(operations: u64) -> Vec<Piece> {
    let mut random = 1_u64;
    let mut pieces = vec![Piece::default()];
    for operation in 0..operations {
        let full = pieces.last().is_none_or(|last| last.items.len() > PIECE);
        pieces.extend(full.then(Piece::default));
        let Some(piece) = pieces.last_mut() else {
            return pieces;
        };
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let handler = 1024 + 64 * (random % HANDLERS);
        let items = [operation % 10_000 / 8, (1 << 40) + random / HANDLERS % 4096];
        let dispatcher = block(512, BlockEnd::Indirect, 0);
        let blocks = [dispatcher, block(handler, BlockEnd::Jump, 512)];
        for (cell, (item, block)) in (0..).zip(items.into_iter().zip(blocks)) {
            piece.blocks.push((piece.items.len() as u32, block));
            piece.items.push(item);
            piece.cells.push(cell);
        }
    }
    pieces
}

/// Nanoseconds that this thread has run.
fn processor_time() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = times.split_whitespace().next().map(str::parse);
    time.and_then(Result::ok)
        .expect("/proc has the times of threads")
}

/// Nanoseconds per access, and what was counted.
fn cost(pieces: &[Piece], carried: bool, cache: u64) -> (f64, CauseCounts) {
    let mut reuses = CauseCounts::new(CauseOptions {
        cache: Bytes(64 * cache),
        carried: carried.then_some(CauseOptions::MOST_CARRIED),
        ..CauseOptions::default()
    });
    let bytes = vec![1_u64; 4 * PIECE];
    let (stores, offsets) = (vec![false; 4 * PIECE], vec![NO_OFFSET; 4 * PIECE]);
    let (begin, mut accesses) = (processor_time(), 0);
    for piece in pieces {
        let count = piece.items.len();
        accesses += count;
        let columns = MissColumns {
            thread: 0,
            items: &piece.items,
            distances: &piece.distances,
            cells: &piece.cells,
            bytes: &bytes[..count],
            stores: &stores[..count],
            offsets: &offsets[..count],
        };
        reuses.process_blocks(0, &columns, &piece.blocks);
    }
    ((processor_time() - begin) / accesses as f64, reuses)
}

fn main() {
    let products = [64, 200, 400].map(|n| (format!("product of {n} rows"), product(n)));
    let programs = products
        .into_iter()
        .chain([("interpreter".to_owned(), interpreter(10_000_000))]);
    for (name, mut pieces) in programs {
        let mut engine = CountingTree::new();
        for piece in &mut pieces {
            piece.distances.resize(piece.items.len(), Distance::COLD);
            engine.process(&piece.items, &mut piece.distances);
        }
        let accesses: usize = pieces.iter().map(|piece| piece.items.len()).sum();
        for (carried, cache) in [(false, 512), (true, 1 << 40), (true, 512)] {
            let (spent, mut reuses) = cost(&pieces, carried, cache);
            let memory = reuses.memory();
            let Some(counts) = reuses.take_carried() else {
                println!("{name}: {spent:.1} ns per access for the look-up alone, {memory}");
                continue;
            };
            let misses: u64 = counts.pairs.iter().map(|pair| pair.misses).sum();
            let share = 100.0 * misses as f64 / accesses as f64;
            println!("{name}: {spent:.1} ns per access with carriers, {share:.1} % miss, {memory}");
        }
    }
}
