//! `profile --placement` and `analyze --placement`: what is recorded for placing data.

use std::process::Command;

use serde_json::Value;

use crate::common::{Json, Place};
use crate::run::gcc;

/// Phases by functions: one accesses all of a block, another a quarter, twice, and a third, which
/// is inlined, a static array.
const PHASES: &str = "
#include <stdlib.h>
enum { N = 1 << 17, QUARTER = N / 4 };
static double table[QUARTER];
__attribute__((noinline)) static void fill(double *block) {
  for (int i = 0; i < N; i++) block[i] = i;
}
__attribute__((noinline)) static void quarter(double *block) {
  for (int i = 0; i < QUARTER; i++) table[i] += block[i];
}
static inline __attribute__((always_inline)) double total(void) {
  double sum = 0;
  for (int i = 0; i < QUARTER; i++) sum += table[i];
  return sum;
}
int main(void) {
  double *block = malloc(sizeof(double) * N);
  fill(block);
  for (int round = 0; round < 2; round++) quarter(block);
  free(block);
  return total() < 0;
}
";
const N: u64 = 1 << 17;
const LINES: u64 = N * 8 / 64;

fn built() -> Place {
    let place = Place::new();
    place.write("phases.c", PHASES);
    let words = ["cc", "-g", "-O1", "phases.c", "-o", "phases"];
    place.run(&words).succeeds();
    place
}

const OPTIONS: [&str; 7] = [
    "-q",
    "--granularity",
    "64",
    "--by",
    "object,context",
    "--json",
    "p.json",
];

fn profiled(place: &Place, more: &[&str]) -> Json {
    let words = [
        &["profile", "-o", "p"],
        &OPTIONS[..],
        more,
        &["--", "./phases"],
    ]
    .concat();
    place.run(&words).succeeds();
    place.json("p.json")
}

fn group(json: &Json, name: &str) -> Value {
    let groups = json.0["groups"].as_array().unwrap();
    let found = groups.iter().find(|group| group["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name}: {groups:#?}"))
        .clone()
}

#[test]
fn a_program_has_chunks_lifetimes_and_footprints() {
    let place = built();
    let json = profiled(&place, &["--placement"]);
    let end = json.number("references");
    let chunks = |name: &str| -> Vec<Vec<u64>> {
        serde_json::from_value(group(&json, name)["chunks"].clone()).unwrap()
    };
    let heap = chunks("heap from main (phases.c:17)");
    let expected: Vec<[u64; 3]> = (0..16)
        .map(|chunk| {
            let times = if chunk < 4 { 3 } else { 1 };
            [chunk << 16, (chunk + 1) << 16, 8192 * times]
        })
        .collect();
    let found: Vec<&[u64]> = heap.iter().map(|chunk| &chunk[..3]).collect();
    assert_eq!(found, expected);
    for chunk in &heap {
        let [.., bytes, first, last] = chunk[..] else {
            panic!("{chunk:?}")
        };
        assert_eq!(bytes, 1 << 16);
        // The block is freed before the last loop.
        assert!(
            first < 1000 && last > first + N && last <= end - N / 4,
            "{first} {last} {end}"
        );
    }
    let table = chunks("table (phases.c)");
    assert_eq!(table.len(), 4);
    for chunk in &table {
        assert_eq!((chunk[2], chunk[4], chunk[5]), (8192 * 5, 0, end));
    }
    // Neither array need begin with an item.
    let visits = |name: &str| {
        let group = group(&json, name);
        let number = |field: &str| group[field].as_u64();
        let (own, below) = (number("exclusive_footprint"), number("footprint"));
        (number("entries"), own.unwrap(), below.unwrap())
    };
    let (entries, own, below) = visits("main > fill");
    assert_eq!((entries, own), (Some(1), below));
    assert!((LINES..LINES + 9).contains(&own), "{own}");
    let (entries, own, below) = visits("main > quarter");
    assert_eq!((entries, own), (Some(2), below));
    assert!((LINES / 2..LINES / 2 + 9).contains(&own), "{own}");
    // How often code was entered that is inlined is not known.
    let (entries, own, _) = visits("main > total");
    assert_eq!(entries, None);
    assert!((LINES / 4..LINES / 4 + 9).contains(&own), "{own}");
}

