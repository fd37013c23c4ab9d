//! The shares that CUDAAdvisor publishes of PolyBench's kernels (Shen 2021, section 3.5), from
//! accesses as those kernels make them: thread blocks of 32 × 8 threads, rows of 1,024 floats.

use reuselens_gpu_advisor::{Advisor, AdvisorOptions, GpuModel, KernelReport, LaunchContext};
use reuselens_warp::{Extent, Launch, Space, WarpKind};

use crate::support::{Record, launch, run};

/// Elements of a row of the matrices.
const ROW: u64 = 1024;
/// Iterations of the inner loop that are looked at.
const STEPS: u64 = 40;
const MATRIX: u64 = 1 << 24;
const VECTOR: u64 = 1 << 23;

/// Loads of one warp by all lanes, one after the other: for each step the addresses of each load.
fn loads(warp: u32, addresses: &[&dyn Fn(u64, u64) -> u64]) -> Vec<Record> {
    let mut records = Vec::new();
    for step in 0..STEPS {
        for (site, address) in (0..).zip(addresses) {
            records.push(Record {
                site,
                phase: 0,
                position: records.len() as u64 + 1,
                block: 0,
                warp,
                mask: u32::MAX,
                space: Space::Global,
                kind: WarpKind::Load,
                bytes: 4,
                addresses: (0..32).map(|lane| address(step, lane)).collect(),
            });
        }
    }
    records
}

fn kepler() -> AdvisorOptions {
    AdvisorOptions {
        model: GpuModel::KEPLER,
        ..AdvisorOptions::default()
    }
}

/// Shares of requests with 1, 4 and 32 lines and sectors.
fn shares(report: &KernelReport) -> ([f64; 3], [f64; 3]) {
    let loads = &report.divergence.loads;
    let share = |count: u64| count as f64 / loads.requests() as f64;
    (
        [1, 4, 32].map(|degree| share(loads.lines[degree])),
        [1, 4, 32].map(|degree| share(loads.sectors[degree])),
    )
}

#[test]
fn bicg_diverges_as_published() {
    // Kernel 1: r[i] · A[i][j], threads along j. Kernel 2: A[i][j] · p[j], threads along i.
    let along_rows = loads(
        0,
        &[&|i, _| VECTOR + 4 * i, &|i, j| MATRIX + 4 * (i * ROW + j)],
    );
    let along_columns = loads(
        0,
        &[&|j, i| MATRIX + 4 * (i * ROW + j), &|j, _| VECTOR + 4 * j],
    );
    let mut advisor = Advisor::new(kepler());
    for records in [along_rows, along_columns] {
        run(
            &mut advisor,
            &launch(1, 32),
            &LaunchContext::default(),
            &records,
        );
    }
    let (lines, sectors) = shares(&advisor.finish()[0]);
    assert_eq!(lines, [0.75, 0.0, 0.25]);
    assert_eq!(sectors, [0.5, 0.25, 0.25]);
}

/// The loads of syrk, C[i][j] += A[i][k] · A[j][k], by a block with i along y and j along x.
fn syrk() -> KernelReport {
    let mut records = Vec::new();
    for warp in 0..8 {
        records.extend(loads(
            warp,
            &[&|k, _| MATRIX + 4 * (u64::from(warp) * ROW + k), &|k, j| {
                MATRIX + 4 * (j * ROW + k)
            }],
        ));
    }
    let launch = Launch {
        block: Extent { x: 32, y: 8, z: 1 },
        used: None,
        arrays: [].into(),
        ..launch(1, 32)
    };
    let mut advisor = Advisor::new(kepler());
    run(&mut advisor, &launch, &LaunchContext::default(), &records);
    advisor.finish().remove(0)
}

#[test]
fn syrk_diverges_as_published() {
    let (lines, _) = shares(&syrk());
    assert_eq!(lines, [0.5, 0.0, 0.5]);
}

#[test]
fn syrk_reuses_at_once_where_lanes_load_the_same_element() {
    // Published: 40 % of the accesses at distance 0 (0.40). Here it is 0.486: of the 64 accesses of
    // a warp's step, 31 load what another lane of the request loads. And once in a step of the
    // block, warp 0 loads the element that warp 7 loaded right before.
    let reuse = syrk().reuse.unwrap();
    let loads = &reuse.cta_elements.loads;
    assert_eq!(loads.accesses(), 8 * STEPS * 64);
    assert_eq!(loads.count(0), (8 * 31 + 1) * STEPS);
}

#[test]
fn ten_thousand_launches_are_one_small_report() {
    let records = loads(0, &[&|i, _| VECTOR + 4 * i]);
    let reports = |launches: usize| {
        let mut advisor = Advisor::new(kepler());
        for _ in 0..launches {
            let few = &records[..2];
            run(&mut advisor, &launch(1, 32), &LaunchContext::default(), few);
        }
        advisor.finish()
    };
    // As text, counts of 10,000 launches have some digits more than those of ten.
    let size = |reports: &[KernelReport]| format!("{reports:?}").len();
    let (few, reports) = (reports(10), reports(10_000));
    assert!(2 * size(&few) > size(&reports), "{}", size(&reports));
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].launches.launches, 10_000);
    assert_eq!(reports[0].global.requests, 20_000);
}
