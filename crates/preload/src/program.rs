//! The program: whether a library can be preloaded into it, and whether it is the one that was
//! profiled.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Object, ObjectSymbol};
use reuselens_io::{find_program, other_processor, read_object_file};
use reuselens_placement::PlacementFile;
use reuselens_units::hexadecimal;
use thiserror::Error;

use crate::layout::NEW_NAMES;

/// Why a program cannot be run by a placement file.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// There is none.
    #[error(
        "there is no program '{}'; write its path, or the name of one in PATH",
        .0.to_string_lossy()
    )]
    NotFound(OsString),
    /// Nothing is loaded into it.
    #[error(
        "{} is linked statically, so no allocator can be put before its own; link it dynamically (without -static)", .0.display()
    )]
    Static(PathBuf),
    /// It is for another processor.
    #[error(
        "{} is a program for {processor}; reuselens run is for x86-64", .path.display()
    )]
    OtherProcessor {
        /// The program.
        path: PathBuf,
        /// The processor's name.
        processor: String,
    },
    /// It begins like a program.
    #[error("{} is cut off or damaged; build or copy it again", .0.display())]
    Damaged(PathBuf),
    /// The system loads nothing foreign into it.
    #[error(
        "{} runs as another user (setuid or setgid), and the system loads no allocator of ours into such programs; run a copy of it that is not", .0.display()
    )]
    Setuid(PathBuf),
    /// It was built again.
    #[error(
        "{} is not the build that was profiled: its build id is {found}, and the placement file is for {planned}; profile this build again, or add --loosely to find allocations at the same offsets all the same", .path.display()
    )]
    OtherBuild {
        /// The program.
        path: PathBuf,
        /// Its build id.
        found: String,
        /// That of the file.
        planned: String,
    },
    /// Builds of it cannot be told from each other.
    #[error(
        "the placement file has no build id for {0}, so this may be another build; link it with -Wl,--build-id, or add --loosely"
    )]
    NoBuild(String),
}

/// Finds a program as the system does.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, ProgramError> {
    find_program(program)
        .filter(|path| path.is_file())
        .ok_or_else(|| ProgramError::NotFound(program.to_owned()))
}

/// A function of a module: the module's name, and the function's first address and first after.
pub(crate) type ModuleFunction = (String, u64, u64);

/// Checks a program, and finds its own functions that allocate for their caller, by its symbols.
/// What is no binary (a script) is not looked into: the file may be for the program that it starts.
pub(crate) fn check(
    path: &Path,
    file: &PlacementFile,
    is_loose: bool,
) -> Result<Vec<ModuleFunction>, ProgramError> {
    let owned = || path.to_owned();
    if std::fs::metadata(path).is_ok_and(|about| about.mode() & 0o6000 != 0) {
        return Err(ProgramError::Setuid(owned()));
    }
    let Ok((_, bytes)) = read_object_file(path) else {
        return Ok(Vec::new());
    };
    if let Some(processor) = other_processor(path) {
        let path = owned();
        return Err(ProgramError::OtherProcessor { path, processor });
    }
    type Header = object::elf::FileHeader64<object::Endianness>;
    let Ok(header) = Header::parse(&*bytes) else {
        return Err(ProgramError::Damaged(owned()));
    };
    let endian = header.endian().unwrap_or_default();
    let segments = header.program_headers(endian, &*bytes).unwrap_or_default();
    let is_interpreter = |segment: &object::elf::ProgramHeader64<_>| {
        segment.p_type(endian) == object::elf::PT_INTERP
    };
    if !segments.iter().any(is_interpreter) {
        return Err(ProgramError::Static(owned()));
    }
    let real = path.canonicalize().unwrap_or_else(|_| owned());
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let mut places = file
        .objects
        .iter()
        .flat_map(|object| object.paths.iter().flatten());
    let parsed = object::File::parse(&*bytes).ok();
    let wrappers = wrappers(parsed.as_ref(), &name);
    if is_loose || !places.any(|place| place.module == name) {
        return Ok(wrappers);
    }
    let planned = file.builds.get(&*name);
    let planned = planned.ok_or_else(|| ProgramError::NoBuild(name.to_string()))?;
    let found = parsed.and_then(|file| file.build_id().ok().flatten().map(hexadecimal));
    match found {
        Some(found) if found.eq_ignore_ascii_case(planned) => Ok(wrappers),
        found => Err(ProgramError::OtherBuild {
            path: owned(),
            found: found.unwrap_or_else(|| "none".to_owned()),
            planned: planned.clone(),
        }),
    }
}

/// The functions of a program that allocate for their caller, by all of its symbols.
fn wrappers<'a>(program: Option<&'a object::File<'a>>, name: &str) -> Vec<ModuleFunction> {
    let is_one = |found: &str| {
        NEW_NAMES
            .iter()
            .any(|name| name.trim_end_matches('\0') == found)
    };
    let symbols = program.into_iter().flat_map(|program| program.symbols());
    let found = symbols.filter(|symbol| symbol.is_definition() && symbol.name().is_ok_and(is_one));
    let range = |low: u64, bytes: u64| (name.to_owned(), low, low.saturating_add(bytes));
    found
        .map(|symbol| range(symbol.address(), symbol.size()))
        .collect()
}
