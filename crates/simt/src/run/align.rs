//! Warps of a block in lockstep: which records of different warps are one memory instruction of the
//! block.

/// Which records of a block's warps are one memory instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// Of the instructions that warps want to issue next in the earliest phase, the one that is
    /// first in the kernel is issued, for all that want it. Warps that left a loop wait for those
    /// that are in it, as threads of a warp do at the point where they come together again.
    #[default]
    Sites,
    /// Records with the same phase, position and site, as the stream has them.
    Positions,
}

/// The phase and the site of an instruction.
pub(crate) type PhaseSite = (u32, u32);

/// Something that runs instructions in order: a warp, or a thread.
pub(crate) trait InstructionHead {
    /// What instructions are ordered by. Heads that want to issue equal ones issue together.
    type Key: Ord + Copy;

    /// Of the next instruction; none after the last.
    fn key(&self) -> Option<Self::Key>;

    /// Goes on to the instruction after it.
    fn advance(&mut self);
}

/// One whose instructions are in a list.
pub(crate) struct InstructionCursor<F> {
    /// The index of its next record.
    pub(crate) next: usize,
    /// Where its records end.
    pub(crate) end: usize,
    /// Says the phase and the site of a record.
    pub(crate) place: F,
}

impl<F: Fn(usize) -> PhaseSite> InstructionHead for InstructionCursor<F> {
    type Key = PhaseSite;

    fn key(&self) -> Option<PhaseSite> {
        (self.next < self.end).then(|| (self.place)(self.next))
    }

    fn advance(&mut self) {
        self.next += 1;
    }
}

/// Runs several of those in lockstep: calls `issue` for each instruction with its key, the heads,
/// and the numbers of those that issue it, rising. Time: instructions times the number of heads.
///
/// # Errors
/// Those of `issue`.
pub(crate) fn in_lockstep<H: InstructionHead, E>(
    heads: &mut [H],
    mut issue: impl FnMut(H::Key, &[H], &[usize]) -> Result<(), E>,
) -> Result<(), E> {
    let mut issued = Vec::with_capacity(heads.len());
    loop {
        let mut first = None;
        issued.clear();
        for (who, head) in heads.iter().enumerate() {
            let Some(wanted) = head.key() else { continue };
            if first.is_none_or(|first| wanted < first) {
                first = Some(wanted);
                issued.clear();
            }
            if first == Some(wanted) {
                issued.push(who);
            }
        }
        let Some(first) = first else { return Ok(()) };
        issue(first, heads, &issued)?;
        for &who in &issued {
            heads[who].advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_left_a_loop_wait_for_the_others() {
        let streams: [&[u32]; 3] = [&[1, 2, 2, 2, 4], &[1, 2, 4], &[1, 3, 4]];
        let sites: Vec<u32> = streams.concat();
        let place = |at: usize| (0, sites[at]);
        let mut heads =
            [(0, 5), (5, 8), (8, 11)].map(|(next, end)| InstructionCursor { next, end, place });
        let mut issued = Vec::new();
        let _ = in_lockstep(&mut heads, |(_, site), _, who| {
            issued.push((site, who.to_vec()));
            Ok::<(), ()>(())
        });
        let wanted = [
            (1, vec![0, 1, 2]),
            (2, vec![0, 1]),
            (2, vec![0]),
            (2, vec![0]),
            (3, vec![2]),
            (4, vec![0, 1, 2]),
        ];
        assert_eq!(issued, wanted);
    }

    #[test]
    fn instructions_after_a_barrier_wait_for_those_before_it() {
        let streams: [&[PhaseSite]; 2] = [&[(0, 2), (1, 1), (1, 2)], &[(0, 1), (0, 2), (1, 1)]];
        let places: Vec<PhaseSite> = streams.concat();
        let place = |at: usize| places[at];
        let mut heads = [(0, 3), (3, 6)].map(|(next, end)| InstructionCursor { next, end, place });
        let mut issued = Vec::new();
        let _ = in_lockstep(&mut heads, |place, _, who| {
            issued.push((place, who.len()));
            Ok::<(), ()>(())
        });
        assert_eq!(issued, [((0, 1), 1), ((0, 2), 2), ((1, 1), 2), ((1, 2), 1)]);
    }
}
