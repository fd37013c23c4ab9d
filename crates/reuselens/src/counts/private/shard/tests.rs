use std::cell::Cell;
use std::fmt::Write;

use reuselens_io::Input;
use reuselens_profile::Sharing;

use super::*;
use crate::AnalysisOptions;

thread_local! {
    /// How often this thread has asked a program thread what it holds.
    pub(super) static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Looks at each program thread at each look at the memory would be a square of their number.
#[test]
fn looks_at_memory_are_as_many_as_runs_of_threads() {
    const THREADS: u64 = 60_000;
    let mut table = String::from("thread,address\n");
    for access in 0..2 * THREADS {
        writeln!(table, "{},{}", access % THREADS, access * 64 % 100_000).unwrap();
    }
    let input = Input::new(std::io::Cursor::new(table), "t.csv");
    let mut source = reuselens_formats::read(input, Some("csv")).unwrap();
    let options = AnalysisOptions {
        sharing: Sharing::Private,
        threads: Some(std::num::NonZeroUsize::MIN),
        memory_limit: Some(Bytes(64 << 30)),
        totals_only: true,
        ..AnalysisOptions::default()
    };
    LOOKS.set(0);
    let profile = crate::analyze(&mut *source, vec![], &options, &mut |_| {}).unwrap();
    assert_eq!(profile.histogram.accesses(), 2 * THREADS);
    let looks = LOOKS.get();
    assert!((THREADS..=3 * THREADS).contains(&looks), "{looks}");
}

/// Numbers of which no two lie close together.
fn apart(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a program thread holds, and what it may take next, after more and more items: pairs of
/// both.
fn held_by(engine: &'static str, more: bool, most: u64) -> Vec<(u64, u64)> {
    let config = EngineConfig {
        engine,
        max_distance: None,
        reuse_times: more,
        forward: more,
    };
    assert_eq!(config.engine().name(), engine);
    let mut lane = config.lane();
    let mut held = vec![(0, lane.memory().get())];
    let mut known = 0;
    while known < most {
        let items: Vec<u64> = (known..known + known / 256 + 1).map(apart).collect();
        known += items.len() as u64;
        lane.engine
            .process(&items, &mut vec![Distance::COLD; items.len()]);
        let mut found = vec![PreviousAccess::FIRST; items.len()];
        if let Some(previous) = &mut lane.previous {
            previous.process(&items, &vec![0; items.len()], &mut found);
        }
        held.push((known, lane.memory().get()));
    }
    held
}

/// However many touches a batch has, and whatever a thread had before: no more than a pool thinks
/// without asking.
#[test]
fn a_thread_holds_no_more_than_is_thought() {
    // The last takes a pass over all items for each access.
    let engines = ["counting", "fenwick", "olken", "brute"];
    for (engine, most) in engines.into_iter().zip([500_000, 500_000, 500_000, 1_000]) {
        for more in [false, true] {
            let held = held_by(engine, more, most);
            for (at, &(items, before)) in held.iter().enumerate() {
                assert!(
                    before <= LANE + TOUCH * items,
                    "{engine}: {before} for {items}"
                );
                for &(later, after) in &held[at..] {
                    let thought = may_become(before, TOUCH * (later - items));
                    assert!(after <= thought, "{engine}: {after}, {items} to {later}");
                }
            }
        }
    }
}

#[test]
fn an_end_gives_memory_back() {
    let config = EngineConfig {
        engine: "counting",
        max_distance: None,
        reuse_times: true,
        forward: true,
    };
    let columns = Columns {
        items: (0..100_000).collect(),
        cells: vec![0; 100_000],
        ..Columns::default()
    };
    let mut shard = ThreadShard::new(config);
    shard.touch(3, &columns, 0..100_000);
    let held = shard.memory();
    let mut batch = ThreadBatch::default();
    batch.end(3);
    shard.work(&batch);
    assert!(shard.memory() < Bytes(held.get() / 10));
    let sums = shard.finish();
    assert_eq!(sums.histogram.cold(), 100_000);
    assert_eq!(sums.times.histogram().cold(), 100_000);
    assert_eq!(sums.forward.get(0).unwrap().0.cold(), 100_000);
}
