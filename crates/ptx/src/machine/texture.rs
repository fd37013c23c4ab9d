//! Reads of textures, and accesses of surfaces.
//!
//! Source of how coordinates become texels, and of the weights with 8 bits after the point: NVIDIA,
//! *CUDA C++ Programming Guide*, "Texture Fetching". How a weight is rounded is not documented;
//! here it is to the nearest.
//!
//! For sinks, a read of a texture is a load of a texel by each lane; one that mixes several texels
//! is as many loads.

use half::f16;
use reuselens_wire::{AddressMode, ChannelKind, TextureDescriptor};

use crate::decode::kernel::{
    NamedSpace, SurfaceOp, SurfaceOutside, TextureFetch, TextureOp, TexturePlace,
};
use crate::lanes::WARP;
use crate::sink::{BlockSink, WarpKind};

use super::access::{put, value};
use super::cube::{self, CubeTexel};
use super::delivery::{AccessRecord, deliver};
use super::fault::{Fault, FaultKind};
use super::memory::BlockMemory;
use super::warp::Warp;

/// Texels that are mixed, at most: two in each of three directions.
const MOST_TAPS: usize = 8;
/// Steps of a weight between 0 and 1.
const WEIGHT_STEPS: f64 = 256.0;
/// Indices are kept in these bounds, where they can be added to.
const FAR: f64 = (1u64 << 40) as f64;

/// Does an instruction for the lanes of the mask.
#[inline(never)]
pub fn run<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &TextureOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let (place, is_surface) = match op {
        TextureOp::Fetch(op) => (&op.place, false),
        TextureOp::Surface(op) => (&op.place, true),
    };
    // Lanes with the same handle go together: nearly always all of them.
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let handles = &warp.registers.wide[place.handle as usize].0;
        let handle = handles[first];
        let lanes = (0..WARP).filter(|&lane| handles[lane] == handle);
        let lanes = lanes.fold(0, |lanes, lane| lanes | 1 << lane) & rest;
        rest &= !lanes;
        let texture = descriptor(memory, warp, handle, first)?;
        if let Some(what) = misread(&texture, place, is_surface) {
            return Err(Fault::new(FaultKind::Operand, Some(first as u32), what));
        }
        match op {
            TextureOp::Fetch(op) => fetch(memory, warp, sink, op, &texture, lanes)?,
            TextureOp::Surface(op) => surface(memory, warp, sink, op, &texture, lanes)?,
        }
    }
    Ok(())
}

/// What a handle is of.
fn descriptor(
    memory: &BlockMemory<'_>,
    warp: &Warp,
    handle: u64,
    lane: usize,
) -> Result<TextureDescriptor, Box<Fault>> {
    const BYTES: usize = TextureDescriptor::BYTES;
    let space = NamedSpace::Global;
    let wrong = |what| Fault::new(FaultKind::Operand, Some(lane as u32), what);
    let last = handle.wrapping_add(BYTES as u64 - 8);
    let is_there = handle.is_multiple_of(8)
        && [handle, last]
            .into_iter()
            .all(|at| memory.has(space, warp, at, 8));
    let mut bytes = [0; BYTES];
    for (index, byte) in bytes.iter_mut().enumerate().filter(|_| is_there) {
        *byte = memory.read(space, warp, handle + index as u64, 1, lane) as u8;
    }
    TextureDescriptor::from_bytes(&bytes).ok_or_else(|| {
        wrong(format!(
            "{handle:#x} is no texture or surface, or not any more"
        ))
    })
}

/// What is wrong with a way to access a texture or surface. Surfaces of cube maps have their faces
/// as layers.
fn misread(
    texture: &TextureDescriptor,
    place: &TexturePlace,
    is_surface: bool,
) -> Option<&'static str> {
    let has_layers = texture.layers > 0 || texture.is_cube && is_surface;
    if place.is_cube != (texture.is_cube && !is_surface) {
        Some("a cube map is accessed as what is none, or the reverse")
    } else if place.layer.is_some() != has_layers {
        Some("a texture or surface with layers is accessed without a layer, or the reverse")
    } else {
        None
    }
}

/// Texels that a lane mixes: where, if not outside, and how much of each.
#[derive(Clone, Copy, Default)]
struct Tap {
    texel: Option<[i64; 3]>,
    weight: f64,
}

