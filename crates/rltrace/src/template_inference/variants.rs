//! The variants of a fragment: templates that say how its addresses depend on each other.
//!
//! A row's *leader* is the row whose address its own is relative to: both share an operand. When a
//! fragment comes for the third time, rows that moved as far as each other since the second are
//! given one leader ([`Variants::make`]). When addresses do not fit any variant, another is made,
//! with groups that are parts of those of the one before: rows stay together that moved as far as
//! each other this time too. So after a few variants only what always holds is left. The last
//! variant of a fragment has an operand for each row, and fits anything.
//!
//! *Invariant:* an execution of a variant expands to exactly the addresses that it was made of:
//! [`Variants::fitting`] compares each.

use std::ops::Range;

use super::{MAX_FRAGMENT_ROWS, RowKey};
use reuselens_trace::{Kind, TemplateBlock, Templates};

/// The most variants of a fragment that are tried.
const MAX_TRIED: usize = 4;
/// The most variants that are made of a fragment. The last fits anything.
const MAX_MADE: u8 = 8;
/// Addresses that did not move get one leader if they are nearer to each other than this.
const NEAR: u64 = 1 << 20;
/// In place of a leader: the row's number is always the same.
const CONSTANT: u8 = MAX_FRAGMENT_ROWS as u8;
/// A variant that mostly did not fit, after this many tries, is tried no more.
const TRIES: u32 = 16;

/// The addresses of a fragment's rows. Twice as long as a fragment, with zeros at the end: so
/// [`CONSTANT`], as a leader, has the address 0.
pub(super) struct FragmentAddrs {
    all: [u64; 2 * MAX_FRAGMENT_ROWS],
    rows: usize,
}

impl FragmentAddrs {
    /// Those of up to [`MAX_FRAGMENT_ROWS`] rows.
    #[inline(always)]
    pub(super) fn of(addrs: &[u64]) -> FragmentAddrs {
        let mut all = [0; 2 * MAX_FRAGMENT_ROWS];
        all[..addrs.len()].copy_from_slice(addrs);
        FragmentAddrs {
            all,
            rows: addrs.len(),
        }
    }

    #[inline(always)]
    fn get(&self, row: u8) -> u64 {
        self.all[usize::from(row) % (2 * MAX_FRAGMENT_ROWS)]
    }
}

/// A variant of a fragment.
#[derive(Clone, Copy)]
struct Variant {
    template: u32,
    /// Where its rows are in `leaders` and `displacements`.
    first_row: u32,
    /// Where its operands are in `operand_rows`, `lasts` and `steps`.
    first_operand: u32,
    operands: u8,
    /// How often it was tried, and how often it did not fit. Both are halved now and then.
    tries: u32,
    misses: u32,
}

/// The variants of one fragment.
#[derive(Clone, Copy, Default)]
struct FragmentVariants {
    /// Those that are tried; the first `count` are valid.
    variants: [u32; MAX_TRIED],
    count: u8,
    /// How many were made so far.
    made: u8,
}

/// The variants of all fragments, in columns.
#[derive(Default)]
pub(super) struct Variants {
    /// By fragment; [`NO_FRAGMENT`](super::fragments::NO_FRAGMENT) has none, so that of fragment n
    /// is at n − 1.
    own: Vec<FragmentVariants>,
    /// For each row of each fragment: its address when the last variant was made, and its leader in
    /// that variant.
    before: Vec<u64>,
    groups: Vec<u8>,
    variants: Vec<Variant>,
    /// For each row of each variant its leader, and how far its address is from the leader's.
    leaders: Vec<u8>,
    displacements: Vec<u64>,
    /// For each operand of each variant: the row whose address it is, the last address, and how far
    /// that was from the one before.
    operand_rows: Vec<u8>,
    lasts: Vec<u64>,
    steps: Vec<u64>,
}

