//! [`LoopState`]: what is remembered of loops.

use std::fmt::Debug;

/// What changes while a thread runs, and is remembered of the loops that it is in.
///
/// A [`NestTracker`](crate::NestTracker) calls these methods. It asks for the present moment once
/// per block.
pub trait LoopState {
    /// The state at one moment, as far as it is remembered.
    type Moment: Copy + Default + Debug;
    /// What is remembered of the iterations of a loop that the thread is in.
    type Iteration: Copy + Default + Debug;
    /// Whether a block that runs for the first time is taken to be in the loops that surround its
    /// address, until it is known. If not, it is in no loop before it led back to one.
    const GUESSES: bool;

    /// The present moment.
    fn now(&self) -> Self::Moment;

    /// The first iteration of a loop that was entered at `entry`.
    fn first_iteration(&self, entry: &Self::Moment) -> Self::Iteration;

    /// The next iteration of the innermost loop, which was entered at `entry`, begins.
    fn iterate(&mut self, entry: &Self::Moment, iteration: &mut Self::Iteration);

    /// The thread left a loop that it had entered at `entry`, and the loops inside it.
    fn leave(&mut self, entry: &Self::Moment);
}
