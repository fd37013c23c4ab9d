//! [`NestTracker`]: follows a thread from basic block to basic block, and keeps the loops and calls
//! that it is in, wherever the compiler put their code.

use crate::call_stack::{ActiveCall, CallReturn, CallStack};
use crate::flow_graph::{FlowGraph, FlowStep, PlaceRun};
use crate::loop_forest::{LoopForest, MOST_LOOPS};
use crate::{BasicBlock, BlockEnd, LoopState};

/// Places inside a block that run with it. A rewriter's block has at most 64 instructions.
const MOST_INSIDE: usize = 64;

/// A loop that the thread is in.
#[derive(Clone, Copy, Debug, Default)]
pub struct NestedLoop<M, I> {
    /// The place that it begins at: [`NestTracker::code`] has its addresses.
    pub header: u32,
    /// The state of the thread when it was entered.
    pub entry: M,
    /// What is remembered of its iterations.
    pub iteration: I,
    /// When it was entered, and when its present iteration began, by the thread's blocks.
    entry_clock: u64,
    iteration_clock: u64,
    /// The call that it is in.
    activation: u32,
}

/// What is remembered of a call that the thread is in.
#[derive(Clone, Copy, Debug)]
pub struct NestedCall<M> {
    /// The function's first place; 0 for what runs first, which nothing called.
    pub first: u32,
    /// The state of the thread when it was called.
    pub entry: M,
    /// The place that called it.
    caller: u32,
    /// When it was called, or went on from where is unknown, by the thread's blocks.
    clock: u64,
    /// The version of the forest by which each of its loops is directly in the one before, and the
    /// first one in none; 0 if that is not known.
    settled: u64,
}

/// Follows one thread from block to block, and keeps what a [`LoopState`] remembers of its loops.
///
/// The blocks and the ways that the thread took between them, within calls of a function, are a
/// graph. Its cycles are the loops, which no order of the code in memory changes, and a cycle's
/// header is the block that it is entered at. The thread is in the loops that its block is in. A
/// loop is entered when its header runs, and begins an iteration each time that the header runs
/// again. It is known from the first time that its header runs again: its entry is then when the
/// header ran before.
///
/// A block that runs for the first time is in no known loop. If it then leads back to a header, the
/// loop goes on as if it had not been left. Where [`LoopState::GUESSES`] is set, the block counts
/// until then for the loops that have its address between the header and the first way back; if it
/// did not lead back, it is outside the next time that the loop is entered.
/// [`Self::is_in_loop`] answers whether a place was only taken to be inside.
///
/// A call has loops of its own, so that recursion is not taken for iteration. A return finds its
/// call by the address that it goes to, past others if an exception left them; one that no call
/// fits changes no call. A call whose next block is the one that it returns to called code that is
/// not seen, and is none.
///
/// A loop that is entered by falling through begins inside a longer block: it begins when that
/// block runs.
///
/// Cost: per block, one comparison where the way to it is one of the last two from the block
/// before, else two hashed look-ups, as in an interpreter that goes from one block to hundreds.
/// Where loops begin, end or are iterated, and where look-ups are needed, it also costs the loops
/// of the block, at most 256. A way that is new costs a search for the cycle that it closes, of at
/// most 65,536 places. All searches go through at most 2^28 ways; then no more loops are found.
/// `cargo run --release -p reuselens-causes --example carried_cost` measures it. Memory: 260 to 480
/// bytes per place where a block begins, with moments of 8 bytes.
#[derive(Clone, Debug)]
pub struct NestTracker<S: LoopState> {
    /// What changes while the thread runs.
    pub state: S,
    graph: FlowGraph<S::Moment>,
    forest: LoopForest,
    /// By place, the loop that begins there as it was when it was left last.
    left: Vec<ActiveLoop<S>>,
    loops: Vec<ActiveLoop<S>>,
    calls: CallStack<NestedCall<S::Moment>>,
    /// The last place that ran.
    at: u32,
    /// How the block that ran last ends, the address after it, and where its call returns to.
    end: BlockEnd,
    after: u64,
    back: u64,
    clock: u64,
    /// The loops of a block, innermost first.
    nest: Vec<u32>,
}

/// A loop that the thread is in, with what `S` remembers of it.
type ActiveLoop<S> = NestedLoop<<S as LoopState>::Moment, <S as LoopState>::Iteration>;

