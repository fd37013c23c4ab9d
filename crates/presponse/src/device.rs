//! [`DeviceChoice`]: devices whose kernels keep answers.

use reuselens_graph_gpu::{CountingInterpreter, GpuGraph};

/// The most memory of the interpreter, in bytes. It takes what the graph needs.
pub const DEVICE_MEMORY: u64 = 8 << 30;

/// A device whose kernels keep answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DeviceChoice {
    /// The processor, which interprets the kernels: exact, but no GPU's speed
    Interpreter,
}

/// A graph on the interpreter.
pub type InterpretedGraph = GpuGraph<CountingInterpreter>;
