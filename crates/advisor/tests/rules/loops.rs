//! Rules about what carries a reuse.

use reuselens_locality::FineHistogram;
use reuselens_profile::{Carrier, ObjectKind, ScopeKind};
use reuselens_units::Distance;

use crate::support::{Accesses, FAR, LINES, Sketch};

/// 80,000 accesses of line 12 to `a`, of which 70,000 miss and use so many bytes of each line;
/// the loop at line 10 carries them.
fn strided(used: u64) -> Sketch {
    let mut sketch = Sketch::new();
    let (site, object) = (sketch.site(12, "load"), sketch.array("a (a.c)", 8 << 20));
    let accesses = Accesses {
        hits: 9000,
        cold: 1000,
        far: 70_000,
        used,
    };
    sketch.accesses(site, object, accesses);
    let scope = sketch.scope(ScopeKind::Loop, 10);
    sketch.carried([site, site], object, Carrier::Scope(scope), 70_000);
    sketch.untyped(object, 8, 1000 * used / 64);
    sketch
}

#[test]
fn strided_lines_ask_for_another_order_of_loops() {
    let advice = strided(8).advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "loop-order");
    assert_eq!(finding.place.source.as_deref(), Some("/src/a.c:12"));
    assert_eq!(finding.place.object.as_deref(), Some("a (a.c)"));
    // 56 of 64 bytes of 70,000 lines.
    assert_eq!(finding.cost.amount, 61_250);
    assert!((finding.cost.share - 61_250.0 / 71_000.0).abs() < 1e-9);
    assert!(finding.remedy.contains("the loop at a.c:10"), "{finding:?}");
    assert!(finding.evidence[0].starts_with("70,000 of 80,000 accesses of a.c:12"));
    let share = "Of a (a.c), 12.5 % of each line is used";
    assert!(finding.evidence[1].starts_with(share), "{finding:?}");
    assert!(
        finding.evidence[2].contains("5,000 other lines"),
        "{finding:?}"
    );
}

/// Each pass uses the same byte of each line.
#[test]
fn bytes_that_are_never_used_are_not_for_another_order() {
    let mut sketch = strided(8);
    let cold = 1000;
    let all_used = cold * 64;
    sketch.0.cells[0].causes.new_bytes = all_used;
    assert_eq!(sketch.rules(), ["loop-order"]);
    // Of half of the bytes that are ever used, a fill uses a quarter.
    sketch.0.cells[0].causes.new_bytes = all_used / 2;
    let advice = sketch.advise();
    assert_eq!(advice.findings[0].cost.amount, 70_000 / 4 * 3);
    sketch.0.cells[0].causes.new_bytes = cold * 8;
    assert_eq!(sketch.rules(), ["blocking"]);
}

/// Adds `b`, which line 14 walks through in the loop at line 10.
fn with_another_array(mut sketch: Sketch, used: u64) -> Sketch {
    let (site, object) = (sketch.site(14, "load"), sketch.array("b (a.c)", 8 << 20));
    let accesses = Accesses {
        hits: 9000,
        far: 40_000,
        used,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses);
    sketch.carried([site, site], object, Carrier::Scope(0), 40_000);
    sketch.untyped(object, 8, 1000 * used / 64);
    sketch
}

#[test]
fn arrays_of_one_loop_are_one_finding() {
    for (used, rule, cost) in [
        (8, "loop-order", 110_000 / 8 * 7),
        (64, "blocking", 110_000),
    ] {
        let advice = with_another_array(strided(used), used).advise();
        let [finding] = &advice.findings[..] else {
            panic!("{advice:?}");
        };
        assert_eq!((finding.rule.name, finding.cost.amount), (rule, cost));
        assert_eq!(finding.place.object.as_deref(), Some("a (a.c)"));
        assert!(finding.evidence[1].contains("b (a.c)"), "{finding:?}");
        assert!(
            finding.remedy.contains("a (a.c) and b (a.c)"),
            "{finding:?}"
        );
    }
}

/// A vector of vectors: the line that allocates the rows allocates their headers, of which the loop
/// reads one pointer each.
#[test]
fn headers_of_the_name_of_rows_do_not_hide_their_stride() {
    let mut sketch = strided(8);
    let (site, headers) = (sketch.site(14, "load"), sketch.array("a (a.c)", 1 << 20));
    let accesses = Accesses {
        hits: 60_000,
        far: 20_000,
        used: 24,
        ..Accesses::default()
    };
    sketch.accesses(site, headers, accesses);
    let names = ["begin", "end", "last"];
    sketch.fields(
        headers,
        "Header",
        &names.map(|name| (name, "double *", 1000, 0)),
    );
    sketch.causes().elements[1].used[..8].fill(333_000);
    let advice = sketch.advise();
    let finding = &advice.findings[0];
    assert_eq!(finding.rule.name, "loop-order");
    assert_eq!(finding.cost.amount, 61_250);
}

