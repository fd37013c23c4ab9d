//! [`KernelReader`]: reads the trace of one kernel (`.traceg`), line by line, in batches. Records
//! before a damaged line are delivered, then one error with the line's number.

use crate::accelsim::instruction::{self, TracedInstruction, Windows};
use crate::{Extent, Launch, WarpBatch, WarpSource, WarpStep};
use reuselens_io::Input;
use reuselens_trace::TraceError;

/// Reads a `.traceg` file. Memory: one batch.
///
/// The kernel's instructions are not known at the launch, so the launch has no list of sites: a
/// site's number is its program counter, in units of 8 bytes. Positions are counted for each warp
/// and phase. A phase begins after each `BAR` at which the warp waits: traces do not have the
/// numbers of barriers, so each is taken for one of all warps of the block.
pub struct KernelReader {
    input: Input,
    state: KernelState,
    /// An error, to be returned after the records before it.
    failed: Option<TraceError>,
    over: bool,
}

#[derive(Default)]
struct KernelState {
    launch: Option<Launch>,
    windows: Windows,
    block: Option<u32>,
    warp: Option<u32>,
    phase: u32,
    /// Lanes that wait at a barrier. Each group of lanes that have parted has a line of its own,
    /// and may access memory before it: the phase after the barrier begins with what a lane does
    /// that has waited.
    waiting: u32,
    position: u64,
    /// Instruction lines of the warp that are still to come.
    left: u64,
}

impl KernelReader {
    /// Reads the trace in `input`.
    pub fn new(input: Input) -> KernelReader {
        KernelReader {
            input,
            state: KernelState::default(),
            failed: None,
            over: false,
        }
    }

