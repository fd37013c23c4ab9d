//! What of a run is recorded: regions, functions, the start skipped, bursts, limits; for
//! compiled-in and for rewriting capture alike.

use std::path::Path;
use std::process::Command;

use crate::common::{Done, Json, Place, has, source};

/// The array, and how often it is accessed in the whole run.
const ARRAYS: [(&str, u64); 4] = [
    ("outside", 4021),
    ("outer", 1201),
    ("inner", 601),
    ("worked", 801),
];

/// A program in `programs/count`, compiled as it is, with our headers.
fn plain(place: &Place, path: &str, flags: &[&str]) {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/include");
    let name = Path::new(path).file_stem().unwrap();
    let done = Command::new("gcc")
        .args(["-O1", "-g", "-I"])
        .arg(headers)
        .arg(source(path))
        .arg("-o")
        .arg(place.path(&format!("plain-{}", name.to_str().unwrap())))
        .args(flags)
        .status();
    assert!(done.unwrap().success());
}

fn programs() -> Place {
    let place = Place::new();
    place.build("count/regions.c", &["-g"]);
    plain(&place, "count/regions.c", &[]);
    place
}

/// The same program for both ways of capture.
const BOTH: [&str; 2] = ["./regions", "./plain-regions"];

fn profiled(place: &Place, program: &str, options: &[&str]) -> (Done, Json) {
    let words = [&["--by", "object", "--granularity", "8"], options].concat();
    place.profile(&words, &[program])
}

fn counts(json: &Json) -> Vec<u64> {
    ARRAYS.iter().map(|(name, _)| json.object(name)).collect()
}

#[test]
fn regions_and_functions_limit_the_recording() {
    let place = programs();
    let all: Vec<u64> = ARRAYS.iter().map(|(_, count)| *count).collect();
    for program in BOTH {
        let (whole, json) = profiled(&place, program, &[]);
        assert_eq!(counts(&json), all);
        for (options, expected) in [
            (&["--regions"][..], [0, 1200, 600, 0]),
            (&["--region", "inner"], [0, 0, 600, 0]),
            (&["--region", "outer"], [0, 1200, 500, 0]),
            (&["--function", "work"], [0, 0, 0, 800]),
            (&["--function", "touch"], [4020, 1200, 600, 800]),
            (&["--function", "touch", "--regions"], [0, 1200, 600, 0]),
        ] {
            let (done, json) = profiled(&place, program, options);
            assert_eq!(done.out, whole.out, "the program does what it did");
            assert_eq!(counts(&json), expected, "{program} {options:?}");
            assert_eq!(json.warnings(), ["left-out"]);
        }
    }
}

#[test]
fn summary_counts_accesses_left_out() {
    let place = programs();
    for program in BOTH {
        // In a schedule over all accesses: each is recorded or left out, and the whole is always
        // the same.
        let wholes: Vec<u64> = [
            &["--after", "1000"][..],
            &["--burst", "100:300"],
            &["--burst", "7:1"],
            &["--after", "3333", "--burst", "1000:10"],
        ]
        .into_iter()
        .map(|options| {
            let (_, json) = profiled(&place, program, options);
            let [recorded, whole] = json.recorded();
            if program == "./regions" {
                // One item an access.
                assert_eq!(recorded, json.number("accesses"), "{options:?}");
            }
            whole
        })
        .collect();
        assert!(wholes.iter().all(|whole| *whole == wholes[0]), "{wholes:?}");
        let (_, json) = profiled(&place, program, &["--after", "1000"]);
        assert_eq!(json.recorded(), [wholes[0] - 1000, wholes[0]]);
        let (_, json) = profiled(&place, program, &["--burst", "100:300"]);
        let last = (wholes[0] % 400).min(100);
        assert_eq!(json.recorded()[0], wholes[0] / 400 * 100 + last);
    }
    // By hand: of the first 2,000 accesses, all to one array, the last hundred.
    let (_, json) = profiled(&place, "./regions", &["--after", "1900", "--for", "100"]);
    assert_eq!(counts(&json), [100, 0, 0, 0]);
}

#[test]
fn warning_reports_a_program_that_ends_before_recording_begins() {
    let place = programs();
    for program in BOTH {
        let words = ["profile", "-f", "-o", "run", "--after", "1G", "--", program];
        let done = place.run(&words).succeeds();
        assert!(!done.out.contains("no access was seen"), "{done:?}");
        done.prints(&[
            "the program ended before it had made 1,000,000,000 accesses",
            "take a smaller --after",
        ]);
    }
}

