//! [`analysed`]: reads a kernel and analyses it, all at once, or in as many classes of its items as
//! the memory takes.

use std::path::Path;

use reuselens_simt::sharing::SharingMatrix;
use reuselens_simt::transactions::Transactions;
use reuselens_simt::{BlockStream, ItemClass, SimtError};
use reuselens_warp::Launch;

use super::input::{Machine, Named, SimtInput};
use crate::exit::Usage;

/// The most classes of items.
const MOST_CLASSES: u32 = 1 << 16;
/// Rows and columns of the picture of blocks.
const CELLS: usize = 128;

/// What an analysis found of a launch.
pub struct Analysed {
    pub launch: Launch,
    /// Whether the stream has no launch after it.
    pub is_last: bool,
    /// Touches, and distinct items.
    pub touches: u64,
    pub items: u64,
    /// None if items are no elements.
    pub transactions: Option<Transactions>,
    pub named: Vec<Named>,
    pub sharing: Option<Sharing>,
}

/// Which data blocks, and the warps of the block that accesses most, have in common.
pub struct Sharing {
    pub blocks: SharingMatrix,
    pub warps: SharingMatrix,
    /// The number of that block.
    pub block: u32,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Only this block.
    pub block: Option<u32>,
    /// Who shares with whom, too.
    pub sharing: bool,
}

/// Reads and analyses the stream in a file.
pub fn analysed(
    path: &Path,
    input: &SimtInput,
    machine: &Machine,
    wanted: Wanted,
) -> anyhow::Result<Analysed> {
    let mut count = 1;
    loop {
        match in_classes(path, input, machine, wanted, count)? {
            Some(found) => return Ok(found),
            None if count < MOST_CLASSES => count *= 4,
            None => {
                let what =
                    "one item in 65536 already takes more than --memory-limit allows: raise it";
                anyhow::bail!("{}: {what}", path.display())
            }
        }
        if path == Path::new("-") {
            let what = "the distinct items of the stream take more than --memory-limit allows; \
                        standard input cannot be read again in passes: name a file, or raise it";
            return Err(Usage(what.to_owned()).into());
        }
        machine.fits_classes()?;
    }
}

/// Analyses one class of items after the other; none if one does not fit.
fn in_classes(
    path: &Path,
    input: &SimtInput,
    machine: &Machine,
    wanted: Wanted,
    count: u32,
) -> anyhow::Result<Option<Analysed>> {
    let mut all: Option<Analysed> = None;
    for index in 0..count {
        let class = ItemClass { index, count };
        let found = class_of(path, input, machine, wanted, class);
        match (found, &mut all) {
            (Ok(found), Some(all)) => all.add_class(&found),
            (Ok(found), None) => all = Some(found),
            (Err(error), _) if does_not_fit(&error) => return Ok(None),
            (Err(error), _) => return Err(error),
        }
    }
    Ok(all)
}

fn does_not_fit(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<SimtError>();
    matches!(error, Some(SimtError::TooManyItems { .. }))
}

fn class_of(
    path: &Path,
    input: &SimtInput,
    machine: &Machine,
    wanted: Wanted,
    class: ItemClass,
) -> anyhow::Result<Analysed> {
    let run = input.read(path, machine.memory(), wanted.block, class)?;
    if let Some(number) = wanted.block {
        check_block(run.launch(), number)?;
    }
    let named = machine.characteristics(&run)?;
    let sharing = wanted.sharing.then(|| {
        // The first of those with most touches.
        let by_touches = run.blocks().iter().map(BlockStream::touches);
        let most = by_touches
            .enumerate()
            .rev()
            .max_by_key(|(_, touches)| *touches);
        let most = most.map_or(0, |(at, _)| at);
        Sharing {
            blocks: SharingMatrix::of_blocks(&run, CELLS),
            warps: SharingMatrix::of_warps(&run, most),
            block: run.blocks().get(most).map_or(0, |block| block.number),
        }
    });
    run.check()?;
    Ok(Analysed {
        launch: run.launch().clone(),
        is_last: run.is_last(),
        touches: run.touches(),
        items: run.items().into(),
        transactions: run.loaded_transactions(),
        named,
        sharing,
    })
}

/// Demands that the launch has a block of that number.
pub fn check_block(launch: &Launch, number: u32) -> Result<(), Usage> {
    let blocks = launch.grid.count();
    if u64::from(number) < blocks {
        return Ok(());
    }
    let what = format!("there is no block {number}; the launch has {blocks}, from 0");
    Err(Usage(what))
}

impl Analysed {
    /// Adds what was found of another class of items.
    fn add_class(&mut self, other: &Analysed) {
        self.items += other.items;
        if let (Some(sum), Some(more)) = (&mut self.transactions, &other.transactions) {
            sum.sectors += more.sectors;
        }
        for ((_, sum), (_, more)) in self.named.iter_mut().zip(&other.named) {
            sum.add_class(more);
        }
        if let (Some(sum), Some(more)) = (&mut self.sharing, &other.sharing) {
            sum.blocks.add(&more.blocks);
            sum.warps.add(&more.warps);
        }
    }
}
