//! `reuselens profile`: exact counts of real programs, however they are built and end, and what is
//! written where.

use reuselens::profile::{ObjectKind, Profile};

use crate::common::{
    self, DIMENSIONS, Done, Json, Place, counter, expected, is_offline_page, triples,
};

/// A program that leaves a file behind, so that it shows whether it ran.
const MARKER: &str = r#"
#include <stdio.h>
volatile int cells[100];
int main(void) {
    FILE *file = fopen("it-ran", "w");
    if (file == NULL || fclose(file) != 0) return 1;
    for (int i = 0; i < 100; i++) cells[i] = i;
    return 0;
}
"#;

fn marker() -> Place {
    let place = Place::new();
    place.write("marker.c", MARKER);
    place
        .run(&["cc", "-O1", "marker.c", "-o", "marker"])
        .succeeds();
    place
}

// ---- counts ----

#[test]
fn counts_are_exact_for_one_and_many_threads() {
    let place = counter();
    for threads in ["0", "1", "2", "5"] {
        place.counts_are_exact(&[], &["./count", "300", "40", threads]);
    }
}

#[test]
fn counts_are_exact_without_contexts_and_without_randomisation_turned_off() {
    let place = counter();
    place.counts_are_exact(&["--no-contexts"], &["./count", "30", "40"]);
    place.counts_are_exact(&["--randomise"], &["./count", "30", "40", "2"]);
}

#[test]
fn short_and_long_lived_threads_are_all_counted() {
    let place = Place::new();
    let program = place.build("count/threads.c", &["-pthread"]);
    place.counts_are_exact(&[], &[&program]);
    let (_, json) = place.profile(&["--by", "thread,context"], &[&program]);
    let threads = json.groups("thread");
    assert_eq!(threads.len(), 14, "{threads:?}");
    let main: Vec<_> = threads
        .iter()
        .filter(|group| group.name.contains("(main)"))
        .collect();
    assert!(main.len() == 1 && main[0].accesses < 1000, "{threads:?}");
    let workers = threads
        .iter()
        .filter(|group| !group.name.contains("(main)"));
    assert!(
        workers
            .clone()
            .all(|group| (200_000..200_010).contains(&group.accesses)),
        "{threads:?}"
    );
    assert_eq!(json.accesses("context", "work"), 12 * 200_000);
    assert_eq!(json.accesses("context", "work_and_stay > work"), 200_000);
}

#[test]
fn fork_makes_a_process_without_shared_items() {
    let place = Place::new();
    let program = place.build("count/forking.c", &[]);
    place.counts_are_exact(&[], &[&program]);
    // Items of one cell each: 100 cells in the parent and 100 others in the child.
    let options = ["--by", "object,thread,context", "--granularity", "4"];
    let (_, json) = place.profile(&options, &[&program]);
    let cells = json
        .groups("object")
        .into_iter()
        .find(|group| group.name.starts_with("cells"));
    assert_eq!(cells.unwrap().cold, 200);
    let threads: Vec<u64> = json
        .groups("thread")
        .iter()
        .map(|group| group.accesses)
        .collect();
    assert_eq!(threads.len(), 2);
    assert!((800_000..800_010).contains(&threads[0]), "{threads:?}");
    assert_eq!(threads[1], 400_000);
    // The child goes on within the parent's calls.
    assert_eq!(json.accesses("context", "main > work"), 1_200_000);
}

#[test]
fn early_exit_loses_no_accesses() {
    let place = Place::new();
    let program = place.build("count/exit_middle.c", &[]);
    for how in ["exit", "_exit", "quick_exit", "return"] {
        place.counts_are_exact(&[], &[&program, how]);
        let (_, json) = place.profile(&[], &[&program, how]);
        assert_eq!(json.0["outcome"]["exit"], 3, "{how}");
        let words = ["profile", "-q", "-f", "--", &program, how];
        place.run(&words).ends_with(3);
    }
}

#[test]
fn crash_is_reported_and_loses_no_accesses() {
    let place = Place::new();
    let program = place.build("count/crash.c", &[]);
    let ways = [
        ("null", 11, "SIGSEGV"),
        ("abort", 6, "SIGABRT"),
        ("kill", 9, "SIGKILL"),
    ];
    for (how, signal, name) in ways {
        place.counts_are_exact(&[], &[&program, how]);
        let (_, json) = place.profile(&[], &[&program, how]);
        assert_eq!(json.0["outcome"]["signal"], signal, "{how}");
        let words = ["profile", "-f", "--", &program, how];
        let done = place.run(&words).ends_with(128 + signal);
        done.prints(&[&format!("{name} ended the program")]);
        let words = ["profile", "-qf", "--ignore-status", "--", &program, how];
        let done = place.run(&words).succeeds();
        done.says(&[&format!("was ended by {name}")]);
    }
}

#[test]
fn exceptions_leave_functions_without_confusing_contexts() {
    if !common::has("g++") {
        return;
    }
    let place = Place::new();
    let program = place.build("count/exceptions.cc", &[]);
    place.counts_are_exact(&[], &[&program]);
    for kind in ["loads", "stores"] {
        let (_, json) = place.profile(&["--by", "context", "--kind", kind], &[&program]);
        let names: Vec<String> = json.groups("context").into_iter().map(|g| g.name).collect();
        let after = names.iter().find(|name| name.ends_with("after")).unwrap();
        assert_eq!(after.split(" > ").count(), 2, "called from main: {after}");
        assert_eq!(json.accesses("context", after), 1000);
    }
}

