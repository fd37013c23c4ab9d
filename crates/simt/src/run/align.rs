//! Warps of a block in lockstep: which records of different warps are one memory instruction of the
//! block.

/// Which records of a block's warps are one memory instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// Of the instructions that warps want to issue next, the one that is first in the kernel
    /// is issued, for all that want it. Warps that left a loop wait for those that are in it, as
    /// threads of a warp do at the point where they come together again.
    #[default]
    Sites,
    /// Records with the same position and site, as the stream has them.
    Positions,
}

/// Something that runs instructions in order: a warp, or a thread.
pub(crate) struct InstructionCursor {
    /// The index of its next record.
    pub(crate) next: usize,
    /// Where its records end.
    pub(crate) end: usize,
}

/// Runs several of those in lockstep by sites: calls `issue` for each instruction with its site
/// and, rising, with the number of each one that issues it and the index of its record. Time:
/// instructions times the number of cursors.
pub(crate) fn in_lockstep(
    heads: &mut [InstructionCursor],
    site: impl Fn(usize) -> u32,
    mut issue: impl FnMut(u32, &[(usize, usize)]),
) {
    let mut issued = Vec::with_capacity(heads.len());
    loop {
        let mut first = u32::MAX;
        issued.clear();
        for (who, head) in heads.iter().enumerate() {
            if head.next >= head.end {
                continue;
            }
            let wanted = site(head.next);
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
            |at| sites[at],
            |site, who| {
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
}
