//! When sinks are called, and on which threads.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::Run;
use reuselens_ptx::{BlockSink, LaunchSink, Options, WarpAccess};

const KERNEL: &str = ".version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b32 %r<2>; .reg .b64 %x<2>;
ld.param.u64 %x1, [a];
ld.global.u32 %r1, [%x1];
ret;
}";

/// How many blocks are finishing, and whoever waits for another one.
type Meeting = Arc<(Mutex<u32>, Condvar)>;

/// Blocks wait in `finish` until `together` of them are there.
struct Meets {
    meeting: Meeting,
    together: u32,
    /// Blocks as they were taken back: records, and whether they were finished after the last one.
    closed: Vec<(u32, bool)>,
}

struct MeetingBlock {
    meeting: Meeting,
    together: u32,
    records: u32,
    is_finished: bool,
}

impl BlockSink for MeetingBlock {
    fn accept(&mut self, _: &WarpAccess<'_>) {
        assert!(!self.is_finished, "a record of a block that has ended");
        self.records += 1;
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {
        assert!(!self.is_finished, "a block that has ended twice");
        let (arrived, changed) = &*self.meeting;
        let mut arrived = arrived.lock().unwrap();
        *arrived += 1;
        changed.notify_all();
        let is_alone = |arrived: &mut u32| *arrived < self.together;
        let patience = Duration::from_secs(60);
        let waited = changed.wait_timeout_while(arrived, patience, is_alone);
        self.is_finished = !waited.unwrap().1.timed_out();
    }
}

impl LaunchSink for Meets {
    type Block = MeetingBlock;

    fn open(&mut self, _: u32) -> MeetingBlock {
        MeetingBlock {
            meeting: Arc::clone(&self.meeting),
            together: self.together,
            records: 0,
            is_finished: false,
        }
    }

    fn drain(&mut self, _: u32, _: &mut MeetingBlock) {}

    fn close(&mut self, _: u32, block: MeetingBlock) {
        self.closed.push((block.records, block.is_finished));
    }
}

/// Runs `blocks` blocks of a warp with two memory instructions.
fn closed(threads: usize, blocks: u32, cooperative: bool, together: u32) -> Vec<(u32, bool)> {
    let options = Options {
        threads,
        ..Options::default()
    };
    let mut run = Run::new(KERNEL, options);
    let a = run.put(&[0u32; 64]);
    let kernel = run.kernel("k");
    let mut launch = kernel.launch([blocks, 1, 1], [32, 1, 1], 0, &[a]).unwrap();
    launch.cooperative = cooperative;
    let mut sink = Meets {
        meeting: Meeting::default(),
        together,
        closed: Vec::new(),
    };
    let options = run.options.clone();
    run.device
        .launch(&kernel, &launch, &options, &mut sink)
        .unwrap();
    sink.closed
}

#[test]
fn blocks_are_finished_once_before_they_are_taken_back() {
    for (threads, cooperative) in [(1, false), (3, false), (1, true)] {
        assert_eq!(closed(threads, 9, cooperative, 1), [(2, true); 9]);
    }
}

/// Each of two threads runs one of two blocks, and waits for the other one to finish its block.
#[test]
fn threads_finish_blocks_side_by_side() {
    assert_eq!(closed(2, 2, false, 2), [(2, true); 2]);
}

/// Constants have a cache of their own, and are in no sector of global memory.
#[test]
fn loads_of_constants_are_no_requests_of_global_memory() {
    let text = KERNEL.replace(
        ".visible",
        ".const .align 4 .b32 c[4] = {1, 2, 3, 4};\n.visible",
    );
    let text = text.replace("ret;", "mov.u64 %x0, c;\nld.const.u32 %r0, [%x0];\nret;");
    let mut run = Run::new(&text, Options::default());
    let argument = run.put(&[0u32; 32]);
    run.launch("k", [1, 1, 1], [32, 1, 1], 0, &[argument]);
    assert_eq!(
        (
            run.count.instructions,
            run.count.requests,
            run.count.sectors
        ),
        (2, 1, 1)
    );
}