    fn step(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        if self.state.launch.is_none() {
            let launch = self.head()?;
            self.state.launch = Some(launch.clone());
            return Ok(WarpStep::Launch(launch));
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        batch.clear();
        let filled = self.fill(batch);
        if batch.is_empty() {
            return filled.map(|()| WarpStep::End);
        }
        self.failed = filled.err();
        Ok(WarpStep::Batch)
    }

    /// Reads lines until the batch is full or the trace is over.
    fn fill(&mut self, batch: &mut WarpBatch) -> Result<(), TraceError> {
        while !batch.is_full() {
            let Some(line) = self.input.line()? else {
                if self.state.left > 0 || self.state.block.is_some() {
                    let what = "the trace is cut off in the middle of a block".to_owned();
                    return Err(self.input.bad_line(what).into());
                }
                break;
            };
            let done = match std::str::from_utf8(line) {
                Ok(line) => self.state.line(line.trim(), batch),
                Err(_) => Err("the line is no text".to_owned()),
            };
            done.map_err(|what| self.input.bad_line(what))?;
        }
        Ok(())
    }

    /// Reads the lines that begin with `-`.
    fn head(&mut self) -> Result<Launch, TraceError> {
        let (mut kernel, mut grid, mut block) = (None, None, None);
        while let Some(line) = self.input.line()? {
            let line = String::from_utf8_lossy(line).trim().to_owned();
            if line.is_empty() || line.starts_with("#traces") {
                continue;
            }
            let Some((key, value)) = line.strip_prefix('-').and_then(|line| line.split_once('='))
            else {
                if line == "#BEGIN_TB" {
                    break;
                }
                let what = format!("'{}' is no line of a kernel's head", line.escape_debug());
                return Err(self.input.bad_line(what).into());
            };
            let value = value.trim();
            let address = || u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap_or(0);
            match key.trim() {
                "kernel name" => kernel = Some(value.to_owned()),
                "grid dim" => grid = extent(value),
                "block dim" => block = extent(value),
                "shmem base_addr" => self.state.windows.shared = address(),
                "local mem base_addr" => self.state.windows.local = address(),
                "enable lineinfo" => self.state.windows.lines = value == "1",
                _ => {}
            }
        }
        let (Some(kernel), Some(grid), Some(block)) = (kernel, grid, block) else {
            let what = "the head lacks the kernel's name, grid or block".to_owned();
            return Err(self.input.bad_line(what).into());
        };
        Ok(Launch {
            kernel,
            grid,
            block,
            used: None,
            arrays: [].into(),
            sites: [].into(),
        })
    }
}

impl KernelState {
    fn line(&mut self, line: &str, batch: &mut WarpBatch) -> Result<(), String> {
        if self.left > 0 {
            return self.instruction(line, batch);
        }
        if line.is_empty() || line == "#BEGIN_TB" || line.starts_with("cluster ") {
            return Ok(());
        }
        if line == "#END_TB" {
            (self.block, self.warp) = (None, None);
            return Ok(());
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let value = value.trim();
        let bad = || format!("'{}' is out of range", line.escape_debug());
        let launch = self.launch.as_ref().ok_or_else(bad)?;
        match key.trim() {
            "thread block" => {
                let place = extent(value).and_then(|place| index(place, launch.grid));
                self.block = Some(place.ok_or_else(bad)?);
            }
            "warp" => {
                let warp = value.parse().ok();
                let warp = warp.filter(|&warp| u64::from(warp) < launch.warps());
                self.warp = Some(warp.ok_or_else(bad)?);
                (self.phase, self.waiting, self.position) = (0, 0, 0);
            }
            "insts" => self.left = value.parse().map_err(|_| bad())?,
            _ => {
                let shown: String = line.chars().take(40).collect();
                return Err(format!("'{}' is no line of a block", shown.escape_debug()));
            }
        }
        Ok(())
    }

    /// Begins a new phase if one of these lanes waits at a barrier: as it goes on, all have come.
    fn pass_barrier(&mut self, lanes: u32) {
        if self.waiting & lanes != 0 {
            self.phase = self.phase.saturating_add(1);
            (self.waiting, self.position) = (0, 0);
        }
    }

    fn instruction(&mut self, line: &str, batch: &mut WarpBatch) -> Result<(), String> {
        if line.starts_with('#') || line.is_empty() {
            return Err(format!("{} more instructions should follow", self.left));
        }
        self.left -= 1;
        let mut access = match instruction::parse(line, self.windows)? {
            TracedInstruction::Access(access) => access,
            TracedInstruction::Barrier(lanes) => {
                self.pass_barrier(lanes);
                self.waiting |= lanes;
                return Ok(());
            }
            TracedInstruction::Other => return Ok(()),
        };
        let (Some(block), Some(warp), Some(launch)) = (self.block, self.warp, &self.launch) else {
            return Err("an instruction is of no block and warp".to_owned());
        };
        if !launch.has_site(access.site) {
            return Err("the program counter is farther than any kernel is long".to_owned());
        }
        self.pass_barrier(access.mask);
        self.position += 1;
        (access.block, access.warp) = (block, warp);
        (access.phase, access.position) = (self.phase, self.position);
        batch.push(&access);
        Ok(())
    }
}

impl WarpSource for KernelReader {
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        if self.over {
            return Ok(WarpStep::End);
        }
        let step = self.step(batch);
        self.over = matches!(step, Err(_) | Ok(WarpStep::End));
        step
    }

    fn describe(&self) -> String {
        "SASS instructions from Accel-Sim's tracer".to_owned()
    }
}

/// `(1,2,3)` or `1,2,3`.
fn extent(text: &str) -> Option<Extent> {
    let text = text.trim_start_matches('(').trim_end_matches(')');
    let mut numbers = text.split(',').map(|number| number.trim().parse().ok());
    let [x, y, z] = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(Extent { x, y, z })
}

/// The index of a block in its grid.
fn index(at: Extent, grid: Extent) -> Option<u32> {
    if at.x >= grid.x || at.y >= grid.y || at.z >= grid.z {
        return None;
    }
    let row = u64::from(at.z).checked_mul(grid.y.into())? + u64::from(at.y);
    let place = row.checked_mul(grid.x.into())?.checked_add(at.x.into())?;
    u32::try_from(place).ok()
}
