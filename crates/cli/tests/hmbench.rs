//! The programs of HMBench: right with every compiler and number of threads, and what they are
//! there to show about placement and about threads.

use std::process::Command;

use crate::common::{Done, Json, Place, has, source};
use serde_json::Value;

const PROGRAMS: [&str; 13] = [
    "mtrans",
    "mmulti",
    "bfs",
    "cfd",
    "hotspot",
    "kmeans",
    "lavaMD",
    "lud",
    "nn",
    "nw",
    "particlefilter",
    "pathfinder",
    "srad",
];

/// The C and the C++ compilers that can compile and link programs with OpenMP.
fn compilers() -> Vec<[&'static str; 2]> {
    let mut compilers = vec![["gcc", "g++"]];
    if has("clang-19") && has("clang++-19") && has("/usr/lib/llvm-19/lib/libomp.so") {
        compilers.push(["clang-19", "clang++-19"]);
    }
    compilers
}

/// Builds these programs without a warning into the folder `build` of `place`.
fn make(place: &Place, programs: &[&str], [c, cxx]: [&str; 2], target: bool) {
    let mut command = Command::new("make");
    command
        .args(["-s", "-j2", "EXTRA=-Werror", "-f"])
        .arg(source("hmbench/Makefile"))
        .args([format!("CC={c}"), format!("CXX={cxx}")])
        .arg(if target { "TARGET=1" } else { "TARGET=" })
        .args(programs.iter().map(|program| format!("build/{program}")))
        .current_dir(place.path(""));
    Done::of(&mut command).succeeds();
}

fn run(place: &Place, program: &str, options: &[&str]) -> Done {
    let mut command = Command::new("timeout");
    command
        .args(["120", &format!("build/{program}")])
        .args(options)
        // Threads that wait in a loop keep other tests' processes from the processors.
        .env("OMP_WAIT_POLICY", "passive")
        .current_dir(place.path(""));
    Done::of(&mut command)
}

/// Runs all programs with one and with two threads, by each compiler; the line that they print is
/// one.
fn all_are_right(target: bool) {
    for compilers in compilers() {
        let place = Place::new();
        make(&place, &PROGRAMS, compilers, target);
        for program in PROGRAMS {
            let alone = run(&place, program, &["--threads", "1"]).succeeds();
            assert!(alone.out.ends_with(" values right\n"), "{}", alone.out);
            let together = run(&place, program, &["--threads", "2"]).succeeds();
            assert_eq!(alone.out, together.out);
        }
    }
}

#[test]
fn programs_are_right_with_one_and_two_threads() {
    all_are_right(false);
}

#[test]
fn target_loops_are_right_where_the_host_runs_them() {
    all_are_right(true);
}

#[test]
fn wrong_results_and_wrong_options_are_reported() {
    let place = Place::new();
    make(&place, &PROGRAMS, ["gcc", "g++"], false);
    for program in PROGRAMS {
        let done = run(&place, program, &["--spoil"]).ends_with(1);
        done.says(&[program, "values are wrong"]);
    }
    for (options, expected) in [
        (&["--size", "huge"][..], "a number is wrong"),
        (&["--threads", "0"], "out of range"),
        (&["--threads"], "lacks its value"),
        (&["--fst", "strided"], "an option is unknown"),
        (&["--fast", "odd"], "no array is named 'odd'"),
    ] {
        run(&place, "mtrans", options)
            .ends_with(2)
            .says(&[expected]);
    }
}

#[test]
fn arrays_of_other_tiers_change_no_result() {
    for compilers in compilers() {
        let place = Place::new();
        make(
            &place,
            &["mtrans", "bfs", "particlefilter"],
            compilers,
            false,
        );
        for (program, fast, large) in [
            ("mtrans", "strided", "sequential"),
            ("bfs", "level,visited", "edges"),
            ("particlefilter", "cumulated,x", "weight"),
        ] {
            let plain = run(&place, program, &[]).succeeds();
            let placed = run(&place, program, &["--fast", fast, "--large", large]);
            assert_eq!(plain.out, placed.succeeds().out);
        }
    }
}

/// `file.c:LINE` of the allocation of an array.
fn site_of(program: &str, array: &str) -> String {
    let text = std::fs::read_to_string(source(&format!("hmbench/{program}.c"))).unwrap();
    let wanted = format!(", \"{array}\", ");
    let line = text.lines().position(|line| line.contains(&wanted));
    format!("{program}.c:{})", line.unwrap() + 1)
}

