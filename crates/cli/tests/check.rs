//! `reuselens check`.

use std::process::Command;

use crate::common::{Done, Json, Place, old_and_new, source};

/// `naive` and `tiled`: two orders of loops of one product of matrices.
fn products() -> Place {
    let place = Place::new();
    place.build("matmul/matmul.c", &["-O2", "-fno-inline"]);
    for variant in ["naive", "tiled"] {
        let words = [
            "profile",
            "-q",
            "--granularity",
            "64",
            "-o",
            variant,
            "--",
            "./matmul",
            variant,
            "96",
        ];
        place.run(&words).succeeds();
    }
    place
}

#[test]
fn limits_hold_or_end_with_3_and_a_message_each() {
    let place = old_and_new();
    let words = [
        "check",
        "new.rlprof",
        "--against",
        "old.rlprof",
        "--fail-if",
    ];
    let run = |rules: &[&str]| place.run(&[&words[..], rules].concat());
    let done = run(&["misses@3 > 8", "misses@4 > +34 %", "accesses < 8"]).succeeds();
    done.clone()
        .prints(&["all 3 limits hold", "misses@4 > +34 %", "+33.33 %"]);
    assert_eq!(done.err, "");
    let rules = [
        "misses@3 > 7",
        "misses@4 > +33 %",
        "cold > 4",
        "mean-distance > 2.9",
    ];
    let done = run(&rules).ends_with(3);
    done.clone().prints(&[
        "3 of 4 limits are broken",
        "reuselens diff old.rlprof new.rlprof",
    ]);
    assert_eq!(done.err.lines().count(), 3, "{}", done.err);
    done.says(&[
        "limit broken: misses@3 > 7: 8",
        "limit broken: misses@4 > +33 %: 4 now, 3 in the base (+33.33 %)",
        "limit broken: mean-distance > 2.9: 3",
    ]);
    // The option again is the same as one with several.
    let again = ["--fail-if", "cold > 3", "--fail-if", "cold > 2", "-q"];
    let done = place
        .run(&[&["check", "new.rlprof"][..], &again].concat())
        .ends_with(3);
    assert_eq!((done.out.as_str(), done.err.lines().count()), ("", 2));
}

#[test]
fn rules_that_cannot_be_read_are_wrong_usage() {
    let place = old_and_new();
    let rules = [
        (
            "mises@3 > 7",
            "character 1: 'mises' is not a number to limit",
        ),
        ("misses@3 > seven", "character 12: expected a number"),
        ("misses > 7", "misses@256K"),
        ("misses@3 > +5 %", "add --against"),
    ];
    for (rule, say) in rules {
        place
            .run(&["check", "new.rlprof", "--fail-if", rule])
            .fails(2)
            .says(&[say]);
    }
    place
        .run(&["check", "new.rlprof"])
        .fails(2)
        .says(&["--fail-if", "--limits"]);
}

#[test]
fn check_fails_for_metrics_that_the_profile_lacks() {
    let place = old_and_new();
    let rules = [
        ("misses@L9 > 7", "ids"),
        ("misses@0 > 7", "not even one item"),
        ("misses@8:3 > 7", "8 lines"),
        ("misses@3 of function f > 7", "no function 'f'"),
    ];
    for (rule, say) in rules {
        let words = ["check", "new.rlprof", "--fail-if", rule, "cold > 3"];
        let done = place.run(&words).fails(1);
        done.says(&["limit not checked:", say, "limit broken: cold > 3"]);
    }
    place.write("l.txt", " L 1000,8\n S 2000,4\n L 1000,8\n");
    place
        .run(&["analyze", "-q", "l.txt", "--granularity", "64"])
        .succeeds();
    let words = [
        "check",
        "l.rlprof",
        "--against",
        "new.rlprof",
        "--fail-if",
        "cold > +1 %",
    ];
    place.run(&words).fails(1).says(&["ids"]);
    place
        .run(&["check", "no.rlprof", "--fail-if", "cold > 3"])
        .fails(1)
        .says(&["cannot read"]);
}

#[test]
fn limits_file_is_read_with_comments() {
    let place = old_and_new();
    place.write(
        "limits.toml",
        "[[limit]]\nfail-if = \"misses@3 > 7\"\nnote = \"why | `so`\"\n\n[[limit]]\nfail-if = \"cold > 4\"\n",
    );
    let words = ["check", "new.rlprof", "--limits", "limits.toml"];
    place
        .run(&[&words[..], &["--fail-if", "accesses > 7"]].concat())
        .ends_with(3)
        .says(&["misses@3 > 7: 8; why | `so`", "accesses > 7: 8"]);
    let outputs = [
        "--markdown",
        "-",
        "--json",
        "c.json",
        "--fail-if",
        "accesses > 8",
    ];
    let done = place.run(&[&words[..], &outputs].concat()).ends_with(3);
    done.prints(&[
        "### Locality: 1 of 3 limits is broken",
        "| **broken** | `misses@3 > 7` | 8 |",
        "| ok | `cold > 4` | 4 |",
        "why \\| `so`",
    ]);
    let json = place.json("c.json").0;
    assert_eq!(
        (&json["schema"], &json["broken"]),
        (&"reuselens-check/1".into(), &1.into())
    );
    let limit = &json["limits"][0];
    assert_eq!(
        (&limit["result"], &limit["now"]["value"]),
        (&"broken".into(), &8.0.into())
    );
    assert_eq!(
        (&limit["now"]["exact"], &limit["cache"]["items"]),
        (&true.into(), &3.into())
    );
    assert_eq!(json["limits"].as_array().map(Vec::len), Some(3));
    let done = place.run(&[&words[..], &outputs[..4]].concat()).fails(1);
    done.says(&["c.json", "exists already"]);

    for (text, say) in [
        (
            "[[limit]]\nfail-if = \"cold > 4\"\n\n[[limit]]\nfail-if = \"cold\"\n",
            "limits.toml, line 5: 'cold', character 5",
        ),
        ("[[limit]]\nfail = \"cold > 4\"\n", "fail"),
        ("", "has no limits"),
    ] {
        place.write("limits.toml", text);
        place.run(&words).fails(2).says(&[say]);
    }
    place
        .run(&["check", "new.rlprof", "--limits", "none.toml"])
        .fails(1)
        .says(&["cannot read none.toml"]);
}

