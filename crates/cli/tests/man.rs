//! `reuselens man`, and the help of every command.

use crate::common::{COMMANDS, Place};

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
fn man_fails_for_an_unknown_command() {
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

/// Help is read in a hurry: it names numbers by their unit, and uses the documents' terms.
#[test]
fn help_avoids_words_that_the_style_guide_replaces() {
    let place = Place::new();
    let own = COMMANDS.iter().map(|command| vec![*command]);
    let gpu = ["run", "analyze", "diff", "map"].map(|verb| vec!["gpu", verb]);
    for command in own.chain(gpu) {
        let help = place
            .run(&[&["help"], &command[..]].concat())
            .succeeds()
            .out;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for avoided in [
            "so many",
            "so much",
            "old apart",
            "ell apart",
            "Tell ",
            " behind ",
        ] {
            assert!(!words.contains(avoided), "{command:?}: {avoided}\n{help}");
        }
    }
}

#[test]
fn missing_or_unknown_command_is_wrong_usage() {
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
