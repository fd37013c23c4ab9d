//! Lines that crowd are found, others are not, and what is not known is not said.

use reuselens_locality::{
    Cache, CacheKind, Cell, Crowding, FineHistogram, Frame, Machine, Object, Profile, SetUse, Site,
};
use reuselens_units::{Bytes, Distance};

fn machine() -> Machine {
    let cache = |level, kind, kib: u64, ways| Cache {
        level,
        kind,
        size: Bytes(kib << 10),
        line: Bytes(64),
        ways,
        ..Cache::default()
    };
    Machine {
        processor: "test".into(),
        caches: vec![
            cache(1, CacheKind::Data, 48, 12),
            cache(2, CacheKind::Unified, 2048, 16),
        ],
    }
}

/// A profile of nothing on that machine.
fn nothing() -> Profile {
    let empty = serde_json::json!({
        "version": "", "command": [], "machine": machine(), "method": {
            "engine": "", "exact": true, "error_bound": null, "source": "", "order": "", "kinds": "", "data": "" },
        "outcome": "complete", "granularity": 64, "references": 0,
        "histogram": reuselens_locality::ExactHistogram::new(),
        "sites": [Site::default(), Site::default()], "objects": [Object::default(), Object::default()],
        "contexts": [], "threads": [], "cells": [], "warnings": [],
    });
    serde_json::from_value(empty).unwrap()
}

/// One line that comes back after `distance` others a million times, and what was simulated of it.
fn profile(distance: u64, seen: SetUse) -> Profile {
    let mut profile = nothing();
    profile.sites[1].frames = vec![Frame {
        file: "walk.c".into(),
        line: 7,
        ..Frame::default()
    }];
    profile.objects[1].name = "grid".into();
    let mut histogram = FineHistogram::new();
    histogram.add(Distance::new(distance), 1_000_000);
    histogram.add(Distance::COLD, 1000);
    profile.histogram.add(Distance::new(distance), 1_000_000);
    profile.histogram.add(Distance::COLD, 1000);
    profile.cells = vec![Cell {
        site: 1,
        object: 1,
        histogram,
        set_use: seen,
        ..Cell::default()
    }];
    profile
}

/// A tenth of the accesses, all missed, in so many sets at a time, so many lines apart.
fn missed(sets: u64, stride: u64) -> SetUse {
    SetUse {
        accesses: 100_000,
        misses: 100_000,
        stretches: 1500,
        sets: 1500 * sets,
        strides: vec![(stride, 99_000)],
    }
}

fn crowded(profile: &Profile) -> Vec<Crowding> {
    let mut all = profile.crowding();
    all.retain(|one| one.is_crowded);
    all
}

#[test]
fn a_column_of_rows_a_page_apart_crowds() {
    let profile = profile(511, missed(1, 64));
    let found = crowded(&profile);
    assert_eq!(found.len(), 1, "{found:?}");
    let one = &found[0];
    assert_eq!(
        (one.line.as_str(), one.object.as_str()),
        ("walk.c:7", "grid")
    );
    assert_eq!((one.cache.as_str(), one.sure), ("L1d", true));
    assert_eq!((one.sets, one.used, one.room()), (64, 1, 12));
    assert_eq!(one.stride, Some(4096));
    assert!((496..=511).contains(&one.between), "{}", one.between);
    assert_eq!(one.misses, 1_001_000);
    // The model knows nothing of it: 512 lines fit in 768.
    assert!(one.at_random < 200_000, "{}", one.at_random);
    assert_eq!(profile.histogram.misses(768), 1000);
}

#[test]
fn what_uses_all_sets_or_hardly_misses_does_not() {
    let spread = profile(511, missed(64, 65));
    assert_eq!(crowded(&spread), []);
    assert_eq!(spread.crowding().len(), 1);
    let few = SetUse {
        misses: 700,
        ..missed(1, 64)
    };
    assert_eq!(crowded(&profile(511, few)), []);
    // It would miss anyway.
    let far = profile(100_000, missed(1, 1));
    assert_eq!(crowded(&far), []);
}

#[test]
fn the_second_cache_is_spoken_of_by_the_stride() {
    let profile = profile(2047, missed(1, 64));
    let found = crowded(&profile);
    // The first cache would be too small for 2048 lines in any case.
    assert_eq!(found.len(), 1, "{found:?}");
    let one = &found[0];
    assert_eq!((one.cache.as_str(), one.sure), ("L2", false));
    assert_eq!((one.sets, one.used, one.room()), (2048, 32, 512));
    assert!(one.misses > 900_000 && one.at_random < 10_000, "{one:?}");
    // A walk that fits into the sets that it leads to.
    assert!(
        crowded(&self::profile(511, missed(1, 64)))
            .iter()
            .all(|one| one.sure)
    );
}

#[test]
fn without_a_simulation_nothing_is_said() {
    assert_eq!(profile(511, SetUse::default()).crowding(), []);
    let mut other = profile(511, missed(1, 64));
    other.machine.caches[0].line = Bytes(128);
    assert_eq!(other.crowding(), []);
    other.machine = Machine::default();
    assert_eq!(other.crowding(), []);
}

#[test]
fn of_several_runs_it_is_the_sum() {
    let one = profile(511, missed(1, 64));
    let merged = Profile::merge(&[one.clone(), one.clone()]).unwrap();
    let found = crowded(&merged);
    assert_eq!((found[0].used, found[0].misses), (1, 2_002_000));
    let again = Profile::from_bytes(&merged.to_bytes()).unwrap();
    assert_eq!(crowded(&again), found);
}
