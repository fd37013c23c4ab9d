//! Textures and surfaces. An object is a block of the device's memory that describes it, which the
//! kernels' instructions look at; its handle is its address.

use std::collections::BTreeMap;
use std::sync::Mutex;

use reuselens_wire::{AddressMode, ChannelKind, TextureDescriptor};

use super::arrays::{self, CUBE, ChannelFormat, LAYERED};
use super::blocks::{self, Place, allocate_on_device, place};
use super::connection::{ask_number, fatal};
use super::errors::returned;
use super::lock;
use super::memory::store;
use super::modules::report_missing;
use crate::protocol::{AllocationKind, Operation};
use crate::status::Status;

/// What an object is of (`cudaResourceDesc`), as far as it is used. CUDA 13 has more after it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Resource {
    kind: u32,
    _padding: u32,
    /// An array's handle, or the address of memory.
    handle: u64,
    /// The rest is of memory.
    format: ChannelFormat,
    _padding_too: u32,
    /// Bytes in one direction, or elements of a row.
    width: u64,
    height: u64,
    pitch: u64,
}

/// How a texture is read (`cudaTextureDesc`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sampling {
    modes: [u32; 3],
    filter: u32,
    reads_unit: u32,
    is_srgb: u32,
    border: [f32; 4],
    takes_unit: u32,
    /// For smaller copies of a texture, which there are not.
    _levels: [u32; 6],
    is_seamless: u32,
}

/// Objects by their handles: what the program made them of.
static MADE: Mutex<BTreeMap<usize, (Resource, Option<Sampling>)>> = Mutex::new(BTreeMap::new());

/// The kind of a resource that is an array.
const ARRAY: u32 = 0;

/// The most elements of a texture of memory in one direction.
const MOST_LINEAR: u64 = 1 << 28;

fn kind_of(number: u32) -> ChannelKind {
    match number {
        0 => ChannelKind::Signed,
        1 => ChannelKind::Unsigned,
        _ => ChannelKind::Float,
    }
}

