//! The shadow stack of a thread: which function's frame an address lies in, and the context.
//!
//! Exits can be missing (exceptions, `longjmp`), so every event is first brought in line with its
//! stack pointer: frames that lie below it are gone.

use crate::locals::{Layouts, Local};

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
    /// Where its function was entered: the program counter of the row, so that it and others differ
    /// by as much as their instructions.
    pub entry: u64,
    /// Where its variables are: see [`Layouts`]. 0 where frames lie above their stack pointers.
    pub layout: u32,
    /// The live frames with variables, itself included: see [`crate::locals::LiveFrames`].
    pub live: u32,
    /// Those around it, without itself.
    pub outer: u32,
}

impl Extent {
    /// The canonical frame address: the stack pointer before the call. By call only.
    pub fn frame_address(&self) -> u64 {
        self.low.saturating_add(WORD)
    }

    /// Whether its function runs, or called what runs, where that is at `pc`. If not, the function
    /// ended by a jump to another one, and the frame is that one's.
    #[inline]
    fn is_of(&self, pc: u64, layouts: &Layouts) -> bool {
        layouts.get(self.layout).has_code(self.entry, pc)
    }
}

/// A function that is entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    pub entry: u64,
    /// The return address of its call.
    pub call: u64,
    /// Node of the calling context tree.
    pub node: u32,
    /// The object that its frames are.
    pub object: u32,
    /// Where its variables are, and the live frames with and without it.
    pub layout: u32,
    pub live: u32,
    pub outer: u32,
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
    /// Whether stack pointers are those of the moment of the call: a frame then lies below its own,
    /// and ends where the next one's return address lies. Else it lies above.
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

    /// Where the innermost frame lies, or the part of it below its variables: low end, bytes,
    /// object.
    #[inline]
    pub fn innermost(&self, layouts: &Layouts) -> Option<(u64, u64, u32)> {
        let top = self.top()?;
        if !self.by_call {
            return Some((top.low, top.high - top.low, top.object));
        }
        let low = if self.high == 0 {
            top.low.saturating_sub(REACH)
        } else {
            self.low
        };
        let mut high = top.frame_address();
        if top.layout != 0 {
            high = high.saturating_sub(layouts.get(top.layout).depth());
        }
        Some((low, high.saturating_sub(low), top.object))
    }

    /// The live frames with variables.
    #[inline]
    pub fn live(&self) -> u32 {
        self.top().map_or(0, |top| top.live)
    }

    /// The live frames with variables around a function that is entered by a call with this return
    /// address.
    #[inline]
    pub fn live_around(&self, call: u64, layouts: &Layouts) -> u32 {
        match self.top() {
            Some(top) if top.layout != 0 && !top.is_of(call, layouts) => top.outer,
            Some(top) => top.live,
            None => 0,
        }
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

    /// A function was entered; see [`Self::unwind`]. Its frame, if it lies on the thread's own
    /// stack.
    #[inline]
    pub fn push(&mut self, pointer: u64, entered: Entered) -> Option<Extent> {
        if self.frames.len() >= MAX_FRAMES {
            self.excess += 1;
            return None;
        }
        let known = self.is_own(pointer);
        let node = entered.node;
        self.frames.push(Frame { node, known });
        if !known {
            return None;
        }
        let extent = Extent {
            low: pointer,
            high: self.next_high(pointer),
            object: entered.object,
            call: entered.call,
            entry: entered.entry,
            layout: entered.layout,
            live: entered.live,
            outer: entered.outer,
        };
        self.known.push(extent);
        Some(extent)
    }

    /// A function was left at this stack pointer; `pc` is where the exit's own call returns to.
    ///
    /// That call is often the function's last instruction, made as a jump once the frame is gone:
    /// then the pointer is the caller's and `pc` is the return address of the function's own call,
    /// which tells the two cases apart.
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

    /// The frame of an address in the thread's own stack: the innermost whose low end is not above
    /// it, or the innermost of all for an address below (room made at run time).
    pub fn find(&self, address: u64) -> Option<&Extent> {
        if self.by_call {
            return self.known.get(self.find_by_call(address)?);
        }
        let outside = partition_point(&self.known, |extent| extent.low > address);
        let extent = self.known.get(outside).or(self.known.last())?;
        (address < extent.high).then_some(extent)
    }

    /// Which of the known frames holds an address, by call.
    fn find_by_call(&self, address: u64) -> Option<usize> {
        let above = |extent: &Extent| extent.frame_address() > address;
        partition_point(&self.known, above).checked_sub(1)
    }

    /// What is known of an address in a frame with variables that is not below them: low and high
    /// end, the variable if it is in one, and the frame. `pc`: the instruction that accesses it, if
    /// it is one of this thread.
    pub fn find_local<'a>(
        &'a self,
        address: u64,
        pc: Option<u64>,
        layouts: &'a Layouts,
    ) -> Option<(u64, u64, Option<&'a Local>, &'a Extent)> {
        if !self.by_call || self.live() == 0 {
            return None;
        }
        let inside = self.find_by_call(address)?;
        let extent = &self.known[inside];
        if extent.layout == 0 {
            return None;
        }
        let callee = self.known.get(inside + 1);
        let pc = callee.map_or(pc, |callee| Some(callee.call));
        if pc.is_some_and(|pc| !extent.is_of(pc, layouts)) {
            return None;
        }
        let found = layouts
            .get(extent.layout)
            .find(extent.frame_address(), address);
        found.map(|(low, high, local)| (low, high, local, extent))
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

/// How many of the frames `holds` is true of: those from the outermost to some frame. Most
/// addresses lie in one of the last frames, so these are tried first.
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
mod tests;
