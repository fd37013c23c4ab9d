//! [`Image`]: the bytes of the rewriter's image as they are mapped at [`IMAGE`], with all addresses
//! relocated. It is made of the embedded shared object, once per process of ours.

use std::sync::OnceLock;

use object::elf;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _};
use reuselens_wire::IMAGE;

use crate::embedded::rewriter;

/// R_X86_64_RELATIVE: add the address at which the file lies.
const RELATIVE: u64 = 8;
/// Addresses of the image are aligned so.
const PAGE: u64 = 4096;

/// Bytes for the address [`IMAGE`].
pub struct Image {
    pub bytes: Vec<u8>,
    /// Offset of its first instruction.
    pub entry: u64,
}

impl Image {
    /// The image; `None` on other processors than x86-64.
    pub fn get() -> Option<&'static Image> {
        static ONCE: OnceLock<Option<Image>> = OnceLock::new();
        ONCE.get_or_init(load).as_ref()
    }
}

fn load() -> Option<Image> {
    let unpacked = rewriter();
    let data = unpacked.as_slice();
    let file = ElfFile64::<Endianness>::parse(data).ok()?;
    let little = Endianness::Little;
    let headers = file.elf_header().program_headers(little, data).ok()?;
    let loads = headers
        .iter()
        .filter(|header| header.p_type(little) == elf::PT_LOAD);
    let end = loads
        .clone()
        .map(|header| header.p_vaddr(little) + header.p_memsz(little))
        .max()?;
    let mut bytes = vec![0; end.next_multiple_of(PAGE) as usize];
    for header in loads {
        let from = header.data(little, data).ok()?;
        let at = header.p_vaddr(little) as usize;
        bytes.get_mut(at..at + from.len())?.copy_from_slice(from);
    }
    for header in headers {
        if header.p_type(little) == elf::PT_DYNAMIC {
            let entries = header.dynamic(little, data).ok()??;
            shift(&mut bytes, entries)?;
        }
    }
    Some(Image {
        bytes,
        entry: file.entry(),
    })
}

/// Adds the image's address where it must be added: the image has no other relocations.
fn shift(bytes: &mut [u8], entries: &[elf::Dyn64<Endianness>]) -> Option<()> {
    let little = Endianness::Little;
    let value = |tag: elf::DynamicTag| {
        let entry = entries.iter().find(|e| e.d_tag.get(little) == tag)?;
        Some(entry.d_val.get(little) as usize)
    };
    let (at, size) = (value(elf::DT_RELA)?, value(elf::DT_RELASZ)?);
    let word = |bytes: &[u8], at: usize| {
        let field = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_le_bytes(field))
    };
    for entry in (at..at + size).step_by(24) {
        let place = word(bytes, entry)? as usize;
        if word(bytes, entry + 8)? != RELATIVE {
            return None;
        }
        let address = IMAGE + word(bytes, entry + 16)?;
        bytes
            .get_mut(place..place + 8)?
            .copy_from_slice(&address.to_le_bytes());
    }
    Some(())
}
