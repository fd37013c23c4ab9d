//! Lanes that wait at `bar.warp.sync` for lanes on other paths. As on GPUs since Volta, the others
//! go on meanwhile, past the place where all would meet, until they come to a `bar.warp.sync` too,
//! or have ended.
//!
//! The lanes that wait are a [`Strand`] with a stack of paths of their own: their part of the
//! warp's. When all lanes that it waits for have come, it is put back into the warp's stack. Paths
//! that both have below are one again, so that lanes meet where they would have met.

use crate::decode::kernel::Collective;

use super::fault::{Fault, FaultKind};
use super::warp::{LanePath, MOST_ENTRIES, Warp};

/// Lanes that wait.
#[derive(Clone, Debug)]
pub struct Strand {
    /// Where they go on, and the paths after that.
    now: LanePath,
    later: Vec<LanePath>,
    /// The lanes that they wait for, themselves among them.
    members: u32,
}

impl Warp {
    /// Lets the lanes of the mask, which are at `bar.warp.sync`, wait for those that their masks
    /// name, and go on once all have come.
    ///
    /// # Errors
    /// Lanes in a function that is called through pointers, or that calls itself: their part of
    /// the stack cannot be taken out.
    pub fn wait_for_lanes(&mut self, op: &Collective, mask: u32) -> Result<(), Box<Fault>> {
        let slot = op.members.unwrap_or_default();
        let masks = self.registers.narrow[slot as usize].0;
        if !self.frames.is_empty() {
            let what = "`bar.warp.sync` names lanes that are on another path; in functions called through pointers, and in those that call themselves, call it where all of its lanes are";
            return Err(Fault::new(
                FaultKind::Convergence,
                Some(mask.trailing_zeros()),
                what,
            ));
        }
        let mut left = mask;
        while left != 0 {
            let members = masks[left.trailing_zeros() as usize];
            let same = (0..32).filter(|&lane| left >> lane & 1 != 0 && masks[lane] == members);
            let lanes = same.fold(0, |lanes, lane| lanes | 1 << lane);
            self.set_aside(lanes, members);
            left &= !lanes;
        }
        self.release().map(drop)
    }

    fn set_aside(&mut self, lanes: u32, members: u32) {
        let of = |path: &LanePath| LanePath {
            mask: path.mask & lanes,
            ..*path
        };
        let mut later: Vec<LanePath> = self.later.iter().map(of).collect();
        while later.pop_if(|path| path.mask == 0).is_some() {}
        self.strands.push(Strand {
            now: of(&self.now),
            later,
            members,
        });
        self.now.mask &= !lanes;
        for path in &mut self.later {
            path.mask &= !lanes;
        }
    }

    /// Lets those go on that wait for nobody any more. Whether there were any.
    ///
    /// # Errors
    /// More paths than the stack has room for.
    pub fn release(&mut self) -> Result<bool, Box<Fault>> {
        if !self.frames.is_empty() {
            return Ok(false);
        }
        let strands = self.strands.iter();
        let complete: Vec<bool> = strands.map(|strand| self.is_complete(strand)).collect();
        let mut complete = complete.into_iter();
        let released = self
            .strands
            .extract_if(.., |_| complete.next().unwrap_or(false));
        let released: Vec<Strand> = released.collect();
        let any = !released.is_empty();
        self.syncs += u32::from(any);
        for strand in released {
            self.join(strand)?;
        }
        Ok(any)
    }

    /// Puts a strand into the stack, to go on when the lanes that run now have come to what both
    /// have below.
    fn join(&mut self, strand: Strand) -> Result<(), Box<Fault>> {
        let place = |path: &LanePath| (path.pc, path.meet);
        let mut pairs = self.later.iter().zip(&strand.later);
        let differs = pairs.position(|(own, other)| place(own) != place(other));
        let common = differs.unwrap_or(self.later.len().min(strand.later.len()));
        for (own, other) in self.later.iter_mut().zip(&strand.later[..common]) {
            own.mask |= other.mask;
        }
        let above = self.later.split_off(common);
        self.later.extend_from_slice(&strand.later[common..]);
        // A path that has come to where it meets others is over.
        if strand.now.pc != strand.now.meet {
            self.later.push(strand.now);
        }
        self.later.extend(above);
        if self.later.len() > MOST_ENTRIES {
            let what = format!("its lanes have parted {MOST_ENTRIES} times without meeting again");
            return Err(Fault::new(FaultKind::Convergence, None, what));
        }
        Ok(())
    }

    /// Before an operation that all lanes have to come to: lets those go on that have waited for
    /// others, which have ended meanwhile, and comes to the operation again after them. Whether
    /// there are any.
    ///
    /// # Errors
    /// As of [`Self::release`].
    #[cold]
    pub fn lets_others_first(&mut self, pc: u32) -> Result<bool, Box<Fault>> {
        if !self.frames.is_empty() || !self.strands.iter().any(|strand| self.is_complete(strand)) {
            return Ok(false);
        }
        self.now.pc = pc;
        // They wait for nobody, and come after the others, which are in the list before them.
        self.set_aside(self.now.mask, 0);
        self.release()
    }

    /// Whether all lanes that a strand waits for wait by the same mask, or have ended.
    fn is_complete(&self, strand: &Strand) -> bool {
        let equal = self
            .strands
            .iter()
            .filter(|other| other.members == strand.members);
        let here = equal.fold(0, |here, other| here | other.now.mask);
        strand.members & self.alive & !here == 0
    }

    /// The error where lanes wait for each other, and none is left to go on; where the first of
    /// them waits.
    #[cold]
    pub fn deadlock(&mut self) -> Box<Fault> {
        let mut listed: Vec<(u32, u32)> = Vec::new();
        for strand in &self.strands {
            if listed.iter().all(|(_, members)| *members != strand.members) {
                listed.push((strand.now.mask.trailing_zeros(), strand.members));
            }
        }
        let text = |(lane, members): &(u32, u32)| format!("lane {lane} by {members:#010x}");
        let list: Vec<String> = listed.iter().take(4).map(text).collect();
        let what = format!(
            "lanes of the warp wait for each other for ever, by other masks of `bar.warp.sync`: {}; let all lanes that a mask names call it with that mask",
            list.join(", ")
        );
        if let Some(first) = self.strands.first() {
            self.now = first.now;
        }
        let lane = listed.first().map(|(lane, _)| *lane);
        Fault::new(FaultKind::Convergence, lane, what)
    }
}
