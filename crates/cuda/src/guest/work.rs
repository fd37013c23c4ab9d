//! Work: what is submitted to a stream. It is done at once, or, while the stream is captured,
//! becomes a part of a graph and is done each time the graph is launched.
//!
//! Doing it at once is one of the orders that CUDA allows: work of a stream stays in its order, and
//! whatever an event waits for was submitted before. Functions of the program run in the thread
//! that submits them, so one that waits for that thread waits for ever.

use std::ffi::c_void;

use super::blocks::{self, Place, place};
use super::captures;
use super::connection::{ask, ask_launch, fatal, own_process, set_fatal};
use super::events;
use super::printed;
use super::streams;
use crate::protocol::{Message, Operation};
use crate::status::Status;

/// What can be submitted.
#[derive(Clone)]
pub enum Work {
    /// A kernel: the request, ready to be sent.
    Launch(Message),
    /// Rows of bytes.
    Copy(Rows),
    /// Elements that get a value: address, value, bytes of an element, elements.
    Fill(u64, u32, u64, u64),
    /// A function of the program.
    Call(extern "C" fn(*mut c_void), usize),
    /// An event gets its time.
    Record(usize),
}

/// Rows of bytes that are copied. A plain copy is one row.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub to: u64,
    pub from: u64,
    /// From the beginning of a row to that of the next.
    pub to_pitch: u64,
    pub from_pitch: u64,
    /// Bytes of a row.
    pub width: u64,
    pub rows: u64,
}

impl Rows {
    /// One row.
    pub fn plain(to: u64, from: u64, bytes: u64) -> Rows {
        Rows {
            to,
            from,
            to_pitch: bytes,
            from_pitch: bytes,
            width: bytes,
            rows: 1,
        }
    }
}

/// Submits work to a stream.
pub fn submit(stream: usize, work: Work) -> Result<(), Status> {
    fatal()?;
    streams::exists(stream)?;
    match captures::keep(stream, &work) {
        true => Ok(()),
        false => perform(&work),
    }
}

/// That all work is done, as it always is. What kernels have printed comes out.
pub fn wait() -> Result<(), Status> {
    own_process()?;
    printed::flush();
    fatal()
}

/// Does work.
pub fn perform(work: &Work) -> Result<(), Status> {
    match work {
        Work::Launch(request) => launch(request),
        Work::Copy(rows) => copy(rows),
        Work::Fill(address, value, width, count) => fill(*address, *value, *width, *count),
        Work::Call(function, argument) => {
            function(*argument as *mut c_void);
            Ok(())
        }
        Work::Record(event) => events::set(*event),
    }
}

/// Runs a kernel. What it does wrong ends all work, and shows with the next call; a launch that
/// does not fit is an error of this one.
fn launch(request: &Message) -> Result<(), Status> {
    match blocks::with_kernel(|| ask_launch(request)) {
        Err(status) if status.is_fatal() => {
            set_fatal(status);
            Ok(())
        }
        result => result,
    }
}

fn copy(rows: &Rows) -> Result<(), Status> {
    let sides = (place(rows.to)?, place(rows.from)?);
    for row in 0..rows.rows {
        let to = rows.to.wrapping_add(row.wrapping_mul(rows.to_pitch));
        let from = rows.from.wrapping_add(row.wrapping_mul(rows.from_pitch));
        let bytes = rows.width as usize;
        match sides {
            (Place::Device, Place::Device) => {
                ask(&Message::new(Operation::Copy, &[to, from, rows.width]))?;
            }
            (Place::Device, Place::Host(_)) => blocks::write(to, from as *const u8, bytes)?,
            (Place::Host(_), Place::Device) => blocks::read(to as *mut u8, from, bytes)?,
            (Place::Host(_), Place::Host(_)) => {
                // SAFETY: the program says that it may read and write there.
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
            }
        }
    }
    Ok(())
}

fn fill(address: u64, value: u32, width: u64, count: u64) -> Result<(), Status> {
    if let Place::Host(mirrored) = place(address)? {
        if mirrored.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        let value = value.to_le_bytes();
        for element in 0..count * width {
            let byte = value[(element % width) as usize];
            // SAFETY: the program says that it may write there.
            unsafe { (address as *mut u8).add(element as usize).write(byte) };
        }
        return Ok(());
    }
    let fields = [address, u64::from(value), width, count];
    ask(&Message::new(Operation::Fill, &fields)).map(drop)
}
