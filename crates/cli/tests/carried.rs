//! `profile --why` names the loops that carry reuses.

use std::process::Command;

use reuselens::locality::{CarriedReuse, Carrier, Frame, Profile, ScopeKind};

use crate::common::{Done, Place, source};

/// Rows and columns of the matrices: each takes 72 KiB.
const SIZE: &str = "96";

/// The profile of an order of the matrix product.
fn profile(place: &Place, program: &str, order: &str) -> Profile {
    let words = [
        "profile",
        "-f",
        "--why=32KiB",
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

fn build(place: &Place, compiler: &str, flags: &[&str]) {
    let mut command = Command::new(compiler);
    let source = source("matmul/matmul.c");
    command
        .args(flags)
        .args(["-g", &source, "-o"])
        .arg(place.path("matmul"));
    Done::of(&mut command).succeeds();
}

#[test]
fn outermost_loop_carries_b_in_code_of_gcc() {
    for level in ["-O0", "-O2"] {
        let place = Place::new();
        build(&place, "gcc", &[level]);
        loops_of_orders_differ(&place, "./matmul");
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