#[test]
fn ranges_count_each_byte_as_an_item_at_granularity_1() {
    let place = Place::new();
    let program = place.build("count/range.c", &[]);
    for (kind, word) in [("loads", "loaded"), ("stores", "stored")] {
        let options = ["--granularity", "1", "--by", "object", "--kind", kind];
        let (done, json) = place.profile(&options, &[&program]);
        let bytes = expected(&done.out, word);
        assert_eq!(bytes.len(), 4, "{}", done.out);
        for (object, count) in bytes {
            assert_eq!(json.object(&object), count, "{object} {word}");
        }
    }
    // The same as lines: 64 for each whole page; bytes 60 to 159 lie in 3 lines, 70 to 169 in 2.
    let (_, json) = place.profile(&["--granularity", "64", "--by", "function"], &[&program]);
    for (function, lines, others) in [
        ("copy", 128, 1),
        ("fill", 64, 1),
        ("slide", 5, 1),
        ("assign", 8, 0),
    ] {
        assert_eq!(
            json.accesses("function", function),
            100 * (lines + others),
            "{function}"
        );
    }
}

#[test]
fn atomic_operations_are_recorded_and_still_atomic() {
    let place = Place::new();
    let program = place.build("count/atomics.c", &["-mcx16", "-pthread", "-latomic"]);
    let (done, json) = place.profile(&["--by", "object"], &[&program]);
    assert!(done.out.contains("atomics right"), "{}", done.out);
    let operations = expected(&done.out, "operations");
    assert_eq!(operations.len(), 6);
    for (object, count) in operations {
        assert_eq!(json.object(&object), count, "{object}");
    }
}

#[test]
fn signal_handlers_are_recorded_beside_what_they_interrupt() {
    let place = Place::new();
    let program = place.build("count/signals.c", &[]);
    place.counts_are_exact(&[], &[&program, "100"]);
    let (_, json) = place.profile(&["--by", "line"], &[&program, "3"]);
    assert_eq!(json.warnings(), [""; 0]);
    assert_eq!(
        json.accesses("line", "(unknown line)"),
        0,
        "accesses of the run time itself"
    );
}

#[test]
fn heap_objects_are_broken_down_by_allocating_call() {
    let place = Place::new();
    let program = place.build("count/heap.c", &[]);
    for kind in ["loads", "stores"] {
        let (done, _) = place.profile(&["--kind", kind], &[&program]);
        let profile = Profile::from_bytes(&place.read("heap.rlprof")).unwrap();
        let of = |function: &str| -> u64 {
            let is_path = |object: usize| {
                let object = &profile.objects[object];
                let mut functions = object.path.iter().map(|frame| frame.function.as_str());
                object.kind == ObjectKind::Heap && functions.any(|name| name == function)
            };
            let cells = profile
                .cells
                .iter()
                .filter(|cell| is_path(cell.object as usize));
            cells.map(|cell| cell.histogram.accesses()).sum()
        };
        let lines = done
            .out
            .lines()
            .filter(|line| line.starts_with("expect heap of "));
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| *word == kind).unwrap();
            assert_eq!(
                of(words[3]),
                words[at + 1].parse::<u64>().unwrap(),
                "{kind} of {}",
                words[3]
            );
        }
    }
}

#[test]
fn a_library_opened_at_run_time_is_found_under_its_own_names() {
    let place = Place::new();
    place.build_library(&[]);
    let program = place.build("count/dl_main.c", &["-ldl"]);
    let command = [program.as_str(), "./libcells.so"];
    place.counts_are_exact(&[], &command);
    let (_, json) = place.profile(&["--by", "function"], &command);
    assert_eq!(json.accesses("function", "library_work"), 300_000);
}

#[test]
fn a_program_without_accesses_is_no_error() {
    let place = Place::new();
    let program = place.build("count/silent.c", &[]);
    let done = place
        .run(&["profile", "--json", "silent.json", "--", &program])
        .succeeds();
    done.prints(&["no access was seen", "reuselens cc"]);
    let json = place.json("silent.json");
    assert_eq!(json.warnings(), ["no-accesses"]);
    assert_eq!((json.number("accesses"), json.number("distinct")), (0, 0));
    assert!(json.counts().is_empty());
    is_offline_page(&place.read("silent.html"));
    place
        .run(&["report", "silent.rlprof"])
        .succeeds()
        .prints(&["no access was seen"]);
}

/// Builds a program from text and returns how it is called.
fn inline(place: &Place, name: &str, text: &str) -> String {
    let file = format!("{name}.c");
    place.write(&file, text);
    place
        .run(&["cc", "-O1", "-pthread", &file, "-o", name])
        .succeeds();
    format!("./{name}")
}

#[test]
fn repeated_exec_is_followed_each_time() {
    let place = Place::new();
    let text = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile int cells[100];
int main(int argc, char **argv) {
    int left = argc > 1 ? atoi(argv[1]) : 6;
    for (int i = 0; i < 100; i++) cells[i] = i;
    if (left == 0) return 5;
    char next[16];
    snprintf(next, sizeof next, "%d", left - 1);
    execl(argv[0], argv[0], next, (char *)0);
    return 1;
}
"#;
    let program = inline(&place, "again", text);
    let (_, json) = place.profile(&["--by", "object,thread"], &[&program]);
    assert_eq!(json.object("cells"), 700, "{:?}", json.groups("object"));
    assert_eq!(
        (json.object("unknown"), json.groups("thread").len()),
        (0, 7)
    );
    assert_eq!(json.0["outcome"]["exit"], 5);
}