impl<S: LoopState> NestTracker<S> {
    /// Before the first block.
    pub fn new(state: S) -> Self {
        let forest = LoopForest::new();
        let entry = state.now();
        NestTracker {
            state,
            graph: FlowGraph::new(),
            left: vec![NestedLoop::default()],
            loops: Vec::with_capacity(16),
            calls: CallStack::new(NestedCall {
                first: 0,
                entry,
                caller: 0,
                clock: 0,
                settled: forest.version(),
            }),
            forest,
            at: 0,
            // The first block has no block before.
            end: BlockEnd::Return,
            after: 0,
            back: 0,
            clock: 0,
            nest: Vec::with_capacity(16),
        }
    }

    /// The loops that the thread is in, outermost first, those of all calls.
    #[inline]
    pub fn loops(&self) -> &[NestedLoop<S::Moment, S::Iteration>] {
        &self.loops
    }

    /// The calls that the thread is in, outermost first. The first one is what nothing called.
    #[inline]
    pub fn calls(&self) -> &[ActiveCall<NestedCall<S::Moment>>] {
        self.calls.calls()
    }

    /// The address of a place, and of a loop's header the address after the branch whose line is
    /// that of the loop: a way back to the header, conditional if there is one, and the last one of
    /// these; else the condition in the header. 0 if no loop begins there.
    pub fn code(&self, place: u32) -> (u64, u64) {
        (self.graph.start(place), self.forest.named(place))
    }

    /// The place where the thread is in a call that it is in, by the call's index in
    /// [`Self::calls`]: where it called the next one from, or the place that ran last.
    pub fn place_in(&self, call: usize) -> u32 {
        let next = self.calls().get(call.saturating_add(1));
        next.map_or(self.at, |inner| inner.state.caller)
    }

    /// Whether a place is known to be in the loop that begins at `header`. A place that led back to
    /// the header stays in the loop, so at the end this is the answer for each time that it ran.
    ///
    /// Cost: linear in the loops of the place.
    #[inline]
    pub fn is_in_loop(&self, header: u32, place: u32) -> bool {
        self.forest.holds(header, place)
    }

    /// Calls `visit` for each loop and each block that is known to be in it, with the place that
    /// the loop begins at, the block's first address and the address after it.
    ///
    /// Cost: linear in the places, each times the loops that it is in.
    pub fn for_each_loop_block(&self, mut visit: impl FnMut(u32, (u64, u64))) {
        for place in 1..self.left.len() as u32 {
            let block = (self.graph.start(place), self.graph.end(place).1);
            for header in self.forest.known(place) {
                visit(header, block);
            }
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.graph.memory()
            + self.forest.memory()
            + (self.loops.capacity() + self.left.capacity()) * size_of::<ActiveLoop<S>>()
            + self.calls.memory()
    }

    /// The thread goes on with this block.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock) {
        self.begin(block);
        self.run_on(block);
    }

    /// The thread is at the first instruction of this block. [`Self::run_on`] must follow, with the
    /// same block.
    // Inlined, so that the block's fields are used one by one: a block that is passed by reference
    // is written to memory in small pieces and read in large ones, for which the processor waits.
    #[inline]
    pub fn begin(&mut self, block: &BasicBlock) {
        self.clock += 1;
        let to = match self.end {
            // A call of code that is not seen continues after it at once.
            BlockEnd::Call if block.start != self.back => self.called(block),
            BlockEnd::Return => self.returned(block),
            _ => self.step(block),
        };
        self.runs(to);
    }

    /// The thread runs the block that it began, to the end: loops begin or are iterated at places
    /// inside of it.
    #[inline]
    pub fn run_on(&mut self, block: &BasicBlock) {
        if self.graph.inside(self.at) != 0 {
            self.run_inside(block.after());
        }
        self.end = block.end;
        self.after = block.after();
        self.back = block.back();
    }

    #[inline]
    fn runs(&mut self, place: u32) {
        self.at = place;
        let run = PlaceRun {
            activation: self.calls.activation(),
            clock: self.clock,
            moment: self.state.now(),
        };
        self.graph.ran(place, run);
    }

    /// Goes on in the same call.
    #[inline]
    fn step(&mut self, block: &BasicBlock) -> u32 {
        match self.graph.known_step(self.at, block) {
            Some(step) => {
                if !step.keeps_loops {
                    self.settle(step.to);
                }
                step.to
            }
            None => {
                let to = self.place(block, true);
                self.follow(to);
                to
            }
        }
    }