/// Rows that are blocks by themselves share the lines of their ends with other data, so that what
/// is brought in there is less.
#[test]
fn ends_of_rows_do_not_make_them_structures() {
    let mut sketch = strided(8);
    sketch.causes().elements.clear();
    sketch.untyped(1, 720, 125);
    let elements = &mut sketch.causes().elements[0];
    for brought in &mut elements.brought[..16] {
        *brought /= 2;
    }
    assert_eq!(sketch.rules(), ["loop-order"]);
    // Of structures of that size, a field is used, and the others are initialised.
    let elements = &mut sketch.causes().elements[0];
    for used in &mut elements.used[8..] {
        *used /= 8;
    }
    assert!(!sketch.rules().contains(&"loop-order"));
}

/// A hash of keys in a row, as by the golden ratio, returns to a line after two or three distances.
#[test]
fn steps_of_a_hash_are_for_no_other_order() {
    let rules = |alike: u64| {
        let mut sketch = strided(8);
        let others = 70_000 - alike;
        let mut steps = FineHistogram::default();
        for (distance, count) in [
            (FAR, alike),
            (FAR * 8 / 5, others / 2),
            (FAR * 3, others / 2),
        ] {
            steps.add(Distance::new(distance), count);
        }
        sketch.0.cells[0].histogram = steps;
        sketch.rules()
    };
    assert_eq!(rules(53_000), [""; 0]);
    assert_eq!(rules(66_000), ["loop-order"]);
}

/// The compiler unrolled the loop around the nest, so that the nest is there twice.
#[test]
fn copies_of_a_loop_are_one_finding() {
    let mut sketch = strided(8);
    let copy = sketch.scope(ScopeKind::Loop, 10);
    sketch.causes().scopes[copy as usize].place.offset = 80;
    sketch.causes().carried[0].misses = 36_000;
    sketch.carried([1, 1], 1, Carrier::Scope(copy), 34_000);
    // Without instructions of its own it is a loop around the nest.
    assert_eq!(sketch.advise().findings[0].cost.amount, 31_500);
    let site = sketch.site(12, "load");
    let accesses = Accesses {
        hits: 1000,
        far: 34_000,
        used: 8,
        ..Accesses::default()
    };
    sketch.accesses(site, 1, accesses);
    let carried = &mut sketch.causes().carried[1];
    (carried.source, carried.sink) = (site, site);
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(
        (finding.rule.name, finding.cost.amount),
        ("loop-order", 61_250)
    );
}

/// Steps in time around the nest.
#[test]
fn loop_around_the_nest_is_not_for_another_order() {
    let mut sketch = strided(8);
    let steps = sketch.scope(ScopeKind::Loop, 8);
    sketch.carried([1, 1], 1, Carrier::Scope(steps), 8000);
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert!(finding.remedy.contains("the loop at a.c:10"), "{finding:?}");
    assert_eq!(finding.cost.amount, 61_250);
}

#[test]
fn lines_that_are_used_well_ask_for_blocking() {
    let advice = strided(64).advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(
        (finding.rule.name, finding.cost.amount),
        ("blocking", 70_000)
    );
    assert!(finding.evidence[0].starts_with("The loop at a.c:10 carries 70,000"));
}

/// A vector that grows is copied by the C library.
#[test]
fn copies_of_the_system_ask_for_no_blocking() {
    let mut sketch = strided(64);
    assert_eq!(sketch.rules(), ["blocking"]);
    sketch.0.sites[1].module = "libc.so.6".to_owned();
    assert_eq!(sketch.rules(), [""; 0]);
}

/// Tiles that are hardly too large for the cache, or data that nearly fit.
#[test]
fn distances_hardly_beyond_the_cache_ask_for_no_blocking() {
    let mut sketch = strided(64);
    sketch.causes().carried[0].distance_sum = 70_000 * (LINES + 3);
    let cell = &mut sketch.0.cells[0];
    cell.histogram = Default::default();
    cell.histogram.add(Distance::new(LINES + 3), 70_000);
    assert_eq!(sketch.rules(), [""; 0]);
}

#[test]
fn few_misses_of_many_accesses_are_no_finding() {
    let mut sketch = strided(64);
    let hits = Accesses {
        hits: 8_000_000,
        ..Accesses::default()
    };
    // A tile: the same code hits in 99 of 100 accesses.
    sketch.accesses(1, 1, hits);
    assert_eq!(sketch.rules(), [""; 0]);
}

