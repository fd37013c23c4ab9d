//! What the library in the program and the analysing process say to each other: a request, then the
//! answer to it, over a Unix socket. Some messages are reports, which have no answer.
//!
//! A message is a head (operation, number of fields, number of the call path that asks, number of
//! bytes), then its fields, 64 bits each, then its bytes. Both sides are of one build, so there are
//! no versions. The analysing side takes what it reads as input that may be anything.

use std::io::{self, Read, Write};

use crate::little_endian::{u32_at, u64_at};

/// Larger messages are refused: what a program copies at once is cut into pieces of
/// [`PIECE_BYTES`].
pub const MAX_BYTES: u64 = 1 << 30;
/// Bytes of a copy that are sent at once.
#[cfg(reuselens_cuda)]
pub const PIECE_BYTES: usize = 16 << 20;
/// More fields are refused.
const MAX_FIELDS: usize = 32;
/// Bytes of a head.
const HEAD_BYTES: usize = 16;

/// The variable that names the socket to the program.
pub const SOCKET_VARIABLE: &str = "REUSELENS_CUDA_SOCKET";

/// An enumeration, and the table of it by number.
macro_rules! numbered {
    ($(#[$what:meta])* $enum:ident $table:ident { $($(#[$about:meta])* $name:ident,)* }) => {
        $(#[$what])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $enum {
            $($(#[$about])* $name,)*
        }

        /// All of them by number.
        pub const $table: &[$enum] = &[$($enum::$name,)*];
    };
}

numbered! {
    /// What is asked. Answers have the operation of their request; their first field is a
    /// [`Status`](crate::status).
    Operation OPERATIONS {
    /// A process begins. Fields: its number. Answer: free and all bytes of the device, and the
    /// addresses at which its memory begins and ends.
    Hello,
    /// Memory of the device. Fields: bytes, a power of two of which the address has to be a
    /// multiple, [`AllocationKind`]. Answer: its address.
    Allocate,
    /// Fields: address.
    Free,
    /// Bytes to the device. Fields: address. Bytes: what. Answer: [`Comparison`].
    Write,
    /// Fields: address, bytes. Answer: the bytes.
    Read,
    /// From device to device. Fields: to, from, bytes. Answer: [`Comparison`].
    Copy,
    /// Fields: address, value of each element, bytes of an element (1, 2 or 4), elements.
    Fill,
    /// A module. Bytes: the fat binary. Answer: its number.
    Load,
    /// Ends a module and frees its variables. Fields: module.
    Unload,
    /// Fields: module, 1 if the report is to have it where it cannot run. Bytes: name. Answer:
    /// number of the kernel, largest block, bytes of shared memory, bytes of local memory, bytes of
    /// parameters; bytes: offset and size of each parameter, 64 bits each.
    Kernel,
    /// Fields: module. Bytes: name. Answer: address and bytes.
    Variable,
    /// Fields: kernel, grid, block (three each), bytes of shared memory, 1 if it is cooperative,
    /// bytes of a thread's stack.
    /// Bytes: the parameters. Answer, whether the kernel ended well or not: what it printed, and as
    /// a field the number of bytes at the end that are for the standard error.
    Launch,
    /// Frees all memory that this connection has.
    Reset,
    /// Answer: free and all bytes of the device.
    MemoryInfo,
    /// Memory that kernels may allocate. Fields: bytes.
    SetHeap,
    /// The block around an address. Fields: address. Answer: where it begins, its bytes, and a
    /// number that no other block had or will have; no bytes if there is none.
    Around,
    /// A launch does not fit the kernel or the device. Fields: kernel. Bytes: why.
    Refused,
    /// Something that is not provided was called. Bytes: its name.
    Missing,
    /// Report: a file that the program has mapped, or a function of one that an interpreter runs.
    /// Fields: its number in the program, bytes of its build id, bytes of the function's name.
    /// Bytes: the build id, the function's name, then the path.
    Module,
    /// Report: a call path. Fields: its number in the program, 1 if it is cut. Bytes: for each
    /// call, the outermost first, the module's number and the address in its file, 64 bits each; in
    /// place of an address the line, for a function that an interpreter runs.
    CallPath,
    /// Report: the program copied. Fields: bytes, 1 if the copy was redundant, then for the
    /// destination and the source [`Side`] and three numbers that it says.
    Copied,
    /// Report: the program filled memory. Fields: address on the device, bytes.
    Filled,
    }
}

impl Operation {
    /// Whether it has no answer.
    pub fn is_report(self) -> bool {
        self >= Operation::Module
    }
}

numbered! {
    /// How the program got memory of the device.
    AllocationKind ALLOCATION_KINDS {
        /// `cudaMalloc`.
        Malloc,
        /// `cudaMallocPitch`, `cudaMalloc3D`.
        Pitched,
        /// `cudaMallocAsync`.
        StreamOrdered,
        /// `cudaMallocManaged`.
        Managed,
        /// `cudaMallocHost`, `cudaHostAlloc`.
        Pinned,
        /// `cudaHostRegister`: the program has it from elsewhere.
        Registered,
        /// `cudaMallocArray`, `cudaMalloc3DArray`.
        Array,
        /// What describes a texture or surface: no memory of the program's.
        Descriptor,
    }
}

numbered! {
    /// Where one side of a copy is.
    Side SIDES {
        /// Memory of the host that is not known.
        Unknown,
        /// Memory that has an address on the device. Numbers: the address, 1 if the program
        /// accesses it too.
        Device,
        /// Memory by `malloc`. Numbers: the call path that took it, bytes, 1 if it never took part
        /// in a copy before.
        Heap,
        /// Static memory. Numbers: module, address in its file.
        Static,
        /// Memory of a frame. Numbers: module and address in its file of the function, bytes from
        /// the memory up to the canonical frame address.
        Local,
    }
}

/// What a copy finds at its destination. A copy of several rows or messages adds up those of its
/// parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The destination held these bytes before.
    pub is_equal: bool,
    /// Any byte differs from those of memory that nobody wrote, which are zeros.
    pub has_value: bool,
    /// Earlier copies and fills are known to have written the destination.
    pub was_written: bool,
}

impl Comparison {
    /// As fields of an answer.
    pub fn fields(self) -> [u64; 3] {
        [self.is_equal, self.has_value, self.was_written].map(u64::from)
    }
}

/// What the program's side makes of it.
#[cfg(any(test, reuselens_cuda))]
impl Comparison {
    /// Nothing was compared yet.
    pub const NOTHING: Comparison = Comparison {
        is_equal: true,
        has_value: false,
        was_written: true,
    };

    /// Compares the bytes of a destination with those that it gets.
    pub fn new(before: &[u8], after: &[u8], was_written: bool) -> Comparison {
        Comparison {
            is_equal: before == after,
            has_value: after.iter().any(|&byte| byte != 0),
            was_written,
        }
    }

    /// Adds another part of the same copy.
    pub fn add(&mut self, part: Comparison) {
        self.is_equal &= part.is_equal;
        self.has_value |= part.has_value;
        self.was_written &= part.was_written;
    }

    /// Whether the copy could be left out: its destination held these bytes, and not only because
    /// nobody had written it.
    pub fn is_redundant(self) -> bool {
        self.is_equal && (self.has_value || self.was_written)
    }

    /// From the fields of an answer, without its status.
    pub fn from_answer(answer: &Message) -> Comparison {
        let [is_equal, has_value, was_written] = [0, 1, 2].map(|index| answer.field(index) == 1);
        Comparison {
            is_equal,
            has_value,
            was_written,
        }
    }
}

/// A request or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What is asked or answered.
    pub operation: Operation,
    /// The program's number of the call path that asks; 0 if it is unknown, and in answers.
    pub call_path: u32,
    /// Numbers.
    pub fields: Vec<u64>,
    /// Bytes.
    pub bytes: Vec<u8>,
}

impl Message {
    /// A message without bytes.
    pub fn new(operation: Operation, fields: &[u64]) -> Message {
        Message::with_bytes(operation, fields, Vec::new())
    }

    /// A message.
    pub fn with_bytes(operation: Operation, fields: &[u64], bytes: Vec<u8>) -> Message {
        Message {
            operation,
            call_path: 0,
            fields: fields.to_vec(),
            bytes,
        }
    }

    /// A field; 0 if the message has fewer, which no correct program sends.
    pub fn field(&self, index: usize) -> u64 {
        self.fields.get(index).copied().unwrap_or_default()
    }

    /// The bytes as text, as [`reuselens_io::text_of_bytes`] has it.
    #[cfg(not(reuselens_cuda))]
    pub fn text(&self) -> String {
        reuselens_io::text_of_bytes(&self.bytes).into_owned()
    }

    /// Sends it.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = Vec::with_capacity(HEAD_BYTES + 8 * self.fields.len());
        head.extend((self.operation as u16).to_le_bytes());
        head.extend((self.fields.len() as u16).to_le_bytes());
        head.extend(self.call_path.to_le_bytes());
        head.extend((self.bytes.len() as u64).to_le_bytes());
        for field in &self.fields {
            head.extend(field.to_le_bytes());
        }
        to.write_all(&head)?;
        to.write_all(&self.bytes)?;
        to.flush()
    }

    /// Receives one; `None` at the end of the stream.
    ///
    /// # Errors
    /// Those of the stream, and what is no message.
    pub fn receive(from: &mut impl Read) -> io::Result<Option<Message>> {
        let mut head = [0; HEAD_BYTES];
        loop {
            match from.read(&mut head[..1]) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                // A signal for the program came in between.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        from.read_exact(&mut head[1..])?;
        let number = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let fields = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let call_path = u32_at(&head, 4).unwrap_or_default();
        let bytes = u64_at(&head, 8).unwrap_or_default();
        let operation = OPERATIONS.get(number).copied();
        let (Some(operation), true) = (operation, fields <= MAX_FIELDS && bytes <= MAX_BYTES)
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
        };
        let mut numbers = vec![0; 8 * fields];
        from.read_exact(&mut numbers)?;
        let mut message = Message::new(operation, &[]);
        message.call_path = call_path;
        let numbers = numbers.chunks_exact(8);
        message.fields = numbers
            .map(|bytes| u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes")))
            .collect();
        // Memory is taken for what arrives, not for what is announced.
        let taken = from.take(bytes).read_to_end(&mut message.bytes)?;
        if taken as u64 == bytes {
            Ok(Some(message))
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_numbers_of_their_places() {
        for (number, operation) in OPERATIONS.iter().enumerate() {
            assert_eq!(*operation as usize, number);
        }
        let reports = OPERATIONS.iter().filter(|operation| operation.is_report());
        assert_eq!(reports.count(), 4);
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let sent = [
            Message::new(Operation::Free, &[7]),
            Message {
                call_path: 0x8000_0001,
                ..Message::with_bytes(Operation::Write, &[1 << 40, u64::MAX], vec![3; 1000])
            },
        ];
        let mut stream = Vec::new();
        for message in &sent {
            message.send(&mut stream).unwrap();
        }
        let mut stream = &stream[..];
        for message in &sent {
            let received = Message::receive(&mut stream).unwrap();
            assert_eq!(received.as_ref(), Some(message));
        }
        assert_eq!(Message::receive(&mut stream).unwrap(), None);
    }

    #[test]
    fn zeros_in_a_part_do_not_decide_for_the_copy() {
        let part = |before: &[u8], after: &[u8], was_written| {
            let part = Comparison::new(before, after, was_written);
            let mut answer = Message::new(Operation::Write, &part.fields());
            assert_eq!(Comparison::from_answer(&answer), part);
            answer.fields.clear();
            assert!(!Comparison::from_answer(&answer).is_redundant());
            part
        };
        let copy = |parts: &[Comparison]| {
            let mut all = Comparison::NOTHING;
            parts.iter().for_each(|part| all.add(*part));
            all.is_redundant()
        };
        let (value, zeros) = (part(b"ab", b"ab", false), part(b"\0", b"\0", false));
        let (written, other) = (part(b"\0", b"\0", true), part(b"ab", b"ac", true));
        assert!(copy(&[value]) && copy(&[value, zeros]) && copy(&[zeros, value]));
        assert!(copy(&[written]) && copy(&[written, written]));
        assert!(!copy(&[zeros]) && !copy(&[zeros, written]) && !copy(&[written, zeros]));
        assert!(!copy(&[value, other]) && !copy(&[other, value]));
    }

    #[test]
    fn a_message_that_is_cut_is_an_error() {
        let mut stream = Vec::new();
        let message = Message::with_bytes(Operation::Write, &[1], vec![3; 10]);
        message.send(&mut stream).unwrap();
        for end in 1..stream.len() {
            assert!(Message::receive(&mut &stream[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn sizes_that_are_lies_are_errors() {
        let mut head = [0; HEAD_BYTES];
        head[8..].copy_from_slice(&MAX_BYTES.to_le_bytes());
        assert!(Message::receive(&mut &head[..]).is_err());
        head[8..].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(Message::receive(&mut &head[..]).is_err());
    }
}
