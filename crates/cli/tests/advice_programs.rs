//! Each rule of `reuselens advise` on a program of `programs/advice` that has the fault, and on one
//! with the remedy.

use std::process::Command;

use reuselens_testing::has;
use serde_json::Value;

use crate::common::{Done, Json, Place, source};

/// How a program is built.
type Build<'a> = &'a [&'a str];

const GCC_O1: Build<'_> = &["gcc", "-O1"];
const GCC_O2: Build<'_> = &["gcc", "-O2"];
const CLANG_O2: Build<'_> = &["clang-19", "-O2"];

/// Builds a program of a folder of `programs`, and profiles it with these options; its findings,
/// the costliest first.
fn findings(
    place: &Place,
    build: Build<'_>,
    path: &str,
    options: &[&str],
    arguments: &[&str],
) -> Vec<Value> {
    let name = path.rsplit('/').next().unwrap();
    let mut compiler = Command::new(build[0]);
    compiler.args(&build[1..]);
    compiler.args(["-g", "-pthread", "-o", name]);
    compiler.arg(source(&format!("{path}.c")));
    Done::of(compiler.current_dir(place.path(""))).succeeds();
    advice(place, name, options, &[&format!("./{name}")], arguments)
}

/// What `advise` finds in a profile of this program.
fn advice(
    place: &Place,
    name: &str,
    options: &[&str],
    program: &[&str],
    arguments: &[&str],
) -> Vec<Value> {
    let mut words = vec!["profile", "-q", "-o", name];
    words.extend(options);
    words.push("--");
    words.extend(program);
    words.extend(arguments);
    place.run(&words).succeeds();
    let profile = format!("{name}.rlprof");
    let done = place.run(&["advise", &profile, "--json", "-"]).succeeds();
    Json::parse(&done.out).0["findings"]
        .as_array()
        .unwrap()
        .clone()
}

/// The rule is first for the program with the fault, at a line of it, and no finding of the other.
#[track_caller]
fn is_found(rule: &str, programs: [&str; 2], options: &[&str]) -> Value {
    is_found_with(rule, GCC_O1, programs, options, &[])
}

#[track_caller]
fn is_found_with(
    rule: &str,
    build: Build<'_>,
    [fault, remedy]: [&str; 2],
    options: &[&str],
    arguments: &[&str],
) -> Value {
    let place = Place::new();
    let path = |name: &str| format!("advice/{name}");
    let found = findings(&place, build, &path(fault), options, arguments);
    // What fits no cache is a matter of the machine's larger ones.
    let is_of_machine = |finding: &Value| finding["rule"] == "fits-no-cache";
    let mut others = found
        .iter()
        .filter(|found| found["rule"] == rule || !is_of_machine(found));
    let first = others.next();
    let first = first.unwrap_or_else(|| panic!("nothing in {fault}"));
    assert_eq!(first["rule"], rule, "{found:#?}");
    let source = first["source"].as_str().unwrap_or_default();
    assert!(source.contains(&format!("{fault}.c:")), "{first:#}");
    let found = findings(&place, build, &path(remedy), options, arguments);
    let still = found.iter().find(|finding| finding["rule"] == rule);
    assert!(still.is_none(), "{still:#?}");
    first.clone()
}

/// The rule is found at each of the ways to build, and its remedy names these words.
#[track_caller]
fn is_found_however_built(rule: &str, builds: &[Build<'_>], programs: [&str; 2], words: &[&str]) {
    for build in builds {
        if build[0] != "gcc" && !has(build[0]) {
            continue;
        }
        let finding = is_found_with(rule, build, programs, &WHY, &[]);
        let remedy = finding["remedy"].as_str().unwrap();
        for word in words {
            assert!(remedy.contains(word), "{build:?}: {remedy}");
        }
    }
}

/// Why accesses miss in a cache of 32 KiB.
const WHY: [&str; 3] = ["--why=32K", "--granularity", "64"];

#[test]
fn array_used_by_one_field_is_for_a_structure_of_arrays() {
    let builds = [GCC_O1, GCC_O2, CLANG_O2];
    let words = ["`mass` of Particle", "holds 8 of them"];
    is_found_however_built("array-of-structures", &builds, ["aos", "soa"], &words);
}

#[test]
fn text_beside_two_hot_fields_is_to_be_moved() {
    let builds = [GCC_O1, GCC_O2, CLANG_O2];
    let words = ["Move `title` of Entry (48 bytes)", "`key` and `value`"];
    is_found_however_built("mixed-fields", &builds, ["mixed", "split"], &words);
}

/// Code of clang at `-O2` has other loops than its source.
const WITH_LOOPS: [Build<'_>; 2] = [GCC_O1, GCC_O2];

#[test]
fn loop_down_a_column_is_to_be_exchanged() {
    let words = ["loop at columns.c:1", "lines of table (columns.c)"];
    is_found_however_built("loop-order", &WITH_LOOPS, ["columns", "rows"], &words);
}

#[test]
fn sweeps_over_a_long_vector_are_for_tiles() {
    let words = ["tiles of vector (sweeps.c)", "loop at sweeps.c:1"];
    is_found_however_built("blocking", &WITH_LOOPS, ["sweeps", "tiles"], &words);
}

#[test]
fn two_passes_over_a_long_array_are_for_one_loop() {
    let words = ["passes.c:12 and passes.c:14", "output (passes.c)"];
    is_found_however_built("fusion", &WITH_LOOPS, ["passes", "fused"], &words);
}

#[test]
fn true_has_nothing_to_change() {
    let place = Place::new();
    for program in ["/bin/true", "true"] {
        let found = advice(
            &place,
            "true",
            &[&WHY[..], &["-f"]].concat(),
            &[program],
            &[],
        );
        assert_eq!(found, [Value::Null; 0]);
    }
}

#[test]
fn tiled_matrix_product_has_nothing_to_change() {
    let place = Place::new();
    // Rows of a power of two would use a few sets, in tiles too.
    let naive = findings(&place, GCC_O2, "matmul/matmul", &WHY, &["naive", "120"]);
    assert_eq!(naive[0]["object"], "b (matmul.c)", "{naive:#?}");
    let options = [&WHY[..], &["-f"]].concat();
    let tiled = findings(&place, GCC_O2, "matmul/matmul", &options, &["tiled", "120"]);
    assert_eq!(tiled, [Value::Null; 0]);
}

/// A program of some nine hundred lines, all of whose parts are laid out well.
#[test]
fn well_laid_out_program_has_nothing_to_change() {
    for build in [GCC_O1, GCC_O2] {
        let place = Place::new();
        let found = findings(&place, build, "advice/workshop", &WHY, &[]);
        assert_eq!(found, [Value::Null; 0], "{build:?}");
    }
}

#[test]
fn streamed_results_evict_a_table() {
    let finding = is_found("streaming", ["stream", "collect"], &WHY);
    let remedy = finding["remedy"].as_str().unwrap();
    assert!(remedy.contains("Write output"), "{remedy}");
}

#[test]
fn counters_of_threads_share_a_line() {
    let finding = is_found("false-sharing", ["counters", "padded_counters"], &WHY);
    assert!(
        finding["object"].as_str().unwrap().contains("counters"),
        "{finding:#}"
    );
}

/// Rows of 4 KiB: the program is laid out for a cache whose sets repeat after so many bytes.
#[test]
fn columns_of_long_rows_use_one_set() {
    let machine = reuselens::this_machine();
    let first = machine.caches.first();
    if first.is_none_or(|cache| u64::from(cache.sets) * cache.line.0 != 4096) {
        reuselens_testing::skip("the first cache's sets do not repeat after 4 KiB");
        return;
    }
    is_found("set-conflicts", ["strides", "padded_rows"], &WHY);
}

#[test]
fn list_of_scattered_nodes_is_for_a_pool() {
    is_found("pointer-chasing", ["scattered", "pool"], &WHY);
}

#[test]
fn large_blocks_are_allocated_for_each_step() {
    if reuselens::this_machine().caches.is_empty() {
        reuselens_testing::skip("the rule needs the sizes of this machine's caches");
        return;
    }
    let options = [&WHY[..], &["--placement"]].concat();
    let place = Place::new();
    let rules = |name| {
        let path = format!("advice/{name}");
        let found = findings(&place, GCC_O1, &path, &options, &[]);
        let rules = found.iter().map(|finding| finding["rule"].clone());
        rules.collect::<Vec<Value>>()
    };
    let rule = Value::from("short-lived-allocations");
    assert!(rules("buffers").contains(&rule));
    assert!(!rules("buffer").contains(&rule));
}

#[test]
fn more_pages_than_the_tlb_holds_are_for_huge_pages() {
    is_found(
        "huge-pages",
        ["pages", "few_pages"],
        &["--granularity", "4K"],
    );
}

#[test]
fn data_beyond_the_last_cache_is_found_without_causes() {
    let machine = reuselens::this_machine();
    let Some(last) = machine.data_caches().last().map(|cache| cache.size.get()) else {
        return;
    };
    let size = (last + last / 2) >> 10;
    let options = ["--granularity", "64"];
    is_found_with(
        "fits-no-cache",
        GCC_O1,
        ["large", "parts"],
        &options,
        &[&size.to_string()],
    );
}
