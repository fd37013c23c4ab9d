//! Blocks of rows: what encoder and decoder both know of the sites of a chunk, and the predictor of
//! their addresses.
//!
//! A site is a place in the program that makes rows: kind, size and program counter. A row is
//! stored as a *token* (which site made it) and an *address* (how far its address is from the
//! predicted one):
//!
//! - token 0: the site that followed the previous row's site the last time; 1: a new site,
//!   described in the stream of sites; n ≥ 2: site n − 1. Sites are numbered from 1 as they appear.
//! - address: the zig-zag difference from the site's last address plus a predicted step. That is
//!   either the site's own stride, or the step that the previous row's site just made. The stride
//!   is the last step that occurred twice in a row, so one jump at a loop's end does not unlearn
//!   it. The previous row's step predicts the further fields of a record that a first load found by
//!   pointer. Each site uses the one of the two that was right when last only one of them was.
//!
//! Loops thus become runs of zeros, which zstd stores in next to nothing. Anything but loops of
//! equal steps is cheaper to read as templates, and mostly stored so: see `template_inference`.
//!
//! An operand row has a site of its own for each site that it follows, because its meaning depends
//! on that one.
//!
//! `encode` uses [`RowSite`], [`SiteTable`] and [`AddressPredictor`]; `decode_rows` uses the
//! predictor. *Invariant:* after the same rows, the predictors of both are equal.

use reuselens_trace::{Kind, Row};

/// The site before the first row of every block.
pub(super) const START_SITE: usize = 0;
/// Token: the site that followed the last time.
pub(super) const SUCCESSOR: u64 = 0;
/// Token: a site not seen before in this chunk.
pub(super) const NEW_SITE: u64 = 1;

/// A place that makes rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSite {
    pub(super) pc: u64,
    /// The site of the row before, for operands; else 0.
    pub(super) after: u32,
    pub(super) kind: Kind,
    pub(super) size: u8,
}

impl RowSite {
    /// The site of such a row. `previous` is the site of the row before.
    pub(super) fn new(kind: Kind, size: u8, pc: u64, previous: usize) -> RowSite {
        let after = context(kind, previous);
        RowSite {
            pc,
            after,
            kind,
            size,
        }
    }

    /// The site that represents the start of a block.
    pub(super) fn start() -> RowSite {
        RowSite::new(Kind::Load, 0, 0, START_SITE)
    }

    /// Whether `row`, after a row of site `previous`, is made here.
    #[inline]
    pub(super) fn makes(&self, row: &Row, previous: usize) -> bool {
        self.pc == row.pc
            && self.kind == row.kind
            && self.size == row.size
            && self.after == context(row.kind, previous)
    }
}

/// Predicts the next address of a site. Stored apart from [`RowSite`], so that two fit into a cache
/// line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AddressPredictor {
    /// The last address.
    pub(super) last: u64,
    /// The last step that occurred twice in a row.
    pub(super) stride: u64,
    /// The last step.
    pub(super) step: u64,
    /// All ones if the previous row's step is predicted, 0 if the stride is.
    follows: u64,
}

impl AddressPredictor {
    /// Of a site that made no row yet.
    pub(super) const NONE: AddressPredictor = AddressPredictor {
        last: 0,
        stride: 0,
        step: 0,
        follows: 0,
    };

    #[inline(always)]
    fn predicted_step(&self, previous_step: u64) -> u64 {
        // A selection by mask: which of the two it is varies by site, so a branch would be
        // mispredicted.
        self.stride ^ ((self.stride ^ previous_step) & self.follows)
    }

    /// For the encoder: goes on to `addr`. Returns how far that is from the predicted address, and
    /// the step that was made. `previous_step` is the step of the row before.
    #[inline(always)]
    pub(super) fn learn(&mut self, addr: u64, previous_step: u64) -> (u64, u64) {
        let step = addr.wrapping_sub(self.last);
        let difference = step.wrapping_sub(self.predicted_step(previous_step));
        self.make_step(step, previous_step);
        (difference, step)
    }

    /// For the decoder: goes on to the address that is `difference` from the predicted one, which
    /// is then in `last`. Returns the step that was made.
    #[inline(always)]
    pub(super) fn advance(&mut self, difference: u64, previous_step: u64) -> u64 {
        let step = self.predicted_step(previous_step).wrapping_add(difference);
        self.make_step(step, previous_step);
        step
    }

    /// The same as [`Self::advance`] by 0, in fewer instructions: a prediction that was right does
    /// not change `follows`.
    #[inline(always)]
    pub(super) fn advance_as_predicted(&mut self, previous_step: u64) -> u64 {
        let step = self.predicted_step(previous_step);
        self.stride = if step == self.step { step } else { self.stride };
        self.step = step;
        self.last = self.last.wrapping_add(step);
        step
    }

    /// Makes the last step `times` times more: what [`Self::advance_as_predicted`] does in a loop
    /// whose steps no longer change.
    pub(super) fn repeat_step(&mut self, times: u64) {
        self.stride = self.step;
        self.last = self.last.wrapping_add(self.step.wrapping_mul(times));
    }

