//! Decodes a block of templates to item accesses.
//!
//! `decode::items` calls [`decode_templates_to_items`]. For each template of the chunk, [`enter`]
//! decides once how its executions are taken ([`ItemPath`]): by [`AccessGroup`]s, eight addresses
//! at once, if all its rows are accesses or count for nothing; else row by row, through the
//! [`ItemExtractor`]. An execution in which some access is to several items goes row by row too.
//!
//! *Invariant:* the items and rows of the block are the same as if each row went through
//! `ItemExtractor::row`.

use super::row_group::{GROUP_ROWS, MIN_GROUPS, RowGroup};
use super::{Execution, ROWS, TemplateDecoder, TemplateHead};
use crate::access_group::{AccessGroup, FEW_OPERANDS, GROUP_ACCESSES, NO_ACCESSES, completed};
use crate::decode_rows::Streams;
use crate::item_extractor::{APPEND_ROOM, ItemExtractor};
use crate::processor::Processor;
#[cfg(target_arch = "x86_64")]
use crate::processor::{Avx2, Avx512};
use crate::templates::is_plain;
use reuselens_io::varint::{Damage, Portable};
use reuselens_simd::entry_point;
use reuselens_trace::{
    Block, ItemProjection, Kind, MAX_TEMPLATE_OPERANDS, MAX_TEMPLATE_ROWS, Row, TemplateRow,
};

/// How the executions of a template become item accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ItemPath {
    /// By access groups. All rows are plain, so the decoder keeps only the accesses that count.
    Plain,
    /// By access groups, or all rows one by one if plain accesses are not what is taken. Some
    /// accesses are to ranges.
    Mixed,
    /// As `Mixed`, and all accesses are those that the program names.
    Named,
    /// All rows one by one.
    #[default]
    RowByRow,
}

/// A row of a template that becomes an item access.
#[derive(Clone, Copy)]
struct TemplateAccess {
    operand: Option<u8>,
    displacement: u64,
    size: AccessSize,
}

/// How many bytes an access is to.
#[derive(Clone, Copy)]
enum AccessSize {
    Bytes(u8),
    /// As many as the operand with this number says.
    Operand(u8),
}

impl AccessGroup {
    /// The group of the first eight of these accesses. `accesses` counts all.
    fn of(accesses: &[TemplateAccess]) -> AccessGroup {
        let mut group = NO_ACCESSES;
        for (lane, access) in accesses.iter().enumerate().take(GROUP_ACCESSES) {
            group.displacements[lane] = access.displacement;
            group.operands[lane] = access.operand.unwrap_or(0);
            group.relative |= u8::from(access.operand.is_some()) << lane;
            match access.size {
                AccessSize::Bytes(bytes) => group.sizes[lane] = bytes,
                AccessSize::Operand(operand) => {
                    group.lengths[lane] = operand;
                    group.variable |= 1 << lane;
                }
            }
        }
        let mut operands = group.operands.iter().chain(&group.lengths);
        group.few_operands = operands.all(|operand| usize::from(*operand) < FEW_OPERANDS);
        group.accesses = accesses.len() as u16;
        group
    }
}

/// Decides how a template becomes item accesses, and appends its access groups. Returns the path
/// and the place of the first group. With [`ItemPath::Plain`] `rows` is reduced to the accesses
/// that count.
pub(super) fn enter(
    groups: &mut Vec<AccessGroup>,
    rows: &mut Vec<TemplateRow>,
    projection: &ItemProjection,
) -> (ItemPath, u32) {
    let first = groups.len() - 1;
    // An operand that comes first belongs to a row before the execution.
    let starts_with_row = rows.first().is_some_and(|row| row.kind != Kind::Operand);
    let plain = starts_with_row && rows.iter().all(|row| is_plain(row.kind));
    if plain {
        rows.retain(|row| projection.counts(row.kind));
    }
    let found = starts_with_row
        .then(|| accesses(rows, projection))
        .flatten();
    let path = match &found {
        Some(_) if plain => ItemPath::Plain,
        Some((_, true)) => ItemPath::Named,
        Some((_, false)) => ItemPath::Mixed,
        None => ItemPath::RowByRow,
    };
    if let Some((accesses, _)) = found {
        groups.truncate(first);
        // A template without accesses has one group, which is empty.
        for at in (0..accesses.len().max(1)).step_by(GROUP_ACCESSES) {
            groups.push(AccessGroup::of(&accesses[at..]));
        }
        groups.push(NO_ACCESSES);
    }
    (path, first as u32)
}

/// The rows of a template that become item accesses, and whether they are those that the program
/// names. `None` if there are rows that are looked at by themselves, or accesses of both sorts.
fn accesses(
    rows: &[TemplateRow],
    projection: &ItemProjection,
) -> Option<(Vec<TemplateAccess>, bool)> {
    let (mut found, mut any_named, mut any_plain) = (Vec::new(), false, false);
    let mut rows = rows.iter().peekable();
    while let Some(row) = rows.next() {
        let mut operand = || rows.next_if(|next| next.kind == Kind::Operand);
        let size = match row.kind {
            Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock | Kind::Operand => {
                continue;
            }
            Kind::Load | Kind::Store | Kind::Atomic if !projection.counts(row.kind) => continue,
            Kind::Load | Kind::Store | Kind::Atomic => AccessSize::Bytes(row.size),
            Kind::RangeLoad | Kind::RangeStore if projection.counts(row.kind) => {
                length(operand()?)?
            }
            Kind::Named => {
                operand()?;
                any_named = true;
                AccessSize::Bytes(0)
            }
            _ => return None,
        };
        any_plain |= row.kind != Kind::Named;
        found.push(TemplateAccess {
            operand: row.operand,
            displacement: row.displacement,
            size,
        });
    }
    (!(any_named && any_plain)).then_some((found, any_named))
}

