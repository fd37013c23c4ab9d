//! Merging profiles: the order and the grouping never show, not in a single byte.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use reuselens_locality::{ExactHistogram, FineHistogram, ReuseTimeCounts, ReuseTimes};
use reuselens_profile::{
    Cell, Context, ContextFootprint, Dimension, Element, FileOffset, Frame, Lifetime, Machine,
    MergeError, Method, Object, ObjectKind, ObjectPart, Outcome, PlacementData, Profile,
    ProfiledThread, Site, Warning,
};
use reuselens_units::{Distance, Granularity};

/// One of a few names, so that profiles share entries.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "main", "solve", "sweep", "π"]).prop_map(str::to_owned)
}

fn frame() -> impl Strategy<Value = Frame> {
    (name(), name(), 0..3_u32).prop_map(|(function, file, line)| Frame {
        function,
        file,
        line,
    })
}

fn site() -> impl Strategy<Value = Site> {
    (
        name(),
        0..3_u64,
        prop::collection::vec(frame(), 0..2),
        name(),
    )
        .prop_map(|(module, offset, frames, kind)| Site {
            module,
            offset,
            frames,
            kind,
        })
}

/// An element, with or without distances.
fn element() -> impl Strategy<Value = Element> {
    let distances = prop::collection::vec((0..9_u64, 1..9_u64), 0..3);
    (0..4_u64, 1..9_u64, distances).prop_map(|(index, accesses, distances)| {
        let mut element = Element::counted(index, accesses);
        for (items, count) in distances {
            element.histogram.add(Distance::new(items), count);
            element.distance_sum += u128::from(items * count);
            element.distance_max = element.distance_max.max(items);
        }
        element
    })
}

fn object() -> impl Strategy<Value = Object> {
    let kind = prop::sample::select(vec![
        ObjectKind::Static,
        ObjectKind::Heap,
        ObjectKind::Unknown,
    ]);
    let elements = prop::collection::vec(element(), 0..3);
    (
        kind,
        name(),
        prop::collection::vec(frame(), 0..2),
        0..99_u64,
        0..9_u64,
        elements,
    )
        .prop_map(|(kind, name, path, bytes, blocks, elements)| Object {
            kind,
            name,
            // Few enough for some to be equal.
            origins: vec![vec![FileOffset {
                module: "prog".into(),
                offset: bytes % 3,
            }]],
            path,
            bytes,
            longest: bytes % 7,
            element_bytes: bytes % 2,
            blocks,
            elements,
            // One chunk size for each object that has chunks: all those of the heap.
            part: (kind == ObjectKind::Heap).then_some(ObjectPart {
                start: bytes % 4 * 16,
                end: bytes % 4 * 16 + 1 + blocks,
                chunk: 16,
                longest: bytes % 4 * 16 + blocks * 20,
            }),
            lifetime: (kind != ObjectKind::Unknown).then_some(Lifetime {
                begin: blocks,
                end: 9 + bytes,
            }),
        })
}

fn contexts() -> impl Strategy<Value = Vec<Context>> {
    let counts = (
        prop::option::of(0..9_u64),
        prop::option::of((0..9_u64, 0..9_u64)),
    );
    let node = (any::<prop::sample::Index>(), name(), frame(), counts);
    prop::collection::vec(node, 1..7).prop_map(|nodes| {
        let nodes = nodes.into_iter().enumerate();
        nodes
            .map(|(index, (at, function, call, counts))| Context {
                parent: at.index(index.max(1)) as u32,
                function,
                call,
                entries: counts.0,
                footprint: counts.1.map(|(exclusive, more)| ContextFootprint {
                    exclusive,
                    inclusive: exclusive + more,
                }),
            })
            .collect()
    })
}

type Rows = Vec<([prop::sample::Index; 4], Vec<u64>)>;

fn rows() -> impl Strategy<Value = Rows> {
    let distance = prop_oneof![4 => 0..50_u64, 2 => 0..9999_u64, 1 => Just(u64::MAX)];
    let key = prop::array::uniform4(any::<prop::sample::Index>());
    prop::collection::vec((key, prop::collection::vec(distance, 0..8)), 0..9)
}

