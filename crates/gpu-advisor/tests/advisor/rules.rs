//! Each rule applies where it should, and nowhere else.

use reuselens_advice::Finding;
use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BranchExecutions, BranchReport, CopySum, Direction, GpuModel,
    InstructionCounts, KernelNames, KernelReport, LaunchContext, Ledger, LeftOutAccesses,
    MemoryObject, ObjectRange, OrderCounts, Origin, RunFacts, VariableSpace, findings, rules,
};
use reuselens_warp::{BlockUse, DeviceCall, KernelSite, Launch, Space, WarpKind};

use crate::support::{Record, launch, run};

struct Names;

impl KernelNames for Names {
    fn kernel(&self, kernel: &str) -> String {
        format!("{kernel}()")
    }

    fn call_path(&self, number: u32) -> Vec<String> {
        vec![format!("path {number}")]
    }

    fn object(&self, number: u32) -> Option<String> {
        Some(format!("object {number}"))
    }
}

/// Objects of a mebibyte each; the context of all launches here.
fn context() -> LaunchContext {
    let range = |object: u32| ObjectRange {
        start: u64::from(object) << 20,
        end: u64::from(object + 1) << 20,
        object,
    };
    LaunchContext {
        call_path: 6,
        objects: (1..5).map(range).collect(),
    }
}

fn sites() -> Launch {
    Launch {
        sites: (0..4)
            .map(|site| KernelSite {
                place: format!("k.cu:{}", 10 + site),
                text: String::new(),
                ..KernelSite::default()
            })
            .collect(),
        ..launch(1, 32)
    }
}

fn access(site: u32, position: u64, space: Space, address: impl Fn(u64) -> u64) -> Record {
    Record {
        site,
        phase: 0,
        position,
        block: 0,
        warp: 0,
        mask: u32::MAX,
        space,
        kind: WarpKind::Load,
        bytes: 4,
        addresses: (0..32).map(address).collect(),
    }
}

fn reports(options: AdvisorOptions, records: &[Record]) -> Vec<KernelReport> {
    let mut advisor = Advisor::new(options);
    run(&mut advisor, &sites(), &context(), records);
    advisor.finish()
}

fn advise(kernels: &[KernelReport], ledger: &Ledger) -> Vec<Finding> {
    findings(&RunFacts {
        kernels,
        ledger,
        names: &Names,
    })
}

fn names(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule.name).collect()
}

#[test]
fn strided_loads_are_found_with_line_and_object() {
    let records = [
        access(0, 1, Space::Global, |lane| (1 << 20) + lane * 4),
        access(1, 2, Space::Global, |lane| (2 << 20) + lane * 256),
    ];
    let found = advise(
        &reports(AdvisorOptions::default(), &records),
        &Ledger::default(),
    );
    assert_eq!(names(&found), ["uncoalesced-access"]);
    let (place, cost) = (&found[0].place, &found[0].cost);
    assert_eq!(place.source.as_deref(), Some("k.cu:11"));
    assert_eq!(place.function.as_deref(), Some("kernel()"));
    assert_eq!(place.object.as_deref(), Some("object 2"));
    assert_eq!(place.call_path, ["path 6"]);
    // 32 sectors where 4 would do, of 36 in all.
    assert_eq!((cost.amount, cost.share), (28, 28.0 / 36.0));
    assert_eq!(
        found[0].evidence[0],
        "28 of 32 sectors of its loads are excessive (87.5 %)."
    );
}

#[test]
fn instructions_of_one_line_are_one_finding() {
    // In two columns, which tables do not break lines down by either.
    let site = |column: u32| KernelSite {
        place: format!("k.cu:10:{column}"),
        text: String::new(),
        ..KernelSite::default()
    };
    let launch = Launch {
        sites: [site(5), site(9)].into(),
        ..launch(1, 32)
    };
    let mut advisor = Advisor::new(AdvisorOptions::default());
    let strided = |site| {
        access(site, u64::from(site) + 1, Space::Global, |lane| {
            (2 << 20) + lane * 256
        })
    };
    run(&mut advisor, &launch, &context(), &[strided(0), strided(1)]);
    let found = advise(&advisor.finish(), &Ledger::default());
    assert_eq!(names(&found), ["uncoalesced-access"]);
    assert_eq!(found[0].place.source.as_deref(), Some("k.cu:10"));
    assert_eq!(found[0].cost.amount, 56);
}

