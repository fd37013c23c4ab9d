//! Arrays: what textures and surfaces are of. Their elements are in memory of the device, row after
//! row, which a GPU keeps in another order.

use super::blocks::allocate_on_device;
use super::connection::{ask_number, fatal};
use super::copies;
use super::errors::returned;
use super::handles::Handles;
use super::memory::{CudaExtent, store, store_if_wanted};
use super::modules::report_missing;
use super::work::{Rows, wait};
use crate::protocol::{AllocationKind, Operation};
use crate::status::Status;

/// Bits of each channel of an element, and what they are (`cudaChannelFormatDesc`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelFormat {
    pub bits: [i32; 4],
    pub kind: u32,
}

impl ChannelFormat {
    /// Channels of an element, and bytes of each.
    pub fn channels(self) -> Result<(u32, u32), Status> {
        const FLOAT: u32 = 2;
        if self.kind > FLOAT {
            report_missing(&format!("channel format {}", self.kind));
            return Err(Status::NOT_SUPPORTED);
        }
        let count = self.bits.iter().take_while(|&&bits| bits != 0).count();
        let first = self.bits[0];
        let is_regular = self.bits[..count].iter().all(|&bits| bits == first)
            && self.bits[count..].iter().all(|&bits| bits == 0)
            && matches!(count, 1 | 2 | 4)
            && matches!((first, self.kind), (8, 0 | 1) | (16 | 32, _));
        if is_regular {
            Ok((count as u32, first as u32 / 8))
        } else {
            Err(Status::INVALID_CHANNELS)
        }
    }
}

/// An array.
#[derive(Clone, Copy)]
pub struct Array {
    pub format: ChannelFormat,
    /// As the program gave it: 0 in directions that there are not.
    pub extent: CudaExtent,
    pub flags: u32,
    pub address: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
}

/// Flags of arrays.
pub const LAYERED: u32 = 1;
const SURFACE: u32 = 2;
/// Six faces, or six in each layer.
pub const CUBE: u32 = 4;
const GATHER: u32 = 8;
/// Rows begin at multiples of it.
const ROW_ALIGNMENT: u64 = 32;

static ARRAYS: Handles<Array> = Handles::new();

impl Array {
    /// Rows of a layer.
    pub fn rows(&self) -> u64 {
        self.extent.height.max(1) as u64
    }

    /// Layers of rows: those of the third direction, or of a layered array.
    pub fn layers(&self) -> u64 {
        self.extent.depth.max(1) as u64
    }

    /// Bytes from a layer to the next.
    pub fn layer_bytes(&self) -> u64 {
        self.pitch * self.rows()
    }

    /// The address of a place, the first number in bytes, from which on a region of this size, its
    /// width in bytes, fits.
    pub fn at(&self, [x, y, z]: [u64; 3], [width, rows, layers]: [u64; 3]) -> Result<u64, Status> {
        let row = self.extent.width as u64 * self.element;
        let fits =
            |from: u64, count: u64, all: u64| from.checked_add(count).is_some_and(|end| end <= all);
        if fits(x, width, row) && fits(y, rows, self.rows()) && fits(z, layers, self.layers()) {
            Ok(self.address + z * self.layer_bytes() + y * self.pitch + x)
        } else {
            Err(Status::INVALID_VALUE)
        }
    }
}

/// The array of a handle.
pub fn array(handle: usize) -> Result<Array, Status> {
    ARRAYS.with(handle, |array| *array)
}

