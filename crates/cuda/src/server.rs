//! [`Server`]: answers what programs ask their device for, and keeps the accounts of it.
//!
//! A thread for each connection; one lock around the device, so calls are answered one by one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use reuselens_gpu_advisor::Ledger;
use reuselens_ptx::readable;

use crate::accounts::Accounts;
use crate::client_names::{ClientNames, allocated_by};
use crate::device::{CudaFault, Device, FillValue, KernelInfo, KernelLaunch};
use crate::protocol::{Comparison, MAX_BYTES, Message, Operation};
use crate::status::Status;

/// Bytes that are compared at a time: they stay in the processor's first cache.
const PART_BYTES: usize = 16 << 10;
/// Different messages that are kept.
const MAX_MESSAGES: usize = 1000;

/// What programs asked for in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Whether any process asked for the device. If none did, the library may not be in the
    /// program.
    pub was_asked: bool,
    /// Functions that are not provided, with the number of their calls.
    pub missing: BTreeMap<String, u64>,
    /// What went wrong, each message once, in order.
    pub messages: Vec<String>,
}

impl Refused {
    /// Counts a call of a function that is not provided.
    fn count(&mut self, name: String) {
        if self.missing.len() < MAX_MESSAGES {
            *self.missing.entry(name).or_default() += 1;
        }
    }
}

#[derive(Debug)]
struct Served<D> {
    device: D,
    refused: Refused,
    accounts: Accounts,
    /// The names of kernels, by their numbers on the device.
    kernels: HashMap<u64, String>,
}

impl<D> Served<D> {
    fn new(device: D) -> Served<D> {
        Served {
            device,
            refused: Refused::default(),
            accounts: Accounts::default(),
            kernels: HashMap::new(),
        }
    }
}

/// What is known of a connection.
#[derive(Debug, Default)]
struct Client {
    /// The blocks that it has.
    blocks: BTreeSet<u64>,
    names: ClientNames,
}

/// The side of the analysing process.
#[derive(Debug)]
pub struct Server<D> {
    served: SharedServer<D>,
    conversations: Arc<Mutex<Vec<Conversation>>>,
    stop: Arc<AtomicBool>,
}

/// A connection, and the thread that answers it.
#[derive(Debug)]
struct Conversation {
    stream: UnixStream,
    thread: JoinHandle<()>,
}

impl Conversation {
    /// Ends the connection and waits for its thread, which reads first what was sent before: a
    /// program's last reports may arrive after its end.
    fn end(self) {
        // An error means that it has ended.
        let _ = self.stream.shutdown(Shutdown::Both);
        let _ = self.thread.join();
    }
}

/// What all conversations answer from; `None` once the server has ended.
type SharedServer<D> = Arc<Mutex<Option<Served<D>>>>;

impl<D: Device + 'static> Server<D> {
    /// Listens at a path, and answers for as long as programs are connected.
    ///
    /// # Errors
    /// If the socket cannot be made, or the system refuses a thread.
    pub fn listen(path: &Path, device: D) -> io::Result<Server<D>> {
        let listener = UnixListener::bind(path)?;
        let stop = device.stop();
        let served = Arc::new(Mutex::new(Some(Served::new(device))));
        let conversations = Arc::default();
        let accepting = (Arc::clone(&served), Arc::clone(&conversations));
        std::thread::Builder::new()
            .name("cuda".to_owned())
            .spawn(move || accept(&listener, &accepting.0, &accepting.1))?;
        Ok(Server {
            served,
            conversations,
            stop,
        })
    }

    /// Ends all connections, after what was sent on them until now: what was refused, what the host
    /// side did, and the device. A kernel that still runs is stopped; later calls get an error.
    pub fn finish(self) -> (Refused, Ledger, D) {
        self.stop.store(true, Ordering::Relaxed);
        let conversations = std::mem::take(&mut *lock(&self.conversations));
        conversations.into_iter().for_each(Conversation::end);
        let served = lock(&self.served).take();
        // Nobody else takes it: this is the only server, and it is given away.
        let served = served.expect("a server ends once");
        (served.refused, served.accounts.into_ledger(), served.device)
    }
}

