//! The shadow stack of a thread: which function's frame an address lies in, and the context.
//!
//! Exits can be missing (exceptions, `longjmp`), so every event is first brought in line with its stack
//! pointer: frames that lie below it are gone.

/// A function that was entered.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Node of the calling context tree.
    node: u32,
    /// Whether the last of `known` is this frame's.
    known: bool,
}

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Its low end.
    pub low: u64,
    /// The low end of its caller's frame, or of the stack's top.
    pub high: u64,
    /// The object that the function's frames are.
    pub object: u32,
    /// The return address of its call.
    pub call: u64,
}

/// Room below the innermost frame that may be the thread's too.
const REACH: u64 = 1 << 20;
/// Bytes of a return address.
const WORD: u64 = 8;
/// Frames beyond so many are only counted.
const MAX_FRAMES: usize = 1 << 20;

/// The stack of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShadowStack {
    frames: Vec<Frame>,
    /// Frames on the thread's own stack, outermost first: low ends fall.
    known: Vec<Extent>,
    /// Functions entered beyond [`MAX_FRAMES`].
    excess: u64,
    /// Whether stack pointers are those of the moment of the call: a frame then lies below its own, and
    /// ends where the next one's return address lies. Else it lies above.
    by_call: bool,
    low: u64,
    high: u64,
}

impl ShadowStack {
    /// A thread's stack between these addresses; 0, 0 = unknown.
    pub fn new(low: u64, high: u64) -> Self {
        ShadowStack {
            low,
            high,
            ..Self::default()
        }
    }

    /// The stack's bounds; 0, 0 = unknown.
    #[inline]
    pub fn bounds(&self) -> (u64, u64) {
        (self.low, self.high)
    }

    /// Where the stack lies: low end and bytes; no bytes if that is unknown.
    #[inline]
    pub fn extent(&self) -> (u64, u64) {
        (self.low, self.high.saturating_sub(self.low))
    }

    /// Whether an address lies between the bounds, if they are known.
    #[inline]
    pub fn holds(&self, address: u64) -> bool {
        let (low, bytes) = self.extent();
        address.wrapping_sub(low) < bytes
    }

