//! The format of callgrind (its manual, "Callgrind Format Specification"): the costs of functions
//! by line, and those of their calls with all that is called.
//!
//! The format knows no contexts, only calls from function to function, and no data: costs are
//! summed over all contexts and objects. How often a call was made is not in a profile, so each
//! counts as one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use reuselens_locality::Profile;
use reuselens_units::shown;

use super::{Cost, Stacks};

/// A place in a source file: the file and the line.
type Place<'a> = (&'a str, u32);

/// A function: what it costs itself by place, and its calls by place and callee.
#[derive(Default)]
struct CalledFunction<'a> {
    lines: BTreeMap<Place<'a>, Vec<u64>>,
    calls: BTreeMap<(Place<'a>, &'a str), Vec<u64>>,
}

impl<'a> CalledFunction<'a> {
    /// The file that it is in: that of its first place. Other files have code that was inlined.
    fn file(&self) -> &'a str {
        let called = self.calls.keys().map(|(place, _)| place);
        let mut places = self.lines.keys().chain(called);
        let known = places.find(|(file, _)| !file.is_empty());
        known.map_or("", |(file, _)| file)
    }
}

/// The costs of a profile.
pub(super) fn write(profile: &Profile, costs: &[Cost]) -> String {
    let stacks = Stacks::new(profile);
    let mut functions: BTreeMap<&str, CalledFunction<'_>> = BTreeMap::new();
    let mut totals = vec![0; costs.len()];
    for (stack, own) in stacks.iter(costs) {
        add(&mut totals, &own);
        // The last two frames are the line and the data.
        let (functions_of, line) = (&stack[..stack.len() - 2], &stack[stack.len() - 2]);
        let name = functions_of.last().map_or(line.name, |frame| frame.name);
        let function = functions.entry(name).or_default();
        add(
            function.lines.entry((line.file, line.line)).or_default(),
            &own,
        );
        // A recursion makes a call several times in one stack, and its costs are those of one.
        let calls = functions_of.windows(2);
        let calls: BTreeSet<_> = calls
            .map(|pair| (pair[0].name, (pair[0].file, pair[0].line), pair[1].name))
            .collect();
        for (caller, place, callee) in calls {
            let function = functions.entry(caller).or_default();
            add(function.calls.entry((place, callee)).or_default(), &own);
        }
    }
    let mut text = head(profile, costs, &totals);
    for (name, function) in &functions {
        let _ = write!(text, "\nfl={}\nfn={}\n", word(function.file()), word(name));
        body(&mut text, function, &functions);
    }
    text
}

/// The lines of a function and its calls.
fn body(
    text: &mut String,
    function: &CalledFunction<'_>,
    all: &BTreeMap<&str, CalledFunction<'_>>,
) {
    let mut present = function.file();
    for ((file, line), costs) in &function.lines {
        go_to(text, &mut present, file);
        let _ = writeln!(text, "{line}{}", numbers(costs));
    }
    for (((file, line), callee), costs) in &function.calls {
        go_to(text, &mut present, file);
        let its_file = all.get(callee).map_or("", CalledFunction::file);
        let _ = write!(text, "cfi={}\ncfn={}\n", word(its_file), word(callee));
        let _ = writeln!(text, "calls=1 0\n{line}{}", numbers(costs));
    }
}

/// Goes on in another file, unless that is not known.
fn go_to<'a>(text: &mut String, present: &mut &'a str, file: &'a str) {
    if *present != file && !file.is_empty() {
        let _ = writeln!(text, "fi={}", word(file));
        *present = file;
    }
}

fn head(profile: &Profile, costs: &[Cost], totals: &[u64]) -> String {
    let mut text = format!(
        "# callgrind format\nversion: 1\ncreator: reuselens {}\ncmd: {}\npositions: line\n",
        shown(&profile.version),
        shown(&profile.command_line()),
    );
    for cost in costs {
        let _ = writeln!(text, "event: {} : {}", cost.word, cost.about);
    }
    let words: Vec<&str> = costs.iter().map(|cost| &*cost.word).collect();
    let _ = writeln!(text, "events: {}", words.join(" "));
    let _ = writeln!(text, "summary:{}", numbers(totals));
    text
}

fn add(sum: &mut Vec<u64>, costs: &[u64]) {
    sum.resize(costs.len(), 0);
    for (sum, cost) in sum.iter_mut().zip(costs) {
        *sum = sum.saturating_add(*cost);
    }
}

/// Numbers with a space before each.
fn numbers(costs: &[u64]) -> String {
    costs.iter().map(|cost| format!(" {cost}")).collect()
}

/// A name as the format has it: `???` for what is not known.
fn word(name: &str) -> String {
    match &*shown(name) {
        "" => "???".to_owned(),
        name => name.to_owned(),
    }
}
