//! A recorded trace of statements, in program order and in the order that brings uses of the same data together.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;

use reuselens_locality::{Cell, ExactHistogram, Method, Profile, ProfiledThread};
use reuselens_predict::{Statements, TooMany, keeps_dependences, reuse_driven};
use reuselens_trace::{Block, Kind, Source, Step};
use reuselens_units::Granularity;

use crate::shard::histogram_parallel;
use crate::{Error, this_machine};

/// What became of a trace of statements.
#[derive(Clone, Debug)]
pub struct Reordered {
    /// Statements.
    pub statements: usize,
    /// The distances in program order.
    pub program: Profile,
    /// Those in the order of reuse-driven execution.
    pub reordered: Profile,
}

/// Reads a trace in which the program names its data and marks its statements, and moves every statement up to the one
/// that it shares data with, as far as dependences permit.
///
/// A mark begins a statement: what a thread names until its next mark is one, and each access
/// before its first mark is one by itself. Elements count once per statement, where they are named
/// first, so the distances in program order are those of the program in statement mode
/// ([`NamesMode::Statement`](crate::attribute::NamesMode)).
///
/// The element that a statement names last is taken as written, all others as read. So a statement
/// that names one element is taken to write it; where it only reads, that keeps an order that need
/// not be kept. Data that the program does not name have no dependences. The result is checked:
/// each element is written in the same order as before, and read after the same write.
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
    let statements = statements(source, granularity)?;
    if statements.is_empty() {
        return Err(Error::NoStatements);
    }
    let program: Vec<u32> = (0..statements.len() as u32).collect();
    let order = reuse_driven(&statements);
    if !keeps_dependences(&statements, &order) {
        return Err(Error::Reordered);
    }
    let profile = |order: &[u32], how: &str| {
        let items: Vec<u64> = order
            .iter()
            .flat_map(|one| statements.accesses(*one as usize))
            .copied()
            .collect();
        let histogram = histogram_parallel(&items, NonZeroUsize::MIN);
        profile(histogram, command, how, granularity)
    };
    Ok(Reordered {
        statements: statements.len(),
        program: profile(&program, "program order"),
        reordered: profile(&order, "reordered"),
    })
}

/// What a thread named since its last mark.
#[derive(Default)]
struct Named {
    /// Whether a statement has begun.
    begun: bool,
    addresses: Vec<u64>,
}

/// The statements of a trace, in the order in which they end.
fn statements(source: &mut dyn Source, granularity: Granularity) -> Result<Statements, Error> {
    let mut statements = Statements::new();
    let mut threads: BTreeMap<u32, Named> = BTreeMap::new();
    let mut marks = false;
    let mut block = Block::new();
    loop {
        match source.next(&mut block)? {
            Step::End => break,
            Step::Event(_) => {}
            Step::Block => {
                let process = u64::from(block.process.0) << 48;
                let mine = threads.entry(block.thread.0).or_default();
                for row in block.rows() {
                    match row.kind {
                        Kind::Named => {
                            mine.addresses.push(row.addr ^ process);
                            if !mine.begun {
                                close(mine, &mut statements, granularity)?;
                            }
                        }
                        Kind::Statement => {
                            close(mine, &mut statements, granularity)?;
                            (mine.begun, marks) = (true, true);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    for mine in threads.values_mut() {
        close(mine, &mut statements, granularity)?;
    }
    match marks {
        true => Ok(statements),
        false => Ok(Statements::new()),
    }
}

/// A statement ends: each address that it named counts once, where it was named first.
fn close(
    mine: &mut Named,
    statements: &mut Statements,
    granularity: Granularity,
) -> Result<(), TooMany> {
    let Some(written) = mine.addresses.last().copied() else {
        return Ok(());
    };
    let mut seen = HashSet::new();
    mine.addresses.retain(|address| seen.insert(*address));
    let item = |address: u64| address / granularity.bytes();
    let accesses = mine.addresses.drain(..);
    statements.push(accesses.map(|address| (item(address), item(address) == item(written))))
}

fn profile(
    histogram: ExactHistogram,
    command: &[String],
    how: &str,
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
            source: "elements named by the program".to_owned(),
            order: how.to_owned(),
            kinds: "all".to_owned(),
            data: "all".to_owned(),
            ..Method::default()
        },
        outcome: Default::default(),
        granularity,
        references: histogram.accesses(),
        histogram,
        invalidated: 0,
        requested_bytes: None,
        reuse_times: None,
        paths: None,
        builds: Default::default(),
        sites: vec![Default::default()],
        objects: vec![Default::default()],
        contexts: vec![Default::default()],
        threads: vec![ProfiledThread {
            name: "all threads".to_owned(),
            ..ProfiledThread::default()
        }],
        cells: vec![cell],
        warnings: Vec::new(),
    };
    profile.canonicalise();
    profile
}