impl Variants {
    pub(super) fn clear(&mut self) {
        self.own.clear();
        self.before.clear();
        self.groups.clear();
        self.variants.clear();
        self.leaders.clear();
        self.displacements.clear();
        self.operand_rows.clear();
        self.lasts.clear();
        self.steps.clear();
    }

    /// The number of rows of all variants.
    pub(super) fn rows(&self) -> usize {
        self.leaders.len()
    }

    /// Adds a fragment, with its addresses.
    pub(super) fn enter(&mut self, addrs: &[u64]) {
        self.own.push(FragmentVariants::default());
        self.before.extend_from_slice(addrs);
        self.groups.resize(self.before.len(), 0);
    }

    /// The variant of a fragment that these addresses fit.
    #[inline(always)]
    pub(super) fn fitting(&mut self, fragment: u32, addrs: &FragmentAddrs) -> Option<u32> {
        let own = &mut self.own[fragment as usize - 1];
        let mut place = 0;
        while place < usize::from(own.count) {
            let number = own.variants[place % MAX_TRIED];
            let variant = &mut self.variants[number as usize];
            let rows = variant.first_row as usize..variant.first_row as usize + addrs.rows;
            variant.tries += 1;
            if holds(
                &self.leaders[rows.clone()],
                &self.displacements[rows],
                addrs,
            ) {
                return Some(number);
            }
            // Drop a variant that rarely fits, as long as others can be made.
            variant.misses += 1;
            let rarely = variant.tries >= TRIES && variant.misses > variant.tries / 4 * 3;
            if variant.tries >= 2 * TRIES {
                (variant.tries, variant.misses) = (variant.tries / 2, variant.misses / 2);
            }
            if rarely && own.made < MAX_MADE {
                own.variants.copy_within(place + 1.., place);
                own.count -= 1;
            } else {
                place += 1;
            }
        }
        None
    }

    /// Appends an execution of a variant that the addresses fit. Returns whether each of its
    /// operands moved as far as the last time.
    #[inline(always)]
    pub(super) fn execute(
        &mut self,
        number: u32,
        rows: usize,
        addrs: &FragmentAddrs,
        out: &mut TemplateBlock,
    ) -> bool {
        let variant = &self.variants[number as usize];
        let first = variant.first_operand as usize;
        let own = first..first + usize::from(variant.operands);
        let (lasts, steps) = (&mut self.lasts[own.clone()], &mut self.steps[own.clone()]);
        let mut operands = [0; MAX_FRAGMENT_ROWS];
        let mut changed = 0;
        let each = operands.iter_mut().zip(&self.operand_rows[own.clone()]);
        for ((operand, row), (last, before)) in each.zip(lasts.iter_mut().zip(steps)) {
            *operand = addrs.get(*row);
            let step = operand.wrapping_sub(*last);
            changed |= step ^ *before;
            (*last, *before) = (*operand, step);
        }
        out.push(variant.template, rows, &operands[..own.len()]);
        changed == 0
    }

    /// Makes another variant of a fragment, which these addresses fit. `rows` are the fragment's
    /// places among the rows of all fragments, `keys` its rows. `None` if there are as many
    /// templates as there can be.
    #[cold]
    #[inline(never)]
    pub(super) fn make(
        &mut self,
        (fragment, rows): (u32, &Range<usize>),
        keys: &[RowKey],
        addrs: &FragmentAddrs,
        templates: &mut Templates,
    ) -> Option<u32> {
        let own = &mut self.own[fragment as usize - 1];
        if usize::from(own.count) + 1 == MAX_TRIED {
            // There is a place for one more: the one that fits anything.
            own.made = MAX_MADE - 1;
        }
        let own = *own;
        let leaders = if own.made + 1 >= MAX_MADE {
            std::array::from_fn(|row| row as u8)
        } else {
            self.leaders(own.made == 0, rows, keys, addrs)
        };
        let leaders = &leaders[..addrs.rows];
        let number = self.add(leaders, keys, addrs, templates)?;
        let own = &mut self.own[fragment as usize - 1];
        own.variants[usize::from(own.count) % MAX_TRIED] = number;
        own.count += 1;
        own.made += 1;
        self.before[rows.clone()].copy_from_slice(&addrs.all[..addrs.rows]);
        self.groups[rows.clone()].copy_from_slice(leaders);
        Some(number)
    }

