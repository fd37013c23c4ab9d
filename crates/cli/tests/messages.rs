//! What is said of files that are not what a command takes, and of runs that recorded nothing.

use std::os::unix::fs::PermissionsExt;

use crate::common::Place;

/// A folder with a directory, an empty file, source code in C, and a profile.
fn wrong_files() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("dir")).unwrap();
    place.write("empty", "");
    place.write("prog.c", "int main(void) { return 0; }\n");
    place.write("t.txt", "a b a");
    place
        .run(&["analyze", "-q", "t.txt", "--format", "text"])
        .succeeds();
    place
}

/// Fact, cause and what to type, in that order, without the system's numbers.
#[test]
fn files_of_other_kinds_get_the_command_for_them() {
    let place = wrong_files();
    let rule = "misses@64 > 1";
    let profile = "`reuselens profile -- PROGRAM`";
    let source = "`reuselens cc -g prog.c -o ./prog`, then `reuselens profile -- ./prog`";
    let kernel = "PTX, CUDA C++ (.cu) or a description (.toml)";
    for (words, wanted, next) in [
        (&["report"][..], "profile", profile),
        (&["diff", "t.rlprof"], "profile", profile),
        (&["check", "--fail-if", rule], "profile", profile),
        (
            &["check", "t.rlprof", "--fail-if", rule, "--against"],
            "profile",
            profile,
        ),
        (&["gpu", "run"], "kernel", kernel),
    ] {
        for (file, parts) in [
            ("none", ["cannot read none: there is no such file; ", next]),
            (
                "dir",
                ["cannot read dir: it is a directory; name ", " in it"],
            ),
            (
                "empty",
                [&*format!("empty is empty and no {wanted}; "), next],
            ),
            (
                "prog.c",
                [
                    &*format!("prog.c is source code in C and no {wanted}; "),
                    source,
                ],
            ),
        ] {
            let mut words = words.to_vec();
            // The options of `check` take what follows them.
            let at = if words.get(1) == Some(&"--fail-if") {
                1
            } else {
                words.len()
            };
            words.insert(at, file);
            let done = place.run(&words).fails(1);
            assert!(!done.err.contains("os error"), "{}", done.err);
            let places = parts.map(|part| done.err.find(part));
            let [Some(fact), Some(next)] = places else {
                panic!("{words:?}: {parts:?} is not in {}", done.err);
            };
            assert!(fact < next, "{}", done.err);
        }
    }
}

#[test]
fn content_decides_for_files_with_endings_of_source_code() {
    let place = wrong_files();
    std::fs::copy(place.path("t.rlprof"), place.path("run.f")).unwrap();
    std::fs::copy("/bin/sh", place.path("sh.c")).unwrap();
    place
        .run(&["report", "run.f"])
        .succeeds()
        .prints(&["3 accesses to 2 distinct items"]);
    place
        .run(&["diff", "t.rlprof", "run.f"])
        .succeeds()
        .prints(&["the two miss equally often at every cache size"]);
    let done = place.run(&["report", "sh.c"]).fails(1);
    done.says(&["sh.c is a program and no profile"]);
}

#[test]
fn an_empty_program_is_not_run_as_a_script() {
    let place = Place::new();
    place.write("empty", "");
    std::fs::set_permissions(place.path("empty"), PermissionsExt::from_mode(0o755)).unwrap();
    for verb in ["profile", "record"] {
        let done = place.run(&[verb, "--", "./empty"]).fails(1);
        done.says(&["cannot run './empty': it is empty"]);
    }
    assert_eq!(place.files(), ["empty"]);
}

#[test]
fn quiet_runs_that_record_nothing_warn() {
    let place = Place::new();
    let program = place.build("count/count.c", &["-g"]);
    for verb in ["profile", "record"] {
        let words = [verb, "-q", "-f", "--region", "nosuch", "--", &program];
        place.run(&words).succeeds().says(&[
            "reuselens: warning: no region called 'nosuch' was entered: nothing was recorded",
        ]);
    }
    let done = place
        .run(&["report", "-q", "count.rlprof", "--text"])
        .succeeds();
    done.says(&["nothing was recorded"]);
}

/// Libraries have functions of nearly every name: those that the program has itself come first.
#[test]
fn functions_of_the_program_are_suggested_before_those_of_libraries() {
    let place = Place::new();
    place.write(
        "w.c",
        "__attribute__((noinline)) int column_pass(int n) { return n + 1; }\nint main(int n, char **a) { (void)a; return \
         column_pass(n) == 0; }\n",
    );
    place.run(&["cc", "-O1", "-g", "w.c", "-o", "w"]).succeeds();
    // The library of C has twalk and ftw.
    let done = place
        .run(&["profile", "--function", "walk", "--", "./w"])
        .fails(1)
        .says(&["no function called 'walk'; it has column_pass"]);
    let (own, library) = (done.err.find("column_pass"), done.err.find("twalk"));
    assert!(library.is_none() || own < library, "{}", done.err);
    let done = place
        .run(&["profile", "--function", "colum_pass", "--", "./w"])
        .fails(1);
    done.says(&["near it are: column_pass ("]);
}
