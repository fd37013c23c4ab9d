//! What encoder and decoder both know: the sites of a chunk and what each is expected to do next.
//!
//! A site is a place in the program that makes rows: kind, size and program counter. A row is
//! stored as a *token*, which site made it, and an *address*, how far the address lies from the
//! expected one:
//!
//! - token 0: the site that followed the previous row's site the last time; 1: a new site,
//!   described in the stream of sites; n ≥ 2: site n − 1. Sites are numbered from 1 as they appear.
//! - address: the zig-zag difference from the expected address: the site's last address plus either
//!   its stride, or the step that the previous row's site just made. The stride is the last step
//!   that occurred twice in a row, so one jump at a loop's end does not unlearn it. The step of
//!   another foretells the further fields of a record that a first load found by pointer. Each site
//!   uses the one of the two that was right when last only one of them was.
//!
//! What is not a loop in equal steps is cheaper to read as shapes, and mostly written so: see
//! `shaper`.
//!
//! Loops thus become runs of zeros, which zstd stores in next to nothing. An operand row belongs to
//! a site of its own for each site that it follows, as what it means depends on that one.

use reuselens_trace::{Kind, Row};

/// The site before the first row of every block.
pub(super) const START: usize = 0;
/// Token: as last time.
pub(super) const AGAIN: u64 = 0;
/// Token: a site not seen before in this chunk.
pub(super) const NEW: u64 = 1;

/// A place that makes rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) pc: u64,
    /// Site of the row before, for operands; else 0.
    pub(super) after: u32,
    pub(super) kind: Kind,
    pub(super) size: u8,
}

impl Site {
    /// A site. `before` is that of the row before.
    pub(super) fn new(kind: Kind, size: u8, pc: u64, before: usize) -> Site {
        let after = context(kind, before);
        Site {
            pc,
            after,
            kind,
            size,
        }
    }

    /// The site that stands for the start of a block.
    pub(super) fn start() -> Site {
        Site::new(Kind::Load, 0, 0, START)
    }

    /// Whether `row`, coming after site `before`, is made here.
    #[inline]
    pub(super) fn makes(&self, row: &Row, before: usize) -> bool {
        self.pc == row.pc
            && self.kind == row.kind
            && self.size == row.size
            && self.after == context(row.kind, before)
    }
}

/// What is expected of a site: its last address, and where it goes from there. Apart from [`Site`],
/// so that those of two sites fit a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trail {
    pub(super) last: u64,
    pub(super) stride: u64,
    pub(super) step: u64,
    /// All ones if the step of the row before is followed, rather than the site's own stride; else
    /// 0.
    follows: u64,
}

impl Trail {
    /// Of a site that did nothing yet.
    pub(super) const NONE: Trail = Trail {
        last: 0,
        stride: 0,
        step: 0,
        follows: 0,
    };

    #[inline(always)]
    fn expected_step(&self, before: u64) -> u64 {
        // Without a branch, as nothing foretells which.
        self.stride ^ ((self.stride ^ before) & self.follows)
    }

    /// How far `addr` lies from the expected address; goes on to it. `before` is the step of the
    /// row before. Returns also this row's step.
    #[inline(always)]
    pub(super) fn learn(&mut self, addr: u64, before: u64) -> (u64, u64) {
        let step = addr.wrapping_sub(self.last);
        let difference = step.wrapping_sub(self.expected_step(before));
        self.make(step, before);
        (difference, step)
    }

    /// Goes on to the address that lies `difference` from the expected one; `before` is the step of
    /// the row before. Returns this row's step.
    #[inline(always)]
    pub(super) fn advance(&mut self, difference: u64, before: u64) -> u64 {
        let step = self.expected_step(before).wrapping_add(difference);
        self.make(step, before);
        step
    }

    /// [`Trail::advance`] by 0: what is followed then stays what it was.
    #[inline(always)]
    pub(super) fn advance_as_expected(&mut self, before: u64) -> u64 {
        let step = self.expected_step(before);
        self.stride = if step == self.step { step } else { self.stride };
        self.step = step;
        self.last = self.last.wrapping_add(step);
        step
    }