#[test]
fn columns_of_shared_tiles_conflict() {
    let records = [
        access(0, 1, Space::Shared, |lane| lane * 4),
        access(1, 2, Space::Shared, |lane| lane * 128),
        access(2, 3, Space::Shared, |lane| lane * 132),
    ];
    let found = advise(
        &reports(AdvisorOptions::default(), &records),
        &Ledger::default(),
    );
    assert_eq!(names(&found), ["bank-conflicts"]);
    assert_eq!(found[0].place.source.as_deref(), Some("k.cu:11"));
    assert_eq!(found[0].cost.amount, 31);
}

#[test]
fn copies_to_shared_memory_are_found_with_the_object_that_they_read() {
    // An asynchronous copy: one instruction that loads and stores.
    let records = [
        access(0, 1, Space::Global, |lane| (2 << 20) + lane * 256),
        access(0, 1, Space::Shared, |lane| lane * 128),
    ];
    let mut kernels = reports(AdvisorOptions::default(), &records);
    kernels[0].by_site[0].array = Some("tile".to_owned());
    let found = advise(&kernels, &Ledger::default());
    let object = |name: &str| {
        let found = found.iter().find(|finding| finding.rule.name == name);
        found.unwrap().place.object.as_deref()
    };
    assert_eq!(object("uncoalesced-access"), Some("object 2"));
    assert_eq!(object("bank-conflicts"), Some("tile (shared)"));
}

#[test]
fn branches_that_split_are_found() {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    advisor.begin(&sites(), context());
    let branch = |branch, place: &str, splits| BranchExecutions {
        branch,
        place: place.into(),
        calls: [].into(),
        executions: 100,
        splits,
        lanes: 3200,
    };
    advisor.branches(&BranchReport {
        branches: vec![branch(0, "k.cu:3:1", 60), branch(1, "k.cu:4:1", 5)],
        ..BranchReport::default()
    });
    advisor.end(InstructionCounts::default());
    let found = advise(&advisor.finish(), &Ledger::default());
    assert_eq!(names(&found), ["divergent-branch"]);
    assert_eq!(found[0].place.source.as_deref(), Some("k.cu:3"));
    assert_eq!(found[0].cost.share, 0.3);
}

/// Goes round `lines` lines eight times; with `streams`, each step loads a new line, too.
fn rounds(lines: u64, streams: bool) -> Vec<Record> {
    let mut records = Vec::new();
    for at in 0..8 * lines {
        let line = |lane: u64| (1 << 20) + at % lines * 128 + lane * 4;
        records.push(access(0, 2 * at + 1, Space::Global, line));
        if streams {
            let next = |lane: u64| (2 << 20) + at * 128 + lane * 4;
            records.push(access(1, 2 * at + 2, Space::Global, next));
        }
    }
    records
}

/// An L1 of 16 lines in one set.
fn small_l1() -> AdvisorOptions {
    let mut model = GpuModel::HOPPER;
    (model.l1.bytes, model.l1.ways) = (16 * 128, 16);
    AdvisorOptions {
        model,
        ..AdvisorOptions::default()
    }
}

#[test]
fn streams_that_push_out_reused_lines_are_found() {
    // 12 lines fit into 16, but not with 12 others between.
    let found = advise(&reports(small_l1(), &rounds(12, true)), &Ledger::default());
    assert_eq!(names(&found), ["no-reuse", "lost-reuse"]);
    assert_eq!(found[0].place.source.as_deref(), Some("k.cu:11"));
    assert_eq!(found[1].place.source.as_deref(), Some("k.cu:10"));
    // 84 of 96 loads find a line of their block; none of the 84 · 4 sectors is still there.
    assert_eq!((found[0].cost.amount, found[1].cost.amount), (96, 336));
    let found = advise(&reports(small_l1(), &rounds(12, false)), &Ledger::default());
    assert_eq!(names(&found), [""; 0]);
}

#[test]
fn other_sectors_of_a_line_are_not_lost() {
    // Each line is loaded sector by sector: three of four loads find their line, none its sector.
    let records: Vec<Record> = (0..256)
        .map(|at| {
            access(0, at + 1, Space::Global, |lane| {
                (1 << 20) + at * 32 + lane % 8 * 4
            })
        })
        .collect();
    let kernels = reports(small_l1(), &records);
    let reuse = kernels[0].by_site[0].counts.reuse;
    assert_eq!((reuse.loads, reuse.reuses), (256, 192));
    assert_eq!((reuse.sectors, reuse.reused_sectors), (256, 0));
    assert_eq!(names(&advise(&kernels, &Ledger::default())), [""; 0]);
}

