//! Work: what is submitted to a stream. It is done at once, or, while the stream is captured,
//! becomes a part of a graph and is done each time the graph is launched.
//!
//! Doing it at once is one of the orders that CUDA allows: work of a stream stays in its order, and
//! whatever an event waits for was submitted before. Functions of the program run in the thread
//! that submits them, so one that waits for that thread waits for ever.

use std::ffi::c_void;

use super::blocks::{self, Place, place};
use super::call_paths;
use super::captures;
use super::connection::{ask, ask_launch, fatal, own_process, set_fatal};
use super::events;
use super::printed;
use super::sides;
use super::streams;
use crate::protocol::{Comparison, Message, Operation};
use crate::status::Status;

/// What can be submitted.
#[derive(Clone)]
pub enum Work {
    /// A kernel: the request, ready to be sent.
    Launch(Message),
    /// Rows of bytes.
    Copy(Rows),
    /// Rows of elements that get a value.
    Fill(Filling),
    /// A function of the program.
    Call(extern "C" fn(*mut c_void), usize),
    /// An event gets its time.
    Record(usize),
}

/// Rows of bytes that are copied. A plain copy is one row.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Who copies.
    pub call_path: u32,
    pub to: u64,
    pub from: u64,
    /// From the beginning of a row to that of the next.
    pub to_pitch: u64,
    pub from_pitch: u64,
    /// Bytes of a row.
    pub width: u64,
    pub rows: u64,
    /// Layers of rows, and from the beginning of a layer to that of the next.
    pub layers: u64,
    pub to_layer: u64,
    pub from_layer: u64,
}

/// Rows of bytes that are filled.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    /// Who fills.
    pub call_path: u32,
    pub address: u64,
    /// The value of each element, and the bytes of an element: 1, 2 or 4.
    pub value: u32,
    pub element: u64,
    /// Bytes of a row: a multiple of those of an element.
    pub width: u64,
    pub rows: u64,
    /// From the beginning of a row to that of the next.
    pub pitch: u64,
    /// Layers of rows, and from the beginning of a layer to that of the next.
    pub layers: u64,
    pub layer: u64,
}

/// Bytes of all rows, if their number fits.
fn all_bytes(width: u64, rows: u64, layers: u64) -> Option<u64> {
    width.checked_mul(rows)?.checked_mul(layers)
}

/// Whether the last of the rows ends inside the addresses that there are.
fn has_end(first: u64, width: u64, steps: [(u64, u64); 2]) -> bool {
    let end = steps.iter().try_fold(first, |at, &(count, step)| {
        at.checked_add(count.saturating_sub(1).checked_mul(step)?)
    });
    end.and_then(|last| last.checked_add(width)).is_some()
}

impl Rows {
    /// Bytes of all rows.
    ///
    /// # Errors
    /// If their number, or an address of either side, is more than 64 bits hold.
    pub fn bytes(&self) -> Result<u64, Status> {
        let to = [(self.rows, self.to_pitch), (self.layers, self.to_layer)];
        let from = [(self.rows, self.from_pitch), (self.layers, self.from_layer)];
        let has_ends = has_end(self.to, self.width, to) && has_end(self.from, self.width, from);
        all_bytes(self.width, self.rows, self.layers)
            .filter(|_| has_ends)
            .ok_or(Status::INVALID_VALUE)
    }

    /// One row.
    pub fn plain(to: u64, from: u64, bytes: u64) -> Rows {
        Rows {
            call_path: call_paths::here(),
            to,
            from,
            to_pitch: bytes,
            from_pitch: bytes,
            width: bytes,
            rows: 1,
            layers: 1,
            to_layer: bytes,
            from_layer: bytes,
        }
    }
}

impl Filling {
    /// Bytes of all rows.
    ///
    /// # Errors
    /// If their number, or an address, is more than 64 bits hold.
    pub fn bytes(&self) -> Result<u64, Status> {
        let steps = [(self.rows, self.pitch), (self.layers, self.layer)];
        all_bytes(self.width, self.rows, self.layers)
            .filter(|_| has_end(self.address, self.width, steps))
            .ok_or(Status::INVALID_VALUE)
    }
}

/// Submits work to a stream.
pub fn submit(stream: usize, work: Work) -> Result<(), Status> {
    fatal()?;
    streams::exists(stream)?;
    if captures::keep(stream, &work) {
        Ok(())
    } else {
        perform(&work)
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
        Work::Fill(filling) => fill(filling),
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

/// Where each row begins, from the first address on.
fn rows_from(
    first: u64,
    rows: u64,
    pitch: u64,
    layers: u64,
    layer: u64,
) -> impl Iterator<Item = u64> {
    (0..layers).flat_map(move |z| {
        let first = first.wrapping_add(z.wrapping_mul(layer));
        (0..rows).map(move |row| first.wrapping_add(row.wrapping_mul(pitch)))
    })
}

fn copy(rows: &Rows) -> Result<(), Status> {
    let all_bytes = rows.bytes()?;
    let sides = (place(rows.to)?, place(rows.from)?);
    let begins = |first, pitch, layer| rows_from(first, rows.rows, pitch, rows.layers, layer);
    let to = begins(rows.to, rows.to_pitch, rows.to_layer);
    let from = begins(rows.from, rows.from_pitch, rows.from_layer);
    let bytes = rows.width as usize;
    let mut comparison = Comparison::NOTHING;
    for (to, from) in to.zip(from) {
        comparison.add(match sides {
            (Place::Device, Place::Device) => {
                let request = Message::new(Operation::Copy, &[to, from, rows.width]);
                Comparison::from_answer(&ask(&request)?)
            }
            (Place::Device, Place::Host(_)) => blocks::write(to, from as *const u8, bytes)?,
            (Place::Host(_), Place::Device) => blocks::read(to as *mut u8, from, bytes)?,
            // SAFETY: the program says that it may read and write there.
            (Place::Host(_), Place::Host(_)) => unsafe {
                blocks::replace(to as *mut u8, from as *const u8, bytes)
            },
        });
    }
    let is_redundant = comparison.is_redundant();
    sides::report_copy(rows.call_path, rows.to, rows.from, all_bytes, is_redundant)
}

fn fill(filling: &Filling) -> Result<(), Status> {
    let all_bytes = filling.bytes()?;
    let place = place(filling.address)?;
    if place == Place::Host(None) {
        return Err(Status::INVALID_VALUE);
    }
    let Filling {
        rows,
        pitch,
        layers,
        layer,
        ..
    } = *filling;
    for row in rows_from(filling.address, rows, pitch, layers, layer) {
        if place == Place::Device {
            let count = filling.width / filling.element;
            let fields = [row, u64::from(filling.value), filling.element, count];
            ask(&Message::new(Operation::Fill, &fields))?;
            continue;
        }
        let value = filling.value.to_le_bytes();
        for at in 0..filling.width {
            let byte = value[(at % filling.element) as usize];
            // SAFETY: the program says that it may write there.
            unsafe { (row as *mut u8).add(at as usize).write(byte) };
        }
    }
    sides::report_fill(filling.call_path, filling.address, all_bytes)
}
