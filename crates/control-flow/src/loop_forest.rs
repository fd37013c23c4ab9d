//! [`LoopForest`]: the loops of a [`FlowGraph`], as it grows.

use crate::BlockEnd;
use crate::flow_graph::FlowGraph;

/// Places that are looked at for what one way closes.
const MOST_SEARCHED: usize = 1 << 16;
/// Ways and loops that searches go through in all: afterwards no more loops are found. Code that is
/// no attack needs far less.
const MOST_SEARCHED_IN_ALL: usize = 1 << 28;
/// Loops that are in each other. One that would be further in, or that has so many in it, is not
/// found.
pub(crate) const MOST_LOOPS: usize = 256;

/// What is known of a place.
#[derive(Clone, Copy, Debug, Default)]
struct ForestNode {
    /// The innermost loop that it is in; itself if a loop begins here, 0 for none.
    innermost: u32,
    /// If a loop begins here, the loop around that one; 0 for none.
    parent: u32,
    /// The loop that it was taken for a part of when it ran first; counts where no loop is known.
    guess: u32,
    /// Whether it is entered by a call, or from where is unknown.
    is_entry: bool,
    /// The search that found it last.
    search: u32,
    /// If a loop begins here, what a new place in it is guessed by.
    span: (u64, u64),
    /// The most loops in each other from one that begins here inwards, itself counted; 0 if none
    /// begins here.
    height: usize,
    /// How well `named` names a loop that begins here.
    rank: u8,
    /// The address after the branch whose line is that of the loop.
    named: u64,
}

/// The loops of a graph whose ways come one by one.
///
/// A loop is known by its header: the place that it is entered at. A way that makes a cycle puts
/// all places on the cycle into a loop. The cycle's places are those from which the way's begin is
/// reached without passing its end, where each loop that is known already, and that does not hold
/// both ends, is one place. The way's end is the header of the loop, or is in the loop that grows:
/// code that is entered at one place only is never on a cycle before its header is. In a loop that
/// grew, the same way can close another one.
///
/// If the cycle can be entered elsewhere (the search comes to where the function begins, or to the
/// header of the loop around), only what ran since the way's end ran is put into the loop.
///
/// Loops are at most 256 deep, so that a step through the loops of a place is short.
///
/// Cost: per new way between known places, the loops of both, and the places and ways that lead to
/// it: at most 65,536 places, and in all 2^28 ways, and loops around their begins.
///
/// Source: natural loops and their nest are Tarjan, *Testing flow graph reducibility*, 1974, and
/// Havlak, *Nesting of reducible and irreducible loops*, 1997. That the ways come one by one, and
/// guesses, are our own.
#[derive(Clone, Debug)]
pub(crate) struct LoopForest {
    nodes: Vec<ForestNode>,
    searches: u32,
    /// Ways and loops that searches went through.
    searched: usize,
    /// A number that changes with the loops that any place is in, or is taken to be in.
    version: u64,
}

impl LoopForest {
    /// For place 0, which is none.
    pub fn new() -> Self {
        LoopForest {
            nodes: vec![ForestNode::default()],
            searches: 0,
            searched: 0,
            version: 1,
        }
    }

    /// A place is found, inside the block of another one (if that is not 0).
    pub fn add_place(&mut self, around: u32) {
        let around = self.nodes[around as usize];
        self.nodes.push(ForestNode {
            innermost: around.innermost,
            guess: around.guess,
            ..ForestNode::default()
        });
    }

    /// A place is taken for a part of a loop until more is known.
    pub fn guess(&mut self, place: u32, header: u32) {
        self.version += 1;
        self.nodes[place as usize].guess = header;
    }

    /// A number from 1 on that changes with the loops that any place is in, or is taken to be in.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The loop that a place is only guessed to be in, or the loop that begins there.
    #[inline]
    pub fn guessed(&self, place: u32) -> Option<u32> {
        let node = &self.nodes[place as usize];
        let known = if node.innermost == place {
            node.parent
        } else {
            node.innermost
        };
        (known == 0 && node.guess != 0).then_some(node.guess)
    }

    /// A place is entered by a call, or nothing is known of how.
    pub fn set_entry(&mut self, place: u32) {
        self.nodes[place as usize].is_entry = true;
    }

