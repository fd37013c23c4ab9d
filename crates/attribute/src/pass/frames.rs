//! Functions that begin and end.

use super::Pass;
use crate::attributor::ProcessState;
use crate::contexts::Call;
use crate::locals::Begun;
use crate::shared::Shared;
use crate::stack::{Entered, Extent};

impl Pass<'_> {
    pub(super) fn enter(
        &mut self,
        (pc, by_call): (u64, bool),
        pointer: u64,
        return_address: Option<u64>,
    ) {
        let Some(return_address) = return_address else {
            return self.malformed();
        };
        let Pass {
            stack,
            shared,
            process,
            ..
        } = self;
        let bounds = stack.bounds();
        stack.set_by_call(by_call);
        stack.unwind(pointer, |extent| left(extent, bounds, shared, process));
        let call = Call {
            code: process.code,
            pc,
            return_address,
        };
        let (node, object) = shared.enter(stack.node(), call, &process.mappings);
        let outer = stack.live_around(return_address, &shared.layouts);
        let layout = match by_call {
            true => shared.objects.usage(object).layout,
            false => 0,
        };
        let begun = Begun {
            outer,
            layout,
            low: pointer,
            entry: pc,
        };
        let entered = Entered {
            entry: pc,
            call: return_address,
            node,
            object,
            layout,
            live: if layout == 0 {
                outer
            } else {
                shared.live_frames.number(begun)
            },
            outer,
        };
        if let Some(extent) = stack.push(pointer, entered) {
            shared.objects.begin(object, extent.high - extent.low);
            if layout != 0 {
                shared.begin_locals(layout);
            }
        }
        self.moved();
    }

    pub(super) fn exit(&mut self, pc: u64, pointer: u64) {
        let Pass {
            stack,
            shared,
            process,
            ..
        } = self;
        let bounds = stack.bounds();
        stack.exit(pointer, pc, |extent| left(extent, bounds, shared, process));
        self.moved();
    }

    /// The innermost frame is another one.
    #[inline]
    pub(super) fn moved(&mut self) {
        let context = if self.options.contexts {
            self.stack.node()
        } else {
            0
        };
        self.owner = u64::from(context) << 32 | u64::from(self.thread);
        self.top_bytes = 0;
        let mut live = 0;
        if !self.process.named_on_stack
            && let Some(innermost) = self.stack.innermost(&self.shared.layouts)
        {
            (self.top_low, self.top_bytes, self.top_object) = innermost;
            live = self.stack.live();
        }
        self.process.space.set_live_frames(live);
    }
}

/// A frame is gone, and the names of its memory with it.
fn left(extent: &Extent, bounds: (u64, u64), shared: &mut Shared, process: &mut ProcessState) {
    shared.objects.end(extent.object, extent.high - extent.low);
    if extent.layout != 0 {
        shared.end_locals(extent.layout);
    }
    if process.named_on_stack {
        let low = if bounds.1 == 0 { extent.low } else { bounds.0 };
        process.space.unname(low, extent.high);
    }
}
