//! [`CallStack`]: the calls that a thread is in.

/// Calls that a thread can be in; those further in share the loops of the last one.
const MOST_CALLS: usize = 4096;
/// Callers that a return may leave at one time, as after an exception.
const MOST_LEFT: usize = 64;

/// A call that the thread is in.
#[derive(Clone, Copy, Debug)]
pub struct ActiveCall<C> {
    /// Loops of its callers.
    pub loops: usize,
    /// What the tracker remembers of it.
    pub state: C,
    /// Where it returns to.
    back: u64,
    /// A number of its own.
    activation: u32,
}

/// What a return leaves.
pub(crate) enum CallReturn<C> {
    /// The outermost call that it leaves, and all calls in that one.
    Call(ActiveCall<C>),
    /// A call that there was no room for.
    Deeper,
    /// None that is known.
    Unknown,
}

/// The calls that a thread is in, outermost first. The first one is what nothing called.
///
/// A return finds its call by the address that it goes to, past others if an exception left them.
#[derive(Clone, Debug)]
pub(crate) struct CallStack<C> {
    calls: Vec<ActiveCall<C>>,
    /// Calls that are not in `calls`.
    deeper: u64,
    activations: u32,
}

impl<C> CallStack<C> {
    /// With what nothing called.
    pub fn new(state: C) -> Self {
        let mut stack = CallStack {
            calls: Vec::with_capacity(16),
            deeper: 0,
            activations: 0,
        };
        stack.call(0, 0, state);
        stack
    }

    /// A function is called that returns to `back`, within so many loops.
    pub fn call(&mut self, back: u64, loops: usize, state: C) {
        if self.calls.len() >= MOST_CALLS {
            self.deeper += 1;
            return;
        }
        self.activations = self.activations.wrapping_add(1).max(1);
        self.calls.push(ActiveCall {
            loops,
            state,
            back,
            activation: self.activations,
        });
    }

    /// A function returns to an address.
    pub fn leave(&mut self, to: u64) -> CallReturn<C> {
        if self.deeper > 0 {
            self.deeper -= 1;
            return CallReturn::Deeper;
        }
        // The first one is no call: nothing returns from it.
        let calls = self.calls.iter().skip(1).rev().take(MOST_LEFT);
        let Some(inner) = calls.map(|call| call.back).position(|back| back == to) else {
            return CallReturn::Unknown;
        };
        self.calls.truncate(self.calls.len() - inner);
        self.calls
            .pop()
            .map_or(CallReturn::Unknown, CallReturn::Call)
    }

    /// The calls.
    #[inline]
    pub fn calls(&self) -> &[ActiveCall<C>] {
        &self.calls
    }

    /// What is remembered of the innermost call.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut C> {
        self.calls.last_mut().map(|call| &mut call.state)
    }

    /// The first loop of the innermost call.
    #[inline]
    pub fn outermost(&self) -> usize {
        self.calls.last().map_or(0, |call| call.loops)
    }

    /// The number of the innermost call, from 1 on.
    #[inline]
    pub fn activation(&self) -> u32 {
        self.calls.last().map_or(0, |call| call.activation)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.calls.capacity() * size_of::<ActiveCall<C>>()
    }
}
