//! `reuselens reorder`, and statements.

use std::process::Command;

use crate::common::{Json, Place, has, source};

#[test]
fn reordering_removes_most_of_the_third_peak_of_adi() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    let adi = place.build("adi/adi.f", &["--rl-names", "-std=legacy"]);
    place
        .run(&["record", "-q", "-o", "adi.rltrace", "--", &adi, "50"])
        .succeeds();
    place.run(&["reorder", "adi.rltrace"]).succeeds().prints(&[
        "every dependence between them is kept",
        "reuselens diff adi.program.rlprof",
    ]);
    let between = |name: &str, low: u64, high: u64| {
        let json = Json::parse(&place.run(&["report", name, "--json", "-"]).succeeds().out);
        assert_eq!(
            json.number("accesses"),
            64_100,
            "statement mode of the demo"
        );
        assert_eq!(json.number("cold"), 7_500);
        let counts = json.0["histogram"]["counts"].as_array().unwrap().clone();
        let inside = |bin: &&serde_json::Value| (low..=high).contains(&bin[0].as_u64().unwrap());
        counts
            .iter()
            .filter(inside)
            .map(|bin| bin[2].as_u64().unwrap())
            .sum::<u64>()
    };
    let hills = |low: u64, high: u64| {
        let names = ["adi.program.rlprof", "adi.reordered.rlprof"];
        names.map(|name| between(name, low, high))
    };
    // A third of the reuses lies at 4096 and beyond; two thirds of those come nearer.
    let [before, after] = hills(4096, u64::MAX);
    assert!(
        before > 18_000 && after * 5 < before * 2,
        "{after} of {before}"
    );
    // The first hill reaches from below 4 to below 8.
    let [before, after] = hills(4, 7);
    assert!(after > before * 20, "{after} after {before}");
    place
        .run(&["reorder", "adi.rltrace"])
        .fails(1)
        .says(&["exists already"]);
}

#[test]
fn program_order_is_the_histogram_of_statement_mode() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    let adi = place.build("adi/adi.f", &["--rl-names", "-std=legacy"]);
    place
        .run(&["record", "-q", "-o", "adi.rltrace", "--", &adi, "100"])
        .succeeds();
    let analyze = ["analyze", "-q", "adi.rltrace", "--names", "statement"];
    let options = ["--granularity", "8", "--json", "analysed.json"];
    place.run(&[&analyze[..], &options].concat()).succeeds();
    place.run(&["reorder", "-q", "adi.rltrace"]).succeeds();
    let words = ["report", "adi.program.rlprof", "--json", "program.json"];
    place.run(&words).succeeds();
    let [analysed, program] = ["analysed.json", "program.json"].map(|name| place.json(name));
    assert_eq!(program.counts(), analysed.counts());
    assert_eq!(program.number("cold"), analysed.number("cold"));
    let near = |bin: &&[u64; 3]| (2..=3).contains(&bin[0]);
    let counts = program.counts();
    let near: u64 = counts.iter().filter(near).map(|bin| bin[2]).sum();
    assert_eq!(near, 69_300);
}

