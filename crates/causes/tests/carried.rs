//! What carries reuses, against the definition: the complete history of the scopes of random
//! programs, whose code is laid out in several ways.

#[path = "carried/history.rs"]
mod history;
#[path = "carried/layouts.rs"]
mod layouts;
#[path = "carried/programs.rs"]
mod programs;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use history::{Carried, History, HistoryScope};
use layouts::{Addresses, Layout};
use programs::{Program, Random, Step, begin};
use proptest::prelude::*;
use reuselens_causes::{CarriedCounts, CarriedPair, CauseCounts, CauseOptions, MissColumns};
use reuselens_control_flow::{BasicBlock, BlockEnd};
use reuselens_profile::{Carrier, ScopeKind};
use reuselens_units::{Bytes, Distance};

/// Blocks that each thread of a random trace runs, about.
const BLOCKS: usize = 700;

/// One thing that a thread of a trace does.
#[derive(Clone)]
struct Event {
    thread: u32,
    step: Step,
}

/// Threads that take turns in random programs. They do the same twice: what is known of a program
/// after the first time is everything that the second time shows.
struct Trace {
    events: Vec<Event>,
    /// Accesses of the first time.
    first: u64,
    /// Whether all blocks of a loop led back to its header at least once, so that they are known to
    /// be in it.
    all_seen: bool,
}

impl Trace {
    fn new(random: &mut Random, threads: u32, layout: Layout) -> Trace {
        let program = Program::new(random);
        let addresses = Addresses::new(&program, layout, random);
        let runs = (0..threads).map(|_| addresses.apply(&program.run(random, BLOCKS)));
        let runs: Vec<Vec<Step>> = runs.collect();
        let all_seen = runs.iter().all(|run| all_lead_back(run));
        let once = take_turns(&runs, random);
        let mut events = Vec::new();
        for thread in 0..threads {
            let steps = begin().into_iter();
            events.extend(steps.map(|step| Event { thread, step }));
        }
        events.extend(once.iter().cloned());
        let first = accesses(&events);
        events.extend(once);
        number_cells(&mut events);
        Trace {
            events,
            first,
            all_seen,
        }
    }

    /// The first time.
    fn once(&self) -> &[Event] {
        let mut left = self.first;
        let is_last = |event: &Event| {
            left -= u64::from(matches!(event.step, Step::Access { .. }));
            left == 0
        };
        let last = self.events.iter().position(is_last);
        &self.events[..=last.expect("there are accesses")]
    }
}

fn accesses(events: &[Event]) -> u64 {
    let accesses = events
        .iter()
        .filter(|event| matches!(event.step, Step::Access { .. }));
    accesses.count() as u64
}

/// The steps of threads in a random order.
fn take_turns(runs: &[Vec<Step>], random: &mut Random) -> Vec<Event> {
    let mut runs: Vec<_> = runs.iter().map(|run| run.iter()).collect();
    let mut events = Vec::new();
    while runs.iter().any(|run| run.len() > 0) {
        let thread = random.below(runs.len() as u64) as u32;
        for _ in 0..1 + random.below(60) {
            let Some(step) = runs[thread as usize].next() else {
                break;
            };
            events.push(Event {
                thread,
                step: step.clone(),
            });
        }
    }
    events
}

