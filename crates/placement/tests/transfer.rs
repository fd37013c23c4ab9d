//! What a plan is worth in another run.

mod common;

use common::empty_profile;
use reuselens_locality::FineHistogram;
use reuselens_placement::{
    MemoryMachine, Objective, PlacementPlan, PlanOptions, TransferredPlan, plan, worth_elsewhere,
};
use reuselens_profile::{Cell, Object, ObjectKind, ObjectPart, Profile};
use reuselens_units::{Bytes, Distance};

/// Adds an object, or a chunk of one, that is accessed as often as `accesses` says.
fn add(profile: &mut Profile, name: &str, bytes: u64, part: Option<ObjectPart>, accesses: u64) {
    let object = profile.objects.len() as u32;
    profile.objects.push(Object {
        kind: ObjectKind::Heap,
        name: name.to_owned(),
        bytes,
        blocks: 1,
        part,
        ..Object::default()
    });
    let mut histogram = FineHistogram::new();
    histogram.add(Distance::new(1 << 20), accesses);
    profile.histogram.add(Distance::new(1 << 20), accesses);
    profile.cells.push(Cell {
        object,
        histogram,
        ..Cell::default()
    });
}

fn of(objects: &[(&str, u64, u64)]) -> Profile {
    let mut profile = empty_profile(1);
    for &(name, bytes, accesses) in objects {
        add(&mut profile, name, bytes, None, accesses);
    }
    profile
}

fn planned(profile: &Profile) -> PlacementPlan {
    let machine = MemoryMachine::of_fast_memory(Bytes(100_000));
    let options = PlanOptions {
        objective: Objective::F,
        cache: Bytes(0).into(),
    };
    plan(profile, &machine, options).unwrap()
}

fn worth(profile: &Profile, run: &Profile) -> TransferredPlan {
    worth_elsewhere(&planned(profile), profile, run).unwrap()
}

#[test]
fn plan_is_worth_its_value_in_its_own_run() {
    let run = of(&[("a", 60_000, 900), ("b", 50_000, 700), ("c", 40_000, 600)]);
    let worth = worth(&run, &run);
    assert_eq!(
        (worth.value, worth.best, worth.regret()),
        (1500.0, 1500.0, 0.0)
    );
}

#[test]
fn other_counts_give_a_regret() {
    let run = of(&[("a", 60_000, 100), ("b", 50_000, 700), ("c", 40_000, 600)]);
    let other = of(&[("a", 60_000, 900), ("b", 50_000, 700), ("c", 40_000, 600)]);
    // The plan has b and c, the best one a and c.
    let worth = worth(&run, &other);
    assert_eq!((worth.value, worth.best), (1300.0, 1500.0));
    assert!((worth.regret() - 2.0 / 15.0).abs() < 1e-9);
}

#[test]
fn what_has_grown_beyond_the_room_is_not_counted() {
    let run = of(&[("a", 60_000, 900), ("c", 40_000, 500)]);
    let other = of(&[
        ("a", 60_001, 900),
        ("c", 40_000, 500),
        ("unseen", 10_000, 80),
    ]);
    // a comes first, as its bytes are worth more; c has no room then.
    let worth = worth(&run, &other);
    assert_eq!((worth.value, worth.best), (900.0, 980.0));
}

#[test]
fn chunks_go_with_the_bytes_that_the_plan_has() {
    let chunks = |counts: &[u64]| {
        let mut profile = empty_profile(1);
        let longest = counts.len() as u64 * 10_000;
        for (at, accesses) in (0..).zip(counts) {
            let part = ObjectPart {
                start: at * 10_000,
                end: (at + 1) * 10_000,
                chunk: 10_000,
                longest,
            };
            add(&mut profile, "large", 10_000, Some(part), *accesses);
        }
        profile
    };
    // The plan has all but the first two chunks, which are the best ones of the other run.
    let run = chunks(&[1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
    let other = chunks(&[100, 100, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
    let worth = worth(&run, &other);
    assert_eq!((worth.value, worth.best), (90.0, 272.0));
}