    #[inline(always)]
    fn make_step(&mut self, step: u64, previous_step: u64) {
        let stride_right = u64::from(step == self.stride).wrapping_neg();
        let previous_right = u64::from(step == previous_step).wrapping_neg();
        // Where exactly one of the two was right, `follows` becomes `previous_right`.
        self.follows ^= (stride_right ^ previous_right) & (self.follows ^ previous_right);
        self.stride = if step == self.step { step } else { self.stride };
        self.step = step;
        self.last = self.last.wrapping_add(step);
    }
}

/// What the site of an operand depends on: the site before it.
#[inline]
fn context(kind: Kind, previous: usize) -> u32 {
    if kind == Kind::Operand {
        previous as u32
    } else {
        0
    }
}

/// Finds a site's number by its row, for the encoder. A hash table with linear probing, at most
/// half full; 0 marks a free slot.
pub(super) struct SiteTable {
    slots: Vec<u32>,
    /// 64 less the logarithm of the number of slots.
    shift: u32,
}

impl SiteTable {
    pub(super) fn new() -> SiteTable {
        const BITS: u32 = 12;
        SiteTable {
            slots: vec![0; 1 << BITS],
            shift: 64 - BITS,
        }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
    }

    /// The number of the site of `row` after site `previous`, if it is in `sites`.
    #[inline]
    pub(super) fn find(&self, sites: &[RowSite], row: &Row, previous: usize) -> Option<usize> {
        let mut slot = self.slot(row.pc, row.kind, row.size, context(row.kind, previous));
        loop {
            let number = self.slots[slot] as usize;
            if number == START_SITE {
                return None;
            }
            if sites[number].makes(row, previous) {
                return Some(number);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Enters the last of `sites`. The others must be in the table.
    pub(super) fn enter_last(&mut self, sites: &[RowSite]) {
        if sites.len() * 2 > self.slots.len() {
            self.shift -= 1;
            self.slots = vec![0; self.slots.len() * 2];
            for number in 1..sites.len() {
                self.enter(sites, number);
            }
        } else {
            self.enter(sites, sites.len() - 1);
        }
    }

    fn enter(&mut self, sites: &[RowSite], number: usize) {
        let site = &sites[number];
        let mut slot = self.slot(site.pc, site.kind, site.size, site.after);
        while self.slots[slot] != 0 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = number as u32;
    }

    #[inline]
    fn slot(&self, pc: u64, kind: Kind, size: u8, after: u32) -> usize {
        let rest = u64::from(after) << 16 | u64::from(size) << 8 | kind as u64;
        let mixed = pc ^ rest.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address that is predicted next.
    fn predicted(predictor: AddressPredictor, previous_step: u64) -> u64 {
        let mut predictor = predictor;
        predictor.advance(0, previous_step);
        predictor.last
    }

    #[test]
    fn predictor_keeps_the_stride_after_a_jump() {
        let mut predictor = AddressPredictor::default();
        for addr in [100, 108, 116] {
            predictor.learn(addr, 0);
        }
        assert_eq!(predicted(predictor, 0), 124);
        predictor.learn(100, 0);
        assert_eq!(predicted(predictor, 0), 108);
    }

    #[test]
    fn predictor_follows_the_first_field_of_a_record() {
        let (mut first, mut second) = (AddressPredictor::default(), AddressPredictor::default());
        for node in [5000, 400, 90_000, 1600] {
            let (_, step) = first.learn(node, 0);
            second.learn(node + 8, step);
        }
        let (_, step) = first.learn(77, 0);
        assert_eq!(predicted(second, step), 85);
    }

    #[test]
    fn decoder_learns_what_the_encoder_learns() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 61
        };
        let (mut writes, mut reads) = (AddressPredictor::default(), AddressPredictor::default());
        let (mut addr, mut before) = (0_u64, 0);
        for _ in 0..20_000 {
            addr = addr.wrapping_add(random());
            let (difference, learnt) = writes.learn(addr, before);
            let mut other = reads;
            let step = reads.advance(difference, before);
            if difference == 0 {
                assert_eq!(other.advance_as_predicted(before), step);
                assert_eq!(other, reads);
            }
            assert_eq!((reads.last, step), (addr, learnt));
            assert_eq!(writes, reads);
            before = random();
        }
    }

    #[test]
    fn table_finds_every_site_while_it_grows() {
        let mut table = SiteTable::new();
        let mut sites = vec![RowSite::start()];
        let row = |pc| Row {
            kind: Kind::Load,
            size: 8,
            pc,
            addr: 0,
        };
        for pc in 0..20_000 {
            assert_eq!(table.find(&sites, &row(pc), START_SITE), None);
            sites.push(RowSite::new(Kind::Load, 8, pc, START_SITE));
            table.enter_last(&sites);
        }
        for pc in 0..20_000 {
            assert_eq!(
                table.find(&sites, &row(pc), START_SITE),
                Some(pc as usize + 1)
            );
        }
    }
}