#[test]
fn recording_stops_at_a_limit_and_the_program_goes_on() {
    let place = programs();
    for program in BOTH {
        let (whole, _) = profiled(&place, program, &[]);
        for (options, code) in [
            (&["--for", "2000"][..], "--for"),
            (&["--max-accesses", "2000"], "--max-accesses"),
            (
                &["--max-accesses", "2000", "--for", "5000"],
                "--max-accesses",
            ),
        ] {
            let words = ["record", "-f", "-o", "run"].iter().chain(options);
            let words: Vec<&str> = words.copied().chain(["--", program]).collect();
            let done = place.run(&words).succeeds();
            assert!(done.out.contains(&whole.out), "{done:?}");
            done.prints(&[
                "recording stopped after 2,000 accesses",
                code,
                "went on unrecorded",
            ]);
            let words = [
                "analyze",
                "-q",
                "-f",
                "run",
                "--json",
                "run.json",
                "--granularity",
                "64K",
            ];
            place.run(&words).succeeds();
            // At this granularity hardly an access touches two items.
            let accesses = place.json("run.json").number("accesses");
            assert!((2000..2010).contains(&accesses), "{accesses}");
            assert_eq!(place.json("run.json").warnings(), ["stopped"]);
        }
    }
}

#[test]
fn time_and_size_stop_a_program_that_would_not_end() {
    let place = Place::new();
    let endless = "volatile long cells[65536];\nint main(void) { for (unsigned long i = 1;; i++) \
                   cells[i * 40503 % 65521] = i; }\n";
    place.write("endless.c", endless);
    place
        .run(&["cc", "-O1", "endless.c", "-o", "endless"])
        .succeeds();
    let gcc = Command::new("gcc")
        .args(["-O1", "-o"])
        .args([place.path("plain"), place.path("endless.c")])
        .status();
    assert!(gcc.unwrap().success());
    for program in ["./endless", "./plain"] {
        for options in [
            &["--max-time", "200ms"][..],
            &["--after", "100ms", "--for", "100ms"],
            &["--max-size", "100k"],
            &["--max-accesses", "1M"],
        ] {
            let words = ["record", "-f", "-o", "run", "--then-stop"]
                .iter()
                .chain(options);
            let words: Vec<&str> = words.copied().chain(["--", program]).collect();
            place.run(&words).succeeds().prints(&[
                "recording stopped",
                options[options.len() - 2],
                "was ended",
            ]);
            let words = ["analyze", "-q", "-f", "run", "--json", "run.json"];
            place.run(&words).succeeds();
            let json = place.json("run.json");
            assert!(json.number("accesses") > 0, "{program} {options:?}");
            assert_eq!(json.0["outcome"]["signal"], 15);
        }
        let size = std::fs::metadata(place.path("run")).unwrap().len();
        assert!(size < 100 << 20);
    }
}

#[test]
fn a_trace_ends_below_the_size_that_it_was_given() {
    let place = Place::new();
    // Addresses as good as random: chunks of several MB.
    let endless = "static volatile char cells[1 << 24];\nint main(void) { for (unsigned long i = 1;;) \
                   { i = i * 6364136223846793005 + 1; cells[i >> 40]++; } }\n";
    place.write("random.c", endless);
    place
        .run(&["cc", "-O1", "random.c", "-o", "random"])
        .succeeds();
    for most in [12_000_000, 20_000_000] {
        let size = most.to_string();
        let words = ["record", "-f", "-o", "run", "--then-stop", "--max-size"];
        let words: Vec<&str> = words
            .into_iter()
            .chain([&size[..], "--", "./random"])
            .collect();
        place.run(&words).succeeds();
        let size = std::fs::metadata(place.path("run")).unwrap().len();
        assert!((most / 3..most).contains(&size), "{size} of {most}");
    }
}

