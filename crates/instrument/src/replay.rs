//! [`RecordReplay`]: makes of the records of a launch what the interpreter shows of it: its memory
//! instructions, with those that no hook records (accesses of parameters), in the phases of its
//! barriers, and its control flow.
//!
//! Each warp is followed through the code: a record of a basic block says which lanes begin it, and
//! they execute its instructions up to the next record.

use std::collections::HashMap;

use reuselens_ptx::{FlowCounts, FlowProbe, Kernel, ProbeCounts};
use reuselens_warp::{Launch, Space, WarpBatch, WarpKind, WarpRow};

use crate::code_map::CodeMap;
use crate::ring::{Record, RecordPlace, RingControl, RingError, RingRecords};
use crate::site::{HookKind, Instrumented};
use crate::steps::StepAct;

/// How the records of the launches of a kernel are replayed.
#[derive(Clone, Debug)]
pub struct RecordReplay {
    map: CodeMap,
}

/// What a launch did, beside its memory instructions.
#[derive(Clone, Debug)]
pub struct ReplayedLaunch {
    /// Its control flow.
    pub flow: FlowCounts,
    /// Records that were lost, for the buffer was full. If there are any, nothing is replayed.
    pub lost: u64,
}

impl RecordReplay {
    /// Of PTX with hooks for its flow
    /// ([`InstrumentOptions::flow`](crate::InstrumentOptions::flow)), and a kernel that was decoded
    /// of the PTX without hooks, with [`Options::flow`](reuselens_ptx::Options::flow).
    pub fn new(instrumented: &Instrumented, kernel: &Kernel) -> RecordReplay {
        RecordReplay {
            map: CodeMap::new(instrumented, kernel),
        }
    }

    /// Replays a launch: `take` gets its memory instructions, block after block, and in a block
    /// warp after warp. Their sites are those of `kernel`. Addresses of parameters are not known,
    /// and are 0. The phases are those of barriers that all warps of a block wait at.
    ///
    /// # Errors
    /// A buffer that has what no hook writes.
    ///
    /// Cost: two passes over the bytes, and a sort of the records by block and warp.
    pub fn run(
        &self,
        instrumented: &Instrumented,
        kernel: &Kernel,
        launch: &Launch,
        ring: (RingControl, &[u8]),
        take: &mut dyn FnMut(&WarpBatch),
    ) -> Result<ReplayedLaunch, RingError> {
        let (control, bytes) = ring;
        let records = RingRecords::new(instrumented, control, bytes);
        let mut player = Player {
            map: &self.map,
            records,
            counts: HashMap::new(),
            groups: Vec::new(),
            active: 0,
            clock: WarpClock::default(),
            batch: WarpBatch::new(),
            take,
        };
        if control.lost == 0 {
            let mut places: Vec<RecordPlace> = Vec::new();
            records.each(launch, |place, _| places.push(place))?;
            // Stable, so each warp's records stay in the order in which it reserved their room.
            places.sort_by_key(|place| (place.block, place.warp));
            for warp in places.chunk_by(|a, b| (a.block, a.warp) == (b.block, b.warp)) {
                player.warp(launch, warp)?;
            }
            player.deliver();
        }
        let counts = player.counts;
        Ok(ReplayedLaunch {
            flow: FlowCounts::counted(kernel, |probe| self.counts_of(probe, &counts)),
            lost: control.lost,
        })
    }

    fn counts_of(&self, probe: FlowProbe, counts: &CountsBySite) -> ProbeCounts {
        let Some(step) = self.map.step_at(probe.position.line, probe.position.column) else {
            return ProbeCounts::default();
        };
        let copy = probe.copy as u32;
        let of = |site: u32| counts.get(&(site, copy)).copied().unwrap_or_default();
        let block = of(step.block);
        if probe.is_block {
            return block;
        }
        let own = step.site.map(of).unwrap_or_default();
        ProbeCounts {
            mixed: own.mixed,
            repeats: own.repeats,
            // An instruction without a record of its guard has none.
            taken: step.site.map_or(block.threads, |_| own.taken),
            ..block
        }
    }
}

