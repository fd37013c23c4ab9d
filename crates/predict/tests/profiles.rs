//! Predicted profiles agree with those of the size that was asked for.

use reuselens_locality::FineHistogram;
use reuselens_predict::{PredictOptions, PredictedProfile, predict_profile};
use reuselens_profile::{Cell, Frame, Lifetime, Object, ObjectKind, ObjectPart, Outcome, Profile};
use reuselens_units::{Distance, Granularity};

/// A run over `items` items: its objects by name, with their bytes and what was counted.
struct Made(Profile);

impl Made {
    fn new() -> Made {
        Made(Profile {
            command: vec!["program".into()],
            outcome: Outcome::Exit(0),
            ..Profile::empty(Granularity::LINE_64)
        })
    }

    /// Adds a heap object, or a chunk of one. `counts` are distances and accesses.
    fn object(
        &mut self,
        name: &str,
        bytes: u64,
        part: Option<ObjectPart>,
        cold: u64,
        counts: &[(u64, u64)],
    ) {
        let object = self.0.objects.len() as u32;
        self.0.objects.push(Object {
            kind: ObjectKind::Heap,
            name: name.into(),
            path: vec![Frame::default()],
            bytes,
            blocks: 1,
            part,
            lifetime: Some(Lifetime {
                begin: 0,
                end: 1000,
            }),
            ..Object::default()
        });
        let mut histogram = FineHistogram::new();
        let counts = counts
            .iter()
            .map(|&(distance, count)| (Distance::new(distance), count));
        for (distance, count) in counts.chain([(Distance::COLD, cold)]) {
            histogram.add(distance, count);
            self.0.histogram.add(distance, count);
        }
        self.0.cells.push(Cell {
            object,
            histogram,
            ..Cell::default()
        });
        self.0.references = self.0.histogram.accesses();
    }

    /// A run over a square of n × n items, a side of it, and a fixed table.
    fn square(n: u64) -> Profile {
        let mut made = Made::new();
        let area = n * n;
        // In two halves, of which the first has more accesses.
        for (half, times) in [(0, 6), (1, 2)] {
            let part = ObjectPart {
                start: half * area * 32,
                end: (half + 1) * area * 32,
                chunk: area * 32,
                longest: area * 64,
            };
            let counts = [(n, times * area), (area, area)];
            made.object("square", area * 32, Some(part), area / 2, &counts);
        }
        made.object("side", n * 64, None, n, &[(n, area)]);
        made.object("table", 4096, None, 64, &[(3, 500)]);
        made.0
    }
}

fn predicted(sizes: &[u64], wanted: u64) -> PredictedProfile {
    let runs: Vec<Profile> = sizes.iter().map(|n| Made::square(*n)).collect();
    let runs: Vec<&Profile> = runs.iter().collect();
    let size = (wanted * wanted) as f64;
    predict_profile(&runs, size, &PredictOptions::default()).unwrap()
}

fn is_near(found: u64, expected: u64) -> bool {
    (found as f64 / expected as f64 - 1.0).abs() < 0.03
}

#[test]
fn objects_grow_by_their_own_ways() {
    for sizes in [&[64, 128, 256][..], &[128, 256]] {
        let truth = Made::square(1024);
        let found = predicted(sizes, 1024).profile;
        assert_eq!(found.objects.len(), truth.objects.len());
        for (found, expected) in found.objects.iter().zip(&truth.objects).skip(1) {
            assert!(
                is_near(found.bytes, expected.bytes),
                "{found:?} {expected:?}"
            );
        }
        for (cell, expected) in found.cells.iter().zip(&truth.cells) {
            let name = &found.objects[cell.object as usize].name;
            // Caches that hold the table, the side, and nothing.
            for items in [1, 100, 20_000, 4 << 20] {
                let misses = [cell, expected].map(|cell| cell.histogram.misses(items));
                assert!(
                    is_near(misses[0].max(1), misses[1].max(1)),
                    "{name} at {items}: {misses:?}"
                );
            }
        }
        assert!(is_near(
            found.histogram.accesses(),
            truth.histogram.accesses()
        ));
    }
}

#[test]
fn chunks_stay_where_they_are_in_a_longer_block() {
    let found = predicted(&[64, 128, 256], 1024).profile;
    let parts: Vec<ObjectPart> = found.objects.iter().filter_map(|it| it.part).collect();
    assert_eq!(parts.len(), 2);
    let longest = parts[0].longest;
    assert!(is_near(longest, 64 << 20), "{longest}");
    assert_eq!((parts[0].start, parts[1].end), (0, longest));
    assert_eq!(parts[0].end, parts[1].start);
    assert!(is_near(parts[0].end, 32 << 20) && parts[0].end.is_multiple_of(4096));
    let squares = found.objects.iter().filter(|it| it.part.is_some());
    let bytes: Vec<u64> = squares.map(|it| it.bytes).collect();
    assert_eq!(bytes, [parts[0].end, longest - parts[0].end]);
}

#[test]
fn intervals_hold_what_is_predicted() {
    let found = predicted(&[64, 128, 256], 1024);
    for (object, estimate) in found.profile.objects.iter().zip(&found.estimates).skip(1) {
        let estimate = estimate.unwrap();
        assert!(estimate.bytes.low <= estimate.bytes.value);
        assert!(
            estimate.accesses.value <= estimate.accesses.high,
            "{}",
            object.name
        );
    }
}

#[test]
fn objects_of_the_largest_run_alone_are_named_and_have_no_size() {
    let mut runs: Vec<Profile> = [64, 128, 256].map(Made::square).into();
    let mut last = Made(runs.remove(2));
    last.object("late", 8192, None, 128, &[(7, 10_000)]);
    runs.push(last.0);
    let runs: Vec<&Profile> = runs.iter().collect();
    let found = predict_profile(&runs, 1e6, &PredictOptions::default()).unwrap();
    let names: Vec<&str> = found
        .unpredicted
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["late"]);
    assert_eq!(found.unpredicted[0].accesses, 10_128);
    let late = found.profile.objects.iter().find(|it| it.name == "late");
    assert_eq!(late.unwrap().bytes, 0);
}

#[test]
fn runs_that_do_not_belong_together_are_refused() {
    let (one, mut other) = (Made::square(64), Made::square(128));
    other.granularity = Granularity::BYTE;
    let options = PredictOptions::default();
    assert!(predict_profile(&[&one, &other], 1e6, &options).is_err());
    assert!(predict_profile(&[&one], 1e6, &options).is_err());
    assert!(predict_profile(&[&one, &one], 1e6, &options).is_err());
    assert!(predict_profile(&[&one, &Made::square(128)], 0.0, &options).is_err());
}