#[test]
fn uninstrumented_children_do_not_disturb_the_profile() {
    let place = Place::new();
    let text = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int cells[100];
int main(void) {
    for (int i = 0; i < 100; i++) cells[i] = i;
    if (system("true") != 0) return 2;
    pid_t child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)0);
        _exit(1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    for (int i = 0; i < 100; i++) cells[i] = i;
    return status;
}
"#;
    let program = inline(&place, "starter", text);
    let (_, json) = place.profile(&["--by", "object"], &[&program]);
    assert_eq!(
        (json.object("cells"), &json.0["outcome"]["exit"]),
        (200, &0.into())
    );
    assert_eq!(json.warnings(), [""; 0]);
}

#[test]
fn children_that_outlive_the_program_get_a_warning() {
    let place = Place::new();
    let text = r#"
#include <stdio.h>
#include <unistd.h>
volatile int cells[100];
int main(void) {
    for (int i = 0; i < 100; i++) cells[i] = i;
    if (fork() == 0) {
        for (int i = 0; i < 50; i++) cells[i] = i;
        FILE *file = fopen("child-is-done", "w");
        if (file == NULL || fclose(file) != 0) return 1;
        for (int i = 0; i < 1000 && access("stop", F_OK) != 0; i++) usleep(20000);
        return 0;
    }
    while (access("child-is-done", F_OK) != 0) usleep(1000);
    return 0;
}
"#;
    let program = inline(&place, "parent", text);
    let words = [
        "profile", "-q", "--by", "object", "--json", "x.json", "--", &program,
    ];
    // Not through pipes, which the child would hold open.
    let status = place.command(&words).status().unwrap();
    place.write("stop", "");
    assert!(status.success());
    assert_eq!(place.json("x.json").warnings(), ["still-running"]);
    assert_eq!(place.json("x.json").object("cells"), 150);
}

#[test]
fn two_hundred_threads_at_one_time_are_seen() {
    let place = Place::new();
    let text = r#"
#include <pthread.h>
enum { THREADS = 200 };
volatile int cells[THREADS];
static pthread_barrier_t all;
static void *work(void *cell) {
    volatile int *mine = cell;
    for (int i = 0; i < 100; i++) *mine = i;
    pthread_barrier_wait(&all);
    return NULL;
}
int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)&cells[i]) != 0) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;
    let program = inline(&place, "crowd", text);
    let (_, json) = place.profile(&["--by", "object,thread"], &[&program]);
    assert_eq!(json.0["outcome"]["exit"], 0);
    assert_eq!(
        (json.object("cells"), json.groups("thread").len()),
        (20_000, 201)
    );
    assert_eq!(json.warnings(), [""; 0]);
}

#[test]
fn unmodified_program_is_rewritten() {
    let place = Place::new();
    place.write("text", "some words again and again\n".repeat(2000));
    let done = place.run(&["profile", "--", "gzip", "-k", "text"]);
    let done = done.succeeds();
    done.prints(&["code rewritten while it ran", "Page:    gzip.html"]);
    assert_eq!(
        place.files(),
        ["gzip.html", "gzip.rlprof", "text", "text.gz"]
    );
}

// ---- what cannot be profiled ----

