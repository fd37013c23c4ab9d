//! What viewers of profiles open: every number of it, against the profile.

use std::collections::BTreeMap;
use std::path::Path;

use reuselens_profile::{CacheSize, Dimension, Profile};
use reuselens_report::Viewer;
use reuselens_units::Bytes;

use super::common;

#[test]
fn formats_are_found_by_their_names() {
    let of = |name: &str| Viewer::of(Path::new(name));
    assert_eq!(of("a/run.folded"), Some(Viewer::Folded));
    assert_eq!(of("run.callgrind"), Some(Viewer::Callgrind));
    assert_eq!(of("callgrind.out.12"), Some(Viewer::Callgrind));
    assert_eq!(of("run.speedscope.json"), Some(Viewer::Speedscope));
    assert_eq!(of("run.pb.gz"), Some(Viewer::Pprof));
    assert_eq!(of("run.pprof"), Some(Viewer::Pprof));
    assert_eq!(of("run.json"), None);
    assert_eq!(of("-"), None);
}

/// The file of a viewer that takes text.
fn exported(viewer: Viewer, profile: &Profile, cache: Option<CacheSize>) -> String {
    String::from_utf8(viewer.export(profile, cache)).unwrap()
}

/// The misses of a profile's cells in a cache of `items` items.
fn misses(profile: &Profile, items: u64) -> u64 {
    let cells = profile.cells.iter();
    cells.map(|cell| cell.histogram.misses(items)).sum()
}

/// A profile of two threads, and one with names that need care in every format.
fn profiles() -> [Profile; 2] {
    [common::matmul(12, false), common::tiny()]
}

#[test]
fn folded_stacks_have_all_misses_and_the_data_last() {
    for profile in profiles() {
        let text = exported(Viewer::Folded, &profile, Some(SMALL));
        let lines = text.lines().map(|line| line.rsplit_once(' ').unwrap());
        let lines: BTreeMap<&str, u64> = lines
            .map(|(stack, count)| (stack, count.parse().unwrap()))
            .collect();
        assert_eq!(lines.len(), text.lines().count(), "no stack comes twice");
        let items = 1024 / profile.granularity.bytes();
        assert_eq!(lines.values().sum::<u64>(), misses(&profile, items));
        let objects = profile.entry_names(Dimension::Object);
        for stack in lines.keys() {
            let last = stack.rsplit(';').next().unwrap();
            assert!(objects.iter().any(|name| name == last), "{stack}");
        }
    }
}

#[test]
fn folded_stacks_are_those_of_the_program() {
    let text = exported(Viewer::Folded, &common::matmul(12, false), None);
    for line in [
        "main;fill;matmul.c:9;a (matmul.c)",
        "main;multiply;matmul.c:18;c (matmul.c)",
        "worker;multiply;matmul.c:18;c (matmul.c)",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// The costs of a line of numbers after the first, which is a place.
fn costs(line: &str) -> Vec<u64> {
    let words = line.split_whitespace().skip(1);
    words.map(|word| word.parse().unwrap()).collect()
}

/// The lines of a function in callgrind's format, from its name on.
fn of_function<'t>(text: &'t str, name: &str) -> &'t str {
    let head = format!("\nfn={name}\n");
    let from = text.find(&head).unwrap() + head.len();
    text[from..].split("\n\n").next().unwrap()
}

/// What is in a file beside the accesses: the misses of caches with these items.
fn expected(profile: &Profile, cache: CacheSize) -> Vec<u64> {
    let caches = profile.machine.data_caches();
    let mut items: Vec<u64> = caches
        .iter()
        .map(|cache| cache.items(profile.granularity))
        .chain([cache.items(profile.granularity)])
        .collect();
    items.sort_unstable();
    items.dedup();
    let misses = items.iter().map(|items| misses(profile, *items));
    std::iter::once(profile.histogram.accesses())
        .chain(misses)
        .collect()
}

/// A cache that no machine has.
const SMALL: CacheSize = CacheSize {
    bytes: Bytes(1024),
    ways: 0,
};

#[test]
fn costs_of_functions_in_callgrinds_format_sum_to_its_summary() {
    for profile in profiles() {
        let text = exported(Viewer::Callgrind, &profile, Some(SMALL));
        let summary = text.lines().find(|line| line.starts_with("summary:"));
        let mut left = costs(summary.unwrap());
        assert_eq!(left, expected(&profile, SMALL));
        let events = text.lines().find(|line| line.starts_with("events: "));
        let mut words = events.unwrap().split(' ').skip(1);
        assert!(words.all(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric())));
        let mut is_call = false;
        for line in text.lines() {
            if line.starts_with(|letter: char| letter.is_ascii_digit()) && !is_call {
                let costs = costs(line);
                assert_eq!(costs.len(), left.len());
                let both = left.iter_mut().zip(costs);
                both.for_each(|(left, cost)| *left -= cost);
            }
            is_call = line.starts_with("calls=");
        }
        assert!(left.iter().all(|left| *left == 0), "{left:?}");
    }
}

