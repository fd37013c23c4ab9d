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
    /// Free and all bytes of the device, and the range of its addresses.
    device: [u64; 4],
}

static CONNECTION: Mutex<Option<Connection>> = Mutex::new(None);

/// What a kernel did that ended all work on the device: every later call returns it.
static FATAL: AtomicU32 = AtomicU32::new(0);

/// Whether a call has returned it. A launch returns before its kernel has ended, so only a later
/// call reports it.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// The process that opened the connection; 0 before.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Keeps an error that ends all work.
pub fn set_fatal(status: Status) {
    FATAL.store(status.0, Ordering::Relaxed);
}

/// The error that ended all work, if one did. A forked child of a process that used the device has
/// none, as with CUDA.
pub fn fatal() -> Result<(), Status> {
    own_process()?;
    let result = status(FATAL.load(Ordering::Relaxed));
    IS_REPORTED.store(result.is_err(), Ordering::Relaxed);
    result
}

/// The error that ended all work, if a call has returned it.
pub fn reported_fatal() -> Result<(), Status> {
    match IS_REPORTED.load(Ordering::Relaxed) {
        true => fatal(),
        false => Ok(()),
    }
}

/// That this process may use the device. No lock is taken: another thread may have held one when
/// this process was forked.
pub fn own_process() -> Result<(), Status> {
    match PROCESS.load(Ordering::Relaxed) {
        owner if owner == 0 || owner == std::process::id() => Ok(()),
        _ => Err(Status::INITIALIZATION),
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
        let answer = request
            .send(&mut connection.stream)
            .and_then(|()| Message::receive(&mut connection.stream));
        match answer {
            Ok(Some(answer)) if answer.operation == request.operation => Ok(answer),
            // What comes next would be the answer to another request.
            _ => {
                set_fatal(Status::UNKNOWN);
                Err(Status::UNKNOWN)
            }
        }
    })
}

/// Asks with fields only; the answer's first field.
pub fn ask_number(operation: Operation, fields: &[u64]) -> Result<u64, Status> {
    Ok(ask(&Message::new(operation, fields))?.field(0))
}

fn with<R>(work: impl FnOnce(&mut Connection) -> Result<R, Status>) -> Result<R, Status> {
    own_process()?;
    let mut connection = lock(&CONNECTION);
    if connection.is_none() {
        let process = std::process::id();
        *connection = Some(open(process).map_err(|_| Status::INITIALIZATION)?);
        PROCESS.store(process, Ordering::Relaxed);
    }
    connection
        .as_mut()
        .map_or(Err(Status::INITIALIZATION), work)
}

fn open(process: u32) -> std::io::Result<Connection> {
    let path = std::env::var_os(SOCKET_VARIABLE).ok_or(std::io::ErrorKind::NotFound)?;
    let mut stream = UnixStream::connect(path)?;
    Message::new(Operation::Hello, &[u64::from(process)]).send(&mut stream)?;
    let answer = Message::receive(&mut stream)?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    Ok(Connection {
        stream,
        device: [1, 2, 3, 4].map(|index| answer.field(index)),
    })
}