/// Whether each block that ran in a loop came before another iteration of it at least once, if the
/// loop had more than one.
fn all_lead_back(run: &[Step]) -> bool {
    // Open loops, each with the blocks since its iteration began; None is a call.
    let mut open: Vec<Option<(u64, BTreeSet<u64>)>> = vec![None];
    let mut led_back: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut others: BTreeSet<(u64, u64)> = BTreeSet::new();
    for step in run {
        match step {
            Step::Block(block) => {
                let mine = open.iter_mut().rev().map_while(Option::as_mut);
                mine.for_each(|(_, blocks)| {
                    // A return leads to none.
                    if block.end != BlockEnd::Return {
                        blocks.insert(block.start);
                    }
                });
            }
            Step::Access { .. } => {}
            Step::Call(_) => open.push(None),
            Step::Loop(header) => open.push(Some((*header, BTreeSet::new()))),
            Step::Iterate => {
                if let Some(Some((header, blocks))) = open.last_mut() {
                    led_back.entry(*header).or_default().append(blocks);
                }
            }
            Step::Leave => {
                if let Some(Some((header, blocks))) = open.pop() {
                    others.extend(blocks.into_iter().map(|block| (header, block)));
                }
            }
        }
    }
    let is_back = |(header, block): &(u64, u64)| {
        let known = led_back.get(header);
        known.is_none_or(|blocks| blocks.contains(block))
    };
    others.iter().all(is_back)
}

/// Numbers the cells in the order of their first accesses.
fn number_cells(events: &mut [Event]) {
    let mut numbers = HashMap::new();
    for event in events {
        if let Step::Access { cell, .. } = &mut event.step {
            let next = numbers.len() as u32;
            *cell = *numbers.entry((event.thread, *cell)).or_insert(next);
        }
    }
}

/// The distances of all accesses, over all threads, by their definition.
fn distances(events: &[Event]) -> Vec<Distance> {
    let mut stack: Vec<u64> = Vec::new();
    let accesses = events.iter().filter_map(|event| match event.step {
        Step::Access { item, .. } => Some(item),
        _ => None,
    });
    let distance = |item| match stack.iter().rposition(|other| *other == item) {
        Some(at) => {
            let distance = stack.len() - 1 - at;
            stack.remove(at);
            stack.push(item);
            Distance::new(distance as u64)
        }
        None => {
            stack.push(item);
            Distance::COLD
        }
    };
    accesses.map(distance).collect()
}

/// Misses and their distances by source cell, sink cell and carrier.
type Counts = BTreeMap<(u32, u32, Carried), (u64, u64)>;

/// The counts by the complete history of all scopes, of the accesses from number `from` on.
fn expected(events: &[Event], cache: u64, from: u64) -> Counts {
    let distances = distances(events);
    let mut histories: HashMap<u32, History> = HashMap::new();
    let mut last: HashMap<u64, (u64, u32, u32)> = HashMap::new();
    let (mut time, mut counts) = (0_u64, Counts::new());
    for Event { thread, step } in events {
        let history = histories.entry(*thread).or_default();
        let Step::Access { item, cell } = *step else {
            history.step(step, time);
            continue;
        };
        let distance = distances[time as usize];
        let before = last.insert(item, (time, *thread, cell));
        if let Some((at, by, source)) = before
            && distance.raw() >= cache
            && time >= from
        {
            let carrier = if by == *thread {
                history.carrier(at, time)
            } else {
                Carried::Threads
            };
            let counted = counts.entry((source, cell, carrier)).or_default();
            counted.0 += 1;
            counted.1 += distance.raw();
        }
        time += 1;
    }
    counts
}

/// Item accesses of a thread, and the blocks that began in them.
#[derive(Default)]
struct Piece {
    items: Vec<u64>,
    cells: Vec<u32>,
    distances: Vec<Distance>,
    blocks: Vec<(u32, BasicBlock)>,
}

impl Piece {
    fn add_to(&mut self, reuses: &mut CauseCounts, thread: u32) {
        let count = self.items.len();
        let columns = MissColumns {
            thread,
            items: &self.items,
            distances: &self.distances,
            cells: &self.cells,
            bytes: &vec![1; count],
            stores: &vec![false; count],
            offsets: &vec![0; count],
        };
        reuses.process_blocks(0, &columns, &self.blocks);
        *self = Piece::default();
    }
}

