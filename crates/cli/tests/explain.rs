//! `reuselens explain`.

use crate::common::Place;

#[test]
fn all_rules_are_listed_and_each_is_explained() {
    let place = Place::new();
    let list = place.run(&["explain"]).succeeds().out;
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(names.len() >= 20, "{list}");
    for name in ["array-of-structures", "false-sharing", "uncoalesced-access"] {
        assert!(names.contains(&name), "{list}");
    }
    for name in names {
        let done = place.run(&["explain", name]).succeeds();
        done.prints(&[name, "Found in", "Can be wrong", "Source", "Before"]);
    }
}

#[test]
fn examples_keep_their_lines() {
    let done = Place::new().run(&["explain", "loop-order"]).succeeds();
    done.prints(&["Before\n  for (j = 0; j < n; j++)\n    for (i = 0; i < n; i++)\n"]);
}

#[test]
fn names_that_no_rule_has_are_refused_with_names_like_them() {
    let place = Place::new();
    let done = place.run(&["explain", "sharing"]).fails(2);
    done.says(&[
        "no rule 'sharing'",
        "false-sharing",
        "distant-sharing",
        "lists all",
    ]);
    let done = place.run(&["explain", "zzz"]).fails(2);
    assert!(!done.err.contains("names like it"), "{}", done.err);
}

#[test]
fn names_in_other_letters_are_found_and_misspelt_ones_are_corrected() {
    let place = Place::new();
    for name in ["Loop-Order", "loop_order", "LOOP ORDER"] {
        place
            .run(&["explain", name])
            .succeeds()
            .prints(&["(loop-order)"]);
    }
    for (name, meant) in [
        ("lop-oder", "loop-order"),
        ("flase-sharing", "false-sharing"),
    ] {
        let done = place.run(&["explain", name]).fails(2);
        done.says(&[&format!("names like it: {meant}")]);
    }
}
