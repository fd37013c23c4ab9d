//! Fat binaries: the container in which nvcc puts what it compiled for a device. A module of a
//! program has one; it holds the same kernels several times, as PTX and as machine code of several
//! architectures, each packed or not.
//!
//! [`FatBinary::read`] finds the images of a container, [`FatBinary::ptx`] gives the text to run.
//!
//! The layout is undocumented. It was read off what nvcc 13.0 writes with each of its modes of
//! compression. Unknown kinds of images are passed over, and everything is bounded by the
//! container.

use std::borrow::Cow;

use crate::fatbin_head::{
    ELF, HEAD_BYTES, IMAGE_HEAD_BYTES, LINKED_PART, MAGIC, PTX, container_bytes,
};
use crate::little_endian::{u16_at, u32_at, u64_at};

/// Longer texts are refused: an image says how long it is when unpacked, and may lie.
pub const MAX_PTX_BYTES: u64 = 256 << 20;

/// A flag of an image: it is packed by LZ4.
const LZ4: u64 = 0x2000;
/// A flag of an image: it is packed by zstd.
const ZSTD: u64 = 0x8000;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// PTX, as text.
    Ptx,
    /// Machine code.
    Elf,
    /// A part of what was linked while the program ran: PTX, as text, or a container.
    LinkedPart,
    /// Something else: its number.
    Other(u16),
}

/// One image of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// What it is.
    pub kind: ImageKind,
    /// The architecture that it was compiled for: 75 is compute capability 7.5.
    pub architecture: u32,
    /// Its bytes, packed or not.
    payload: &'a [u8],
    flags: u64,
    unpacked_bytes: u64,
}

/// The images of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatBinary<'a> {
    /// In the container's order.
    pub images: Vec<Image<'a>>,
}

/// The containers that follow one another in these bytes; none if they begin with something else.
pub fn containers(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let Some(head) = bytes.first_chunk::<HEAD_BYTES>()
        && let Some(length) = container_bytes(head)
        && let Some((container, rest)) = usize::try_from(length)
            .ok()
            .and_then(|length| bytes.split_at_checked(length.max(HEAD_BYTES)))
    {
        found.push(container);
        bytes = rest;
    }
    found
}

/// The PTX of what a program loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceCode {
    /// One file.
    Single(String),
    /// Files that are to be linked, in order: by nvcc (`-rdc=true`), or while the program ran.
    Linked(Vec<String>),
}

impl DeviceCode {
    /// Finds the PTX in a fat binary, or in several that follow one another: what was linked for a
    /// GPU, and what it was linked of.
    ///
    /// # Errors
    /// What is no fat binary, or has a file without PTX. Cost: unpacks the PTX that it returns.
    pub fn read(bytes: &[u8]) -> Result<DeviceCode, FatBinaryError> {
        if let [_, parts @ ..] = &containers(bytes)[..]
            && !parts.is_empty()
        {
            return DeviceCode::of_parts(parts);
        }
        let container = FatBinary::read(bytes)?;
        match &container.linked_parts()[..] {
            [] => Ok(DeviceCode::Single(container.ptx()?)),
            parts => DeviceCode::of_parts(parts),
        }
    }

    fn of_parts(parts: &[&[u8]]) -> Result<DeviceCode, FatBinaryError> {
        let texts = (1..).zip(parts).map(|(number, part)| {
            let text = FatBinary::read(part).and_then(|part| part.ptx());
            text.map_err(|why| FatBinaryError::Linked {
                number,
                why: Box::new(why),
            })
        });
        Ok(DeviceCode::Linked(texts.collect::<Result<_, _>>()?))
    }
}