fn mode_of(number: u32) -> Result<AddressMode, Status> {
    Ok(match number {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// The address on the device of memory of the program's.
fn on_device(address: u64) -> Result<u64, Status> {
    match place(address)? {
        Place::Device => Ok(address),
        Place::Host(Some(_)) => Ok(blocks::on_device(address as usize)? as u64),
        Place::Host(None) => Err(Status::INVALID_VALUE),
    }
}

/// What describes texels that are read as they are, and taken by number.
fn plain(format: ChannelFormat, address: u64, size: [u32; 3]) -> Result<TextureDescriptor, Status> {
    let (channels, channel_bytes) = format.channels()?;
    Ok(TextureDescriptor {
        address,
        size,
        layers: 0,
        is_cube: false,
        is_seamless: false,
        row_bytes: 0,
        layer_bytes: 0,
        channels,
        channel_bytes,
        kind: kind_of(format.kind),
        modes: [AddressMode::Clamp; 3],
        is_filtered: false,
        reads_unit: false,
        takes_unit: false,
        border: [0.0; 4],
    })
}

/// The same of an array.
fn of_array(handle: usize) -> Result<TextureDescriptor, Status> {
    let array = arrays::array(handle)?;
    let narrow = |size| u32::try_from(size).map_err(|_| Status::INVALID_VALUE);
    let (width, rows) = (narrow(array.extent.width as u64)?, narrow(array.rows())?);
    let deep = narrow(array.layers())?;
    let (depth, layers) = match array.flags & (LAYERED | CUBE) {
        0 => (deep, 0),
        CUBE => (1, 0),
        LAYERED => (1, deep),
        _ => (1, deep / 6),
    };
    Ok(TextureDescriptor {
        layers,
        is_cube: array.flags & CUBE != 0,
        row_bytes: array.pitch,
        layer_bytes: array.layer_bytes(),
        ..plain(array.format, array.address, [width, rows, depth])?
    })
}

/// The same of rows of memory.
fn of_rows(resource: &Resource) -> Result<TextureDescriptor, Status> {
    const MOST: u64 = 0xffff;
    let (channels, bytes) = resource.format.channels()?;
    let row = resource.width.saturating_mul(u64::from(channels * bytes));
    let fits = (1..=MOST).contains(&resource.width)
        && (1..=MOST).contains(&resource.height)
        && resource.pitch >= row
        && resource.pitch.is_multiple_of(32);
    if !fits {
        return Err(Status::INVALID_VALUE);
    }
    let size = [resource.width as u32, resource.height as u32, 1];
    Ok(TextureDescriptor {
        row_bytes: resource.pitch,
        ..plain(resource.format, on_device(resource.handle)?, size)?
    })
}

/// The same of any resource.
fn describe(resource: &Resource) -> Result<TextureDescriptor, Status> {
    const LINEAR: u32 = 2;
    const ROWS: u32 = 3;
    match resource.kind {
        ARRAY => of_array(resource.handle as usize),
        LINEAR => {
            let (channels, bytes) = resource.format.channels()?;
            let count = resource.width / u64::from(channels * bytes);
            if (1..=MOST_LINEAR).contains(&count) {
                plain(
                    resource.format,
                    on_device(resource.handle)?,
                    [count as u32, 1, 1],
                )
            } else {
                Err(Status::INVALID_VALUE)
            }
        }
        ROWS => of_rows(resource),
        kind => {
            report_missing(&format!("resource type {kind} of a texture"));
            Err(Status::NOT_SUPPORTED)
        }
    }
}

/// The same with how it is read.
fn sampled(resource: &Resource, sampling: &Sampling) -> Result<TextureDescriptor, Status> {
    if sampling.is_srgb != 0 {
        report_missing("sRGB of a texture");
        return Err(Status::NOT_SUPPORTED);
    }
    let plain = describe(resource)?;
    let is_float = plain.kind == ChannelKind::Float;
    let reads_unit = sampling.reads_unit != 0 && !is_float;
    if reads_unit && plain.channel_bytes > 2 {
        return Err(Status::INVALID_NORMALIZED);
    }
    let is_filtered = sampling.filter != 0;
    if is_filtered && !is_float && !reads_unit {
        return Err(Status::INVALID_FILTER);
    }
    let [x, y, z] = sampling.modes;
    Ok(TextureDescriptor {
        modes: [mode_of(x)?, mode_of(y)?, mode_of(z)?],
        is_filtered,
        reads_unit,
        is_seamless: sampling.is_seamless != 0 && plain.is_cube,
        takes_unit: sampling.takes_unit != 0,
        border: sampling.border,
        ..plain
    })
}

/// Puts an object into the device's memory; its handle.
fn make(
    descriptor: TextureDescriptor,
    resource: Resource,
    sampling: Option<Sampling>,
) -> Result<usize, Status> {
    let bytes = descriptor.to_bytes();
    let address = allocate_on_device(bytes.len() as u64, 1, AllocationKind::Descriptor)?;
    blocks::write(address, bytes.as_ptr(), bytes.len())?;
    lock(&MADE).insert(address as usize, (resource, sampling));
    Ok(address as usize)
}

/// Ends an object.
fn destroy(handle: usize) -> Result<(), Status> {
    fatal()?;
    let made = lock(&MADE).remove(&handle);
    made.ok_or(Status::INVALID_HANDLE)?;
    ask_number(Operation::Free, &[handle as u64]).map(drop)
}

fn known(handle: usize) -> Result<(Resource, Option<Sampling>), Status> {
    let known = lock(&MADE).get(&handle).copied();
    known.ok_or(Status::INVALID_HANDLE)
}

/// Says that the device was reset.
pub fn clear() {
    lock(&MADE).clear();
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateTextureObject(
    to: *mut usize,
    resource: *const Resource,
    sampling: *const Sampling,
    view: usize,
) -> u32 {
    if view != 0 {
        report_missing("resource view of a texture");
        return returned(Err(Status::NOT_SUPPORTED));
    }
    if resource.is_null() || sampling.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    // SAFETY: the program passes both.
    let (resource, sampling) = unsafe { (resource.read(), sampling.read()) };
    returned(fatal().and_then(|()| {
        let descriptor = sampled(&resource, &sampling)?;
        store(to, make(descriptor, resource, Some(sampling))?)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroyTextureObject(handle: usize) -> u32 {
    returned(destroy(handle))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateSurfaceObject(to: *mut usize, resource: *const Resource) -> u32 {
    if resource.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    // SAFETY: the program passes it.
    let resource = unsafe { resource.read() };
    returned(fatal().and_then(|()| match resource.kind {
        ARRAY => store(to, make(describe(&resource)?, resource, None)?),
        _ => Err(Status::INVALID_VALUE),
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroySurfaceObject(handle: usize) -> u32 {
    returned(destroy(handle))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetTextureObjectResourceDesc(to: *mut Resource, handle: usize) -> u32 {
    returned(known(handle).and_then(|(resource, _)| store(to, resource)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSurfaceObjectResourceDesc(to: *mut Resource, handle: usize) -> u32 {
    cudaGetTextureObjectResourceDesc(to, handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetTextureObjectTextureDesc(to: *mut Sampling, handle: usize) -> u32 {
    returned(
        known(handle).and_then(|(_, sampling)| store(to, sampling.ok_or(Status::INVALID_HANDLE)?)),
    )
}
