//! Beside the distances: the path to each access.

use std::collections::{BTreeMap, HashMap};

use reuselens_attribute::Columns;
use reuselens_locality::{PathStep, PathTable};
use reuselens_predict::{self as predict, BlockEnd, PathTracker};
use reuselens_profile::{PathProfile, Sharing};
use reuselens_trace::BasicBlock;
use reuselens_units::{Bytes, Distance};

use super::{Addition, Counted, Observer, RunEvent};
use crate::attribution::{Uncounted, line_granularity};
use crate::{AnalysisOptions, Error, path_warnings};

/// Added to an instruction, it is a block of its own while no block is known. No code lies there.
const ALONE: u64 = 1 << 63;

/// Blocks that are followed before what they touched is counted: few enough that all stays in the
/// nearest caches.
const AT_ONCE: usize = 512;

/// What was counted by path.
struct PathCounts {
    /// The distances, by instruction and path.
    table: PathTable,
    /// By instruction, a cell of it.
    first_cells: HashMap<u32, u32>,
    /// Iterations of a loop whose outcomes were kept.
    keep: u32,
    /// Basic blocks that were seen.
    blocks: u64,
}

/// The path of a thread.
struct Tracked {
    tracker: PathTracker,
    /// Whether touches of the block that it is in were counted already: what follows goes on with
    /// them.
    begun: bool,
    /// What the tracker held when it was last asked.
    held: usize,
    /// Blocks that it takes until it is asked again: asking costs a look at all of its blocks.
    until_asked: usize,
}

impl Tracked {
    fn new(keep: u32) -> Self {
        Tracked {
            tracker: PathTracker::new(keep),
            begun: false,
            held: 0,
            until_asked: 0,
        }
    }

    /// Notes that the tracker took this many blocks. The bytes that it is known to hold, before and
    /// now: less than twice of that are missing.
    fn took(&mut self, blocks: usize) -> (usize, usize) {
        let before = self.held;
        self.until_asked = match self.until_asked.checked_sub(blocks) {
            Some(left) if before > 0 => left,
            _ => {
                self.held = self.tracker.memory() + size_of::<Tracked>();
                // No block takes more bytes.
                self.held / 256
            }
        };
        (before, self.held)
    }
}

/// Trackers of paths. It is called with blocks of one thread at a time.
pub(super) struct Paths {
    counts: PathCounts,
    /// By thread, then process: a thread that ends does so in all processes.
    trackers: BTreeMap<(u32, u16), Tracked>,
    /// What the trackers hold, about.
    trackers_held: usize,
    now: (u32, u16),
    /// Cells whose instructions are known.
    cells: usize,
    /// Memory for the steps of a piece.
    steps: Vec<PathStep>,
}

impl Paths {
    /// No paths yet, counted as the options have it.
    pub(super) fn new(options: &AnalysisOptions) -> Self {
        let line = line_granularity(&crate::this_machine(), options);
        let most = usize::try_from(options.most_paths).unwrap_or(usize::MAX);
        Paths {
            counts: PathCounts {
                table: PathTable::new(most),
                first_cells: HashMap::new(),
                // As many as an item has doubles.
                keep: (line.bytes() / 8).clamp(1, 64) as u32,
                blocks: 0,
            },
            trackers: BTreeMap::new(),
            trackers_held: 0,
            now: (0, 0),
            cells: 0,
            steps: Vec::new(),
        }
    }
}

fn refused(other: &'static str, why: &'static str) -> Error {
    Error::Together {
        one: "--by path",
        other,
        why,
    }
}

/// Refuses what paths cannot be counted with, if they are asked for.
pub(super) fn refuse_contradictions(options: &AnalysisOptions) -> Result<(), Error> {
    if !options.paths {
        return Ok(());
    }
    let all_threads = "paths are counted with distances over all threads";
    match options.sharing {
        Sharing::Private => return Err(refused("--sharing private", all_threads)),
        Sharing::Coherent => return Err(refused("--sharing coherent", all_threads)),
        Sharing::Shared => {}
    }
    if options.sample.is_some() {
        return Err(refused(
            "--sample",
            "a sample knows the distances of some accesses only",
        ));
    }
    Ok(())
}

impl Paths {
    fn trackers_memory(&self) -> u64 {
        self.trackers_held as u64
    }

