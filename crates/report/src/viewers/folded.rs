//! Folded stacks: a line for each stack, its frames from the outermost in with `;` between them, a
//! space, and a number. Brendan Gregg's `flamegraph.pl` defined the format, and inferno, speedscope
//! and others read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reuselens_profile::Profile;
use reuselens_units::shown;

use super::{Cost, Stacks, add};
use crate::caches::Level;

/// The misses of one cache, by stack: in the order of the stacks, those without misses left out.
pub(super) fn write(profile: &Profile, level: &Level) -> String {
    let costs = [Cost::of(level)];
    let mut lines: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (stack, misses) in Stacks::new(profile).iter(&costs) {
        let names: Vec<String> = stack.names().map(word).collect();
        add(lines.entry(names.join(";")).or_default(), &misses);
    }
    let mut text = String::new();
    for (stack, misses) in lines.iter().filter(|(_, misses)| misses[0] > 0) {
        let _ = writeln!(text, "{stack} {}", misses[0]);
    }
    text
}

/// A name without what ends a frame or a line.
fn word(name: &str) -> String {
    shown(name).replace(';', ",")
}