fn profile() -> impl Strategy<Value = Profile> {
    let tables = (
        prop::collection::vec(site(), 1..5),
        prop::collection::vec(object(), 1..5),
        contexts(),
        prop::collection::vec((name(), 0..2_u16), 1..4),
        rows(),
    );
    let outcome = prop::sample::select(vec![
        Outcome::Complete,
        Outcome::Exit(0),
        Outcome::Exit(-3),
        Outcome::Exit(3),
        Outcome::Signal(9),
        Outcome::Incomplete("cut".into()),
    ]);
    let bound = prop::option::of(0.0..0.1_f64);
    let more = (any::<bool>(), any::<bool>(), prop::option::of(1..4_u64));
    (
        tables,
        outcome,
        name(),
        any::<bool>(),
        bound,
        0..1000_u64,
        more,
    )
        .prop_map(
            |(
                (sites, objects, contexts, threads, rows),
                outcome,
                text,
                exact,
                error_bound,
                references,
                (times, forward, max_distance),
            )| {
                let machine = Machine {
                    processor: text.clone(),
                    ..Machine::default()
                };
                let warning = Warning {
                    code: text.clone(),
                    ..Warning::default()
                };
                let mut profile = Profile {
                    version: "1".into(),
                    command: vec![text.clone()],
                    machine,
                    method: Method {
                        exact,
                        error_bound,
                        engine: text,
                        max_distance,
                        placement: Some(PlacementData::default()),
                        ..Method::default()
                    },
                    outcome,
                    references,
                    sites,
                    objects,
                    contexts,
                    threads: threads
                        .into_iter()
                        .map(|(name, process)| ProfiledThread { name, process })
                        .collect(),
                    warnings: vec![warning],
                    ..Profile::empty(Granularity::LINE_64)
                };
                fill(&mut profile, rows, forward);
                profile.requested_bytes = Some(profile.histogram.clone());
                if times {
                    profile.reuse_times = Some(reuse_times(&profile.histogram));
                }
                profile
            },
        )
}

/// Some, of as many accesses.
fn reuse_times(histogram: &ExactHistogram) -> ReuseTimes {
    let mut counts = ReuseTimeCounts::new();
    counts.add_column((0..histogram.cold()).map(|_| None));
    for (items, accesses) in histogram.iter() {
        counts.add_column((0..accesses).map(|_| Some(items)));
    }
    counts.finish(0..histogram.cold())
}

fn fill(profile: &mut Profile, rows: Rows, forward: bool) {
    for ([site, object, context, thread], raw) in rows {
        let mut cell = Cell {
            site: site.index(profile.sites.len()) as u32,
            object: object.index(profile.objects.len()) as u32,
            context: context.index(profile.contexts.len()) as u32,
            thread: thread.index(profile.threads.len()) as u32,
            ..Cell::default()
        };
        for distance in raw.into_iter().map(Distance::new) {
            cell.histogram.add(distance, 1);
            profile.histogram.add(distance, 1);
            cell.distance_sum += u128::from(distance.items().unwrap_or(0));
            cell.distance_max = cell.distance_max.max(distance.items().unwrap_or(0));
            if forward {
                cell.forward.add(distance, 1);
            }
        }
        profile.cells.push(cell);
    }
}

fn merge(profiles: &[Profile]) -> Profile {
    Profile::merge(profiles).unwrap()
}

/// The groups by name, without how often which was accessed first.
fn groups(profile: &Profile, by: Dimension) -> Vec<(String, FineHistogram, u64)> {
    let groups = profile
        .groups(by)
        .into_iter()
        .filter(|group| group.accesses > 0);
    let mut groups: Vec<_> = groups
        .map(|group| (group.name, group.histogram, group.max))
        .collect();
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups
}

/// The chunks of one object stay rows of their own, and entries of contexts add up.
#[test]
fn chunks_and_visits_of_equal_runs_unite() {
    let object = |start, end| Object {
        kind: ObjectKind::Heap,
        name: "heap from main".into(),
        bytes: end - start,
        blocks: 1,
        part: Some(ObjectPart {
            start,
            end,
            chunk: 64,
            longest: end,
        }),
        lifetime: Some(Lifetime {
            begin: start + 5,
            end: 100 - start,
        }),
        ..Object::default()
    };
    let mut one = sample_profile();
    one.method.placement = Some(PlacementData::default());
    one.objects = vec![Object::default(), object(64, 100), object(0, 64)];
    one.contexts[0].entries = Some(2);
    one.contexts[0].footprint = Some(ContextFootprint {
        exclusive: 3,
        inclusive: 7,
    });
    let mut other = one.clone();
    other.objects[1] = object(64, 128);
    other.objects[1].lifetime = Some(Lifetime { begin: 80, end: 90 });
    let merged = merge(&[one.clone(), other.clone()]);
    let parts: Vec<_> = merged
        .objects
        .iter()
        .map(|it| (it.part, it.lifetime))
        .collect();
    let expected = |start, end, from, to| {
        let (begin, until) = (from, to);
        let part = object(start, end).part;
        (part, Some(Lifetime { begin, end: until }))
    };
    assert_eq!(
        parts,
        [
            (None, None),
            expected(0, 64, 5, 100),
            expected(64, 128, 69, 90)
        ]
    );
    assert_eq!(merged.contexts[0].entries, Some(4));
    assert_eq!(merged.contexts[0].footprint, one.contexts[0].footprint);
    other.objects[1].part = Some(ObjectPart {
        start: 0,
        end: 128,
        chunk: 128,
        longest: 128,
    });
    let refused = Profile::merge(&[one.clone(), other]);
    assert_eq!(refused, Err(MergeError::Chunks("heap from main".into())));
    let ordinary = sample_profile();
    assert_eq!(Profile::merge(&[one, ordinary]), Err(MergeError::Placement));
}

