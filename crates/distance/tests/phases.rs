//! Streams that change their character, so that the counting tree changes its ways: between hash
//! table and shadow pages, with a window of recent accesses and without. It must stay equal to
//! Olken's tree.

use reuselens_baselines::OlkenTree;
use reuselens_distance::generate::Random;
use reuselens_distance::{CountingTree, Engine};
use reuselens_units::Distance;

/// Some accesses of one kind.
fn phase(random: &mut Random, items: &mut Vec<u64>) {
    let length = 1_000 + random.below(30_000);
    let (kind, base) = (random.below(7), random.below(4) << 32);
    let stride = 1 << random.below(8);
    let size = 1 + random.below(20_000);
    for step in 0..length {
        items.push(match kind {
            // Near: a few items again and again, around the length of the window.
            0 => base + step % (1 + size % 70),
            1 => base + random.below(1 + size % 70) * stride,
            // A sweep over an array, with a scalar in between.
            2 => base + if step % 3 == 0 { 7 } else { step * stride },
            3 => base + random.below(size) * stride,
            // Ids that lie anywhere.
            4 => (random.below(size) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            5 => u64::MAX - random.below(size) * stride,
            _ => random.below(1 << 30) << 33 | random.below(1 << 30),
        });
    }
}

#[test]
fn counting_tree_equals_olken_tree_through_phases() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut items = Vec::new();
        for _ in 0..12 {
            phase(&mut random, &mut items);
        }
        let mut expected = vec![Distance::COLD; items.len()];
        OlkenTree::new().process(&items, &mut expected);
        let longest = [1 << 20, 70_000, 5_000, 100][seed as usize % 4];
        let mut engine = CountingTree::new();
        let mut found = vec![Distance::ZERO; items.len()];
        let mut from = 0;
        while from < items.len() {
            let to = (from + 1 + random.below(longest) as usize).min(items.len());
            engine.process(&items[from..to], &mut found[from..to]);
            from = to;
        }
        let wrong = found.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "seed {seed}");
        let cold = expected.iter().filter(|distance| distance.is_cold());
        assert_eq!(engine.distinct().get(), cold.count() as u64);
        check_recency(&engine, &items);
    }
}

/// Just as ids that lie close together have made it go over to shadow pages, ids come that lie far
/// apart.
#[test]
fn scattered_ids_after_a_sweep() {
    for sweep in (500..30_000).step_by(487) {
        let scattered = (1..3_000_u64).map(|id| id << 20);
        let items: Vec<u64> = (0..sweep)
            .chain(scattered.clone())
            .chain(scattered)
            .collect();
        for block in [items.len(), 64, 1000] {
            let mut engine = CountingTree::new();
            let mut found = vec![Distance::ZERO; items.len()];
            for (items, found) in items.chunks(block).zip(found.chunks_mut(block)) {
                engine.process(items, found);
            }
            let mut expected = vec![Distance::COLD; items.len()];
            expected[items.len() - 2999..].fill(Distance::new(2998));
            assert!(found == expected, "{sweep} in blocks of {block}");
        }
    }
}

fn check_recency(engine: &CountingTree, items: &[u64]) {
    let mut seen = std::collections::HashSet::new();
    let mut expected: Vec<u64> = items.iter().rev().copied().collect();
    expected.retain(|item| seen.insert(*item));
    expected.reverse();
    assert!(engine.by_recency() == expected, "another order");
}
