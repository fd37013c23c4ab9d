//! One access: its site, its object, its items, and the cell that these count for.
//!
//! - The *site slot* of the instruction remembers the region that its last access was in, and the
//!   cell of its last access. Most accesses need nothing else.
//! - The *object* of an access elsewhere is searched for: see `object_at.rs`.
//! - A *cell* that the slot does not remember is looked up later, up to 64 cells together
//!   ([`PendingCells`]): each look-up is a cache miss, and these then overlap. Together with
//!   `row_batches.rs` that took sqlite3 from 7.0 to 3.7 s and python3 from 8.6 to 5.5 s of
//!   processor time (2026-11-21).

use reuselens_trace::Kind;

use super::Pass;
use crate::cells::PackedKey;
use crate::columns::Columns;
use crate::folding::CellChoice;
use crate::objects::Where;
use crate::options::{DataFilter, Kinds, NamesMode};
use crate::places::CodePlace;
use crate::shadow::NO_STRUCTURE;
use crate::state::ProcessState;

/// Pending cells at which they are resolved. Those of one batch of rows can be more.
const MAX_PENDING: usize = 64;

/// An access as its row has it.
#[derive(Clone, Copy)]
pub(super) struct RawAccess {
    pub kind: Kind,
    pub pc: u64,
    pub address: u64,
    pub size: u64,
}

/// An item access whose cell is not looked up yet.
#[derive(Clone, Copy, Debug)]
struct PendingCell {
    key: PackedKey,
    hash: u64,
    /// Its index in the columns.
    at: usize,
    /// The site slot that remembers the cell.
    slot: u32,
}

/// Item accesses whose cells are not looked up yet, in their order: a new cell gets the next
/// number, so cells must be made in the order of the accesses.
#[derive(Debug, Default)]
pub(super) struct PendingCells(Vec<PendingCell>);

impl PendingCells {
    #[inline(always)]
    pub fn add(&mut self, at: usize, slot: usize, (key, hash): (PackedKey, u64)) {
        let slot = slot as u32;
        self.0.push(PendingCell {
            key,
            hash,
            at,
            slot,
        });
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.0.len() >= MAX_PENDING
    }
}

/// Whether an access of this kind can cover several objects, or chunks of one.
#[inline(always)]
fn is_block_operation(kind: Kind) -> bool {
    matches!(kind, Kind::RangeLoad | Kind::RangeStore)
}

