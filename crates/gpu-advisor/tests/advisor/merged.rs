//! Sums of call paths that are written alike equal what one call path would have had.

use crate::support::{Random, launch, random_launch, run};
use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, CallPath, CopySum, Direction, FillSum, KernelReport, LaunchFault,
    LaunchSum, Ledger, renumber_call_paths,
};
use reuselens_warp::{Space, WarpKind};

/// What does not depend on which launch was the first.
fn sums(mut report: KernelReport) -> (u64, KernelReport) {
    let launches = report.launches.launches;
    report.launches = launch_of_nothing().launches;
    report.mapping = None;
    report.configurations.sort_by_key(|it| format!("{it:?}"));
    for site in &mut report.by_site {
        (site.space, site.kind) = (Space::Global, WarpKind::Load);
        (site.object, site.array) = (None, None);
    }
    (launches, report)
}

fn launch_of_nothing() -> KernelReport {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    run(&mut advisor, &launch(1, 32), &Default::default(), &[]);
    advisor.finish().remove(0)
}

#[test]
fn kernels_of_two_paths_are_merged_to_what_one_path_has() {
    let mut random = Random(0x6d65_7267);
    for round in 0..60 {
        let launches: Vec<_> = (0..2 + random.below(5))
            .map(|_| random_launch(&mut random))
            .collect();
        let options = AdvisorOptions {
            cache_distances: true,
            ..AdvisorOptions::default()
        };
        let (mut apart, mut together) = (Advisor::new(options), Advisor::new(options));
        for (at, one) in launches.iter().enumerate() {
            let mut context = one.context.clone();
            context.call_path = if at == 0 {
                1
            } else {
                1 + random.below(2) as u32
            };
            run(&mut apart, &one.launch, &context, &one.records);
            context.call_path = 1;
            run(&mut together, &one.launch, &context, &one.records);
        }
        let merged = renumber_call_paths(apart.finish(), &[0, 1, 1]);
        let expected: Vec<_> = together.finish().into_iter().map(sums).collect();
        assert_eq!(
            merged.into_iter().map(sums).collect::<Vec<_>>(),
            expected,
            "{round}"
        );
    }
}

#[test]
fn kernels_of_other_names_paths_and_codes_stay() {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    let mut random = Random(7);
    let one = random_launch(&mut random);
    for (name, path) in [("a", 1), ("b", 2), ("a", 3)] {
        let (mut launch, mut context) = (one.launch.clone(), one.context.clone());
        launch.kernel = name.to_owned();
        context.call_path = path;
        run(&mut advisor, &launch, &context, &one.records);
    }
    let mut reports = advisor.finish();
    assert_eq!(renumber_call_paths(reports.clone(), &[0, 1, 1, 3]).len(), 3);
    assert_eq!(renumber_call_paths(reports.clone(), &[0, 1, 1, 1]).len(), 2);
    if let Some(site) = reports[2].by_site.first_mut() {
        site.code.place = "other.cu:1".to_owned();
    }
    let all = renumber_call_paths(reports, &[0, 1, 1, 1]);
    assert_eq!(all.len(), 3);
}

#[test]
fn rows_of_a_ledger_that_become_equal_are_added_up() {
    let copy = |call_path| CopySum {
        from: 1,
        to: 2,
        direction: Direction::HostToDevice,
        call_path,
        count: 1,
        bytes: 10,
        redundant: 1,
        redundant_bytes: 5,
    };
    let fill = |call_path| FillSum {
        object: 1,
        call_path,
        count: 2,
        bytes: 8,
    };
    let launch = |call_path| LaunchSum {
        kernel: "k".to_owned(),
        call_path,
        launches: 3,
        failed: 1,
    };
    let fault = |call_path| LaunchFault {
        kernel: "k".to_owned(),
        call_path,
        message: "no".to_owned(),
        object: None,
        is_refused: false,
        count: 1,
    };
    let mut ledger = Ledger {
        call_paths: vec![CallPath::default(); 4],
        copies: [1, 2, 3].map(copy).into(),
        fills: [1, 2, 3].map(fill).into(),
        launches: [1, 2, 3].map(launch).into(),
        faults: [1, 2, 3].map(fault).into(),
        ..Ledger::default()
    };
    ledger.renumber_call_paths(&[0, 1, 1, 3]);
    let copies: Vec<_> = ledger
        .copies
        .iter()
        .map(|it| (it.call_path, it.count, it.bytes))
        .collect();
    assert_eq!(copies, [(1, 2, 20), (3, 1, 10)]);
    assert_eq!(
        (ledger.copies[0].redundant, ledger.copies[0].redundant_bytes),
        (2, 10)
    );
    let fills: Vec<_> = ledger
        .fills
        .iter()
        .map(|it| (it.call_path, it.count, it.bytes))
        .collect();
    assert_eq!(fills, [(1, 4, 16), (3, 2, 8)]);
    let launches = ledger.launches.iter();
    let launches: Vec<_> = launches
        .map(|it| (it.call_path, it.launches, it.failed))
        .collect();
    assert_eq!(launches, [(1, 6, 2), (3, 3, 1)]);
    let faults: Vec<_> = ledger
        .faults
        .iter()
        .map(|it| (it.call_path, it.count))
        .collect();
    assert_eq!(faults, [(1, 2), (3, 1)]);
}
