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

/// Writes an executable file.
fn write_executable(place: &Place, name: &str, bytes: &[u8]) {
    place.write(name, bytes);
    std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn files_that_the_kernel_refuses_are_not_run_by_a_shell() {
    let place = Place::new();
    let aarch64 = [
        &b"\x7fELF\x02\x01\x01"[..],
        &[0; 9],
        b"\x02\0\xb7\0\x01\0\0\0",
        &[0; 40],
    ];
    let interpreted = format!("#!{}\n", place.path("arm").display());
    let files = [
        ("empty", Vec::new(), "it is empty"),
        ("arm", aarch64.concat(), "it is a program for AArch64"),
        (
            "x.exe",
            b"MZ\x90\0\0\0".to_vec(),
            "it is a program for Windows",
        ),
        (
            "mac",
            b"\xcf\xfa\xed\xfe\x07\0\0\x01".to_vec(),
            "it is a program for macOS",
        ),
        ("a.jar", b"PK\x03\x04xxxx\n".to_vec(), "java -jar"),
        (
            "cut",
            std::fs::read("/bin/true").unwrap()[..60].to_vec(),
            "cut off",
        ),
        (
            "script",
            interpreted.into_bytes(),
            "its first line (#!) names an interpreter",
        ),
    ];
    for (name, bytes, _) in &files {
        write_executable(&place, name, bytes);
    }
    for (name, _, why) in &files {
        let program = format!("./{name}");
        for verb in [
            &["profile"][..],
            &["record"],
            &["profile", "--cuda"],
            &["record", "--cuda"],
        ] {
            let done = place.run(&[verb, &["--", &program]].concat()).fails(1);
            done.says(&[why]);
        }
    }
    let mut names: Vec<&str> = files.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    assert_eq!(place.files(), names, "no profile and no trace is left");
}

#[test]
fn text_without_a_first_line_for_the_kernel_is_run_by_a_shell() {
    let place = Place::new();
    write_executable(&place, "greet", b"echo \"$0 greets $1\"; exit 5\n");
    for capture in ["rewriting", "auto"] {
        let words = [
            "profile",
            "-qf",
            "--capture",
            capture,
            "--",
            "./greet",
            "you",
        ];
        let done = place.run(&words).ends_with(5);
        assert_eq!(done.out, "./greet greets you\n");
    }
    let done = place
        .run(&["profile", "-f", "--cuda", "--", "./greet", "you"])
        .ends_with(5);
    done.prints(&["./greet greets you"]);
}

#[test]
fn compilers_for_other_targets_are_refused() {
    let place = Place::new();
    place.write("a.c", "int main(void) { return 0; }\n");
    for (verb, words, target) in [
        (
            "cc",
            &["--rl-compiler=clang", "--target=aarch64-linux-gnu"][..],
            "aarch64-linux-gnu",
        ),
        ("cc", &["-m32"], "-m32"),
        ("c++", &["--rl-compiler=arm-none-eabi-g++"], "arm-none-eabi"),
        (
            "fortran",
            &["--rl-compiler=riscv64-linux-gnu-gfortran-13"],
            "riscv64-linux-gnu",
        ),
    ] {
        let done = place
            .run(&[&[verb], words, &["a.c", "-o", "a"]].concat())
            .fails(1);
        done.says(&[
            &format!("compiles for {target}"),
            "analyse it here: reuselens analyze TRACE",
        ]);
    }
}

/// A tip names what is meant by a word, and not one that is spelt like it.
#[test]
fn unknown_options_get_a_tip_for_what_is_meant() {
    let place = Place::new();
    for (words, tip) in [
        ("profile --pid 12", "a program is measured from its start"),
        (
            "record --attach 12",
            "choose a part of its run with --after and --for",
        ),
        ("report x.rlprof --open", "xdg-open NAME.html"),
        ("profile --open -- true", "xdg-open NAME.html"),
        ("profile --html x -- true", "-o NAME names it"),
        (
            "report x.rlprof --sharing private",
            "--sharing is an option of reuselens profile and analyze; a profile has what was counted",
        ),
        (
            "record --why -- true",
            "--why is an option of reuselens profile and analyze",
        ),
        (
            "analyze x --basic-blocks",
            "--basic-blocks is an option of reuselens record",
        ),
        ("completions tcsh", "there are no completions for tcsh"),
        // One that is spelt wrong.
        ("profile --granularty 64 -- true", "'--granularity'"),
    ] {
        let done = place.run(&words.split(' ').collect::<Vec<_>>()).fails(2);
        done.clone().says(&["tip: ", tip]);
        assert_eq!(
            done.err.matches("tip: ").count(),
            1,
            "{words}: {}",
            done.err
        );
    }
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
