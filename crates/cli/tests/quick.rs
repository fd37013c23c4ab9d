//! `profile --quick`: bursts of a run, and what is estimated from them.

use crate::common::{Done, Json, Place};

/// Sizes of caches in lines: powers of two, which bins begin with.
const SIZES: std::ops::Range<u32> = 3..20;

fn place() -> Place {
    let place = Place::new();
    place.build("count/spells.c", &["-O1", "-pthread"]);
    place
}

fn quick(place: &Place, options: &[&str], program: &[&str]) -> (Done, Json) {
    place.profile(&[&["--quick"], options].concat(), program)
}

/// The miss ratio of a cache of so many lines.
fn miss_ratio(json: &Json, lines: u64) -> f64 {
    let far = json.counts().into_iter().filter(|bin| bin[0] >= lines);
    let far: u64 = far.map(|[_, _, accesses]| accesses).sum();
    let cold = json.0["histogram"]["cold"].as_u64().unwrap();
    (far + cold) as f64 / json.number("accesses") as f64
}

/// How far that may be off, at the worst of the points beside it.
fn half_width(json: &Json, lines: u64) -> f64 {
    let points = json.0["error_bounds"]["points"].as_array().unwrap();
    let of = |point: &serde_json::Value| (point[0].as_u64().unwrap(), point[1].as_f64().unwrap());
    let next = points.iter().position(|point| of(point).0 >= lines);
    let next = next.unwrap_or(points.len() - 1);
    of(&points[next])
        .1
        .max(of(&points[next.saturating_sub(1)]).1)
}

#[test]
fn miss_ratios_are_within_their_bounds() {
    let place = place();
    for (options, program) in [
        (&["--capture", "compiled-in"][..], &["./spells"][..]),
        (&["--capture", "rewriting"], &["./spells"]),
        (&["--capture", "rewriting"], &["./spells", "two"]),
    ] {
        let (done, exact) = place.profile(options, program);
        let (quick_done, quick) = quick(&place, options, program);
        assert_eq!(done.out, quick_done.out, "the program does what it did");
        let [part, all] = quick.recorded();
        assert!(part < all / 3, "{part} of {all}");
        assert_eq!(quick.number("references"), all);
        // Items are touched as often as accesses are made, or a little more often.
        let (accesses, estimated) = (exact.number("accesses"), quick.number("accesses"));
        assert!(all.abs_diff(accesses) * 50 < accesses, "{all}, {accesses}");
        // What a thread hands on after the burst is not measured: where two run, as it happens.
        let off = if program.len() > 1 { 4 } else { 20 };
        assert!(estimated.abs_diff(accesses) * off < accesses, "{estimated}");
        let off = SIZES.map(|size| 1 << size).filter(|size| {
            let error = miss_ratio(&quick, *size) - miss_ratio(&exact, *size);
            error.abs() > half_width(&quick, *size)
        });
        // Each bound holds in 95 of 100 cases, and the order of threads is chance.
        let off: Vec<u64> = off.collect();
        assert!(off.len() < 3, "{options:?} {program:?}: {off:?}");
        // Near distances are known better than the bound says, and whose they are.
        for name in ["some", "little"] {
            let share = |json: &Json| json.object(name) as f64 / json.number("accesses") as f64;
            assert!((share(&quick) - share(&exact)).abs() < 0.05, "{name}");
        }
    }
}

#[test]
fn equal_seeds_give_equal_profiles_and_others_take_other_bursts() {
    let place = place();
    let of = |seed| {
        quick(&place, &["--seed", seed], &["./spells"])
            .1
            .without_command()
    };
    let one = of("1");
    assert_eq!(one, of("1"));
    assert_ne!(one, of("2"));
}

#[test]
fn a_short_run_is_exact() {
    let place = Place::new();
    place.build("count/regions.c", &["-g"]);
    let (_, exact) = place.profile(&[], &["./regions"]);
    let (_, quick) = quick(&place, &[], &["./regions"]);
    assert_eq!(quick.0["exact"], true);
    assert_eq!(quick.0["histogram"], exact.0["histogram"]);
    assert_eq!(quick.0["groups"], exact.0["groups"]);
    assert!(quick.warnings().is_empty());
}

#[test]
fn what_needs_every_access_is_refused() {
    let place = Place::new();
    for options in [
        &["--why"][..],
        &["--by", "path"],
        &["--sample", "1%"],
        &["--engine", "counting"],
        &["--sharing", "private"],
        &["--elements"],
    ] {
        let words = [&["profile", "--quick"], options, &["--", "true"]].concat();
        let done = place.run(&words).fails(2);
        done.says(&["--quick"]);
    }
    for other in [&["--burst", "5:5"][..], &["--after", "5"], &["--regions"]] {
        let words = [&["profile", "--quick"], other, &["--", "true"]].concat();
        place.run(&words).fails(2).says(&["cannot be used with"]);
    }
}

/// A limit ends the run, as far as the report goes: what is said is said of what came before.
#[test]
fn limits_cut_the_run() {
    let place = place();
    let (_, json) = quick(&place, &["--max-accesses", "1000"], &["./spells"]);
    assert_eq!(json.0["exact"], true);
    assert!((1000..1100).contains(&json.number("accesses")));
    let options = ["--capture", "rewriting", "--max-accesses", "2200000"];
    let (_, json) = quick(&place, &options, &["./spells"]);
    let [part, all] = json.recorded();
    assert_eq!(part, 2_200_000);
    // Of each stratum of 262,144 accesses, 10,240 are recorded.
    let more = (part - (1 << 21)) / 10_240 * (1 << 18);
    assert!(all.abs_diff((1 << 21) + more) <= 2 << 18, "{all}");
    assert!(json.number("accesses").abs_diff(all) < all / 10);
}

#[test]
fn what_is_counted_can_be_chosen() {
    let place = place();
    let options = ["--capture", "rewriting", "--kind", "stores"];
    let (_, exact) = place.profile(&options, &["./spells"]);
    let (_, quick) = quick(&place, &options, &["./spells"]);
    // Accesses of items, and of the program: in proportion to those that were seen.
    for number in ["accesses", "references"] {
        let (counted, estimated) = (exact.number(number), quick.number(number));
        assert!(
            estimated.abs_diff(counted) * 10 < counted,
            "{number}: {estimated}, {counted}"
        );
    }
}
