//! [`CodeSections`]: the bytes of a file's code, read where they are asked for.

use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::{Object, ObjectSection, ReadCache, SectionKind};

use crate::checked_file::CheckedFile;

/// The code of a file for x86-64.
pub(super) struct CodeSections {
    file: CheckedFile,
    sections: Vec<CodeSection>,
}

/// A section of the file with code.
struct CodeSection {
    /// The address of its first byte.
    address: u64,
    bytes: u64,
    /// Where it begins in the file.
    file_offset: u64,
}

impl CodeSections {
    /// Those of a file with code. `None` if it cannot be read, or is for another processor.
    pub fn of(file: CheckedFile) -> Option<CodeSections> {
        let cache = ReadCache::new(&file.file);
        let parsed = object::File::parse(&cache).ok()?;
        if parsed.architecture() != object::Architecture::X86_64 {
            return None;
        }
        let code = parsed
            .sections()
            .filter(|it| it.kind() == SectionKind::Text);
        let sections = code.filter_map(|section| {
            let (file_offset, bytes) = section.file_range()?;
            Some(CodeSection {
                address: section.address(),
                bytes,
                file_offset,
            })
        });
        let sections = sections.collect();
        Some(CodeSections { file, sections })
    }

    /// The bytes of some code. `None` if they are not all of one section, or more than `most`.
    pub fn code(&self, code: &Range<u64>, most: u64) -> Option<(u64, Vec<u8>)> {
        let bytes = code.end.checked_sub(code.start)?;
        let is_in = |section: &&CodeSection| {
            section.address <= code.start
                && bytes <= section.bytes
                && code.start - section.address <= section.bytes - bytes
        };
        let section = self.sections.iter().find(is_in)?;
        let mut found = vec![0; usize::try_from(bytes).ok().filter(|_| bytes <= most)?];
        let place = section
            .file_offset
            .checked_add(code.start - section.address)?;
        self.file.file.read_exact_at(&mut found, place).ok()?;
        Some((code.start, found))
    }

    /// The bytes of the code around an address: up to `reach` before and after it, as far as its
    /// section goes.
    pub fn around(&self, address: u64, reach: u64) -> Option<(u64, Vec<u8>)> {
        let holds = |section: &&CodeSection| address.wrapping_sub(section.address) < section.bytes;
        let section = self.sections.iter().find(holds)?;
        let end = section.address.checked_add(section.bytes)?;
        let low = address.saturating_sub(reach).max(section.address);
        let high = address.saturating_add(reach).min(end);
        self.code(&(low..high), 2 * reach)
    }
}
