//! Cases made by hand, with the numbers that they must give; those that are data are in
//! `cases/gpu`.

use crate::support::{Record, analyse, launch, request, run};
use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BasicBlockExecutions, BranchExecutions, BranchReport, BypassOracle,
    ClassCounts, GpuModel, GuardedExecutions, InstructionCounts, InstructionExecutions,
    KernelReport, LaunchContext, LaunchMetric, Statistic, StorePolicy, metrics,
};
use reuselens_warp::{BlockUse, InstructionClass, Launch, WarpKind};

fn report(records: &[Record]) -> KernelReport {
    let context = LaunchContext::default();
    analyse(AdvisorOptions::default(), &launch(1, 64), &context, records)
}

/// Bins of a histogram, and cold accesses.
fn bins(histogram: &reuselens_locality::Log2Histogram) -> (Vec<(u64, u64, u64)>, u64) {
    (histogram.iter().collect(), histogram.cold())
}

#[test]
fn broadcast_is_reuse_by_element_and_one_access_by_line() {
    let reuse = report(&[request(1, WarpKind::Load, u32::MAX, 4, |_| 0x2000)])
        .reuse
        .unwrap();
    assert_eq!(bins(&reuse.cta_elements.loads), (vec![(0, 0, 31)], 1));
    assert_eq!(bins(&reuse.cta_lines.loads), (vec![], 1));
    assert_eq!(
        (reuse.cta_elements.streaming, reuse.cta_lines.streaming),
        (0, 1)
    );
}

#[test]
fn warps_of_a_block_advance_together() {
    // Each warp loads its own line, then the other's. Per warp nothing is reused; in the block the
    // second load of each warp finds the other's line, with one line between.
    let load = |warp: u32, position, line: u64| Record {
        warp,
        ..request(position, WarpKind::Load, u32::MAX, 4, |lane| {
            line * 128 + lane * 4
        })
    };
    let records = [load(0, 1, 1), load(0, 2, 2), load(1, 1, 2), load(1, 2, 1)];
    let reuse = report(&records).reuse.unwrap();
    assert_eq!(bins(&reuse.warp_lines.loads), (vec![], 4));
    assert_eq!(
        bins(&reuse.cta_lines.loads),
        (vec![(0, 0, 1), (1, 1, 1)], 2)
    );
}

#[test]
fn oracle_is_the_least_traffic_with_the_most_warps() {
    let oracle = BypassOracle {
        loads: 200,
        traffic: vec![120, 100, 100, 150],
    };
    assert_eq!((oracle.best(), oracle.traffic(9)), (3, 150));
    assert_eq!((oracle.hit_rate(3), oracle.distance(4)), (0.5, 0.5));
    let mut sum = oracle.clone();
    sum.merge(&BypassOracle {
        loads: 10,
        traffic: vec![10, 1],
    });
    assert_eq!(sum.traffic, [130, 101, 101, 151]);
}

#[test]
fn bypass_formula_has_the_lines_that_distances_count() {
    for line_bytes in [32, 64, 128] {
        let options = AdvisorOptions {
            line_bytes,
            ..AdvisorOptions::default()
        };
        let kernel = launch(1, 32);
        let report = analyse(options, &kernel, &LaunchContext::default(), &[]);
        let bypass = report.bypass.unwrap();
        assert_eq!(bypass.per_warp.line_bytes, u64::from(line_bytes));
        assert_eq!(bypass.per_cta.line_bytes, u64::from(line_bytes));
    }
}

#[test]
fn bypassing_keeps_the_reuse_of_the_other_warps() {
    // Two warps; each goes twice round three lines of its own. An L1 of four lines holds three, and
    // with both warps it loses all before they are used again.
    let lap = |warp: u32| {
        (0..6).map(move |at| Record {
            warp,
            ..request(at + 1, WarpKind::Load, 1, 4, |_| {
                128 * (at % 3 + 3 * u64::from(warp))
            })
        })
    };
    let records: Vec<Record> = lap(0).chain(lap(1)).collect();
    let mut model = GpuModel::KEPLER;
    (model.l1.bytes, model.l1.ways) = (4 * 128, 4);
    let options = AdvisorOptions {
        model,
        ..AdvisorOptions::default()
    };
    let report = analyse(options, &launch(1, 64), &LaunchContext::default(), &records);
    let bypass = report.bypass.unwrap();
    let oracle = bypass.oracle.unwrap();
    assert_eq!((oracle.loads, &oracle.traffic[..]), (12, &[9, 12][..]));
    // RD per warp is 2, per block 5: 512 / (2 · 128) = 2 and 512 / (5 · 128) = 0.8.
    assert_eq!(
        (
            bypass.per_warp.reuse_distance,
            bypass.per_cta.reuse_distance
        ),
        (Some(2.0), Some(5.0))
    );
    assert_eq!((bypass.per_warp.advice(), bypass.per_cta.advice()), (2, 1));
    assert_eq!(oracle.best(), 1);
}