/// Counts what carries reuses in a cache of this many items, with this many pairs.
fn carried_counts(cache: u64, most: usize) -> CauseCounts {
    CauseCounts::new(CauseOptions {
        cache: Bytes(64 * cache),
        carried: Some(most),
        ..CauseOptions::default()
    })
}

/// The counts by [`CauseCounts`], from pieces that are cut anywhere.
fn counted(events: &[Event], cache: u64, most: usize, random: &mut Random) -> CarriedCounts {
    let distances = distances(events);
    let mut reuses = carried_counts(cache, most);
    let (mut piece, mut of, mut time) = (Piece::default(), 0, 0);
    for Event { thread, step } in events {
        if *thread != of || random.below(20) == 0 {
            piece.add_to(&mut reuses, of);
            of = *thread;
        }
        match step {
            Step::Block(block) => piece.blocks.push((piece.items.len() as u32, *block)),
            Step::Access { item, cell } => {
                piece.items.push(*item);
                piece.cells.push(*cell);
                piece.distances.push(distances[time]);
                time += 1;
            }
            _ => {}
        }
    }
    piece.add_to(&mut reuses, of);
    reuses.take_carried().unwrap()
}

/// Pairs of which a random trace has fewer; some have more than [`CauseOptions::MOST_CARRIED`].
const ROOM: usize = usize::MAX;

fn named(counts: &CarriedCounts) -> Counts {
    let scope = |number: u32| {
        let scope = &counts.scopes[number as usize];
        HistoryScope {
            kind: scope.kind,
            start: scope.start,
        }
    };
    let pairs = counts.pairs.iter().map(|pair| {
        let carrier = match pair.carrier {
            Carrier::Threads => Carried::Threads,
            Carrier::Scope(number) => Carried::Scope(scope(number)),
            Carrier::Iteration(number) => Carried::Iteration(scope(number)),
            Carrier::Others => panic!("there is room for all pairs"),
        };
        let source = pair.source.expect("the pair is counted by itself");
        let key = (source, pair.sink, carrier);
        (key, (pair.misses, pair.distance_sum))
    });
    pairs.collect()
}

/// The first row that other counts have not.
fn first_not_in(counts: &Counts, other: &Counts) -> Option<String> {
    let mut rows = counts.iter();
    let first = rows.find(|(key, count)| other.get(key) != Some(count));
    first.map(|row| format!("{row:x?}"))
}

/// The counts of the second time, by [`CauseCounts`]. Its accesses have cells of their own, which
/// tells them from those of the first time: carriers of the first time are not those of a run that
/// ends after it, as what is known of loops at the end decides.
fn counted_again(trace: &Trace, cache: u64, random: &mut Random) -> Counts {
    let mut events = trace.events.clone();
    let accesses = events.iter_mut().filter_map(|event| match &mut event.step {
        Step::Access { cell, .. } => Some(cell),
        _ => None,
    });
    let mut cells: Vec<&mut u32> = accesses.collect();
    let count = 1 + cells.iter().map(|cell| **cell).max().unwrap_or(0);
    let again = cells.iter_mut().skip(trace.first as usize);
    again.for_each(|cell| **cell += count);
    let mut counts = Counts::new();
    for ((source, sink, carrier), more) in named(&counted(&events, cache, ROOM, random)) {
        if sink >= count {
            let counted = counts.entry((source % count, sink - count, carrier));
            let (misses, sum) = counted.or_default();
            (*misses, *sum) = (*misses + more.0, *sum + more.1);
        }
    }
    counts
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![
        Just(Layout::Source),
        Just(Layout::Random),
        Just(Layout::Overlapping),
        Just(Layout::NoLengths),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_global_rejects: 30_000,
        ..ProptestConfig::with_cases(1500)
    })]

    #[test]
    fn carriers_are_those_of_the_complete_history(
        seed in any::<u64>(),
        threads in 1_u32..4,
        cache in 1_u64..12,
        layout in layouts(),
    ) {
        let mut random = Random(seed);
        let trace = Trace::new(&mut random, threads, layout);
        prop_assume!(trace.all_seen);
        let found = counted_again(&trace, cache, &mut random);
        let expected = expected(&trace.events, cache, trace.first);
        prop_assert_eq!(first_not_in(&found, &expected), None);
        prop_assert_eq!(first_not_in(&expected, &found), None);
    }

    #[test]
    fn full_table_drops_no_miss(seed in any::<u64>(), most in 2_usize..20) {
        let mut random = Random(seed);
        let trace = Trace::new(&mut random, 2, Layout::Source);
        let events = trace.once();
        let all = counted(events, 3, ROOM, &mut random);
        let few = counted(events, 3, most, &mut random);
        let by_sink = |counts: &CarriedCounts| {
            let mut sums = BTreeMap::new();
            for pair in &counts.pairs {
                let sum = sums.entry(pair.sink).or_insert((0, 0));
                sum.0 += pair.misses;
                sum.1 += pair.distance_sum;
            }
            sums
        };
        prop_assert_eq!(by_sink(&all), by_sink(&few));
        let (others, own): (Vec<&CarriedPair>, Vec<&CarriedPair>) =
            few.pairs.iter().partition(|pair| pair.carrier == Carrier::Others);
        prop_assert!(own.len() <= most);
        prop_assert_eq!(others.is_empty(), all.pairs.len() <= most);
    }
}

