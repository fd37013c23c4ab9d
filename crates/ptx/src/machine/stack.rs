//! Memory that functions take while they run (`alloca`), downwards from the end of each thread's
//! local memory. Frames of calls grow upwards from its beginning (`call`), so that a thread has as
//! much of both as fits together.

use crate::decode::kernel::{Kernel, NONE, StackOp, StackStep};
use crate::lanes::{Registers, WARP};

use super::access;
use super::fault::{Fault, FaultKind};
use super::warp::Warp;

/// Takes memory, or frees it, for the lanes of the mask.
#[cold]
pub fn run(kernel: &Kernel, warp: &mut Warp, op: &StackOp, mask: u32) -> Result<(), Box<Fault>> {
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let floor = floor(kernel, &warp.registers, op.routine, lane);
        let top = warp.registers.wide[kernel.stack_top as usize].0[lane];
        let top = match op.step {
            StackStep::Take {
                bytes,
                align,
                address,
            } => {
                let bytes = access::value(&warp.registers, bytes, lane);
                let Some(taken) = taken(top, bytes, align).filter(|&taken| taken >= floor) else {
                    return Err(no_room(
                        kernel,
                        warp,
                        bytes,
                        top.saturating_sub(floor),
                        lane,
                    ));
                };
                access::put(&mut warp.registers, address, lane, taken);
                taken
            }
            StackStep::Restore { value } => {
                let saved = access::value(&warp.registers, value, lane);
                if saved < top || saved > warp.local_bytes {
                    return Err(not_saved(saved, lane));
                }
                saved
            }
        };
        warp.registers.wide[kernel.stack_top as usize].0[lane] = top;
        warp.local_low = warp.local_low.min(top);
    }
    Ok(())
}

/// The address of bytes below the top.
fn taken(top: u64, bytes: u64, align: u64) -> Option<u64> {
    Some(top.checked_sub(bytes)? & !(align - 1))
}

/// Where the frame of a lane's running function ends: memory is taken from above.
fn floor(kernel: &Kernel, registers: &Registers, routine: u32, lane: usize) -> u64 {
    match routine {
        NONE => kernel.local_bytes,
        number => {
            let frame = registers.wide[kernel.frame as usize].0[lane];
            frame + kernel.routines[number as usize].frame_bytes
        }
    }
}

/// The lowest top of the stack of some lanes: the end of local memory if the kernel never takes
/// memory while it runs.
pub fn lowest_top(kernel: &Kernel, warp: &Warp, lanes: impl Iterator<Item = usize>) -> u64 {
    if kernel.stack_top == NONE {
        return warp.local_bytes;
    }
    let tops = &warp.registers.wide[kernel.stack_top as usize].0;
    lanes
        .map(|lane| tops[lane])
        .min()
        .unwrap_or(warp.local_bytes)
}

/// Bytes of a thread's stack.
pub fn bytes(kernel: &Kernel, warp: &Warp) -> u64 {
    let own = kernel.local_bytes.next_multiple_of(16);
    warp.local_bytes.saturating_sub(own)
}

fn no_room(kernel: &Kernel, warp: &Warp, bytes: u64, left: u64, lane: usize) -> Box<Fault> {
    let stack = self::bytes(kernel, warp);
    let what = format!(
        "`alloca` of {bytes} bytes, of which {left} are left of the {stack} bytes of the thread's stack; if as many are meant, allow more (cudaDeviceSetLimit with cudaLimitStackSize)"
    );
    Fault::new(FaultKind::Stack, Some(lane as u32), what)
}

fn not_saved(saved: u64, lane: usize) -> Box<Fault> {
    let what = format!(
        "`stackrestore` of {saved:#x}, which no `stacksave` of the running function gave; restore a value that it gave"
    );
    Fault::new(FaultKind::Stack, Some(lane as u32), what)
}
