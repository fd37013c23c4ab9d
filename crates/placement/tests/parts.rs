//! Plans for profiles with placement data: chunks, lifetimes, phases.

mod common;

use common::empty_profile;
use reuselens_locality::FineHistogram;
use reuselens_placement::{
    ContextAdvice, MemoryMachine, Objective, PhaseVerdict, PlacementFile, PlacementPlan,
    PlanOptions, Reason, capacity_curve, import_flexmalloc, plan,
};
use reuselens_profile::{
    Cell, Context, ContextFootprint, FileOffset, Frame, Lifetime, Object, ObjectKind, ObjectPart,
    PlacementData, Profile,
};
use reuselens_units::{Bytes, Distance};

const MACHINE: &str = r#"
name = "m"
cache = "64 KiB"
parallelism = 10

[[tier]]
name = "near"
kind = "HBM"
capacity = "10 MiB"
latency = 50
bandwidth = 100000

[[tier]]
name = "far"
kind = "DRAM"
latency = 150
bandwidth = 20000
"#;

const MIB: u64 = 1 << 20;

/// A profile that is written by hand: objects and contexts, with accesses at a far distance.
struct Made(Profile);

impl Made {
    fn new() -> Made {
        let mut profile = empty_profile(1);
        profile.method.placement = Some(PlacementData::default());
        Made(profile)
    }

    fn object(&mut self, name: &str, bytes: u64) -> &mut Object {
        let offset = self.0.objects.len() as u64;
        self.0.objects.push(Object {
            kind: ObjectKind::Heap,
            name: name.to_owned(),
            bytes,
            blocks: 1,
            origins: vec![vec![FileOffset {
                module: "program".to_owned(),
                offset: if name.starts_with("big") {
                    1
                } else {
                    1 + offset
                },
            }]],
            ..Object::default()
        });
        self.0.objects.last_mut().unwrap()
    }

    fn context(&mut self, function: &str, parent: u32, entries: u64, items: u64) -> u32 {
        self.0.contexts.push(Context {
            parent,
            function: function.to_owned(),
            entries: Some(entries),
            footprint: Some(ContextFootprint {
                exclusive: items,
                inclusive: items,
            }),
            ..Context::default()
        });
        self.0.contexts.len() as u32 - 1
    }

    /// Accesses to the object of this number in a context, far enough to miss; the first of each
    /// line are cold.
    fn accesses(&mut self, object: u32, context: u32, accesses: u64) {
        let mut histogram = FineHistogram::new();
        let cold = (self.0.objects[object as usize].bytes / 64).min(accesses / 2);
        for (distance, count) in [
            (Distance::new(1 << 20), accesses - cold),
            (Distance::COLD, cold),
        ] {
            histogram.add(distance, count);
            self.0.histogram.add(distance, count);
        }
        self.0.cells.push(Cell {
            object,
            context,
            histogram,
            ..Cell::default()
        });
    }

    fn plan(&self, objective: Objective) -> PlacementPlan {
        let machine = MemoryMachine::from_toml(MACHINE).unwrap();
        let cache = machine.cache.unwrap().into();
        plan(&self.0, &machine, PlanOptions { objective, cache }).unwrap()
    }
}

/// An object of 32 MiB in chunks of 256 KiB, of which the bytes from 4 to 8 MiB are hot.
fn chunked() -> Made {
    let mut made = Made::new();
    let chunk = MIB / 4;
    for start in (0..32 * MIB).step_by(chunk as usize) {
        let part = ObjectPart {
            start,
            end: start + chunk,
            chunk,
            longest: 32 * MIB,
        };
        made.object("big", chunk).part = Some(part);
        let row = made.0.objects.len() as u32 - 1;
        let is_hot = (4 * MIB..8 * MIB).contains(&start);
        made.accesses(row, 0, if is_hot { 900_000 } else { 10_000 });
    }
    made.object("small", MIB);
    let row = made.0.objects.len() as u32 - 1;
    made.accesses(row, 0, 500_000);
    made
}

