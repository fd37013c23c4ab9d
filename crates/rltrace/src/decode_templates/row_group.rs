//! Rows of a template, four at a time, as `decode_templates` writes them into columns.

use reuselens_trace::{Columns, Kind, MAX_TEMPLATE_OPERANDS, TemplateRow};

/// Rows in a group: as many numbers as a vector of 256 bits has.
pub(super) const GROUP_ROWS: usize = 4;
/// Groups that are written for every execution, without a look at how many it has: most templates
/// that capture makes have no more rows.
pub(super) const MIN_GROUPS: usize = 2;

/// Up to four rows, in columns, without their operands.
#[derive(Clone, Copy)]
pub(super) struct RowGroup {
    pub(super) pcs: [u64; GROUP_ROWS],
    pub(super) displacements: [u64; GROUP_ROWS],
    /// All ones for rows that have an operand, 0 for others.
    pub(super) masks: [u64; GROUP_ROWS],
    pub(super) kinds: [Kind; GROUP_ROWS],
    pub(super) sizes: [u8; GROUP_ROWS],
    pub(super) operands: [u8; GROUP_ROWS],
}

pub(super) const NO_ROWS: RowGroup = RowGroup {
    pcs: [0; GROUP_ROWS],
    displacements: [0; GROUP_ROWS],
    masks: [0; GROUP_ROWS],
    kinds: [Kind::Load; GROUP_ROWS],
    sizes: [0; GROUP_ROWS],
    operands: [0; GROUP_ROWS],
};

impl RowGroup {
    /// The group of one to four rows. Missing rows are copies of the first.
    pub(super) fn of(rows: &[TemplateRow]) -> RowGroup {
        let row = |lane: usize| rows.get(lane).unwrap_or(&rows[0]);
        let mask = |lane: usize| u64::from(row(lane).operand.is_some()).wrapping_neg();
        RowGroup {
            pcs: std::array::from_fn(|lane| row(lane).pc),
            displacements: std::array::from_fn(|lane| row(lane).displacement),
            masks: std::array::from_fn(mask),
            kinds: std::array::from_fn(|lane| row(lane).kind),
            sizes: std::array::from_fn(|lane| row(lane).size),
            operands: std::array::from_fn(|lane| row(lane).operand.unwrap_or(0)),
        }
    }

    /// The addresses of the rows, with the operands of an execution.
    #[inline(always)]
    pub(super) fn addrs(&self, operands: &[u64; MAX_TEMPLATE_OPERANDS]) -> [u64; GROUP_ROWS] {
        std::array::from_fn(|lane| {
            // The remainder changes nothing; it saves the check of the bounds.
            let operand = operands[usize::from(self.operands[lane]) % MAX_TEMPLATE_OPERANDS];
            (operand & self.masks[lane]).wrapping_add(self.displacements[lane])
        })
    }
}

/// Writes the rows of an execution from place `at` on, whole groups at a time. Rows beyond those of
/// the execution are overwritten by the next, or cut off at the end of the block.
#[inline(always)]
pub(super) fn fill(
    groups: &[RowGroup],
    operands: &[u64; MAX_TEMPLATE_OPERANDS],
    at: usize,
    columns: &mut Columns<'_>,
) {
    let kinds = columns.kinds[at..].as_chunks_mut::<GROUP_ROWS>().0;
    let sizes = columns.sizes[at..].as_chunks_mut::<GROUP_ROWS>().0;
    let pcs = columns.pcs[at..].as_chunks_mut::<GROUP_ROWS>().0;
    let addrs = columns.addrs[at..].as_chunks_mut::<GROUP_ROWS>().0;
    let into = kinds.iter_mut().zip(sizes).zip(pcs).zip(addrs);
    for (group, (((kinds, sizes), pcs), addrs)) in groups.iter().zip(into) {
        *kinds = group.kinds;
        *sizes = group.sizes;
        *pcs = group.pcs;
        *addrs = group.addrs(operands);
    }
}
