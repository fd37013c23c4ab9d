use super::*;

const CONFIG: EngineConfig = EngineConfig {
    engine: "counting",
    max_distance: None,
    reuse_times: false,
    forward: false,
};

/// Batches that come after the system has refused memory, and those that wait then, are dropped,
/// and nobody waits for them.
#[test]
fn refused_memory_ends_the_work() {
    let mut pool = ShardPool::new(1, &CONFIG);
    let mut state = pool.shared.lock();
    let mut job = ShardJob {
        place: 0,
        shard: state.places[0].shard.take().unwrap(),
        batches: Vec::new(),
        unsaid: 0,
        named: Named::default(),
        held: None,
        refused: Some(OutOfMemory { bytes: 7 }),
    };
    state.away += 1;
    state.waiting += 1;
    let mut waits = ThreadBatch::default();
    waits.push(0, &Columns::default());
    state.places[0].to_do.push(waits);
    job.work();
    state.put_back(job);
    assert_eq!((state.waiting, state.away, state.ready.len()), (0, 0, 0));
    drop(state);
    for place in 0..200 {
        let mut batch = ThreadBatch::default();
        batch.push(0, &Columns::default());
        pool.send(place % SHARDS, &mut batch);
    }
    pool.drain();
    assert_eq!(pool.refused(), Some(OutOfMemory { bytes: 7 }));
    assert_eq!(pool.finish().histogram.accesses(), 0);
}

#[test]
fn refused_memory_ends_the_work_without_workers() {
    let pool = ShardPool::new(0, &CONFIG);
    let columns = Columns {
        items: vec![1, 2],
        cells: vec![0; 2],
        ..Columns::default()
    };
    pool.touch(0, 0, &columns);
    pool.shared.lock().refused = Some(OutOfMemory { bytes: 7 });
    pool.touch(0, 0, &columns);
    assert_eq!(pool.refused(), Some(OutOfMemory { bytes: 7 }));
    assert_eq!(pool.finish().histogram.accesses(), 2);
}

#[test]
#[should_panic(expected = "range")]
fn a_panic_of_a_worker_is_passed_on() {
    // No attributor makes columns that differ in length.
    let wrong = Columns {
        items: vec![1; 10],
        cells: vec![0; 5],
        ..Columns::default()
    };
    let mut batch = ThreadBatch::default();
    batch.push(0, &wrong);
    let mut pool = ShardPool::new(2, &CONFIG);
    pool.send(0, &mut batch);
    pool.finish();
}
