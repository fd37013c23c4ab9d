//! What counts, and how finely accesses are broken down.

use reuselens_profile::PlacementData;
use reuselens_trace::Kind;
use reuselens_units::Granularity;

use crate::chunks::Chunks;
use crate::visits::Visits;

/// Which accesses count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kinds {
    /// Loads, stores and the program's own named accesses.
    #[default]
    All,
    /// What reads: loads, atomics, range loads.
    Loads,
    /// What writes: stores, atomics, range stores.
    Stores,
}

impl Kinds {
    /// Whether an access of this kind counts. Rows that are no accesses do not.
    #[inline(always)]
    pub const fn counts(self, kind: Kind) -> bool {
        match kind {
            Kind::Load | Kind::RangeLoad => !matches!(self, Kinds::Stores),
            Kind::Store | Kind::RangeStore => !matches!(self, Kinds::Loads),
            Kind::Atomic => true,
            Kind::Named => matches!(self, Kinds::All),
            _ => false,
        }
    }

    /// Whether an access of this kind writes. Of one that the program names itself that is not
    /// known: it counts as a load.
    pub(crate) const fn writes(kind: Kind) -> bool {
        matches!(kind, Kind::Store | Kind::RangeStore | Kind::Atomic)
    }
}

/// Which data count, by the memory that they are in. A structure that the program named counts by
/// the memory under it; unknown memory counts only in [`DataFilter::All`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataFilter {
    /// All.
    #[default]
    All,
    /// Blocks from allocation calls.
    Heap,
    /// Stacks of threads.
    Stack,
    /// Symbols of modules.
    Static,
}

/// What an access is when a statement names the same element twice (`A(i) = A(i) * 0.2`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamesMode {
    /// Each instruction's access counts.
    #[default]
    Instruction,
    /// Between two statement marks of a thread, an address (of a named structure: an element)
    /// counts once.
    Statement,
}

/// What is recorded for placing objects in memory: the chunks of large objects as objects of their
/// own, lifetimes, and footprints and entries of calling contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementOptions {
    /// Bytes of a chunk. An object of more than 1,024 of them has chunks of twice the size, and so
    /// on. `None` = 64 KiB, doubled until an object has at most 64.
    pub chunk_bytes: Option<u64>,
    /// Pairs of 64 neighbouring items and an instruction in a calling context that accesses some of
    /// them, at most: the memory that footprints take, about 100 bytes each. With more, there are
    /// no footprints, and a warning.
    pub max_footprint_entries: usize,
}

/// What an [`Attributor`](crate::Attributor) counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes per item.
    pub granularity: Granularity,
    /// Which accesses count.
    pub kinds: Kinds,
    /// Which data count.
    pub data: DataFilter,
    /// Whether a statement counts an element once.
    pub names: NamesMode,
    /// Whether cells are broken down by calling context. Heap objects are in any case.
    pub contexts: bool,
    /// Whether what was counted for two cells can be merged: the consumer of the columns does so
    /// wherever they say it ([`Columns::merged`](crate::Columns::merged)), and remembers no number
    /// of a cell. Up to five times `max_cells` groups have a cell then, those of the most
    /// accesses. Has no effect with basic blocks.
    pub merges: bool,
    /// Without `merges`, the first `max_cells` groups get a cell each, and up to four times as many
    /// later ones that are frequent. Beyond the first, instructions without a line count for their
    /// function, and all else counts for a calling context further up, or for the other objects;
    /// beyond sixteen times as many, lines count as unknown.
    pub max_cells: usize,
    /// All accesses count for one cell, and no site, object or context is looked up: much faster.
    /// Has no effect where `data` or `names` need objects.
    pub totals_only: bool,
    /// Whether accesses are broken down by the elements of static symbols too, where their size is
    /// known. By those of named structures they always are.
    pub elements: bool,
    /// Whether [`Columns::stores`](crate::Columns::stores) is filled. Compressed rows are
    /// decompressed then.
    pub stores: bool,
    /// Whether [`Columns::bytes`](crate::Columns::bytes), [`Columns::sites`](crate::Columns::sites)
    /// and [`Columns::objects`](crate::Columns::objects) are filled, if accesses are broken down.
    /// Compressed rows are decompressed then.
    pub bytes: bool,
    /// Whether [`Columns::offsets`](crate::Columns::offsets) is filled, if accesses are broken
    /// down. Compressed rows are decompressed then, and the debug information of the program is
    /// read when it begins. Accesses to small blocks of the heap take about twice the time.
    pub offsets: bool,
    /// Whether [`Columns::basic_blocks`](crate::Columns::basic_blocks) is filled, if accesses are
    /// broken down.
    pub basic_blocks: bool,
    /// What is recorded for placing objects in memory, if anything. Has no effect on traces of ids,
    /// nor where objects are not looked up.
    pub placement: Option<PlacementOptions>,
    /// The trace's addresses are ids that already are the items (all 64 bits of them): granularity,
    /// processes, sites and objects do not apply.
    pub ids: bool,
}

impl Options {
    /// Whether the options filter no access, by kind, data or statement. Accesses need not be taken
    /// one by one then.
    pub(crate) fn is_plain(&self) -> bool {
        self.kinds == Kinds::All
            && self.data == DataFilter::All
            && self.names == NamesMode::Instruction
    }

    /// Whether compressed rows ([`reuselens_trace::Repeats`]) are taken as they are. They are
    /// decompressed first where the options filter accesses, mark stores, bytes or offsets,
    /// keep basic blocks, ask for items only, or say that addresses are ids.
    pub(crate) fn folds(&self) -> bool {
        let marks = self.stores || self.bytes || self.offsets;
        self.is_plain() && !marks && !self.totals_only && !self.ids && !self.basic_blocks
    }

    /// The chunks that are recorded.
    pub(crate) fn chunks(&self) -> Option<Chunks> {
        let placement = self.placement.filter(|_| self.looks_up_objects());
        placement.map(|placement| {
            let data = PlacementData {
                chunk_bytes: placement.chunk_bytes,
            };
            Chunks::new(data.chunk_limits())
        })
    }

    /// The footprints and entries of contexts that are recorded.
    pub(crate) fn visits(&self) -> Option<Visits> {
        let is_wanted = self.contexts && self.looks_up_objects();
        let placement = self.placement.filter(|_| is_wanted);
        placement.map(|placement| Visits::new(placement.max_footprint_entries))
    }

    /// Whether the elements of objects are looked up.
    pub(crate) fn with_offsets(&self) -> bool {
        self.offsets && self.looks_up_objects()
    }

    fn looks_up_objects(&self) -> bool {
        !self.is_totals_only() && !self.ids
    }

    /// Whether nothing has to be known of an access but its items, its kind, and whether it writes.
    pub fn is_totals_only(&self) -> bool {
        self.totals_only && self.data == DataFilter::All && self.names == NamesMode::Instruction
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            granularity: Granularity::LINE_64,
            kinds: Kinds::All,
            data: DataFilter::All,
            names: NamesMode::Instruction,
            contexts: true,
            merges: false,
            max_cells: 1 << 15,
            totals_only: false,
            elements: false,
            stores: false,
            bytes: false,
            offsets: false,
            basic_blocks: false,
            placement: None,
            ids: false,
        }
    }
}