/// Makes an array; its handle.
pub fn make(format: ChannelFormat, extent: CudaExtent, flags: u32) -> Result<usize, Status> {
    fatal()?;
    let unknown = flags & !(LAYERED | SURFACE | CUBE | GATHER);
    if unknown != 0 {
        report_missing(&format!("array flags {unknown:#x}"));
        return Err(Status::NOT_SUPPORTED);
    }
    let (channels, channel_bytes) = format.channels()?;
    let element = u64::from(channels * channel_bytes);
    let is_layered = flags & LAYERED != 0;
    // Three directions need the second.
    let has_gap = extent.depth > 0 && extent.height == 0 && !is_layered;
    if extent.width == 0 || has_gap || is_layered && extent.depth == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if flags & CUBE != 0 && !is_of_cubes(extent, is_layered) {
        return Err(Status::INVALID_VALUE);
    }
    let pitch = (extent.width as u64).checked_mul(element);
    let pitch = pitch.and_then(|row| row.checked_next_multiple_of(ROW_ALIGNMENT));
    let rows = (extent.height.max(1) as u64).checked_mul(extent.depth.max(1) as u64);
    let bytes = pitch
        .zip(rows)
        .and_then(|(pitch, rows)| pitch.checked_mul(rows));
    let (pitch, bytes) = pitch.zip(bytes).ok_or(Status::MEMORY_ALLOCATION)?;
    let array = Array {
        format,
        extent,
        flags,
        address: allocate_on_device(bytes, 1, AllocationKind::Array)?,
        element,
        pitch,
    };
    Ok(ARRAYS.add(array))
}

/// Whether an array's faces are squares, and six, or a multiple of six if it has layers.
fn is_of_cubes(extent: CudaExtent, is_layered: bool) -> bool {
    let is_square = extent.width == extent.height;
    is_square && (extent.depth == 6 || is_layered && extent.depth.is_multiple_of(6))
}

/// Frees an array.
pub fn free(handle: usize) -> Result<(), Status> {
    fatal()?;
    let array = ARRAYS.remove(handle)?;
    ask_number(Operation::Free, &[array.address]).map(drop)
}

/// What the program passes by its address.
fn given<T: Copy>(at: *const T) -> Result<T, Status> {
    if at.is_null() {
        Err(Status::INVALID_VALUE)
    } else {
        // SAFETY: the program passes the address of a value.
        Ok(unsafe { at.read() })
    }
}