#[test]
fn reports_show_chunks_as_one_object_and_contexts_with_footprints() {
    let place = built();
    profiled(&place, &["--placement=128K"]);
    let words = [
        "report",
        "p.rlprof",
        "--by",
        "object,context",
        "--cache",
        "32K",
    ];
    let done = place.run(&words).succeeds();
    let title = "Accesses and footprint of calling contexts";
    let (tables, footprints) = done.out.split_once(title).unwrap();
    let rows = tables.lines().filter(|row| row.contains("heap from main"));
    assert_eq!(rows.count(), 1, "{tables}");
    let fill = footprints.lines().find(|row| row.ends_with("main > fill"));
    assert!(fill.unwrap().contains("1 MiB"), "{footprints}");
    let json = place.json("p.json");
    let chunks = group(&json, "heap from main (phases.c:17)");
    assert_eq!(chunks["chunks"].as_array().unwrap().len(), 8);
}

#[test]
fn ordinary_profiles_and_placement_data_have_the_same_counts() {
    let place = built();
    let (ordinary, placement) = (
        profiled(&place, &[]),
        profiled(&place, &["--placement", "-f"]),
    );
    for field in ["histogram", "references", "accesses", "distinct"] {
        assert_eq!(ordinary.0[field], placement.0[field], "{field}");
    }
    for by in ["object", "context"] {
        let groups = |json: &Json| -> Vec<Value> {
            let groups = json.0["groups"].as_array().unwrap().iter();
            let groups = groups.filter(|group| group["by"] == by).cloned();
            let mut groups: Vec<Value> = groups.collect();
            for group in &mut groups {
                let fields = group.as_object_mut().unwrap();
                let added = ["chunks", "entries", "footprint", "exclusive_footprint"];
                added.iter().for_each(|field| drop(fields.remove(*field)));
            }
            groups
        };
        assert_eq!(groups(&ordinary), groups(&placement));
    }
}

#[test]
fn analysis_of_a_recorded_trace_has_the_data_for_any_number_of_threads() {
    let place = built();
    let words = ["record", "-q", "-o", "t.rltrace", "--", "./phases"];
    place.run(&words).succeeds();
    let mut profiles = Vec::new();
    for threads in ["1", "2"] {
        let words = ["analyze", "t.rltrace", "-q", "-f", "-o", "t", "--placement"];
        place
            .run(&[&words[..], &["--threads", threads]].concat())
            .succeeds();
        profiles.push(place.read("t.rlprof"));
    }
    assert!(profiles[0] == profiles[1]);
}

#[test]
fn placement_data_that_cannot_be_is_refused() {
    let place = Place::new();
    place.write_items("ids.u64", 0..9);
    let refused = |words: &[&str], text: &str| {
        place.run(words).fails(2).says(&[text]);
    };
    refused(
        &["analyze", "ids.u64", "--format", "u64", "--placement"],
        "a trace of ids, which have no objects in memory",
    );
    refused(
        &["analyze", "ids.u64", "--placement=100"],
        "a chunk has at least a page of 4096 bytes",
    );
    refused(
        &["profile", "--placement", "--elements", "--", "true"],
        "--placement and --elements do not go together",
    );
    refused(
        &["shard", "1/2", "ids.u64", "--format", "u64", "--placement"],
        "--placement and shard do not go together",
    );
}

/// Two arrays of 4 MiB that block operations write and copy: all bytes are accessed equally often.
const COPIES: &str = r#"
#include <stdlib.h>
int main(void) {
  size_t n = 4 << 20;
  char *a = malloc(n), *b = malloc(n);
  for (int round = 0; round < 4; round++) {
    char *to = a;
    size_t left = n;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(round) : "memory");
    char *from = a;
    to = b, left = n;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(left) : : "memory");
  }
  return a[7] != 3 || b[n - 1] != 3;
}
"#;

#[test]
fn block_operations_count_for_the_chunks_that_they_access() {
    let place = Place::new();
    place.write("copies.c", COPIES);
    gcc(&place, &["-g", "-O1", "copies.c", "-o", "copies"]);
    let words = "profile --placement --granularity 64 -q -o c -- ./copies";
    place.run(&words.split(' ').collect::<Vec<_>>()).succeeds();
    let words = [
        "--fast",
        "5M",
        "--cache",
        "256K",
        "-q",
        "--json",
        "plan.json",
    ];
    place
        .run(&[&["place", "c.rlprof"][..], &words].concat())
        .succeeds();
    let plan = Json::parse(&place.text("plan.json"));
    let chunks = plan.0["objects"].as_array().unwrap();
    let heap = chunks
        .iter()
        .filter(|it| it["name"].as_str().unwrap().starts_with("heap"));
    // Each is written 4 times, and `a` is read 4 times more: F is 8 / 64 and 4 / 64.
    let (mut bytes, mut all) = (0, 0);
    for chunk in heap {
        let f = chunk["f"].as_f64().unwrap();
        assert!((0.06..0.13).contains(&f), "{chunk}");
        bytes += chunk["bytes"].as_u64().unwrap();
        all += chunk["accesses"].as_u64().unwrap();
    }
    // A block begins 16 bytes after the border of a line, so an operation covers one line more.
    let lines = (4 << 20) / 64 + 1;
    assert_eq!((bytes, all), (8 << 20, 12 * lines + 2));
}

