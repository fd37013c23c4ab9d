//! Paths of small programs, written down as blocks.

use reuselens_locality::{PathTable, PatternRule};
use reuselens_predict::{BasicBlock, BlockEnd, PathTracker};
use reuselens_profile::PathProfile;
use reuselens_units::Distance;

/// A block of 16 bytes at 16 times its number, which may branch to another.
fn block(number: u64, end: BlockEnd, taken: u64) -> BasicBlock {
    BasicBlock {
        start: number * 16,
        length: 16,
        taken: taken * 16,
        end,
    }
}

fn falls(number: u64) -> BasicBlock {
    block(number, BlockEnd::Falls, 0)
}

fn branch(number: u64, taken: u64) -> BasicBlock {
    block(number, BlockEnd::Branch, taken)
}

/// Runs a trace; the path at each block whose number is asked for, as its newest `length` outcomes.
fn paths(tracker: &mut PathTracker, trace: &[BasicBlock], at: u64, length: usize) -> Vec<String> {
    let mut found = Vec::new();
    for block in trace {
        tracker.enter(block);
        if block.start == at * 16 {
            let bits = format!("{:032b}", tracker.path().outcomes);
            found.push(bits[32 - length..].to_owned());
        }
    }
    found
}

/// `times` runs of one block that branches back to itself.
fn simple_loop(number: u64, times: usize) -> Vec<BasicBlock> {
    vec![branch(number, number); times]
}

#[test]
fn outcomes_are_kept_newest_last() {
    let mut tracker = PathTracker::new(4);
    let trace = [
        branch(1, 3),
        falls(3),
        branch(4, 6),
        falls(5),
        falls(6),
        branch(7, 9),
        falls(9),
    ];
    assert_eq!(paths(&mut tracker, &trace, 9, 3), ["101"]);
}

#[test]
fn long_loop_drops_its_iterations_from_the_path() {
    for keep in 1..6_usize {
        let mut tracker = PathTracker::new(keep as u32);
        // Once, to learn that block 2 is a loop.
        let round: Vec<_> = [
            vec![branch(0, 9), falls(1)],
            simple_loop(2, 11),
            vec![falls(3)],
        ]
        .concat();
        let mut again = round.clone();
        again[0].taken = 16; // Taken to block 1.
        paths(&mut tracker, &round, 2, 8);
        for (trace, outside) in [(round, 0), (again, 1)] {
            let found = paths(&mut tracker, &trace, 2, keep);
            let expected: Vec<String> = (0..11)
                .map(|iteration| {
                    let ones = "1".repeat(iteration % keep);
                    let all = format!("{}{outside}{ones}", "x".repeat(keep));
                    all[all.len() - keep..].to_owned()
                })
                .collect();
            for (found, expected) in found.iter().zip(&expected) {
                let same = expected
                    .chars()
                    .zip(found.chars())
                    .all(|(e, f)| e == 'x' || e == f);
                assert!(same, "{found} is not {expected} with {keep}");
            }
            // After the loop there is nothing of it left.
            assert_eq!(tracker.path().outcomes & 1, outside);
        }
    }
}

#[test]
fn an_outer_loop_counts_its_own_iterations() {
    let mut tracker = PathTracker::new(4);
    // 1: the outer loop begins; 2: the inner one; 3: back to 1.
    let pass = [vec![falls(1)], simple_loop(2, 7), vec![branch(3, 1)]].concat();
    let mut trace = vec![branch(0, 1)];
    (0..9).for_each(|_| trace.extend(&pass));
    // What runs next is not reached from here.
    trace.push(block(5, BlockEnd::Return, 0));
    paths(&mut tracker, &trace, 1, 6);
    let found = paths(&mut tracker, &trace, 1, 6);
    // The branch before it was taken, this time and the time before; then come 0 to 3 iterations.
    let expected = ["000011", "000111", "001111", "011111", "000011"];
    assert_eq!(found[..5], expected);
    paths(&mut tracker, &[branch(6, 9), falls(7)], 7, 1);
    let after = tracker.path().outcomes;
    assert_eq!(after, 0b110, "the outer loop is gone with the inner one");
}

#[test]
fn recursion_does_not_count_as_a_loop() {
    let mut tracker = PathTracker::new(4);
    // A function at 1 that calls itself from block 2, and returns to 3.
    let call = block(2, BlockEnd::Call, 0);
    let mut trace = vec![block(0, BlockEnd::Call, 0)];
    let depth = 6;
    (0..depth).for_each(|_| trace.extend([branch(1, 4), call]));
    trace.extend([branch(1, 4), block(4, BlockEnd::Return, 0)]);
    (0..depth).for_each(|_| trace.push(block(3, BlockEnd::Return, 0)));
    trace.push(falls(1000)); // Not where it was called from: nothing happens.
    // Every call asked whether to go on: six times not taken, once taken.
    let found = paths(&mut tracker, &trace, 1, 8);
    assert_eq!(found.len(), 7);
    assert_eq!(tracker.path().outcomes, 1);
    assert_eq!(
        paths(&mut tracker, &[branch(5, 7), falls(7)], 7, 3),
        ["011"]
    );
}