    /// The places inside the block before an address run too.
    fn run_inside(&mut self, after: u64) {
        for _ in 0..MOST_INSIDE {
            let to = self.graph.inside(self.at);
            // The block may have been longer.
            if to == 0 || self.graph.start(to) >= after {
                return;
            }
            match self.graph.step_to(self.at, to) {
                Some(step) if step.keeps_loops => {}
                Some(_) => self.settle(to),
                None => {
                    (self.end, self.after) = (BlockEnd::Falls, self.graph.start(to));
                    self.follow(to);
                }
            }
            self.runs(to);
        }
    }

    /// The place where a block begins, which may be new. A new place that is reached within a call
    /// may be in one of its loops.
    #[cold]
    fn place(&mut self, block: &BasicBlock, within: bool) -> u32 {
        let (place, around) = self.graph.place(block);
        if let Some(around) = around {
            self.forest.add_place(around);
            self.left.push(NestedLoop::default());
            if S::GUESSES && around == 0 && within {
                let mine = self.loops[self.calls.outermost()..].iter().rev();
                let mut mine = mine.map(|one| one.header);
                let guess = mine.find(|header| self.forest.spans(*header, block.start));
                self.forest.guess(place, guess.unwrap_or_default());
            }
            if around != 0 && around == self.at && block.start < self.after {
                self.at = place;
            }
        }
        place
    }

    /// Goes on at a place in the same call, on a way that may be new.
    #[cold]
    fn follow(&mut self, to: u32) {
        let from = self.at;
        if self.graph.add_edge(from, to) {
            self.forest.add_way(&mut self.graph, from, to);
            if self.forest.holds(to, from) {
                // That of an inner loop, if it is not taken, is none back to this header.
                let falls = self.graph.start(to) == self.after;
                let end = if falls && self.forest.innermost(from) != to {
                    BlockEnd::Falls
                } else {
                    self.end
                };
                self.forest.set_named(to, end, self.after);
            }
        }
        self.settle_all(to);
        // A place that is only guessed to be in a loop is asked again.
        let innermost = self.forest.innermost(to);
        let keeps_loops = innermost == self.forest.innermost(from)
            && innermost != to
            && self.forest.guessed(to).is_none();
        self.graph.remember(from, FlowStep { to, keeps_loops });
    }

    /// Goes on with the first block of a function.
    fn called(&mut self, block: &BasicBlock) -> u32 {
        let to = match self.graph.known_callee(self.at, block) {
            Some(to) => to,
            None => {
                let to = self.place(block, false);
                self.forest.set_entry(to);
                self.graph.remember_callee(self.at, to);
                to
            }
        };
        let call = NestedCall {
            first: to,
            entry: self.state.now(),
            caller: self.at,
            clock: self.clock,
            settled: self.forest.version(),
        };
        self.calls.call(self.back, self.loops.len(), call);
        if self.forest.innermost(to) != 0 {
            self.settle_all(to);
        }
        to
    }

    /// Goes on after a return.
    fn returned(&mut self, block: &BasicBlock) -> u32 {
        let left = match self.calls.leave(block.start) {
            CallReturn::Call(left) => left,
            CallReturn::Deeper => return self.appear(block),
            CallReturn::Unknown => {
                let to = self.appear(block);
                self.forest.set_entry(to);
                return to;
            }
        };
        self.leave_loops(left.loops);
        self.at = left.state.caller;
        // Others may have been found inside the block since.
        for _ in 0..MOST_INSIDE {
            let inside = self.graph.inside(self.at);
            if inside == 0 || self.graph.start(inside) >= block.start {
                break;
            }
            self.at = inside;
        }
        (self.end, self.after) = (BlockEnd::Call, block.start);
        // What was found since may say that the caller's block is in other loops than it seemed.
        match self.graph.known_step(self.at, block) {
            Some(step) if !self.knows_nest() => {
                self.settle_all(step.to);
                step.to
            }
            _ => self.step(block),
        }
    }

    /// Goes on at a block to which no way is known.
    fn appear(&mut self, block: &BasicBlock) -> u32 {
        let to = self.place(block, false);
        // What ran before is not on a way to it.
        if let Some(call) = self.calls.last_mut() {
            call.clock = self.clock;
        }
        self.settle_all(to);
        to
    }

    /// Enters, leaves and iterates loops, as the thread goes on at a place of this call.
    #[inline]
    fn settle(&mut self, to: u32) {
        let mine = self.loops.get(self.calls.outermost()..);
        match mine.and_then(<[_]>::last) {
            Some(innermost) if innermost.header == to => self.iterate(),
            _ => self.settle_all(to),
        }
    }

    /// The same, for all loops of this call.
    fn settle_all(&mut self, to: u32) {
        if !self.settle_known(to) {
            self.settle_unknown(to);
        }
    }

