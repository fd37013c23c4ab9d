//! One piece of a trace becomes a part.

use reuselens_attribute::Columns;
use reuselens_profile::{Outcome, Sharing};
use reuselens_trace::{Block, Source, Step, TraceError};
use reuselens_units::{Accesses, Bytes};

use super::groups::Groups;
use super::identity::typed;
use super::part::{Head, Part, PrefixMark};
use super::{Known, PartError, Piece, SegmentCounts, TraceIdentity};
use crate::attribution::{self, Attribution, granularity, no_accesses};
use crate::budget::Looks;
use crate::counts;
use crate::line_statements::with_lines;
use crate::stopping::{CUT_OFF, truncated};
use crate::{AnalysisOptions, Error, Progress, this_machine};

/// Engines that pieces can stand in for: all exact ones give the same, and this is the one that is
/// used.
const ENGINES: [&str; 2] = ["auto", "counting"];
/// The engine that is used.
const ENGINE: &str = "counting";

/// Analyses piece `piece` of a trace: those blocks before which that share of its bytes was read.
/// `source` must be at the beginning of the trace, and `trace` say which it is.
///
/// What comes before is read and attributed, but not counted, so that names and numbers are those
/// of the whole. Cost: that of attribution for what is before, that of an analysis for the piece.
/// Memory: that of an analysis of the piece, 16 bytes per distinct item more.
///
/// # Errors
/// As [`analyze`](crate::analyze), and [`PartError`] if the source does not know its length, the
/// engine is none for pieces, or the memory does not suffice (a piece that is not whole is of no
/// use).
pub fn analyze_shard(
    source: &mut dyn Source,
    trace: TraceIdentity,
    command: Vec<String>,
    options: &AnalysisOptions,
    piece: Piece,
    progress: &mut dyn FnMut(Progress),
) -> Result<Part, Error> {
    check(options)?;
    if options.placement.is_some() {
        return Err(Error::Together {
            one: "--placement",
            other: "shard",
            why: "footprints of pieces do not add up",
        });
    }
    if options.causes.is_some() {
        return Err(Error::Together {
            one: "--why",
            other: "shard",
            why: "what happens to a line between two misses may be in several pieces",
        });
    }
    attribution::check(source, options)?;
    let options = &options.resolved();
    with_lines(source, options, |source| {
        analyze_marked(source, (trace, command), options, piece, progress)
    })
}

/// [`analyze_shard`], of a source that has all marks that there are to be.
fn analyze_marked(
    source: &mut dyn Source,
    (trace, command): (TraceIdentity, Vec<String>),
    options: &AnalysisOptions,
    piece: Piece,
    progress: &mut dyn FnMut(Progress),
) -> Result<Part, Error> {
    let machine = this_machine();
    let typed = typed(options, granularity(source, &machine, options));
    let mut pass = PiecePass {
        piece,
        attribution: Attribution::merging(source, &machine, options, counts::merge_cells(options)),
        segment: SegmentCounts::default(),
        known: Known::default(),
        before: PrefixMark::default(),
        now: PrefixMark::default(),
        limit: options.memory_limit(),
        looks: Looks::new(),
        others: Bytes(0),
    };
    source.read_ahead_within(options.memory_ahead());
    let end = pass.run(source, progress)?;
    let (before, behind) = (pass.before, pass.now);
    let mut head = Head {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        trace,
        options: typed,
        first: piece.number(),
        last: piece.number(),
        of: piece.of(),
        before,
        behind,
        accesses: 0,
        histogram: Default::default(),
        cells: Groups::default(),
        elements: Groups::default(),
        moves: pass.segment.take_moves(),
    };
    head.count(pass.known);
    let mut ending = None;
    if piece.number() == piece.of() {
        if let End::Broken(error) = &end {
            pass.attribution.warnings.push(truncated(error));
            pass.attribution.outcome = Some(Outcome::Incomplete(CUT_OFF.to_owned()));
        } else if behind.accesses == 0 {
            let none = no_accesses(pass.attribution.ids);
            pass.attribution.warnings.push(none);
        }
        let attribution = pass.attribution;
        let mut uncounted = attribution.finish(source, command, machine, options);
        uncounted.profile.method.engine = ENGINE.to_owned();
        uncounted.profile.method.exact = true;
        ending = Some(uncounted);
    }
    Ok(Part {
        head,
        waiting: pass.segment.into_waiting(),
        ending,
    })
}