/// Why a container cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatBinaryError {
    /// It is neither a container nor PTX.
    #[error("the device code is no fat binary: it begins with {0:#010x}")]
    Magic(u32),
    /// It is a file of machine code.
    #[error(
        "the program loads machine code{architecture} without PTX (a cubin), which does not run here; \
         make it load PTX: of nvcc -ptx, or of nvrtcGetPTX"
    )]
    MachineCode {
        /// What the file says that it is for: ` for sm_90`.
        architecture: String,
    },
    /// It ends early, or its sizes contradict each other.
    #[error("the fat binary is damaged at byte {at}: {what}")]
    Damaged {
        /// Bytes from its beginning.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// An image could not be unpacked.
    #[error("the PTX for sm_{architecture} cannot be unpacked: {why}")]
    Packed {
        /// The architecture of the image.
        architecture: u32,
        /// Why.
        why: String,
    },
    /// One of several files that were linked cannot be used.
    #[error("linked file {number}: {why}")]
    Linked {
        /// Its number, from 1.
        number: usize,
        /// Why.
        why: Box<FatBinaryError>,
    },
    /// There is only machine code.
    #[error(
        "there is machine code for {architectures} only, and no PTX; compile with -gencode arch=compute_{newest},code=compute_{newest} too"
    )]
    NoPtx {
        /// The architectures that are there: `sm_80, sm_90`.
        architectures: String,
        /// The newest of them.
        newest: u32,
    },
}

impl<'a> FatBinary<'a> {
    /// Finds the images of a container. PTX in the place of a container is an image, too: clang
    /// embeds what it is given.
    ///
    /// # Errors
    /// What is neither, and containers whose sizes are wrong. Cost: linear in the number of images;
    /// nothing is unpacked.
    pub fn read(bytes: &'a [u8]) -> Result<FatBinary<'a>, FatBinaryError> {
        if let Some(image) = bare_ptx(bytes) {
            return Ok(FatBinary {
                images: vec![image],
            });
        }
        let damaged = |at, what| FatBinaryError::Damaged { at, what };
        let magic = u32_at(bytes, 0).ok_or(damaged(0, "it has no head"))?;
        if magic == u32::from_le_bytes(*ELF) {
            return Err(FatBinaryError::MachineCode {
                architecture: elf_architecture(bytes),
            });
        }
        if magic != MAGIC {
            return Err(FatBinaryError::Magic(magic));
        }
        let head: &[u8; HEAD_BYTES] = bytes
            .first_chunk()
            .ok_or(damaged(4, "its head is cut off"))?;
        let end = container_bytes(head)
            .and_then(|end| usize::try_from(end).ok())
            .filter(|&end| end <= bytes.len())
            .ok_or(damaged(8, "it ends before its last image"))?;
        let mut at = usize::from(u16_at(bytes, 6).unwrap_or_default());
        let mut images = Vec::new();
        while at < end {
            let (image, next) = image(&bytes[..end], at).map_err(|what| damaged(at, what))?;
            images.push(image);
            at = next;
        }
        Ok(FatBinary { images })
    }

    /// The PTX to run: the newest that is there.
    ///
    /// # Errors
    /// If there is none, or it cannot be unpacked.
    pub fn ptx(&self) -> Result<String, FatBinaryError> {
        let ptx = self
            .images
            .iter()
            .filter(|image| image.kind == ImageKind::Ptx);
        match ptx.max_by_key(|image| image.architecture) {
            Some(image) => image.text(),
            None => Err(self.no_ptx()),
        }
    }

    /// The parts of what a program has linked while it ran, each PTX or a container; none of
    /// anything else.
    pub fn linked_parts(&self) -> Vec<&'a [u8]> {
        let images = self.images.iter();
        let parts = images.filter(|image| image.kind == ImageKind::LinkedPart);
        parts.map(|part| part.payload).collect()
    }

    fn no_ptx(&self) -> FatBinaryError {
        let mut architectures: Vec<u32> =
            self.images.iter().map(|image| image.architecture).collect();
        architectures.sort_unstable();
        architectures.dedup();
        let names: Vec<String> = architectures
            .iter()
            .map(|architecture| format!("sm_{architecture}"))
            .collect();
        FatBinaryError::NoPtx {
            architectures: names.join(", "),
            newest: architectures.last().copied().unwrap_or_default(),
        }
    }
}