    /// For each row its leader: the first row that was in its group, and has moved as far since.
    /// The first time, all rows are in one group.
    fn leaders(
        &self,
        is_first: bool,
        rows: &Range<usize>,
        keys: &[RowKey],
        addrs: &FragmentAddrs,
    ) -> [u8; MAX_FRAGMENT_ROWS] {
        let (before, groups) = (&self.before[rows.clone()], &self.groups[rows.clone()]);
        let step = |row: usize| addrs.all[row].wrapping_sub(before[row]);
        let mut leaders: [u8; MAX_FRAGMENT_ROWS] = std::array::from_fn(|row| row as u8);
        for row in 0..addrs.rows {
            if is_number(keys[row].kind) {
                let is_constant = step(row) == 0 && (is_first || groups[row] == CONSTANT);
                leaders[row] = if is_constant { CONSTANT } else { row as u8 };
                continue;
            }
            let joins = |&leader: &usize| {
                let distance = addrs.all[row].wrapping_sub(addrs.all[leader]);
                let is_near = step(row) != 0 || distance.wrapping_add(NEAR) < 2 * NEAR;
                let together = if is_first {
                    is_near
                } else {
                    groups[row] == groups[leader]
                };
                usize::from(leaders[leader]) == leader
                    && !is_number(keys[leader].kind)
                    && step(row) == step(leader)
                    && together
            };
            let leader = (0..row).find(joins);
            leaders[row] = leader.unwrap_or(row) as u8;
        }
        leaders
    }

    /// Adds a variant with these leaders.
    fn add(
        &mut self,
        leaders: &[u8],
        keys: &[RowKey],
        addrs: &FragmentAddrs,
        templates: &mut Templates,
    ) -> Option<u32> {
        let (first_row, first_operand) = (self.leaders.len(), self.operand_rows.len());
        let mut operands = [0_u8; MAX_FRAGMENT_ROWS];
        let mut rows = [keys[0].template_row(None, 0); MAX_FRAGMENT_ROWS];
        for (row, &leader) in leaders.iter().enumerate() {
            // A row that leads itself begins a group: its address is the operand.
            if usize::from(leader) == row {
                operands[row] = (self.operand_rows.len() - first_operand) as u8;
                self.operand_rows.push(leader);
            }
            let operand =
                (leader != CONSTANT).then(|| operands[usize::from(leader) % MAX_FRAGMENT_ROWS]);
            let displacement = addrs.all[row].wrapping_sub(addrs.get(leader));
            rows[row] = keys[row].template_row(operand, displacement);
            self.displacements.push(displacement);
        }
        self.leaders.extend_from_slice(leaders);
        self.lasts.resize(self.operand_rows.len(), 0);
        self.steps.resize(self.operand_rows.len(), 0);
        self.variants.push(Variant {
            template: templates.add(&rows[..leaders.len()])?,
            first_row: first_row as u32,
            first_operand: first_operand as u32,
            operands: (self.operand_rows.len() - first_operand) as u8,
            tries: 0,
            misses: 0,
        });
        Some(self.variants.len() as u32 - 1)
    }
}

/// Whether each address is its leader's and the displacement.
#[inline(always)]
fn holds(leaders: &[u8], displacements: &[u64], addrs: &FragmentAddrs) -> bool {
    let each = leaders.iter().zip(displacements).zip(&addrs.all);
    // Without a branch for each row, so that it becomes vectors.
    let different = each.fold(0, |different, ((leader, displacement), addr)| {
        different | addrs.get(*leader).wrapping_add(*displacement) ^ addr
    });
    different == 0
}

/// Whether the address of a row is a number rather than an address.
fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Operand | Kind::Statement | Kind::BasicBlock)
}
