//! The loops and calls of small programs, written down as blocks, in orders that compilers give
//! their code. A block is named by its place in memory.

use proptest::prelude::*;
use reuselens_control_flow::{BasicBlock, BlockEnd, LoopState, NestTracker};

/// Bytes of a block.
const BYTES: u64 = 16;

fn block(place: u64, end: BlockEnd) -> BasicBlock {
    BasicBlock {
        start: place * BYTES,
        length: BYTES as u32,
        end,
        ..BasicBlock::default()
    }
}

/// The number of blocks before, at which loops are entered and their iterations begin.
#[derive(Clone, Copy, Debug)]
struct Count(u64);

impl LoopState for Count {
    type Moment = u64;
    type Iteration = u64;
    const GUESSES: bool = true;

    fn now(&self) -> u64 {
        self.0
    }

    fn first_iteration(&self, entry: &u64) -> u64 {
        *entry
    }

    fn iterate(&mut self, _: &u64, iteration: &mut u64) {
        *iteration = self.0;
    }

    fn leave(&mut self, _: &u64) {}
}

/// Follows a thread, at whose every block the time is the number of blocks before.
struct Thread {
    tracker: NestTracker<Count>,
    blocks: u64,
}

impl Thread {
    fn new() -> Thread {
        Thread {
            tracker: NestTracker::new(Count(0)),
            blocks: 0,
        }
    }

    fn enter(&mut self, block: &BasicBlock) {
        self.tracker.state = Count(self.blocks);
        self.tracker.enter(block);
        self.blocks += 1;
    }

    /// Runs blocks that end with branches.
    fn run(&mut self, places: &[u64]) {
        for place in places {
            self.enter(&block(*place, BlockEnd::Branch));
        }
    }

    /// The headers of the loops of all calls, outermost first.
    fn headers(&self) -> Vec<u64> {
        let loops = self.tracker.loops().iter();
        let header = |header| self.tracker.code(header).0 / BYTES;
        loops.map(|one| header(one.header)).collect()
    }

    /// The same, with when each was entered and when its iteration began.
    fn loops(&self) -> Vec<(u64, u64, u64)> {
        let times = self
            .tracker
            .loops()
            .iter()
            .map(|one| (one.entry, one.iteration));
        let loops = self.headers().into_iter().zip(times);
        loops
            .map(|(header, (entry, iteration))| (header, entry, iteration))
            .collect()
    }
}

#[test]
fn latch_before_the_inner_loop_leaves_no_loop() {
    // 1: header; 2: its latch, or the end at 9; 3: inner loop.
    let mut thread = Thread::new();
    thread.run(&[1, 3, 3, 2, 1, 3, 3, 3]);
    assert_eq!(thread.loops(), [(1, 0, 4), (3, 5, 7)]);
    thread.run(&[2]);
    assert_eq!(thread.headers(), [1]);
    thread.run(&[9]);
    assert_eq!(thread.headers(), []);
}

#[test]
fn latch_before_the_header_belongs_to_the_loop() {
    // 1: latch; 2: header; 3: inner loop.
    let mut thread = Thread::new();
    thread.run(&[2, 3, 3, 1, 2, 3, 3]);
    assert_eq!(thread.loops(), [(2, 0, 4), (3, 5, 6)]);
    thread.run(&[1]);
    assert_eq!(thread.headers(), [2]);
}

#[test]
fn loop_that_is_entered_at_its_end_begins_there() {
    // 1: jump to 4; 2, 3: body; 4: condition.
    let mut thread = Thread::new();
    thread.run(&[1, 4, 2, 3, 4, 2]);
    assert_eq!(thread.loops(), [(4, 1, 4)]);
    thread.run(&[3, 4, 5, 1, 4]);
    assert_eq!(thread.loops().last(), Some(&(4, 10, 10)));
}

#[test]
fn two_ways_back_make_one_loop() {
    // 2 goes back to 1 at once, as `continue` does; so does 5, from far away.
    let mut thread = Thread::new();
    thread.run(&[1, 2, 1, 2, 3, 1, 2, 5, 1, 2, 5]);
    assert_eq!(thread.loops(), [(1, 0, 8)]);
}