impl Image<'_> {
    /// Its bytes, unpacked.
    ///
    /// # Errors
    /// If they are damaged, or more than [`MAX_PTX_BYTES`].
    pub fn unpack(&self) -> Result<Cow<'_, [u8]>, FatBinaryError> {
        let packed = |why: String| FatBinaryError::Packed {
            architecture: self.architecture,
            why,
        };
        if self.flags & (LZ4 | ZSTD) == 0 {
            return Ok(Cow::Borrowed(self.payload));
        }
        if self.unpacked_bytes > MAX_PTX_BYTES {
            return Err(packed(format!(
                "it claims to have {} bytes",
                self.unpacked_bytes
            )));
        }
        let size = self.unpacked_bytes as usize;
        let unpacked = if self.flags & LZ4 != 0 {
            lz4_flex::block::decompress(self.payload, size).map_err(|error| error.to_string())
        } else {
            zstd::bulk::decompress(self.payload, size).map_err(|error| error.to_string())
        };
        unpacked.map(Cow::Owned).map_err(packed)
    }

    /// Its text, without the zeros that fill up its end.
    fn text(&self) -> Result<String, FatBinaryError> {
        let bytes = self.unpack()?;
        let end = bytes.iter().position(|&byte| byte == 0);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        String::from_utf8(text.to_vec()).map_err(|error| FatBinaryError::Packed {
            architecture: self.architecture,
            why: error.to_string(),
        })
    }
}

/// The architecture that the head of a file of machine code names.
fn elf_architecture(head: &[u8]) -> String {
    /// The number of NVIDIA's GPUs among the machines of ELF.
    const CUDA: u16 = 190;
    /// From this version of the layout on, the flags have the architecture one byte higher.
    const LATER: u8 = 8;
    let (machine, layout, flags) = (u16_at(head, 18), head.get(8), u32_at(head, 48));
    match (machine, layout, flags) {
        (Some(CUDA), Some(layout), Some(flags)) => {
            let number = if *layout >= LATER { flags >> 8 } else { flags };
            format!(" for sm_{}", number & 0xff)
        }
        _ => String::new(),
    }
}

/// Text that begins as PTX does.
fn bare_ptx(bytes: &[u8]) -> Option<Image<'_>> {
    let begin = bytes.trim_ascii_start();
    (begin.starts_with(b"//") || begin.starts_with(b".version")).then_some(Image {
        kind: ImageKind::Ptx,
        architecture: 0,
        payload: bytes,
        flags: 0,
        unpacked_bytes: bytes.len() as u64,
    })
}