#[test]
fn a_call_costs_what_is_called_below_it() {
    let profile = common::matmul(12, false);
    let cells = profile.cells.iter().filter(|cell| cell.context == 3);
    let accesses: u64 = cells.map(|cell| cell.histogram.accesses()).sum();
    let text = exported(Viewer::Callgrind, &profile, None);
    let call = format!("cfi=matmul.c\ncfn=multiply\ncalls=1 0\n34 {accesses} ");
    assert!(of_function(&text, "main").contains(&call), "{text}");
}

/// Two functions `fill`, of which one is called by each of two.
#[test]
fn functions_of_one_name_in_several_files_are_several() {
    let mut profile = common::matmul(12, false);
    profile.sites[5].frames[0] = common::frame("fill", "other.c", 3);
    profile.contexts[4].function = "fill".to_owned();
    let text = exported(Viewer::Callgrind, &profile, None);
    for file in ["matmul.c", "other.c"] {
        assert!(text.contains(&format!("fl={file}\nfn=fill\n")), "{text}");
        assert!(text.contains(&format!("cfi={file}\ncfn=fill\n")), "{text}");
    }
}

/// `f` calls itself twice, and accesses in the innermost call.
#[test]
fn recursions_count_once_in_what_a_call_costs() {
    let mut profile = common::tiny();
    for at in 1..3 {
        profile.contexts[at].function = "f".to_owned();
    }
    let deepest = common::context(2, "f", common::frame("f", "f.c", 7));
    profile.contexts.push(deepest);
    profile.sites[1].frames = vec![common::frame("f", "f.c", 8)];
    profile.sites[2].frames = profile.sites[1].frames.clone();
    profile.contexts[2].call = common::frame("f", "f.c", 7);
    profile.cells.iter_mut().for_each(|cell| cell.context = 3);
    let text = exported(Viewer::Callgrind, &profile, None);
    let accesses = profile.histogram.accesses();
    let of_f = of_function(&text, "f");
    assert!(
        of_f.contains(&format!("calls=1 0\n7 {accesses} ")),
        "{text}"
    );
    assert!(of_f.starts_with(&format!("8 {accesses} ")), "{text}");
}

#[test]
fn speedscope_has_a_profile_for_each_cost_with_its_sum() {
    for profile in profiles() {
        let text = exported(Viewer::Speedscope, &profile, Some(SMALL));
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        let frames = file["shared"]["frames"].as_array().unwrap();
        let weights = file["profiles"].as_array().unwrap();
        let active = file["activeProfileIndex"].as_u64().unwrap() as usize;
        assert_eq!(weights[active]["name"], "misses in 1 KiB");
        let expected = expected(&profile, SMALL);
        assert_eq!(weights.len(), expected.len());
        for (weights, expected) in weights.iter().zip(expected) {
            let all = weights["weights"].as_array().unwrap();
            let sum: u64 = all.iter().map(|weight| weight.as_u64().unwrap()).sum();
            assert_eq!((sum, &weights["endValue"]), (expected, &expected.into()));
            let samples = weights["samples"].as_array().unwrap();
            assert_eq!(samples.len(), all.len());
            let mut numbers = samples.iter().flat_map(|stack| stack.as_array().unwrap());
            assert!(numbers.all(|frame| (frame.as_u64().unwrap() as usize) < frames.len()));
        }
        // Viewers sum by frame: a function that is two of them would be two.
        let functions = profile.contexts.iter().skip(1);
        for function in functions.map(|context| &context.function) {
            let same = frames.iter().filter(|frame| frame["name"] == **function);
            assert_eq!(same.count(), 1, "{function}");
        }
    }
}

/// The stacks of the profile, without their numbers.
fn stacks(profile: &Profile) -> Vec<String> {
    let text = exported(Viewer::Folded, profile, None);
    let stacks = text.lines().map(|line| line.rsplit_once(' ').unwrap().0);
    stacks.map(str::to_owned).collect()
}

#[test]
fn profiles_without_contexts_have_the_functions_of_their_sites() {
    let mut profile = common::matmul(12, false);
    profile.contexts.truncate(1);
    profile.cells.iter_mut().for_each(|cell| cell.context = 0);
    let inlined = common::frame("caller", "matmul.c", 40);
    profile.sites[1].frames.push(inlined);
    profile.sites[4].frames.clear();
    let stacks = stacks(&profile);
    assert_eq!(
        stacks[0],
        "(unknown function);matmul (unknown line);c (matmul.c)"
    );
    assert!(stacks.contains(&"caller;fill;matmul.c:9;a (matmul.c)".to_owned()));
    let text = exported(Viewer::Callgrind, &profile, None);
    assert!(text.contains("fn=(unknown function)\n"));
}

#[test]
fn sites_without_debug_information_are_of_the_function_of_their_context() {
    let mut profile = common::matmul(12, false);
    profile.sites[1].frames = vec![common::frame("fill+0x1f", "", 0)];
    let stacks = stacks(&profile);
    let start = "main;fill;";
    assert!(stacks.iter().any(|stack| stack.starts_with(start)));
    let twice = stacks.iter().filter(|stack| stack.contains("fill;fill;"));
    assert_eq!(twice.count(), 0, "{stacks:?}");
}