#[test]
fn profile_reports_uninstrumented_program() {
    let place = Place::new();
    for program in ["true", "/bin/true"] {
        let done = place
            .run(&["profile", "--capture", "compiled-in", "--", program])
            .fails(1);
        done.says(&[
            "was not built with reuselens",
            "`reuselens cc`",
            "CC=\"reuselens cc\"",
        ]);
    }
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn profile_fails_for_missing_program() {
    let place = Place::new();
    let done = place.run(&["profile", "--", "./no-such"]).fails(1);
    done.says(&["cannot run './no-such'", "no such program", "./NAME"]);
    place.write("text", "not a program");
    place.run(&["profile", "--", "./text"]).fails(1).says(&[
        "cannot run './text'",
        "it is not executable",
        "chmod +x ./text",
    ]);
    place
        .run(&["profile", "-o", "x", "--", "/"])
        .fails(1)
        .says(&["cannot run '/'", "it is a directory"]);
    // Programs are not looked for in this directory, but one may well have meant what is there.
    place.write("mm.c", "int main(void) { return 0; }");
    place.run(&["profile", "--", "mm.c"]).fails(1).says(&[
        "cannot run 'mm.c'",
        "compile it if it is source code",
        "reuselens cc mm.c -o NAME",
    ]);
    place.write("mm.f90", "end");
    place
        .run(&["profile", "--", "mm.f90"])
        .fails(1)
        .says(&["reuselens fortran mm.f90"]);
    place.build("count/heap.c", &[]);
    place
        .run(&["profile", "--", "heap"])
        .fails(1)
        .says(&["no such program", "./heap"]);
}

#[test]
fn no_program_is_wrong_usage() {
    let place = Place::new();
    place.run(&["profile"]).fails(2).says(&["PROGRAM"]);
    place.run(&["profile", "--"]).fails(2).says(&["PROGRAM"]);
}

#[test]
fn wrong_options_fail_before_the_run() {
    let place = marker();
    for (option, value, hints) in [
        (
            "--granularity",
            "0",
            &["power of two", "--granularity 64"][..],
        ),
        ("--granularity", "3", &["power of two", "--granularity 64"]),
        ("--granularity", "48", &["power of two", "--granularity 64"]),
        ("--granularity", "much", &["--granularity"]),
        ("--engine", "steam", &["counting", "olken"]),
        ("--cache", "L9", &["48K", "2MiB"]),
        ("--by", "colour", &["function, line, object"]),
        ("--by", "way", &["instruction, path"]),
        ("--kind", "some", &["loads"]),
        ("--memory-limit", "lots", &["--memory-limit"]),
    ] {
        let done = place
            .run(&["profile", option, value, "--", "./marker"])
            .fails(2);
        done.says(hints);
    }
    // What contradicts itself does not start the program either.
    for options in [
        &["--engine", "olken", "--sample", "1%"][..],
        &["--engine", "olken", "--max-distance", "9"],
        &["--sharing", "private", "--sample", "1%"],
        &["--sharing", "private", "--engine", "hp-rda"],
    ] {
        let words = [&["profile"], options, &["--", "./marker"]].concat();
        place.run(&words).fails(2).says(&["leave"]);
    }
    let mistyped = ["profile", "--granularty", "64", "--", "./marker"];
    place
        .run(&mistyped)
        .fails(2)
        .says(&["--granularty", "--granularity"]);
    let both = ["profile", "--json", "-", "--csv", "-", "--", "./marker"];
    place.run(&both).fails(2).says(&["standard output"]);
    assert_eq!(place.files(), ["marker", "marker.c"]);
}

// ---- granularity ----

#[test]
fn a_coarser_granularity_has_as_many_accesses_and_fewer_items() {
    let place = counter();
    let sizes = ["1", "8", "64", "4096", "4K"];
    let found = sizes.map(|granularity| {
        let options = ["--granularity", granularity, "--by", "object"];
        let (_, json) = place.profile(&options, &["./count", "300", "20"]);
        let cells = json.object("cells");
        (
            json.number("granularity_bytes"),
            cells,
            json.number("distinct"),
        )
    });
    // Each access is of 4 bytes, aligned.
    assert_eq!(found.map(|one| one.0), [1, 8, 64, 4096, 4096]);
    assert_eq!(
        found.map(|one| one.1),
        [48_000, 12_000, 12_000, 12_000, 12_000]
    );
    assert!(
        found.windows(2).all(|pair| pair[0].2 >= pair[1].2),
        "{found:?}"
    );
    assert!(
        (1200..1300).contains(&found[0].2),
        "300 cells of 4 bytes, and the stack: {found:?}"
    );
    assert_eq!(found[3], found[4]);
}

#[test]
fn filtered_accesses_do_not_count_in_distances() {
    let place = counter();
    let command = ["./count", "100", "10"];
    let (_, all) = place.profile(&[], &command);
    let (_, data) = place.profile(&["--data", "static", "--by", "object"], &command);
    let (_, stack) = place.profile(&["--data", "stack", "--by", "object"], &command);
    let (_, heap) = place.profile(&["--data", "heap"], &command);
    assert_eq!(
        data.number("accesses") + stack.number("accesses") + heap.number("accesses"),
        all.number("accesses")
    );
    assert_eq!(data.object("cells"), 2000);
    assert!(
        stack
            .groups("object")
            .iter()
            .all(|group| group.name.starts_with("stack of "))
    );
    assert_eq!(
        (data.0["data"].as_str(), heap.warnings()),
        (Some("static"), vec!["no-accesses".to_owned()])
    );
}

// ---- the JSON ----

#[test]
fn profile_json_follows_the_schema() {
    let place = counter();
    let program = place.build("matmul/matmul.c", &[]);
    for bins in ["log2", "exact"] {
        for command in [
            &["./count", "500", "20", "2"][..],
            &[&program, "naive", "24"],
        ] {
            let by = DIMENSIONS.join(",");
            let (_, json) = place.profile(&["--bins", bins, "--by", &by], command);
            assert_eq!(json.0["command"].as_array().unwrap().len(), command.len());
            hold_schema(&json, bins);
            hold_curve(&json);
            hold_groups(&json);
        }
    }
}

fn hold_schema(json: &Json, bins: &str) {
    let value = &json.0;
    assert_eq!(value["schema"], "reuselens/1");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&value["engine"], &value["exact"]),
        (&"counting".into(), &true.into())
    );
    assert!(value["error_bound"].is_null() && value["warnings"].is_array());
    assert!(json.number("granularity_bytes").is_power_of_two());
    assert_eq!(value["histogram"]["bins"], bins);
    let (accesses, cold) = (json.number("accesses"), json.number("cold"));
    assert_eq!(json.number("distinct"), cold);
    assert_eq!(value["histogram"]["cold"], cold);
    hold_counts(&json.counts(), bins == "exact");
    let finite: u64 = json.counts().iter().map(|bin| bin[2]).sum();
    assert_eq!(finite + cold, accesses);
    assert!(accesses > 0);
}

/// Bins ascend without overlap; in exact ones there is one distance each.
fn hold_counts(counts: &[[u64; 3]], exact: bool) {
    assert!(
        counts
            .iter()
            .all(|[low, high, count]| low <= high && *count > 0),
        "{counts:?}"
    );
    assert!(
        counts.windows(2).all(|pair| pair[0][1] < pair[1][0]),
        "{counts:?}"
    );
    if exact {
        assert!(
            counts.iter().all(|[low, high, _]| low == high),
            "{counts:?}"
        );
    } else {
        // 0, 1, 2–3, 4–7, …
        let is_power = |[low, high, _]: &[u64; 3]| {
            *low == 0 && *high == 0 || low.is_power_of_two() && *high == 2 * low - 1
        };
        assert!(counts.iter().all(is_power), "{counts:?}");
    }
}