/// Programs that allocate two arrays by one statement, of which one is accessed 20 times as often:
/// the compiler, the file, its text, and the ends of the names of both objects.
const STATEMENTS: [(&str, &str, &str, [&str; 2]); 4] = [
    (
        "gfortran",
        "two.f90",
        "program two
  integer, parameter :: n = 100000
  real(8), allocatable :: hot(:), cold(:)
  integer :: i, r
  allocate(hot(n), cold(n))
  do i = 1, n
    hot(i) = i; cold(i) = i
  end do
  do r = 1, 19
    do i = 1, n
      hot(i) = hot(i) * 3
    end do
  end do
  print *, hot(5) + cold(n / 2)
end program
",
        ["(hot)", "(cold)"],
    ),
    (
        "g++",
        "two.cc",
        "#include <vector>
int main() {
  volatile int n = 100000;
  std::vector<double> cold(n), hot(n);
  for (int i = 0; i < n; i++) { hot[i] = i; cold[i] = i; }
  for (int r = 0; r < 19; r++) for (int i = 0; i < n; i++) hot[i] *= 3;
  return hot[5] + cold[n / 2] < 0;
}
",
        ["(hot)", "(cold)"],
    ),
    (
        "gcc",
        "line.c",
        "#include <stdlib.h>
int main(void) {
  int n = 100000;
  double *cold = malloc(n * sizeof(double)), *hot = malloc(n * 8);
  for (int i = 0; i < n; i++) { hot[i] = i; cold[i] = i; }
  for (int r = 0; r < 19; r++) for (int i = 0; i < n; i++) hot[i] *= 3;
  return hot[5] + cold[n / 2] < 0;
}
",
        ["(hot)", "(cold)"],
    ),
    (
        "gcc",
        "macro.c",
        "#include <stdlib.h>
#define BOTH(a, b, n) do { a = malloc((n) * 8); b = malloc((n) * 8); } while (0)
int main(void) {
  int n = 100000; double *cold, *hot;
  BOTH(cold, hot, n);
  for (int i = 0; i < n; i++) { hot[i] = i; cold[i] = i; }
  for (int r = 0; r < 19; r++) for (int i = 0; i < n; i++) hot[i] *= 3;
  return hot[5] + cold[n / 2] < 0;
}
",
        ["#2", "#1"],
    ),
];

#[test]
fn arrays_of_one_statement_are_placed_apart() {
    for (compiler, file, text, ends) in STATEMENTS {
        if !reuselens_testing::has(compiler) {
            continue;
        }
        let place = Place::new();
        place.write(file, text);
        for level in ["-O0", "-O2"] {
            let built = Command::new(compiler)
                .args(["-g", level, file, "-o", "two"])
                .current_dir(place.path(""))
                .status();
            assert!(built.unwrap().success(), "{file}");
            let words = [
                "profile",
                "--placement",
                "-q",
                "-f",
                "-o",
                "t",
                "--",
                "./two",
            ];
            place.run(&words).succeeds();
            let words = [
                "--fast",
                "800K",
                "--cache",
                "32K",
                "--objective",
                "f",
                "-q",
                "-f",
                "--json",
                "t.json",
            ];
            let more = ["-o", "t.rlplace"];
            place
                .run(&[&["place", "t.rlprof"][..], &words, &more].concat())
                .succeeds();
            let plan = Json::parse(&place.text("t.json"));
            let objects = plan.0["objects"].as_array().unwrap();
            // Of `hot` all, and of the other what room is left; chunks are objects of their own.
            let bytes = |end: &str, tier: Option<&str>| -> u64 {
                let is_it = |object: &&Value| {
                    let name = object["name"].as_str().unwrap();
                    let name = name.split(" [").next().unwrap();
                    name.ends_with(end) && tier.is_none_or(|tier| object["tier"] == tier)
                };
                let found = objects.iter().filter(is_it);
                found.map(|object| object["bytes"].as_u64().unwrap()).sum()
            };
            let [hot, cold] = ends;
            assert_eq!(
                bytes(hot, Some("fast")),
                800_000,
                "{file} {level}: {objects:?}"
            );
            assert_eq!(bytes(cold, None), 800_000, "{file} {level}: {objects:?}");
        }
    }
}
