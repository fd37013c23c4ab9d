//! The connection to the analysing process: one for the program, opened with its first question.

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::call_paths;
use super::lock;
use super::printed;
use crate::protocol::{Message, Operation, SOCKET_VARIABLE, Side};
use crate::status::Status;

struct Connection {
    stream: UnixStream,
    described: Described,
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
    if IS_REPORTED.load(Ordering::Relaxed) {
        fatal()
    } else {
        Ok(())
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
    let for_error = usize::try_from(answer.field(1)).unwrap_or(usize::MAX);
    let end = answer.bytes.len().saturating_sub(for_error);
    printed::keep(&answer.bytes[..end], &answer.bytes[end..]);
    status(answer.field(0) as u32)
}

/// Sends a report, which has no answer.
pub fn report(report: &Message) -> Result<(), Status> {
    with(|connection| {
        connection.send(report).map_err(|_| {
            set_fatal(Status::UNKNOWN);
            Status::UNKNOWN
        })
    })
}

/// Call paths and modules whose numbers the analysing process knows.
#[derive(Default)]
struct Described {
    call_paths: BTreeSet<u32>,
    modules: BTreeSet<u32>,
}

impl Connection {
    /// Sends a message, and before it what it names.
    fn send(&mut self, message: &Message) -> std::io::Result<()> {
        self.describe_path(message.call_path)?;
        if message.operation == Operation::Copied {
            for side in message.fields.get(2..).unwrap_or_default().chunks(4) {
                match side {
                    [kind, path, ..] if *kind == Side::Heap as u64 => {
                        self.describe_path(*path as u32)?;
                    }
                    [kind, module, ..]
                        if *kind == Side::Static as u64 || *kind == Side::Local as u64 =>
                    {
                        self.describe_module(*module as u32)?;
                    }
                    _ => {}
                }
            }
        }
        message.send(&mut self.stream)
    }

    fn describe_path(&mut self, number: u32) -> std::io::Result<()> {
        if number == 0 || !self.described.call_paths.insert(number) {
            return Ok(());
        }
        let path = call_paths::resolved(number).unwrap_or_default();
        let mut bytes = Vec::new();
        for (module, address) in path.frames {
            self.describe_module(module)?;
            bytes.extend(u64::from(module).to_le_bytes());
            bytes.extend(address.to_le_bytes());
        }
        let fields = [u64::from(number), u64::from(path.is_cut)];
        Message::with_bytes(Operation::CallPath, &fields, bytes).send(&mut self.stream)
    }

    fn describe_module(&mut self, number: u32) -> std::io::Result<()> {
        if !self.described.modules.insert(number) {
            return Ok(());
        }
        let Some(module) = call_paths::module(number) else {
            return Ok(());
        };
        let lengths = [module.build_id.len(), module.function.len()].map(|bytes| bytes as u64);
        let fields = [u64::from(number), lengths[0], lengths[1]];
        let bytes = [module.build_id, module.function, module.path].concat();
        Message::with_bytes(Operation::Module, &fields, bytes).send(&mut self.stream)
    }
}

/// Sends a request and receives the answer, its status as its first field.
fn exchange(request: &Message) -> Result<Message, Status> {
    with(|connection| {
        let answer = connection
            .send(request)
            .and_then(|()| Message::receive(&mut connection.stream));
        match answer {
            Ok(Some(answer)) if answer.operation == request.operation => Ok(answer),
            // The next message would be the answer to another request.
            _ => {
                set_fatal(Status::UNKNOWN);
                Err(Status::UNKNOWN)
            }
        }
    })
}

/// Asks for memory or gives it back, in the name of the calls that lead here; the answer's first
/// field.
///
/// As [`call_paths::here`], it must not be called with a lock held: see [`ask_number_of`].
pub fn ask_number(operation: Operation, fields: &[u64]) -> Result<u64, Status> {
    ask_number_of(call_paths::here(), operation, fields)
}

/// The same in the name of a call path that the caller has asked for before it took a lock.
pub fn ask_number_of(call_path: u32, operation: Operation, fields: &[u64]) -> Result<u64, Status> {
    let mut request = Message::new(operation, fields);
    request.call_path = call_path;
    Ok(ask(&request)?.field(0))
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
        described: Described::default(),
        device: [1, 2, 3, 4].map(|index| answer.field(index)),
    })
}
