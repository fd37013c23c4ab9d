//! `reuselens advise`.

use reuselens::locality::{
    CarriedReuse, Carrier, Causes, Cell, CellCauses, Frame, Method, MissScope, Object, ObjectKind,
    Profile, ScopeKind, Site,
};
use reuselens::units::{Bytes, Distance, Granularity};

use crate::common::{Json, Place};

/// A profile of a program whose line 12 strides over `a`: 100,000 reuses, that the loop at line 10
/// carries, miss in a cache of 32 KiB, and use 8 of 64 bytes.
fn strided() -> Profile {
    let frame = |line| Frame {
        function: "work".to_owned(),
        file: "/src/a.c".to_owned(),
        line,
    };
    let mut profile = Profile {
        command: vec!["./prog".to_owned(), "7".to_owned()],
        method: Method {
            exact: true,
            ..Method::default()
        },
        ..Profile::empty(Granularity::LINE_64)
    };
    profile.sites.push(Site {
        module: "prog".to_owned(),
        frames: vec![frame(12)],
        kind: "load".to_owned(),
        ..Site::default()
    });
    profile.objects.push(Object {
        kind: ObjectKind::Static,
        name: "a (a.c)".to_owned(),
        bytes: 8 << 20,
        blocks: 1,
        ..Object::default()
    });
    let far = Distance::new(5000);
    let mut cell = Cell {
        site: 1,
        object: 1,
        causes: CellCauses {
            fills: 100_000,
            used_bytes: 800_000,
            ..CellCauses::default()
        },
        ..Cell::default()
    };
    cell.histogram.add(far, 100_000);
    profile.histogram.add(far, 100_000);
    profile.cells.push(cell);
    profile.causes = Some(Causes {
        cache: Bytes(32 << 10),
        has_loops: true,
        scopes: vec![MissScope {
            kind: ScopeKind::Loop,
            frame: frame(10),
            ..MissScope::default()
        }],
        carried: vec![CarriedReuse {
            source: 1,
            sink: 1,
            object: 1,
            carrier: Carrier::Scope(0),
            misses: 100_000,
            distance_sum: 500_000_000,
        }],
        ..Causes::default()
    });
    profile
}

fn place(profile: &Profile) -> Place {
    let place = Place::new();
    place.write("p.rlprof", profile.to_bytes());
    place
}

#[test]
fn findings_are_printed_with_cost_evidence_and_remedy() {
    let place = place(&strided());
    let done = place.run(&["advise", "p.rlprof"]).succeeds();
    done.prints(&[
        "./prog 7: what to change",
        "1. Loops in the wrong order: 87.5 k misses, 87.5 % of all",
        "a.c:12 in work on a (a.c)",
        "12.5 % of each line is used before it is evicted",
        "→ Exchange the loops, so that the loop at a.c:10 is the innermost one",
        "Not known",
        "Next: reuselens explain loop-order",
        "reuselens diff p.rlprof after.rlprof",
    ]);
    let report = place.run(&["report", "p.rlprof"]).succeeds();
    report.prints(&["What to change", "1. Loops in the wrong order"]);
}

#[test]
fn profile_without_causes_asks_for_them() {
    let mut profile = strided();
    profile.causes = None;
    let place = place(&profile);
    let done = place.run(&["advise", "p.rlprof"]).succeeds();
    done.prints(&[
        "nothing to change was found",
        "why accesses miss",
        "Next: reuselens profile --why -- ./prog 7",
    ]);
    let report = place.run(&["report", "p.rlprof"]).succeeds();
    assert!(!report.out.contains("change"), "{}", report.out);
}

#[test]
fn findings_are_written_as_json_and_sarif() {
    let place = place(&strided());
    let words = ["advise", "p.rlprof", "--json", "-", "--sarif", "p.sarif"];
    let json = Json::parse(&place.run(&words).succeeds().out).0;
    assert_eq!(json["schema"], "reuselens-advice/1");
    assert_eq!(json["findings"][0]["rule"], "loop-order");
    assert_eq!(json["findings"][0]["cost"]["amount"], 87_500);
    let sarif = place.json("p.sarif").0;
    let result = &sarif["runs"][0]["results"][0];
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!(
        (&result["ruleId"], &region["startLine"]),
        (&"loop-order".into(), &12.into())
    );
    // The JSON of the profile has them too.
    place
        .run(&["report", "p.rlprof", "--json", "r.json"])
        .succeeds();
    let advice = &place.json("r.json").0["advice"];
    assert_eq!(advice["findings"], json["findings"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused() {
    let place = place(&strided());
    place.write("p.sarif", "");
    let words = ["advise", "p.rlprof", "--sarif", "p.sarif"];
    place
        .run(&words)
        .fails(1)
        .says(&["p.sarif", "exists already"]);
    place
        .run(&["advise", "p.rlprof", "--sarif", "-", "--json", "-"])
        .fails(2)
        .says(&["only one of --json and --sarif"]);
    place
        .run(&["advise", "none"])
        .fails(1)
        .says(&["cannot read none"]);
    let most = ["advise", "p.rlprof", "--most", "0"];
    place
        .run(&most)
        .fails(2)
        .says(&["a list has 1 row or more"]);
}
