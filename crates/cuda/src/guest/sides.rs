//! What the analysing process hears of copies and fills: whose memory was read and written.

use super::blocks::{self, Place, place};
use super::call_paths;
use super::connection::report;
use super::heap;
use crate::protocol::{Message, Operation, Side};
use crate::status::Status;

/// A side of a copy, as the fields of a message.
type SideFields = [u64; 4];

fn fields(side: Side, numbers: [u64; 3]) -> SideFields {
    let [a, b, c] = numbers;
    [side as u64, a, b, c]
}

/// Whose memory is at an address.
fn side(address: u64) -> Result<SideFields, Status> {
    Ok(match place(address)? {
        Place::Device => fields(Side::Device, [address, 0, 0]),
        Place::Host(Some(_)) => {
            let device = blocks::on_device(address as usize)? as u64;
            fields(Side::Device, [device, 1, 0])
        }
        Place::Host(None) => host_side(address),
    })
}

fn host_side(address: u64) -> SideFields {
    if let Some((block, is_first)) = heap::block_around(address as usize) {
        let (path, bytes) = (u64::from(block.call_path), block.bytes as u64);
        return fields(Side::Heap, [path, bytes, is_first.into()]);
    }
    if let Some(frame) = call_paths::frame_around(address) {
        let numbers = [frame.module.into(), frame.function, frame.below];
        return fields(Side::Local, numbers);
    }
    match call_paths::module_around(address) {
        Some((module, address)) => fields(Side::Static, [module.into(), address, 0]),
        None => fields(Side::Unknown, [0; 3]),
    }
}

/// Reports that `bytes` bytes were copied in the name of a call path.
pub fn report_copy(
    call_path: u32,
    to: u64,
    from: u64,
    bytes: u64,
    is_redundant: bool,
) -> Result<(), Status> {
    let mut numbers = vec![bytes, is_redundant.into()];
    numbers.extend(side(to)?);
    numbers.extend(side(from)?);
    let mut message = Message::new(Operation::Copied, &numbers);
    message.call_path = call_path;
    report(&message)
}

/// Reports that memory of the device, or of both, was filled in the name of a call path.
pub fn report_fill(call_path: u32, address: u64, bytes: u64) -> Result<(), Status> {
    let [_, device, ..] = side(address)?;
    let mut message = Message::new(Operation::Filled, &[device, bytes]);
    message.call_path = call_path;
    report(&message)
}
