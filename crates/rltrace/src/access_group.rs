//! Accesses of a template, eight at a time, in the columns that vectors need.
//!
//! `decode_templates::items` makes [`AccessGroup`]s once for each template of a chunk, and
//! completes them with the operands of each execution:
//! [`Processor::complete`](crate::processor::Processor) does that with vectors, [`completed`]
//! without. Both give the same addresses and the same answer.

/// Accesses in a group: as many numbers as a vector of 512 bits has.
pub(super) const GROUP_ACCESSES: usize = 8;
/// Operands that two vectors hold. A group that needs no others can be completed with vectors.
pub(super) const FEW_OPERANDS: usize = 16;

/// Up to eight accesses of a template. Lane i of each column is access i; lanes without an access
/// are those of [`NO_ACCESSES`], whose size is 0, so they fit into any item.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct AccessGroup {
    /// What is added to the operand; without an operand, the address.
    pub(super) displacements: [u64; GROUP_ACCESSES],
    /// The operand that each address is relative to.
    pub(super) operands: [u8; GROUP_ACCESSES],
    /// Bytes accessed, of accesses of constant size.
    pub(super) sizes: [u8; GROUP_ACCESSES],
    /// The operand that is the size, of accesses whose size varies.
    pub(super) lengths: [u8; GROUP_ACCESSES],
    /// A bit for each access that has an operand.
    pub(super) relative: u8,
    /// A bit for each access whose size varies: ranges.
    pub(super) variable: u8,
    /// Whether `operands` and `lengths` are all below [`FEW_OPERANDS`].
    pub(super) few_operands: bool,
    /// How many accesses the template has from this group on.
    pub(super) accesses: u16,
}

/// A group without accesses.
pub(super) const NO_ACCESSES: AccessGroup = AccessGroup {
    displacements: [0; GROUP_ACCESSES],
    operands: [0; GROUP_ACCESSES],
    sizes: [0; GROUP_ACCESSES],
    lengths: [0; GROUP_ACCESSES],
    relative: 0,
    variable: 0,
    few_operands: true,
    accesses: 0,
};

/// Writes the addresses of a group's accesses. Returns whether each access is within one item, and
/// to one byte at least if its size varies; `mask` has the bits of an address below its item's
/// number. If it returns `false` the addresses are right all the same.
#[inline(always)]
pub(super) fn completed<const OPERANDS: usize>(
    group: &AccessGroup,
    operands: &[u64; OPERANDS],
    mask: u64,
    into: &mut [u64; GROUP_ACCESSES],
) -> bool {
    let mut is_over = 0;
    // The remainder changes nothing in valid templates; it saves the check of the bounds.
    let operand = |number: u8| operands[usize::from(number) % OPERANDS];
    for (lane, addr) in into.iter_mut().enumerate() {
        let relative = u64::from(group.relative >> lane & 1).wrapping_neg();
        *addr = (operand(group.operands[lane]) & relative).wrapping_add(group.displacements[lane]);
        is_over |= u64::from(u64::from(group.sizes[lane]) > mask + 1 - (*addr & mask));
    }
    let mut variable = group.variable;
    while variable != 0 {
        let lane = variable.trailing_zeros() as usize;
        variable &= variable - 1;
        let bytes = operand(group.lengths[lane]);
        // A size of 0 becomes the largest number, so it does not fit. No sum can overflow, however
        // large the size is.
        is_over |= u64::from(bytes.wrapping_sub(1) >= mask + 1 - (into[lane] & mask));
    }
    is_over == 0
}