#[test]
fn a_return_leaves_the_loops_of_its_call() {
    let mut tracker = PathTracker::new(4);
    let call = block(1, BlockEnd::Call, 0);
    let function = [vec![branch(50, 52), falls(51)], simple_loop(52, 3)].concat();
    let mut trace = vec![branch(0, 1), call];
    trace.extend(&function);
    // Returns from the middle of the loop: its last block is a return.
    trace.push(block(52, BlockEnd::Return, 0));
    trace.push(falls(2));
    for _ in 0..2 {
        paths(&mut tracker, &trace, 2, 8);
    }
    // Block 0 was taken, block 50 was not; the loop is gone, and the outcome in the call is there.
    assert_eq!(paths(&mut tracker, &trace, 2, 2), ["10"]);
}

#[test]
fn an_exception_leaves_several_calls() {
    let mut tracker = PathTracker::new(4);
    let (outer, inner) = (block(1, BlockEnd::Call, 0), block(60, BlockEnd::Call, 0));
    let trace = [
        outer,
        inner,
        branch(90, 91),
        falls(91),
        block(92, BlockEnd::Return, 0),
        falls(2),
    ];
    // 92 returns to 2 although 61 is where the innermost call returns to.
    paths(&mut tracker, &trace, 2, 4);
    let again = [
        outer,
        inner,
        block(92, BlockEnd::Return, 0),
        falls(61),
        block(62, BlockEnd::Return, 0),
        falls(2),
    ];
    assert_eq!(paths(&mut tracker, &again, 2, 2), ["01"]);
}

#[test]
fn deep_recursion_and_deep_nests_are_bounded() {
    let mut tracker = PathTracker::new(8);
    let before = tracker.memory();
    for _ in 0..100_000 {
        tracker.enter(&block(1, BlockEnd::Call, 0));
        tracker.enter(&falls(0));
    }
    for _ in 0..100_000 {
        tracker.enter(&block(3, BlockEnd::Return, 0));
        tracker.enter(&block(2, BlockEnd::Return, 0));
    }
    for number in (0..1000).rev() {
        tracker.enter(&branch(number, number)); // Loops in loops, without an end.
        tracker.enter(&branch(2000 - number, number));
        tracker.enter(&branch(number, number));
    }
    assert!(
        tracker.memory() < before + (2 << 20),
        "{}",
        tracker.memory()
    );
}

/// What the paper's figure 2 does, with `keep` elements in a line: one of two loops reads all of A,
/// then a third does. In the third, A(i) is found in the line read just before, or in what loop 1
/// or loop 2 left. These have different distances, since loop 2 reads another array too. As
/// compilers make them, loops are asked before them whether there is anything to do: that outcome
/// parts those of the loop from the condition.
fn figure_2(keep: u32) -> PathTable {
    let mut tracker = PathTracker::new(keep);
    let mut table = PathTable::new(1 << 16);
    let elements = 32 * keep as usize;
    for round in 0..40 {
        let second = round % 3 == 1 || round % 7 == 2;
        let loops = [if second { 4 } else { 2 }, 7];
        tracker.enter(&branch(1, 4));
        if !second {
            tracker.enter(&branch(2, 2));
        }
        for (index, number) in loops.into_iter().enumerate() {
            for element in 0..elements {
                if index == 1 && element == 0 {
                    tracker.enter(&branch(6, 9));
                }
                if index > 0 || element > 0 || second {
                    tracker.enter(&branch(number, number));
                }
                if index == 0 {
                    continue;
                }
                let far = if second { 5000 } else { 30 };
                let items = if element % keep as usize == 0 { far } else { 0 };
                // The first rounds teach where loops begin.
                if round > 3 {
                    table.add(0, tracker.path(), Distance::new(items));
                }
            }
        }
        tracker.enter(&falls(8));
        tracker.enter(&block(9, BlockEnd::Jump, 0));
    }
    table
}

#[test]
fn figure_2_is_separated_by_elements_per_line_plus_one() {
    for keep in [2, 4, 8] {
        let table = figure_2(keep);
        let differentiable = |length| {
            let shares = table.shares(length, PatternRule::default(), 1024).unwrap();
            assert_eq!((shares.instructions, shares.multiple), (1, 1));
            shares.differentiable == 1
        };
        assert!(!differentiable(0));
        assert!(!differentiable(1), "{keep}: the condition is not seen");
        assert!(differentiable(keep + 1), "{keep}");
        assert!(differentiable(32), "{keep}");
    }
}