/// The random programs have what they are to try.
#[test]
fn random_traces_have_all_kinds_of_carriers() {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut joined = 0;
    for seed in 0..100 {
        let mut random = Random(seed);
        let trace = Trace::new(&mut random, 2, Layout::Random);
        let overlapping = Trace::new(&mut Random(seed), 2, Layout::Overlapping);
        joined += trace.events.len() - overlapping.events.len();
        for (key, (misses, _)) in expected(&trace.events, 3, 0) {
            let kind = match key.2 {
                Carried::Threads => "threads",
                Carried::Iteration(_) => "iteration",
                Carried::Scope(scope) => match scope.kind {
                    ScopeKind::Thread => "thread",
                    ScopeKind::Function => "function",
                    ScopeKind::Loop => "loop",
                },
            };
            *kinds.entry(kind).or_default() += misses;
        }
    }
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    assert!(kinds.values().all(|misses| *misses > 100), "{kinds:?}");
    assert!(joined > 10_000, "blocks are joined: {joined}");
}

/// The first time, before loops are known, most carriers are those of the complete history.
#[test]
fn first_run_has_nearly_the_same_carriers() {
    for layout in [Layout::Source, Layout::Random, Layout::Overlapping] {
        let (mut same, mut all) = (0, 0);
        for seed in 0..100 {
            let mut random = Random(seed);
            let trace = Trace::new(&mut random, 1, layout);
            let found = named(&counted(trace.once(), 3, ROOM, &mut random));
            for (key, (misses, _)) in expected(trace.once(), 3, 0) {
                let of_found = found.get(&key).map_or(0, |(misses, _)| *misses);
                same += misses.min(of_found);
                all += misses;
            }
        }
        println!("{layout:?}: {same} of {all} misses");
        assert!(same * 100 >= all * 97, "{layout:?}: {same} of {all}");
    }
}

/// How many traces [`carriers_are_those_of_the_complete_history`] does not compare, because a block
/// of a loop did not lead back.
#[test]
fn many_traces_are_compared() {
    for threads in 1..4 {
        let traces = 500;
        let seeds = (0..traces).map(Random);
        let is_compared = |mut random| Trace::new(&mut random, threads, Layout::Source).all_seen;
        let compared = seeds.map(is_compared).filter(|is_compared| *is_compared);
        let compared = compared.count() as u64;
        let rejected = traces - compared;
        println!("{threads} threads: {rejected} of {traces} traces rejected");
        assert!(compared * 2 >= traces, "{compared}");
    }
}

