//! Memory, copies and fills.

use super::super::copies::{self, row};
use super::super::memory;
use super::super::work::{Filling, Rows};
use super::{as_runtime, in_context, runtime_in_context};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(to: *mut usize, bytes: usize) -> u32 {
    runtime_in_context(|| match bytes {
        0 => Status::INVALID_VALUE.0,
        _ => memory::cudaMalloc(to, bytes),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocPitch_v2(
    to: *mut usize,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: u32,
) -> u32 {
    runtime_in_context(|| match (width, height, element) {
        (0, ..) | (_, 0, _) => Status::INVALID_VALUE.0,
        (.., 4 | 8 | 16) => memory::cudaMallocPitch(to, pitch, width, height),
        _ => Status::INVALID_VALUE.0,
    })
}

as_runtime! {
    cuMemFree_v2(address: usize) = memory::cudaFree;
    cuMemFreeAsync(address: usize, stream: usize) = memory::cudaFreeAsync;
    cuMemAllocManaged(to: *mut usize, bytes: usize, flags: u32) = memory::cudaMallocManaged;
    cuMemAllocHost_v2(to: *mut usize, bytes: usize) = memory::cudaMallocHost;
    cuMemFreeHost(address: usize) = memory::cudaFreeHost;
    cuMemHostRegister_v2(host: usize, bytes: usize, flags: u32) = memory::cudaHostRegister;
    cuMemHostUnregister(host: usize) = memory::cudaHostUnregister;
    cuMemHostGetDevicePointer_v2(to: *mut usize, host: usize, flags: u32) =
        memory::cudaHostGetDevicePointer;
    cuMemHostGetFlags(to: *mut u32, host: usize) = memory::cudaHostGetFlags;
    cuMemGetInfo_v2(free: *mut usize, all: *mut usize) = memory::cudaMemGetInfo;
    cuMemcpy2D_v2(what: *const DriverCopy) = copy_2d_now;
    cuMemcpy2DUnaligned_v2(what: *const DriverCopy) = copy_2d_now;
}

/// Flags of pinned memory are advice.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(to: *mut usize, bytes: usize, _flags: u32) -> u32 {
    cuMemAllocHost_v2(to, bytes)
}

/// Functions that give advice, which changes no result: where managed memory should be, and whose
/// stream it is used by.
macro_rules! advice {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> u32 {
            in_context(|| Ok(()))
        }
    )* };
}

advice! {
    cuMemAdvise cuMemAdvise_v2 cuMemPrefetchAsync cuMemPrefetchAsync_v2 cuStreamAttachMemAsync
}