#[test]
fn hot_chunks_of_a_large_object_are_placed_and_in_the_file() {
    let made = chunked();
    let plan = made.plan(Objective::Misses);
    // A tenth of the fast memory: four chunks of 256 KiB make 1 MiB.
    let big = plan
        .objects
        .iter()
        .filter(|it| it.candidate.name.starts_with("big"));
    assert_eq!(big.count(), 32);
    let first = &plan.objects[0];
    assert_eq!(first.candidate.parts, [(4 * MIB, 5 * MIB)]);
    assert_eq!(first.candidate.name, "big [4 MiB to 5 MiB]");
    assert_eq!(first.reason, Reason::Placed);
    let (file, left_out) = PlacementFile::new(&made.0, &plan).unwrap();
    assert!(left_out.other_tiers.is_empty());
    let big = file.objects.iter().find(|it| it.name.starts_with("big"));
    let big = big.unwrap();
    assert!(
        big.chunks
            .iter()
            .any(|&(low, high)| low <= 4 * MIB && 8 * MIB <= high)
    );
    let placed: u64 = big.chunks.iter().map(|(low, high)| high - low).sum();
    assert_eq!(big.bytes, placed);
    assert!(placed <= 10 * MIB);
    assert_eq!(
        PlacementFile::from_toml(&file.to_toml().unwrap()).unwrap(),
        file
    );
}

#[test]
fn chunks_of_an_object_that_fits_are_the_object() {
    let mut made = Made::new();
    for start in [0, MIB / 4] {
        let part = ObjectPart {
            start,
            end: start + MIB / 4,
            chunk: MIB / 4,
            longest: MIB / 2,
        };
        made.object("big", MIB / 4).part = Some(part);
        let row = made.0.objects.len() as u32 - 1;
        made.accesses(row, 0, 1000);
    }
    let plan = made.plan(Objective::Misses);
    let object = &plan.objects[0].candidate;
    assert_eq!((object.name.as_str(), object.bytes), ("big", MIB / 2));
    assert_eq!((object.accesses, object.rows.len()), (2000, 2));
    assert!(object.parts.is_empty());
    // The profile has no row for a chunk without accesses, and the plan does not place it.
    for object in &mut made.0.objects {
        object.part.iter_mut().for_each(|part| part.longest = MIB);
    }
    let plan = made.plan(Objective::Misses);
    let object = &plan.objects[0].candidate;
    assert_eq!(
        (&object.parts[..], object.bytes),
        (&[(0, MIB / 2)][..], MIB / 2)
    );
}

/// Blocks of a second path are shorter, so that only the first chunk has it.
#[test]
fn chunks_of_one_object_from_other_paths_are_one_object_of_the_file() {
    let mut made = Made::new();
    for start in [0, MIB] {
        let part = ObjectPart {
            start,
            end: start + MIB,
            chunk: MIB,
            longest: 2 * MIB,
        };
        let object = made.object("big", MIB);
        object.part = Some(part);
        if start == 0 {
            let second = FileOffset {
                module: "program".to_owned(),
                offset: 99,
            };
            object.origins.push(vec![second]);
        }
        let row = made.0.objects.len() as u32 - 1;
        made.accesses(row, 0, 1000);
    }
    let plan = made.plan(Objective::Misses);
    assert_eq!(plan.objects.len(), 2);
    let (file, _) = PlacementFile::new(&made.0, &plan).unwrap();
    let [object] = &file.objects[..] else {
        panic!("{:?}", file.objects)
    };
    assert_eq!((object.paths.len(), object.bytes), (2, 2 * MIB));
    // All of it is placed, so longer blocks of another run are placed with all bytes too.
    assert!(object.chunks.is_empty());
}

#[test]
fn objects_that_do_not_live_at_the_same_time_share_room() {
    let mut made = Made::new();
    for (name, begin, end) in [("first", 0, 100), ("second", 101, 200), ("third", 201, 300)] {
        made.object(name, 8 * MIB).lifetime = Some(Lifetime { begin, end });
        let row = made.0.objects.len() as u32 - 1;
        made.accesses(row, 0, 1_000_000);
    }
    let plan = made.plan(Objective::Time);
    assert!(plan.objects.iter().all(|it| it.reason == Reason::Placed));
    assert_eq!(
        (plan.tiers[0].bytes, plan.tiers[0].peak),
        (24 * MIB, 8 * MIB)
    );
    // At the same time only one fits.
    for object in &mut made.0.objects {
        object.lifetime = object.lifetime.map(|it| Lifetime { begin: 0, ..it });
    }
    let plan = made.plan(Objective::Time);
    let placed = plan.objects.iter().filter(|it| it.reason == Reason::Placed);
    assert_eq!(placed.count(), 1);
}

