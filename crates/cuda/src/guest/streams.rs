//! Streams. Work is done when it is submitted, so a stream is idle whenever the program asks.

use super::captures;
use super::connection::fatal;
use super::errors::returned;
use super::graphs;
use super::handles::Handles;
use super::memory::store;
use super::work::{Work, wait};
use crate::status::Status;

#[derive(Clone, Copy)]
struct Stream {
    flags: u32,
    priority: i32,
}

static STREAMS: Handles<Stream> = Handles::new();

/// The greatest handle that means a stream of CUDA's own: 0 and 1 the one that all threads share, 2
/// the thread's.
const OWN: usize = 2;

/// What is known of a stream.
fn known(stream: usize) -> Result<Stream, Status> {
    match stream <= OWN {
        true => Ok(Stream {
            flags: 0,
            priority: 0,
        }),
        false => STREAMS.with(stream, |stream| *stream),
    }
}

/// That there is such a stream.
pub fn exists(stream: usize) -> Result<(), Status> {
    known(stream).map(drop)
}

fn create(to: *mut usize, flags: u32, priority: i32) -> u32 {
    let stream = Stream { flags, priority };
    returned(fatal().and_then(|()| store(to, STREAMS.add(stream))))
}

/// What `work` submits to the stream that it gets, without doing it.
pub fn collected(work: impl FnOnce(usize) -> Result<(), Status>) -> Result<Vec<Work>, Status> {
    let stream = STREAMS.add(Stream {
        flags: 0,
        priority: 0,
    });
    captures::begin(stream)?;
    let submitted = work(stream);
    let parts = captures::end(stream);
    STREAMS.remove(stream)?;
    submitted?;
    Ok(parts?.into_work())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreate(to: *mut usize) -> u32 {
    create(to, 0, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithFlags(to: *mut usize, flags: u32) -> u32 {
    create(to, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithPriority(to: *mut usize, flags: u32, priority: i32) -> u32 {
    create(to, flags, priority)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(stream: usize) -> u32 {
    returned(STREAMS.remove(stream).map(drop))
}

/// That a stream exists and is idle; while it is captured, nobody can wait for it.
fn idle(stream: usize) -> Result<(), Status> {
    wait()?;
    exists(stream)?;
    captures::forbid(stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize(stream: usize) -> u32 {
    returned(idle(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamWaitEvent(stream: usize, event: usize, _flags: u32) -> u32 {
    returned(exists(stream).and_then(|()| {
        super::events::exists(event)?;
        captures::wait(stream, event);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetFlags(stream: usize, to: *mut u32) -> u32 {
    returned(known(stream).and_then(|stream| store(to, stream.flags)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetPriority(stream: usize, to: *mut i32) -> u32 {
    returned(known(stream).and_then(|stream| store(to, stream.priority)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetId(stream: usize, to: *mut u64) -> u32 {
    returned(exists(stream).and_then(|()| store(to, stream as u64)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetDevice(stream: usize, to: *mut i32) -> u32 {
    returned(exists(stream).and_then(|()| store(to, 0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamAddCallback(
    stream: usize,
    callback: Option<extern "C" fn(usize, u32, usize)>,
    argument: usize,
    _flags: u32,
) -> u32 {
    returned(idle(stream).and_then(|()| {
        let callback = callback.ok_or(Status::INVALID_VALUE)?;
        callback(stream, 0, argument);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamBeginCapture(stream: usize, _mode: u32) -> u32 {
    returned(match stream <= OWN {
        true => Err(Status::CAPTURE_UNSUPPORTED),
        false => exists(stream).and_then(|()| captures::begin(stream)),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamEndCapture(stream: usize, to: *mut usize) -> u32 {
    returned(captures::end(stream).and_then(|parts| store(to, graphs::add(parts))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamIsCapturing(stream: usize, to: *mut u32) -> u32 {
    let is_captured = captures::is_captured(stream);
    returned(exists(stream).and_then(|()| store(to, u32::from(is_captured))))
}
