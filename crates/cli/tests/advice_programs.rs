//! Each rule of `reuselens advise` on a program of `programs/advice` that has the fault, and on one
//! with the remedy.

use std::process::Command;

use serde_json::Value;

use crate::common::{Done, Json, Place, source};

/// Builds a program and profiles it with these options; its findings, the costliest first.
fn findings(place: &Place, name: &str, options: &[&str], arguments: &[&str]) -> Vec<Value> {
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g", "-pthread", "-o", name]);
    gcc.arg(source(&format!("advice/{name}.c")));
    Done::of(gcc.current_dir(place.path(""))).succeeds();
    let program = format!("./{name}");
    let mut words = vec!["profile", "-q", "-o", name];
    words.extend(options);
    words.extend(["--", &program]);
    words.extend(arguments);
    place.run(&words).succeeds();
    let profile = format!("{name}.rlprof");
    let done = place.run(&["advise", &profile, "--json", "-"]).succeeds();
    Json::parse(&done.out).0["findings"]
        .as_array()
        .unwrap()
        .clone()
}

/// The rule is first for the program with the fault, with this object and line; and no finding of
/// the other.
#[track_caller]
fn is_found(rule: &str, [fault, remedy]: [&str; 2], options: &[&str]) -> Value {
    is_found_with(rule, [fault, remedy], options, &[])
}

#[track_caller]
fn is_found_with(
    rule: &str,
    [fault, remedy]: [&str; 2],
    options: &[&str],
    arguments: &[&str],
) -> Value {
    let place = Place::new();
    let found = findings(&place, fault, options, arguments);
    let first = found
        .first()
        .unwrap_or_else(|| panic!("nothing in {fault}"));
    assert_eq!(first["rule"], rule, "{found:#?}");
    let source = first["source"].as_str().unwrap_or_default();
    assert!(source.contains(&format!("{fault}.c:")), "{first:#}");
    let found = findings(&place, remedy, options, arguments);
    let still = found.iter().find(|finding| finding["rule"] == rule);
    assert!(still.is_none(), "{still:#?}");
    first.clone()
}

/// Why accesses miss in a cache of 32 KiB.
const WHY: [&str; 3] = ["--why=32K", "--granularity", "64"];

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

#[test]
fn columns_of_long_rows_use_one_set() {
    is_found("set-conflicts", ["strides", "padded_rows"], &WHY);
}

#[test]
fn list_of_scattered_nodes_is_for_a_pool() {
    is_found("pointer-chasing", ["scattered", "pool"], &WHY);
}

#[test]
fn large_blocks_are_allocated_for_each_step() {
    let options = [&WHY[..], &["--placement"]].concat();
    let place = Place::new();
    let rules = |name| {
        let found = findings(&place, name, &options, &[]);
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
        ["large", "parts"],
        &options,
        &[&size.to_string()],
    );
}