/// Two phases, each with an object that fills the fast memory; `accesses` of each, in `entries`.
fn two_phases(accesses: u64, entries: u64) -> PlacementPlan {
    let mut made = Made::new();
    let items = 8 * MIB / 64;
    let main = made.context("main", 0, 1, 2 * items);
    for name in ["one", "two"] {
        made.object(name, 8 * MIB);
        let row = made.0.objects.len() as u32 - 1;
        let context = made.context(name, main, entries, items);
        made.accesses(row, context, accesses + u64::from(row));
    }
    let tiny = made.context("tiny", main, 1, 10);
    made.accesses(1, tiny, 100);
    made.plan(Objective::Time)
}

#[test]
fn phases_move_where_that_pays_and_say_from_where_on_it_does() {
    // Moving 16 MiB there and back takes some 1.7 ms; a miss saves 10 ns.
    let plan = two_phases(10_000_000, 1);
    let names: Vec<&str> = plan
        .phases
        .phases
        .iter()
        .map(|it| it.function.as_str())
        .collect();
    assert_eq!(names, ["one", "two"]);
    let verdicts: Vec<_> = plan.phases.phases.iter().map(|it| it.verdict).collect();
    // The plan of the run has the object of the first, which the third context accesses too.
    assert_eq!(verdicts, [PhaseVerdict::Same, PhaseVerdict::Move]);
    assert_eq!(plan.phases.phases[1].moved, Bytes(16 * MIB));
    assert_eq!(plan.phases.outside, 100);

    let plan = two_phases(10_000_000, 1000);
    let PhaseVerdict::DoNotMove {
        most_entries,
        times_accesses,
    } = plan.phases.phases[1].verdict
    else {
        panic!("{:?}", plan.phases.phases[1]);
    };
    let phase = &plan.phases.phases[1];
    let (gain, cost) = (phase.value_own - phase.value_whole, phase.cost.unwrap());
    assert!(gain < cost && most_entries >= 1);
    // With that number of entries it pays, with one more it does not.
    let each = cost / 1000.0;
    assert!(each * most_entries as f64 <= gain && gain < each * (most_entries + 1) as f64);
    assert!((times_accesses * gain / cost - 1.0).abs() < 1e-9);
}

#[test]
fn contexts_have_what_their_footprints_say() {
    let mut made = Made::new();
    let items = 8 * MIB / 64;
    made.object("data", 8 * MIB);
    let reuses = made.context("reuses", 0, 1, items);
    let streams = made.context("streams", 0, 1, 40 * items);
    let cached = made.context("cached", 0, 1, 100);
    made.accesses(1, reuses, 10_000_000);
    made.accesses(1, streams, 2_000_000);
    made.accesses(1, cached, 3_000_000);
    let plan = made.plan(Objective::Misses);
    let advice = |name: &str| {
        let mut contexts = plan.phases.contexts.iter();
        contexts.find(|it| it.function == name).unwrap().advice
    };
    assert_eq!(advice("reuses"), ContextAdvice::OptimiseFirst);
    assert_eq!(advice("streams"), ContextAdvice::LittleReuse);
    assert_eq!(advice("cached"), ContextAdvice::FitsCache);
}

