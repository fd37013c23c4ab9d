//! The objects of a plan as text: those that matter, with the chunks that go together as one row.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use reuselens_document::numbers::{count, percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::total;
use reuselens_placement::{Objective, Placed, PlacementPlan, Reason, exact_size};
use reuselens_profile::Frame;
use reuselens_units::{Bytes, shown};

use super::{PlacementReport, calls, reason, tier};

/// Calls of an allocation path that are shown, at most.
const CALLS: usize = 4;

/// Chunks of one object that belong in one place for one reason, or an object without chunks.
struct ObjectRow<'a> {
    /// The best rank of the chunks, from 0.
    rank: usize,
    /// The name of the object.
    name: &'a str,
    /// The first of them.
    first: &'a Placed,
    /// All of them.
    chunks: Vec<&'a Placed>,
    bytes: u64,
    accesses: u64,
    misses: u64,
}

impl ObjectRow<'_> {
    /// What the row counts with by the plan's objective.
    fn weight(&self, plan: &PlacementPlan) -> u64 {
        match plan.objective {
            Objective::F => self.accesses,
            Objective::Misses | Objective::Time => self.misses,
        }
    }

    /// Whether it has a thousandth of the accesses or of the misses.
    fn is_notable(&self, plan: &PlacementPlan) -> bool {
        self.accesses >= plan.accesses / 1000 || self.misses > plan.misses / 1000
    }

    /// Which bytes of each block it is.
    fn part(&self) -> String {
        let mut parts: Vec<(u64, u64)> = Vec::new();
        let mut all: Vec<(u64, u64)> = self
            .chunks
            .iter()
            .flat_map(|placed| placed.candidate.parts.iter().copied())
            .collect();
        all.sort_unstable();
        for (start, end) in all {
            match parts.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => parts.push((start, end)),
            }
        }
        match parts[..] {
            [] => "all".to_owned(),
            [(start, end)] => range(start, end),
            _ => format!("{} chunks", self.chunks.len()),
        }
    }

    /// Accesses by thread, ascending.
    fn by_thread(&self) -> BTreeMap<u32, u64> {
        let mut threads = BTreeMap::new();
        for &(thread, accesses) in self.chunks.iter().flat_map(|it| &it.candidate.by_thread) {
            let sum: &mut u64 = threads.entry(thread).or_default();
            *sum = sum.saturating_add(accesses);
        }
        threads
    }

    fn cells(&self, plan: &PlacementPlan) -> Vec<String> {
        let belongs = match self.first.reason {
            Reason::Placed => tier(plan, self.first),
            _ => format!("{}: {}", tier(plan, self.first), reason(self.first)),
        };
        vec![
            (self.rank + 1).to_string(),
            self.name.to_owned(),
            self.part(),
            Bytes(self.bytes).to_string(),
            count(self.accesses),
            percent(self.accesses, plan.accesses),
            format!("{:.2}", self.accesses as f64 / self.bytes.max(1) as f64),
            count(self.misses),
            belongs,
        ]
    }
}

/// Bytes of a block: `64–128 KiB`.
fn range(start: u64, end: u64) -> String {
    let (first, last) = (exact_size(start), exact_size(end));
    let unit = |size: &str| size.split(' ').next_back().map(str::to_owned);
    match first.split(' ').next() {
        Some(number) if start == 0 || unit(&first) == unit(&last) => format!("{number}–{last}"),
        _ => format!("{first} – {last}"),
    }
}

/// The rows of a plan, by falling F of the best chunk of each.
fn object_rows<'a>(report: &PlacementReport<'a>) -> Vec<ObjectRow<'a>> {
    let mut found: Vec<ObjectRow<'a>> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (rank, placed) in report.plan.objects.iter().enumerate() {
        let object = &report.profile.objects[placed.candidate.object];
        let key = (
            (&object.name, &object.path, &object.origins),
            (placed.tier, placed.core_of, reason(placed)),
        );
        let is_chunk = !placed.candidate.parts.is_empty();
        let at = match known.get(&key).filter(|_| is_chunk) {
            Some(&at) => at,
            None => {
                if is_chunk {
                    known.insert(key, found.len());
                }
                found.push(ObjectRow {
                    rank,
                    name: &object.name,
                    first: placed,
                    chunks: Vec::new(),
                    bytes: 0,
                    accesses: 0,
                    misses: 0,
                });
                found.len() - 1
            }
        };
        let row = &mut found[at];
        row.chunks.push(placed);
        row.bytes = row.bytes.saturating_add(placed.candidate.bytes);
        row.accesses = row.accesses.saturating_add(placed.candidate.accesses);
        row.misses = row.misses.saturating_add(placed.candidate.misses);
    }
    found
}