fn hold_curve(json: &Json) {
    let (accesses, cold) = (json.number("accesses"), json.number("cold"));
    let curve = json.0["miss_ratio_curve"].as_array().unwrap();
    let point = |point: &serde_json::Value| {
        let items = point[0].as_u64().unwrap();
        assert_eq!(
            point[1].as_u64().unwrap(),
            items * json.number("granularity_bytes")
        );
        (items, point[2].as_f64().unwrap())
    };
    let points: Vec<(u64, f64)> = curve.iter().map(point).collect();
    assert!(
        points.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "sizes ascend"
    );
    assert!(
        points.windows(2).all(|pair| pair[0].1 >= pair[1].1),
        "a larger LRU cache never loses"
    );
    assert!(points[0].1 <= 1.0);
    let last = points.last().unwrap().1;
    assert!(
        (last - cold as f64 / accesses as f64).abs() < 1e-12,
        "all data fit at the end"
    );
    if json.0["histogram"]["bins"] == "exact" {
        for (items, ratio) in points {
            let hits: u64 = json
                .counts()
                .iter()
                .filter(|bin| bin[0] < items)
                .map(|bin| bin[2])
                .sum();
            let misses = (accesses - hits) as f64 / accesses as f64;
            assert!((misses - ratio).abs() < 1e-12, "{items} items");
        }
    }
}

/// Every access counts for some name of every dimension.
fn hold_groups(json: &Json) {
    for by in DIMENSIONS {
        let groups = json.groups(by);
        let sum = |number: fn(&common::Group) -> u64| groups.iter().map(number).sum::<u64>();
        assert_eq!(sum(|group| group.accesses), json.number("accesses"), "{by}");
        assert_eq!(sum(|group| group.cold), json.number("cold"), "{by}");
        let mut names: Vec<_> = groups.iter().map(|group| &group.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), groups.len(), "{by}: two groups of one name");
    }
    for group in json.0["groups"].as_array().unwrap() {
        let counts = triples(&group["histogram"]);
        let finite: u64 = counts.iter().map(|bin| bin[2]).sum();
        assert_eq!(finite + group["cold"].as_u64().unwrap(), group["accesses"]);
        assert!(counts.windows(2).all(|pair| pair[0][1] < pair[1][0]));
        let (mean, max) = (
            group["mean"].as_f64().unwrap(),
            group["max"].as_u64().unwrap(),
        );
        assert!(mean <= max as f64, "{group}");
        let last = counts.last().map_or(0, |bin| bin[1]);
        assert!(max <= last, "{group}");
    }
}

// ---- outputs ----

#[test]
fn the_profile_and_the_page_are_written_under_the_programs_name() {
    let place = marker();
    let done = place.run(&["profile", "--", "./marker"]).succeeds();
    done.prints(&[
        "accesses to",
        "marker.html",
        "marker.rlprof",
        "Next:",
        "reuselens diff",
    ]);
    let expected = [
        "it-ran",
        "marker",
        "marker.c",
        "marker.html",
        "marker.rlprof",
    ];
    assert_eq!(place.files(), expected);
    is_offline_page(&place.read("marker.html"));
    let sums = String::from_utf8_lossy(&place.read("marker.html")).into_owned();
    assert!(
        sums.contains("marker.c:") && sums.contains("it-ran"),
        "lines, and the source below the current folder"
    );
}

#[test]
fn nothing_is_overwritten_without_force() {
    let place = marker();
    place.run(&["profile", "-q", "--", "./marker"]).succeeds();
    for kept in ["marker.rlprof", "marker.html"] {
        let other = if kept == "marker.html" {
            "marker.rlprof"
        } else {
            "marker.html"
        };
        std::fs::remove_file(place.path(other)).unwrap();
        std::fs::remove_file(place.path("it-ran")).unwrap();
        place.write(kept, "precious");
        let words = ["profile", "-o", "marker", "--", "./marker"];
        let done = place.run(&words).fails(1);
        done.says(&[kept, "exists already", "--force", "-o"]);
        assert_eq!(
            place.files(),
            ["marker", "marker.c", kept],
            "the program did not run"
        );
        assert_eq!(place.text(kept), "precious");
        place
            .run(&["profile", "-q", "--force", "--", "./marker"])
            .succeeds();
        assert!(place.read(kept) != b"precious");
    }
    // Without a name of their own, the outputs of a second run get a number, and of a third the
    // next.
    std::fs::remove_file(place.path("marker.html")).unwrap();
    let before = place.read("marker.rlprof");
    for number in [2, 3] {
        let names = ["rlprof", "html"].map(|ending| format!("marker.{number}.{ending}"));
        let done = place.run(&["profile", "--", "./marker"]).succeeds();
        done.prints(&[&names[0], &names[1]]);
        assert!(names.iter().all(|name| place.path(name).exists()));
    }
    assert!(place.read("marker.rlprof") == before && !place.path("marker.html").exists());
    place.run(&["profile", "-qf", "--", "./marker"]).succeeds();
    assert!(place.path("marker.html").exists() && !place.path("marker.4.rlprof").exists());
    place.write("x.json", "precious");
    std::fs::remove_file(place.path("it-ran")).unwrap();
    let words = [
        "profile", "-o", "other", "--json", "x.json", "--", "./marker",
    ];
    place
        .run(&words)
        .fails(1)
        .says(&["x.json", "exists already"]);
    assert_eq!(place.text("x.json"), "precious");
    assert!(
        !place
            .files()
            .iter()
            .any(|name| name == "it-ran" || name.starts_with("other"))
    );
}

