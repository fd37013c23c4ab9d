//! The registry, and what profiles lack.

use reuselens_advisor::rules;
use reuselens_profile::{Context, Frame, Profile, Sharing, Warning};
use reuselens_units::Granularity;

use crate::support::{Accesses, Sketch};

#[test]
fn rules_are_in_order_and_fully_described() {
    let names: Vec<&str> = rules().map(|rule| rule.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for rule in rules() {
        let texts = [rule.title, rule.what, rule.why, rule.limits, rule.source];
        assert!(texts.iter().all(|text| text.len() > 5), "{}", rule.name);
        let example = &rule.example;
        assert!(
            !example.before.is_empty() && !example.after.is_empty(),
            "{}",
            rule.name
        );
        assert_ne!(example.before, example.after, "{}", rule.name);
    }
}

#[test]
fn profile_without_causes_names_what_is_missing_and_the_command() {
    let mut sketch = Sketch::new();
    sketch.0.causes = None;
    let advice = sketch.advise();
    let what: Vec<&str> = advice.unknown.iter().map(|unknown| unknown.what).collect();
    assert_eq!(
        what,
        [
            "why accesses miss",
            "misses of the TLB",
            "sizes of allocated blocks"
        ]
    );
    assert_eq!(
        advice.unknown[0].how.to_string(),
        "Run: reuselens profile --why -- ./prog"
    );
    assert!(advice.unknown[0].rules.contains(&"false-sharing"));
}

#[test]
fn command_keeps_what_chose_the_measured_accesses() {
    let how = |change: fn(&mut Profile), what: &str| {
        let mut sketch = Sketch::new();
        sketch.0.causes = None;
        change(&mut sketch.0);
        let unknown = sketch.advise().unknown.into_iter();
        let mut same = unknown.filter(|it| it.what == what);
        same.next().map(|it| it.how.to_string())
    };
    let small = |profile: &mut Profile| {
        profile.granularity = Granularity::new(8).unwrap();
        profile.method.data = "heap".to_owned();
        profile.method.kinds = "loads".to_owned();
        profile.method.sharing = Sharing::Private;
        profile.warnings.push(Warning {
            code: "hooks-measured".to_owned(),
            ..Warning::default()
        });
    };
    // Causes are those of all kinds, in a cache of all threads.
    assert_eq!(
        how(small, "why accesses miss").unwrap(),
        "Run: reuselens profile --why --granularity 8 --data heap --capture rewriting -- ./prog"
    );
    assert_eq!(
        how(small, "misses of the TLB").unwrap(),
        "Run: reuselens profile --granularity 4K --data heap --capture rewriting --kind loads \
         --sharing private -- ./prog"
    );
    let pages = |profile: &mut Profile| profile.granularity = Granularity::new(4096).unwrap();
    assert_eq!(
        how(pages, "what happens to cache lines").unwrap(),
        "Run: reuselens profile --why --granularity auto -- ./prog"
    );
    let trace = |profile: &mut Profile| {
        profile.method.recorded = true;
        profile.method.data = "stack".to_owned();
    };
    assert_eq!(
        how(trace, "why accesses miss").unwrap(),
        "Run: reuselens analyze --why --data stack ./prog"
    );
}

#[test]
fn missing_parts_of_the_causes_are_named() {
    let mut sketch = Sketch::new();
    sketch.causes().has_loops = false;
    sketch.site(0, "load");
    let advice = sketch.advise();
    let missing = |what: &str| advice.unknown.iter().find(|unknown| unknown.what == what);
    let loops = missing("which loop carries a reuse").unwrap();
    assert_eq!(loops.rules, ["blocking", "fusion", "loop-order"]);
    // In the same cache.
    assert_eq!(
        loops.how.to_string(),
        "Run: reuselens profile --why=L1d --capture rewriting -- ./prog"
    );
    assert!(missing("which fields of structures are used").is_some());
    assert!(missing("which misses are conflicts").is_some());
    // Names only: no rule waits for them.
    assert_eq!(missing("source lines").unwrap().rules, [""; 0]);
}

#[test]
fn samples_ids_and_totals_give_no_findings() {
    let faulty = || {
        let mut sketch = Sketch::new();
        let (site, object) = (
            sketch.site(12, "load"),
            sketch.array("table (a.c)", 64 << 20),
        );
        let accesses = Accesses {
            far: 50_000,
            ..Accesses::default()
        };
        sketch.accesses(site, object, accesses);
        sketch.0.machine.caches.truncate(1);
        sketch
    };
    assert_eq!(faulty().rules(), ["fits-no-cache"]);
    let mut sampled = faulty();
    sampled.0.method.exact = false;
    let mut ids = faulty();
    ids.0.method.ids = true;
    let mut totals = faulty();
    totals.0.method.totals_only = true;
    for (sketch, what) in [
        (sampled, "exact distances"),
        (ids, "where data is in memory"),
        (totals, "which line and object misses"),
    ] {
        let advice = sketch.advise();
        assert_eq!(advice.findings, [], "{what}");
        assert_eq!(advice.unknown[0].what, what);
        assert_eq!(advice.unknown[0].rules.len(), rules().count(), "{what}");
    }
}

#[test]
fn profile_of_pages_lists_all_rules_on_lines_as_not_applied() {
    let mut sketch = Sketch::new();
    let site = sketch.site(12, "load");
    let object = sketch.array("table (a.c)", 64 << 20);
    let far = Accesses {
        far: 50_000,
        ..Accesses::default()
    };
    sketch.accesses(site, object, far);
    sketch.0.granularity = Granularity::new(4096).unwrap();
    let advice = sketch.advise();
    let lines = &advice.unknown[0];
    assert_eq!(lines.what, "what happens to cache lines");
    let of_pages = ["huge-pages", "short-lived-allocations"];
    let of_lines = rules().map(|rule| rule.name);
    let of_lines: Vec<&str> = of_lines.filter(|name| !of_pages.contains(name)).collect();
    assert_eq!(lines.rules, of_lines);
    assert!(lines.rules.contains(&"fits-no-cache"));
}

#[test]
fn library_code_is_named_by_its_call() {
    let mut sketch = Sketch::new();
    let (site, object) = (
        sketch.site(0, "load"),
        sketch.array("table (a.c)", 64 << 20),
    );
    let accesses = Accesses {
        far: 50_000,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses).context = 4;
    sketch.0.machine.caches.truncate(1);
    let context = |parent, function: &str, line| reuselens_profile::Context {
        parent,
        function: function.to_owned(),
        call: reuselens_profile::Frame {
            file: "/src/a.c".to_owned(),
            line,
            ..Default::default()
        },
        ..Default::default()
    };
    sketch.0.contexts.extend([
        context(0, "_start", 0),
        context(1, "main", 7),
        context(2, "solve", 40),
        context(3, "memcpy", 50),
    ]);
    let place = &sketch.advise().findings[0].place;
    assert_eq!(place.source.as_deref(), Some("/src/a.c:50"));
    assert_eq!(place.function.as_deref(), Some("solve"));
    assert_eq!(place.call_path, ["main (a.c:40)"]);
}

/// A profile of the code of `file`, which `solve` of the user calls through `library`. Both are
/// called by what the libraries do before `main`.
fn called_through(file: &str, library: &str) -> Sketch {
    let mut sketch = Sketch::new();
    let (site, object) = (
        sketch.site(618, "load"),
        sketch.array("table (a.c)", 64 << 20),
    );
    sketch.0.sites[site as usize].frames[0].file = file.to_owned();
    let accesses = Accesses {
        far: 50_000,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses).context = 7;
    sketch.0.machine.caches.truncate(1);
    let context = |parent, function: &str, file: &str, line| Context {
        parent,
        function: function.to_owned(),
        call: Frame {
            file: file.to_owned(),
            line,
            ..Frame::default()
        },
        ..Context::default()
    };
    sketch.0.contexts.extend([
        context(0, "__libc_start_call_main", "", 0),
        context(1, "main", "libc_start_call_main.h", 58),
        context(2, "std::rt::lang_start", "", 0),
        context(3, "core::ops::FnOnce::call_once", "/rustc/1/rt.rs", 206),
        context(4, "prog::main", "/rustc/1/function.rs", 250),
        context(5, "solve", "/src/a.rs", 9),
        context(6, library, "/src/a.rs", 40),
    ]);
    sketch
}

#[test]
fn library_source_is_named_by_the_line_that_calls_it() {
    let mut sketch = called_through("/usr/include/c++/12/bits/atomic_base.h", "fetch_add");
    let place = &sketch.advise().findings[0].place;
    assert_eq!(place.source.as_deref(), Some("/src/a.rs:40"));
    assert_eq!(place.function.as_deref(), Some("solve"));
    // Neither what the place calls, nor what calls the program's `main`.
    assert_eq!(place.call_path, ["prog::main (a.rs:9)"]);
    // The user's line that library code was inlined into is shown, and the calls that end there.
    sketch.0.sites[1].frames.push(Frame {
        function: "solve".to_owned(),
        file: "/src/a.rs".to_owned(),
        line: 40,
    });
    let inlined = &sketch.advise().findings[0].place;
    assert_eq!(inlined, place);
}

#[test]
fn program_without_symbols_is_not_named_by_the_start_of_the_library() {
    let mut sketch = called_through("", "prog!fn@1060");
    let frame = &mut sketch.0.sites[1].frames[0];
    (frame.function, frame.line) = ("prog!fn@1060+0x9c".to_owned(), 0);
    // Its `main` has no name.
    sketch.0.contexts.truncate(3);
    sketch.0.contexts[2].function = "prog!fn@1060".to_owned();
    sketch.0.cells[0].context = 2;
    let place = &sketch.advise().findings[0].place;
    assert_eq!(place.source, None);
    assert_eq!(place.function.as_deref(), Some("prog!fn@1060+0x9c"));
    assert_eq!(place.call_path, [""; 0]);
}

/// Without `-g`: small blocks have a size, and the array that misses has none.
#[test]
fn unknown_elements_of_what_misses_most_are_named() {
    let mut sketch = Sketch::new();
    let site = sketch.site(12, "load");
    let (small, large) = (sketch.array("small", 4096), sketch.array("large", 8 << 20));
    for (object, far) in [(small, 9000), (large, 10_000)] {
        let accesses = Accesses {
            far,
            used: 8,
            ..Accesses::default()
        };
        sketch.accesses(site, object, accesses);
    }
    sketch.untyped(small, 8, 1000);
    let lacks_types = |sketch: &Sketch| {
        let unknown = sketch.advise().unknown.into_iter();
        let mut unknown = unknown.filter(|it| it.what == "which fields of structures are used");
        unknown.next()
    };
    let unknown = lacks_types(&sketch).unwrap();
    let rules = ["array-of-structures", "loop-order", "mixed-fields"];
    assert_eq!(unknown.partial_rules, rules);
    let advice = sketch.advise();
    let (unlooked, misses) = advice.unlooked().unwrap();
    assert_eq!((unlooked, misses), (&unknown, 10_000));
    let how = unknown.how.to_string();
    assert!(how.contains("-g (not -g1; Rust: debug = true"), "{how}");
    sketch.causes().elements[0].misses[0] = 9_600;
    assert_eq!(lacks_types(&sketch), None);
}