#[test]
fn cold_block_takes_in_nothing_between() {
    // 50 belongs to the loop 1 to 3; 10 is another loop after that one.
    let mut thread = Thread::new();
    thread.run(&[1, 2, 3, 1, 2, 50, 3, 1, 2, 50]);
    assert_eq!(thread.loops(), [(1, 0, 7)]);
    thread.run(&[3, 10, 10, 10]);
    assert_eq!(thread.loops(), [(10, 11, 13)]);
    thread.run(&[20]);
    assert_eq!(thread.headers(), []);
}

#[test]
fn block_outside_that_leads_back_was_in_the_loop() {
    let mut thread = Thread::new();
    thread.run(&[1, 2, 3, 1, 2, 50]);
    // It is not known yet.
    assert_eq!(thread.headers(), []);
    thread.run(&[51, 3]);
    assert_eq!(thread.loops(), [(1, 0, 3)]);
    thread.run(&[1, 50]);
    assert_eq!(thread.loops(), [(1, 0, 8)]);
}

#[test]
fn block_between_that_does_not_lead_back_is_outside() {
    // 3 is what leaves the loop from 1 to 4, and returns.
    let mut thread = Thread::new();
    for is_inside in [true, false] {
        thread.enter(&block(80, BlockEnd::Call));
        thread.run(&[1, 2, 4, 1, 2, 3]);
        assert_eq!(thread.headers().contains(&1), is_inside);
        thread.enter(&block(5, BlockEnd::Return));
        thread.enter(&block(81, BlockEnd::Falls));
    }
}

#[test]
fn break_leaves_all_loops_that_it_is_in() {
    // 1: outer loop to 6; 2: inner loop to 4; 3 breaks out of both.
    let mut thread = Thread::new();
    thread.run(&[1, 2, 3, 4, 2, 3, 4, 6, 1, 2, 3, 4, 2, 3]);
    assert_eq!(thread.loops(), [(1, 0, 8), (2, 9, 12)]);
    thread.run(&[9]);
    assert_eq!(thread.headers(), []);
}

#[test]
fn inner_loop_in_a_block_that_joined_later_is_found() {
    // The inner loop's condition, 3, is passed once before it goes on to the loop's body, 20.
    let mut thread = Thread::new();
    thread.run(&[1, 3, 4, 1, 3, 20, 21, 3, 20]);
    assert_eq!(thread.loops(), [(1, 0, 3), (3, 4, 7)]);
}

#[test]
fn loop_inside_a_longer_block_begins_with_it() {
    let long = BasicBlock {
        length: 3 * BYTES as u32,
        ..block(1, BlockEnd::Branch)
    };
    let tail = BasicBlock {
        length: 2 * BYTES as u32,
        ..block(2, BlockEnd::Branch)
    };
    let mut thread = Thread::new();
    for round in 0..3 {
        let begin = thread.blocks;
        thread.enter(&long);
        let known: &[u64] = if round == 0 { &[] } else { &[2] };
        assert_eq!(thread.headers(), known);
        thread.enter(&tail);
        thread.enter(&tail);
        assert_eq!(thread.loops(), [(2, begin, begin + 2)]);
        // A part of the block that is no loop's begin.
        thread.run(&[4]);
        assert_eq!(thread.headers(), []);
        thread.enter(&block(60, BlockEnd::Return));
    }
}

#[test]
fn loop_with_several_blocks_inside_a_longer_block_is_one() {
    // The first block goes on past the header, 2, to 3; then come 5 and the latch, 7.
    let from = |place, blocks: u32| BasicBlock {
        length: blocks * BYTES as u32,
        ..block(place, BlockEnd::Branch)
    };
    let mut thread = Thread::new();
    thread.enter(&from(1, 3));
    thread.run(&[5, 7]);
    thread.enter(&from(2, 2));
    thread.run(&[5, 7]);
    assert_eq!(thread.loops(), [(2, 0, 3)]);
    thread.enter(&from(2, 2));
    thread.run(&[5]);
    assert_eq!(thread.loops(), [(2, 0, 6)]);
}

