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