    /// The same, where the thread is known to be in the loop of the place or in the one around it:
    /// the loops around that one are the same then. False, and nothing is changed, if it is not.
    ///
    /// It replaces [`Self::settle_unknown`], which compares all loops: for 99 million accesses of
    /// gzip, all steps that change loops took 0.20 s and not 0.34 s of processor time.
    #[inline]
    fn settle_known(&mut self, to: u32) -> bool {
        let is_known = self.knows_nest() && self.forest.guessed(to).is_none();
        if !is_known || self.loops.len() >= MOST_LOOPS {
            return false;
        }
        let innermost = self.forest.innermost(to);
        if let Some(stay) = self.loops_up_to(innermost) {
            self.leave_loops(stay);
            if innermost == to {
                self.iterate();
            }
            debug_assert!(self.is_settled(to));
            return true;
        }
        let Some(stay) = self.loops_up_to(self.forest.around(innermost)) else {
            return false;
        };
        self.leave_loops(stay);
        self.enter_loop(innermost, to);
        debug_assert!(self.is_settled(to));
        true
    }

    /// Whether the loops of this call were those of its place when any place's loops changed last.
    #[inline]
    fn knows_nest(&self) -> bool {
        let call = self.calls.calls().last();
        call.is_some_and(|call| call.state.settled == self.forest.version())
    }

    /// Whether the loops of this call are those of a place.
    fn is_settled(&self, to: u32) -> bool {
        let some = |header: u32| Some(header).filter(|header| *header != 0);
        let innermost = some(self.forest.innermost(to));
        let nest = std::iter::successors(innermost, |header| some(self.forest.around(*header)));
        let mine = self.loops[self.calls.outermost()..].iter().rev();
        mine.map(|one| one.header).eq(nest.take(MOST_LOOPS))
    }

    /// The number of loops up to one of this call; up to the call if it is 0. `None` if the thread
    /// is not in that loop.
    #[inline]
    fn loops_up_to(&self, header: u32) -> Option<usize> {
        let outermost = self.calls.outermost();
        if header == 0 {
            return Some(outermost);
        }
        let mut mine = self.loops[outermost..].iter();
        let at = mine.rposition(|one| one.header == header)?;
        Some(outermost + at + 1)
    }

    fn settle_unknown(&mut self, to: u32) {
        self.doubt(to);
        let mut nest = std::mem::take(&mut self.nest);
        nest.clear();
        let mut header = self.forest.innermost(to);
        // Guesses make a nest deeper than it is known to be.
        while header != 0 && nest.len() < MOST_LOOPS {
            nest.push(header);
            header = self.forest.around(header);
        }
        let outermost = self.calls.outermost();
        let mine = self.loops[outermost..].iter().map(|one| one.header);
        let same = mine.zip(nest.iter().rev()).take_while(|(a, b)| a == *b);
        let same = same.count();
        self.leave_loops(outermost + same);
        for &header in nest[..nest.len() - same].iter().rev() {
            self.enter_loop(header, to);
        }
        if same > 0 && same == nest.len() && nest[0] == to {
            self.iterate();
        }
        // A nest without an end, or one with more loops than there is room for, is not complete.
        let is_complete = nest.len() < MOST_LOOPS && self.loops.len() == outermost + nest.len();
        let version = self.forest.version();
        if let Some(call) = self.calls.last_mut() {
            call.settled = if is_complete { version } else { 0 };
        }
        self.nest = nest;
    }

    /// A place that was taken for a part of a loop when it ran before, and did not lead back to the
    /// header since, is outside of it.
    fn doubt(&mut self, to: u32) {
        let Some(guess) = self.forest.guessed(to) else {
            return;
        };
        let run = self.graph.run(to);
        let mine = self.loops[self.calls.outermost()..].iter();
        let mut mine = mine.filter(|one| one.header == guess);
        let since = mine.next().map(|one| one.entry_clock);
        let is_present = |since| run.activation == self.calls.activation() && run.clock >= since;
        if run.activation != 0 && !since.is_some_and(is_present) {
            self.forest.guess(to, 0);
            self.graph.forget_steps(to);
        }
    }

    fn iterate(&mut self) {
        if let Some(innermost) = self.loops.last_mut() {
            let iteration = &mut innermost.iteration;
            self.state.iterate(&innermost.entry, iteration);
            innermost.iteration_clock = self.clock;
        }
    }