fn lock<T>(served: &Mutex<T>) -> MutexGuard<'_, T> {
    served.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept<D: Device + 'static>(
    listener: &UnixListener,
    served: &SharedServer<D>,
    conversations: &Mutex<Vec<Conversation>>,
) {
    while let Ok((stream, _)) = listener.accept() {
        let served = Arc::clone(served);
        let Ok(other) = stream.try_clone() else {
            continue;
        };
        // A thread that the system refuses leaves the program with an error of its connection.
        let started = std::thread::Builder::new()
            .name("cuda".to_owned())
            .spawn(move || {
                converse(&other, &served);
                // The connection is kept open by the list of conversations otherwise.
                let _ = other.shutdown(Shutdown::Both);
            });
        let mut open = lock(conversations);
        open.retain(|conversation| !conversation.thread.is_finished());
        open.extend(started.map(|thread| Conversation { stream, thread }));
    }
}

/// Answers one connection to its end. A program that sends what is no message is hung up on.
fn converse<D: Device>(stream: &UnixStream, served: &Mutex<Option<Served<D>>>) {
    let mut answers = stream;
    let mut requests = BufReader::new(stream);
    let mut client = Client::default();
    while let Ok(Some(request)) = Message::receive(&mut requests) {
        let answer = match &mut *lock(served) {
            Some(served) if request.operation.is_report() => {
                client.names.receive(&request, &mut served.accounts);
                continue;
            }
            Some(served) => served.answer(&request, &mut client),
            None => return,
        };
        if answer.send(&mut answers).is_err() {
            break;
        }
    }
    if let Some(served) = &mut *lock(served) {
        served.free_all(&mut client, None);
    }
}

impl<D: Device> Served<D> {
    /// Answers a client.
    fn answer(&mut self, request: &Message, client: &mut Client) -> Message {
        match self.carry_out(request, client) {
            Ok((mut fields, bytes)) => {
                fields.insert(0, u64::from(Status::SUCCESS.0));
                Message::with_bytes(request.operation, &fields, bytes)
            }
            Err(fault) => {
                self.remember(fault.message);
                let mut printed = self.device.take_printed();
                printed.extend(fault.printed.as_bytes());
                let fields = [u64::from(fault.status.0), fault.printed.len() as u64];
                Message::with_bytes(request.operation, &fields, printed)
            }
        }
    }

    fn remember(&mut self, message: String) {
        let messages = &mut self.refused.messages;
        if messages.len() < MAX_MESSAGES && !messages.contains(&message) {
            messages.push(message);
        }
    }

    /// Frees all blocks of a client, because a call path asks for that or it has ended.
    fn free_all(&mut self, client: &mut Client, call_path: Option<u32>) {
        for address in std::mem::take(&mut client.blocks) {
            // Another connection may have freed it: it is one device.
            if self.device.free(address).is_ok() {
                self.accounts.freed(address, call_path);
            }
        }
    }

