//! `profile --why` names the loops that carry reuses.

use std::collections::BTreeMap;
use std::process::Command;

use reuselens::profile::{CarriedReuse, Carrier, Frame, Profile, ScopeKind};

use crate::common::{Done, Place, has, source};

const CLANG: &str = "clang-19";
/// Rows and columns of the matrices: each takes 72 KiB.
const SIZE: &str = "96";

/// The profile of an order of the matrix product.
fn profile(place: &Place, program: &str, order: &str) -> Profile {
    let words = [
        "profile",
        "-f",
        "--why=32KiB",
        "--granularity",
        "64",
        "-o",
        "found",
        "--",
        program,
        order,
        SIZE,
    ];
    place.run(&words).succeeds();
    Profile::from_bytes(&place.read("found.rlprof")).unwrap()
}

/// The reuses of `b` that miss.
fn of_b(profile: &Profile) -> impl Iterator<Item = &CarriedReuse> {
    let carried = profile.causes.iter().flat_map(|causes| &causes.carried);
    carried.filter(|reuse| {
        let name = &profile.objects[reuse.object as usize].name;
        name == "b (matmul.c)"
    })
}

fn misses<'a>(reuses: impl Iterator<Item = &'a CarriedReuse>) -> u64 {
    reuses.map(|reuse| reuse.misses).sum()
}

/// The loop that carries a reuse from iteration to iteration.
fn carrying_loop<'a>(profile: &'a Profile, reuse: &CarriedReuse) -> Option<&'a Frame> {
    let Carrier::Scope(number) = reuse.carrier else {
        return None;
    };
    let scope = &profile.causes.as_ref()?.scopes[number as usize];
    (scope.kind == ScopeKind::Loop).then_some(&scope.frame)
}

/// In the naive order the outermost loop carries the reuse of `b`; in tiles another one does, and
/// far less of it misses.
fn loops_of_orders_differ(place: &Place, program: &str) {
    let naive = profile(place, program, "naive");
    assert!(naive.causes.as_ref().unwrap().has_loops);
    let is_outermost = |frame: &Frame| {
        frame.function == "naive" && frame.file.ends_with("matmul.c") && frame.line == 33
    };
    let outermost =
        of_b(&naive).filter(|reuse| carrying_loop(&naive, reuse).is_some_and(is_outermost));
    let (outermost, all) = (misses(outermost), misses(of_b(&naive)));
    assert!(all > 50_000, "{all}");
    assert!(outermost * 10 > all * 9, "{outermost} of {all}");

    let tiled = profile(place, program, "tiled");
    assert!(misses(of_b(&tiled)) * 5 < all);
    let mut frames = of_b(&tiled).filter_map(|reuse| carrying_loop(&tiled, reuse));
    assert!(
        frames.any(|frame| frame.function == "tiled"),
        "{:?}",
        tiled.causes.as_ref().unwrap().scopes
    );
}

/// Builds a program with a compiler, or with `cc --llvm=blocks` if that is none.
fn build(place: &Place, compiler: Option<&str>, level: &str, source: &str, program: &str) {
    let words = [level, "-g", source, "-o", program];
    let Some(compiler) = compiler else {
        place
            .run(&[&["cc", "--llvm=blocks"], &words[..]].concat())
            .succeeds();
        return;
    };
    let mut command = Command::new(compiler);
    command.args(words).current_dir(place.path(""));
    Done::of(&mut command).succeeds();
}

fn builds_of_orders_differ(compiler: Option<&str>, levels: &[&str]) {
    for level in levels {
        let place = Place::new();
        build(
            &place,
            compiler,
            level,
            &source("matmul/matmul.c"),
            "matmul",
        );
        loops_of_orders_differ(&place, "./matmul");
    }
}

#[test]
fn outermost_loop_carries_b_in_code_of_gcc() {
    builds_of_orders_differ(Some("gcc"), &["-O0", "-O1", "-O2", "-O3"]);
}

#[test]
fn outermost_loop_carries_b_in_code_of_clang() {
    if has(CLANG) {
        builds_of_orders_differ(Some(CLANG), &["-O0", "-O1", "-O2", "-O3"]);
    }
}

#[test]
fn outermost_loop_carries_b_in_code_of_the_llvm_pass() {
    if has(CLANG) && has("llvm-config-19") {
        builds_of_orders_differ(None, &["-O0", "-O2"]);
    }
}

/// Functions with nests of loops, and comments on what carries the reuse of which array.
const NESTS: &str = include_str!("carried/nests.c");

/// The kinds of scopes that carry the reuse of each object, by the comments in [`NESTS`], and the
/// lines that name them, if they are loops. Of a loop with several conditions, which compilers make
/// one of, each line names it.
fn expected_of_nests() -> BTreeMap<&'static str, Vec<(ScopeKind, u32)>> {
    let mut expected: BTreeMap<&str, Vec<(ScopeKind, u32)>> = BTreeMap::new();
    for (number, line) in (1..).zip(NESTS.lines()) {
        let comment = line.split_once("// ").map(|(_, comment)| comment);
        if let Some((kind, object)) = comment.and_then(|comment| comment.split_once(": ")) {
            let scope = match kind {
                "loop" => (ScopeKind::Loop, number),
                _ => (ScopeKind::Function, 0),
            };
            expected.entry(object).or_default().push(scope);
        }
    }
    expected
}