/// Refuses what is not counted piece by piece.
fn check(options: &AnalysisOptions) -> Result<(), PartError> {
    if !ENGINES.contains(&options.engine.as_str()) {
        let engine = options.engine.clone();
        return Err(PartError::Engine { engine });
    }
    let wholes = [
        (options.sharing == Sharing::Private, "--sharing private"),
        (options.sharing == Sharing::Coherent, "--sharing coherent"),
        (options.weigh_bytes, "--weigh bytes"),
        (options.max_distance.is_some(), "--max-distance"),
        (options.reuse_times, "--times"),
        (options.forward, "--forward"),
        (options.sample.is_some(), "--sample"),
    ];
    if let Some((_, option)) = wholes.into_iter().find(|(asked, _)| *asked) {
        return Err(PartError::Option { option });
    }
    Ok(())
}

/// How the pass over a piece ended.
enum End {
    /// There is more behind the piece, or nothing more at all.
    Whole,
    /// The trace breaks off.
    Broken(TraceError),
}

/// The pass over a piece and all before it.
struct PiecePass {
    piece: Piece,
    attribution: Attribution,
    segment: SegmentCounts,
    known: Known,
    /// Where the piece begins, and how far the pass is.
    before: PrefixMark,
    now: PrefixMark,
    limit: Bytes,
    looks: Looks,
    /// What is held beside the counts, when it was last looked at.
    others: Bytes,
}

impl PiecePass {
    fn run(
        &mut self,
        source: &mut dyn Source,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<End, Error> {
        let mut block = Block::new();
        let mut columns = Columns::new();
        let mut blocks = 0_u64;
        loop {
            let (done, all) = source.progress().ok_or(PartError::NoLength)?;
            match source.next(&mut block) {
                Ok(Step::Block) => {
                    let number = self.piece.at(done, all);
                    if number > self.piece.number() {
                        return Ok(End::Whole);
                    }
                    self.block(&block, &mut columns, number == self.piece.number())?;
                    progress(Progress {
                        accesses: Accesses(self.now.accesses),
                        source_bytes: source.progress(),
                    });
                    blocks += 1;
                    self.check_memory(source.memory())?;
                }
                Ok(Step::Event(event)) => self.attribution.event(event),
                Ok(Step::End) => return Ok(End::Whole),
                Err(error) if error.is_partial() && blocks > 0 => return Ok(End::Broken(error)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// # Errors
    /// If one of its rows touches more than there is memory for.
    fn block(
        &mut self,
        block: &Block,
        columns: &mut Columns,
        counts: bool,
    ) -> Result<(), PartError> {
        let (now, segment, known) = (&mut self.now, &mut self.segment, &mut self.known);
        let (looks, others, limit) = (&mut self.looks, self.others, self.limit);
        let mut is_full = false;
        self.attribution.block(block, columns, |piece| {
            now.pass(piece);
            if !counts || is_full {
                return;
            }
            segment.add(piece, known);
            // Within a block too: see `Looks::is_late`.
            if looks.is_late(now.accesses) {
                looks.looked(now.accesses);
                is_full = segment.memory() + known.memory() + others > limit;
            }
        });
        if !counts {
            self.before = self.now;
        }
        if is_full {
            Err(self.out_of_memory())
        } else {
            Ok(())
        }
    }

    /// # Errors
    /// If it is time to look, and more memory is held than there may be, `of_source` by the source.
    fn check_memory(&mut self, of_source: Bytes) -> Result<(), PartError> {
        let cells = self.attribution.cells();
        let ahead = self.looks.ahead(self.now.accesses, of_source, cells);
        let Some(ahead) = ahead else {
            return Ok(());
        };
        self.others = self.attribution.memory() + of_source + ahead;
        if self.segment.memory() + self.known.memory() + self.others > self.limit {
            Err(self.out_of_memory())
        } else {
            Ok(())
        }
    }

    fn out_of_memory(&self) -> PartError {
        PartError::OutOfMemory {
            piece: self.piece.to_string(),
            limit: self.limit,
        }
    }
}

impl PrefixMark {
    /// Goes on behind these touches.
    fn pass(&mut self, columns: &Columns) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let touches = columns.items.iter().zip(&columns.cells);
        let sum = (1_u64..)
            .step_by(2)
            .zip(touches)
            .fold(0_u64, |sum, (odd, (item, cell))| {
                let touch = item ^ u64::from(*cell).rotate_left(40);
                sum.wrapping_add(touch.wrapping_mul(odd))
            });
        self.accesses += columns.len() as u64;
        self.sum = self.sum.rotate_left(23).wrapping_add(sum).wrapping_mul(ODD);
    }
}