    /// Counts the touches from `from` on: those before these blocks, each in the block before it,
    /// or all that are left if there are no blocks. The touch after them.
    fn follow(
        &mut self,
        (columns, distances): (&Columns, &[Distance]),
        from: u32,
        blocks: &[(u32, BasicBlock)],
    ) -> u32 {
        let keep = self.counts.keep;
        let trackers = self.trackers.entry(self.now);
        let tracked = trackers.or_insert_with(|| Tracked::new(keep));
        let begin = from as usize;
        let cells = &columns.cells[begin..];
        let (mut done, steps) = (0, &mut self.steps);
        steps.clear();
        let mut step = |tracked: &mut Tracked, until: u32| {
            if until <= done {
                return;
            }
            let (block, path) = (tracked.tracker.block(), *tracked.tracker.path());
            let continued = std::mem::replace(&mut tracked.begun, true);
            if block != 0 {
                steps.push(PathStep {
                    block,
                    path,
                    until,
                    continued,
                });
            } else {
                let cells = (done + 1..).zip(&cells[done as usize..until as usize]);
                steps.extend(cells.map(|(until, cell)| {
                    let block = ALONE | u64::from(columns.sites[*cell as usize]);
                    PathStep {
                        block,
                        path,
                        until,
                        continued: false,
                    }
                }));
            }
            done = until;
        };
        for (until, row) in blocks {
            step(tracked, *until - from);
            tracked.tracker.enter(&block(row));
            tracked.begun = false;
        }
        if blocks.is_empty() {
            step(tracked, cells.len() as u32);
        }
        let (before, held) = tracked.took(blocks.len());
        self.trackers_held = self.trackers_held - before + held;
        let distances = &distances[begin..];
        self.counts
            .table
            .add_steps(steps, cells, &columns.sites, distances);
        from + done
    }
}

/// The block of a row, as a tracker takes it.
pub(super) fn block(row: &BasicBlock) -> predict::BasicBlock {
    use reuselens_trace::BlockEnd as End;
    predict::BasicBlock {
        start: row.start,
        length: u32::from(row.bytes),
        taken: row.taken,
        end: match row.end {
            End::Falls => BlockEnd::Falls,
            End::Conditional => BlockEnd::Branch,
            End::Jump => BlockEnd::Jump,
            End::Indirect => BlockEnd::Indirect,
            End::Call => BlockEnd::Call,
            End::Return => BlockEnd::Return,
        },
    }
}

impl Paths {
    /// A thread has no more blocks, in whichever processes it had some.
    fn end(&mut self, thread: u32) {
        let all = (thread, 0)..=(thread, u16::MAX);
        while let Some((&of, _)) = self.trackers.range(all.clone()).next() {
            let ended = self.trackers.remove(&of);
            self.trackers_held -= ended.map_or(0, |ended| ended.held);
        }
    }
}

impl Observer for Paths {
    fn event(&mut self, event: RunEvent) {
        match event {
            RunEvent::Thread(process, thread) => self.now = (thread.0, process.0),
            RunEvent::ThreadEnded(thread) => self.end(thread.0),
            RunEvent::Sampling(_) => {}
        }
    }

    fn by_thread(&self) -> bool {
        true
    }

    fn add(&mut self, columns: &Columns, distances: &[Distance]) {
        let (piece, mut from) = ((columns, distances), 0);
        for blocks in columns.basic_blocks.chunks(AT_ONCE) {
            from = self.follow(piece, from, blocks);
        }
        // What comes after the last block that began.
        self.follow(piece, from, &[]);
        let firsts = &mut self.counts.first_cells;
        let new = columns.sites.get(self.cells..).unwrap_or_default();
        for (cell, site) in (self.cells as u32..).zip(new) {
            firsts.entry(*site).or_insert(cell);
        }
        self.cells = self.cells.max(columns.sites.len());
        self.counts.blocks += columns.basic_blocks.len() as u64;
    }

    fn memory(&self) -> Bytes {
        // Making the profile takes as much again as the table.
        let table = Bytes(self.counts.table.memory().get() * 2);
        table + Bytes(self.trackers_memory())
    }

    /// Shorter paths.
    fn shrink(&mut self, limit: Bytes) -> bool {
        let left = limit.get().saturating_sub(self.trackers_memory());
        self.counts.table.shrink(Bytes(left / 2))
    }

    fn finish(self: Box<Self>, counted: &mut Counted) {
        counted.add(self.counts);
    }
}

impl Addition for PathCounts {
    fn write(mut self: Box<Self>, into: &mut Uncounted) {
        let profile = &mut into.profile;
        let (cells, firsts) = (&profile.cells, &self.first_cells);
        self.table.renumber(|site| {
            let cell = firsts.get(&site).map(|cell| *cell as usize);
            let cell = cell.and_then(|cell| cells.get(cell));
            cell.map_or(0, |cell| cell.site)
        });
        let kept = PathProfile::new(&self.table, &profile.sites, self.keep, self.blocks);
        profile.warnings.extend(path_warnings::warnings(&kept));
        profile.paths = Some(kept);
    }
}