#[test]
fn reuse_beyond_the_l1_is_found() {
    let found = advise(&reports(small_l1(), &rounds(20, false)), &Ledger::default());
    assert_eq!(names(&found), ["lost-reuse"]);
    let found = advise(
        &reports(AdvisorOptions::default(), &rounds(20, false)),
        &Ledger::default(),
    );
    assert_eq!(names(&found), [""; 0]);
}

#[test]
fn reuse_is_not_lost_where_the_model_left_requests_out() {
    let cut = AdvisorOptions {
        resident_window: 50,
        ..AdvisorOptions::default()
    };
    let found = advise(&reports(cut, &rounds(20, false)), &Ledger::default());
    assert_eq!(names(&found), [""; 0]);
}

#[test]
fn copies_and_allocations_of_the_host_are_found() {
    let object = |origin| MemoryObject {
        origin,
        call_path: 3,
        instances: 1,
        bytes: 1000,
        ..MemoryObject::default()
    };
    let copy = |redundant, call_path| CopySum {
        from: 1,
        to: 2,
        direction: Direction::HostToDevice,
        call_path,
        count: 10,
        bytes: 1000,
        redundant,
        redundant_bytes: 100 * redundant,
    };
    let mut ledger = Ledger::default();
    ledger.objects.extend([
        object(Origin::Heap),
        object(Origin::Malloc),
        object(Origin::Malloc),
    ]);
    ledger.copies = vec![copy(9, 4), copy(0, 5)];
    let found = advise(&[], &ledger);
    assert_eq!(names(&found), ["unused-allocations", "redundant-copies"]);
    assert_eq!(found[0].place.object.as_deref(), Some("object 3"));
    assert_eq!((found[0].cost.amount, found[0].cost.share), (1000, 0.5));
    assert_eq!(found[1].place.call_path, ["path 4"]);
    assert_eq!((found[1].cost.amount, found[1].cost.share), (900, 0.45));
}

/// An object of the device that one call allocated.
fn allocated(origin: Origin, bytes: u64) -> MemoryObject {
    MemoryObject {
        origin,
        instances: 1,
        bytes,
        ..MemoryObject::default()
    }
}

#[test]
fn constants_that_kernels_load_are_used() {
    let table = |name: &str| Origin::Variable {
        name: name.to_owned(),
        space: VariableSpace::Constant,
    };
    let mut ledger = Ledger::default();
    ledger.objects.extend([
        allocated(table("weights"), 1 << 20),
        allocated(table("rest"), 1 << 20),
    ]);
    let records = [
        access(0, 1, Space::Constant, |_| (1 << 20) + 64),
        access(1, 2, Space::Global, |lane| (3 << 20) + lane * 4),
    ];
    let kernels = reports(AdvisorOptions::default(), &records);
    assert_eq!(kernels[0].constants, [1]);
    let rows = kernels[0].by_object.iter().map(|row| row.object);
    assert_eq!(rows.collect::<Vec<_>>(), [Some(3)]);
    let found = advise(&kernels, &ledger);
    assert_eq!(names(&found), ["unused-allocations"]);
    assert_eq!(found[0].place.object.as_deref(), Some("object 2"));
}

#[test]
fn memory_that_the_program_did_not_ask_for_or_the_host_uses_is_not_unused() {
    let strings = Origin::Variable {
        name: "$str".to_owned(),
        space: VariableSpace::Global,
    };
    let mut ledger = Ledger::default();
    ledger.objects.extend([
        allocated(strings, 1000),
        allocated(Origin::Managed, 1000),
        allocated(Origin::Pinned, 1000),
        // Less than 1 % of the run's memory.
        allocated(Origin::Malloc, 20),
    ]);
    assert_eq!(names(&advise(&[], &ledger)), [""; 0]);
    ledger.objects.push(allocated(Origin::Malloc, 1000));
    assert_eq!(names(&advise(&[], &ledger)), ["unused-allocations"]);
    ledger.is_cut = true;
    assert_eq!(names(&advise(&[], &ledger)), [""; 0]);
}

#[test]
fn sums_of_the_largest_copies_and_allocations_do_not_overflow() {
    let copy = CopySum {
        from: 0,
        to: 1,
        direction: Direction::HostToDevice,
        call_path: 0,
        count: 1,
        bytes: u64::MAX,
        redundant: 1,
        redundant_bytes: u64::MAX,
    };
    let mut ledger = Ledger::default();
    ledger.objects.extend([
        allocated(Origin::Malloc, u64::MAX),
        allocated(Origin::Malloc, u64::MAX),
    ]);
    ledger.copies = vec![copy; 2];
    let found = advise(&[], &ledger);
    assert_eq!(
        names(&found),
        ["redundant-copies", "redundant-copies", "unused-allocations"]
    );
    assert!(found.iter().all(|finding| finding.cost.share == 1.0));
}