fn fetch<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &TextureFetch,
    texture: &TextureDescriptor,
    lanes: u32,
) -> Result<(), Box<Fault>> {
    // By number, then by lane.
    let mut taps = [[Tap::default(); WARP]; MOST_TAPS];
    let mut count = 0;
    for lane in lanes_of(lanes) {
        let (of_lane, own) = taps_of(warp, op, texture, lane);
        count = own;
        (taps.iter_mut().zip(of_lane)).for_each(|(row, tap)| row[lane] = tap);
    }
    let mut sums = [[0.0; 4]; WARP];
    for (number, row) in taps[..count].iter().enumerate() {
        let mut inside = 0;
        for lane in lanes_of(lanes) {
            let mut bits = None;
            if let Some(texel) = row[lane].texel {
                let address = address(texture, texel);
                warp.addresses[lane] = address;
                bits = Some(read_texel(memory, warp, texture, address, lane)?);
                inside |= u32::from(bits != Some(None)) << lane;
            }
            let channels = match bits {
                None if op.takes_index || texture.is_cube => [0; 4],
                None => channels(texture, None),
                Some(None) => [0; 4],
                Some(texel) => channels(texture, texel),
            };
            match op.channel {
                Some(channel) => results(warp, op, lane, number, channels[usize::from(channel)]),
                None if count == 1 => {
                    (0..4).for_each(|at| results(warp, op, lane, at, channels[at]));
                }
                None => {
                    let mixed = |bits| row[lane].weight * f64::from(f32::from_bits(bits));
                    let sums = sums[lane].iter_mut().zip(channels);
                    sums.for_each(|(sum, bits)| *sum += mixed(bits));
                }
            }
        }
        let what = (op.site, WarpKind::Load);
        report(memory, warp, sink, what, texture.texel_bytes(), inside);
    }
    if count > 1 && op.channel.is_none() {
        for lane in lanes_of(lanes) {
            let sums = sums[lane];
            (0..4).for_each(|at| results(warp, op, lane, at, (sums[at] as f32).to_bits()));
        }
    }
    Ok(())
}

/// Writes one of the four results of a lane.
fn results(warp: &mut Warp, op: &TextureFetch, lane: usize, at: usize, bits: u32) {
    warp.registers.narrow[op.results[at] as usize].0[lane] = bits;
}

fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..WARP).filter(move |lane| mask >> lane & 1 != 0)
}

/// Says to the sink what lanes accessed, at the addresses that are in the warp.
fn report<B: BlockSink>(
    memory: &BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    (site, kind): (u32, WarpKind),
    bytes: u64,
    lanes: u32,
) {
    if lanes != 0 {
        let record = AccessRecord {
            site,
            block: memory.block,
            kind,
            bytes: bytes as u8,
        };
        deliver(warp, sink, record, NamedSpace::Global, lanes);
    }
}

/// The texels that a lane reads, and how many.
fn taps_of(
    warp: &Warp,
    op: &TextureFetch,
    texture: &TextureDescriptor,
    lane: usize,
) -> ([Tap; MOST_TAPS], usize) {
    let layer = layer_of(warp, &op.place, texture.layers, lane);
    if texture.is_cube {
        return cube_taps(warp, op, texture, layer, lane);
    }
    let mut taps = [Tap::default(); MOST_TAPS];
    let directions = op.place.coordinates.len();
    let mut first = [0; 3];
    let mut shares = [0.0; 3];
    let mixes = op.channel.is_some() || texture.is_filtered && !op.takes_index;
    for (direction, &slot) in op.place.coordinates.iter().enumerate() {
        let bits = warp.registers.narrow[slot as usize].0[lane];
        if op.takes_index {
            first[direction] = i64::from(bits as i32);
            continue;
        }
        let place = f64::from(f32::from_bits(bits));
        let place = if texture.takes_unit {
            place * f64::from(texture.size[direction])
        } else {
            place
        };
        let place = if mixes { place - 0.5 } else { place };
        (first[direction], shares[direction]) = split(place);
    }
    let count = if mixes { 1 << directions } else { 1 };
    for (tap, found) in taps[..count].iter_mut().enumerate() {
        let mut texel = [0, 0, layer];
        let mut weight = 1.0;
        let mut is_inside = true;
        for direction in 0..directions {
            let (step, share) = match (mixes, tap >> direction & 1) {
                (false, _) => (0, 1.0),
                (true, 0) => (0, 1.0 - shares[direction]),
                (true, _) => (1, shares[direction]),
            };
            weight *= share;
            let size = i64::from(texture.size[direction]);
            match inside(first[direction] + step, size, mode(op, texture, direction)) {
                Some(index) => texel[direction] = index,
                None => is_inside = false,
            }
        }
        *found = Tap {
            texel: is_inside.then_some(texel),
            weight,
        };
    }
    if op.channel.is_some() {
        gather(&mut taps);
    }
    (taps, count)
}

