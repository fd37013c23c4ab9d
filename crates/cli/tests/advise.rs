//! `reuselens advise`.

use reuselens::profile::{
    Cache, CacheKind, CarriedReuse, Carrier, Causes, Cell, CellCauses, ElementUse, Frame, Machine,
    Method, MissScope, Object, ObjectKind, Profile, ScopeKind, Site,
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
        elements: vec![numbers()],
        ..Causes::default()
    });
    profile
}

/// Of the array, one number of each line is used.
fn numbers() -> ElementUse {
    ElementUse {
        object: 1,
        accesses: vec![100_000, 0, 0, 0, 0, 0, 0, 0],
        misses: vec![100_000, 0, 0, 0, 0, 0, 0, 0],
        brought: vec![800_000; 8],
        used: vec![100_000; 8],
        ..ElementUse::default()
    }
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
        "no rule was applied",
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
    let words = [
        "advise",
        "p.rlprof",
        "--gitlab",
        "p.json",
        "--markdown",
        "-",
    ];
    let text = place.run(&words).succeeds().out;
    assert!(
        text.starts_with("### Locality: what to change (`./prog 7`)\n"),
        "{text}"
    );
    let violations = place.json("p.json").0;
    assert_eq!(violations[0]["check_name"], "loop-order");
    let words = [
        "advise",
        "p.rlprof",
        "--relative-to",
        "none",
        "--gitlab",
        "-",
    ];
    place
        .run(&words)
        .fails(2)
        .says(&["--relative-to none", "no folder"]);
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
        .says(&["only one of --json, --sarif, --gitlab and --markdown"]);
    place
        .run(&["advise", "none"])
        .fails(1)
        .says(&["cannot read none"]);
    let most = ["advise", "p.rlprof", "--most", "0"];
    place
        .run(&most)
        .fails(2)
        .says(&["a list has 1 finding or more", "--most 5"]);
}

/// The machine of a profile: L1d of 32 KiB, and an L2 of 1 MiB that holds all that misses there.
fn machine() -> Machine {
    let cache = |level, kind, size| Cache {
        level,
        kind,
        size: Bytes(size),
        line: Bytes(64),
        ways: 8,
        sets: (size / 512) as u32,
        shared_by: 1,
    };
    Machine {
        caches: vec![
            cache(1, CacheKind::Data, 32 << 10),
            cache(2, CacheKind::Unified, 1 << 20),
        ],
        ..Machine::default()
    }
}

#[test]
fn findings_of_another_cache_than_the_one_that_costs_most_ask_for_it() {
    let mut profile = strided();
    profile.machine = machine();
    if let Some(causes) = &mut profile.causes {
        causes.cache = Bytes(1 << 20);
        causes.carried.clear();
    }
    profile.cells[0].causes = CellCauses::default();
    let place = place(&profile);
    let hint = [
        "Misses in L1d (32 KiB) cost more time here than those in L2 (1 MiB)",
        "reuselens profile --why=L1d -- ./prog 7",
    ];
    let text = place.run(&["advise", "p.rlprof"]).succeeds();
    let text = text.prints(&hint);
    text.prints(&["Next: reuselens profile --why=L1d -- ./prog 7"]);
    place
        .run(&["report", "p.rlprof", "--html", "p.html", "--text"])
        .succeeds()
        .prints(&hint);
    let page = place.text("p.html");
    assert!(
        page.contains("cost more time here than those in L2"),
        "{page}"
    );
    // Of the cache that costs most there is no such note.
    let mut same = strided();
    same.machine = machine();
    place.write("same.rlprof", same.to_bytes());
    let done = place.run(&["advise", "same.rlprof"]).succeeds();
    assert!(!done.out.contains("cost more time here"), "{}", done.out);
}

#[test]
fn traces_are_analysed_again_and_not_profiled() {
    let mut profile = strided();
    profile.causes = None;
    profile.command = vec!["runs/a b.rltrace".to_owned()];
    profile.method.recorded = true;
    let place = place(&profile);
    let done = place.run(&["advise", "p.rlprof"]).succeeds();
    let done = done.prints(&[
        "Next: reuselens analyze --why 'runs/a b.rltrace'",
        "reuselens analyze --granularity 4K 'runs/a b.rltrace'",
    ]);
    assert!(!done.out.contains("reuselens profile"), "{}", done.out);
}

#[test]
fn findings_that_a_build_must_not_have_give_exit_code_3() {
    let place = place(&strided());
    let advise = |rules: &str| place.run(&["advise", "p.rlprof", "--fail-on", rules]);
    for rules in ["any", "blocking,Loop_Order"] {
        advise(rules)
            .fails(3)
            .says(&["1 finding that --fail-on names, the first of loop-order"])
            .prints(&["1. Loops in the wrong order"]);
    }
    advise("blocking").succeeds();
    advise("loop-ordr")
        .fails(2)
        .says(&["no rule 'loop-ordr'; names like it: loop-order"]);
}

/// Each thread loads a word 128 bytes from that of its neighbour.
const STRIDED_KERNEL: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry strided(.param .u64 x)
{
\t.reg .f32 %f<2>;
\t.reg .b32 %r<2>;
\t.reg .b64 %rd<5>;
\tld.param.u64 %rd1, [x];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd2, %r1, 128;
\tadd.s64 %rd3, %rd1, %rd2;
\tld.global.f32 %f1, [%rd3];
\tst.global.f32 [%rd3], %f1;
\tret;
}
";

#[test]
fn gpu_kernels_have_findings_in_the_same_forms() {
    let place = Place::new();
    place.write("k.ptx", STRIDED_KERNEL);
    let words = "gpu run k.ptx --entry strided --grid 1 --block 256 --arg zeros:f32:8192 -q -o \
                 k.rlwarp";
    let words: Vec<&str> = words.split_whitespace().collect();
    place.run(&words).succeeds();
    place.run(&["gpu", "report", "k.rlwarp", "-q"]).succeeds();
    let rule = "uncoalesced-access";
    let of_stream = place.run(&["advise", "k.rlwarp"]).succeeds();
    of_stream.prints(&[
        "k.rlwarp: what to change",
        "in strided",
        "excessive sectors",
        "Next: reuselens explain",
        "reuselens gpu diff",
    ]);
    // The file of the run has the same findings.
    let of_run = place.run(&[
        "advise", "k.rlgpu", "--json", "k.json", "--sarif", "k.sarif",
    ]);
    assert_eq!(
        of_run.succeeds().out,
        place.run(&["advise", "k.rlwarp"]).out
    );
    let json = place.json("k.json").0;
    assert_eq!(json["cache_bytes"], serde_json::Value::Null);
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(|it| it["rule"] == rule), "{json}");
    let results = place.json("k.sarif").0["runs"][0]["results"].clone();
    assert_eq!(results.as_array().map(Vec::len), Some(findings.len()));
    place
        .run(&["advise", "k.rlgpu", "--fail-on", rule])
        .fails(3);
    // Findings of rules of a later version are counted, and a damaged file is refused.
    let run = place.text("k.rlgpu");
    place.write("later.rlgpu", run.replace(rule, "a-later-rule"));
    place
        .run(&["advise", "later.rlgpu"])
        .succeeds()
        .prints(&["of rules that this version does not have"]);
    place.write("cut.rlgpu", &run[..run.len() / 2]);
    place
        .run(&["advise", "cut.rlgpu"])
        .fails(1)
        .says(&["cut.rlgpu", "no run of a GPU program"]);
}