#[test]
fn output_option_takes_another_name_and_folder() {
    let place = marker();
    std::fs::create_dir(place.path("runs")).unwrap();
    place
        .run(&["profile", "-q", "-o", "runs/first", "--", "./marker"])
        .succeeds();
    place
        .run(&["profile", "-q", "-o", "runs/v1.2.rlprof", "--", "./marker"])
        .succeeds();
    for name in [
        "runs/first.rlprof",
        "runs/first.html",
        "runs/v1.2.rlprof",
        "runs/v1.2.html",
    ] {
        assert!(place.path(name).is_file(), "{name}");
    }
    assert_eq!(place.files(), ["it-ran", "marker", "marker.c", "runs"]);
}

#[test]
fn export_to_standard_output_prints_nothing_else() {
    // `count` prints on standard output too.
    let place = counter();
    let words = ["profile", "-f", "--json", "-", "--", "./count", "10", "10"];
    let done = place.run(&words).succeeds();
    let json = Json::parse(&done.out);
    assert_eq!(
        json.number("accesses"),
        json.counts().iter().map(|b| b[2]).sum::<u64>() + json.number("cold")
    );
    done.says(&["expect cells loads 100 stores 100"]);
    let words = [
        "profile", "-f", "--csv", "-", "--by", "object", "--", "./count", "10", "10",
    ];
    let done = place.run(&words).succeeds();
    let mut lines = done.out.lines();
    assert!(
        lines.next().unwrap().starts_with("by,name,accesses,cold,"),
        "{}",
        done.out
    );
    assert!(
        lines.all(|line| line.starts_with("object,")),
        "{}",
        done.out
    );
    assert!(
        done.out.contains("object,cells (count.c),200,"),
        "{}",
        done.out
    );
    assert!(place.path("count.rlprof").is_file() && place.path("count.html").is_file());
}

#[test]
fn quiet_profile_prints_nothing() {
    let place = marker();
    let done = place.run(&["profile", "-q", "--", "./marker"]).succeeds();
    assert_eq!((done.out.as_str(), done.err.as_str()), ("", ""));
    assert!(place.path("marker.rlprof").is_file());
}

#[test]
fn profile_succeeds_when_its_reader_closes_the_pipe() {
    let place = marker();
    let words = ["profile", "-f", "--json", "-", "--", "./marker"];
    let done = place.run_into_closed_pipe(&words).succeeds();
    assert_eq!(done.err, "");
    assert!(place.path("marker.rlprof").is_file());
}

#[test]
fn full_disk_fails_without_partial_files() {
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        return reuselens_testing::skip("no /dev/full");
    }
    let place = marker();
    let words = ["profile", "-q", "--json", "/dev/full", "--", "./marker"];
    place
        .run(&words)
        .fails(1)
        .says(&["/dev/full", "No space left"]);
    // What could be written is whole.
    place.run(&["report", "marker.rlprof"]).succeeds();
    let hidden: Vec<String> = place
        .files()
        .into_iter()
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    let full = std::fs::OpenOptions::new().write(true).open(full).unwrap();
    let mut command = place.command(&["profile", "-f", "--", "./marker"]);
    let done = Done::of(command.stdout(full)).fails(1);
    done.says(&["No space left"]);
}

#[test]
fn unwritable_output_fails_before_the_run() {
    let place = marker();
    for output in ["no/such/place", "marker/below-a-file", "/proc/here"] {
        let done = place
            .run(&["profile", "-o", output, "--", "./marker"])
            .fails(1);
        done.says(&["cannot create", output]);
        let done = place
            .run(&["profile", "--json", output, "--", "./marker"])
            .fails(1);
        done.says(&["cannot create", output]);
    }
    assert_eq!(place.files(), ["marker", "marker.c"]);
}

#[test]
fn the_program_has_its_input_directory_environment_and_arguments() {
    let place = Place::new();
    place.write(
        "echo.c",
        r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
char buffer[100];
int main(int argc, char **argv) {
    size_t n = fread(buffer, 1, sizeof buffer, stdin);
    printf("%d %s %.*s %s %d\n", argc, argv[1], (int)n, buffer, getenv("COLOUR"), access("here", F_OK));
    return 0;
}
"#,
    );
    place.write("here", "");
    place.run(&["cc", "-O1", "echo.c", "-o", "echo"]).succeeds();
    let mut command = place.command(&["profile", "-q", "--", "./echo", "--json", "-q"]);
    let input = std::fs::File::open(place.path("here")).unwrap();
    let done = Done::of(command.env("COLOUR", "red").stdin(input)).succeeds();
    assert_eq!(done.out, "3 --json  red 0\n");
    let done = place
        .run_on("words", &["profile", "-q", "-f", "--", "./echo", "x"])
        .succeeds();
    assert_eq!(done.out, "2 x words (null) 0\n");
    // What follows the program is the program's, with `--` or without.
    let done = place
        .run(&["profile", "-q", "-f", "./echo", "--force", "-q"])
        .succeeds();
    assert_eq!(done.out, "3 --force  (null) 0\n");
}

