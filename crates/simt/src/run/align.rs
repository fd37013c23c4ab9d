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
pub(crate) struct InstructionCursor {
    /// The index of its next record.
    pub(crate) next: usize,
    /// Where its records end.
    pub(crate) end: usize,
}

/// Runs several of those in lockstep by phases and sites: calls `issue` for each instruction with
/// its phase and site and, rising, with the number of each one that issues it and the index of its
/// record. Time: instructions times the number of cursors.
pub(crate) fn in_lockstep(
    heads: &mut [InstructionCursor],
    place: impl Fn(usize) -> PhaseSite,
    mut issue: impl FnMut(PhaseSite, &[(usize, usize)]),
) {
    let mut issued = Vec::with_capacity(heads.len());
    loop {
        let mut first = (u32::MAX, u32::MAX);
        issued.clear();
        for (who, head) in heads.iter().enumerate() {
            if head.next >= head.end {
                continue;
            }
            let wanted = place(head.next);
            if issued.is_empty() || wanted < first {
                first = wanted;
                issued.clear();
            }
            if wanted == first {
                issued.push((who, head.next));
            }
        }
        if issued.is_empty() {
            return;
        }
        for &(who, _) in &issued {
            heads[who].next += 1;
        }
        issue(first, &issued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_left_a_loop_wait_for_the_others() {
        let streams: [&[u32]; 3] = [&[1, 2, 2, 2, 4], &[1, 2, 4], &[1, 3, 4]];
        let sites: Vec<u32> = streams.concat();
        let mut heads =
            [(0, 5), (5, 8), (8, 11)].map(|(next, end)| InstructionCursor { next, end });
        let mut issued = Vec::new();
        in_lockstep(
            &mut heads,
            |at| (0, sites[at]),
            |(_, site), who| {
                issued.push((site, who.iter().map(|(who, _)| *who).collect::<Vec<_>>()));
            },
        );
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
        let mut heads = [(0, 3), (3, 6)].map(|(next, end)| InstructionCursor { next, end });
        let mut issued = Vec::new();
        in_lockstep(
            &mut heads,
            |at| places[at],
            |place, who| issued.push((place, who.len())),
        );
        assert_eq!(issued, [((0, 1), 1), ((0, 2), 2), ((1, 1), 2), ((1, 2), 1)]);
    }
}
