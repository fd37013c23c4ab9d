//! The format of callgrind (its manual, "Callgrind Format Specification"): the costs of functions
//! by line, and those of their calls with all that is called.
//!
//! The format knows no contexts, only calls from function to function, and no data: costs are
//! summed over all contexts and objects. A function is a name and a file, so functions of one name
//! in several files are several. How often a call was made is mostly not in a profile, so each
//! counts as one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use reuselens_profile::Profile;
use reuselens_units::shown;

use super::function_files::{FunctionFiles, places};
use super::{Cost, Stacks, add};

/// A function: its name and its file, which is empty if it is not known.
type NameAndFile<'a> = (&'a str, &'a str);

/// What a function costs: itself by line, and its calls by line and callee.
#[derive(Default)]
struct CalledFunction<'a> {
    lines: BTreeMap<u32, Vec<u64>>,
    calls: BTreeMap<(u32, NameAndFile<'a>), Vec<u64>>,
}

/// The costs of a profile.
pub(super) fn write(profile: &Profile, costs: &[Cost]) -> String {
    let stacks = Stacks::new(profile);
    // Stacks are made twice: which file a function without a place is in is known only after all of
    // them, and to keep them would take memory for every cell.
    let files = FunctionFiles::of(&stacks);
    let mut functions: BTreeMap<NameAndFile<'_>, CalledFunction<'_>> = BTreeMap::new();
    let mut totals = vec![0; costs.len()];
    for (stack, own) in stacks.iter(costs) {
        add(&mut totals, &own);
        let places: Vec<(NameAndFile<'_>, u32)> = places(&stack)
            .map(|(name, file, line)| ((name, files.file(name, file)), line))
            .collect();
        // Each cell costs one function itself, so that these costs sum to the summary.
        if let Some((innermost, line)) = places.last() {
            let function = functions.entry(*innermost).or_default();
            add(function.lines.entry(*line).or_default(), &own);
        }
        // A recursion makes a call several times in one stack, and its costs are those of one.
        let calls = places.windows(2);
        let calls: BTreeSet<_> = calls.map(|pair| (pair[0], pair[1].0)).collect();
        for ((caller, line), callee) in calls {
            let function = functions.entry(caller).or_default();
            add(function.calls.entry((line, callee)).or_default(), &own);
        }
    }
    let mut text = head(profile, costs, &totals);
    for ((name, file), function) in &functions {
        let _ = write!(text, "\nfl={}\nfn={}\n", word(file), word(name));
        for (line, costs) in &function.lines {
            let _ = writeln!(text, "{line}{}", numbers(costs));
        }
        for ((line, (callee, file)), costs) in &function.calls {
            let _ = write!(text, "cfi={}\ncfn={}\n", word(file), word(callee));
            let _ = writeln!(text, "calls=1 0\n{line}{}", numbers(costs));
        }
    }
    text
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
