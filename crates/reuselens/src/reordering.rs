//! A recorded trace of statements, in program order and in the order that brings uses of the same
//! data together.

use std::collections::{BTreeMap, HashMap};

use reuselens_distance::{CountingTree, Engine};
use reuselens_locality::{ExactHistogram, KeyedHistograms};
use reuselens_predict::{Statements, TooMany, keeps_dependences, reuse_driven};
use reuselens_profile::{Method, Profile};
use reuselens_symbols::Loader;
use reuselens_trace::{Block, Kind, Source, Step};
use reuselens_units::{Distance, Granularity};

use crate::attribution::Uncounted;
use crate::line_statements::{LINE_MARK, LineStatements};
use crate::row_cells::{NO_CELL, RowCells};
use crate::{Error, this_machine};

/// What became of a trace of statements.
#[derive(Clone, Debug)]
pub struct Reordered {
    /// Statements.
    pub statements: usize,
    /// Whether they are source lines, since the program marks none.
    pub lines: bool,
    /// The distances in program order.
    pub program: Profile,
    /// Those in the order of reuse-driven execution.
    pub reordered: Profile,
}

impl Reordered {
    /// The bytes of a cache at which the two orders differ, if they do not in this machine's: data
    /// of a small input are in all of those. Of powers of two, the largest with nine tenths of the
    /// greatest difference of misses.
    pub fn differing_cache(&self) -> Option<u64> {
        let unit = self.program.granularity.bytes();
        let differ = |items: u64| {
            let [before, after] =
                [&self.program, &self.reordered].map(|profile| profile.histogram.misses(items));
            before.abs_diff(after)
        };
        let caches = self.program.machine.data_caches();
        let noticeable = self.program.references / 100;
        if caches
            .iter()
            .any(|cache| differ(cache.size.get() / unit) > noticeable)
        {
            return None;
        }
        let largest = self.program.histogram.max().unwrap_or(0);
        let sizes = (0..).map(|shift| 1_u64 << shift);
        let sizes: Vec<u64> = sizes.take_while(|size| *size <= largest).collect();
        let most = sizes
            .iter()
            .map(|size| differ(*size))
            .max()
            .filter(|most| *most > 0)?;
        let enough = |size: &&u64| differ(**size) >= most - most / 10;
        sizes.iter().rfind(enough).map(|size| size * unit)
    }
}

/// Reads a trace of statements, and moves every statement up to the one that it shares data with,
/// as far as dependences permit.
///
/// A program that names its data and marks its statements: a mark begins a statement. What a thread
/// names until its next mark is one, and each access before its first mark is one by itself.
/// Elements count once per statement, where they are named first. The element that a statement
/// names last is taken as written, all others as read. So a statement that names one element is
/// taken to write it; where it only reads, that keeps an order that need not be kept. Data that
/// the program does not name have no dependences.
///
/// Of a program that marks statements and names no access, all of its accesses between two marks
/// are a statement. Of one that does neither, the source lines are the statements, where they are
/// known. In both, each row says whether it loads or stores.
///
/// Either way, the distances in program order are those of the program in statement mode
/// ([`NamesMode::Statement`](crate::attribute::NamesMode)). The result is checked: each element is
/// written in the same order as before, and read after the same write. Each access counts for the
/// same line, object and thread in both orders.
///
/// Cost: linear in the trace, which is in memory: about 64 bytes per access.
///
/// # Errors
/// If the trace cannot be read, or has no statements, or too many.
pub fn reorder(
    source: &mut dyn Source,
    command: &[String],
    granularity: Granularity,
) -> Result<Reordered, Error> {
    let mut source = LineStatements::new(source, Box::new(Loader::new()));
    let machine = this_machine();
    let mut cells = RowCells::new(&source, &machine, granularity);
    let AttributedStatements {
        statements,
        cells: of_accesses,
        kind,
    } = statements(&mut source, granularity, &mut cells)?;
    if statements.is_empty() {
        return Err(Error::NoStatements);
    }
    let program: Vec<u32> = (0..statements.len() as u32).collect();
    let order = reuse_driven(&statements);
    if !keeps_dependences(&statements, &order) {
        return Err(Error::Reordered);
    }
    let uncounted = cells.finish(&source, machine);
    let ends = access_ends(&statements);
    let profile = |order: &[u32], how: &str| {
        let (mut items, mut cells) = (Vec::new(), Vec::new());
        for &statement in order {
            let accesses = statements.accesses(statement as usize);
            let end = ends[statement as usize];
            items.extend_from_slice(accesses);
            cells.extend_from_slice(&of_accesses[end - accesses.len()..end]);
        }
        profile(uncounted.clone(), (&items, cells), command, (how, kind))
    };
    Ok(Reordered {
        statements: statements.len(),
        lines: kind == StatementKind::Line,
        program: profile(&program, "program order"),
        reordered: profile(&order, "reordered"),
    })
}

/// For each statement the number of accesses up to its end, in program order.
fn access_ends(statements: &Statements) -> Vec<usize> {
    let mut end = 0;
    let ends = (0..statements.len()).map(|statement| {
        end += statements.accesses(statement).len();
        end
    });
    ends.collect()
}