#[test]
fn random_elements_are_not_for_another_order() {
    for used in [8, 64] {
        let mut sketch = strided(used);
        let cell = &mut sketch.0.cells[0];
        cell.histogram = Default::default();
        // All distances up to 16 times the cache are equally frequent.
        for step in 0..70_000 {
            cell.histogram
                .add(Distance::new(LINES + step * 15 * LINES / 70_000), 1);
        }
        assert_eq!(sketch.rules(), [""; 0], "{used}");
    }
}

/// They may be structures of which a field is used.
#[test]
fn unknown_elements_are_not_for_another_order() {
    let mut sketch = strided(8);
    let other = sketch.array("b (a.c)", 4096);
    sketch.causes().elements[0].object = other;
    assert_eq!(sketch.rules(), [""; 0]);
    sketch.causes().elements.clear();
    let advice = sketch.advise();
    assert_eq!(advice.findings, []);
    let mut unknown = advice.unknown.iter();
    assert!(unknown.any(|unknown| unknown.rules.contains(&"loop-order")));
}

/// A loop calls a function with a local array.
#[test]
fn memory_of_local_variables_is_no_reuse_that_blocking_shortens() {
    let mut sketch = strided(64);
    let object = &mut sketch.0.objects[1];
    (object.kind, object.name) = (ObjectKind::Stack, "odd in advance".to_owned());
    assert_eq!(sketch.rules(), [""; 0]);
    // An array of the function with the loop.
    sketch.0.objects[1].name = "odd in work".to_owned();
    assert_eq!(sketch.rules(), ["blocking"]);
}

#[test]
fn elements_of_unused_fields_are_not_for_another_order() {
    let mut sketch = strided(8);
    let fields = [("x", "double", 1000, 1000), ("y", "double", 1000, 0)];
    sketch.causes().elements.clear();
    sketch.fields(1, "Pair", &fields);
    assert!(!sketch.rules().contains(&"loop-order"));
}

/// Line 20 stores `b` by what it loads from `a`, line 30 loads it after more than the cache holds.
fn two_passes(carrier: fn(u32) -> Carrier, kind: ScopeKind) -> Sketch {
    let mut sketch = first_and_second_pass(carrier, kind);
    let (site, object) = (sketch.site(20, "load"), sketch.array("a (a.c)", 8 << 20));
    let accesses = Accesses {
        hits: 70_000,
        cold: 10_000,
        used: 64,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses);
    sketch
}

fn first_and_second_pass(carrier: fn(u32) -> Carrier, kind: ScopeKind) -> Sketch {
    let mut sketch = Sketch::new();
    let sites = [sketch.site(20, "store"), sketch.site(30, "load")];
    let object = sketch.array("b (a.c)", 8 << 20);
    let first = Accesses {
        hits: 70_000,
        cold: 10_000,
        used: 64,
        ..Accesses::default()
    };
    let second = Accesses {
        hits: 70_000,
        far: 10_000,
        used: 64,
        ..Accesses::default()
    };
    sketch.accesses(sites[0], object, first);
    sketch.accesses(sites[1], object, second);
    let scope = sketch.scope(kind, 18);
    sketch.carried(sites, object, carrier(scope), 10_000);
    sketch
}

#[test]
fn passes_in_one_function_or_iteration_ask_for_fusion() {
    for (carrier, kind) in [
        (Carrier::Scope as fn(u32) -> Carrier, ScopeKind::Function),
        (Carrier::Iteration, ScopeKind::Loop),
    ] {
        let advice = two_passes(carrier, kind).advise();
        let [finding] = &advice.findings[..] else {
            panic!("{advice:?}");
        };
        assert_eq!((finding.rule.name, finding.cost.amount), ("fusion", 10_000));
        assert!(finding.remedy.contains("a.c:20 and a.c:30"), "{finding:?}");
        assert!((finding.cost.share - 1.0 / 3.0).abs() < 1e-9);
    }
    // Another iteration, or another thread, is no second pass.
    assert_eq!(
        two_passes(Carrier::Scope, ScopeKind::Loop).rules(),
        ["blocking"]
    );
    assert_eq!(
        two_passes(|_| Carrier::Threads, ScopeKind::Loop).rules(),
        [""; 0]
    );
}

/// A loop around two passes carries their reuses but those of its first iteration, which the
/// function carries.
#[test]
fn pair_of_passes_with_two_carriers_is_one_finding() {
    let mut sketch = two_passes(Carrier::Iteration, ScopeKind::Loop);
    let function = sketch.scope(ScopeKind::Function, 5);
    let first = sketch.causes().carried[0];
    sketch.carried(
        [first.source, first.sink],
        first.object,
        Carrier::Scope(function),
        6000,
    );
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!((finding.rule.name, finding.cost.amount), ("fusion", 16_000));
    assert!(finding.evidence[0].starts_with("10,000 of"), "{finding:?}");
    assert!(finding.evidence[1].starts_with("6,000 of"), "{finding:?}");
}

