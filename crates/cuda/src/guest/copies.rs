//! Copies and fills.

use super::arrays::{self, Array};
use super::blocks::{Place, place};
use super::call_paths;
use super::errors::returned;
use super::memory::{CudaExtent, PitchedPointer};
use super::symbols;
use super::work::{Filling, Rows, Work, submit, wait};
use crate::status::Status;

/// Checks the direction that the program gives against where the addresses are, and submits.
pub fn copy(rows: Rows, direction: u32, stream: usize) -> Result<(), Status> {
    if rows.width == 0 || rows.rows == 0 || rows.layers == 0 {
        return Ok(());
    }
    let has_many = rows.rows > 1 || rows.layers > 1;
    if has_many && (rows.to_pitch < rows.width || rows.from_pitch < rows.width) {
        return Err(Status::INVALID_PITCH);
    }
    if rows.bytes()? > 0 && (rows.to == 0 || rows.from == 0) {
        return Err(Status::INVALID_VALUE);
    }
    let (to, from) = (place(rows.to)?, place(rows.from)?);
    let (ordinary, device) = (Place::Host(None), Place::Device);
    let fits = match direction {
        0 => to != device && from != device,
        1 => to != ordinary && from != device,
        2 => to != device && from != ordinary,
        3 => to != ordinary && from != ordinary,
        4 => true,
        _ => return Err(Status::INVALID_DIRECTION),
    };
    if fits {
        submit(stream, Work::Copy(rows))
    } else {
        Err(Status::INVALID_VALUE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy(to: u64, from: u64, bytes: u64, direction: u32) -> u32 {
    returned(wait().and_then(|()| copy(Rows::plain(to, from, bytes), direction, 0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyAsync(
    to: u64,
    from: u64,
    bytes: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    returned(copy(Rows::plain(to, from, bytes), direction, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyPeer(
    to: u64,
    _to_device: i32,
    from: u64,
    _device: i32,
    bytes: u64,
) -> u32 {
    returned(copy(Rows::plain(to, from, bytes), 3, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2D(
    to: u64,
    to_pitch: u64,
    from: u64,
    from_pitch: u64,
    width: u64,
    rows: u64,
    direction: u32,
) -> u32 {
    cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, direction, 0)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cudaMemcpy2DAsync(
    to: u64,
    to_pitch: u64,
    from: u64,
    from_pitch: u64,
    width: u64,
    rows: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    let rows = Rows {
        to_pitch,
        from_pitch,
        rows,
        ..Rows::plain(to, from, width)
    };
    returned(copy(rows, direction, stream))
}

/// A place in an array or block, the first in bytes (`cudaPos`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CudaPosition {
    x: usize,
    y: usize,
    z: usize,
}

/// What is copied in three directions (`cudaMemcpy3DParms`).
#[repr(C)]
pub struct Copy3D {
    from_array: usize,
    from_position: CudaPosition,
    from: PitchedPointer,
    to_array: usize,
    to_position: CudaPosition,
    to: PitchedPointer,
    extent: CudaExtent,
    direction: u32,
}

/// Bytes from a layer to the next. Those of layers that are too large saturate: a second layer then
/// has no address, and a single layer needs none.
fn layer_bytes(block: &PitchedPointer) -> u64 {
    (block.height as u64).saturating_mul(block.pitch as u64)
}

/// Where one side of a copy of this size begins, and the bytes from a row, and from a layer, to the
/// next.
fn side_3d(
    array: Option<Array>,
    block: &PitchedPointer,
    at: &CudaPosition,
    size: [u64; 3],
) -> Result<(u64, u64, u64), Status> {
    if let Some(array) = array {
        let x = (at.x as u64).checked_mul(array.element);
        let x = x.ok_or(Status::INVALID_VALUE)?;
        let begin = array.at([x, at.y as u64, at.z as u64], size)?;
        return Ok((begin, array.pitch, array.layer_bytes()));
    }
    let row = at.z.checked_mul(block.height);
    let row = row.and_then(|row| row.checked_add(at.y));
    let bytes = row.and_then(|row| row.checked_mul(block.pitch)?.checked_add(at.x));
    let begin = bytes.and_then(|bytes| block.address.checked_add(bytes));
    let begin = begin.ok_or(Status::INVALID_VALUE)? as u64;
    Ok((begin, block.pitch as u64, layer_bytes(block)))
}

/// Copies in three directions.
pub fn copy_3d(what: *const Copy3D, stream: usize) -> Result<(), Status> {
    if what.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program passes what is to be copied.
    let what = unsafe { &*what };
    let handles = [what.to_array, what.from_array].map(|handle| match handle {
        0 => Ok(None),
        handle => arrays::array(handle).map(Some),
    });
    let [to_array, from_array] = handles;
    let (to_array, from_array) = (to_array?, from_array?);
    // The width counts elements where there is an array.
    let element = to_array.or(from_array).map_or(1, |array| array.element);
    let width = (what.extent.width as u64).checked_mul(element);
    let width = width.ok_or(Status::INVALID_VALUE)?;
    let size = [width, what.extent.height as u64, what.extent.depth as u64];
    let to = side_3d(to_array, &what.to, &what.to_position, size)?;
    let from = side_3d(from_array, &what.from, &what.from_position, size)?;
    let rows = Rows {
        to_pitch: to.1,
        from_pitch: from.1,
        rows: size[1],
        layers: size[2],
        to_layer: to.2,
        from_layer: from.2,
        ..Rows::plain(to.0, from.0, width)
    };
    copy(rows, what.direction, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3D(what: *const Copy3D) -> u32 {
    returned(copy_3d(what, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3DAsync(what: *const Copy3D, stream: usize) -> u32 {
    returned(copy_3d(what, stream))
}

/// Where in a variable a copy goes, if it fits.
fn in_symbol(symbol: usize, offset: u64, bytes: u64) -> Result<u64, Status> {
    let (address, size) = symbols::place(symbol)?;
    let end = offset.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
    if end <= size {
        Ok(address + offset)
    } else {
        Err(Status::INVALID_VALUE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToSymbol(
    symbol: usize,
    from: u64,
    bytes: u64,
    offset: u64,
    direction: u32,
) -> u32 {
    cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, direction, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: usize,
    from: u64,
    bytes: u64,
    offset: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    let to = in_symbol(symbol, offset, bytes);
    returned(to.and_then(|to| copy(Rows::plain(to, from, bytes), direction, stream)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbol(
    to: u64,
    symbol: usize,
    bytes: u64,
    offset: u64,
    direction: u32,
) -> u32 {
    cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, direction, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbolAsync(
    to: u64,
    symbol: usize,
    bytes: u64,
    offset: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    let from = in_symbol(symbol, offset, bytes);
    returned(from.and_then(|from| copy(Rows::plain(to, from, bytes), direction, stream)))
}

/// Submits a filling, unless it has no bytes.
pub fn fill(filling: Filling, stream: usize) -> Result<(), Status> {
    if filling.width == 0 || filling.rows == 0 || filling.layers == 0 {
        return Ok(());
    }
    if (filling.rows > 1 || filling.layers > 1) && filling.pitch < filling.width {
        return Err(Status::INVALID_PITCH);
    }
    filling.bytes()?;
    submit(stream, Work::Fill(filling))
}

/// One row that gets the lowest byte of a value.
pub fn row(address: u64, value: i32, bytes: u64) -> Filling {
    Filling {
        call_path: call_paths::here(),
        address,
        value: u32::from(value as u8),
        element: 1,
        width: bytes,
        rows: 1,
        pitch: bytes,
        layers: 1,
        layer: bytes,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(address: u64, value: i32, bytes: u64) -> u32 {
    returned(fill(row(address, value, bytes), 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync(address: u64, value: i32, bytes: u64, stream: usize) -> u32 {
    returned(fill(row(address, value, bytes), stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2D(address: u64, pitch: u64, value: i32, width: u64, rows: u64) -> u32 {
    cudaMemset2DAsync(address, pitch, value, width, rows, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2DAsync(
    address: u64,
    pitch: u64,
    value: i32,
    width: u64,
    rows: u64,
    stream: usize,
) -> u32 {
    let filling = Filling {
        rows,
        pitch,
        ..row(address, value, width)
    };
    returned(fill(filling, stream))
}

fn fill_3d(
    block: PitchedPointer,
    value: i32,
    extent: CudaExtent,
    stream: usize,
) -> Result<(), Status> {
    let filling = Filling {
        rows: extent.height as u64,
        pitch: block.pitch as u64,
        layers: extent.depth as u64,
        layer: layer_bytes(&block),
        ..row(block.address as u64, value, extent.width as u64)
    };
    fill(filling, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset3D(block: PitchedPointer, value: i32, extent: CudaExtent) -> u32 {
    returned(fill_3d(block, value, extent, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset3DAsync(
    block: PitchedPointer,
    value: i32,
    extent: CudaExtent,
    stream: usize,
) -> u32 {
    returned(fill_3d(block, value, extent, stream))
}