/// The fields of a message of protocol buffers: their numbers, and either a number or bytes.
/// Written for this test alone, from the specification of the encoding.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = take_number(&mut message);
        let value = take_number(&mut message);
        match key & 7 {
            0 => found.push((key >> 3, value, &[][..])),
            2 => {
                let (bytes, rest) = message.split_at(value as usize);
                message = rest;
                found.push((key >> 3, 0, bytes));
            }
            kind => panic!("no field is of kind {kind}"),
        }
    }
    found
}

/// Takes a number from the front of a message: seven bits a byte, the lowest first.
fn take_number(message: &mut &[u8]) -> u64 {
    let end = message.iter().position(|byte| *byte < 0x80).unwrap() + 1;
    let (own, rest) = message.split_at(end);
    *message = rest;
    let groups = own.iter().rev();
    groups.fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
}

/// The numbers of a packed field of a message.
fn numbers(message: &[u8], field: u64) -> Vec<u64> {
    let all = fields(message);
    let own = all.iter().filter(|(number, ..)| *number == field);
    own.flat_map(|(_, _, bytes)| {
        let mut bytes = *bytes;
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            numbers.push(take_number(&mut bytes));
        }
        numbers
    })
    .collect()
}

/// The value of a field that a message has at most once; 0 without it.
fn number_of(message: &[u8], field: u64) -> usize {
    let all = fields(message);
    let own = all.iter().find(|(number, ..)| *number == field);
    own.map_or(0, |(_, value, _)| *value as usize)
}

#[test]
fn samples_of_pprof_have_all_costs_their_lines_and_their_data() {
    for profile in profiles() {
        let packed = Viewer::Pprof.export(&profile, Some(SMALL));
        assert_eq!(packed, Viewer::Pprof.export(&profile, Some(SMALL)));
        let mut file = Vec::new();
        std::io::copy(&mut flate2::read::GzDecoder::new(&*packed), &mut file).unwrap();
        let all = fields(&file);
        let of = |field: u64| all.iter().filter(move |(number, ..)| *number == field);
        let strings = of(6).map(|(_, _, text)| std::str::from_utf8(text).unwrap());
        let strings: Vec<&str> = strings.collect();
        assert_eq!(strings[0], "");
        let functions: Vec<&[u8]> = of(5).map(|(_, _, it)| *it).collect();
        let locations: Vec<&[u8]> = of(4).map(|(_, _, it)| *it).collect();
        let place = |location: u64| {
            let location = locations[location as usize - 1];
            let lines = fields(location);
            let line = lines.iter().find(|(number, ..)| *number == 4).unwrap().2;
            let function = functions[number_of(line, 1) - 1];
            let name = strings[number_of(function, 2)];
            let file = strings[number_of(function, 4)];
            format!("{name} {file}:{}", number_of(line, 2))
        };
        let mut sums = vec![0; of(1).count()];
        let objects = profile.entry_names(Dimension::Object);
        let mut stacks = Vec::new();
        for (_, _, sample) in of(2) {
            let values = numbers(sample, 2);
            sums.iter_mut()
                .zip(&values)
                .for_each(|(sum, value)| *sum += value);
            let labels = fields(sample);
            let label = labels.iter().find(|(number, ..)| *number == 3).unwrap().2;
            assert_eq!(strings[number_of(label, 1)], "data");
            let data = strings[number_of(label, 2)];
            assert!(objects.iter().any(|name| name == data), "{data}");
            let places = numbers(sample, 1).into_iter().map(place);
            stacks.push(format!("{} {data}", places.collect::<Vec<_>>().join(" < ")));
        }
        assert_eq!(sums, expected(&profile, SMALL));
        if profile.command_line() == common::matmul(12, false).command_line() {
            let stack = "multiply matmul.c:18 < main matmul.c:34 c (matmul.c)";
            assert!(stacks.iter().any(|it| it == stack), "{stacks:#?}");
        }
    }
}

#[test]
fn contexts_that_stand_for_several_are_followed_by_the_function() {
    let mut profile = common::matmul(12, false);
    profile.contexts[2].function = "(other contexts)".to_owned();
    let expected = "main;(other contexts);fill;matmul.c:9;a (matmul.c)".to_owned();
    assert!(stacks(&profile).contains(&expected));
}

#[test]
fn damaged_contexts_end_a_stack() {
    for parent in [u32::MAX, 3] {
        let mut profile = common::matmul(12, false);
        let contexts = profile.contexts.iter_mut();
        contexts.for_each(|context| context.parent = parent);
        let expected = "fill;matmul.c:9;a (matmul.c)".to_owned();
        assert!(
            stacks(&profile)
                .iter()
                .any(|stack| stack.ends_with(&expected))
        );
        for viewer in [Viewer::Callgrind, Viewer::Speedscope, Viewer::Pprof] {
            assert!(!viewer.export(&profile, None).is_empty());
        }
    }
}