    /// The innermost loop that a place is in or is taken to be in; 0 for none.
    #[inline]
    pub fn innermost(&self, place: u32) -> u32 {
        let node = &self.nodes[place as usize];
        match node.innermost {
            0 => node.guess,
            known => known,
        }
    }

    /// The loop around a loop, known or guessed; 0 for none.
    #[inline]
    pub fn around(&self, header: u32) -> u32 {
        let node = &self.nodes[header as usize];
        match node.parent {
            0 => node.guess,
            known => known,
        }
    }

    /// Whether a place is known to be in a loop.
    pub fn holds(&self, header: u32, place: u32) -> bool {
        self.known(place).any(|around| around == header)
    }

    /// The loops that a place is known to be in, innermost first.
    pub fn known(&self, place: u32) -> impl Iterator<Item = u32> {
        let some = |header: u32| Some(header).filter(|header| *header != 0);
        let innermost = some(self.nodes[place as usize].innermost);
        std::iter::successors(innermost, move |header| {
            some(self.nodes[*header as usize].parent)
        })
    }

    /// Whether an address is next to where a loop was closed first: between its header and the
    /// first way back to it.
    pub fn spans(&self, header: u32, address: u64) -> bool {
        let (low, high) = self.nodes[header as usize].span;
        (low..high).contains(&address)
    }

    /// A new way leads from one place to another.
    pub fn add_way<M: Copy + Default>(&mut self, graph: &mut FlowGraph<M>, from: u32, to: u32) {
        if !graph.leads_on(to) && from != to {
            return; // It is new itself.
        }
        // The places of the cycle first become a part of the loop around it, then of a loop in that
        // one.
        while let Some(target) = self.add_cycle(graph, from, to) {
            if target == to {
                self.set_span(graph, from, to);
                return;
            }
        }
    }

    /// Puts what a way closes into a loop of the innermost one that is known to hold both of its
    /// ends. The loop's header, if the way closes any.
    fn add_cycle<M: Copy + Default>(
        &mut self,
        graph: &mut FlowGraph<M>,
        from: u32,
        to: u32,
    ) -> Option<u32> {
        let common = self.common(from, to);
        if common == to {
            return None; // Another way back to the header.
        }
        let (first, target) = (self.part(from, common)?, self.part(to, common)?);
        let body = self.cycle(graph, first, target, common)?;
        if !self.put(graph, &body, target, common) {
            return None;
        }
        // What is in no loop with the way's begin yet would be found again and again.
        self.holds(target, from).then_some(target)
    }

    /// The innermost loop that is known to hold both places; 0 for none.
    fn common(&mut self, from: u32, to: u32) -> u32 {
        self.searches = self.searches.wrapping_add(1);
        let mut header = self.nodes[from as usize].innermost;
        while header != 0 {
            let node = &mut self.nodes[header as usize];
            node.search = self.searches;
            header = node.parent;
        }
        let is_found = |header: &u32| self.nodes[*header as usize].search == self.searches;
        self.known(to).find(is_found).unwrap_or_default()
    }

    /// What a place is a part of, as seen from directly in a loop: a loop in that one, by its
    /// header, or itself. None if it is not in that loop.
    fn part(&mut self, place: u32, common: u32) -> Option<u32> {
        let (mut part, mut header) = (place, self.nodes[place as usize].innermost);
        while header != common {
            if header == 0 {
                return None;
            }
            self.searched += 1;
            part = header;
            header = self.nodes[header as usize].parent;
        }
        Some(part)
    }

    /// The parts on the cycle that a way from `first` to `target` closes, without `target`.
    fn cycle<M: Copy + Default>(
        &mut self,
        graph: &FlowGraph<M>,
        first: u32,
        target: u32,
        common: u32,
    ) -> Option<Vec<u32>> {
        if self.searched > MOST_SEARCHED_IN_ALL {
            return None;
        }
        self.searches = self.searches.wrapping_add(1);
        let mut found = vec![first];
        self.nodes[first as usize].search = self.searches;
        let (mut next, mut closes, mut is_entered) = (0, false, false);
        while let Some(&part) = found.get(next) {
            next += 1;
            if part == target {
                closes = true;
                continue;
            }
            if part == common {
                is_entered = true;
                continue;
            }
            is_entered |= self.nodes[part as usize].is_entry;
            for before in graph.before(part) {
                self.searched += 1;
                let Some(before) = self.part(before, common) else {
                    is_entered = true;
                    continue;
                };
                let search = &mut self.nodes[before as usize].search;
                if *search != self.searches {
                    *search = self.searches;
                    found.push(before);
                }
            }
            if found.len() > MOST_SEARCHED || self.searched > MOST_SEARCHED_IN_ALL {
                return None;
            }
        }
        let since = *graph.run(target);
        let ran = |part: u32| {
            let run = graph.run(part);
            !is_entered || run.activation == since.activation && run.clock >= since.clock
        };
        // Of several calls that each ran a part of the cycle, none ran around it.
        closes &= first == target || ran(first);
        found.retain(|part| *part != target && *part != common && ran(*part));
        closes.then_some(found)
    }