    fn carry_out(
        &mut self,
        request: &Message,
        client: &mut Client,
    ) -> Result<(Vec<u64>, Vec<u8>), CudaFault> {
        let field = |index| request.field(index);
        let call_path = client.names.call_path(request.call_path);
        let device = &mut self.device;
        let numbers = |fields: &[u64]| Ok((fields.to_vec(), Vec::new()));
        match request.operation {
            Operation::Hello | Operation::MemoryInfo => {
                self.refused.was_asked = true;
                let ((free, all), addresses) = (device.memory(), device.addresses());
                numbers(&[free, all, addresses.start, addresses.end])
            }
            Operation::Allocate => numbers(&[self.allocate(request, client)?]),
            Operation::Free => {
                self.free(field(0), client, call_path)?;
                numbers(&[])
            }
            Operation::Reset => {
                self.free_all(client, Some(call_path));
                numbers(&[])
            }
            Operation::Write => numbers(&self.write(field(0), &request.bytes)?.fields()),
            Operation::Read => Ok((Vec::new(), self.read(field(0), field(1))?)),
            Operation::Copy => numbers(&self.copy(field(0), field(1), field(2))?.fields()),
            Operation::Fill => self.fill(request).and_then(|()| numbers(&[])),
            Operation::Load => numbers(&[self.load(&request.bytes)?]),
            Operation::Unload => self.unload(field(0), call_path).and_then(|()| numbers(&[])),
            Operation::Kernel => self.kernel(request, call_path),
            Operation::Variable => {
                let (address, bytes) = device.variable(field(0), &request.text())?;
                numbers(&[address, bytes])
            }
            Operation::Launch => {
                self.launch(&launch(request)?, call_path)?;
                Ok((Vec::new(), self.device.take_printed()))
            }
            Operation::SetHeap => device.set_heap(field(0)).and_then(|()| numbers(&[])),
            Operation::Around => numbers(&self.accounts.block_around(field(0)).unwrap_or_default()),
            Operation::Refused => {
                self.refuse(field(0), call_path, &request.text());
                numbers(&[])
            }
            Operation::Missing => {
                self.refused.count(request.text());
                numbers(&[])
            }
            Operation::Module | Operation::CallPath | Operation::Copied | Operation::Filled => {
                client.names.receive(request, &mut self.accounts);
                numbers(&[])
            }
        }
    }

    /// Takes memory for a client; its address.
    fn allocate(&mut self, request: &Message, client: &mut Client) -> Result<u64, CudaFault> {
        let [bytes, alignment, kind] = [0, 1, 2].map(|index| request.field(index));
        let address = self.device.allocate(bytes, alignment)?;
        if let Some(origin) = allocated_by(kind) {
            let call_path = client.names.call_path(request.call_path);
            self.accounts.allocated(origin, call_path, address, bytes);
        }
        client.blocks.insert(address);
        Ok(address)
    }

    /// Frees memory, because a call path of a client asks for that.
    fn free(&mut self, address: u64, client: &mut Client, call_path: u32) -> Result<(), CudaFault> {
        self.device.free(address)?;
        self.accounts.freed(address, Some(call_path));
        client.blocks.remove(&address);
        Ok(())
    }

    /// Loads a module; its number.
    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault> {
        let module = self.device.load(fat_binary)?;
        self.accounts.loaded(self.device.variables(module));
        Ok(module)
    }

    /// Ends a module, because a call path asks for that.
    fn unload(&mut self, module: u64, call_path: u32) -> Result<(), CudaFault> {
        for address in self.device.unload(module)? {
            self.accounts.freed(address, Some(call_path));
        }
        Ok(())
    }