/// Misses of the reuse of an object, by the scope that carries them.
fn carriers_of(profile: &Profile, object: &str) -> BTreeMap<(ScopeKind, Frame), u64> {
    let causes = profile.causes.as_ref().unwrap();
    let name = format!("{object} (nests.c)");
    let mut misses = BTreeMap::new();
    for reuse in &causes.carried {
        if let Carrier::Scope(number) | Carrier::Iteration(number) = reuse.carrier
            && profile.objects[reuse.object as usize].name == name
        {
            let scope = &causes.scopes[number as usize];
            *misses.entry((scope.kind, scope.frame.clone())).or_default() += reuse.misses;
        }
    }
    misses
}

/// Nine tenths of the misses of each array are carried by the scope in its comment. The first
/// iterations, before a loop is known, are not.
fn nests_have_their_carriers(compiler: Option<&str>, levels: &[&str]) {
    let mut wrong = Vec::new();
    for level in levels {
        let place = Place::new();
        place.write("nests.c", NESTS);
        build(&place, compiler, level, "nests.c", "nests");
        let words = "profile -f --why=32KiB --granularity 64 -o found -- ./nests";
        let words: Vec<&str> = words.split(' ').collect();
        place.run(&words).succeeds();
        let profile = Profile::from_bytes(&place.read("found.rlprof")).unwrap();
        for (object, expected) in expected_of_nests() {
            let carriers = carriers_of(&profile, object);
            let is_expected = |(kind, frame): &(ScopeKind, Frame)| {
                let line = if *kind == ScopeKind::Loop {
                    frame.line
                } else {
                    0
                };
                expected.contains(&(*kind, line)) && frame.function == format!("of_{object}")
            };
            let right = carriers.iter().filter(|(scope, _)| is_expected(scope));
            let right: u64 = right.map(|(_, misses)| misses).sum();
            let all: u64 = carriers.values().sum();
            if all < 500 || right * 10 < all * 9 {
                wrong.push(format!("{level} {object} {expected:?}: {carriers:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nests_of_gcc_have_their_carriers() {
    nests_have_their_carriers(Some("gcc"), &["-O1", "-O2", "-O3"]);
}

#[test]
fn nests_of_clang_have_their_carriers() {
    if has(CLANG) {
        nests_have_their_carriers(Some(CLANG), &["-O0", "-O1", "-O2", "-O3"]);
    }
}

#[test]
fn nests_of_the_llvm_pass_have_their_carriers() {
    if has(CLANG) && has("llvm-config-19") {
        nests_have_their_carriers(None, &["-O0", "-O2", "-O3"]);
    }
}

#[test]
fn hooks_leave_the_carriers_unknown_and_warn_of_it() {
    let place = Place::new();
    let source = source("matmul/matmul.c");
    place
        .run(&["cc", "-O2", "-g", &source, "-o", "matmul"])
        .succeeds();
    let found = profile(&place, "./matmul", "naive");
    let causes = found.causes.as_ref().unwrap();
    assert!(causes.carried.is_empty() && !causes.has_loops);
    let codes: Vec<&str> = found
        .warnings
        .iter()
        .map(|warning| &*warning.code)
        .collect();
    assert!(codes.contains(&"no-basic-blocks"), "{codes:?}");
}

/// Whatever leaves parts of a run out, the warning and the advice name that as the cause, and the
/// command that is advised measures the whole run.
#[test]
fn parts_of_a_run_leave_the_carriers_unknown_and_warn_of_that() {
    let place = Place::new();
    build(
        &place,
        Some("gcc"),
        "-O1",
        &source("matmul/matmul.c"),
        "matmul",
    );
    for options in [
        &["--function", "naive"][..],
        &["--after", "1k"],
        &["--burst", "1M:1k"],
    ] {
        let words = ["profile", "-f", "--why=32KiB", "-o", "found"];
        let program = ["--", "./matmul", "naive", "64"];
        let done = place.run(&[&words, options, &program].concat()).succeeds();
        done.clone()
            .prints(&["parts of the run were left out", "leave out --function"]);
        assert!(
            !done.out.contains("measure the program as it is"),
            "{}",
            done.out
        );
        let done = place.run(&["advise", "found.rlprof"]).succeeds();
        done.clone().prints(&[
            "3 rules could not look at",
            "which loop carries a reuse",
            "Run: reuselens profile --why",
        ]);
        assert!(!done.out.contains("--capture rewriting"), "{}", done.out);
    }
    // A limit leaves nothing out before it.
    let words = "profile -f --why=32KiB --for 1M -o found -- ./matmul naive 64";
    let done = place.run(&words.split(' ').collect::<Vec<_>>()).succeeds();
    assert!(
        !done.out.contains("carries a reuse is not known"),
        "{}",
        done.out
    );
}
