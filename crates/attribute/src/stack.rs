//! The shadow stack of a thread: the frame that an address is in, and the calling context.
//!
//! Exits can be missing (exceptions, `longjmp`), so each event first ends the frames that are below
//! its stack pointer.

use crate::locals::{Local, LocalLayouts};

/// A function that was entered.
#[derive(Clone, Copy, Debug)]
struct StackEntry {
    /// Node of the calling context tree.
    node: u32,
    /// Whether it has an extent in [`ShadowStack::known`], which has those of such entries in the
    /// order of the entries.
    known: bool,
}

/// The memory of a frame, and what runs in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameExtent {
    /// Its low end.
    pub low: u64,
    /// The low end of its caller's frame, or the top of the stack.
    pub high: u64,
    /// The object that the function's frames are.
    pub object: u32,
    /// The return address of its call.
    pub call: u64,
    /// The program counter of the row that entered its function. Its difference to another program
    /// counter is that between the instructions.
    pub entry: u64,
    /// The number of its layout in [`LocalLayouts`]; 0 if frames are above their stack pointers.
    pub layout: u32,
    /// The live frames with variables, itself included: see [`crate::locals::LiveFrames`].
    pub live: u32,
    /// The live frames around it, without itself.
    pub outer: u32,
}

impl FrameExtent {
    /// The canonical frame address: the stack pointer before the call. By call only.
    pub fn frame_address(&self) -> u64 {
        self.low.saturating_add(WORD)
    }

    /// Whether `pc`, the present instruction of this frame, is in its function. If not, the
    /// function ended by a jump to another one, which owns the frame now.
    #[inline]
    fn is_of(&self, pc: u64, layouts: &LocalLayouts) -> bool {
        layouts.get(self.layout).has_code(self.entry, pc)
    }
}

/// The innermost frame: its memory and its object. Without bytes there is none, or something else
/// may come before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopFrame {
    pub low: u64,
    pub bytes: u64,
    pub object: u32,
}

impl TopFrame {
    /// Whether an address is in it.
    #[inline(always)]
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.low) < self.bytes
    }
}

/// A function that is entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnteredFunction {
    pub entry: u64,
    /// The return address of its call.
    pub call: u64,
    /// Node of the calling context tree.
    pub node: u32,
    /// The object that its frames are.
    pub object: u32,
    /// The number of its layout, and the live frames with and without it.
    pub layout: u32,
    pub live: u32,
    pub outer: u32,
}

/// Bytes below the innermost frame that may be the thread's too.
const REACH: u64 = 1 << 20;
/// Bytes of a return address.
const WORD: u64 = 8;
/// Further frames are only counted.
const MAX_FRAMES: usize = 1 << 20;

