//! Rules about threads.

use reuselens_advice::Confidence;
use reuselens_profile::{Context, SharedData, SharedEnd};

use crate::support::{Accesses, Sketch};

/// Two threads that invalidate each other's line of `counts`.
fn shared(false_sharing: u64, true_sharing: u64) -> Sketch {
    let mut sketch = Sketch::new();
    let (site, object) = (sketch.site(12, "store"), sketch.array("counts (a.c)", 16));
    for thread in 0..2 {
        let hits = Accesses {
            hits: 100_000,
            ..Accesses::default()
        };
        let cell = sketch.accesses(site, object, hits);
        (cell.thread, cell.causes.false_sharing) = (thread, false_sharing);
    }
    let end = |offset| SharedEnd {
        site,
        object,
        offset: Some(offset),
    };
    let pair = |writer, victim| SharedData {
        writer: end(writer),
        victim: end(victim),
        true_sharing,
        false_sharing,
        lines: 1,
    };
    sketch.causes().shared = vec![pair(0, 8), pair(8, 0)];
    sketch
}

#[test]
fn lines_taken_without_common_bytes_are_false_sharing() {
    let advice = shared(40_000, 100).advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "false-sharing");
    assert_eq!(
        (finding.cost.amount, &*finding.cost.unit),
        (80_000, "invalidations")
    );
    assert_eq!(finding.place.source.as_deref(), Some("/src/a.c:12"));
    assert!(finding.remedy.contains("alignas(64)") && finding.remedy.contains("counts (a.c)"));
    assert_eq!(finding.evidence[2], "Threads: main, worker.");
}

#[test]
fn fields_of_both_threads_are_named() {
    let mut sketch = shared(40_000, 0);
    let fields = [("left", "long", 10, 10), ("right", "long", 10, 10)];
    sketch.fields(1, "Counters", &fields);
    let advice = sketch.advise();
    let evidence = &advice.findings[0].evidence[1];
    assert!(
        evidence.contains("`left` of Counters") && evidence.contains("`right` of"),
        "{evidence}"
    );
}

#[test]
fn data_that_threads_hand_to_each_other_is_no_false_sharing() {
    assert_eq!(shared(4000, 40_000).rules(), [""; 0]);
    // A line that went there and back.
    assert_eq!(shared(1, 0).rules(), [""; 0]);
    // Twelve lines, each of which went from one thread to the other.
    let mut lines = shared(6, 0);
    for pair in &mut lines.causes().shared {
        pair.lines = 6;
    }
    assert_eq!(lines.rules(), [""; 0]);
    // Ten instructions, each with a line of its own.
    let mut lines = shared(1, 0);
    let pair = lines.causes().shared[0];
    lines.causes().shared = vec![pair; 10];
    assert_eq!(lines.rules(), [""; 0]);
}

#[test]
fn few_turns_at_one_line_are_turns() {
    assert_eq!(shared(2, 0).rules(), ["false-sharing"]);
}

/// Where a busy machine ran them so, few turns were counted.
#[test]
fn threads_that_took_few_turns_may_share_a_line_at_all_accesses() {
    let advice = shared(100, 0).advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "false-sharing");
    assert_eq!(finding.confidence, Confidence::Possible);
    assert_eq!(
        (finding.cost.amount, &*finding.cost.unit),
        (200_000, "invalidations at most")
    );
    // Of 1 MiB a few lines are those of both threads.
    let mut large = shared(100, 0);
    large.0.objects[1].bytes = 1 << 20;
    assert_eq!(large.rules(), [""; 0]);
    let last = finding.evidence.last().unwrap();
    assert!(last.contains("up to 200,000 accesses"), "{last}");
}

#[test]
fn calls_of_a_thread_begin_with_its_own_function() {
    let mut sketch = shared(40_000, 0);
    let context = |parent, function: &str| Context {
        parent,
        function: function.to_owned(),
        ..Context::default()
    };
    let contexts = [
        context(0, "clone3"),
        context(1, "start_thread"),
        context(2, "work"),
        context(3, "add"),
    ];
    let first = sketch.0.contexts.len();
    assert_eq!(first, 1, "the root");
    sketch.0.contexts.extend(contexts);
    for cell in &mut sketch.0.cells {
        cell.context = 4;
    }
    let place = &sketch.advise().findings[0].place;
    assert_eq!(place.call_path, ["work"], "{place:?}");
}