/// The size of a range, from its operand row, if that is an operand as it is or a small constant.
fn length(row: &TemplateRow) -> Option<AccessSize> {
    match (row.operand, row.displacement) {
        (Some(operand), 0) => Some(AccessSize::Operand(operand)),
        (None, bytes @ 1..=255) => Some(AccessSize::Bytes(bytes as u8)),
        _ => None,
    }
}

impl RowGroup {
    /// The row of a lane, at an address.
    #[inline(always)]
    fn row(&self, lane: usize, addr: u64) -> Row {
        Row {
            kind: self.kinds[lane],
            size: self.sizes[lane],
            pc: self.pcs[lane],
            addr,
        }
    }
}

entry_point! {
    /// Appends the item accesses of a block's executions to the block.
    ///
    /// # Errors
    /// If the chunk is damaged. Some of the accesses were appended then.
    pub(in super::super) fn decode_templates_to_items(
        level,
        decoder: &mut TemplateDecoder,
        streams: &mut Streams<'_>,
        head: TemplateHead,
        to: (&mut ItemExtractor, &mut Block),
    ) -> Result<(), Damage> {
        Icelake(proof) => decoder.items_here(Avx512::with(proof), streams, head, to),
        V3(proof) => decoder.items_here(Avx2::with(proof), streams, head, to),
        _ => decoder.items_here(Portable, streams, head, to),
    }
}

impl TemplateDecoder {
    #[inline(always)]
    fn items_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        head: TemplateHead,
        (extractor, out): (&mut ItemExtractor, &mut Block),
    ) -> Result<(), Damage> {
        self.read(squeeze, streams, head)?;
        // Whether no row before waits for an operand. Groups never leave one that does, so it is
        // checked only after executions that went row by row.
        let mut closed = false;
        for execution in &self.executions {
            let operands = self.values.get(execution.first_operand as usize..);
            let operands: Option<&[u64; MAX_TEMPLATE_OPERANDS]> =
                operands.and_then(<[u64]>::first_chunk);
            let access_groups = self
                .access_groups
                .get(execution.first_access_group as usize..);
            let groups = self.groups.get(execution.first_group as usize..);
            let (Some(operands), Some(access_groups), Some(groups)) =
                (operands, access_groups, groups)
            else {
                return Err(ROWS);
            };
            if !closed && execution.item_path != ItemPath::RowByRow {
                extractor.close_before(out);
                closed = true;
            }
            let by_groups = match execution.item_path {
                ItemPath::Plain | ItemPath::Mixed => !extractor.is_by_name(),
                ItemPath::Named => extractor.takes_names(),
                ItemPath::RowByRow => false,
            };
            if by_groups && append_accesses(squeeze, access_groups, operands, extractor, out) {
                continue;
            }
            append_rows(groups, operands, execution, extractor, out);
            closed = false;
        }
        Ok(())
    }
}

/// Appends the accesses of an execution, if each is to one item, else nothing. Returns whether it
/// did.
#[inline(always)]
fn append_accesses(
    squeeze: impl Processor,
    groups: &[AccessGroup],
    operands: &[u64; MAX_TEMPLATE_OPERANDS],
    extractor: &mut ItemExtractor,
    out: &mut Block,
) -> bool {
    extractor.make_room(out);
    let (free, mask) = extractor.free();
    let (into, _) = free.as_chunks_mut::<GROUP_ACCESSES>();
    let (Some(group), Some(first)) = (groups.first(), into.first_mut()) else {
        return false;
    };
    // Most executions have one group. Addresses are written to the buffer in any case, and count
    // only if all of them fit.
    let count = usize::from(group.accesses);
    let mut fits = complete(squeeze, group, operands, mask, first);
    let others = count.div_ceil(GROUP_ACCESSES).max(1);
    let (Some(groups), Some(into)) = (groups.get(1..others), into.get_mut(1..others)) else {
        return false;
    };
    // Not by `skip`: what is called there is not compiled for the processor at hand.
    for (group, into) in groups.iter().zip(into) {
        fits &= complete(squeeze, group, operands, mask, into);
    }
    extractor.append(if fits { count } else { 0 });
    fits
}

/// [`Processor::complete`] for groups with few operands, [`completed`] for others.
#[inline(always)]
fn complete(
    squeeze: impl Processor,
    group: &AccessGroup,
    operands: &[u64; MAX_TEMPLATE_OPERANDS],
    mask: u64,
    into: &mut [u64; GROUP_ACCESSES],
) -> bool {
    match operands.first_chunk() {
        Some(few) if group.few_operands => squeeze.complete(group, few, mask, into),
        _ => completed(group, operands, mask, into),
    }
}

/// Takes the rows of an execution one by one.
#[inline(never)]
fn append_rows(
    groups: &[RowGroup],
    operands: &[u64; MAX_TEMPLATE_OPERANDS],
    execution: &Execution,
    extractor: &mut ItemExtractor,
    out: &mut Block,
) {
    extractor.make_room(out);
    let mut left = usize::from(execution.rows);
    for group in groups {
        let addrs = group.addrs(operands);
        for (lane, addr) in addrs.into_iter().enumerate().take(left) {
            let simple = extractor.takes(group.kinds[lane])
                && extractor.push_simple(addr, group.sizes[lane]);
            if !simple {
                extractor.row(group.row(lane, addr), out);
            }
        }
        left = left.saturating_sub(GROUP_ROWS);
        if left == 0 {
            return;
        }
    }
}

/// The room that `make_room` makes holds all accesses of a template, and the rest of a group.
const _: () = assert!(MAX_TEMPLATE_ROWS + MIN_GROUPS * GROUP_ROWS <= APPEND_ROOM);