    /// The current node of the calling context tree.
    #[inline]
    pub fn node(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.node)
    }

    /// Stack pointers are those of the moment of the call, or those within functions.
    #[inline]
    pub fn set_by_call(&mut self, by_call: bool) {
        self.by_call = by_call;
    }

    /// Where the innermost frame lies: low end, bytes, object.
    #[inline]
    pub fn innermost(&self) -> Option<(u64, u64, u32)> {
        let top = self.top()?;
        if !self.by_call {
            return Some((top.low, top.high - top.low, top.object));
        }
        let low = if self.high == 0 {
            top.low.saturating_sub(REACH)
        } else {
            self.low
        };
        Some((low, top.low.saturating_add(WORD) - low, top.object))
    }

    /// The innermost frame on the thread's own stack.
    #[inline]
    pub fn top(&self) -> Option<&Extent> {
        self.known.last()
    }

    /// Whether a stack pointer is one of the thread's own stack.
    #[inline]
    fn is_own(&self, pointer: u64) -> bool {
        pointer != 0 && (self.high == 0 || (self.low <= pointer && pointer < self.high))
    }

    /// The high end of a frame that would be entered now.
    fn next_high(&self, low: u64) -> u64 {
        /// What the outermost frame may hold, where the stack's top is unknown.
        const GUESS: u64 = 64 << 10;
        let guess = if self.high == 0 {
            low.saturating_add(GUESS)
        } else {
            self.high
        };
        self.known.last().map_or(guess, |extent| extent.low)
    }

    /// Takes out the frames that cannot be live when a function is entered at this stack pointer;
    /// `gone` is told of each that lay on the thread's own stack.
    #[inline]
    pub fn unwind(&mut self, pointer: u64, mut gone: impl FnMut(&Extent)) {
        if self.is_own(pointer) {
            while self
                .known
                .last()
                .is_some_and(|extent| extent.low <= pointer)
            {
                self.pop_to_known(&mut gone);
            }
        }
    }

    /// A function was entered; see [`Self::unwind`]. Its frame, if it lies on the thread's own stack.
    #[inline]
    pub fn push(&mut self, pointer: u64, call: u64, node: u32, object: u32) -> Option<Extent> {
        if self.frames.len() >= MAX_FRAMES {
            self.excess += 1;
            return None;
        }
        let known = self.is_own(pointer);
        self.frames.push(Frame { node, known });
        if !known {
            return None;
        }
        let extent = Extent {
            low: pointer,
            high: self.next_high(pointer),
            object,
            call,
        };
        self.known.push(extent);
        Some(extent)
    }

    /// A function was left at this stack pointer; `pc` is where the exit's own call returns to.
    ///
    /// That call is often the function's last instruction, made as a jump once the frame is gone: then
    /// the pointer is the caller's and `pc` is the return address of the function's own call, which
    /// tells the two cases apart.
    #[inline]
    pub fn exit(&mut self, pointer: u64, pc: u64, mut gone: impl FnMut(&Extent)) {
        if self.excess > 0 {
            self.excess -= 1;
            return;
        }
        if self.is_own(pointer) {
            // Frames wholly below the pointer were skipped. A frame with room made at run time (a
            // variable-length array) is left with a pointer below its low end.
            while let Some(extent) = self.known.last()
                && extent.low < pointer
            {
                let left_by_a_jump = extent.call == pc;
                self.pop_to_known(&mut gone);
                if left_by_a_jump {
                    return;
                }
            }
            if self
                .known
                .last()
                .is_some_and(|extent| extent.low == pointer)
            {
                return self.pop_to_known(&mut gone);
            }
        } else if pointer != 0 && self.frames.last().is_some_and(|frame| frame.known) {
            // Another stack, whose entry was not seen.
            return;
        }
        self.pop(&mut gone);
    }

    /// The frame of an address in the thread's own stack: the innermost whose low end is not above it,
    /// or the innermost of all for an address below (room made at run time).
    pub fn find(&self, address: u64) -> Option<&Extent> {
        if self.by_call {
            let above = |extent: &Extent| extent.low.saturating_add(WORD) > address;
            let inside = partition_point(&self.known, above).checked_sub(1)?;
            return self.known.get(inside);
        }
        let outside = partition_point(&self.known, |extent| extent.low > address);
        let extent = self.known.get(outside).or(self.known.last())?;
        (address < extent.high).then_some(extent)
    }

    /// Whether an address lies in the thread's own stack as far as is known.
    pub fn contains(&self, address: u64) -> bool {
        if self.high != 0 {
            return (self.low..self.high).contains(&address);
        }
        match (self.known.first(), self.known.last()) {
            (Some(first), Some(last)) => {
                (last.low.saturating_sub(REACH)..first.high).contains(&address)
            }
            _ => false,
        }
    }

    fn pop(&mut self, gone: &mut impl FnMut(&Extent)) {
        if let Some(Frame { known: true, .. }) = self.frames.pop()
            && let Some(extent) = self.known.pop()
        {
            gone(&extent);
        }
    }

    fn pop_to_known(&mut self, gone: &mut impl FnMut(&Extent)) {
        while self.frames.last().is_some_and(|frame| !frame.known) {
            self.frames.pop();
        }
        self.pop(gone);
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.frames.capacity() * size_of::<Frame>() + self.known.capacity() * size_of::<Extent>())
            as u64
    }
}

