//! [`KernelRun::read`]: reads one launch of a stream of warp instructions into a [`KernelRun`], as
//! [`Loading`] selects.

use std::collections::BTreeMap;

use reuselens_warp::{LANES, Launch, Space, WarpBatch, WarpRow, WarpSource, WarpStep};

use crate::SimtError;
use crate::run::align::{Alignment, InstructionCursor, PhaseSite, in_lockstep};
use crate::run::items::{Grain, Numbering};
use crate::run::{BlockStream, KernelRun};

/// What of a stream is looked at, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Which launch, from 1.
    pub launch: usize,
    /// Which memories.
    pub spaces: Spaces,
    /// What counts as the same data.
    pub grain: Grain,
    /// How warps of a block are put in lockstep.
    pub alignment: Alignment,
}

impl Default for Loading {
    /// Elements of global memory in the first launch, warps aligned by sites.
    fn default() -> Loading {
        Loading {
            launch: 1,
            spaces: Spaces::of(&[Space::Global]),
            grain: Grain::Element,
            alignment: Alignment::Sites,
        }
    }
}

/// A set of memory spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spaces(u8);

impl Spaces {
    /// All spaces; equal addresses of different ones are different data.
    pub const ALL: Spaces = Spaces(u8::MAX);

    /// Those.
    pub fn of(spaces: &[Space]) -> Spaces {
        Spaces(spaces.iter().fold(0, |set, space| set | 1 << *space as u8))
    }

    /// Whether it is one of them.
    pub fn has(self, space: Space) -> bool {
        self.0 >> space as u8 & 1 != 0
    }
}

/// Records of one block as they came.
#[derive(Default)]
struct RawBlock {
    records: Vec<InstructionRecord>,
    /// Of each record; empty while all are 0.
    phases: Vec<u32>,
    touches: Vec<(u16, u32)>,
}

#[derive(Clone, Copy)]
struct InstructionRecord {
    site: u32,
    warp: u32,
    position: u64,
    start: u32,
}

/// Threads of a block are numbered in 16 bits, and touches in 32.
const MAX_THREADS: u64 = 1 << 16;
const MAX_TOUCHES: usize = 1 << 31;

impl KernelRun {
    /// Reads one launch of a stream. Memory: some 10 bytes an access.
    ///
    /// # Errors
    /// [`SimtError::Trace`] if the stream cannot be read, [`SimtError::Unfit`] if it has no such
    /// launch, [`SimtError::TooLarge`] for blocks over 65536 threads, and over 2³¹ items or touches
    /// of a block.
    pub fn read(source: &mut dyn WarpSource, loading: Loading) -> Result<KernelRun, SimtError> {
        let mut batch = WarpBatch::new();
        let mut seen = Vec::new();
        loop {
            match source.next(&mut batch)? {
                WarpStep::Launch(launch) if seen.len() + 1 == loading.launch => {
                    return read(source, launch, loading);
                }
                WarpStep::Launch(launch) => seen.push(launch.kernel),
                WarpStep::Batch => {}
                WarpStep::End => return Err(absent(loading.launch, &seen)),
            }
        }
    }
}

fn absent(wanted: usize, seen: &[String]) -> SimtError {
    let names: Vec<String> = seen
        .iter()
        .enumerate()
        .take(20)
        .map(|(at, name)| format!("{} {name}", at + 1))
        .collect();
    SimtError::Unfit(if names.is_empty() {
        "the stream has no launch of a kernel: there is nothing to analyse".to_owned()
    } else {
        format!(
            "the stream has no launch {wanted}; it has {}",
            names.join(", ")
        )
    })
}