#[test]
fn shared_memory_limits_the_blocks_of_a_multiprocessor() {
    let hopper = GpuModel::HOPPER;
    // By warps and in all, then by shared memory: 228 KiB of an SM, and 1 KiB for each block.
    let cases = [(8, 0, 8), (1, 0, 32), (2, 48 << 10, 4), (1, 227 << 10, 1)];
    for (warps, shared, blocks) in cases {
        assert_eq!(hopper.resident_blocks(warps, shared), blocks);
    }
    // One SM and two blocks.
    let options = AdvisorOptions {
        model: GpuModel { sms: 1, ..hopper },
        ..AdvisorOptions::default()
    };
    let waves = |shared_bytes| {
        let mut advisor = Advisor::new(options);
        let used = BlockUse {
            static_shared: shared_bytes,
            ..BlockUse::default()
        };
        let launch = Launch {
            used: Some(used),
            ..launch(2, 32)
        };
        advisor.begin(&launch, LaunchContext::default());
        for _ in 0..2 {
            let block = advisor.open().unwrap();
            advisor.close(block);
        }
        advisor.end(InstructionCounts::default());
        let caches = advisor.finish().remove(0).caches.unwrap();
        (caches.waves, caches.resident_blocks)
    };
    assert_eq!(waves(100 << 10), (1, 2));
    assert_eq!(waves(200 << 10), (2, 1));
}

#[test]
fn store_policy_decides_whether_a_line_stays() {
    let records = [
        request(1, WarpKind::Load, 1, 4, |_| 0),
        request(2, WarpKind::Store, 1, 4, |_| 0),
        request(3, WarpKind::Load, 1, 4, |_| 0),
    ];
    let hits = |stores| {
        let options = AdvisorOptions {
            model: GpuModel {
                stores,
                ..GpuModel::HOPPER
            },
            ..AdvisorOptions::default()
        };
        let report = analyse(options, &launch(1, 32), &LaunchContext::default(), &records);
        let caches = report.caches.unwrap();
        (caches.l1.load_hits, caches.l1.store_hits)
    };
    assert_eq!(hits(StorePolicy::Update), (1, 1));
    assert_eq!(hits(StorePolicy::Evict), (0, 1));
}