/// By site, and copy of its function.
type CountsBySite = HashMap<(u32, u32), ProbeCounts>;

/// A basic block that lanes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodeFrame {
    /// Its site.
    block: u32,
    /// The next step.
    next: u32,
    /// The chain of calls that leads to its function.
    context: u32,
}

/// Lanes that are together.
#[derive(Clone, Debug)]
struct LaneGroup {
    mask: u32,
    /// Where they are, the innermost call last; never empty.
    frames: Vec<CodeFrame>,
}

impl LaneGroup {
    fn top(&mut self) -> &mut CodeFrame {
        self.frames.last_mut().expect("a group is somewhere")
    }
}

/// How far a warp is.
#[derive(Clone, Copy, Debug, Default)]
struct WarpClock {
    block: u32,
    warp: u32,
    /// Lanes that have a thread.
    present: u32,
    phase: u32,
    /// Memory instructions in the phase.
    position: u64,
}

/// Follows warps.
struct Player<'a, 't> {
    map: &'a CodeMap,
    records: RingRecords<'a>,
    counts: CountsBySite,
    groups: Vec<LaneGroup>,
    /// Lanes of the group that the last record was of.
    active: u32,
    clock: WarpClock,
    batch: WarpBatch,
    take: &'t mut dyn FnMut(&WarpBatch),
}

/// A memory instruction.
struct ReplayedAccess<'a> {
    mask: u32,
    space: Space,
    kind: WarpKind,
    bytes: u8,
    addresses: &'a [u64],
}

impl Player<'_, '_> {
    fn warp(&mut self, launch: &Launch, places: &[RecordPlace]) -> Result<(), RingError> {
        let RecordPlace { block, warp, .. } = places[0];
        let threads = launch.block.count() - 32 * u64::from(warp);
        self.clock = WarpClock {
            block,
            warp,
            present: if threads < 32 { (1 << threads) - 1 } else { !0 },
            ..WarpClock::default()
        };
        self.active = 0;
        for place in places {
            // It was read once already.
            if let Some(record) = self.records.record(place.at)? {
                self.switch(record.mask);
                match self.records.sites[record.site as usize].kind {
                    HookKind::Block => self.begin_block(record.site, record.mask),
                    HookKind::Guard | HookKind::IndirectBranch => self.guard(&record),
                    HookKind::Access { .. } => self.access(&record),
                    // Of other hooks than those for flow.
                    HookKind::Branch | HookKind::Barrier => {}
                }
            }
        }
        self.switch(0);
        self.groups.clear();
        Ok(())
    }

    /// Other lanes run from here on: those that ran have come to the end of their basic block.
    fn switch(&mut self, mask: u32) {
        if self.active & mask == 0 && self.active != 0 {
            let active = std::mem::take(&mut self.active);
            let mut others = std::mem::take(&mut self.groups);
            let mut groups: Vec<LaneGroup> =
                others.extract_if(.., |it| it.mask & active != 0).collect();
            for group in &mut groups {
                self.finish(group);
                while self.map.returns(group.top().block) && group.frames.len() > 1 {
                    group.frames.pop();
                    let caller = *group.top();
                    let waits = |other: &CodeFrame| {
                        let is_there =
                            (other.block, other.context) == (caller.block, caller.context);
                        is_there && other.next <= caller.next
                    };
                    if others.iter().any(|other| other.frames.iter().any(waits)) {
                        break;
                    }
                    self.finish(group);
                }
            }
            groups.append(&mut others);
            self.groups = groups;
        }
    }