/// Two loops around an array of eight items: the inner one reads all of it.
#[test]
fn outer_loop_carries_what_the_inner_one_reads_again() {
    let block = |start: u64, end, taken| BasicBlock {
        start,
        length: 16,
        taken,
        end,
    };
    let outer = block(16, BlockEnd::Falls, 0);
    let inner = block(32, BlockEnd::Branch, 32);
    let latch = block(48, BlockEnd::Branch, 16);
    let mut reuses = carried_counts(4, CauseOptions::MOST_CARRIED);
    for round in 0..5 {
        let mut piece = Piece::default();
        piece.blocks.push((0, outer));
        for item in 0..8 {
            piece.blocks.push((piece.items.len() as u32, inner));
            piece.items.push(item);
            piece.cells.push(1);
            let distance = match round {
                0 => Distance::COLD,
                _ => Distance::new(7),
            };
            piece.distances.push(distance);
        }
        piece.blocks.push((8, latch));
        piece.add_to(&mut reuses, 0);
    }
    let counts = reuses.take_carried().unwrap();
    assert_eq!(counts.pairs.len(), 1);
    let pair = counts.pairs[0];
    assert_eq!((pair.source, pair.sink), (Some(1), 1));
    assert_eq!((pair.misses, pair.distance_sum), (32, 32 * 7));
    let Carrier::Scope(scope) = pair.carrier else {
        panic!("{pair:?}");
    };
    let scope = &counts.scopes[scope as usize];
    assert_eq!(scope.kind, ScopeKind::Loop);
    assert_eq!((scope.start, scope.end), (16, 64));
    assert_eq!(scope.blocks, [(16, 32), (32, 48), (48, 64)]);
}

/// A cell that two threads use, as where one has the number of an earlier one: what counts is which
/// thread made the access before.
#[test]
fn a_cell_may_be_of_several_threads() {
    let block = BasicBlock {
        start: 16,
        length: 16,
        taken: 16,
        end: BlockEnd::Branch,
    };
    let mut reuses = carried_counts(1, CauseOptions::MOST_CARRIED);
    let mut add = |thread: u32, ended: Option<u32>| {
        let mut piece = Piece::default();
        for item in [1, 2] {
            piece.blocks.push((piece.items.len() as u32, block));
            piece.items.push(item);
            piece.cells.push(0);
            piece.distances.push(Distance::new(1));
        }
        piece.add_to(&mut reuses, thread);
        ended
            .into_iter()
            .for_each(|thread| reuses.thread_ended(thread));
    };
    // The first thread twice; then another one with its cell, twice.
    for (thread, ended) in [(3, None), (3, Some(3)), (4, None), (4, None)] {
        add(thread, ended);
    }
    let counts = reuses.take_carried().unwrap();
    let mut by_threads = 0;
    for pair in &counts.pairs {
        match pair.carrier {
            Carrier::Threads => by_threads += pair.misses,
            Carrier::Scope(scope) => {
                assert_eq!(counts.scopes[scope as usize].kind, ScopeKind::Loop);
                assert_eq!(pair.misses, 4);
            }
            other => assert_eq!((other, pair.misses), (Carrier::Others, 2), "first accesses"),
        }
    }
    assert_eq!(by_threads, 2);
}