/// The demo program in the project's own gate: `.ci/run` does the same with the built command.
#[test]
fn limits_of_the_demo_hold_and_fail_for_the_untiled_product() {
    let place = products();
    let limits = source("matmul/limits.toml");
    let words = [
        "check",
        "tiled.rlprof",
        "--against",
        "naive.rlprof",
        "--limits",
        &limits,
    ];
    place.run(&words).succeeds().prints(&["all 4 limits hold"]);
    // The untiled product instead: its misses do not fall, and it has no function `block`.
    let words = [
        "check",
        "naive.rlprof",
        "--against",
        "naive.rlprof",
        "--limits",
        &limits,
    ];
    place
        .run(&words)
        .fails(1)
        .says(&["limit broken: misses@16K > -50 %", "no function 'block'"]);
    let rules = ["misses@16K > +10 %", "miss-ratio@8K of object b > 1 %"];
    let words = [
        "check",
        "naive.rlprof",
        "--against",
        "tiled.rlprof",
        "--fail-if",
    ];
    let done = place.run(&[&words[..], &rules].concat()).ends_with(3);
    done.says(&[
        "most of the rise: ",
        "matmul.c:",
        "limit broken: miss-ratio@8K of object b > 1 %",
    ]);
    let done = place
        .run(&[&words[..], &["misses@16K of function naiv > 1"]].concat())
        .fails(1);
    done.says(&["names like it: naive"]);
}

#[test]
fn check_reports_the_error_bound_of_samples() {
    let place = Place::new();
    let mut trace = Vec::new();
    for step in 0..500_000_u64 {
        // Half of the accesses are to few items, half to so many that samples are taken.
        let mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 45;
        let item = if step % 2 == 0 { step % 1024 } else { mixed };
        trace.extend(item.to_le_bytes());
    }
    place.write("t.u64", trace);
    let words = [
        "analyze", "-q", "t.u64", "--format", "u64", "--engine", "sampled", "--sample", "5%",
    ];
    place.run(&words).succeeds();
    let check = |rule: &str| {
        let words = ["check", "t.rlprof", "--json", "-", "--fail-if", rule];
        let done = place.run(&words);
        (done.code, Json::parse(&done.out).0["limits"][0].clone())
    };
    let (code, limit) = check("miss-ratio@10000 > 100 %");
    let value = limit["now"]["value"].as_f64().unwrap();
    let bound = limit["now"]["error_bound"].as_f64().unwrap();
    assert!(code == 0 && bound > 0.0 && value > 2.0 * bound, "{limit}");
    let (code, limit) = check(&format!("miss-ratio@10000 > {:.9}", value - bound / 2.0));
    assert_eq!((code, &limit["result"]), (0, &"unsure".into()));
    let (code, limit) = check(&format!("miss-ratio@10000 > {:.9}", value - bound * 2.0));
    assert_eq!((code, &limit["result"]), (3, &"broken".into()));
}

/// Variables of functions by the names that the source has for them.
#[test]
fn local_and_static_arrays_are_found_by_their_own_names() {
    let place = Place::new();
    place.write(
        "main.c",
        "static volatile int n = 512;\n\
         __attribute__((noinline)) static int work(void) {\n  volatile int both[512];\n  for (int i = 0; i < n; i++) both[i] = i;\n  return both[7];\n}\n\
         int main(void) {\n  static volatile int a[512];\n  volatile int big[512], both[512];\n\
         for (int i = 0; i < n; i++) a[i] = big[i] = both[i] = i;\n  return work() + a[3] + big[4] + both[5] == 0;\n}\n",
    );
    let mut gcc = Command::new("gcc");
    gcc.args(["-O0", "-g", "main.c", "-o", "main"]);
    Done::of(gcc.current_dir(place.path(""))).succeeds();
    let words = ["profile", "-q", "--granularity", "4", "--", "./main"];
    place.run(&words).succeeds();
    for name in ["big", "a", "big in main", "both in work"] {
        let rule = format!("accesses of object {name} < 512");
        let words = ["check", "main.rlprof", "--fail-if", &rule];
        place.run(&words).succeeds().prints(&["the limit holds"]);
    }
    let rule = "accesses of object both < 512";
    let done = place.run(&["check", "main.rlprof", "--fail-if", rule]);
    done.fails(1).says(&[
        "'both' may be any of '",
        "'both in main'",
        "'both in work'",
        "write one of these names in full",
    ]);
}

/// A mistyped name must not fill the memory.
#[test]
fn a_file_of_limits_is_read_up_to_a_bound() {
    let place = old_and_new();
    let sparse = std::fs::File::create(place.path("sparse.toml")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for file in ["sparse.toml", "/dev/zero"] {
        let words = ["check", "new.rlprof", "--limits", file];
        place
            .run(&words)
            .fails(1)
            .says(&["cannot read", file, "larger than 1 MiB"]);
    }
}