#[test]
fn rules_have_names_of_their_own_and_say_what_they_do() {
    let names: Vec<&str> = rules().map(|rule| rule.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for rule in rules() {
        for text in [rule.title, rule.what, rule.why, rule.limits, rule.source] {
            assert!(!text.is_empty(), "{}", rule.name);
        }
    }
}

#[test]
fn device_functions_are_in_the_call_path_of_their_lines() {
    let call = |function: &str, place: &str, is_inlined| DeviceCall {
        function: function.to_owned(),
        place: place.to_owned(),
        is_inlined,
    };
    let paths = [
        vec![
            call("helper", "/src/k.cu:35", true),
            call("inner", "/src/k.cu:12", true),
        ],
        vec![call("outer", "/src/k.cu:36", false)],
    ];
    let site = |calls: &Vec<DeviceCall>| KernelSite {
        place: "/src/k.cu:7".to_owned(),
        calls: calls[..].into(),
        ..KernelSite::default()
    };
    let launch = Launch {
        sites: paths.iter().map(site).collect(),
        ..launch(1, 32)
    };
    let strided = |site: u32| {
        access(site, u64::from(site) + 1, Space::Global, |lane| {
            (2 << 20) + lane * 256
        })
    };
    let mut advisor = Advisor::new(AdvisorOptions::default());
    run(&mut advisor, &launch, &context(), &[strided(0), strided(1)]);
    // One line, but two ways to it.
    let found = advise(&advisor.finish(), &Ledger::default());
    let mut paths: Vec<String> = found
        .iter()
        .map(|it| it.place.call_path.join(" > "))
        .collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "path 6 > kernel()<<<>>> (k.cu:35) > helper() (k.cu:12, inlined) > inner() (k.cu:7, inlined)",
            "path 6 > kernel()<<<>>> (k.cu:36) > outer() (k.cu:7)",
        ]
    );
}

/// Records of a launch of 4 blocks of 64 threads, each of which loads the word that `word` says.
fn gather(word: impl Fn(u64) -> u64) -> Vec<Record> {
    let record = |warp: u64| Record {
        block: warp as u32 / 2,
        warp: warp as u32 % 2,
        addresses: (0..32)
            .map(|lane| (2 << 20) + 4 * word(32 * warp + lane))
            .collect(),
        ..access(0, 1, Space::Global, |_| 0)
    };
    (0..8).map(record).collect()
}

/// The findings of two launches of those records, and the report.
fn mapped(word: impl Fn(u64) -> u64, most: u32) -> (Vec<Finding>, KernelReport) {
    let mut advisor = Advisor::new(AdvisorOptions {
        mapped_accesses: most,
        ..AdvisorOptions::default()
    });
    for _ in 0..2 {
        run(&mut advisor, &launch(4, 64), &context(), &gather(&word));
    }
    let mut reports = advisor.finish();
    let found = advise(&reports, &Ledger::default());
    (found, reports.remove(0))
}

#[test]
fn threads_of_other_warps_that_share_sectors_should_be_neighbours() {
    // Threads 0, 32, 64, … use one sector: each warp needs 32 sectors, but could take four.
    let (found, report) = mapped(|thread| thread % 32 * 8 + thread / 32, 1 << 17);
    let mapping = report.mapping.unwrap();
    assert_eq!(
        (mapping.launch, mapping.blocks, mapping.threads),
        (1, 4, 256)
    );
    let sectors = |counts: &OrderCounts| (counts.sectors, counts.block_sectors);
    assert_eq!(sectors(&mapping.before), (8 * 32, 4 * 32));
    assert_eq!(sectors(&mapping.after), (8 * 4, 4 * 8));
    let finding = (found.iter()).find(|it| it.rule.name == "distant-sharing");
    let finding = finding.unwrap();
    // Seven of eight sectors, of two launches.
    assert_eq!(finding.cost.amount, 2 * (256 - 32));
    let evidence = finding.evidence.join(" ");
    for part in ["access 256 sectors", "32 (87.5 % fewer)"] {
        assert!(evidence.contains(part), "{evidence}");
    }
}

