//! [`KernelCounts`]: what is counted of the kernels of a run. Beside a [`CollectorSink`], all their
//! memory instructions are kept too.

use std::collections::BTreeMap;

use reuselens_ptx::{CollectorSink, Count, Kernel, LaunchConfig, LaunchSink, Stats};
use reuselens_warp::Collector;

use crate::interpreter::KernelWatch;

/// The launches of one kernel, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCount {
    /// Its name, mangled.
    pub name: String,
    /// How often it was launched and ended well.
    pub launches: u64,
    /// Blocks and instructions.
    pub stats: Stats,
    /// Accesses to memory.
    pub memory: Count,
}

/// Counts what each kernel does.
#[derive(Clone, Debug, Default)]
pub struct KernelCounts {
    kernels: Vec<KernelCount>,
    /// Index in `kernels`, by name.
    numbers: BTreeMap<String, usize>,
    /// Of the launch that is running.
    running: Count,
}

impl KernelCounts {
    /// The kernels, in the order of their first launches.
    pub fn kernels(&self) -> &[KernelCount] {
        &self.kernels
    }
}

impl LaunchSink for KernelCounts {
    type Block = <Count as LaunchSink>::Block;

    fn open(&mut self, block: u32) -> Self::Block {
        self.running.open(block)
    }

    fn drain(&mut self, block: u32, sink: &mut Self::Block) {
        self.running.drain(block, sink);
    }

    fn close(&mut self, block: u32, sink: Self::Block) {
        self.running.close(block, sink);
    }
}

impl KernelWatch for KernelCounts {
    fn begin(&mut self, _: &Kernel, _: &LaunchConfig) -> Result<(), String> {
        self.running = Count::default();
        Ok(())
    }

    fn end(&mut self, kernel: &Kernel, _: &LaunchConfig, stats: Stats) {
        let number = *self
            .numbers
            .entry(kernel.name().to_owned())
            .or_insert(self.kernels.len());
        if number == self.kernels.len() {
            self.kernels.push(KernelCount {
                name: kernel.name().to_owned(),
                ..KernelCount::default()
            });
        }
        let count = &mut self.kernels[number];
        count.launches += 1;
        count.stats += stats;
        count.memory += self.running;
    }
}

/// Keeps all memory instructions, and counts them.
impl<W: Collector + Send> KernelWatch for (CollectorSink<W>, KernelCounts)
where
    W::Piece: Send,
{
    fn begin(&mut self, kernel: &Kernel, launch: &LaunchConfig) -> Result<(), String> {
        let (records, counts) = self;
        counts.begin(kernel, launch)?;
        records
            .launch(kernel, launch)
            .map_err(|error| error.to_string())
    }

    fn end(&mut self, kernel: &Kernel, launch: &LaunchConfig, stats: Stats) {
        self.1.end(kernel, launch, stats);
    }
}