/// Sites and items.
impl Pass<'_> {
    /// The slot of an instruction.
    #[inline(always)]
    fn slot(&mut self, pc: u64, kind: Kind) -> usize {
        match self.process.sites.known(pc, kind) {
            Some(slot) => slot,
            None => self.new_slot(pc, kind),
        }
    }

    #[cold]
    fn new_slot(&mut self, pc: u64, kind: Kind) -> usize {
        // Pending cells refer to slots by index, and a new slot may move the others.
        self.resolve_pending();
        let ProcessState {
            sites, mappings, ..
        } = &mut *self.process;
        let site = self.shared.add_site(mappings, pc, kind);
        if site != 0 && self.shared.sites[site as usize].place.module == CodePlace::NO_MODULE {
            sites.add_unplaced(pc, site);
        }
        sites.entry(pc, kind, || site)
    }

    /// Counts an access. `known` is its object and structure, if the caller knows them. `PLAIN`:
    /// the options filter no access ([`Options::is_plain`](crate::Options::is_plain)).
    #[inline(always)]
    pub(super) fn access<const PLAIN: bool>(
        &mut self,
        access: RawAccess,
        known: Option<(u32, u32)>,
    ) {
        self.count_access::<PLAIN>(access, known);
        self.mark(access);
    }

    /// Records of the item accesses of an access whether they write, and the bytes that they cover,
    /// as the options ask for it.
    #[inline(always)]
    pub(super) fn mark(&mut self, access: RawAccess) {
        self.mark_stores(access.kind);
        if self.options.bytes {
            self.mark_bytes(access.address, access.size);
        }
        if self.options.offsets {
            self.mark_offsets(access.address);
        }
    }

    /// Records the bytes that the item accesses without a mask cover: those of one access.
    fn mark_bytes(&mut self, address: u64, size: u64) {
        let Columns { items, bytes, .. } = &mut *self.columns;
        let address = address ^ self.process_bits;
        let unmarked = &items[bytes.len()..];
        bytes.extend(
            unmarked
                .iter()
                .map(|item| self.granularity.covered(*item, address, size)),
        );
    }

    /// Records whether the item accesses of an access write, if the options ask for it.
    #[inline(always)]
    pub(super) fn mark_stores(&mut self, kind: Kind) {
        if self.options.stores {
            self.columns.set_stores(Kinds::writes(kind));
        }
    }

    #[inline(always)]
    fn count_access<const PLAIN: bool>(&mut self, access: RawAccess, known: Option<(u32, u32)>) {
        let RawAccess {
            kind,
            pc,
            address,
            size,
        } = access;
        if !PLAIN {
            if self.options.is_totals_only() {
                return self.access_items_only(kind, pc, address, size);
            }
            if !self.options.kinds.counts(kind) {
                return;
            }
        }
        let slot = self.slot(pc, kind);
        let (object, structure) = match known {
            Some(known) => known,
            None => self.object_at(slot, address),
        };
        let (first, last) = self.granularity.cover(address ^ self.process_bits, size);
        if !PLAIN {
            if !self.data_counts(object) {
                if first != last && is_block_operation(kind) {
                    self.push_later_parts(slot, access);
                }
                return;
            }
            if !self.is_first_in_statement(structure, address) {
                return;
            }
        }
        self.shared.references += 1;
        self.find_elements(slot, (object, structure), address);
        if structure == NO_STRUCTURE && first == last {
            return self.push_item(slot, object, first);
        }
        let cell = self.resolve_cell(slot, object);
        self.columns.push(first, cell);
        if structure != NO_STRUCTURE {
            self.count_element(structure, address, size);
        }
        if first == last {
            return;
        }
        if is_block_operation(kind) {
            self.push_further_parts(slot, access, (structure, cell));
        } else {
            // One piece of data, which is what its first byte is.
            self.push_items(access, first + 1..=last, (structure, cell));
        }
    }

    /// Counts the last item access for an element: that of the byte at `address`. `size` is the
    /// number of bytes of the access from there on.
    #[inline(never)]
    pub(super) fn count_element(&mut self, structure: u32, address: u64, size: u64) {
        let item_end = address | (self.granularity.bytes() - 1);
        let last = address.saturating_add(size.saturating_sub(1)).min(item_end);
        let element = self.shared.count_element(structure, address, last);
        if element != 0 {
            self.columns.set_element(element);
        }
    }

    /// Whether accesses to this object count, by the kind of its memory.
    pub(super) fn data_counts(&self, object: u32) -> bool {
        let place = || self.shared.objects.place(object);
        match self.options.data {
            DataFilter::All => true,
            DataFilter::Heap => place() == Where::Heap,
            DataFilter::Stack => place() == Where::Stack,
            DataFilter::Static => place() == Where::Static,
        }
    }

    /// Whether an access counts in statement mode: the first one of a statement to an address, or
    /// to an element of a structure, does. In the other mode all do.
    pub(super) fn is_first_in_statement(&mut self, structure: u32, address: u64) -> bool {
        if self.options.names == NamesMode::Instruction {
            return true;
        }
        let structure = self.shared.structures.get(structure);
        let element = structure.and_then(|structure| structure.element(address));
        self.statement
            .insert(element.map_or(address, |(start, _)| start))
    }
}

/// Cells.
impl Pass<'_> {
    /// Appends the one item of a site's access to an object.
    #[inline(always)]
    fn push_item(&mut self, slot: usize, object: u32, item: u64) {
        let remembered = self.process.sites.slot(slot);
        if remembered.object == object && remembered.owner == self.owner {
            return self.columns.push(item, remembered.cell);
        }
        let key = PackedKey::new(remembered.site, object, self.owner);
        let hash = key.hash();
        self.shared.prefetch(hash);
        self.pending.add(self.columns.len(), slot, (key, hash));
        self.columns.push(item, 0);
        if self.pending.is_full() {
            self.resolve_pending();
        }
    }

    /// Looks up the pending cells, makes those that are missing, and lets their slots remember
    /// them.
    #[inline(never)]
    pub(super) fn resolve_pending(&mut self) {
        let Pass {
            pending,
            shared,
            columns,
            process,
            ..
        } = self;
        for cell in pending.0.drain(..) {
            let found = match shared.cells.look(cell.key, cell.hash) {
                Some(cell) => CellChoice { cell, lasts: true },
                None => shared.new_cell(cell.key),
            };
            columns.cells[cell.at] = found.cell;
            if found.lasts {
                let key = cell.key;
                let slot = process.sites.slot(cell.slot as usize);
                (slot.object, slot.owner, slot.cell) = (key.key().object, key.owner(), found.cell);
            }
        }
    }

    /// The cell of a site's access to an object, resolved at once. Counts an access of a key that
    /// has no cell of its own.
    pub(super) fn resolve_cell(&mut self, slot: usize, object: u32) -> u32 {
        // Earlier accesses come first, as cells are made in the order of the accesses.
        self.resolve_pending();
        let slot = self.process.sites.slot(slot);
        if slot.object == object && slot.owner == self.owner {
            return slot.cell;
        }
        let key = PackedKey::new(slot.site, object, self.owner);
        let found = self.shared.cell(key.key());
        if found.lasts {
            (slot.object, slot.owner, slot.cell) = (object, self.owner, found.cell);
        }
        found.cell
    }
}