#[test]
fn branches_are_percentages_and_lines() {
    let block = |block, place: &str, executions, divergent| BasicBlockExecutions {
        block,
        place: place.into(),
        calls: [].into(),
        executions,
        divergent,
    };
    let branch = |place: &str, executions, splits| BranchExecutions {
        branch: 0,
        place: place.into(),
        calls: [].into(),
        executions,
        splits,
        lanes: 32 * executions,
    };
    let guarded = |lanes_off| GuardedExecutions {
        instruction: u32::from(lanes_off == 0),
        place: "k.cu:10:20".into(),
        calls: [].into(),
        executions: 4,
        lanes: 128,
        lanes_off,
    };
    use InstructionClass::{Float32, Integer};
    let executed = |instruction, class, warps| InstructionExecutions {
        instruction,
        place: "k.cu:10".into(),
        column: 5,
        calls: [].into(),
        ptx_line: 40 + instruction,
        text: "add.u32 %r1, %r2, %r3;".into(),
        class,
        counts: ClassCounts {
            warps,
            threads: 30 * warps,
            float_operations: 60 * warps,
        },
    };
    let mut report = BranchReport {
        basic_blocks: vec![block(0, "k.cu:10:3", 8, 0), block(2, "k.cu:9", 4, 3)],
        branches: vec![branch("k.cu:10:9", 8, 2)],
        guarded: vec![guarded(96), guarded(0)],
        instructions: vec![executed(0, Float32, 8), executed(2, Integer, 1)],
    };
    report.merge(&BranchReport {
        basic_blocks: vec![block(1, "", 4, 1), block(2, "k.cu:9", 4, 4)],
        branches: vec![branch("k.cu:10:9", 2, 0)],
        guarded: vec![guarded(32)],
        instructions: vec![executed(1, Integer, 3), executed(2, Integer, 4)],
    });
    assert_eq!((report.executions(), report.divergent()), (20, 8));
    assert_eq!((report.divergence(), report.efficiency()), (0.4, 0.8));
    let lines = report.by_line();
    let last = lines
        .last()
        .map(|row| (row.guarded, row.guarded_lanes, row.lanes_off));
    assert_eq!(last, Some((12, 384, 128)));
    let counts = |counts: &ClassCounts| (counts.warps, counts.threads, counts.float_operations);
    let last = lines.last().map(|row| counts(&row.instructions));
    assert_eq!(last, Some((16, 480, 960)));
    let mix = report.mix();
    assert_eq!(counts(mix.of(Integer)), (8, 240, 480));
    assert_eq!(
        mix.executed().map(|it| it.0).collect::<Vec<_>>(),
        [Integer, Float32]
    );
    let rows: Vec<_> = lines
        .iter()
        .map(|row| {
            (
                &row.line[..],
                row.executions,
                row.divergent,
                row.branches,
                row.splits,
            )
        })
        .collect();
    let expected = [
        ("", 4, 1, 0, 0),
        ("k.cu:9", 8, 7, 0, 0),
        ("k.cu:10", 8, 0, 10, 2),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn statistics_are_those_of_the_textbook() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    let of = |values: &[f64]| {
        let mut statistic = Statistic::default();
        values.iter().for_each(|&value| statistic.add(value));
        statistic
    };
    let all = of(&values);
    assert_eq!((all.count(), all.sum(), all.mean()), (8, 40.0, 5.0));
    assert_eq!((all.min(), all.max()), (2.0, 9.0));
    assert!((all.deviation() - 2.0).abs() < 1e-12);
    let mut merged = of(&values[..3]);
    merged.merge(&of(&values[3..]));
    assert!((merged.deviation() - 2.0).abs() < 1e-12);
    assert!((merged.mean() - 5.0).abs() < 1e-12);
}

#[test]
fn launches_of_a_call_path_are_summed_and_compared() {
    let mut advisor = reuselens_gpu_advisor::Advisor::new(AdvisorOptions::default());
    let load = request(1, WarpKind::Load, u32::MAX, 4, |lane| 4 * lane);
    for (call_path, loads) in [(1, 1), (2, 5), (1, 3)] {
        let context = LaunchContext {
            call_path,
            ..LaunchContext::default()
        };
        let records = vec![load.clone(); loads];
        run(&mut advisor, &launch(1, 32), &context, &records);
    }
    let reports = advisor.finish();
    let paths: Vec<u32> = reports.iter().map(|report| report.call_path).collect();
    assert_eq!(paths, [1, 2]);
    let requests = reports[0].launches.of(LaunchMetric::GlobalRequests);
    assert_eq!((reports[0].launches.launches, requests.count()), (2, 2));
    assert_eq!(
        (requests.min(), requests.max(), requests.mean()),
        (1.0, 3.0, 2.0)
    );
    assert_eq!((requests.sum(), requests.deviation()), (4.0, 1.0));
    assert_eq!(reports[0].global.requests, 4);
    let sectors = metrics(&reports[0])
        .into_iter()
        .find(|metric| metric.name == "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
    assert_eq!(sectors.unwrap().value, 16.0);
}

#[test]
fn l2_keeps_its_lines_from_launch_to_launch_and_the_l1_does_not() {
    let mut advisor = reuselens_gpu_advisor::Advisor::new(AdvisorOptions::default());
    let load = request(1, WarpKind::Load, u32::MAX, 4, |lane| 4 * lane);
    for _ in 0..2 {
        let context = LaunchContext::default();
        run(
            &mut advisor,
            &launch(1, 32),
            &context,
            std::slice::from_ref(&load),
        );
    }
    let caches = advisor.finish()[0].caches.unwrap();
    assert_eq!((caches.l1.loads, caches.l1.load_hits), (8, 0));
    assert_eq!((caches.l2.loads, caches.l2.load_hits), (8, 4));
}