/// Statements of one line each, a loop within one line among them. Volatile, so that every level of
/// optimisation accesses the same elements.
const SWEEPS: &str = "\
#include <stdlib.h>
#ifdef MARKED
#include <reuselens.h>
#define S RecordStatement();
#define U(a, i) RecordAccess((void *)a, (void *)&a[i]);
#else
#define S
#define U(a, i)
#endif
__attribute__((noinline))
static void work(volatile double *x, volatile double *y, int n) {
    for (int i = 0; i < n; i++) {
        S U(x, i)
        x[i] = i;
        S U(y, i)
        y[i] = 0;
    }
    for (int t = 0; t < 5; t++) {
        for (int i = 1; i < n - 1; i++) {
            S U(x, i - 1) U(x, i) U(x, i + 1) U(y, i)
            y[i] = x[i - 1] + x[i] + x[i + 1];
            S U(x, i) U(y, i) U(x, i)
            x[i] = x[i] - y[i] * 0.25;
        }
        for (int i = 0; i < n; i++) { S U(x, i) x[i] *= 0.5; }
    }
}
int main(void) {
    int n = 400;
    volatile double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
#ifdef MARKED
    RecordNamedData(\"x\", (void *)x, n * sizeof *x, sizeof *x);
    RecordNamedData(\"y\", (void *)y, n * sizeof *y, sizeof *y);
#endif
    work(x, y, n);
    return 0;
}
";

fn compile(place: &Place, compiler: &str, arguments: &[&str]) {
    let mut command = Command::new(compiler);
    let done = command.args(arguments).current_dir(place.path("")).status();
    assert!(done.unwrap().success(), "{command:?}");
}

/// What a program accesses on the heap within a function, in statement mode.
fn in_statements(place: &Place, function: &[&str], program: &[&str]) -> Json {
    let record = ["record", "-q", "-f", "-o", "lines.rltrace"];
    let words = [&record[..], function, &["--"], program].concat();
    place.run(&words).succeeds();
    let mut words = vec!["analyze", "-q", "-f", "lines.rltrace", "--granularity", "8"];
    words.extend(["--names", "statement", "--json", "lines.json"]);
    if !function.is_empty() {
        words.extend(["--data", "heap"]);
    }
    place.run(&words).succeeds();
    place.json("lines.json")
}

#[test]
fn source_lines_are_the_statements_that_marks_would_be() {
    let place = Place::new();
    place.write("sweeps.c", SWEEPS);
    let words = "cc --rl-names -DMARKED -O1 sweeps.c -o marked";
    let words: Vec<&str> = words.split(' ').collect();
    place.run(&words).succeeds();
    let marked = in_statements(&place, &[], &["./marked"]);
    assert_eq!(marked.number("accesses"), 2 * 400 + 5 * (398 * 6 + 400));
    assert_eq!(marked.warnings(), [""; 0]);
    for level in ["-O0", "-O1"] {
        compile(&place, "gcc", &["-g", level, "sweeps.c", "-o", "lines"]);
        let lines = in_statements(&place, &["--function", "work"], &["./lines"]);
        assert_eq!(lines.counts(), marked.counts(), "{level}");
        assert_eq!(lines.number("cold"), 800);
        let noted = lines.warnings();
        assert!(noted.contains(&"statements-from-lines".into()), "{noted:?}");
    }
    // Pieces have the same statements as the whole.
    let options = "--names statement --data heap --granularity 8";
    let options: Vec<&str> = options.split(' ').collect();
    for piece in ["1/2", "2/2"] {
        let words = ["shard", "-q", piece, "lines.rltrace"];
        place.run(&[&words[..], &options].concat()).succeeds();
    }
    let words = "merge -q -f lines.1-of-2.rlpart lines.2-of-2.rlpart -o merged --json merged.json";
    let words: Vec<&str> = words.split(' ').collect();
    place.run(&words).succeeds();
    assert_eq!(place.json("merged.json").counts(), marked.counts());
}

/// ADI of which every mark was taken out. Its arrays are on the heap, so that all else can be left
/// out: loop variables would make every statement depend on the one before.
fn unmarked_adi(place: &Place) {
    let marked = std::fs::read_to_string(source("adi/adi.f")).unwrap();
    let lines = marked.lines().filter(|line| !line.contains("CALL Record"));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    let calls = "      CALL SETUP(X, A, B, N*N)\n      CALL COLS(X, A, B, N)\n      CALL ROWS(X, A, B, N)\n";
    for (old, new) in [
        (
            "      REAL*8 X(MAXN*MAXN), A(MAXN*MAXN), B(MAXN*MAXN)\n      COMMON /GRID/ X, A, B\n",
            "      REAL*8, ALLOCATABLE :: X(:), A(:), B(:)\n",
        ),
        (
            calls,
            "      ALLOCATE(X(N*N), A(N*N), B(N*N))\n      CALL STEPS(X, A, B, N)\n",
        ),
    ] {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    text += "\n      SUBROUTINE STEPS(X, A, B, N)\n      REAL*8 X(N*N), A(N*N), B(N*N)\n";
    text += calls;
    text += "      END\n";
    place.write("adi.f", text);
    let words = ["-g", "-O0", "-std=legacy", "adi.f", "-o", "adi"];
    compile(place, "gfortran", &words);
}

#[test]
fn an_unmarked_program_is_reordered_by_its_source_lines() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    unmarked_adi(&place);
    let only = ["--function", "steps_", "--data", "heap"];
    let analysed = in_statements(&place, &only, &["./adi", "50"]);
    // Elements of a statement are in another order than marks say, and no others.
    assert_eq!(analysed.number("accesses"), 64_100, "as with marks");
    assert_eq!(analysed.number("cold"), 7_500);
    let done = place.run(&["reorder", "lines.rltrace"]).succeeds();
    done.prints(&["runs of source lines; every dependence between them is kept"]);
    let far = |name: &str| {
        let json = Json::parse(&place.run(&["report", name, "--json", "-"]).succeeds().out);
        let counts = json.counts();
        let far = counts.iter().filter(|bin| bin[0] >= 4096);
        (far.map(|bin| bin[2]).sum::<u64>(), counts)
    };
    let (before, program) = far("lines.program.rlprof");
    assert_eq!(program, analysed.counts());
    let (after, _) = far("lines.reordered.rlprof");
    assert!(
        before > 18_000 && after * 5 < before * 2,
        "{after} of {before}"
    );
}

#[test]
fn accesses_between_marks_are_a_statement_where_none_is_named() {
    let place = Place::new();
    place.write("sweeps.c", SWEEPS);
    let reordered = |name: &str, build: &str, data: &str| {
        let words = format!("cc {build} -DMARKED -O1 sweeps.c -o {name}");
        place.run(&words.split(' ').collect::<Vec<_>>()).succeeds();
        let (program, trace) = (format!("./{name}"), format!("{name}.rltrace"));
        let record = ["record", "-q", "--data", data, "-o", &trace, "--", &program];
        place.run(&record).succeeds();
        let done = place.run(&["reorder", &trace]).succeeds();
        done.prints(&[" statements; every dependence between them is kept"]);
        ["program", "reordered"].map(|order| {
            let profile = format!("{name}.{order}.rlprof");
            let json = place.run(&["report", &profile, "--json", "-"]).succeeds();
            Json::parse(&json.out).counts()
        })
    };
    let named = reordered("named", "--rl-names", "all");
    assert_ne!(named[0], named[1]);
    assert_eq!(reordered("hooked", "-g", "heap"), named);
}

#[test]
fn reorder_fails_for_traces_without_statements() {
    let place = Place::new();
    place.write("trace.txt", "a b c a");
    place
        .run(&["reorder", "trace.txt"])
        .fails(1)
        .says(&["no statements", "-g", "RecordStatement"]);
    assert!(!place.path("trace.program.rlprof").exists());
    place.run(&["reorder", "none"]).fails(1).says(&["none"]);
    place.run(&["reorder"]).fails(2).says(&["TRACE"]);
    place
        .run(&["reorder", "trace.txt", "--granularity", "12"])
        .fails(2)
        .says(&["power of two"]);
    place
        .run(&["reorder", "trace.txt", "--json", "-"])
        .fails(2)
        .says(&["reuselens report"]);
}

/// Two sweeps over `a` that reordering makes one, of a program without marks, in static data.
const TWO_SWEEPS: &str = "\
static volatile double a[1500], b[1500], c[1500];
__attribute__((noinline)) static void work(void) {
    for (int i = 0; i < 1500; i++)
        a[i] = i * 0.5;
    for (int i = 0; i < 1500; i++)
        b[i] = a[i] + 1;
    for (int i = 1; i < 1500; i++)
        c[i] = b[i - 1] + a[i];
}
int main(void) {
    work();
    return 0;
}
";

#[test]
fn reordering_names_the_lines_and_data_that_gain() {
    let place = Place::new();
    place.write("sweeps.c", TWO_SWEEPS);
    let words = [
        "-O1",
        "-g",
        "-fno-tree-vectorize",
        "sweeps.c",
        "-o",
        "sweeps",
    ];
    compile(&place, "gcc", &words);
    let record = ["record", "-q", "--function", "work", "--data", "static"];
    place
        .run(&[&record[..], &["-o", "sweeps.rltrace", "--", "./sweeps"]].concat())
        .succeeds();
    let analyze = ["analyze", "-q", "sweeps.rltrace", "--names", "statement"];
    let options = ["--granularity", "8", "-o", "analysed"];
    place.run(&[&analyze[..], &options].concat()).succeeds();
    // A small input is in all caches of any machine; the tables are of a size that shows the gain.
    place
        .run(&["reorder", "sweeps.rltrace", "--by", "line,object"])
        .succeeds()
        .prints(&[
            "by line",
            "sweeps.c:8",
            "by object",
            "a (sweeps.c)",
            "b (sweeps.c)",
        ]);
    let table = |name: &str| {
        let words = ["report", name, "--by", "object,line", "--csv", "-"];
        let out = place.run(&words).succeeds().out;
        let columns = out
            .lines()
            .map(|line| line.split(',').take(4).collect::<Vec<_>>().join(","));
        columns.collect::<Vec<_>>()
    };
    let analysed = table("analysed.rlprof");
    assert!(analysed.len() > 6, "{analysed:?}");
    // Both orders have the accesses and first touches of the analysis, by line and by object.
    let [mut program, mut reordered] =
        ["sweeps.program.rlprof", "sweeps.reordered.rlprof"].map(table);
    let mut analysed = analysed;
    for table in [&mut program, &mut reordered, &mut analysed] {
        table.sort();
    }
    assert_eq!(program, analysed);
    assert_eq!(reordered, analysed);
}
