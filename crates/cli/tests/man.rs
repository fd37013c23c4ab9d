//! `reuselens man`, and the help of every command.

mod common;

use common::{COMMANDS, Place};

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    let whole = place.run(&["man"]).succeeds();
    for command in COMMANDS {
        let page = place.run(&["man", command]).succeeds().out;
        assert!(page.contains(".TH ") && page.contains(".SH NAME"), "{page}");
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
        let roff = command.replace('-', "\\-");
        assert!(
            whole.out.contains(&roff),
            "the page of all has no {command}"
        );
    }
}

#[test]
fn a_page_for_nothing_is_a_failure() {
    Place::new()
        .run(&["man", "sing"])
        .fails(1)
        .says(&["no command 'sing'", "reuselens help"]);
}

#[test]
fn every_command_has_help() {
    let place = Place::new();
    let whole = place.run(&["--help"]).succeeds();
    for command in COMMANDS {
        let line = whole
            .out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(command));
        assert!(
            line.is_some_and(|line| line.len() > command.len() + 10),
            "{command}: {line:?}"
        );
        let help = place.run(&["help", command]).succeeds().out;
        assert!(help.contains("Usage: reuselens"), "{help}");
        // The compilers' own options are the compilers'.
        if !["cc", "c++", "fortran"].contains(&command) {
            let own = place.run(&[command, "--help"]).succeeds().out;
            assert_eq!(own, help);
            // Its columns are padded, so lines are counted and not characters.
            let short = place.run(&[command, "-h"]).succeeds().out;
            assert!(short.lines().count() <= own.lines().count());
            place
                .run(&[command, "--no-such-option"])
                .fails(2)
                .says(&["--no-such-option"]);
        }
    }
}

#[test]
fn nothing_to_do_is_wrong_usage() {
    let place = Place::new();
    let none: [&str; 0] = [];
    place.run(&none).ends_with(2).says(&["Usage: reuselens"]);
    place.run(&["sing"]).fails(2).says(&["'sing'"]);
    let version = place.run(&["--version"]).succeeds();
    assert_eq!(
        version.out,
        format!("reuselens {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(place.files().is_empty());
}