/// Contexts of one device share its memory, so a copy between two is one inside it.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeer(
    to: u64,
    _to_context: usize,
    from: u64,
    _from_context: usize,
    bytes: u64,
) -> u32 {
    cuMemcpyDtoD_v2(to, from, bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    _to_context: usize,
    from: u64,
    _from_context: usize,
    bytes: u64,
    stream: usize,
) -> u32 {
    cuMemcpyDtoDAsync_v2(to, from, bytes, stream)
}

/// Directions, as the runtime has them.
const TO_DEVICE: u32 = 1;
const TO_HOST: u32 = 2;
const ON_DEVICE: u32 = 3;
const ANY: u32 = 4;

/// Copies of one row: name, direction. Those of a stream have that as their last argument.
macro_rules! plain_copies {
    ($($name:ident $name_of_stream:ident $direction:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(to: u64, from: u64, bytes: u64) -> u32 {
            runtime_in_context(|| copies::cudaMemcpy(to, from, bytes, $direction))
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $name_of_stream(to: u64, from: u64, bytes: u64, stream: usize) -> u32 {
            runtime_in_context(|| copies::cudaMemcpyAsync(to, from, bytes, $direction, stream))
        }
    )* };
}

plain_copies! {
    cuMemcpy cuMemcpyAsync ANY;
    cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 TO_DEVICE;
    cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 TO_HOST;
    cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2 ON_DEVICE;
}

/// One side of a copy of rows.
#[repr(C)]
pub struct DriverSide {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: usize,
    pitch: usize,
}

/// What is copied in rows (`CUDA_MEMCPY2D`).
#[repr(C)]
pub struct DriverCopy {
    from: DriverSide,
    to: DriverSide,
    width: usize,
    height: usize,
}

impl DriverSide {
    /// Where the first row begins.
    fn address(&self) -> Result<u64, Status> {
        const HOST: u32 = 1;
        const DEVICE: u32 = 2;
        const UNIFIED: u32 = 4;
        let base = match self.kind {
            HOST => self.host,
            DEVICE | UNIFIED => self.device,
            _ => return Err(Status::NOT_SUPPORTED),
        };
        let offset = self.y.checked_mul(self.pitch);
        let offset = offset.and_then(|offset| offset.checked_add(self.x));
        offset
            .and_then(|offset| base.checked_add(offset as u64))
            .ok_or(Status::INVALID_VALUE)
    }
}

fn copy_2d(what: *const DriverCopy, stream: usize) -> Result<(), Status> {
    if what.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program passes what is to be copied.
    let what = unsafe { &*what };
    let or_width = |pitch: usize| if pitch == 0 { what.width } else { pitch } as u64;
    let rows = Rows {
        to_pitch: or_width(what.to.pitch),
        from_pitch: or_width(what.from.pitch),
        rows: what.height as u64,
        ..Rows::plain(what.to.address()?, what.from.address()?, what.width as u64)
    };
    copies::copy(rows, ANY, stream)
}

extern "C" fn copy_2d_now(what: *const DriverCopy) -> u32 {
    super::returned(copy_2d(what, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy2DAsync_v2(what: *const DriverCopy, stream: usize) -> u32 {
    in_context(|| copy_2d(what, stream))
}

/// One side of a copy of layers.
#[repr(C)]
pub struct DriverLayers {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: usize,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// What is copied in layers (`CUDA_MEMCPY3D`).
#[repr(C)]
pub struct DriverCopy3D {
    from: DriverLayers,
    to: DriverLayers,
    width: usize,
    height: usize,
    depth: usize,
}

impl DriverLayers {
    /// Where the first row begins, and the bytes from a row, and from a layer, to the next.
    fn place(&self, what: &DriverCopy3D) -> Result<(u64, u64, u64), Status> {
        let pitch = if self.pitch == 0 {
            what.width
        } else {
            self.pitch
        };
        let height = if self.height == 0 {
            what.height
        } else {
            self.height
        };
        let layer = pitch.checked_mul(height).ok_or(Status::INVALID_VALUE)?;
        let rows = DriverSide {
            x: self.x,
            y: self.y,
            kind: self.kind,
            host: self.host,
            device: self.device,
            array: self.array,
            pitch,
        };
        let layers = self.z.checked_mul(layer).map(|bytes| bytes as u64);
        let begin = layers.and_then(|bytes| rows.address().ok()?.checked_add(bytes));
        rows.address()?;
        Ok((
            begin.ok_or(Status::INVALID_VALUE)?,
            pitch as u64,
            layer as u64,
        ))
    }
}

/// Copies layers, in the order of a stream.
pub fn copy_3d(what: *const DriverCopy3D, stream: usize) -> Result<(), Status> {
    // SAFETY: the program passes what is to be copied, or null.
    let what = unsafe { what.as_ref() }.ok_or(Status::INVALID_VALUE)?;
    let (to, from) = (what.to.place(what)?, what.from.place(what)?);
    let rows = Rows {
        to_pitch: to.1,
        from_pitch: from.1,
        rows: what.height as u64,
        layers: what.depth as u64,
        to_layer: to.2,
        from_layer: from.2,
        ..Rows::plain(to.0, from.0, what.width as u64)
    };
    copies::copy(rows, ANY, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3D_v2(what: *const DriverCopy3D) -> u32 {
    in_context(|| copy_3d(what, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DAsync_v2(what: *const DriverCopy3D, stream: usize) -> u32 {
    in_context(|| copy_3d(what, stream))
}

/// Fills of rows of elements: names without and with a stream, of one row and of several, type of
/// the value.
macro_rules! fills {
    ($($name:ident $on_stream:ident $rows:ident $rows_on_stream:ident $type:ty;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(address: u64, value: $type, count: usize) -> u32 {
            $on_stream(address, value, count, 0)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $on_stream(
            address: u64,
            value: $type,
            count: usize,
            stream: usize,
        ) -> u32 {
            $rows_on_stream(address, 0, value, count, 1, stream)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $rows(
            address: u64,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
        ) -> u32 {
            $rows_on_stream(address, pitch, value, width, height, 0)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $rows_on_stream(
            address: u64,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
            stream: usize,
        ) -> u32 {
            const ELEMENT: usize = size_of::<$type>();
            in_context(|| {
                let bytes = width.checked_mul(ELEMENT).ok_or(Status::INVALID_VALUE)?;
                let filling = Filling {
                    value: u32::from(value),
                    element: ELEMENT as u64,
                    rows: height as u64,
                    pitch: pitch as u64,
                    ..row(address, 0, bytes as u64)
                };
                if address as usize % ELEMENT == 0 && pitch % ELEMENT == 0 {
                    copies::fill(filling, stream)
                } else {
                    Err(Status::INVALID_VALUE)
                }
            })
        }
    )* };
}

fills! {
    cuMemsetD8_v2 cuMemsetD8Async cuMemsetD2D8_v2 cuMemsetD2D8Async u8;
    cuMemsetD16_v2 cuMemsetD16Async cuMemsetD2D16_v2 cuMemsetD2D16Async u16;
    cuMemsetD32_v2 cuMemsetD32Async cuMemsetD2D32_v2 cuMemsetD2D32Async u32;
}