/// Says that the device was reset.
pub fn clear() {
    ARRAYS.clear();
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocArray(
    to: *mut usize,
    format: *const ChannelFormat,
    width: usize,
    height: usize,
    flags: u32,
) -> u32 {
    let extent = CudaExtent {
        width,
        height,
        depth: 0,
    };
    cudaMalloc3DArray(to, format, extent, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc3DArray(
    to: *mut usize,
    format: *const ChannelFormat,
    extent: CudaExtent,
    flags: u32,
) -> u32 {
    let handle = given(format).and_then(|format| make(format, extent, flags));
    returned(handle.and_then(|handle| store(to, handle)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeArray(handle: usize) -> u32 {
    returned(match handle {
        0 => Ok(()),
        _ => free(handle),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaArrayGetInfo(
    format: *mut ChannelFormat,
    extent: *mut CudaExtent,
    flags: *mut u32,
    handle: usize,
) -> u32 {
    returned(array(handle).and_then(|array| {
        store_if_wanted(format, array.format);
        store_if_wanted(extent, array.extent);
        store_if_wanted(flags, array.flags);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetChannelDesc(to: *mut ChannelFormat, handle: usize) -> u32 {
    returned(array(handle).and_then(|array| store(to, array.format)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: u32,
) -> ChannelFormat {
    ChannelFormat {
        bits: [x, y, z, w],
        kind,
    }
}

/// A part of a layer of an array: the array, bytes and rows before it.
type Corner = (usize, u64, u64);

/// Where a part of an array begins, and from a row to the next.
fn corner((handle, x, y): Corner, width: u64, rows: u64) -> Result<(u64, u64), Status> {
    let array = array(handle)?;
    Ok((array.at([x, y, 0], [width, rows, 1])?, array.pitch))
}

/// Between memory and an array. What is memory has its address and the bytes from row to row.
fn copy_with_array(
    array: Corner,
    (address, pitch): (u64, u64),
    (width, rows): (u64, u64),
    is_to_array: bool,
    (direction, stream): (u32, usize),
) -> Result<(), Status> {
    let (in_array, array_pitch) = corner(array, width, rows)?;
    let (to, from) = if is_to_array {
        ((in_array, array_pitch), (address, pitch))
    } else {
        ((address, pitch), (in_array, array_pitch))
    };
    let rows = Rows {
        to_pitch: to.1,
        from_pitch: from.1,
        rows,
        ..Rows::plain(to.0, from.0, width)
    };
    copies::copy(rows, direction, stream)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cudaMemcpy2DToArray(
    to: usize,
    x: u64,
    y: u64,
    from: u64,
    pitch: u64,
    width: u64,
    rows: u64,
    direction: u32,
) -> u32 {
    cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, rows, direction, 0)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cudaMemcpy2DToArrayAsync(
    to: usize,
    x: u64,
    y: u64,
    from: u64,
    pitch: u64,
    width: u64,
    rows: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    let how = (direction, stream);
    let memory = (from, pitch);
    returned(copy_with_array(
        (to, x, y),
        memory,
        (width, rows),
        true,
        how,
    ))
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cudaMemcpy2DFromArray(
    to: u64,
    pitch: u64,
    from: usize,
    x: u64,
    y: u64,
    width: u64,
    rows: u64,
    direction: u32,
) -> u32 {
    cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, rows, direction, 0)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cudaMemcpy2DFromArrayAsync(
    to: u64,
    pitch: u64,
    from: usize,
    x: u64,
    y: u64,
    width: u64,
    rows: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    let how = (direction, stream);
    let memory = (to, pitch);
    returned(copy_with_array(
        (from, x, y),
        memory,
        (width, rows),
        false,
        how,
    ))
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cudaMemcpy2DArrayToArray(
    to: usize,
    to_x: u64,
    to_y: u64,
    from: usize,
    x: u64,
    y: u64,
    width: u64,
    rows: u64,
    direction: u32,
) -> u32 {
    let source = corner((from, x, y), width, rows);
    let how = (direction, 0);
    returned(
        source
            .and_then(|source| copy_with_array((to, to_x, to_y), source, (width, rows), true, how)),
    )
}

/// Copies bytes that follow one another in memory, and in an array go on in the next row.
fn copy_on(
    (handle, x, y): Corner,
    memory: u64,
    bytes: u64,
    is_to_array: bool,
    how: (u32, usize),
) -> Result<(), Status> {
    let of_row = array(handle).map(|array| array.extent.width as u64 * array.element)?;
    let first = of_row.checked_sub(x).ok_or(Status::INVALID_VALUE)?;
    let first = if x == 0 { 0 } else { first.min(bytes) };
    let (whole, last) = ((bytes - first) / of_row, (bytes - first) % of_row);
    let begin = y + u64::from(first > 0);
    let pieces = [
        ((handle, x, y), first, 1),
        ((handle, 0, begin), of_row, whole),
        ((handle, 0, begin + whole), last, 1),
    ];
    let pieces = pieces.iter().filter(|piece| piece.1 > 0 && piece.2 > 0);
    let mut at = memory;
    for &(corner, width, rows) in pieces {
        copy_with_array(corner, (at, width), (width, rows), is_to_array, how)?;
        at = at.wrapping_add(width * rows);
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToArray(
    to: usize,
    x: u64,
    y: u64,
    from: u64,
    bytes: u64,
    direction: u32,
) -> u32 {
    cudaMemcpyToArrayAsync(to, x, y, from, bytes, direction, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToArrayAsync(
    to: usize,
    x: u64,
    y: u64,
    from: u64,
    bytes: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    returned(copy_on((to, x, y), from, bytes, true, (direction, stream)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromArray(
    to: u64,
    from: usize,
    x: u64,
    y: u64,
    bytes: u64,
    direction: u32,
) -> u32 {
    returned(wait().and_then(|()| copy_on((from, x, y), to, bytes, false, (direction, 0))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromArrayAsync(
    to: u64,
    from: usize,
    x: u64,
    y: u64,
    bytes: u64,
    direction: u32,
    stream: usize,
) -> u32 {
    returned(copy_on((from, x, y), to, bytes, false, (direction, stream)))
}
