//! A recorded trace of statements, in program order and in the order that brings uses of the same
//! data together.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use reuselens_attribute::Loader;
use reuselens_locality::{Cell, ExactHistogram, Method, Profile, ProfiledThread};
use reuselens_predict::{Statements, TooMany, keeps_dependences, reuse_driven};
use reuselens_trace::{Block, Kind, Source, Step};
use reuselens_units::Granularity;

use crate::line_statements::{LINE_MARK, LineStatements};
use crate::shard::histogram_parallel;
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
/// Of a program that names nothing, the source lines are the statements, where they are known, and
/// each row says whether it loads or stores.
///
/// Either way, the distances in program order are those of the program in statement mode
/// ([`NamesMode::Statement`](crate::attribute::NamesMode)). The result is checked: each element is
/// written in the same order as before, and read after the same write.
///
/// Cost: linear in the trace, which is in memory: about 60 bytes per access.
///
/// # Errors
/// If the trace cannot be read, or has no statements, or too many.
pub fn reorder(
    source: &mut dyn Source,
    command: &[String],
    granularity: Granularity,
) -> Result<Reordered, Error> {
    let mut source = LineStatements::new(source, Box::new(Loader::new()));
    let statements = statements(&mut source, granularity)?;
    if statements.is_empty() {
        return Err(Error::NoStatements);
    }
    let program: Vec<u32> = (0..statements.len() as u32).collect();
    let order = reuse_driven(&statements);
    if !keeps_dependences(&statements, &order) {
        return Err(Error::Reordered);
    }
    let lines = !source.are_named();
    let profile = |order: &[u32], how: &str| {
        let items: Vec<u64> = order
            .iter()
            .flat_map(|one| statements.accesses(*one as usize))
            .copied()
            .collect();
        let histogram = histogram_parallel(&items, NonZeroUsize::MIN);
        profile(histogram, command, (how, lines), granularity)
    };
    Ok(Reordered {
        statements: statements.len(),
        lines,
        program: profile(&program, "program order"),
        reordered: profile(&order, "reordered"),
    })
}

/// The statements of a trace, in the order in which they end.
fn statements(
    source: &mut LineStatements<'_>,
    granularity: Granularity,
) -> Result<Statements, Error> {
    let mut found = StatementBuilder::new(granularity);
    let mut block = Block::new();
    loop {
        match source.next(&mut block)? {
            Step::End => break,
            Step::Event(_) => {}
            Step::Block => {
                if source.are_named() && !found.named {
                    // Where the program names its accesses no others count.
                    found = StatementBuilder::new(granularity);
                    found.named = true;
                }
                found.block(&block)?;
            }
        }
    }
    found.finish()
}

/// What a statement does with an address.
struct Use {
    address: u64,
    /// Bytes of the first use of the address, which counts.
    bytes: u64,
    /// Bytes of the longest use of the address: dependences are those of all uses.
    longest: u64,
    written: bool,
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
    statements: Statements,
    threads: BTreeMap<u32, Pending>,
    /// Whether accesses count that the program names, and no others.
    named: bool,
    /// Whether a mark was there.
    marks: bool,
}

impl StatementBuilder {
    fn new(granularity: Granularity) -> Self {
        StatementBuilder {
            granularity,
            statements: Statements::new(),
            threads: BTreeMap::new(),
            named: false,
            marks: false,
        }
    }

    fn block(&mut self, block: &Block) -> Result<(), TooMany> {
        let process = u64::from(block.process.0) << 48;
        let mine = self.threads.entry(block.thread.0).or_default();
        for (at, row) in block.rows().enumerate() {
            if row.kind == Kind::Statement && (row.size == LINE_MARK) != self.named {
                close(mine, &mut self.statements, (self.granularity, self.named))?;
                (mine.begun, self.marks) = (true, true);
            }
            if !row.kind.is_access() || (row.kind == Kind::Named) != self.named {
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
            });
            if !mine.begun {
                close(mine, &mut self.statements, (self.granularity, self.named))?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Statements, Error> {
        for mine in self.threads.values_mut() {
            close(mine, &mut self.statements, (self.granularity, self.named))?;
        }
        match self.marks {
            true => Ok(self.statements),
            false => Ok(Statements::new()),
        }
    }
}

/// A statement ends: each address counts once, with the bytes of its first use, as in statement
/// mode. All bytes of its longest use have dependences, and are written if any use of it writes.
fn close(
    mine: &mut Pending,
    statements: &mut Statements,
    (granularity, named): (Granularity, bool),
) -> Result<(), TooMany> {
    let Some(last) = mine.uses.last() else {
        return Ok(());
    };
    let items = |used: &Use| granularity.cover(used.address, used.bytes);
    let last_item = |used: &Use| granularity.cover(used.address, used.longest).1;
    let written = named.then(|| items(last).0);
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
    statements.push_with(accesses, further)
}

fn profile(
    histogram: ExactHistogram,
    command: &[String],
    (how, lines): (&str, bool),
    granularity: Granularity,
) -> Profile {
    let mut cell = Cell::default();
    cell.histogram.add_exact(&histogram);
    cell.distance_sum = histogram.distance_sum();
    cell.distance_max = histogram.max().unwrap_or(0);
    let mut profile = Profile {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // What tells the two apart where they are compared.
        command: [command, &[format!("({how})")]].concat(),
        machine: this_machine(),
        method: Method {
            engine: "counting".to_owned(),
            exact: true,
            source: match lines {
                true => "accesses of source lines".to_owned(),
                false => "elements named by the program".to_owned(),
            },
            order: how.to_owned(),
            kinds: "all".to_owned(),
            data: "all".to_owned(),
            ..Method::default()
        },
        references: histogram.accesses(),
        histogram,
        threads: vec![ProfiledThread {
            name: "all threads".to_owned(),
            ..ProfiledThread::default()
        }],
        cells: vec![cell],
        ..Profile::empty(granularity)
    };
    profile.canonicalise();
    profile
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
        builder.block(&block)?;
        builder.finish()
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