/// The statements of a trace, in the order in which they end, and the cells of their accesses.
fn statements(
    source: &mut LineStatements<'_>,
    granularity: Granularity,
    cells: &mut RowCells,
) -> Result<AttributedStatements, Error> {
    let mut found = StatementBuilder::new(granularity);
    let (mut block, mut of_rows) = (Block::new(), Vec::new());
    loop {
        match source.next(&mut block)? {
            Step::End => break,
            Step::Event(event) => cells.event(event),
            Step::Block => {
                if block.rows().any(|row| row.kind == Kind::Named) {
                    found.begin_anew(StatementKind::Named);
                } else if source.are_named() {
                    found.begin_anew(StatementKind::Marked);
                }
                cells.of_block(&block, &mut of_rows);
                found.block(&block, &of_rows)?;
            }
        }
    }
    found.finish()
}

/// What a statement is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum StatementKind {
    /// A run of the code of a source line, with all of its accesses.
    #[default]
    Line,
    /// What runs from one mark of the program to the next, with all of its accesses.
    Marked,
    /// The accesses that the program names between two of its marks. No others count.
    Named,
}

/// Statements, and for each of their accesses the cell that it counts for, in program order.
#[derive(Debug, Default)]
struct AttributedStatements {
    statements: Statements,
    cells: Vec<u32>,
    kind: StatementKind,
}

/// What a statement does with an address.
struct Use {
    address: u64,
    /// Bytes of the first use of the address, which counts.
    bytes: u64,
    /// Bytes of the longest use of the address: dependences are those of all uses.
    longest: u64,
    written: bool,
    /// The cell of the first use.
    cell: u32,
}

/// What a thread did since its last mark.
#[derive(Default)]
struct Pending {
    /// Whether a statement has begun.
    begun: bool,
    uses: Vec<Use>,
}

/// The statements of a trace up to a block.
struct StatementBuilder {
    granularity: Granularity,
    found: AttributedStatements,
    threads: BTreeMap<u32, Pending>,
    /// Whether a mark was there.
    marks: bool,
}

impl StatementBuilder {
    fn new(granularity: Granularity) -> Self {
        StatementBuilder {
            granularity,
            found: AttributedStatements::default(),
            threads: BTreeMap::new(),
            marks: false,
        }
    }

    /// Forgets what was found, if statements are of another kind from here on: what the program
    /// marks counts more than its lines, and what it names more than that. A statement that a mark
    /// has begun goes on.
    fn begin_anew(&mut self, kind: StatementKind) {
        if kind <= self.found.kind {
            return;
        }
        let marked = self.found.kind == StatementKind::Marked;
        self.marks &= marked;
        self.found = AttributedStatements {
            kind,
            ..AttributedStatements::default()
        };
        for mine in self.threads.values_mut() {
            mine.begun &= marked;
            mine.uses.clear();
        }
    }

