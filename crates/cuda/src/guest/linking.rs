//! What is linked while the program runs: several pieces of PTX become one image, which the
//! analysing process takes for one module.

use crate::fatbin_head::{
    HEAD_BYTES, IMAGE_HEAD_BYTES, LINKED_PART, PTX, container, container_bytes,
};
use crate::little_endian::{u16_at, u32_at, u64_at};

/// A piece of what is linked.
#[derive(Clone)]
pub enum LinkedPart {
    /// PTX, as text.
    Ptx(Vec<u8>),
    /// A container of images.
    FatBinary(Vec<u8>),
}

/// What CUDA's library for device code has, as far as it is provided.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");
/// A part of the name of that library, which is an archive.
const DEVICE_RUNTIME_NAME: &[u8] = b"cudadevrt";

/// Whether an input of a link is CUDA's library for device code, by what the program calls it.
pub fn is_device_runtime(name: &[u8]) -> bool {
    let mut places = name.windows(DEVICE_RUNTIME_NAME.len());
    places.any(|place| place == DEVICE_RUNTIME_NAME)
}

impl LinkedPart {
    /// What takes the place of CUDA's library for device code.
    pub fn device_runtime() -> LinkedPart {
        LinkedPart::Ptx(DEVICE_RUNTIME.as_bytes().to_vec())
    }

    /// The pieces that bytes are: one, or those of an earlier link; none of anything else than PTX
    /// and containers.
    pub fn all_of(bytes: &[u8]) -> Vec<LinkedPart> {
        let text = bytes.trim_ascii_start();
        if text.starts_with(b"//") || text.starts_with(b".version") {
            let end = bytes.iter().position(|&byte| byte == 0);
            return vec![LinkedPart::Ptx(
                bytes[..end.unwrap_or(bytes.len())].to_vec(),
            )];
        }
        let whole = bytes.first_chunk::<HEAD_BYTES>().and_then(container_bytes);
        match whole.and_then(|whole| bytes.get(..usize::try_from(whole).ok()?)) {
            Some(whole) => {
                parts_of(whole).unwrap_or_else(|| vec![LinkedPart::FatBinary(whole.to_vec())])
            }
            None => Vec::new(),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            LinkedPart::Ptx(bytes) | LinkedPart::FatBinary(bytes) => bytes,
        }
    }
}

/// The parts of an image that [`linked_image`] made of several; `None` for other containers.
fn parts_of(container: &[u8]) -> Option<Vec<LinkedPart>> {
    let mut rest = container.get(usize::from(u16_at(container, 6)?)..)?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        if u16_at(rest, 0)? != LINKED_PART {
            return None;
        }
        let begin = u32_at(rest, 4)? as usize;
        let end = begin.checked_add(usize::try_from(u64_at(rest, 8)?).ok()?)?;
        parts.extend(LinkedPart::all_of(
            rest.get(begin.max(IMAGE_HEAD_BYTES)..end)?,
        ));
        rest = rest.get(end..)?;
    }
    Some(parts)
}

/// The image of what is linked; no bytes where there is nothing. PTX alone is a container as CUDA
/// has it: an image that a program keeps in a file runs on a GPU too.
pub fn linked_image(parts: &[LinkedPart]) -> Vec<u8> {
    match parts {
        [] => Vec::new(),
        [LinkedPart::Ptx(text)] => container(&[(PTX, architecture(text), text)]),
        [LinkedPart::FatBinary(all)] => all.clone(),
        parts => {
            let parts: Vec<_> = parts
                .iter()
                .map(|part| (LINKED_PART, 0, part.bytes()))
                .collect();
            container(&parts)
        }
    }
}

/// What PTX is compiled for: 75 is compute capability 7.5; 0 if it does not say.
fn architecture(text: &[u8]) -> u32 {
    const TARGET: &[u8] = b".target sm_";
    let mut places = text.windows(TARGET.len());
    let begin = places.position(|place| place == TARGET);
    let digits = begin.map_or(&[][..], |begin| &text[begin + TARGET.len()..]);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_u32, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u32::from(digit - b'0'))
    })
}