    /// Enters a loop as the thread goes on at a place in it: now, or in fact before, if the loop
    /// was not known then.
    fn enter_loop(&mut self, header: u32, to: u32) {
        if self.loops.len() >= MOST_LOOPS {
            return;
        }
        let activation = self.calls.activation();
        let around = self
            .loops
            .get(self.calls.outermost()..)
            .and_then(<[_]>::last);
        let since = around.map_or(0, |around| around.iteration_clock);
        let since = since.max(self.calls.calls().last().map_or(0, |call| call.state.clock));
        let (left, run) = (self.left[header as usize], self.graph.run(header));
        let begun = |entry, clock| NestedLoop {
            header,
            entry,
            iteration: self.state.first_iteration(&entry),
            entry_clock: clock,
            iteration_clock: clock,
            activation,
        };
        let is_left = left.activation == activation && left.entry_clock >= since;
        let has_run = run.activation == activation && run.clock >= since;
        self.loops.push(match (is_left, has_run) {
            (true, _) => left,
            (false, true) => begun(run.moment, run.clock),
            (false, false) => begun(self.state.now(), self.clock),
        });
        if header == to && (is_left || has_run) {
            self.iterate();
        }
    }

    /// Leaves all loops but the outer `stay`.
    fn leave_loops(&mut self, stay: usize) {
        let Some(outermost) = self.loops.get(stay) else {
            return;
        };
        self.state.leave(&outermost.entry);
        for left in self.loops.drain(stay..) {
            self.left[left.header as usize] = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_LOOPS, NestTracker};
    use crate::{BasicBlock, BlockEnd, LoopState};

    /// Remembers nothing.
    struct Anything;

    impl LoopState for Anything {
        type Moment = ();
        type Iteration = ();
        const GUESSES: bool = true;

        fn now(&self) {}

        fn first_iteration(&self, (): &()) {}

        fn iterate(&mut self, (): &(), (): &mut ()) {}

        fn leave(&mut self, (): &()) {}
    }

    /// Enters blocks that end with branches.
    fn run(tracker: &mut NestTracker<Anything>, places: impl IntoIterator<Item = u64>) {
        for place in places {
            let block = BasicBlock {
                start: 16 * place,
                length: 16,
                end: BlockEnd::Branch,
                ..BasicBlock::default()
            };
            tracker.enter(&block);
        }
    }

    /// The most loops that a step through the loops of a place goes through.
    fn deepest(tracker: &NestTracker<Anything>) -> usize {
        let places = 1..tracker.left.len() as u32;
        let loops = places.map(|place| {
            let some = |header: u32| Some(header).filter(|header| *header != 0);
            let first = some(tracker.forest.innermost(place));
            std::iter::successors(first, |header| some(tracker.forest.around(*header))).count()
        });
        loops.max().unwrap_or_default()
    }

    /// Each way back, from the last place to the one before and so on, closes a loop around the one
    /// before.
    #[test]
    fn nest_of_as_many_loops_as_blocks_is_bounded() {
        let mut tracker = NestTracker::new(Anything);
        run(&mut tracker, (0..5000).chain((0..5000).rev()));
        assert_eq!(deepest(&tracker), MOST_LOOPS);
        // The same once more, and into the middle of it.
        for _ in 0..3 {
            run(&mut tracker, (0..5000).chain((2500..5000).rev()));
        }
        assert_eq!(deepest(&tracker), MOST_LOOPS);
        assert!(tracker.loops().len() <= MOST_LOOPS);
    }

    /// Loops inside others that were there before: from the outermost one inwards.
    #[test]
    fn nest_that_grows_inwards_is_bounded() {
        let mut tracker = NestTracker::new(Anything);
        for place in 0..1000 {
            run(
                &mut tracker,
                [place, 1000, place, 1000].into_iter().chain(0..=place),
            );
        }
        let depth = deepest(&tracker);
        assert!(depth <= 2 * MOST_LOOPS, "{depth}");
    }

    /// A call's return is on the fast path whatever the call was of: no way is new, and none is
    /// looked up.
    #[test]
    fn calls_of_several_functions_leave_the_way_to_where_they_return() {
        let mut tracker = NestTracker::new(Anything);
        let block = |place: u64, end| BasicBlock {
            start: 16 * place,
            length: 16,
            end,
            ..BasicBlock::default()
        };
        for round in 0..10 {
            run(&mut tracker, [1]);
            tracker.enter(&block(2, BlockEnd::Call));
            let caller = tracker.at;
            tracker.enter(&block(10 + round % 3, BlockEnd::Return));
            let known = tracker
                .graph
                .known_step(caller, &block(3, BlockEnd::Branch));
            assert_eq!(known.is_some(), round > 0, "round {round}");
            run(&mut tracker, [3]);
        }
    }
}
