//! The section of a page about paths: patterns by path for each line, and how well paths separate
//! patterns.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_document::html::page::card;
use reuselens_document::numbers::count;
use reuselens_locality::{Histogram, Path, Pattern, PatternBin, PatternBins, total};
use reuselens_predict::Merging;
use reuselens_profile::{PathProfile, PathSite};

use super::scene::Scene;
use crate::multiples::{self, Bar, EXPLAIN, Edge, MOST, PATHS, PatternRow, Picture};
use crate::path_shares;

/// Outcomes that distinguish the rows of a picture; fewer if no longer paths were kept.
const LENGTH: u32 = 8;

/// The pictures of a profile, lines with most misses first; none if paths were not followed, or
/// separate no patterns.
pub(crate) fn pictures(scene: &Scene) -> Vec<Picture> {
    let Some(paths) = &scene.profile.paths else {
        return Vec::new();
    };
    let length = LENGTH.min(paths.length);
    let mut lines: Vec<(u64, String, PathLine)> = lines(paths, length)
        .into_values()
        // A line with one path has nothing to compare.
        .filter(|(_, line)| line.paths.len() > 1)
        .map(|(name, line)| (line.misses(scene.chosen.items), name, line))
        .collect();
    lines.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let lines = lines.into_iter().take(MOST);
    let draw =
        |(_, name, line): (u64, String, PathLine)| line.picture(name, scene.chosen.items, length);
    lines.map(draw).collect()
}

/// A source line, or an instruction without one.
#[derive(Default)]
struct PathLine {
    instructions: u64,
    /// By outcomes and their number, which is smaller for rarer paths counted together.
    paths: BTreeMap<(u32, u32), PatternBins>,
}

/// The module, and the full path of the file and the line in it; or the offset of an instruction
/// without a line.
type Key = (String, String, u64);

/// All lines by paths of a length, with the names that are shown: those of two lines may be equal.
fn lines(paths: &PathProfile, length: u32) -> BTreeMap<Key, (String, PathLine)> {
    let mut lines: BTreeMap<Key, (String, PathLine)> = BTreeMap::new();
    for (site, found) in paths.at(length).unwrap_or_default() {
        let frame = &site.frame;
        let number = if has_line(site) {
            u64::from(frame.line)
        } else {
            site.offset
        };
        let key = (site.module.clone(), frame.file.clone(), number);
        let known = lines.entry(key);
        let (_, line) = known.or_insert_with(|| (name(site), PathLine::default()));
        line.instructions += 1;
        for path in found {
            match line.paths.entry((path.outcomes, path.length)) {
                Entry::Vacant(place) => drop(place.insert(path.bins)),
                Entry::Occupied(mut sum) => sum.get_mut().merge(&path.bins),
            }
        }
    }
    lines
}

fn has_line(site: &PathSite) -> bool {
    !site.frame.file.is_empty() && site.frame.line != 0
}

fn name(site: &PathSite) -> String {
    let frame = &site.frame;
    if !has_line(site) {
        return format!("{}+{:#x}", site.module, site.offset);
    }
    let parts: Vec<&str> = frame.file.rsplitn(3, '/').take(2).collect();
    let file: Vec<&str> = parts.into_iter().rev().collect();
    format!("{}:{}", file.join("/"), frame.line)
}

impl PathLine {
    /// Misses in a cache of `items` items, with each bin counted at its mean.
    fn misses(&self, items: u64) -> u64 {
        let of = |bins: &PatternBins| {
            let far = bins.iter().filter(|bin| bin.mean >= items as f64);
            total(far.map(|bin| bin.accesses).chain([bins.cold()]))
        };
        total(self.paths.values().map(of))
    }

    /// A row for all paths together, and one for each of those with most accesses.
    fn picture(&self, name: String, items: u64, length: u32) -> Picture {
        let mut all = PatternBins::new();
        for bins in self.paths.values() {
            all.merge(bins);
        }
        let mut order: Vec<(&(u32, u32), &PatternBins)> = self.paths.iter().collect();
        order.sort_by(|a, b| b.1.accesses().cmp(&a.1.accesses()).then(a.0.cmp(b.0)));
        let row = |name: &str, bins: &PatternBins| PatternRow {
            name: name.to_owned(),
            bars: bars(bins, items),
            outlines: Vec::new(),
        };
        let shown = order.iter().take(PATHS);
        let rows = shown.map(|(path, bins)| row(&Path::ending(path.0, path.1, length), bins));
        let rows = std::iter::once(row("all paths", &all)).chain(rows);
        let plural = if self.instructions == 1 { "" } else { "s" };
        let note = format!(
            "{} path{} to {} instruction{plural}, {} accesses",
            count(self.paths.len() as u64),
            match self.paths.len().checked_sub(PATHS) {
                Some(1..) => format!("s (the first {PATHS} here)"),
                _ => "s".to_owned(),
            },
            count(self.instructions),
            count(all.accesses())
        );
        Picture {
            name,
            note,
            rows: rows.collect(),
        }
    }
}

/// The patterns of some distances, and the reuses that are too rare to be in one.
fn bars(bins: &PatternBins, items: u64) -> Vec<Bar> {
    let bins: Vec<PatternBin> = bins.iter().collect();
    let merging = Merging::default();
    let bar = |pattern: Pattern, rare| Bar {
        pattern,
        warm: pattern.mean >= items as f64,
        moves: false,
        rare,
    };
    let common = merging.patterns(&bins).into_iter();
    let common = common.map(|pattern| bar(pattern, false));
    let rare = merging.rare_patterns(&bins).into_iter();
    common
        .chain(rare.map(|pattern| bar(pattern, true)))
        .collect()
}

/// Appends the section: the pictures, and the table by length.
pub(crate) fn write(out: &mut String, scene: &Scene, pictures: &[Picture]) {
    let Some(paths) = &scene.profile.paths else {
        return;
    };
    let length = LENGTH.min(paths.length);
    let explain = format!(
        "The same line may find its data near or far, by the way on which the program came to it. Below are the lines with most misses \
         in a cache of {}. Each row is one path: the last {length} outcomes of conditional branches before the access, 1 for taken, the \
         newest last; of loops {} iterations are kept. {EXPLAIN} Where several bars of <i>all paths</i> become one bar for each path, \
         the path tells which distance it will be.",
        scene.chosen.label(),
        paths.keep
    );
    card(out, "paths", "Patterns by path", &explain, |out| {
        let edges: Vec<Edge> = scene
            .levels
            .iter()
            .map(|level| (level.short().to_owned(), level.items))
            .collect();
        multiples::write(out, pictures, &edges);
        path_shares::table(paths).write_html(out);
        let explain = escape(&path_shares::explain(paths));
        let _ = write!(out, "<p class=\"explain\">{explain}</p>");
    });
}