/// The stack of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShadowStack {
    frames: Vec<StackEntry>,
    /// Frames on the thread's own stack, outermost first: low ends fall.
    known: Vec<FrameExtent>,
    /// Functions entered beyond [`MAX_FRAMES`].
    excess: u64,
    /// Whether stack pointers are those of the moment of the call: a frame is then below its own
    /// pointer, down to the return address of the next call. Else it is above.
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

    /// The stack's memory: low end and bytes; no bytes if that is unknown.
    #[inline]
    pub fn extent(&self) -> (u64, u64) {
        (self.low, self.high.saturating_sub(self.low))
    }

    /// Whether an address is between the bounds; false if they are unknown.
    #[inline]
    pub fn has_within_bounds(&self, address: u64) -> bool {
        let (low, bytes) = self.extent();
        address.wrapping_sub(low) < bytes
    }

    /// The current node of the calling context tree.
    #[inline]
    pub fn node(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.node)
    }

    /// Sets whether stack pointers are those of the moment of the call, or those within functions.
    #[inline]
    pub fn set_by_call(&mut self, by_call: bool) {
        self.by_call = by_call;
    }

    /// Whether stack pointers are those of the moment of the call.
    #[inline]
    pub fn is_by_call(&self) -> bool {
        self.by_call
    }

    /// The innermost frame; of one with variables the part below these.
    #[inline]
    pub fn innermost(&self, layouts: &LocalLayouts) -> Option<TopFrame> {
        let top = self.top()?;
        if !self.by_call {
            return Some(TopFrame {
                low: top.low,
                bytes: top.high - top.low,
                object: top.object,
            });
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
        Some(TopFrame {
            low,
            bytes: high.saturating_sub(low),
            object: top.object,
        })
    }

    /// The live frames with variables.
    #[inline]
    pub fn live(&self) -> u32 {
        self.top().map_or(0, |top| top.live)
    }

    /// The live frames with variables around a function that is entered by a call with this return
    /// address.
    #[inline]
    pub fn live_around(&self, call: u64, layouts: &LocalLayouts) -> u32 {
        match self.top() {
            Some(top) if top.layout != 0 && !top.is_of(call, layouts) => top.outer,
            Some(top) => top.live,
            None => 0,
        }
    }

    /// The innermost frame on the thread's own stack.
    #[inline]
    pub fn top(&self) -> Option<&FrameExtent> {
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

    /// Removes the frames that cannot be live when a function is entered at this stack pointer.
    /// Calls `gone` for each that is on the thread's own stack.
    #[inline]
    pub fn unwind(&mut self, pointer: u64, mut gone: impl FnMut(&FrameExtent)) {
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

    /// Enters a function, after [`Self::unwind`]. Returns its frame, if that is on the thread's own
    /// stack.
    #[inline]
    pub fn push(&mut self, pointer: u64, entered: EnteredFunction) -> Option<FrameExtent> {
        if self.frames.len() >= MAX_FRAMES {
            self.excess += 1;
            return None;
        }
        let known = self.is_own(pointer);
        let node = entered.node;
        self.frames.push(StackEntry { node, known });
        if !known {
            return None;
        }
        let extent = FrameExtent {
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

    /// Leaves a function at this stack pointer. `pc` is the return address of the call that reports
    /// the exit.
    ///
    /// Compilers often make that call the function's last instruction, as a jump after the frame is
    /// gone. The pointer is then the caller's, and `pc` is the return address of the function's own
    /// call: this distinguishes the two cases.
    #[inline]
    pub fn exit(&mut self, pointer: u64, pc: u64, mut gone: impl FnMut(&FrameExtent)) {
        if self.excess > 0 {
            self.excess -= 1;
            return;
        }
        if self.is_own(pointer) {
            // The exits of frames below the pointer are missing. A frame with room made at run time
            // (a variable-length array) is left with a pointer below its low end.
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
            // The function ran on another stack, and its entry is missing.
            return;
        }
        self.pop(&mut gone);
    }

    /// The frame of an address in the thread's own stack: the innermost one whose low end is not
    /// above it. An address below all frames is in the innermost one (room made at run time).
    pub fn find(&self, address: u64) -> Option<&FrameExtent> {
        if self.by_call {
            return self.known.get(self.find_by_call(address)?);
        }
        let outside = partition_point(&self.known, |extent| extent.low > address);
        let extent = self.known.get(outside).or(self.known.last())?;
        (address < extent.high).then_some(extent)
    }

    /// Where the frame of an address ends, if all of it from there on is one object.
    pub fn frame_end(&self, address: u64) -> Option<u64> {
        let extent = self.find(address).filter(|extent| extent.layout == 0)?;
        Some(if self.by_call {
            extent.frame_address()
        } else {
            extent.high
        })
    }

    /// Which of the known frames holds an address, by call.
    fn find_by_call(&self, address: u64) -> Option<usize> {
        let above = |extent: &FrameExtent| extent.frame_address() > address;
        partition_point(&self.known, above).checked_sub(1)
    }

    /// The part of a frame with variables that an address is in: low and high end, the variable if
    /// it is one, and the frame. `None` below the variables. `pc` is the accessing instruction, if
    /// this thread runs it.
    pub fn find_local<'a>(
        &'a self,
        address: u64,
        pc: Option<u64>,
        layouts: &'a LocalLayouts,
    ) -> Option<(u64, u64, Option<&'a Local>, &'a FrameExtent)> {
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

    /// Whether an address is in the thread's own stack, as far as known.
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

    fn pop(&mut self, gone: &mut impl FnMut(&FrameExtent)) {
        if let Some(StackEntry { known: true, .. }) = self.frames.pop()
            && let Some(extent) = self.known.pop()
        {
            gone(&extent);
        }
    }

    fn pop_to_known(&mut self, gone: &mut impl FnMut(&FrameExtent)) {
        while self.frames.last().is_some_and(|frame| !frame.known) {
            self.frames.pop();
        }
        self.pop(gone);
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.frames.capacity() * size_of::<StackEntry>()
            + self.known.capacity() * size_of::<FrameExtent>()) as u64
    }
}

/// The number of frames, from the outermost on, for which `holds` is true. Most addresses are in
/// one of the last frames, so these are tried first.
fn partition_point(frames: &[FrameExtent], holds: impl Fn(&FrameExtent) -> bool) -> usize {
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