/// A profile whose two cells are of its objects 1 and 2.
fn sample_profile() -> Profile {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut profile = profile().new_tree(&mut runner).unwrap().current();
    let cell = |object| {
        let mut cell = Cell {
            object,
            ..Cell::default()
        };
        cell.histogram.add(Distance::COLD, 1);
        cell
    };
    profile.method.placement = None;
    profile.requested_bytes = None;
    profile.contexts.truncate(1);
    profile.objects = vec![Object::default(); 3];
    profile.cells = vec![cell(1), cell(2)];
    profile
}

proptest! {
    #[test]
    fn any_order_and_association_gives_the_same_bytes(a in profile(), b in profile(), c in profile()) {
        let all = merge(&[a.clone(), b.clone(), c.clone()]);
        let bytes = all.to_bytes();
        for order in [[&a, &c, &b], [&b, &a, &c], [&c, &b, &a]] {
            prop_assert_eq!(merge(&order.map(Profile::clone)).to_bytes(), bytes.clone());
        }
        let left = merge(&[merge(&[a.clone(), b.clone()]), c.clone()]);
        prop_assert_eq!(&left, &all);
        prop_assert_eq!(left.to_bytes(), bytes.clone());
        let right = merge(&[merge(&[b, c]), merge(&[a])]);
        prop_assert_eq!(right.to_bytes(), bytes);
    }

    #[test]
    fn weighed_profiles_merge_with_weighed_ones_only(weighed in profile()) {
        let other = Profile { requested_bytes: None, ..weighed.clone() };
        let merged = merge(&[weighed.clone(), weighed.clone()]);
        let bytes = merged.requested_bytes.map(|bytes| bytes.accesses());
        prop_assert_eq!(bytes, Some(2 * weighed.histogram.accesses()));
        prop_assert_eq!(Profile::merge(&[weighed, other]), Err(MergeError::Weight));
    }

    #[test]
    fn merged_profiles_round_trip(profile in profile()) {
        let bytes = profile.to_bytes();
        let again = Profile::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&again, &profile);
        prop_assert_eq!(again.to_bytes(), bytes);
        let merged = merge(&[profile]);
        prop_assert_eq!(Profile::from_bytes(&merged.to_bytes()).unwrap(), merged);
    }

    #[test]
    fn merge_drops_measures_that_only_some_parts_have(a in profile(), b in profile()) {
        let merged = merge(&[a.clone(), b.clone()]);
        let all = [&a, &b].into_iter().filter(|profile| !profile.histogram.is_empty());
        let whole = all.clone().all(|profile| profile.reuse_times.is_some());
        match &merged.reuse_times {
            Some(times) => prop_assert_eq!(times.histogram().accesses(), merged.histogram.accesses()),
            None => prop_assert!(!whole || all.count() == 0),
        }
        for cell in merged.cells.iter().filter(|cell| !cell.forward.is_empty()) {
            prop_assert_eq!(cell.forward.accesses(), cell.histogram.accesses());
        }
    }

    #[test]
    fn canonical_form_keeps_the_contents(profile in profile()) {
        let mut canonical = profile.clone();
        canonical.canonicalise();
        prop_assert_eq!(&canonical.histogram, &profile.histogram);
        for by in [Dimension::Thread, Dimension::Function, Dimension::Object] {
            prop_assert_eq!(groups(&canonical, by), groups(&profile, by));
        }
        let mut again = canonical.clone();
        again.canonicalise();
        prop_assert_eq!(again, canonical);
    }

    #[test]
    fn reading_arbitrary_bytes_does_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), mark in any::<bool>()) {
        if mark {
            bytes.splice(0..0, *b"\x8Frlprof\n\x01\0\0\0");
        }
        prop_assert!(Profile::from_bytes(&bytes).is_err());
    }
}