#[test]
fn equal_runs_give_equal_bytes() {
    let place = counter();
    for name in ["a", "b"] {
        place
            .run(&["profile", "-q", "-o", name, "--", "./count", "300", "30"])
            .succeeds();
    }
    assert!(place.read("a.rlprof") == place.read("b.rlprof"));
    let page = |name: &str| place.text(&format!("{name}.html"));
    assert!(page("a") == page("b"));
}

#[test]
fn memory_limit_stops_the_run_and_keeps_the_counts() {
    let place = counter();
    let limit = ["--memory-limit", "16K", "--granularity", "4"];
    let options = [&limit[..], &["--engine", "counting"]].concat();
    let (done, json) = place.profile(&options, &["./count", "100000", "3"]);
    assert!(
        done.out.contains("right"),
        "the program ran to its end: {}",
        done.out
    );
    assert_eq!(json.warnings(), ["memory-limit"]);
    assert!(json.number("accesses") > 0 && json.number("accesses") < 600_000);
    let reason = "the analysis reached its memory limit";
    assert_eq!(json.0["outcome"]["incomplete"], reason);
    assert!(done.err.contains("the analysis stopped after"), "{done:?}");
    // The program goes on unseen; how it ended is known still.
    let exact = ["--engine", "counting"];
    let words = [&["profile", "-f"], &limit[..], &exact, &["--", "sh", "-c"]].concat();
    let failing = ["./count 100000 3; exit 3"];
    let done = place.run(&[&words[..], &failing].concat()).ends_with(3);
    done.prints(&[
        "incomplete: the analysis reached its memory limit",
        "went on unseen after that, and exited with status 3",
    ]);
    place
        .run(&["profile", "--memory-limit", "0", "--", "./count"])
        .fails(2)
        .says(&["64M"]);
    // However little it may take, a sample goes on to the end.
    let (_, json) = place.profile(&limit, &["./count", "100000", "3"]);
    assert_eq!(json.warnings(), ["sampled"]);
    assert!(
        json.number("accesses") >= 600_000,
        "{:?}",
        json.0["accesses"]
    );
}

// ---- signals ----

/// Writes a file `begun`, and waits for ever.
const WAITS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile int cells[1000];
static void stay(int signal) { (void)signal; }
int main(int count, char **words) {
    (void)words;
    if (count > 1) signal(SIGTERM, stay);
    for (int i = 0; i < 1000; i++) cells[i] = i;
    FILE *file = fopen("begun", "w");
    if (file == NULL || fclose(file) != 0) return 1;
    for (int i = 0; i < 3000; i++) usleep(10000);
    return 0;
}
"#;