    /// Bytes of the device.
    fn read(&self, address: u64, count: u64) -> Result<Vec<u8>, CudaFault> {
        if count > MAX_BYTES {
            let what = "a copy of too many bytes";
            return Err(CudaFault::new(Status::INVALID_VALUE, what));
        }
        let mut bytes = vec![0; count as usize];
        self.device.read_into(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies to the device; what was there.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<Comparison, CudaFault> {
        let count = bytes.len() as u64;
        let mut before = part_of(count);
        let mut at = address;
        // A part that cannot be read is not equal: the write says why it is refused.
        let is_equal = bytes.chunks(PART_BYTES).all(|part| {
            let before = &mut before[..part.len()];
            let is_read = self.device.read_into(at, before).is_ok();
            at = at.wrapping_add(part.len() as u64);
            is_read && before == part
        });
        if !is_equal || bytes.is_empty() {
            self.device.write(address, bytes)?;
        }
        let has_value = bytes.iter().any(|&byte| byte != 0);
        let was_written = self.accounts.is_written(address, count);
        self.accounts.written(address, count);
        Ok(Comparison {
            is_equal,
            has_value,
            was_written,
        })
    }

    /// Copies on the device; what was there.
    fn copy(&mut self, to: u64, from: u64, count: u64) -> Result<Comparison, CudaFault> {
        let (mut is_equal, mut has_value) = (true, false);
        let (mut before, mut after) = (part_of(count), part_of(count));
        let mut done = 0;
        while done < count && (is_equal || !has_value) {
            let bytes = (count - done).min(PART_BYTES as u64) as usize;
            let (before, after) = (&mut before[..bytes], &mut after[..bytes]);
            // As in `write`: what cannot be read is refused by the copy.
            if self
                .device
                .read_into(from.wrapping_add(done), after)
                .is_err()
            {
                is_equal = false;
                break;
            }
            has_value |= after.iter().any(|&byte| byte != 0);
            is_equal = is_equal
                && self.device.read_into(to.wrapping_add(done), before).is_ok()
                && before == after;
            done += bytes as u64;
        }
        if !is_equal || count == 0 {
            self.device.copy(to, from, count)?;
        }
        let was_written = self.accounts.is_written(to, count);
        self.accounts.written(to, count);
        Ok(Comparison {
            is_equal,
            has_value,
            was_written,
        })
    }

    fn launch(&mut self, launch: &KernelLaunch, call_path: u32) -> Result<(), CudaFault> {
        let context = self.accounts.context(call_path);
        let outcome = self.device.launch(launch, &context);
        if let Some(name) = self.kernels.get(&launch.kernel) {
            let outcome = outcome.as_ref().copied();
            self.accounts
                .launched(launch.kernel, name, call_path, outcome);
        }
        outcome
    }

    /// Makes a kernel ready; what is known of it. If it cannot run and the request says so, the
    /// report has that.
    fn kernel(
        &mut self,
        request: &Message,
        call_path: u32,
    ) -> Result<(Vec<u64>, Vec<u8>), CudaFault> {
        let name = request.text();
        let found = self.device.kernel(request.field(0), &name);
        if let Err(fault) = &found
            && request.field(1) != 0
        {
            self.accounts.failed(&name, call_path, fault);
        }
        let (number, info) = found?;
        let names = &mut self.kernels;
        names.entry(number).or_insert(name);
        Ok(described((number, info)))
    }

    /// A launch of a kernel that the program's side has refused, and why.
    fn refuse(&mut self, kernel: u64, call_path: u32, why: &str) {
        if let Some(name) = self.kernels.get(&kernel) {
            let message = format!("a launch of kernel {} is refused: {why}", readable(name));
            // The program has the status already.
            let fault = CudaFault::new(Status::INVALID_CONFIGURATION, message.clone());
            self.accounts.failed(name, call_path, &fault);
            self.remember(message);
        }
    }

    fn fill(&mut self, request: &Message) -> Result<(), CudaFault> {
        let [address, value, width, count] = [0, 1, 2, 3].map(|index| request.field(index));
        let value = match width {
            1 => FillValue::Byte(value as u8),
            2 => FillValue::Half(value as u16),
            4 => FillValue::Word(value as u32),
            _ => {
                let what = format!("memory is filled with values of {width} bytes");
                return Err(CudaFault::new(Status::INVALID_VALUE, what));
            }
        };
        self.device.fill(address, value, count)?;
        self.accounts.written(address, value.bytes(address, count)?);
        Ok(())
    }
}

/// Room for a part of `bytes` bytes that are compared.
fn part_of(bytes: u64) -> Vec<u8> {
    vec![0; bytes.min(PART_BYTES as u64) as usize]
}

/// The fields and bytes that describe a kernel.
fn described((number, info): (u64, KernelInfo)) -> (Vec<u64>, Vec<u8>) {
    let params = info.params.iter();
    let bytes = params
        .flat_map(|(offset, size)| [offset.to_le_bytes(), size.to_le_bytes()])
        .flatten();
    let fields = [
        number,
        info.max_threads,
        info.shared_bytes,
        info.local_bytes,
        info.param_bytes,
        info.architecture,
    ];
    (fields.to_vec(), bytes.collect())
}

fn launch(request: &Message) -> Result<KernelLaunch, CudaFault> {
    let size = |index| {
        u32::try_from(request.field(index)).map_err(|_| {
            CudaFault::new(
                Status::INVALID_CONFIGURATION,
                "a launch of more than 4,294,967,295 blocks or threads in a direction",
            )
        })
    };
    Ok(KernelLaunch {
        kernel: request.field(0),
        grid: [size(1)?, size(2)?, size(3)?],
        block: [size(4)?, size(5)?, size(6)?],
        shared_bytes: request.field(7),
        params: request.bytes.clone(),
        is_cooperative: request.field(8) != 0,
        stack_bytes: request.fields.get(9).copied(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use reuselens_ptx::Options;
    use tempfile::TempDir;

    use super::*;
    use crate::counts::KernelCounts;
    use crate::interpreter::Interpreter;
    use crate::protocol::OPERATIONS;

    const PTX: &[u8] = b".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .global .align 4 .u32 total = 7;\n\
        .visible .entry nothing(.param .u64 a) { ret; }\n";

    fn device() -> Interpreter<KernelCounts> {
        let options = Options {
            max_instructions: 1000,
            ..Options::default()
        };
        Interpreter::new(1 << 20, options, KernelCounts::default())
    }

    fn served() -> Served<Interpreter<KernelCounts>> {
        Served::new(device())
    }

    #[test]
    fn requests_are_answered_in_order_and_garbage_ends_its_connection_only() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("socket");
        let server = Server::listen(&path, device()).unwrap();
        let mut garbage = UnixStream::connect(&path).unwrap();
        garbage.write_all(&[0xff; 64]).unwrap();
        assert!(!matches!(Message::receive(&mut garbage), Ok(Some(_))));
        let mut stream = UnixStream::connect(&path).unwrap();
        let mut ask = |operation, fields: &[u64], bytes: &[u8]| {
            let request = Message::with_bytes(operation, fields, bytes.to_vec());
            request.send(&mut stream).unwrap();
            Message::receive(&mut stream).unwrap().unwrap()
        };
        let address = ask(Operation::Allocate, &[64, 1], b"").field(1);
        assert_eq!(ask(Operation::Write, &[address + 8], b"words").field(0), 0);
        assert_eq!(ask(Operation::Read, &[address + 8, 5], b"").bytes, b"words");
        let beyond = ask(Operation::Write, &[address + 60], b"words");
        assert_eq!(beyond.fields, [u64::from(Status::INVALID_VALUE.0), 0]);
        let module = ask(Operation::Load, &[], PTX).field(1);
        let total = ask(Operation::Variable, &[module], b"total");
        assert_eq!(total.fields[2], 4);
        let value = ask(Operation::Read, &[total.field(1), 4], b"").bytes;
        assert_eq!(value, 7_u32.to_le_bytes());
        let kernel = ask(Operation::Kernel, &[module], b"nothing");
        assert_eq!(kernel.fields[1..], [0, 1024, 0, 0, 8, 70]);
        let launch = ask(Operation::Launch, &[0, 2, 1, 1, 32, 1, 1, 0], &[0; 8]);
        assert_eq!(launch.fields, [0]);
        let (refused, _, device) = server.finish();
        assert_eq!(refused.messages.len(), 1, "{refused:?}");
        assert_eq!(device.into_watch().kernels()[0].stats.blocks, 2);
        // The server is gone: an error, no answer.
        let request = Message::new(Operation::MemoryInfo, &[]);
        assert!(
            request.send(&mut stream).is_err() || Message::receive(&mut stream).unwrap().is_none()
        );
    }

    #[test]
    fn reports_that_arrive_after_the_end_of_the_program_count() {
        const FILLS: u64 = 2000;
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("socket");
        let server = Server::listen(&path, device()).unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        let request = Message::new(Operation::Allocate, &[64, 1]);
        request.send(&mut stream).unwrap();
        let address = Message::receive(&mut stream).unwrap().unwrap().field(1);
        for _ in 0..FILLS {
            let report = Message::new(Operation::Filled, &[address, 64]);
            report.send(&mut stream).unwrap();
        }
        drop(stream);
        let (_, ledger, _) = server.finish();
        assert_eq!(ledger.fills[0].count, FILLS);
    }

    #[test]
    fn copies_are_compared_in_all_their_parts() {
        let (mut served, mut client) = (served(), Client::default());
        let mut ask = |operation, fields: &[u64], bytes: &[u8]| {
            let request = Message::with_bytes(operation, fields, bytes.to_vec());
            served.answer(&request, &mut client)
        };
        let count = 2 * PART_BYTES as u64 + 3;
        let [one, other] = [0; 2].map(|_: i32| ask(Operation::Allocate, &[count, 1], b"").field(1));
        let zeros = vec![0; count as usize];
        let mut late = zeros.clone();
        *late.last_mut().unwrap() = 1;
        let mut early = late.clone();
        early[0] = 2;
        // What the destination holds, what it gets, and whether that is the same and has a value.
        let steps = [
            (&zeros, [1, 0]),
            (&late, [0, 1]),
            (&late, [1, 1]),
            (&early, [0, 1]),
            (&late, [0, 1]),
            (&zeros, [0, 0]),
        ];
        for (bytes, expected) in steps {
            let written = ask(Operation::Write, &[one], bytes);
            let copied = ask(Operation::Copy, &[other, one, count], b"");
            for answer in [written, copied] {
                assert_eq!(answer.fields[..3], [0, expected[0], expected[1]]);
            }
            assert_eq!(&ask(Operation::Read, &[other, count], b"").bytes, bytes);
        }
        // Nothing is written if all but the end has a place.
        let refused = u64::from(Status::INVALID_VALUE.0);
        assert_eq!(ask(Operation::Write, &[one + 1], &early).field(0), refused);
        let copied = ask(Operation::Copy, &[one + 1, other, count], b"");
        assert_eq!(copied.field(0), refused);
        assert_eq!(ask(Operation::Read, &[one, count], b"").bytes, zeros);
        // A value begins at a multiple of its size.
        let filled = ask(Operation::Fill, &[one + 2, 7, 4, 1], b"");
        assert_eq!(filled.field(0), refused);
        let filled = ask(Operation::Fill, &[one + 4, 0x1_0203, 2, 2], b"");
        assert_eq!(filled.field(0), 0);
        let filled = ask(Operation::Read, &[one + 3, 6], b"").bytes;
        assert_eq!(filled, [0, 3, 2, 3, 2, 0]);
    }

    proptest! {
        /// A program may ask for anything: it gets an answer, and the device stays usable.
        #[test]
        fn no_request_panics(
            requests in prop::collection::vec(
                (0..OPERATIONS.len(), prop::collection::vec(prop_oneof![0..80_u64, (0..64_u32).prop_map(|bits| 1 << bits), any::<u64>()], 0..9)),
                0..30,
            ),
        ) {
            let (mut served, mut client) = (served(), Client::default());
            for (operation, fields) in requests {
                let mut head = vec![operation as u8, 0, 0, 0, 0, 0, 0, 0];
                head.extend([0; 8]);
                let operation = Message::receive(&mut &head[..]).unwrap().unwrap().operation;
                let bytes = match operation {
                    Operation::Load => PTX.to_vec(),
                    Operation::Kernel => b"nothing".to_vec(),
                    _ => vec![0; 8],
                };
                served.answer(&Message::with_bytes(operation, &fields, bytes), &mut client);
            }
            served.free_all(&mut client, None);
            let request = Message::new(Operation::Allocate, &[1, 1]);
            prop_assert_eq!(served.answer(&request, &mut client).field(0), 0);
        }
    }
}