fn read(
    source: &mut dyn WarpSource,
    launch: Launch,
    loading: Loading,
) -> Result<KernelRun, SimtError> {
    let threads = launch.block.count();
    check("threads of a block", threads, MAX_THREADS)?;
    let mut numbering = Numbering::new(loading.grain);
    let mut raw: BTreeMap<u32, RawBlock> = BTreeMap::new();
    let mut batch = WarpBatch::new();
    let mut uses_shared = false;
    let is_last = loop {
        match source.next(&mut batch)? {
            WarpStep::Batch => {}
            WarpStep::Launch(_) => break false,
            WarpStep::End => break true,
        }
        uses_shared = uses_shared || batch.rows().any(|row| row.space == Space::Shared);
        for row in batch.rows().filter(|row| loading.spaces.has(row.space)) {
            let block = raw.entry(row.block).or_default();
            block.add(&row, loading.grain, &mut numbering);
            check(
                "touches of a block",
                block.touches.len() as u64,
                MAX_TOUCHES as u64,
            )?;
        }
        check("distinct items", numbering.len() as u64, MAX_TOUCHES as u64)?;
    };
    let mut blocks = Vec::with_capacity(raw.len());
    while let Some((number, raw)) = raw.pop_first() {
        blocks.push(raw.block(number, loading.alignment));
    }
    let (addresses, sizes) = numbering.finish();
    Ok(KernelRun {
        launch,
        blocks,
        addresses,
        sizes,
        grain: loading.grain,
        is_last,
        uses_shared,
    })
}

fn check(what: &'static str, found: u64, limit: u64) -> Result<(), SimtError> {
    if found <= limit {
        return Ok(());
    }
    Err(SimtError::TooLarge {
        what,
        found,
        limit,
        hint: "run the kernel on smaller data",
    })
}

impl RawBlock {
    fn add(&mut self, row: &WarpRow<'_>, grain: Grain, numbering: &mut Numbering) {
        if row.phase != 0 && self.phases.is_empty() {
            self.phases.resize(self.records.len(), 0);
        }
        if row.phase != 0 || !self.phases.is_empty() {
            self.phases.push(row.phase);
        }
        let start = self.touches.len() as u32;
        self.records.push(InstructionRecord {
            site: row.site,
            warp: row.warp,
            position: row.position,
            start,
        });
        for (lane, &address) in row.lanes().zip(row.addresses) {
            let thread = row.warp * LANES as u32 + lane;
            let (first, last) = grain.cover(address, row.bytes);
            for item in first..=last {
                let number = numbering.number(row.space, row.block, thread, item, row.bytes);
                self.touches.push((thread as u16, number));
            }
        }
    }

    fn block(self, number: u32, alignment: Alignment) -> BlockStream {
        let mut block = BlockStream::new(number);
        let mut order: Vec<u32> = (0..self.records.len() as u32).collect();
        let record = |at: u32| &self.records[at as usize];
        let phase = |at: u32| self.phases.get(at as usize).copied().unwrap_or(0);
        let place = |at: u32| (phase(at), record(at).site);
        match alignment {
            Alignment::Positions => {
                let key = |at: u32| (phase(at), record(at).position, record(at).site);
                order.sort_by_key(|&at| (key(at), record(at).warp));
                for together in order.chunk_by(|&a, &b| key(a) == key(b)) {
                    self.issue(&mut block, place(together[0]), together.iter().copied());
                }
            }
            Alignment::Sites => {
                order.sort_by_key(|&at| record(at).warp);
                let mut heads: Vec<InstructionCursor> = Vec::new();
                for (at, &number) in order.iter().enumerate() {
                    match heads.last_mut() {
                        Some(head) if record(order[head.next]).warp == record(number).warp => {
                            head.end = at + 1;
                        }
                        _ => heads.push(InstructionCursor {
                            next: at,
                            end: at + 1,
                        }),
                    }
                }
                in_lockstep(
                    &mut heads,
                    |at| place(order[at]),
                    |place, issued| {
                        self.issue(&mut block, place, issued.iter().map(|(_, at)| order[*at]));
                    },
                );
            }
        }
        block
    }

    /// Adds an instruction that those records are, in order of warps.
    fn issue(&self, block: &mut BlockStream, place: PhaseSite, records: impl Iterator<Item = u32>) {
        for at in records {
            let at = at as usize;
            let end = self.records.get(at + 1).map(|next| next.start as usize);
            let touches = self.records[at].start as usize..end.unwrap_or(self.touches.len());
            for &(thread, item) in &self.touches[touches] {
                block.touch(thread, item);
            }
        }
        block.end(place);
    }
}