    /// Lanes begin a basic block: those that they come from are done with theirs.
    fn begin_block(&mut self, block: u32, mask: u32) {
        let mut frames = None;
        let mut groups = std::mem::take(&mut self.groups);
        let mut coming: Vec<LaneGroup> = Vec::new();
        for mut group in groups.extract_if(.., |it| it.mask & mask != 0) {
            self.come_back(&mut group, block);
            match coming.iter_mut().find(|it| it.frames == group.frames) {
                // They called different functions, or some did not call.
                Some(other) => other.mask |= group.mask,
                None => coming.push(group),
            }
        }
        for mut group in coming {
            let comes = self.leave_for(&mut group, block);
            frames.get_or_insert(comes);
            group.mask &= !mask;
            if group.mask != 0 {
                groups.push(group);
            }
        }
        self.groups = groups;
        let frames = frames.unwrap_or_else(|| vec![self.frame(block, 0)]);
        let context = frames.last().map_or(0, |frame| frame.context);
        self.groups.push(LaneGroup { mask, frames });
        self.active = mask;
        let counts = self.counts.entry((block, self.map.rank(context)));
        let counts = counts.or_default();
        counts.warps += 1;
        counts.mixed += u64::from(mask != self.clock.present);
        counts.threads += u64::from(mask.count_ones());
    }

    fn frame(&self, block: u32, context: u32) -> CodeFrame {
        CodeFrame {
            block,
            next: self.map.steps_of(block).start,
            context,
        }
    }

    /// Ends the calls that a group has returned from when it begins a basic block.
    fn come_back(&mut self, group: &mut LaneGroup, block: u32) {
        while group.frames.len() > 1 && self.map.returns(group.top().block) {
            let top = *group.top();
            let mut rest = top.next..self.map.steps_of(top.block).end;
            if rest.any(|step| self.map.calls(step, block)) {
                break;
            }
            self.finish(group);
            group.frames.pop();
        }
    }

    /// Does what a group still has to do before lanes of it begin a basic block. Returns where
    /// these lanes are then.
    fn leave_for(&mut self, group: &mut LaneGroup, block: u32) -> Vec<CodeFrame> {
        loop {
            let top = *group.top();
            let mut rest = top.next..self.map.steps_of(top.block).end;
            if let Some(call) = rest.find(|&step| self.map.calls(step, block)) {
                self.advance(group, call);
                let mut frames = group.frames.clone();
                // Others of the group may call another function of an address.
                if !self.map.is_indirect(call) {
                    group.top().next = call + 1;
                }
                if let Some(caller) = frames.last_mut() {
                    caller.next = call + 1;
                }
                frames.push(self.frame(block, self.map.called(top.context, call)));
                return frames;
            }
            self.finish(group);
            let has_returned = self.map.returns(top.block);
            let is_there = self.map.function(top.block) == self.map.function(block);
            if is_there && !has_returned || group.frames.len() == 1 {
                let mut frames = group.frames.clone();
                frames.pop();
                frames.push(self.frame(block, top.context));
                return frames;
            }
            group.frames.pop();
        }
    }

    /// Does the steps of a group's basic block that are left.
    fn finish(&mut self, group: &mut LaneGroup) {
        let end = self.map.steps_of(group.top().block).end;
        self.advance(group, end);
    }

    /// Does the steps of a group's basic block up to one.
    fn advance(&mut self, group: &mut LaneGroup, to: u32) {
        let (mask, top) = (group.mask, *group.top());
        for step in top.next..to {
            // One with a guard has a record.
            if self.map.step(step).site.is_none() {
                self.act(step, mask, top.context);
            }
        }
        group.top().next = to.max(top.next);
    }

