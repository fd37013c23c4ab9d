//! `reuselens engines`, and that exact engines agree to the byte.

mod common;

use common::Place;
use reuselens::distance::ENGINES;

#[test]
fn every_engine_is_listed() {
    let done = Place::new().run(&["engines"]).succeeds();
    for engine in ENGINES {
        let line = done
            .out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(engine.name));
        let line = line.unwrap_or_else(|| panic!("{} is not in {}", engine.name, done.out));
        assert!(line.contains(engine.summary), "{line}");
        assert_eq!(line.contains(" exact "), engine.exact, "{line}");
    }
    done.prints(&["Next: "]);
}

#[test]
fn every_engine_runs_under_its_name_and_the_exact_ones_agree_to_the_byte() {
    let place = Place::new();
    let count = place.build("count/count.c", &["-pthread"]);
    let json = |engine: &str| {
        let words = [
            "profile", "-f", "--engine", engine, "--bins", "exact", "--json", "-", "--", &count,
        ];
        let words = [&words[..], &["37", "11"]].concat();
        place.run(&words).succeeds().out
    };
    let auto = json("auto");
    for engine in ENGINES.iter().filter(|engine| engine.exact) {
        let named = format!("\"engine\": \"{}\"", engine.name);
        let text = json(engine.name);
        assert!(text.contains(&named), "{text}");
        assert_eq!(text.replace(&named, "\"engine\": \"counting\""), auto);
    }
}

#[test]
fn an_engine_that_there_is_not_is_wrong_usage_and_known_before_the_run() {
    let place = Place::new();
    place.write("abc.txt", "a b c");
    let done = place
        .run(&["analyze", "abc.txt", "--engine", "steam"])
        .fails(2);
    done.says(&["there is no engine 'steam'", "counting", "olken"]);
    assert_eq!(place.files(), ["abc.txt"]);
}

#[test]
fn hp_rda_says_that_it_approximates_and_what_its_options_do() {
    let place = Place::new();
    // In chunks of 2048, 30 rounds over 4000 items: every chunk counts its items again.
    let words: Vec<String> = (0..120_000).map(|at| (at % 4000).to_string()).collect();
    place.write("loop.txt", words.join("\n"));
    let json = |options: &[&str]| {
        let words = [
            "analyze", "-f", "--format", "text", "loop.txt", "--engine", "hp-rda", "--json",
        ];
        let words = [&words[..], &["-", "--bins", "exact"], options].concat();
        place.run(&words).succeeds().out
    };
    let adjusted = json(&["--threads", "1"]);
    for text in [
        "\"engine\": \"hp-rda\"",
        "\"exact\": false",
        "\"error_bound\": null",
        "\"code\": \"approximate\"",
        "--engine auto is exact",
    ] {
        assert!(adjusted.contains(text), "{text} is not in {adjusted}");
    }
    assert_eq!(adjusted, json(&["--threads", "3"]));
    let merged = json(&["--disable-adjusting"]);
    assert!(merged.contains("left as they are"), "{merged}");
    assert!(!adjusted.contains("left as they are"));
    place
        .run(&["analyze", "--format", "text", "loop.txt", "--threads", "0"])
        .fails(2);
}
