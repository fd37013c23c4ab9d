//! Plans for profiles that are written by hand.

mod common;

use common::empty_profile;
use reuselens_locality::FineHistogram;
use reuselens_placement::{
    MemoryMachine, Objective, PlacementPlan, PlanError, PlanOptions, Reason, SHIPPED, plan,
};
use reuselens_profile::{CacheSize, Cell, Object, ObjectKind, Profile};
use reuselens_units::{Bytes, Distance};

/// A profile whose objects have a size and, for each thread, accesses at one distance.
struct Made(Profile);

impl Made {
    fn new(threads: usize) -> Made {
        Made(empty_profile(threads))
    }

    fn object(mut self, name: &str, bytes: u64, by_thread: &[(u64, u64)]) -> Made {
        let object = self.0.objects.len() as u32;
        self.0.objects.push(Object {
            kind: ObjectKind::Heap,
            name: name.to_owned(),
            bytes,
            blocks: 1,
            ..Object::default()
        });
        for (thread, &(accesses, distance)) in by_thread.iter().enumerate() {
            if accesses == 0 {
                continue;
            }
            let mut histogram = FineHistogram::new();
            histogram.add(Distance::new(distance), accesses);
            self.0.histogram.add(Distance::new(distance), accesses);
            self.0.cells.push(Cell {
                object,
                thread: thread as u32,
                histogram,
                ..Cell::default()
            });
        }
        self
    }

    fn plan(
        &self,
        machine: &MemoryMachine,
        objective: Objective,
    ) -> Result<PlacementPlan, PlanError> {
        let cache = machine.cache.unwrap_or(Bytes(0)).into();
        plan(&self.0, machine, PlanOptions { objective, cache })
    }
}

fn keystone() -> MemoryMachine {
    let (_, text) = reuselens_placement::SHIPPED[0];
    MemoryMachine::from_toml(text).unwrap()
}

fn tier_of(plan: &PlacementPlan, name: &str) -> String {
    let object = plan
        .objects
        .iter()
        .find(|placed| placed.candidate.name == name);
    plan.machine.tiers[object.unwrap().tier].name.clone()
}

/// Shen 2021, figure 2.4: an array of `srad` with four threads.
#[test]
fn worked_example_of_the_source_has_its_frequency_and_contribution() {
    let bytes = (898.109_f64 * 1024.0).round() as u64;
    let threads = [12_445_583, 6_927_600, 6_867_360, 6_867_361];
    let by_thread = threads.map(|accesses| (accesses, 0));
    let rest = 184_016_202 - 33_107_904;
    let made =
        Made::new(4)
            .object("array", bytes, &by_thread)
            .object("rest", 1 << 30, &[(rest, 0)]);
    let plan = made.plan(&keystone(), Objective::F).unwrap();
    let first = &plan.objects[0].candidate;
    assert_eq!((first.name.as_str(), first.accesses), ("array", 33_107_904));
    assert_eq!(format!("{:.2}", first.frequency()), "36.00");
    let share = 100.0 * first.accesses as f64 / plan.accesses as f64;
    assert_eq!(format!("{share:.4}"), "17.9918");
    assert_eq!(first.owner(), None);
    assert_eq!(tier_of(&plan, "array"), "MSMC");
    assert_eq!(tier_of(&plan, "rest"), "DDR");
    assert_eq!(plan.objects[1].reason, Reason::TooLarge);
}

/// Matrix transpose (section 2.6): both matrices are accessed equally often, so F cannot choose;
/// the one that is walked along its columns misses with every access.
#[test]
fn badly_strided_matrix_of_a_transposition_goes_first() {
    let bytes = 4 << 20;
    let rows = Made::new(1).object("rows", bytes, &[(1 << 20, 0)]);
    let mut made = rows.object("columns", bytes, &[(1 << 20, 1 << 16)]);
    made.0.cells[0].histogram.add(Distance::COLD, 1 << 16);
    let plan = made.plan(&keystone(), Objective::Misses).unwrap();
    assert_eq!(tier_of(&plan, "columns"), "MSMC");
    assert_eq!(tier_of(&plan, "rows"), "DDR");
}

#[test]
fn memory_of_a_core_takes_only_what_its_thread_accesses_alone() {
    let size = 700 << 10;
    let made = Made::new(2)
        .object("first thread's", size, &[(100, 1 << 20)])
        .object("second thread's", size, &[(0, 0), (100, 1 << 20)])
        .object("shared", size, &[(900, 1 << 20), (900, 1 << 20)]);
    let plan = made.plan(&keystone(), Objective::Misses).unwrap();
    assert_eq!(tier_of(&plan, "first thread's"), "L2 SPM");
    assert_eq!(tier_of(&plan, "second thread's"), "L2 SPM");
    assert_eq!(tier_of(&plan, "shared"), "MSMC");
    let cores: Vec<_> = plan.objects.iter().map(|placed| placed.core_of).collect();
    assert_eq!(cores, [None, Some(0), Some(1)]);
}