    /// Puts parts into the loop that begins at `header`, inside of `common`. False, and nothing is
    /// changed, if too many loops would be in each other.
    fn put<M: Copy + Default>(
        &mut self,
        graph: &mut FlowGraph<M>,
        parts: &[u32],
        header: u32,
        common: u32,
    ) -> bool {
        let heights = parts.iter().map(|part| self.nodes[*part as usize].height);
        let height = 1 + heights.max().unwrap_or_default();
        if self.known(common).count() + height > MOST_LOOPS {
            return false;
        }
        self.version += 1;
        self.raise(header, common, height);
        for &part in parts {
            let node = &mut self.nodes[part as usize];
            if node.innermost == part {
                node.parent = header;
            } else {
                node.innermost = header;
            }
            graph.forget_steps(part);
        }
        let node = &mut self.nodes[header as usize];
        // A loop that only grew has many ways to its header, if that is a hub.
        if (node.innermost, node.parent) != (header, common) {
            (node.innermost, node.parent) = (header, common);
            self.searched += graph.before(header).len();
            graph.forget_steps(header);
        }
        self.forget_wrong_guess(header);
        true
    }

    /// A loop inside of `common` has so many loops in each other, itself counted.
    fn raise(&mut self, header: u32, common: u32, mut height: usize) {
        let header = &mut self.nodes[header as usize].height;
        *header = height.max(*header);
        let mut around = common;
        while around != 0 {
            height += 1;
            let node = &mut self.nodes[around as usize];
            node.height = height.max(node.height);
            around = node.parent;
        }
    }

    /// What a loop is guessed to be in may be in the loop now, or in too many others.
    fn forget_wrong_guess(&mut self, header: u32) {
        let (mut at, mut guessed) = (header, header);
        for _ in 0..MOST_LOOPS {
            if self.nodes[at as usize].parent == 0 {
                guessed = at;
            }
            at = self.around(at);
            if at == 0 {
                return;
            }
            if at == header {
                break;
            }
        }
        self.nodes[guessed as usize].guess = 0;
    }

    /// The addresses between the header of a new loop and the way back to it.
    fn set_span<M: Copy + Default>(&mut self, graph: &FlowGraph<M>, from: u32, header: u32) {
        let node = &mut self.nodes[header as usize];
        if node.span != (0, 0) {
            return;
        }
        let (_, end) = graph.end(from);
        let (own_end, own) = graph.end(header);
        // A condition at the end of its loop leads to the loop's first block.
        let first = graph.start(graph.last_step(header));
        let low = graph.start(header).min(graph.start(from)).min(first);
        node.span = (low, end.max(own));
        // Until a branch back to it is seen, its own condition has the best line.
        if own_end == BlockEnd::Branch {
            (node.rank, node.named) = (1, own);
        }
    }

    /// A way back to the header of a loop comes from a block with this end.
    pub fn set_named(&mut self, header: u32, end: BlockEnd, after: u64) {
        let rank = match end {
            BlockEnd::Branch => 3,
            BlockEnd::Jump | BlockEnd::Indirect => 2,
            BlockEnd::Falls | BlockEnd::Call | BlockEnd::Return => 0,
        };
        let node = &mut self.nodes[header as usize];
        if (rank, after) > (node.rank, node.named) {
            (node.rank, node.named) = (rank, after);
        }
    }

    /// The address after the branch whose line names a loop; 0 if no loop begins there.
    pub fn named(&self, header: u32) -> u64 {
        let node = &self.nodes[header as usize];
        if node.innermost == header {
            node.named
        } else {
            0
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<ForestNode>()
    }
}
