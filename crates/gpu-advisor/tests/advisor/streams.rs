//! Streams and files of records give what the same records give block by block, on any thread.

use crate::support::{Random, RandomLaunch, analyse, random_launch};
use reuselens_gpu_advisor::{Advisor, AdvisorOptions, InstructionCounts, KernelReport};
use reuselens_warp::{WarpBatch, WarpSink};

fn launches() -> impl Iterator<Item = (u64, RandomLaunch)> {
    (0..60).map(|seed| (seed, random_launch(&mut Random(seed))))
}

/// As a stream, in batches of `length` records.
fn as_stream(random: &RandomLaunch, length: usize) -> KernelReport {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    advisor.set_context(random.context.clone());
    advisor.launch(&random.launch).expect("launches are taken");
    for records in random.records.chunks(length) {
        let mut batch = WarpBatch::new();
        records
            .iter()
            .for_each(|record| batch.push_row(&record.row()));
        advisor.batch(&batch).expect("batches are taken");
    }
    advisor.finish().remove(0)
}

#[test]
fn streams_equal_blocks_however_they_are_cut() {
    for (_, random) in launches() {
        // Blocks without records are not in a stream: the schedule of the others changes.
        let blocks = random.launch.grid.x;
        if (0..blocks).any(|block| random.records.iter().all(|record| record.block != block)) {
            continue;
        }
        let options = AdvisorOptions::default();
        let whole = analyse(options, &random.launch, &random.context, &random.records);
        for length in [1, 7, 1000] {
            assert_eq!(as_stream(&random, length), whole);
        }
    }
}

#[test]
fn refused_and_stopped_launches_are_not_counted() {
    let (_, random) = launches().next().expect("there are launches");
    let whole = |advisor: &mut Advisor| {
        advisor.set_context(random.context.clone());
        advisor.launch(&random.launch).expect("launches are taken");
        let mut batch = WarpBatch::new();
        let rows = random.records.iter();
        rows.for_each(|record| batch.push_row(&record.row()));
        advisor.batch(&batch).expect("batches are taken");
    };
    let mut advisor = Advisor::new(AdvisorOptions::default());
    advisor.begin(&random.launch, random.context.clone());
    advisor.abandon();
    assert_eq!(advisor.finish(), []);

    let mut once = Advisor::new(AdvisorOptions::default());
    let mut with_refused = Advisor::new(AdvisorOptions::default());
    whole(&mut once);
    once.end(InstructionCounts::default());
    whole(&mut with_refused);
    with_refused.end(InstructionCounts::default());
    with_refused.begin(&random.launch, random.context.clone());
    with_refused.abandon();
    let once = once.finish();
    assert_eq!(with_refused.finish(), once);

    let mut stopped = Advisor::new(AdvisorOptions::default());
    whole(&mut stopped);
    stopped.stop();
    let stopped = stopped.finish();
    assert_eq!(
        (once[0].launches.launches, stopped[0].launches.launches),
        (1, 0)
    );
    assert!(stopped[0].global.requests > 0);
    assert_eq!(stopped[0].global, once[0].global);
}

#[test]
fn threads_do_not_change_reports() {
    for (_, random) in launches() {
        let options = AdvisorOptions::default();
        let alone = analyse(options, &random.launch, &random.context, &random.records);
        let mut advisor = Advisor::new(options);
        advisor.begin(&random.launch, random.context.clone());
        let mut open: Vec<_> = (0..random.launch.grid.x)
            .map(|block| (block, advisor.open().expect("a launch has begun")))
            .collect();
        std::thread::scope(|scope| {
            for (number, block) in &mut open {
                let records = random
                    .records
                    .iter()
                    .filter(|record| record.block == *number);
                scope.spawn(move || {
                    records.for_each(|record| block.record(&record.row()));
                    block.finish();
                });
            }
        });
        open.into_iter().for_each(|(_, block)| advisor.close(block));
        advisor.end(InstructionCounts::default());
        assert_eq!(advisor.finish(), [alone]);
    }
}
