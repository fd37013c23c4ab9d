//! What finding the carriers of reuses costs per access, with the look-up of items: `cargo run
//! --release -p reuselens-causes --example carried_cost`. Matrix products of several sizes, by the
//! loops `i j k`.

use reuselens_causes::{CauseCounts, CauseOptions, MissColumns, NO_OFFSET};
use reuselens_control_flow::{BasicBlock, BlockEnd};
use reuselens_distance::{CountingTree, Engine};
use reuselens_units::{Bytes, Distance};

/// Accesses of a piece, about.
const PIECE: usize = 1 << 15;

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
        ..BasicBlock::default()
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

/// Nanoseconds that this thread has run.
fn processor_time() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = times.split_whitespace().next().map(str::parse);
    time.and_then(Result::ok)
        .expect("/proc has the times of threads")
}

fn main() {
    for n in [64, 200, 400] {
        let mut pieces = product(n);
        let mut engine = CountingTree::new();
        for piece in &mut pieces {
            piece.distances.resize(piece.items.len(), Distance::COLD);
            engine.process(&piece.items, &mut piece.distances);
        }
        let accesses: usize = pieces.iter().map(|piece| piece.items.len()).sum();
        for (carried, cache) in [(false, 512), (true, 1 << 40), (true, 512)] {
            let mut reuses = CauseCounts::new(CauseOptions {
                cache: Bytes(64 * cache),
                carried: carried.then_some(CauseOptions::MOST_CARRIED),
                ..CauseOptions::default()
            });
            let bytes = vec![1_u64; 4 * PIECE];
            let (stores, offsets) = (vec![false; 4 * PIECE], vec![NO_OFFSET; 4 * PIECE]);
            let begin = processor_time();
            for piece in &pieces {
                let count = piece.items.len();
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
            let spent = (processor_time() - begin) / accesses as f64;
            let memory = reuses.memory();
            let Some(counts) = reuses.take_carried() else {
                println!("n {n}: {spent:.1} ns per access for the look-up alone, {memory}");
                continue;
            };
            let misses: u64 = counts.pairs.iter().map(|pair| pair.misses).sum();
            let share = 100.0 * misses as f64 / accesses as f64;
            println!("n {n}: {spent:.1} ns per access with carriers, {share:.1} % miss, {memory}");
        }
    }
}
