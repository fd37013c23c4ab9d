//! `reuselens formats`.

use crate::common::Place;
use reuselens::formats::FORMATS;

#[test]
fn every_format_is_listed_with_reading_and_writing() {
    let done = Place::new().run(&["formats"]).succeeds();
    for format in FORMATS {
        let line = done
            .out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(format.name));
        let line = line.unwrap_or_else(|| panic!("{} is not in {}", format.name, done.out));
        assert!(line.contains(format.summary), "{line}");
        let words: Vec<&str> = line
            .trim_end_matches(format.summary)
            .split_whitespace()
            .collect();
        assert_eq!(words.contains(&"read"), format.reads, "{line}");
        assert_eq!(words.contains(&"write"), format.writes, "{line}");
    }
    done.prints(&["Next: "]);
}

#[test]
fn formats_that_can_be_written_are_those_of_convert() {
    let help = Place::new().run(&["convert", "--help"]).succeeds().out;
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    let values = help.split_once("[possible values: ").unwrap().1;
    let values = values.split_once(']').unwrap().0;
    for format in FORMATS {
        let offered = values.split(", ").any(|value| value == format.name);
        assert_eq!(offered, format.writes, "{}", format.name);
    }
}

#[test]
fn unknown_format_is_wrong_usage() {
    let place = Place::new();
    place.write("loop.txt", "1\n2\n1\n");
    let verbs: [&[&str]; 4] = [&["analyze"], &["info"], &["convert"], &["shard", "1/2"]];
    for verb in verbs {
        for (format, what) in [
            ("nosuch", "no format is called 'nosuch'"),
            ("csv:colour=3", "colour=3"),
            ("vscsi:unit=0", "'0' is no unit"),
            ("oraclegeneral:unit=x", "'x' is no unit"),
        ] {
            let done = place.run(&[verb, &["--format", format, "loop.txt"]].concat());
            done.fails(2).says(&[what, "`reuselens formats` lists"]);
        }
    }
}