#[test]
fn locations_of_flexmalloc_are_found_by_source_and_by_address() {
    let mut made = Made::new();
    let frame = |file: &str, line| Frame {
        function: "f".to_owned(),
        file: file.to_owned(),
        line,
    };
    let place = |module: &str, offset| FileOffset {
        module: module.to_owned(),
        offset,
    };
    let one = made.object("one", MIB);
    one.path = vec![frame("/src/a.c", 10), frame("/src/main.c", 20)];
    one.origins = vec![vec![place("prog", 0x1233), place("libx.so.1", 0x5019)]];
    let two = made.object("two", MIB);
    two.path = vec![frame("b.c", 7), frame("", 0), frame("main.c", 30)];
    two.origins = vec![vec![place("libx.so.1", 0x6fff)]];
    let machine = MemoryMachine::from_toml(MACHINE).unwrap();
    let import = |text: &str| import_flexmalloc(text, &made.0, &machine);
    let names = |text: &str| -> Vec<String> {
        let file = import(text).unwrap().file;
        file.objects.into_iter().map(|it| it.name).collect()
    };
    let source = "# a comment\n/x/a.c:10 > main.c:20 > libc-start.c:342 @ memkind/hbwmalloc\n";
    assert_eq!(names(source), ["one"]);
    assert_eq!(names("Unresolved:0 > main.c:20 @ near\n"), ["one"]);
    let middle = "b.c:7 > Unresolved:0 > main.c:30 @ near\n";
    assert_eq!(names(middle), ["two"]);
    assert!(import(&middle.replace("30", "31")).is_err());
    assert_eq!(names("/bin/prog!1234 > /lib/libx.so.1!1a @ near"), ["one"]);
    assert_eq!(names("libx.so.1!2000 @ near\n"), ["two"]);

    let mixed = format!("{source}b.c:8 @ near\nb.c:7 @ posix\na.c:10 @ fast\na.c:10\nx @ near\n");
    let imported = import(&mixed).unwrap();
    assert_eq!(imported.slow, 1);
    let expected = [
        "line 3: the profile has no allocation from b.c:8",
        "line 5: the allocator 'fast' is not known",
        "line 6: there is no allocator",
        "line 7: \"x\" is no call",
    ];
    assert_eq!(imported.left_out.len(), expected.len());
    for (found, expected) in imported.left_out.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    let error = import("a.c:10 @ memkind/pmem\n").unwrap_err().to_string();
    assert!(error.contains("m has no tier of kind NVM"), "{error}");
    assert!(
        import("# nothing\n")
            .unwrap_err()
            .to_string()
            .contains("it has no location")
    );
    assert!(import("prog!xyz @ near").is_err());
}

#[test]
fn curve_rises_with_the_capacity_and_meets_the_plan() {
    let plan = chunked().plan(Objective::Misses);
    let points = capacity_curve(&plan);
    assert_eq!(points.len(), 20);
    let rises = points
        .windows(2)
        .all(|pair| pair[0].capacity < pair[1].capacity && pair[0].value <= pair[1].value);
    assert!(rises, "{points:?}");
    assert!(points.iter().all(|point| point.value <= point.bound));
    let below = points
        .iter()
        .rfind(|point| point.capacity.get() <= 10 * MIB)
        .unwrap();
    let above = points
        .iter()
        .find(|point| point.capacity.get() >= 10 * MIB)
        .unwrap();
    assert!(below.value <= plan.best.bound && plan.best.value <= above.bound);
}

/// As many objects as a large program has, with lifetimes and phases.
#[test]
fn plan_of_ten_thousand_objects_has_a_close_bound() {
    let mut made = Made::new();
    let mut seed = 3_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let contexts: Vec<u32> = (0..12)
        .map(|at| made.context(&format!("f{at}"), 0, 3, 1 << 20))
        .collect();
    for object in 0..10_000 {
        let begin = random(1_000_000);
        let end = begin + random(300_000);
        made.object(&format!("object {object}"), 4096 * (1 + random(64)));
        made.0.objects.last_mut().unwrap().lifetime = Some(Lifetime { begin, end });
        let row = made.0.objects.len() as u32 - 1;
        made.accesses(row, contexts[random(12) as usize], 1000 + random(100_000));
    }
    let plan = made.plan(Objective::Misses);
    assert!(plan.objects.len() > 9_000);
    assert!(plan.best.gap() < 0.01, "{}", plan.best.gap());
    assert_eq!(plan.phases.phases.len(), 12);
    assert!(plan.tiers[0].peak <= 10 * MIB);
}