/// From the lower left on, against the clock; rows count downwards.
fn gather(taps: &mut [Tap; MOST_TAPS]) {
    let [a, b, c, d] = [taps[2], taps[3], taps[1], taps[0]];
    taps[..4].copy_from_slice(&[a, b, c, d]);
}

/// The texels of a cube map that a lane reads, and how many. Those that a lane needs only at a
/// corner have no weight elsewhere.
fn cube_taps(
    warp: &Warp,
    op: &TextureFetch,
    texture: &TextureDescriptor,
    layer: i64,
    lane: usize,
) -> ([Tap; MOST_TAPS], usize) {
    let mut taps = [Tap::default(); MOST_TAPS];
    let coordinates = op.place.coordinates.iter();
    let mut vector = [0.0; 3];
    for (part, &slot) in vector.iter_mut().zip(coordinates) {
        *part = f64::from(f32::from_bits(warp.registers.narrow[slot as usize].0[lane]));
    }
    let mixes = op.channel.is_some() || texture.is_filtered;
    let texels = if mixes {
        cube::around(vector, texture.size[0], texture.is_seamless)
    } else {
        cube::nearest(vector, texture.size[0])
    };
    for (tap, texel) in taps.iter_mut().zip(texels) {
        let Some(CubeTexel {
            face,
            index,
            weight,
        }) = texel
        else {
            continue;
        };
        let plane = layer * i64::from(cube::FACES) + face as i64;
        *tap = Tap {
            texel: Some([index[0], index[1], plane]),
            weight,
        };
    }
    if op.channel.is_some() {
        gather(&mut taps);
        return (taps, 4);
    }
    let count = match (mixes, texture.is_seamless) {
        (false, _) => 1,
        (true, false) => 4,
        (true, true) => cube::MOST_TEXELS,
    };
    (taps, count)
}

/// The whole part of a place between the middles of texels, and the weight of the next texel.
pub fn split(place: f64) -> (i64, f64) {
    let index = place.floor().clamp(-FAR, FAR) as i64;
    (
        index,
        ((place - place.floor()) * WEIGHT_STEPS).round() / WEIGHT_STEPS,
    )
}

/// What happens outside: only coordinates from 0 to 1 begin again or go back, and what is read by
/// its index has zeros around it.
fn mode(op: &TextureFetch, texture: &TextureDescriptor, direction: usize) -> AddressMode {
    match texture.modes[direction] {
        _ if op.takes_index => AddressMode::Border,
        AddressMode::Wrap | AddressMode::Mirror if !texture.takes_unit => AddressMode::Clamp,
        mode => mode,
    }
}

/// The index inside of a direction for one that may be outside; `None` for the border.
fn inside(index: i64, size: i64, mode: AddressMode) -> Option<i64> {
    match mode {
        _ if (0..size).contains(&index) => Some(index),
        AddressMode::Wrap => Some(index.rem_euclid(size)),
        AddressMode::Clamp => Some(index.clamp(0, size - 1)),
        AddressMode::Mirror => {
            let along = index.rem_euclid(2 * size);
            Some(along.min(2 * size - 1 - along))
        }
        AddressMode::Border => None,
    }
}

/// The layer of a lane: the nearest that there is.
fn layer_of(warp: &Warp, place: &TexturePlace, layers: u32, lane: usize) -> i64 {
    place.layer.map_or(0, |slot| {
        let layer = warp.registers.narrow[slot as usize].0[lane] as i32;
        i64::from(layer).clamp(0, i64::from(layers) - 1)
    })
}

fn address(texture: &TextureDescriptor, [x, y, z]: [i64; 3]) -> u64 {
    let part = |index: i64, bytes: u64| (index as u64).wrapping_mul(bytes);
    let row = part(y, texture.row_bytes).wrapping_add(part(z, texture.layer_bytes));
    let column = part(x, texture.texel_bytes());
    texture.address.wrapping_add(row).wrapping_add(column)
}

/// The bits of a texel's channels, widened by their kind; none if it was left out.
fn read_texel(
    memory: &mut BlockMemory<'_>,
    warp: &Warp,
    texture: &TextureDescriptor,
    address: u64,
    lane: usize,
) -> Result<Option<[u32; 4]>, Box<Fault>> {
    let space = NamedSpace::Global;
    let bytes = texture.texel_bytes();
    if !memory.allows(space, warp, address, bytes, lane as u32, "texture read")? {
        return Ok(None);
    }
    memory.note_bytes(space, warp, address, bytes, lane, false)?;
    let width = texture.channel_bytes;
    let mut channels = [0; 4];
    for (channel, at) in channels.iter_mut().zip(0..u64::from(texture.channels)) {
        let place = address + at * u64::from(width);
        let bits = memory.read(space, warp, place, width as u8, lane) as u32;
        let unused = 32 - 8 * width;
        *channel = match texture.kind {
            ChannelKind::Signed => ((bits << unused) as i32 >> unused) as u32,
            _ => bits,
        };
    }
    Ok(Some(channels))
}

