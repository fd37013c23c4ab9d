//! [`MeteredSink`]: shows how far a kernel's launch is.

use reuselens_ptx::{LaunchConfig, LaunchSink};

use crate::progress::Meter;

/// A sink, and the meter of the launch that it looks at. Costs nothing per access: a block's sink
/// is the inner one's.
pub struct MeteredSink<S> {
    pub inner: S,
    meter: Option<(String, Meter)>,
    done: u64,
    /// Of all launches so far.
    all: u64,
    /// Launches so far, if there are several: how many more come is not known.
    launches: u32,
    quiet: bool,
}

impl<S> MeteredSink<S> {
    /// `quiet` shows nothing.
    pub fn new(inner: S, quiet: bool) -> Self {
        MeteredSink {
            inner,
            meter: None,
            done: 0,
            all: 0,
            launches: 0,
            quiet,
        }
    }

    /// Begins a launch. Those of one kernel, one after the other, share a line.
    pub fn begin(&mut self, kernel: &str, launch: &LaunchConfig) {
        if self.meter.as_ref().is_none_or(|(of, _)| of != kernel) {
            self.end();
            let meter = Meter::new(format!("running {kernel}"), self.quiet);
            self.meter = Some((kernel.to_owned(), meter));
            (self.done, self.all, self.launches) = (0, 0, 0);
        }
        self.all += u64::from(launch.blocks());
        self.launches += 1;
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if let Some((_, meter)) = self.meter.take() {
            meter.finish();
        }
    }

    fn tick(&mut self) {
        let all = (self.launches == 1).then_some(self.all);
        if let Some((_, meter)) = &mut self.meter {
            meter.blocks(self.done, all);
        }
    }
}

impl<S: LaunchSink> LaunchSink for MeteredSink<S> {
    type Block = S::Block;

    fn open(&mut self, block: u32) -> S::Block {
        self.inner.open(block)
    }

    fn drain(&mut self, block: u32, sink: &mut S::Block) {
        self.inner.drain(block, sink);
        self.tick();
    }

    fn close(&mut self, block: u32, sink: S::Block) {
        self.inner.close(block, sink);
        self.done += 1;
        self.tick();
    }
}