#[test]
fn threads_are_in_regions_one_by_one() {
    let place = Place::new();
    place.write(
        "threads.c",
        r#"
#include <pthread.h>
#include <reuselens.h>
volatile long within[1000], without[1000];
static void *run(void *other) {
    if (other) reuselens_region_begin("r");
    for (int i = 0; i < 1000; i++) { if (other) within[i]++; else without[i]++; }
    if (other) reuselens_region_end();
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, (void *)(i % 2));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    reuselens_region_begin("main");
    run(0);
    reuselens_region_end();
    return 0;
}
"#,
    );
    place
        .run(&["cc", "-O1", "-pthread", "threads.c", "-o", "threads"])
        .succeeds();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/include");
    let gcc = Command::new("gcc")
        .args(["-O1", "-pthread", "-I"])
        .arg(headers)
        .args([place.path("threads.c"), "-o".into(), place.path("plain")])
        .status();
    assert!(gcc.unwrap().success());
    for program in ["./threads", "./plain"] {
        let options = ["--by", "object", "--granularity", "8", "--regions"];
        let (_, json) = place.profile(&options, &[program]);
        assert_eq!(
            (json.object("within"), json.object("without")),
            (4000, 2000)
        );
        let options = ["--by", "object", "--granularity", "8", "--region", "r"];
        let (_, json) = place.profile(&options, &[program]);
        assert_eq!((json.object("within"), json.object("without")), (4000, 0));
    }
}

#[test]
fn fortran_marks_regions() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    place.write(
        "marked.f90",
        "include 'reuselens.f90'\nprogram marked\n  use reuselens\n  implicit none\n  integer, volatile :: seen(100), \
         unseen(100)\n  integer :: i\n  common /arrays/ seen\n  common /others/ unseen\n  do i = 1, 100\n    unseen(i) = i\n  \
         end do\n  call reuselens_region_begin('solve')\n  do i = 1, 100\n    seen(i) = i\n  end do\n  call \
         reuselens_region_end()\n  do i = 1, 100\n    unseen(i) = i\n  end do\n  if (seen(3) + unseen(4) /= 7) stop 1\nend \
         program marked\n",
    );
    place
        .run(&["fortran", "-O1", "marked.f90", "-o", "marked"])
        .succeeds();
    for capture in ["compiled-in", "rewriting"] {
        for options in [&["--regions"][..], &["--region", "solve"]] {
            let words = ["--capture", capture, "--by", "object", "--granularity", "4"];
            let (_, json) = place.profile(&[&words, options].concat(), &["./marked"]);
            assert_eq!(
                (json.object("arrays_"), json.object("others_")),
                (100, 0),
                "{capture}"
            );
        }
    }
}

#[test]
fn unknown_function_fails_with_similar_names() {
    let place = programs();
    for program in BOTH {
        place
            .run(&["profile", "--function", "wrok", "--", program])
            .fails(1)
            .says(&["no function called 'wrok'", "near it are:", "work"]);
        let (_, json) = profiled(&place, program, &["--region", "iner"]);
        assert!(json.warnings().contains(&"never-entered".to_owned()));
        assert!(
            !json.warnings().contains(&"no-accesses".to_owned()),
            "one is enough"
        );
    }
    for (words, says) in [
        (["--after", "soon"], "neither a number of accesses"),
        (["--burst", "5"], "no pair of numbers"),
        (["--max-time", "5"], "is no time"),
        (["--max-accesses", "0"], "no whole number above 0"),
        (["--then-stop", "-q"], "nothing stops it"),
    ] {
        let words = [&["profile"], &words[..], &["--", "./regions"]].concat();
        place.run(&words).fails(2).says(&[says]);
    }
}

#[test]
fn a_recording_keeps_the_data_that_are_asked_for() {
    let place = Place::new();
    place.build("count/heap.c", &["-g"]);
    for data in ["heap", "stack", "static"] {
        place
            .run(&[
                "record", "-q", "-f", "--data", data, "-o", "run", "--", "./heap",
            ])
            .succeeds();
        let by = ["--by", "object", "--data", data];
        let words = [
            &["analyze", "-q", "-f", "run", "--json", "run.json"],
            &by[..],
        ]
        .concat();
        place.run(&words).succeeds();
        let (_, whole) = place.profile(&by, &["./heap"]);
        let json = place.json("run.json");
        for field in ["histogram", "accesses", "groups"] {
            assert_eq!(json.0[field], whole.0[field], "{data}");
        }
        assert!(
            json.warnings().iter().any(|code| code == "other-data"),
            "{data}"
        );
    }
}