/// Starts `reuselens` and waits until its program says that it has begun.
fn begun(place: &Place, options: &[&str], program: &[&str]) -> std::process::Child {
    let _ = std::fs::remove_file(place.path("begun"));
    let words = [&["profile", "-q", "-f"], options, &["--"], program].concat();
    let child = place.command(&words).spawn().unwrap();
    let begin = std::time::Instant::now();
    while !place.path("begun").exists() {
        assert!(begin.elapsed().as_secs() < 60, "it does not begin");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

fn kill(child: &std::process::Child, signal: &str) {
    let words = [signal, &child.id().to_string()];
    let sent = std::process::Command::new("kill")
        .args(words)
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn signals_to_end_reach_the_program_and_leave_a_report() {
    let place = Place::new();
    let program = inline(&place, "waits", WAITS);
    for (signal, number) in [("-TERM", 15), ("-HUP", 1)] {
        if common::is_ignored(number) {
            println!("SIG{} is ignored here, and stays so", &signal[1..]);
            continue;
        }
        for way in ["compiled-in", "rewriting"] {
            let options = ["--capture", way, "--by", "object", "--json", "x.json"];
            let mut child = begun(&place, &options, &[&program]);
            kill(&child, signal);
            let status = child.wait().unwrap();
            assert_eq!(status.code(), Some(128 + number), "{signal} {way}");
            let json = place.json("x.json");
            assert_eq!(json.0["outcome"]["signal"], number, "{way}");
            let accesses = json.object("cells");
            match way {
                "compiled-in" => assert_eq!(accesses, 1000),
                // It sees what was compiled in too, and the last of it is lost when a program is
                // killed.
                _ => assert!((1000..=2000).contains(&accesses), "{accesses}"),
            }
        }
    }
    let mut child = begun(&place, &["--ignore-status"], &[&program]);
    kill(&child, "-TERM");
    assert!(child.wait().unwrap().success());
    // One who stays is killed, when that is asked for once more.
    let mut child = begun(&place, &["--json", "x.json"], &[&program, "stay"]);
    kill(&child, "-TERM");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none(), "the program stays");
    kill(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
    assert_eq!(place.json("x.json").0["outcome"]["signal"], 9);
    let files = place.files();
    let ours = [
        "begun",
        "waits",
        "waits.c",
        "waits.html",
        "waits.rlprof",
        "x.json",
    ];
    assert_eq!(files, ours, "no unfinished file stays");
}

#[test]
fn program_inherits_only_ignored_signals() {
    let place = Place::new();
    let masks = |setup: &str, way: &str| {
        let tool = env!("CARGO_BIN_EXE_reuselens");
        let tells = "grep -E SigIgn: /proc/self/status";
        let script = format!(
            "{setup} {tells} > plain; {tool} profile -q -f --capture {way} -- {tells} > seen"
        );
        let script = format!("{script}; {setup} true");
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(place.path(""))
            .stderr(std::process::Stdio::null())
            .status();
        assert!(status.is_ok());
        // The C library has those from 32 on for itself.
        let mask = |name: &str| {
            let text = place.text(name);
            let digits = text.strip_prefix("SigIgn:").unwrap().trim();
            u64::from_str_radix(digits, 16).unwrap() as u32 & !(1 << 31)
        };
        (mask("plain"), mask("seen"))
    };
    for setup in [
        "",
        "trap '' INT;",
        "trap '' PIPE;",
        "trap '' HUP TERM QUIT PIPE;",
    ] {
        for way in ["rewriting", "compiled-in"] {
            let (plain, seen) = masks(setup, way);
            assert_eq!(plain, seen, "{setup} {way}");
        }
    }
}

/// Overloads that differ in their types only are no recursion, though debug information of
/// functions of a file gives them one name.
#[test]
fn contexts_separate_functions_of_one_name() {
    let place = Place::new();
    place.write(
        "over.cc",
        "struct A {};\nstruct B {};\nvolatile int cells[64];\nvolatile int deep[64];\n__attribute__((noinline)) static void visit(B) {\n    \
         for (int i = 0; i < 64; i++) deep[i] = i;\n}\n__attribute__((noinline)) static void visit(A) {\n    visit(B());\n    \
         for (int i = 0; i < 64; i++) cells[i] = i;\n}\n__attribute__((noinline)) static void down(int n) {\n    cells[n] = n;\n    \
         if (n > 0) down(n - 1);\n    deep[n] = n;\n}\nint main() {\n    for (int round = 0; round < 10; round++) {\n        visit(A());\n        \
         down(20);\n    }\n}\n",
    );
    place
        .run(&[
            "c++",
            "-O1",
            "-fno-optimize-sibling-calls",
            "over.cc",
            "-o",
            "over",
        ])
        .succeeds();
    let (_, json) = place.profile(&["--by", "context"], &["./over"]);
    let groups = json.groups("context");
    let mine: Vec<(&str, u64)> = groups
        .iter()
        .filter(|group| group.accesses >= 400)
        .map(|group| (group.name.as_str(), group.accesses))
        .collect();
    let depth = |(name, accesses): &(&str, u64)| (name.split(" > ").count(), *accesses);
    let mut found: Vec<(usize, u64)> = mine.iter().map(depth).collect();
    found.sort_unstable();
    assert_eq!(found, [(2, 420), (2, 640), (3, 640)], "{mine:?}");
}

/// The first call of a library's function goes through code without a symbol of its own.
#[test]
fn stubs_have_the_names_that_disassemblers_give() {
    let place = Place::new();
    let built = std::process::Command::new("gcc")
        .args(["-O1", "-g", "-fno-builtin", "-pthread", "-Wl,-z,lazy", "-o"])
        .args([
            place.path("handed").as_os_str(),
            common::source("count/handed.c").as_ref(),
        ])
        .status();
    assert!(built.unwrap().success());
    let (_, json) = place.profile(&["--by", "context"], &["./handed"]);
    let contexts = json.groups("context");
    let mut names = contexts.iter().map(|group| group.name.as_str());
    assert!(
        names.any(|name| name.ends_with("make > memset@plt")),
        "{contexts:?}"
    );
}

/// A run-time system that makes code says what it is called, for perf. Each of a thousand calls
/// loads a number and its return address.
#[test]
fn generated_code_has_the_names_that_the_program_writes_down() {
    let place = Place::new();
    place.build("count/generated.c", &["-O1"]);
    let map = |done: &Done| done.out.split(' ').next().unwrap().to_owned();
    let rewriting = ["--capture", "rewriting", "--by", "function,line"];
    let (done, json) = place.profile(&rewriting, &["./generated"]);
    let _ = std::fs::remove_file(map(&done));
    assert_eq!(json.accesses("function", "fetch"), 2000);
    let lines = json.groups("line").into_iter();
    let lines = lines.filter(|group| group.name.starts_with("b.js:12"));
    assert_eq!(lines.map(|group| group.accesses).sum::<u64>(), 2000);
    // A recorded run says which contents the file had.
    let record = [
        "record",
        "-q",
        "--capture",
        "rewriting",
        "-o",
        "t.rltrace",
        "--",
        "./generated",
    ];
    let map = map(&place.run(&record).succeeds());
    let analyze = || {
        let words = [
            "analyze",
            "-q",
            "-f",
            "t.rltrace",
            "-o",
            "t",
            "--by",
            "function",
            "--json",
        ];
        place.run(&[&words[..], &["t.json"]].concat()).succeeds();
        place.json("t.json")
    };
    assert_eq!(analyze().accesses("function", "fetch"), 2000);
    std::fs::write(&map, "1 2 something else\n").unwrap();
    let other = analyze();
    let _ = std::fs::remove_file(&map);
    assert_eq!(other.accesses("function", "fetch"), 0);
    assert!(other.warnings().contains(&"module-not-read".to_owned()));
    let groups = other.groups("function");
    let unnamed = groups.iter().find(|group| group.accesses == 2000);
    assert!(
        unnamed.is_some_and(|group| group.name.contains("generated code")),
        "{groups:?}"
    );
}