/// Appends the objects that matter, by falling F, at most `top` of them; the others are counted.
pub(super) fn objects(
    out: &mut String,
    report: &PlacementReport,
    top: usize,
    width: usize,
    paint: Paint,
) {
    let plan = report.plan;
    let all = object_rows(report);
    let mut shown: Vec<&ObjectRow> = all.iter().filter(|row| row.is_notable(plan)).collect();
    // Those that the plan is about first; shown by rank.
    shown.sort_by_key(|row| {
        let is_slow = row.first.reason != Reason::Placed;
        (is_slow, Reverse(row.weight(plan)), row.rank)
    });
    shown.truncate(top);
    shown.sort_by_key(|row| row.rank);
    let aside = match all.len() - shown.len() {
        0 => String::new(),
        _ => format!(
            "({} of {} rows: those in fast memory, then those with most {})",
            shown.len(),
            all.len(),
            match plan.objective {
                Objective::F => "accesses",
                Objective::Misses | Objective::Time => "misses",
            }
        ),
    };
    let title = "Objects by F, accesses for each byte";
    heading(out, title, &aside, width, paint);
    let columns = [
        TableColumn::numbers("rank"),
        TableColumn::words("object"),
        TableColumn::words("part"),
        TableColumn::numbers("size"),
        TableColumn::numbers("accesses"),
        TableColumn::numbers("share"),
        TableColumn::numbers("F"),
        TableColumn::numbers("misses"),
        TableColumn::words("belongs in"),
    ];
    let cells: Vec<Vec<String>> = shown.iter().map(|row| row.cells(plan)).collect();
    Table::new(columns, cells).write_text(out, width, paint);
    others(out, &all, &shown);
    details(out, &shown, width, paint);
}

/// Counts the rows that are not shown.
fn others(out: &mut String, all: &[ObjectRow], shown: &[&ObjectRow]) {
    let ranks: BTreeSet<usize> = shown.iter().map(|row| row.rank).collect();
    let hidden: Vec<&ObjectRow> = all
        .iter()
        .filter(|row| !ranks.contains(&row.rank))
        .collect();
    if hidden.is_empty() {
        return;
    }
    let fast = hidden
        .iter()
        .filter(|row| row.first.reason == Reason::Placed);
    let bytes = total(hidden.iter().map(|row| row.bytes));
    let _ = writeln!(
        out,
        "  {} others of {} together, {} of them in fast memory",
        hidden.len(),
        Bytes(bytes),
        fast.count()
    );
}

/// Of each object, the place in the source where it is allocated, and who accesses it.
fn details(out: &mut String, shown: &[&ObjectRow], width: usize, paint: Paint) {
    let with_path = |row: &&&ObjectRow| !row.first.candidate.path.is_empty();
    let mut with_path = shown.iter().filter(with_path).peekable();
    if with_path.peek().is_none() {
        return;
    }
    let title = "Where they are allocated, innermost call first";
    heading(out, title, "", width, paint);
    // The rank and the name of the first object with a path.
    let mut seen: BTreeMap<&[Frame], (usize, &str)> = BTreeMap::new();
    for row in with_path {
        let path = row.first.candidate.path.as_slice();
        let rank = row.rank + 1;
        let place = match *seen.entry(path).or_insert((rank, row.name)) {
            (first, _) if first == rank => path_words(path),
            // Other chunks of the object.
            (_, name) if name == row.name => continue,
            (first, _) => format!("as {first}"),
        };
        let _ = writeln!(out, "  {rank:>4}  {}", wrap(&shown_words(&place), width, 8));
        let text = usage(shown, row);
        let text = paint.ink(TextStyle::Soft, &wrap(&text, width, 8));
        let _ = writeln!(out, "        {text}");
    }
}

fn shown_words(text: &str) -> String {
    shown(text).into_owned()
}

fn path_words(path: &[Frame]) -> String {
    let mut words: Vec<String> = calls(path).take(CALLS).collect();
    if path.len() > CALLS {
        words.push("…".to_owned());
    }
    words.join(" < ")
}

/// Who accesses an object, over all of its rows that are shown.
fn usage(shown: &[&ObjectRow], of: &ObjectRow) -> String {
    let same = |row: &&&ObjectRow| {
        row.name == of.name && row.first.candidate.path == of.first.candidate.path
    };
    let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut stores, mut accesses, mut blocks) = (0_u64, 0_u64, 0);
    for row in shown.iter().filter(same) {
        for (thread, count) in row.by_thread() {
            *threads.entry(thread).or_default() += count;
        }
        accesses = accesses.saturating_add(row.accesses);
        for candidate in row.chunks.iter().map(|placed| &placed.candidate) {
            stores = stores.saturating_add(candidate.stores);
            blocks = candidate.blocks.max(blocks);
        }
    }
    let share = |(thread, count): (&u32, &u64)| format!("{thread}: {}", percent(*count, accesses));
    let mut words: Vec<String> = threads.iter().take(8).map(share).collect();
    if threads.len() > 8 {
        words.push("…".to_owned());
    }
    format!(
        "{} of the accesses store; by thread {}; {}",
        percent(stores, accesses),
        words.join(", "),
        match blocks {
            1 => "one block".to_owned(),
            many => format!(
                "{} blocks, the size is of those live at one time",
                count(many)
            ),
        }
    )
}