    /// Takes lanes to a step of the basic block that they are in, and passes it. Returns all lanes
    /// that are there, and the chain of calls.
    fn pass(&mut self, step: u32, mask: u32) -> (u32, u32) {
        let block = self.map.step(step).block;
        let mut found: Option<LaneGroup> = None;
        for mut group in std::mem::take(&mut self.groups) {
            let is_in = |frame: &CodeFrame| frame.block == block && frame.next <= step;
            if group.mask & mask == 0 || !group.frames.iter().any(is_in) {
                self.groups.push(group);
                continue;
            }
            // Calls have ended.
            while !is_in(group.top()) {
                self.finish(&mut group);
                group.frames.pop();
            }
            match &mut found {
                // Those that called, and those that did not.
                Some(found) => found.mask |= group.mask,
                None => found = Some(group),
            }
        }
        let Some(mut group) = found else {
            return (mask, 0);
        };
        self.advance(&mut group, step);
        // A call is passed when the function that it calls begins.
        let is_call = matches!(self.map.step(step).act, StepAct::Call(_));
        group.top().next = step + u32::from(!is_call);
        let there = (group.mask, group.top().context);
        self.active = group.mask;
        self.groups.push(group);
        there
    }

    fn count_guard(
        &mut self,
        site: u32,
        context: u32,
        is_mixed: bool,
        taken: u32,
    ) -> &mut ProbeCounts {
        let counts = self.counts.entry((site, self.map.rank(context)));
        let counts = counts.or_default();
        counts.mixed += u64::from(is_mixed);
        counts.taken += u64::from(taken.count_ones());
        counts
    }

    fn guard(&mut self, record: &Record) {
        let Some(step) = self.map.step_of_site(record.site) else {
            return;
        };
        let taken = record.others[0];
        let is_call = matches!(self.map.step(step).act, StepAct::Call(_));
        let (_, context) = self.pass(step, record.mask);
        let places = match self.records.sites[record.site as usize].kind {
            HookKind::IndirectBranch => self.records.places(record, taken),
            _ => usize::from(taken != 0),
        };
        let is_split = taken != 0 && taken != record.mask;
        let counts = self.count_guard(record.site, context, is_split || places > 1, taken);
        if is_call {
            counts.repeats += places.saturating_sub(1) as u64;
        }
        self.act(step, taken, context);
    }

    fn access(&mut self, record: &Record) {
        let Some(step) = self.map.step_of_site(record.site) else {
            return;
        };
        let (here, context) = self.pass(step, record.mask);
        self.count_guard(record.site, context, record.mask != here, record.mask);
        let Some(number) = self.map.number(step, context) else {
            return;
        };
        let records = self.records;
        records.accesses(record, |access| {
            self.row(
                number,
                &ReplayedAccess {
                    mask: access.mask,
                    space: access.space,
                    kind: access.kind,
                    bytes: access.bytes,
                    addresses: access.addresses(),
                },
            );
        });
    }

    /// What an instruction does beside what hooks record.
    fn act(&mut self, step: u32, mask: u32, context: u32) {
        match self.map.step(step).act {
            StepAct::Wait if mask != 0 => {
                self.clock.phase += 1;
                self.clock.position = 0;
            }
            StepAct::Pass { space, kind, bytes } => {
                if let Some(number) = self.map.number(step, context) {
                    let addresses = &[0; 32][..mask.count_ones() as usize];
                    self.row(
                        number,
                        &ReplayedAccess {
                            mask,
                            space,
                            kind,
                            bytes,
                            addresses,
                        },
                    );
                }
            }
            _ => {}
        }
    }

    fn row(&mut self, site: u32, access: &ReplayedAccess<'_>) {
        if access.mask == 0 {
            return;
        }
        self.clock.position += 1;
        self.batch.push_row(&WarpRow {
            site,
            phase: self.clock.phase,
            position: self.clock.position,
            block: self.clock.block,
            warp: self.clock.warp,
            mask: access.mask,
            space: access.space,
            kind: access.kind,
            bytes: access.bytes,
            addresses: access.addresses,
        });
        if self.batch.is_full() {
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        if !self.batch.is_empty() {
            (self.take)(&self.batch);
            self.batch.clear();
        }
    }
}