#[test]
fn loop_with_two_entries_is_left_and_entered() {
    // 2 and 3 lead to each other; 1 leads to both.
    let mut thread = Thread::new();
    thread.enter(&block(80, BlockEnd::Call));
    thread.run(&[1, 2, 3, 2, 3, 5]);
    assert_eq!(thread.headers(), []);
    thread.enter(&block(6, BlockEnd::Return));
    thread.enter(&block(81, BlockEnd::Call));
    thread.run(&[1, 3, 2, 3, 2, 3]);
    assert_eq!(thread.headers().len(), 1);
    thread.run(&[5]);
    assert_eq!(thread.headers(), []);
}

#[test]
fn calls_have_loops_of_their_own() {
    // 1: a loop around a call; 10: the function, which calls itself from 12 and has a loop at 11.
    let call = block(2, BlockEnd::Call);
    let mut thread = Thread::new();
    for _ in 0..2 {
        thread.run(&[1]);
        thread.enter(&call);
        thread.run(&[10, 11, 11]);
        thread.enter(&block(12, BlockEnd::Call));
        thread.run(&[10, 11, 11]);
        assert_eq!(thread.headers()[thread.headers().len() - 1..], [11]);
        assert_eq!(thread.tracker.calls().len(), 3);
        thread.enter(&block(14, BlockEnd::Return));
        thread.enter(&block(13, BlockEnd::Return));
        thread.run(&[3]);
    }
    assert_eq!(thread.loops(), [(1, 0, 12)]);
    // An exception leaves both calls.
    thread.run(&[1]);
    thread.enter(&call);
    thread.run(&[10, 11, 11]);
    thread.enter(&block(12, BlockEnd::Call));
    thread.run(&[10]);
    thread.enter(&block(14, BlockEnd::Return));
    thread.run(&[3]);
    assert_eq!(thread.headers(), [1]);
    assert_eq!(thread.tracker.calls().len(), 1);
}

#[test]
fn call_of_code_that_is_not_seen_is_none() {
    let mut thread = Thread::new();
    for _ in 0..3 {
        thread.run(&[1]);
        thread.enter(&block(2, BlockEnd::Call));
        thread.run(&[3]);
    }
    assert_eq!(thread.tracker.calls().len(), 1);
    assert_eq!(thread.loops(), [(1, 0, 6)]);
}

#[test]
fn deep_recursion_and_deep_nests_are_bounded() {
    let mut thread = Thread::new();
    let before = thread.tracker.memory();
    for _ in 0..100_000 {
        thread.enter(&block(1, BlockEnd::Call));
        thread.enter(&block(0, BlockEnd::Falls));
    }
    for _ in 0..100_000 {
        thread.enter(&block(3, BlockEnd::Return));
        thread.enter(&block(2, BlockEnd::Return));
    }
    assert_eq!(thread.tracker.calls().len(), 1);
    // Each round goes one header further before it goes back to all of them.
    for number in 10..1000_u64 {
        let back = (10..=number).rev();
        let round: Vec<u64> = (10..=number)
            .chain(back.map(|place| place + 2000))
            .collect();
        if number % 100 == 0 || number < 50 {
            thread.run(&round);
        }
    }
    let places: Vec<u64> = (0..300).map(|place| 5000 + place).collect();
    thread.run(&places);
    for inner in (0..300).rev() {
        // Back to this header, and on to the innermost place.
        thread.run(&places[inner..]);
    }
    assert_eq!(thread.headers().len(), 256);
    let held = thread.tracker.memory() - before;
    assert!(held < 4 << 20, "{held}");
}

/// What names the loop that the thread is in.
fn name(thread: &Thread) -> u64 {
    let innermost = thread.tracker.loops().last().expect("a loop");
    thread.tracker.code(innermost.header).1 / BYTES - 1
}

#[test]
fn loop_is_named_by_a_branch_back_or_its_condition() {
    let mut thread = Thread::new();
    thread.run(&[1, 2, 3, 1, 2]);
    assert_eq!(name(&thread), 3, "the branch back");
    // A jump back, as of `continue`, does not count; another branch does, if it is later.
    let mut jumps = Thread::new();
    let jump = |thread: &mut Thread, place| thread.enter(&block(place, BlockEnd::Jump));
    jumps.run(&[1, 2]);
    jump(&mut jumps, 9);
    jumps.run(&[1]);
    assert_eq!(name(&jumps), 9, "the only way back");
    jumps.run(&[2, 3, 1]);
    assert_eq!(name(&jumps), 3, "a branch");
    // The condition, at the loop's end, follows the body.
    let mut condition = Thread::new();
    condition.run(&[4, 2]);
    condition.enter(&block(3, BlockEnd::Falls));
    condition.run(&[4]);
    assert_eq!(name(&condition), 4, "the condition");
    // The same, in the body's last block.
    let mut inside = Thread::new();
    inside.run(&[4, 2]);
    inside.enter(&BasicBlock {
        length: 2 * BYTES as u32,
        ..block(3, BlockEnd::Branch)
    });
    assert_eq!(name(&inside), 4, "the condition in a longer block");
    // An inner loop before the condition is left by a branch that is not taken.
    let mut inner = Thread::new();
    inner.run(&[4, 2, 3, 3, 4]);
    assert_eq!(name(&inner), 4, "the condition after an inner loop");
}

