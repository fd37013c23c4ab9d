//! The connection to the analysing process: one for the program, opened with its first question.

use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::lock;
use super::printed;
use crate::protocol::{Message, Operation, SOCKET_VARIABLE};
use crate::status::Status;

struct Connection {
    stream: UnixStream,
    /// The process that opened it. A child that was forked has no device, as with CUDA.
    process: u32,
    /// Free and all bytes of the device, and the range of its addresses.
    device: [u64; 4],
}

static CONNECTION: Mutex<Option<Connection>> = Mutex::new(None);

/// What a kernel did that ended all work on the device: every later call returns it.
static FATAL: AtomicU32 = AtomicU32::new(0);

/// Whether the program has been told. A launch returns before its kernel has ended, so only a later
/// call can tell.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Keeps an error that ends all work.
pub fn set_fatal(status: Status) {
    FATAL.store(status.0, Ordering::Relaxed);
}

/// The error that ended all work, if one did. From now on the program knows.
pub fn fatal() -> Result<(), Status> {
    let result = status(FATAL.load(Ordering::Relaxed));
    IS_TOLD.store(result.is_err(), Ordering::Relaxed);
    result
}

/// The error that ended all work, if the program has been told.
pub fn told_fatal() -> Result<(), Status> {
    match IS_TOLD.load(Ordering::Relaxed) {
        true => fatal(),
        false => Ok(()),
    }
}

/// A number of CUDA's as a result.
fn status(number: u32) -> Result<(), Status> {
    match number {
        0 => Ok(()),
        number => Err(Status(number)),
    }
}

/// All bytes of the device, and the addresses where its memory begins and ends.
pub fn device() -> Result<[u64; 3], Status> {
    with(|connection| {
        let [_, all, begin, end] = connection.device;
        Ok([all, begin, end])
    })
}

/// Asks; the answer's fields without the status, and its bytes.
pub fn ask(request: &Message) -> Result<Message, Status> {
    fatal()?;
    let mut answer = exchange(request)?;
    match answer.field(0) {
        0 => {
            answer.fields.remove(0);
            Ok(answer)
        }
        number => Err(Status(number as u32)),
    }
}

/// Asks for a launch; how it ended. What the kernel printed is kept in either case.
pub fn ask_launch(request: &Message) -> Result<(), Status> {
    fatal()?;
    let answer = exchange(request)?;
    printed::keep(&answer.bytes);
    status(answer.field(0) as u32)
}

/// Sends a request and receives the answer, its status as its first field.
fn exchange(request: &Message) -> Result<Message, Status> {
    with(|connection| {
        let lost = |_| Status::UNKNOWN;
        request.send(&mut connection.stream).map_err(lost)?;
        let answer = Message::receive(&mut connection.stream).map_err(lost)?;
        answer.ok_or(Status::UNKNOWN)
    })
}

/// Asks with fields only; the answer's first field.
pub fn ask_number(operation: Operation, fields: &[u64]) -> Result<u64, Status> {
    Ok(ask(&Message::new(operation, fields))?.field(0))
}

fn with<R>(work: impl FnOnce(&mut Connection) -> Result<R, Status>) -> Result<R, Status> {
    let mut connection = lock(&CONNECTION);
    let process = std::process::id();
    if connection.is_none() {
        *connection = Some(open(process).map_err(|_| Status::INITIALIZATION)?);
    }
    match &mut *connection {
        Some(open) if open.process == process => work(open),
        _ => Err(Status::INITIALIZATION),
    }
}

fn open(process: u32) -> std::io::Result<Connection> {
    let path = std::env::var_os(SOCKET_VARIABLE).ok_or(std::io::ErrorKind::NotFound)?;
    let mut stream = UnixStream::connect(path)?;
    Message::new(Operation::Hello, &[u64::from(process)]).send(&mut stream)?;
    let answer = Message::receive(&mut stream)?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    Ok(Connection {
        stream,
        process,
        device: [1, 2, 3, 4].map(|index| answer.field(index)),
    })
}