/// Builds a program as `profile` sees it, with `way`: compiled in, or as the compiler makes it.
fn build(place: &Place, compiler: &str, program: &str, is_compiled_in: bool) {
    let text = source(&format!("hmbench/{program}.c"));
    let words = ["-std=c11", "-O2", "-g", "-fopenmp", &text, "-o", program];
    if is_compiled_in {
        let compiler = format!("--rl-compiler={compiler}");
        let words = [&["cc", &compiler][..], &words, &["-lm"]].concat();
        place.run(&words).succeeds();
    } else {
        let mut command = Command::new(compiler);
        command.args(words).arg("-lm").current_dir(place.path(""));
        Done::of(&mut command).succeeds();
    }
}

/// The plan for a program with two threads, as JSON and as text.
fn plan(place: &Place, program: &str, size: &str, options: &[&str]) -> (Json, String) {
    let binary = format!("./{program}");
    let words = ["profile", "-q", "-f", "-o", "p", "--", &binary];
    let arguments = ["--size", size, "--threads", "2", "--no-check"];
    let mut command = place.command(&[&words[..], &arguments].concat());
    command.env("OMP_WAIT_POLICY", "passive");
    Done::of(&mut command).succeeds();
    let words = [&["place", "p.rlprof", "--json", "p.json", "-f"], options].concat();
    let done = place.run(&words).succeeds();
    (place.json("p.json"), done.out)
}

/// The object that an array of a program is in a plan.
#[track_caller]
fn object<'a>(plan: &'a Json, program: &str, array: &str) -> &'a Value {
    let site = site_of(program, array);
    let objects = plan.0["objects"].as_array().unwrap();
    let found = objects.iter().find(|object| {
        object["path"][0]
            .as_str()
            .is_some_and(|at| at.ends_with(&site))
    });
    found.unwrap_or_else(|| panic!("{site} is not in {objects:?}"))
}

#[test]
fn badly_strided_matrix_is_placed_first() {
    for [compiler, _] in compilers() {
        let place = Place::new();
        build(&place, compiler, "mtrans", true);
        // Room for one of the two matrices.
        let options = ["--fast", "2100K", "--cache", "24K"];
        let (plan, text) = plan(&place, "mtrans", "512", &options);
        let [strided, sequential] =
            ["strided", "sequential"].map(|name| object(&plan, "mtrans", name));
        let count = |object: &Value, what: &str| object[what].as_u64().unwrap();
        assert_eq!(strided["tier"], "fast");
        assert_eq!(sequential["tier"], "slow");
        // A line of eight elements is fetched once for each of them, or once in all.
        let (bad, good) = (count(strided, "misses"), count(sequential, "misses"));
        assert!(bad > 4 * good, "{bad} and {good} misses");
        assert!(2 * bad > count(strided, "accesses"), "{bad} misses");
        assert!(4 * good < count(sequential, "accesses"), "{good} misses");
        // No object has more misses.
        let objects = plan.0["objects"].as_array().unwrap();
        assert!(objects.iter().all(|object| count(object, "misses") <= bad));
        // The table has the reason: misses beside accesses, and why the other one has no room.
        let row = |array: &str| {
            let site = site_of("mtrans", array);
            let found = text.lines().find(|line| line.contains(&site));
            found.unwrap_or_else(|| panic!("{site}: {text}")).to_owned()
        };
        assert!(row("strided").ends_with(" fast"), "{text}");
        assert!(row("sequential").ends_with("slow: no room"), "{text}");
        assert!(text.contains("misses  belongs in"), "{text}");
    }
}

#[test]
fn static_loops_have_equal_shares_of_accesses_by_thread() {
    // Arrays that only statically scheduled loops access, and sizes that two threads share evenly.
    const ARRAYS: [(&str, &str, &str); 3] = [
        ("mtrans", "256", "strided"),
        ("hotspot", "128", "power"),
        ("srad", "128", "coefficient"),
    ];
    for [compiler, _] in compilers() {
        for is_compiled_in in [true, false] {
            for (program, size, array) in ARRAYS {
                let place = Place::new();
                build(&place, compiler, program, is_compiled_in);
                let (plan, _) = plan(&place, program, size, &["--fast", "64K", "--cache", "32K"]);
                let object = object(&plan, program, array);
                let threads = object["by_thread"].as_array().unwrap();
                let of = format!("{compiler}, {is_compiled_in}: {object}");
                assert_eq!(threads.len(), 2, "{of}");
                let [one, other] = [0, 1].map(|at| threads[at]["accesses"].as_f64().unwrap());
                assert!((one / (one + other) - 0.5).abs() < 0.01, "{of}");
                let cells = size.parse::<f64>().unwrap().powi(2);
                // An access may be to several cells at once.
                assert!(one + other >= cells, "{of}");
            }
        }
    }
}