/// The image at `at`, and where the next one is.
fn image(bytes: &[u8], at: usize) -> Result<(Image<'_>, usize), &'static str> {
    let head = bytes
        .get(at..)
        .and_then(|rest| rest.get(..IMAGE_HEAD_BYTES))
        .ok_or("the head of an image is cut off")?;
    let field = |offset| u64_at(head, offset).unwrap_or_default();
    let word = |offset| u32_at(head, offset).unwrap_or_default();
    let head_bytes = word(4) as usize;
    if head_bytes < IMAGE_HEAD_BYTES {
        return Err("the head of an image is too short");
    }
    let begin = at.checked_add(head_bytes);
    let end = begin.and_then(|begin| begin.checked_add(usize::try_from(field(8)).ok()?));
    let payload = begin
        .zip(end)
        .and_then(|(begin, end)| bytes.get(begin..end))
        .ok_or("an image reaches past the end")?;
    let flags = field(40);
    let packed_bytes = word(16) as usize;
    let payload = match flags & (LZ4 | ZSTD) {
        0 => payload,
        _ => payload
            .get(..packed_bytes)
            .ok_or("a packed image is longer than its room")?,
    };
    let image = Image {
        kind: match u16_at(head, 0).unwrap_or_default() {
            PTX => ImageKind::Ptx,
            2 => ImageKind::Elf,
            LINKED_PART => ImageKind::LinkedPart,
            other => ImageKind::Other(other),
        },
        architecture: word(28),
        payload,
        flags,
        unpacked_bytes: field(56),
    };
    Ok((image, at + head_bytes + field(8) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin_head;

    const TEXT: &str = ".version 9.0\n.target sm_75\n.address_size 64\n";

    /// A container with these images: kind, architecture, flags, payload, bytes when unpacked.
    fn container(images: &[(u16, u32, u64, Vec<u8>, u64)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, architecture, flags, payload, unpacked) in images {
            let packed = payload.len() as u32;
            let mut payload = payload.clone();
            payload.resize(payload.len().next_multiple_of(8), 0);
            let mut head = vec![0; IMAGE_HEAD_BYTES];
            head[..2].copy_from_slice(&kind.to_le_bytes());
            head[4..8].copy_from_slice(&(IMAGE_HEAD_BYTES as u32).to_le_bytes());
            head[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
            head[16..20].copy_from_slice(&packed.to_le_bytes());
            head[28..32].copy_from_slice(&architecture.to_le_bytes());
            head[40..48].copy_from_slice(&flags.to_le_bytes());
            head[56..64].copy_from_slice(&unpacked.to_le_bytes());
            body.extend(head);
            body.extend(payload);
        }
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(16_u16.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn packings() -> [(u64, Vec<u8>); 3] {
        let text = TEXT.as_bytes();
        [
            (0, text.to_vec()),
            (LZ4, lz4_flex::block::compress(text)),
            (ZSTD, zstd::bulk::compress(text, 3).unwrap()),
        ]
    }

    #[test]
    fn ptx_of_each_packing_is_read() {
        for (flags, payload) in packings() {
            let bytes = container(&[
                (2, 80, 0, vec![0x7f; 40], 0),
                (1, 75, flags | 0x11, payload, TEXT.len() as u64),
            ]);
            let read = FatBinary::read(&bytes).unwrap();
            assert_eq!(read.images.len(), 2);
            assert_eq!(read.ptx().unwrap(), TEXT);
        }
    }

    #[test]
    fn the_newest_ptx_is_taken() {
        let text = |arch: u32| format!(".version 9.0\n.target sm_{arch}\n").into_bytes();
        let image = |arch| (1, arch, 0, text(arch), 0);
        let bytes = container(&[image(70), image(90), image(80)]);
        let ptx = FatBinary::read(&bytes).unwrap().ptx().unwrap();
        assert!(ptx.contains("sm_90"), "{ptx}");
    }

    #[test]
    fn text_in_the_place_of_a_container_is_ptx() {
        assert_eq!(
            FatBinary::read(TEXT.as_bytes()).unwrap().ptx().unwrap(),
            TEXT
        );
    }

    #[test]
    fn machine_code_alone_names_the_flag_that_adds_ptx() {
        let bytes = container(&[(2, 90, 0, vec![0; 8], 0), (2, 80, 0, vec![0; 8], 0)]);
        let error = FatBinary::read(&bytes).unwrap().ptx().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("sm_80, sm_90 only"), "{text}");
        assert!(text.contains("arch=compute_90,code=compute_90"), "{text}");
    }

    #[test]
    fn parts_of_a_link_are_found_and_hold_what_went_in() {
        let one = fatbin_head::container(&[(PTX, 75, TEXT.as_bytes())]);
        let parts = [(LINKED_PART, 0, TEXT.as_bytes()), (LINKED_PART, 0, &one)];
        let bytes = fatbin_head::container(&parts);
        let read = FatBinary::read(&bytes).unwrap();
        let texts = read.linked_parts().into_iter().map(|part| {
            let part = FatBinary::read(part).unwrap();
            assert!(part.linked_parts().is_empty());
            part.ptx().unwrap()
        });
        assert_eq!(texts.collect::<Vec<_>>(), [TEXT, TEXT]);
    }

    #[test]
    fn machine_code_in_a_file_is_named_with_its_architecture() {
        // Heads of files of nvcc 13.0 for sm_80 and of one of nvcc 12 for sm_90.
        for (layout, flags, name) in [(8, 0x0600_5004, "sm_80"), (7, 0x005a_055a, "sm_90")] {
            let mut head = [0; 64];
            head[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, layout]);
            head[18] = 190;
            head[48..52].copy_from_slice(&u32::to_le_bytes(flags));
            let error = FatBinary::read(&head).unwrap_err().to_string();
            assert!(
                error.contains(name) && error.contains("nvrtcGetPTX"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_container_that_is_cut_anywhere_is_an_error() {
        for (flags, payload) in packings() {
            let bytes = container(&[(1, 75, flags, payload, TEXT.len() as u64)]);
            for end in 0..bytes.len() {
                let read = FatBinary::read(&bytes[..end]);
                assert!(read.is_err(), "cut at {end} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn a_size_beyond_the_limit_is_refused() {
        let bytes = container(&[(1, 75, ZSTD, vec![0; 16], u64::MAX)]);
        let error = FatBinary::read(&bytes).unwrap().ptx().unwrap_err();
        assert!(error.to_string().contains("it claims to have"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = FatBinary::read(&bytes).map(|read| read.ptx());
            if bytes.len() > 4 {
                bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
                let _ = FatBinary::read(&bytes).map(|read| read.ptx());
            }
        }
    }
}