    /// Goes so many steps on, each as the last.
    pub(super) fn go_on(&mut self, steps: u64) {
        self.stride = self.step;
        self.last = self.last.wrapping_add(self.step.wrapping_mul(steps));
    }

    #[inline(always)]
    fn make(&mut self, step: u64, before: u64) {
        let own = u64::from(step == self.stride).wrapping_neg();
        let others = u64::from(step == before).wrapping_neg();
        // What was right, where only one of the two was.
        self.follows ^= (own ^ others) & (self.follows ^ others);
        self.stride = if step == self.step { step } else { self.stride };
        self.step = step;
        self.last = self.last.wrapping_add(step);
    }
}

#[inline]
fn context(kind: Kind, before: usize) -> u32 {
    if kind == Kind::Operand {
        before as u32
    } else {
        0
    }
}

/// Finds a site's number by its row: open addressing with linear steps, at most half full.
pub(super) struct Index {
    slots: Vec<u32>,
    shift: u32,
}

impl Index {
    pub(super) fn new() -> Index {
        const BITS: u32 = 12;
        Index {
            slots: vec![0; 1 << BITS],
            shift: 64 - BITS,
        }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
    }

    /// The number of the site of `row` after site `before`, if it is in `sites`.
    #[inline]
    pub(super) fn find(&self, sites: &[Site], row: &Row, before: usize) -> Option<usize> {
        let mut slot = self.slot(row.pc, row.kind, row.size, context(row.kind, before));
        loop {
            let number = self.slots[slot] as usize;
            if number == START {
                return None;
            }
            if sites[number].makes(row, before) {
                return Some(number);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Enters the last of `sites`.
    pub(super) fn enter_last(&mut self, sites: &[Site]) {
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

    fn enter(&mut self, sites: &[Site], number: usize) {
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

    /// The address that a trail expects next.
    fn expected(trail: Trail, before: u64) -> u64 {
        let mut trail = trail;
        trail.advance(0, before);
        trail.last
    }

    #[test]
    fn a_jump_does_not_unlearn_the_stride() {
        let mut trail = Trail::default();
        for addr in [100, 108, 116] {
            trail.learn(addr, 0);
        }
        assert_eq!(expected(trail, 0), 124);
        trail.learn(100, 0);
        assert_eq!(expected(trail, 0), 108);
    }

    #[test]
    fn fields_of_a_record_follow_its_first() {
        let (mut first, mut second) = (Trail::default(), Trail::default());
        for node in [5000, 400, 90_000, 1600] {
            let (_, step) = first.learn(node, 0);
            second.learn(node + 8, step);
        }
        let (_, step) = first.learn(77, 0);
        assert_eq!(expected(second, step), 85);
    }

    #[test]
    fn reader_and_writer_learn_the_same() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 61
        };
        let (mut writes, mut reads) = (Trail::default(), Trail::default());
        let (mut addr, mut before) = (0_u64, 0);
        for _ in 0..20_000 {
            addr = addr.wrapping_add(random());
            let (difference, learnt) = writes.learn(addr, before);
            let mut other = reads;
            let step = reads.advance(difference, before);
            if difference == 0 {
                assert_eq!(other.advance_as_expected(before), step);
                assert_eq!(other, reads);
            }
            assert_eq!((reads.last, step), (addr, learnt));
            assert_eq!(writes, reads);
            before = random();
        }
    }

    #[test]
    fn the_index_finds_every_site_as_it_grows() {
        let mut index = Index::new();
        let mut sites = vec![Site::start()];
        let row = |pc| Row {
            kind: Kind::Load,
            size: 8,
            pc,
            addr: 0,
        };
        for pc in 0..20_000 {
            assert_eq!(index.find(&sites, &row(pc), START), None);
            sites.push(Site::new(Kind::Load, 8, pc, START));
            index.enter_last(&sites);
        }
        for pc in 0..20_000 {
            assert_eq!(index.find(&sites, &row(pc), START), Some(pc as usize + 1));
        }
    }
}