/// How many of the frames `holds` is true of: those from the outermost to some frame. Most addresses lie in one of the
/// last frames, so these are tried first.
fn partition_point(frames: &[Extent], holds: impl Fn(&Extent) -> bool) -> usize {
    const LAST: usize = 8;
    let few = frames.len().saturating_sub(LAST);
    let (others, last) = frames.split_at(few);
    match last.iter().rposition(&holds) {
        Some(place) => few + place + 1,
        None => others.partition_point(holds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the exit hook returns to when it is called inside a function.
    const INSIDE: u64 = 0x99;

    /// The return address of the call of the function entered as number `index`.
    fn call_of(index: usize) -> u64 {
        0x100 + index as u64
    }

    #[test]
    fn an_exit_by_a_jump_leaves_its_own_function_only() {
        let mut stack = entered(&[0x8000, 0x7000, 0x6f00]);
        stack.exit(0x7000, call_of(2), |_| ());
        assert_eq!(stack.node(), 2);
        stack.exit(0x8000, call_of(1), |_| ());
        assert_eq!(stack.node(), 1);
        stack.exit(0x8000, INSIDE, |_| ());
        assert_eq!(stack.node(), 0);
    }

    fn entered(lows: &[u64]) -> ShadowStack {
        let mut stack = ShadowStack::new(0x1000, 0x9000);
        for (index, low) in lows.iter().enumerate() {
            stack.unwind(*low, |_| ());
            stack.push(*low, call_of(index), index as u32 + 1, index as u32 + 10);
        }
        stack
    }

    #[test]
    fn an_address_belongs_to_the_innermost_frame_not_above_it() {
        let stack = entered(&[0x8000, 0x7000, 0x6f00]);
        for (address, object) in [
            (0x6f00, 12),
            (0x6fff, 12),
            (0x7000, 11),
            (0x8fff, 10),
            (0x6000, 12),
        ] {
            assert_eq!(stack.find(address).unwrap().object, object, "{address:#x}");
        }
    }

    #[test]
    fn by_call_a_frame_lies_below_its_return_address() {
        let mut stack = entered(&[0x8000, 0x7000, 0x6f00]);
        stack.set_by_call(true);
        for (address, object) in [
            (0x6f08, 11),
            (0x6f00, 12),
            (0x5000, 12),
            (0x7000, 11),
            (0x7008, 10),
        ] {
            assert_eq!(stack.find(address).unwrap().object, object, "{address:#x}");
        }
        assert_eq!(stack.find(0x8008), None);
        assert_eq!(stack.innermost(), Some((0x1000, 0x5f08, 12)));
    }

    #[test]
    fn an_exception_skips_exits_and_the_next_event_repairs_it() {
        let mut stack = entered(&[0x8000, 0x7000, 0x6f00]);
        stack.exit(0x8000, INSIDE, |_| ());
        assert_eq!(stack.node(), 0);
        let mut stack = entered(&[0x8000, 0x7000, 0x6f00, 0x7800]);
        assert_eq!(stack.node(), 4);
        stack.exit(0x7800, INSIDE, |_| ());
        assert_eq!(stack.node(), 1);
    }

    #[test]
    fn room_made_at_run_time_does_not_keep_a_frame() {
        let mut stack = entered(&[0x8000, 0x7000]);
        stack.exit(0x6000, INSIDE, |_| ());
        assert_eq!(stack.node(), 1);
    }

    #[test]
    fn another_stack_neither_shows_nor_disturbs() {
        let mut stack = entered(&[0x8000, 0xf_0000, 0xe_0000]);
        assert_eq!((stack.node(), stack.top().unwrap().low), (3, 0x8000));
        stack.exit(0xe_0000, INSIDE, |_| ());
        assert_eq!(stack.node(), 2);
        stack.exit(0x8000, INSIDE, |_| ());
        assert_eq!(stack.node(), 0);
        stack.exit(0x8000, INSIDE, |_| ());
        let mut stack = entered(&[0x8000]);
        stack.exit(0xf_0000, INSIDE, |_| ());
        assert_eq!(
            stack.node(),
            1,
            "the exit of a function whose entry was not seen"
        );
    }

    #[test]
    fn unknown_stack_pointers_balance() {
        let mut stack = entered(&[0x8000, 0, 0]);
        stack.exit(0, INSIDE, |_| ());
        stack.exit(0x1500, INSIDE, |_| ());
        assert_eq!(stack.node(), 1);
        stack.exit(0x8000, INSIDE, |_| ());
        assert_eq!(stack.node(), 0);
    }
}