    /// Adds the rows of a block, with the cell of each.
    fn block(&mut self, block: &Block, cells: &[u32]) -> Result<(), TooMany> {
        let process = u64::from(block.process.0) << 48;
        let mine = self.threads.entry(block.thread.0).or_default();
        let kind = self.found.kind;
        for (at, (row, &cell)) in block.rows().zip(cells).enumerate() {
            if row.kind == Kind::Statement && is_mark(row.size, kind) {
                close(mine, &mut self.found, self.granularity)?;
                (mine.begun, self.marks) = (true, true);
            }
            if !row.kind.is_access() || (row.kind == Kind::Named) != (kind == StatementKind::Named)
            {
                continue;
            }
            let bytes = match row.kind {
                Kind::Named => 1,
                _ => block.access_bytes(at),
            };
            if mine.uses.len() >= Statements::MAX_PER_STATEMENT {
                return Err(TooMany::InStatement);
            }
            mine.uses.push(Use {
                address: row.addr ^ process,
                bytes,
                longest: bytes,
                // Of what is named, the last is.
                written: !matches!(row.kind, Kind::Named | Kind::Load | Kind::RangeLoad),
                cell,
            });
            if !mine.begun {
                close(mine, &mut self.found, self.granularity)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<AttributedStatements, Error> {
        for mine in self.threads.values_mut() {
            close(mine, &mut self.found, self.granularity)?;
        }
        if self.marks {
            Ok(self.found)
        } else {
            Ok(AttributedStatements::default())
        }
    }
}

/// Whether a mark of this size begins a statement of this kind.
fn is_mark(size: u8, kind: StatementKind) -> bool {
    (size == LINE_MARK) == (kind == StatementKind::Line)
}

/// A statement ends: each address counts once, with the bytes of its first use, as in statement
/// mode. All bytes of its longest use have dependences, and are written if any use of it writes.
fn close(
    mine: &mut Pending,
    found: &mut AttributedStatements,
    granularity: Granularity,
) -> Result<(), TooMany> {
    let Some(last) = mine.uses.last() else {
        return Ok(());
    };
    let items = |used: &Use| granularity.cover(used.address, used.bytes);
    let last_item = |used: &Use| granularity.cover(used.address, used.longest).1;
    let written = (found.kind == StatementKind::Named).then(|| items(last).0);
    let mut places = HashMap::new();
    let mut kept: Vec<Use> = Vec::new();
    for used in mine.uses.drain(..) {
        match places.get(&used.address) {
            Some(at) => {
                let first: &mut Use = &mut kept[*at];
                first.written |= used.written;
                first.longest = first.longest.max(used.longest);
            }
            None => {
                places.insert(used.address, kept.len());
                kept.push(used);
            }
        }
    }
    // Before anything is stored: a damaged trace can have accesses of any length.
    let count = kept.iter().fold(0_u64, |count, used| {
        let count = count.saturating_add(last_item(used) - items(used).0);
        count.saturating_add(1)
    });
    if count > Statements::MAX_PER_STATEMENT as u64 {
        return Err(TooMany::InStatement);
    }
    let accesses = kept.iter().flat_map(|used| {
        let (first, last) = items(used);
        (first..=last).map(|item| (item, used.written || written == Some(item)))
    });
    let further = kept.iter().flat_map(|used| {
        let (_, counted) = items(used);
        let items = (counted..=last_item(used)).skip(1);
        items.map(|item| (item, used.written))
    });
    found.statements.push_with(accesses, further)?;
    for used in &kept {
        let (first, last) = items(used);
        let number = (last - first) as usize + 1;
        found.cells.extend(std::iter::repeat_n(used.cell, number));
    }
    Ok(())
}

/// Accesses at which distances are counted.
const PIECE: usize = 1 << 16;

/// The profile of accesses in an order: their items, and the cells that they count for.
fn profile(
    mut uncounted: Uncounted,
    (items, mut cells): (&[u64], Vec<u32>),
    command: &[String],
    (how, kind): (&str, StatementKind),
) -> Profile {
    let none = uncounted.profile.cells.len() as u32 - 1;
    for cell in cells.iter_mut().filter(|cell| **cell == NO_CELL) {
        *cell = none;
    }
    let (mut engine, mut keyed) = (CountingTree::new(), KeyedHistograms::new());
    let mut histogram = ExactHistogram::new();
    let mut distances = vec![Distance::COLD; PIECE];
    for (items, cells) in items.chunks(PIECE).zip(cells.chunks(PIECE)) {
        let distances = &mut distances[..items.len()];
        engine.process(items, distances);
        keyed.add_column(cells, distances);
        histogram.add_column(distances);
    }
    let profile = &mut uncounted.profile;
    // What distinguishes the two where they are compared.
    profile.command = [command, &[format!("({how})")]].concat();
    profile.method = Method {
        engine: "counting".to_owned(),
        exact: true,
        source: match kind {
            StatementKind::Line => "accesses of source lines",
            StatementKind::Marked => "accesses of statements that the program marks",
            StatementKind::Named => "elements named by the program",
        }
        .to_owned(),
        order: how.to_owned(),
        kinds: "all".to_owned(),
        data: "all".to_owned(),
        ..Method::default()
    };
    profile.references = histogram.accesses();
    profile.histogram = histogram;
    uncounted.counted(keyed.iter(), |_| None)
}

#[cfg(test)]
mod tests {
    use reuselens_trace::Row;

    use super::*;

    /// The statements of rows in which each mark is that of a line.
    fn built(rows: &[(Kind, u64, u8)]) -> Result<Statements, Error> {
        let mut block = Block::new();
        for &(kind, addr, size) in rows {
            block.push(Row {
                kind,
                size,
                pc: 0,
                addr,
            });
        }
        let mut builder = StatementBuilder::new(Granularity::new(8).unwrap());
        builder.block(&block, &vec![NO_CELL; block.len()])?;
        Ok(builder.finish()?.statements)
    }

    #[test]
    fn a_longer_use_of_an_address_keeps_its_dependences() {
        let statements = built(&[
            (Kind::Statement, 0, LINE_MARK),
            (Kind::Load, 0x1000, 1),
            (Kind::Store, 0x1000, 16),
            (Kind::Statement, 0, LINE_MARK),
            (Kind::Load, 0x1008, 8),
        ])
        .unwrap();
        // As in statement mode, the address counts once, with the bytes of its first use.
        assert_eq!(statements.len(), 2);
        assert_eq!(statements.accesses(0), [0x200]);
        assert_eq!(statements.accesses(1), [0x201]);
        assert!(!keeps_dependences(&statements, &[1, 0]));
        assert_eq!(reuse_driven(&statements), [0, 1]);
    }

    #[test]
    fn a_statement_of_any_length_is_not_stored() {
        for bytes in [
            u64::MAX,
            1 << 34,
            8 * Statements::MAX_PER_STATEMENT as u64 + 1,
        ] {
            let result = built(&[
                (Kind::Statement, 0, LINE_MARK),
                (Kind::RangeLoad, 0, 0),
                (Kind::Operand, bytes, 0),
            ]);
            let too_many = Error::TooManyStatements(TooMany::InStatement);
            assert_eq!(result.unwrap_err().to_string(), too_many.to_string());
        }
    }
}