#[test]
fn threads_that_exchange_data_stay_where_they_are() {
    let scattered = |thread: u64| thread % 32 * 8 + thread / 32;
    let options = AdvisorOptions {
        mapped_accesses: 1 << 17,
        ..AdvisorOptions::default()
    };
    // By barriers and shuffles, by shared memory, and by accesses to it alone.
    for (shared_bytes, has_exchange, with_access) in
        [(0, true, false), (128, false, false), (0, false, true)]
    {
        let used = BlockUse {
            static_shared: shared_bytes,
            dynamic_shared: 0,
            has_exchange,
        };
        let launch = Launch {
            used: Some(used),
            ..launch(4, 64)
        };
        let mut records = gather(scattered);
        if with_access {
            records.push(access(1, 9, Space::Shared, |lane| 4 * lane));
        }
        let mut advisor = Advisor::new(options);
        advisor.begin(&launch, context());
        for block in 0..4 {
            let mut open = advisor.open().unwrap();
            for record in records.iter().filter(|record| record.block == block) {
                open.record(&record.row());
            }
            advisor.close(open);
        }
        advisor.end(InstructionCounts::default());
        assert_eq!(advisor.finish().remove(0).mapping, None);
    }
}

#[test]
fn neighbours_that_share_nothing_further_away_stay() {
    // Neighbouring words; and words so far apart that no two threads share a sector.
    for step in [1, 8] {
        let (found, report) = mapped(|thread| step * thread, 1 << 17);
        let mapping = report.mapping.unwrap();
        assert_eq!(mapping.before.sectors, mapping.after.sectors);
        assert!(found.iter().all(|it| it.rule.name != "distant-sharing"));
    }
}

#[test]
fn launch_with_other_accesses_is_mapped_again() {
    let mut advisor = Advisor::new(AdvisorOptions {
        mapped_accesses: 1 << 17,
        ..AdvisorOptions::default()
    });
    let words = [
        |thread: u64| thread,
        |thread: u64| thread,
        |thread: u64| thread,
        |thread: u64| thread % 32 * 8 + thread / 32,
    ];
    for word in words {
        run(&mut advisor, &launch(4, 64), &context(), &gather(word));
    }
    let mapping = advisor.finish().remove(0).mapping.unwrap();
    assert_eq!((mapping.launch, mapping.saved()), (4, 8 * (32 - 4)));
}

#[test]
fn only_blocks_that_fit_are_mapped() {
    let scattered = |thread: u64| thread % 32 * 8 + thread / 32;
    let (_, report) = mapped(scattered, 64 * 2);
    assert_eq!(report.mapping.unwrap().blocks, 2);
    assert_eq!(mapped(scattered, 63).1.mapping, None);
    assert_eq!(mapped(scattered, 0).1.mapping, None);
}

/// Four warps, of which `splits` split at a branch.
fn branches(splits: u64) -> BranchReport {
    let branch = BranchExecutions {
        place: "k.cu:3".into(),
        executions: 4,
        splits,
        lanes: 128,
        ..BranchExecutions::default()
    };
    BranchReport {
        branches: vec![branch],
        ..BranchReport::default()
    }
}

/// Four warps, of which `splits` split at a branch, in each of two launches.
fn branching(splits: u64) -> Vec<Finding> {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    for _ in 0..2 {
        advisor.begin(&sites(), context());
        advisor.branches(&branches(splits));
        advisor.end(InstructionCounts::default());
    }
    advise(&advisor.finish(), &Ledger::default())
}

/// Lines of several launches are summed, and come before all that costs time.
#[test]
fn accesses_that_were_left_out_are_the_first_findings() {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    let line = |place: &str, lanes| LeftOutAccesses {
        place: place.into(),
        lanes,
        first: format!("{place} is bad"),
        ..LeftOutAccesses::default()
    };
    for _ in 0..2 {
        advisor.begin(&sites(), context());
        advisor.left_out(&[line("k.cu:3", 1), line("k.cu:4", 20)]);
        advisor.left_out(&[line("k.cu:3", 2)]);
        advisor.branches(&branches(4));
        advisor.end(InstructionCounts::default());
    }
    let found = advise(&advisor.finish(), &Ledger::default());
    let bad = "out-of-bounds-access";
    assert_eq!(names(&found), [bad, bad, "divergent-branch"]);
    let amounts: Vec<u64> = found.iter().map(|finding| finding.cost.amount).collect();
    assert_eq!(amounts[..2], [40, 6]);
    assert_eq!(found[1].place.source.as_deref(), Some("k.cu:3"));
    assert_eq!(found[1].evidence, ["The first: k.cu:3 is bad"]);
}

#[test]
fn bounds_checks_are_no_divergent_branches() {
    assert_eq!(names(&branching(1)), [""; 0]);
    assert_eq!(names(&branching(2)), ["divergent-branch"]);
}
