//! `reuselens place` with several profiles: plans for an input that was not run.

use crate::common::{Json, Place};

/// A product of a matrix with itself, row by column, and a table that does not grow.
const PROGRAM: &str = "
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[argc - 1]);
  double *rows = malloc(sizeof(double) * n * n);
  double *columns = malloc(sizeof(double) * n * n);
  double *sums = malloc(sizeof(double) * n);
  double *table = malloc(sizeof(double) * 1024);
  for (int i = 0; i < n * n; i++) rows[i] = columns[i] = i;
  for (int i = 0; i < 1024; i++) table[i] = 1.0 / (i + 1);
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < n; i++) {
      sums[i] = 0;
      for (int j = 0; j < n; j++) sums[i] += rows[i * n + j] * columns[j * n + i] * table[j % 1024];
    }
  return sums[1] < 0;
}
";

/// The profiles `64.rlprof` to `256.rlprof`.
fn profiled() -> Place {
    let place = Place::new();
    place.write("square.c", PROGRAM);
    place
        .run(&["cc", "-g", "-O1", "square.c", "-o", "square"])
        .succeeds();
    for size in ["64", "96", "128", "256"] {
        let words = [
            "profile",
            "-q",
            "--placement",
            "-o",
            size,
            "--",
            "./square",
            size,
        ];
        place.run(&words).succeeds();
    }
    place
}

const TRAINING: [&str; 4] = ["place", "64.rlprof", "96.rlprof", "128.rlprof"];

#[test]
fn plan_for_an_input_that_was_not_run_is_nearly_the_best() {
    let place = profiled();
    for (objective, fast) in [("f", "600K"), ("misses", "600K"), ("misses", "300K")] {
        let rest = [
            "--check",
            "256.rlprof",
            "--fast",
            fast,
            "--cache",
            "32K",
            "--objective",
            objective,
            "--json",
            "-",
        ];
        let words: Vec<&str> = TRAINING.iter().chain(&rest).copied().collect();
        let json = Json::parse(&place.run(&words).succeeds().out);
        let prediction = &json.0["prediction"];
        let regret = prediction["check"]["regret"].as_f64().unwrap();
        assert!(regret <= 0.05, "{objective} {fast}: {regret}");
        assert!(prediction["check"]["best"].as_f64().unwrap() > 0.0);
        assert!(prediction["rehearsal"]["regret"].as_f64().is_some());
        assert_eq!(prediction["training"].as_array().unwrap().len(), 3);
        assert!(json.0["objects"][0]["predicted"]["bytes"].is_array());
    }
}

#[test]
fn plan_says_what_it_is_for_and_can_be_run() {
    let place = profiled();
    let rest = [
        "--size",
        "1M",
        "--fast",
        "600K",
        "--cache",
        "32K",
        "-o",
        "p.rlplace",
    ];
    let words: Vec<&str> = TRAINING.iter().chain(&rest).copied().collect();
    place.run(&words).succeeds().prints(&[
        "not run, predicted: 1 MiB of data, from 64.rlprof",
        "% of the bytes and",
        "90 % prediction intervals",
        "rehearsal",
        "./square with the input of that size",
    ]);
    let file = place.text("p.rlplace");
    assert!(file.contains("square.c:6"), "{file}");
    let two = [
        "place",
        "64.rlprof",
        "128.rlprof",
        "--like",
        "256.rlprof",
        "--fast",
        "600K",
        "--cache",
        "32K",
    ];
    place.run(&two).succeeds().prints(&["of no confidence"]);
}

#[test]
fn numbers_of_profiles_and_sizes_must_fit() {
    let place = profiled();
    for (words, says) in [
        (
            &["64.rlprof", "128.rlprof"][..],
            "add its size: --size SIZE",
        ),
        (&["64.rlprof", "--size", "1M"], "from two or more profiles"),
        (&["64.rlprof", "--sizes", "1"], "from two or more profiles"),
        (
            &["64.rlprof", "128.rlprof", "--size", "big"],
            "--size big is not a size in bytes",
        ),
        (
            &[
                "64.rlprof",
                "128.rlprof",
                "--size",
                "1M",
                "--like",
                "256.rlprof",
            ],
            "cannot be used with",
        ),
        (
            &[
                "64.rlprof",
                "128.rlprof",
                "--size",
                "1M",
                "--import",
                "f",
                "-o",
                "x",
            ],
            "cannot be used with",
        ),
    ] {
        let words: Vec<&str> = ["place"]
            .iter()
            .chain(words)
            .chain(&["--fast", "1M"])
            .copied()
            .collect();
        place.run(&words).fails(2).says(&[says]);
    }
    let same = [
        "place",
        "64.rlprof",
        "64.rlprof",
        "--size",
        "1M",
        "--fast",
        "1M",
    ];
    place.run(&same).fails(1).says(&["have the same size"]);
}
