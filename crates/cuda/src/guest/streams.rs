//! Streams. Work is done when it is submitted, so a stream is idle whenever the program asks.

use std::cell::Cell;

use super::captures;
use super::connection::fatal;
use super::errors::returned;
use super::graphs;
use super::handles::Handles;
use super::hook;
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
    if stream <= OWN {
        Ok(Stream {
            flags: 0,
            priority: 0,
        })
    } else {
        STREAMS.with(stream, |stream| *stream)
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
    let parts = parts?;
    graphs::discard(&parts);
    Ok(parts.into_work())
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
    returned(if stream <= OWN {
        Err(Status::CAPTURE_UNSUPPORTED)
    } else {
        exists(stream).and_then(|()| captures::begin(stream))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamEndCapture(stream: usize, to: *mut usize) -> u32 {
    returned(captures::end(stream).and_then(|parts| store(to, graphs::complete(parts)?)))
}

/// What a thread may do beside a capture (`cudaStreamCaptureMode`): nothing here depends on it, and
/// it is kept for programs that set it back.
#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadExchangeStreamCaptureMode(mode: *mut u32) -> u32 {
    thread_local! {
        static MODE: Cell<u32> = const { Cell::new(0) };
    }
    // SAFETY: the program passes a place with the next mode, or null.
    let next = unsafe { mode.as_ref() }.copied();
    returned(match next {
        Some(next @ 0..=2) => store(mode, MODE.replace(next)),
        _ => Err(Status::INVALID_VALUE),
    })
}

/// Places for what a program asks of a capture: the number, the graph, the nodes that the next one
/// comes after, the data of the edges from them, and how many. Each may be null.
struct InfoPlaces {
    number: *mut u64,
    graph: *mut usize,
    nodes: *mut *const usize,
    edges: *mut *const u64,
    count: *mut usize,
}

/// Whether a stream is captured, and what is known of the capture.
fn capture_info(stream: usize, status: *mut u32, places: &InfoPlaces) -> Result<(), Status> {
    exists(stream)?;
    let info = captures::info(stream);
    store(status, u32::from(info.is_some()))?;
    let Some(info) = info else {
        return Ok(());
    };
    /// Writes where there is a place.
    fn write<T>(place: *mut T, value: T) {
        let _ = store(place, value);
    }
    write(places.number, info.number as u64);
    write(places.graph, info.graph);
    write(places.nodes, info.nodes);
    write(places.edges, info.edges);
    write(places.count, info.count);
    Ok(())
}

/// As CUDA 12 has it: without the data of edges.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetCaptureInfo_v2(
    stream: usize,
    status: *mut u32,
    number: *mut u64,
    graph: *mut usize,
    nodes: *mut *const usize,
    count: *mut usize,
) -> u32 {
    let edges = std::ptr::null_mut();
    cudaStreamGetCaptureInfo_v3(stream, status, number, graph, nodes, edges, count)
}

/// As CUDA 12.3 and later have it.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetCaptureInfo_v3(
    stream: usize,
    status: *mut u32,
    number: *mut u64,
    graph: *mut usize,
    nodes: *mut *const usize,
    edges: *mut *const u64,
    count: *mut usize,
) -> u32 {
    let places = InfoPlaces {
        number,
        graph,
        nodes,
        edges,
        count,
    };
    returned(capture_info(stream, status, &places))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetCaptureInfo(
    stream: usize,
    status: *mut u32,
    number: *mut u64,
    graph: *mut usize,
    nodes: *mut *const usize,
    edges: *mut *const u64,
    count: *mut usize,
) -> u32 {
    let none = std::ptr::null_mut();
    if hook::is_cuda_12() {
        // That of CUDA 12 has no further arguments.
        let (nodes, edges) = (std::ptr::null_mut(), std::ptr::null_mut());
        cudaStreamGetCaptureInfo_v3(stream, status, number, none, nodes, edges, none)
    } else {
        cudaStreamGetCaptureInfo_v3(stream, status, number, graph, nodes, edges, count)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamIsCapturing(stream: usize, to: *mut u32) -> u32 {
    let is_captured = captures::is_captured(stream);
    returned(exists(stream).and_then(|()| store(to, u32::from(is_captured))))
}