#[test]
fn distances_that_shrink_from_pass_to_pass_are_those_of_passes() {
    let mut sketch = two_passes(Carrier::Scope, ScopeKind::Function);
    let spread = |from: u64, to: u64| {
        let step = move |step: u64| Distance::new(from + step * (to - from) / 10_000);
        (0..10_000).map(step)
    };
    let mut rules = |from, to| {
        sketch.0.cells[1].histogram = Default::default();
        for distance in spread(from, to) {
            sketch.0.cells[1].histogram.add(distance, 1);
        }
        sketch.rules()
    };
    assert_eq!(rules(3000, 6000), ["fusion"]);
    // Random elements.
    assert_eq!(rules(1, 3 * LINES), [""; 0]);
}

#[test]
fn data_that_are_only_initialised_before_ask_for_no_fusion() {
    let sketch = first_and_second_pass(Carrier::Scope, ScopeKind::Function);
    assert_eq!(sketch.rules(), [""; 0]);
    // A line that stores them again and again is a pass.
    let mut sketch = first_and_second_pass(Carrier::Scope, ScopeKind::Function);
    let again = Accesses {
        far: 10_000,
        used: 64,
        ..Accesses::default()
    };
    sketch.accesses(1, 1, again);
    assert_eq!(sketch.rules(), ["fusion"]);
}

/// As in a decomposition: two loops down one column, one after the other.
#[test]
fn passes_that_stride_are_for_another_order_and_not_for_fusion() {
    let mut sketch = two_passes(Carrier::Iteration, ScopeKind::Loop);
    sketch.0.cells[1].causes.used_bytes = 10_000 * 8;
    assert_eq!(sketch.rules(), [""; 0]);
}

/// They are read in, and then used again and again.
#[test]
fn passes_that_are_few_among_all_ask_for_no_fusion() {
    let mut sketch = two_passes(Carrier::Scope, ScopeKind::Function);
    let (site, object) = (sketch.site(40, "load"), 1);
    let accesses = Accesses {
        far: 90_000,
        used: 64,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses);
    assert_eq!(sketch.rules(), [""; 0]);
}

#[test]
fn loops_of_the_system_cannot_be_fused() {
    for (site, change) in [(1, "libc.so.6"), (2, "/usr/include/c++/12/bits/stl_algo.h")] {
        let mut sketch = two_passes(Carrier::Scope, ScopeKind::Function);
        let site = &mut sketch.0.sites[site];
        if change.starts_with('/') {
            site.frames[0].file = change.to_owned()
        } else {
            site.module = change.to_owned()
        }
        assert_eq!(sketch.rules(), [""; 0], "{change}");
    }
}

#[test]
fn instructions_of_one_line_are_one_finding() {
    let mut sketch = strided(8);
    let other = sketch.site(12, "load");
    let accesses = Accesses {
        far: 30_000,
        used: 8,
        ..Accesses::default()
    };
    sketch.accesses(other, 1, accesses);
    sketch.carried([1, other], 1, Carrier::Scope(0), 30_000);
    let advice = sketch.advise();
    let amounts: Vec<u64> = advice
        .findings
        .iter()
        .map(|finding| finding.cost.amount)
        .collect();
    assert_eq!(amounts, [(70_000 + 30_000) / 8 * 7]);
}

#[test]
fn files_of_one_name_are_two_places() {
    let mut sketch = Sketch::new();
    let sites = [sketch.site(12, "load"), sketch.site(12, "load")];
    let object = sketch.array("a (a.c)", 8 << 20);
    sketch.0.sites[sites[1] as usize].frames[0].file = "/src/other/a.c".to_owned();
    for (line, site) in (10..).zip(sites) {
        let scope = sketch.scope(ScopeKind::Loop, line);
        let accesses = Accesses {
            hits: 9000,
            cold: 1000,
            far: 70_000,
            used: 8,
        };
        sketch.accesses(site, object, accesses);
        sketch.carried([site, site], object, Carrier::Scope(scope), 70_000);
    }
    sketch.untyped(object, 8, 125);
    let advice = sketch.advise();
    let lines = ["src/a.c:12", "other/a.c:12"];
    for (finding, line) in advice.findings.iter().zip(lines) {
        let start = format!("70,000 of 80,000 accesses of {line}");
        assert!(finding.evidence[0].starts_with(&start), "{finding:?}");
    }
    assert_eq!(advice.findings.len(), 2, "{advice:?}");
}