#[test]
fn figure_6_needs_three_outcomes() {
    // X is written in one of two blocks, or in neither; both paths to its use end in 0 1.
    let mut tracker = PathTracker::new(4);
    let mut table = PathTable::new(100);
    for round in 0..100_u64 {
        let near = round % 3 == 0;
        // First branch: taken to 20, not taken to 12. Both come to the branches 30 and 40 by blocks
        // of their own.
        tracker.enter(&branch(10, 20));
        tracker.enter(&if near { branch(20, 26) } else { branch(12, 17) });
        tracker.enter(&if near { branch(21, 28) } else { branch(13, 18) });
        tracker.enter(&if near { falls(28) } else { falls(18) });
        tracker.enter(&falls(50));
        table.add(
            7,
            tracker.path(),
            Distance::new(if near { 3 } else { 4000 }),
        );
        tracker.enter(&block(51, BlockEnd::Jump, 0));
    }
    let shares = |length| table.shares(length, PatternRule::default(), 1024).unwrap();
    let two = shares(2);
    assert_eq!(
        (two.differentiable, two.aliased, two.short_and_long),
        (0, 1, 1)
    );
    let four = shares(4);
    assert_eq!(
        (four.differentiable, four.aliased, four.short_and_long),
        (1, 0, 0)
    );
    assert_eq!(table.at(3).unwrap().len(), 2);
    // As published, what 16 outcomes differentiate is aliased with fewer, whatever its traces are.
    let profile = PathProfile::new(&table, &[], 4, 0);
    let aliased = profile.shares.iter();
    let aliased = aliased.map(|shares| (shares.length, shares.aliased, shares.aliased_published));
    assert_eq!(
        aliased.collect::<Vec<_>>(),
        [
            (0, 0, 1),
            (1, 1, 1),
            (2, 1, 1),
            (4, 0, 0),
            (8, 0, 0),
            (16, 0, 0),
            (32, 0, 0)
        ]
    );
}

/// The different paths of 8 outcomes to block 9, after an inner loop of three iterations with a
/// condition, in an outer loop; the first rounds, in which the loops are not known, left out.
/// `iteration` gives the blocks of an iteration, by its number and the condition's outcome.
fn histories_after_a_loop(iteration: impl Fn(usize, bool) -> Vec<BasicBlock>) -> usize {
    let mut tracker = PathTracker::new(8);
    let (mut random, mut found) = (1_u32, std::collections::BTreeSet::new());
    for round in 0..200 {
        tracker.enter(&block(1, BlockEnd::Jump, 3));
        for number in 0..3 {
            random = random.wrapping_mul(1_103_515_245).wrapping_add(12345);
            for one in iteration(number, random & 0x4_0000 != 0) {
                tracker.enter(&one);
            }
        }
        tracker.enter(&branch(9, 1));
        if round >= 8 {
            found.insert(tracker.path().outcomes & 0xFF);
        }
    }
    found.len()
}

#[test]
fn loop_that_is_entered_in_its_middle_is_squashed_when_it_is_left() {
    // 2: what only the way back runs, before the first block, 3: its condition leads to 5 or 4,
    // and both to 6, which leads back to 2.
    let long = BasicBlock {
        length: 32,
        ..branch(2, 5)
    };
    let histories = histories_after_a_loop(|number, taken| {
        let first = if number == 0 { branch(3, 5) } else { long };
        let side = if taken {
            falls(5)
        } else {
            block(4, BlockEnd::Jump, 6)
        };
        vec![first, side, branch(6, 2)]
    });
    // One for each of the eight iterations of the outer loop that are kept.
    assert_eq!(histories, 8);
}

#[test]
fn side_of_a_condition_that_is_after_the_loop_is_in_it() {
    for side in [50, 0] {
        let histories = histories_after_a_loop(|_, taken| {
            let taken = taken.then(|| block(side, BlockEnd::Jump, 6));
            [branch(3, side)]
                .into_iter()
                .chain(taken)
                .chain([branch(6, 3)])
                .collect()
        });
        assert_eq!(histories, 8, "block {side}");
    }
}

#[test]
fn branches_of_several_calls_make_no_loop() {
    // A function at 10, and one at 20 that it ends in or that ends in it, by jumps.
    let mut tracker = PathTracker::new(1);
    let call = block(1, BlockEnd::Call, 0);
    let first = [branch(10, 12), block(12, BlockEnd::Jump, 20)];
    let second = [branch(20, 22), block(22, BlockEnd::Jump, 10)];
    let back = block(30, BlockEnd::Return, 0);
    let mut found = Vec::new();
    for _ in 0..3 {
        let trace = [&[call][..], &first, &[branch(20, 30), back, falls(2)]].concat();
        paths(&mut tracker, &trace, 2, 2);
        let trace = [&[call][..], &second, &[branch(10, 30), back, falls(2)]].concat();
        found.extend(paths(&mut tracker, &trace, 2, 2));
    }
    // Each of the two branches was taken, and both are in the path.
    assert_eq!(found, ["11", "11", "11"]);
}