/// What a program gets of a texel, or of the border: floats, or integers as they are.
fn channels(texture: &TextureDescriptor, texel: Option<[u32; 4]>) -> [u32; 4] {
    let is_float = texture.kind == ChannelKind::Float || texture.reads_unit;
    let Some(texel) = texel else {
        return texture.border.map(|color| match texture.kind {
            _ if is_float => color.to_bits(),
            ChannelKind::Signed => color as i32 as u32,
            _ => color as u32,
        });
    };
    let most = |bits: u32| ((1u64 << bits) - 1) as f32;
    let bits = 8 * texture.channel_bytes;
    texel.map(|channel| match (texture.kind, texture.reads_unit) {
        (ChannelKind::Float, _) if bits == 16 => f16::from_bits(channel as u16).to_f32().to_bits(),
        (ChannelKind::Unsigned, true) => (channel as f32 / most(bits)).to_bits(),
        (ChannelKind::Signed, true) => {
            let share = channel as i32 as f32 / most(bits - 1);
            share.max(-1.0).to_bits()
        }
        _ => channel,
    })
}

fn surface<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &SurfaceOp,
    texture: &TextureDescriptor,
    lanes: u32,
) -> Result<(), Box<Fault>> {
    let space = NamedSpace::Global;
    let bytes = u64::from(op.width) * op.registers.len() as u64;
    let (mut accessed, what) = (0, if op.is_store { "store" } else { "load" });
    for lane in lanes_of(lanes) {
        let mut address = surface_address(memory, warp, op, texture, bytes, lane)?;
        if let Some(place) = address
            && !memory.allows(space, warp, place, bytes, lane as u32, what)?
        {
            address = None;
        }
        if let Some(address) = address {
            memory.note_bytes(space, warp, address, bytes, lane, op.is_store)?;
            warp.addresses[lane] = address;
            accessed |= 1 << lane;
        }
        for (index, &register) in op.registers.iter().enumerate() {
            let place = address.map(|address| address + index as u64 * u64::from(op.width));
            match (place, op.is_store) {
                (Some(place), true) => {
                    let bits = value(&warp.registers, register, lane);
                    memory.write(space, warp, place, op.width, bits, lane);
                }
                (None, true) => {}
                (place, false) => {
                    let read = |place| memory.read(space, warp, place, op.width, lane);
                    let bits = place.map_or(0, read);
                    put(&mut warp.registers, register, lane, bits);
                }
            }
        }
    }
    let kind = if op.is_store {
        WarpKind::Store
    } else {
        WarpKind::Load
    };
    report(memory, warp, sink, (op.site, kind), bytes, accessed);
    Ok(())
}

/// Where a lane accesses a surface; `None` if it is outside and does nothing then.
fn surface_address(
    memory: &BlockMemory<'_>,
    warp: &Warp,
    op: &SurfaceOp,
    texture: &TextureDescriptor,
    bytes: u64,
    lane: usize,
) -> Result<Option<u64>, Box<Fault>> {
    let layers = if texture.is_cube {
        texture.layers.max(1).saturating_mul(cube::FACES)
    } else {
        texture.layers
    };
    let layer = layer_of(warp, &op.place, layers, lane);
    let mut at = [0, 0, layer];
    for (direction, &slot) in op.place.coordinates.iter().enumerate() {
        let given = i64::from(warp.registers.narrow[slot as usize].0[lane] as i32);
        let last = match direction {
            0 => i64::from(texture.size[0]) * texture.texel_bytes() as i64 - bytes as i64,
            _ => i64::from(texture.size[direction]) - 1,
        };
        at[direction] = match op.outside {
            _ if (0..=last).contains(&given) => given,
            SurfaceOutside::Clamp => given.clamp(0, last.max(0)),
            SurfaceOutside::Zero => return Ok(None),
            SurfaceOutside::Trap => {
                memory.skips(warp, || {
                    let name = ["x", "y", "z"][direction];
                    let what = format!(
                        "an access of {bytes} bytes at {name} = {given} is outside the surface, \
                         whose last place there is {last}"
                    );
                    Fault::new(FaultKind::OutOfBounds, Some(lane as u32), what)
                })?;
                return Ok(None);
            }
        };
    }
    let row = address(texture, [0, at[1], at[2]]);
    Ok(Some(row.wrapping_add(at[0] as u64)))
}
