//! Events: the times at which streams reached them. The clock is the machine's, so the time between
//! two events is how long the kernels took here, not on a GPU.

use std::time::Instant;

use super::connection::fatal;
use super::errors::returned;
use super::handles::Handles;
use super::memory::store;
use super::work::{Work, submit, wait};
use crate::status::Status;

struct Event {
    time: Option<Instant>,
    has_time: bool,
}

static EVENTS: Handles<Event> = Handles::new();

/// The flag of an event that takes no time.
const NO_TIME: u32 = 2;

/// A stream reached an event.
pub fn set(event: usize) -> Result<(), Status> {
    EVENTS.with(event, |event| event.time = Some(Instant::now()))
}

/// That there is such an event.
pub fn exists(event: usize) -> Result<(), Status> {
    EVENTS.with(event, |_| ())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreate(to: *mut usize) -> u32 {
    cudaEventCreateWithFlags(to, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreateWithFlags(to: *mut usize, flags: u32) -> u32 {
    let event = Event {
        time: None,
        has_time: flags & NO_TIME == 0,
    };
    returned(fatal().and_then(|()| store(to, EVENTS.add(event))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventDestroy(event: usize) -> u32 {
    returned(EVENTS.remove(event).map(drop))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(event: usize, stream: usize) -> u32 {
    returned(exists(event).and_then(|()| submit(stream, Work::Record(event))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventSynchronize(event: usize) -> u32 {
    returned(wait().and_then(|()| exists(event)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime(to: *mut f32, from: usize, until: usize) -> u32 {
    let time = |event| {
        let event = EVENTS.with(event, |event| (event.time, event.has_time))?;
        match event {
            (Some(time), true) => Ok(time),
            _ => Err(Status::INVALID_HANDLE),
        }
    };
    let elapsed = || {
        fatal()?;
        let (from, until) = (time(from)?, time(until)?);
        let elapsed = match until.checked_duration_since(from) {
            Some(after) => after.as_secs_f64(),
            None => -from.duration_since(until).as_secs_f64(),
        };
        store(to, (elapsed * 1000.0) as f32)
    };
    returned(elapsed())
}