/// Blocks that go anywhere.
fn any_block() -> impl Strategy<Value = BasicBlock> {
    let end = prop_oneof![
        4 => Just(BlockEnd::Branch),
        1 => Just(BlockEnd::Jump),
        1 => Just(BlockEnd::Falls),
        1 => Just(BlockEnd::Indirect),
        1 => Just(BlockEnd::Call),
        1 => Just(BlockEnd::Return),
    ];
    (0_u64..60, 0_u32..24, end).prop_map(|(start, length, end)| BasicBlock {
        start: 100 + start,
        length,
        taken: 100 + start / 2,
        end,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_blocks_keep_loops_and_calls_in_order(blocks in prop::collection::vec(any_block(), 1000)) {
        let mut thread = Thread::new();
        for block in &blocks {
            let now = thread.blocks;
            thread.enter(block);
            let (calls, loops) = (thread.tracker.calls(), thread.tracker.loops());
            prop_assert!(calls.is_sorted_by_key(|call| (call.state.entry, call.loops)));
            prop_assert!(calls.iter().all(|call| call.loops <= loops.len()));
            prop_assert!(loops.iter().all(|one| one.entry <= one.iteration && one.iteration <= now));
            for (at, call) in calls.iter().enumerate() {
                let end = calls.get(at + 1).map_or(loops.len(), |next| next.loops);
                let mut headers: Vec<u32> =
                    loops[call.loops..end].iter().map(|one| one.header).collect();
                headers.sort_unstable();
                prop_assert!(headers.is_sorted_by(|a, b| a < b), "a loop is in itself");
            }
        }
    }
}

/// Code with a place for each block and a way on from each, and a loop around every tenth one.
#[test]
fn places_take_the_memory_that_is_stated() {
    for count in [70_000_u64, 100_000, 140_000] {
        let mut thread = Thread::new();
        let before = thread.tracker.memory();
        for place in 1..=count {
            thread.run(&[place]);
            if place % 10 == 0 {
                thread.run(&[place - 1, place]);
            }
        }
        let held = (thread.tracker.memory() - before) as u64 / count;
        assert!(
            (200..=500).contains(&held),
            "{held} bytes per place of {count}"
        );
    }
}

/// A dispatcher that leads to more and more handlers, each of which leads back to it.
#[test]
fn hub_with_many_ways_costs_one_look_up_per_way() {
    const HANDLERS: u64 = 300_000;
    let mut thread = Thread::new();
    thread.run(&[1]);
    for handler in 0..HANDLERS {
        thread.run(&[2, 10 + handler]);
    }
    // In another order, where no way is one of the last two.
    for handler in 0..HANDLERS {
        thread.run(&[2, 10 + handler * 7 % HANDLERS]);
        assert_eq!(thread.headers(), [2]);
    }
    // A loop is still found so late: no search was long.
    let late = 10 + HANDLERS;
    thread.run(&[late, late, 2, late, late]);
    assert_eq!(thread.headers(), [2, late]);
}

/// Each call from one place is of another function, and returns.
#[test]
fn calls_of_several_functions_keep_the_loop() {
    let mut thread = Thread::new();
    for round in 0..1000 {
        thread.run(&[1]);
        thread.enter(&block(2, BlockEnd::Call));
        let function = 10 + round % 5 * 2;
        thread.run(&[function]);
        thread.enter(&block(function + 1, BlockEnd::Return));
        thread.run(&[3]);
    }
    assert_eq!(thread.loops(), [(1, 0, 999 * 5)]);
}
