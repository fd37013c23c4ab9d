//! [`Buffer`]: a buffer of a plan, and [`Content`]: what it holds before the first launch (zeros, a
//! ramp, random numbers, a file).

use std::fs::File;
use std::io::{Error, Read};
use std::path::{Path, PathBuf};

use reuselens_io::open_regular_file;

use super::PlanError;
use super::npy::{self, Array};
use crate::device::DeviceError;
use crate::machine::random::SplitMix64;
use crate::syntax::types::Type;

/// What a buffer is called, and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// What it holds at first.
    pub content: Content,
}

/// Type of the elements of a buffer: one of `u8 i8 u16 i16 u32 i32 u64 i64 f32 f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element(pub(super) Type);

impl Element {
    /// The type called so.
    pub fn named(name: &str) -> Option<Element> {
        let ty = match name.strip_prefix('i') {
            Some(bits) => Type::named(&format!("s{bits}"))?,
            None => Type::named(name)?,
        };
        use Type::{F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
        [U8, U16, U32, U64, S8, S16, S32, S64, F32, F64]
            .contains(&ty)
            .then_some(Element(ty))
    }

    /// Bytes.
    pub fn size(self) -> u64 {
        u64::from(self.0.size())
    }

    /// Adds random numbers.
    fn fill(
        self,
        bytes: &mut Vec<u8>,
        count: u64,
        random: &mut SplitMix64,
        range: std::ops::Range<f64>,
    ) {
        for _ in 0..count {
            let value = random.unit().mul_add(range.end - range.start, range.start);
            let value = if self.0.is_float() {
                value
            } else {
                value.floor()
            };
            bytes.extend_from_slice(&self.bytes(value)[..self.size() as usize]);
        }
    }

    /// The bytes of a number of this type.
    fn bytes(self, value: f64) -> [u8; 8] {
        match self.0 {
            Type::F32 => u64::from((value as f32).to_bits()).to_le_bytes(),
            Type::F64 => value.to_bits().to_le_bytes(),
            Type::U64 => (value as u64).to_le_bytes(),
            _ => (value as i64).to_le_bytes(),
        }
    }
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Zeros.
    Zeros {
        /// Of this type.
        element: Element,
        /// How many.
        count: u64,
    },
    /// `start`, `start + step`, …
    Ramp {
        /// Of this type.
        element: Element,
        /// How many.
        count: u64,
        /// The first one.
        start: f64,
        /// How far it is to the next one.
        step: f64,
    },
    /// Random numbers, the same for the same seed.
    Random {
        /// Of this type.
        element: Element,
        /// How many.
        count: u64,
        /// Where they begin.
        seed: u64,
        /// From here on.
        low: f64,
        /// Up to, but without, this.
        high: f64,
    },
    /// An array of NumPy.
    Npy(PathBuf),
    /// The bytes of a file.
    Raw(PathBuf),
}

impl Buffer {
    /// What it holds, `limit` bytes at most.
    pub(super) fn array(&self, limit: u64) -> Result<Array, PlanError> {
        let room = |element: &Element, count: u64| {
            let size = element
                .size()
                .checked_mul(count)
                .filter(|&size| size <= limit);
            size.map(|size| Vec::with_capacity(size as usize))
                .ok_or_else(|| {
                    let size = element.size().saturating_mul(count);
                    PlanError::Device(DeviceError::OutOfMemory {
                        name: self.name.clone(),
                        size,
                        left: limit,
                        limit,
                    })
                })
        };
        match &self.content {
            Content::Zeros { element, count } => {
                let mut bytes = room(element, *count)?;
                bytes.resize((element.size() * count) as usize, 0);
                Ok(Array::line(bytes, *element))
            }
            Content::Ramp {
                element,
                count,
                start,
                step,
            } => {
                let mut bytes = room(element, *count)?;
                for index in 0..*count {
                    let value = element.bytes((index as f64).mul_add(*step, *start));
                    bytes.extend_from_slice(&value[..element.size() as usize]);
                }
                Ok(Array::line(bytes, *element))
            }
            Content::Random {
                element,
                count,
                seed,
                low,
                high,
            } => {
                let mut bytes = room(element, *count)?;
                element.fill(&mut bytes, *count, &mut SplitMix64::new(*seed), *low..*high);
                Ok(Array::line(bytes, *element))
            }
            Content::Npy(path) => {
                let bytes = read(path, limit, &self.name)?;
                npy::read(&bytes).map_err(|error| PlanError::Npy {
                    path: path.clone(),
                    error,
                })
            }
            Content::Raw(path) => Ok(Array::line(
                read(path, limit, &self.name)?,
                Element(Type::U8),
            )),
        }
    }
}

/// A file that fits.
fn read(path: &Path, limit: u64, name: &str) -> Result<Vec<u8>, PlanError> {
    let too_large = |size| DeviceError::OutOfMemory {
        name: name.to_owned(),
        size,
        left: limit,
        limit,
    };
    let (file, size) = regular(path)?;
    if size > limit {
        return Err(too_large(size).into());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // The file may grow while it is read.
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    let read = read.map_err(|error| cannot_read(path, error))? as u64;
    if read > limit {
        Err(too_large(read).into())
    } else {
        Ok(bytes)
    }
}

/// Opens a file, and how many bytes it has. A description may come from anywhere, and name pipes
/// and devices, which have no end or never begin: they are refused.
pub(super) fn regular(path: &Path) -> Result<(File, u64), PlanError> {
    open_regular_file(path).map_err(|error| cannot_read(path, error))
}

pub(super) fn cannot_read(path: &Path, error: Error) -> PlanError {
    PlanError::File {
        what: "read",
        path: path.to_owned(),
        error,
    }
}