/// Without blocks nothing is kept of items, and blocks that come late are counted from then on: no
/// miss is lost.
#[test]
fn without_blocks_last_accesses_are_not_kept() {
    let mut reuses = carried_counts(1, CauseOptions::MOST_CARRIED);
    let items = 3_000_u64;
    let pass = |first: bool, blocks: Vec<(u32, BasicBlock)>| {
        let distance = if first {
            Distance::COLD
        } else {
            Distance::new(items - 1)
        };
        Piece {
            items: (0..items).collect(),
            cells: vec![0; items as usize],
            distances: vec![distance; items as usize],
            blocks,
        }
    };
    let mut early = 0;
    for number in 0..40 {
        pass(number == 0, Vec::new()).add_to(&mut reuses, 0);
        if number == 5 {
            early = reuses.memory().get();
        }
    }
    assert!(reuses.memory().get() + 16 * items <= early, "{early}");
    let block = BasicBlock {
        start: 16,
        length: 16,
        taken: 16,
        end: BlockEnd::Branch,
    };
    for _ in 0..3 {
        pass(false, vec![(0, block)]).add_to(&mut reuses, 0);
    }
    let counts = reuses.take_carried().unwrap();
    assert_eq!(counts.blocks, 3);
    let misses: u64 = counts.pairs.iter().map(|pair| pair.misses).sum();
    let unknown = (counts.pairs.iter()).find(|pair| pair.carrier == Carrier::Others);
    // One pass has no last accesses. The passes before are in the counts of the first accesses.
    assert_eq!(unknown.unwrap().misses, items);
    let early = misses - 3 * items;
    let kept = (1 << 16) - items;
    assert!((kept..kept + 256).contains(&early), "{early}");
}

/// What carries the reuses of a thread that runs these blocks, which end with branches and have 16
/// bytes, each with the item that it accesses, if any. All reuses miss.
fn carriers(blocks: &[(u64, Option<u64>)]) -> Vec<(Carried, u64)> {
    let mut reuses = carried_counts(1, CauseOptions::MOST_CARRIED);
    let (mut piece, mut seen) = (Piece::default(), BTreeSet::new());
    for &(start, item) in blocks {
        let block = BasicBlock {
            start,
            length: 16,
            end: BlockEnd::Branch,
            ..BasicBlock::default()
        };
        piece.blocks.push((piece.items.len() as u32, block));
        if let Some(item) = item {
            let distance = if seen.insert(item) {
                Distance::COLD
            } else {
                Distance::new(9)
            };
            piece.items.push(item);
            piece.cells.push(0);
            piece.distances.push(distance);
        }
    }
    piece.add_to(&mut reuses, 0);
    let counts = named(&reuses.take_carried().unwrap());
    let rows = counts.into_iter();
    rows.map(|((_, _, carrier), (misses, _))| (carrier, misses))
        .collect()
}

/// A loop at `0x10`, whose body is at `0x80`: what is between these addresses is taken for a part
/// of it.
fn fill() -> Vec<(u64, Option<u64>)> {
    let mut blocks = vec![(0, None)];
    for item in 0..8 {
        blocks.extend([(0x10, None), (0x80, Some(item))]);
    }
    blocks.push((0x10, None));
    blocks
}

/// As code without optimisation has it: the end of a loop and what follows are before its body.
#[test]
fn loop_does_not_carry_reuses_of_code_after_it() {
    let mut blocks = fill();
    blocks.push((0x20, None));
    for item in 0..8 {
        blocks.extend([(0x30, None), (0x40, Some(item))]);
    }
    blocks.push((0x30, None));
    let thread = HistoryScope {
        kind: ScopeKind::Thread,
        start: 0,
    };
    assert_eq!(carriers(&blocks), [(Carried::Scope(thread), 8)]);
}

#[test]
fn loop_carries_reuses_of_its_code_that_runs_late() {
    let mut blocks = fill();
    // An inner loop before the body.
    blocks.push((0x20, None));
    for item in 0..8 {
        blocks.extend([(0x30, None), (0x40, Some(item))]);
    }
    blocks.extend([(0x30, None), (0x80, Some(8))]);
    let before = carriers(&blocks);
    blocks.push((0x10, None));
    let fill = HistoryScope {
        kind: ScopeKind::Loop,
        start: 0x10,
    };
    assert_eq!(carriers(&blocks), [(Carried::Scope(fill), 8)]);
    assert_eq!(carriers(&blocks), before, "the body is in the loop");
}