#[test]
fn object_that_the_caches_serve_stays_in_the_slow_memory() {
    let made =
        Made::new(1)
            .object("hot", 4096, &[(1_000_000, 3)])
            .object("cold", 4096, &[(10, 1 << 20)]);
    let plan = made.plan(&keystone(), Objective::Misses).unwrap();
    assert_eq!(plan.objects[0].candidate.name, "hot");
    assert_eq!(plan.objects[0].reason, Reason::Cached);
    assert_eq!(tier_of(&plan, "cold"), "L2 SPM");
    // The published metric sees only that it is accessed often.
    let by_frequency = made.plan(&keystone(), Objective::F).unwrap();
    assert_eq!(tier_of(&by_frequency, "hot"), "L2 SPM");
}

#[test]
fn profile_without_objects_has_no_plan() {
    let error = Made::new(1).plan(&keystone(), Objective::F).unwrap_err();
    assert_eq!(error, PlanError::NothingToPlace);
}

/// HBM has the latency of ordinary memory, and several times its bandwidth.
#[test]
fn tier_that_only_has_more_bandwidth_gains() {
    let file = r#"
name = "HBM and DDR"
cache = "1 MiB"
parallelism = 400

[[tier]]
name = "hbm"
kind = "HBM"
capacity = "1 MiB"
latency = 130
bandwidth = 400000

[[tier]]
name = "ddr"
kind = "DRAM"
latency = 130
bandwidth = 90000
"#;
    let machine = MemoryMachine::from_toml(file).unwrap();
    let made = Made::new(1).object("streamed", 4096, &[(1000, 1 << 20)]);
    for objective in [Objective::F, Objective::Misses, Objective::Time] {
        let plan = made.plan(&machine, objective).unwrap();
        assert_eq!(tier_of(&plan, "streamed"), "hbm", "{objective}");
    }
    // One miss at a time does not fill the bandwidth of either.
    let patient = MemoryMachine {
        parallelism: Some(1.0),
        ..machine.clone()
    };
    let error = made.plan(&patient, Objective::Time).unwrap_err();
    assert!(matches!(error, PlanError::NoGain { .. }), "{error}");
    // The message says what would: 130 ns divided by the 0.71 ns of a line from DDR are 182.8.
    assert!(
        error
            .to_string()
            .contains("hbm gains from 183 on: add --parallelism 183"),
        "{error}"
    );
    for (parallelism, gains) in [(182.0, false), (183.0, true)] {
        let machine = MemoryMachine {
            parallelism: Some(parallelism),
            ..machine.clone()
        };
        assert_eq!(made.plan(&machine, Objective::Time).is_ok(), gains);
    }
    // Without a statement, each thread has its line-fill buffers.
    let silent = MemoryMachine {
        parallelism: None,
        ..machine
    };
    let error = made.plan(&silent, Objective::Time).unwrap_err().to_string();
    assert!(
        error.contains("10 misses at a time (10 line-fill buffers for each of 1 thread)"),
        "{error}"
    );
    let many = Made::new(20).object("streamed", 4096, &[(1000, 1 << 20); 20]);
    let plan = many.plan(&silent, Objective::Time).unwrap();
    assert_eq!(
        (plan.assumed_threads, plan.machine.parallelism),
        (Some(20), Some(200.0))
    );
}

/// A miss of the TLB moves no page, however long the bandwidth would need for one.
#[test]
fn huge_pages_gain_time() {
    let (_, text) = SHIPPED
        .iter()
        .find(|(name, _)| *name == "hugepages")
        .unwrap();
    let machine = MemoryMachine::from_toml(text).unwrap();
    let made = Made::new(1).object("table", 4096, &[(1000, 1 << 20)]);
    let plan = made.plan(&machine, Objective::Time).unwrap();
    assert_eq!(tier_of(&plan, "table"), "huge");
    // 12 ns become 2.
    assert_eq!(plan.best.value, 1000.0 * 10.0);
}

/// A cache with sets misses more than one without.
#[test]
fn ways_of_the_cache_in_front_count() {
    let machine = keystone();
    let made = Made::new(1).object("table", 4096, &[(1000, 3000)]);
    let misses = |ways| {
        let bytes = Bytes(256 << 10);
        let cache = CacheSize { bytes, ways };
        let options = PlanOptions {
            objective: Objective::Misses,
            cache,
        };
        plan(&made.0, &machine, options).unwrap().misses
    };
    assert_eq!(misses(0), 0);
    assert!((1..1000).contains(&misses(4)), "{}", misses(4));
    assert!(misses(1) > misses(4));
}
