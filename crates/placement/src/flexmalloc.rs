//! Location files of flexmalloc (Intel and BSC, the allocator of ecoHMEM), as placement files.
//!
//! A line names the calls of an allocation, the innermost first, and an allocator:
//! `a.c:1 > b.c:2 @ posix` by source, or `prog!1234 > libx.so!56 @ memkind/hbwmalloc` by file and
//! hexadecimal return address. Files do not say which build they are for, so both are looked up in
//! a profile of the program, which has the paths of its allocations in both forms.
//!
//! Source: flexmalloc's README and `src/code-locations.cxx`, github.com/intel/flexmalloc.

use reuselens_profile::{FileOffset, Object, ObjectKind, Profile};
use thiserror::Error;

use crate::file::{FileObject, PlacedKind, PlacementFile, call};
use crate::machine::{MemoryMachine, TierKind};

/// What flexmalloc writes for a call whose source is not known.
const UNKNOWN: [&str; 2] = ["Unresolved", "_NOT_Found"];

/// Why a location file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// There is no line with a location.
    #[error(
        "it has no location; a line is `file.c:1 > file.c:2 @ allocator` or `program!1234 @ allocator`, with calls from the innermost on"
    )]
    Nothing,
    /// No line could be carried over.
    #[error("none of its {lines} locations can be carried over; the first: {first}")]
    NoneFound {
        /// How many there are.
        lines: usize,
        /// Why the first cannot be.
        first: String,
    },
}

/// What came of a location file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The placement file.
    pub file: PlacementFile,
    /// Locations that name the last tier, where all data is that no file places.
    pub slow: usize,
    /// Lines that could not be carried over, each with its number and the reason.
    pub left_out: Vec<String>,
}

/// A call of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call<'a> {
    Source { file: &'a str, line: u32 },
    Address { module: &'a str, address: u64 },
    Unknown,
}

/// A location file for the program of `profile`, with the tiers of `machine`: `posix` is its first
/// tier of kind DRAM, `memkind/hbwmalloc` of kind HBM, `memkind/pmem` of kind NVM; any tier is
/// known by its name too.
///
/// Cost: the number of lines times that of allocations of the profile.
///
/// # Errors
/// If no line can be carried over.
pub fn import_flexmalloc(
    text: &str,
    profile: &Profile,
    machine: &MemoryMachine,
) -> Result<Imported, ImportError> {
    let mut objects: Vec<FileObject> = Vec::new();
    let (mut left_out, mut slow, mut lines) = (Vec::new(), 0, 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        lines += 1;
        let found = placed(line, profile, machine);
        match found {
            Ok((tier, _)) if tier + 1 == machine.tiers.len() => slow += 1,
            Ok((tier, matching)) => {
                for object in matching {
                    add(&mut objects, object, &machine.tiers[tier].name);
                }
            }
            Err(why) => left_out.push(format!("line {}: {why}", index + 1)),
        }
    }
    if lines == 0 {
        return Err(ImportError::Nothing);
    }
    if objects.is_empty() {
        let only_slow = || "they name the last tier, where all data is anyway".to_owned();
        let first = left_out.into_iter().next().unwrap_or_else(only_slow);
        return Err(ImportError::NoneFound { lines, first });
    }
    Ok(Imported {
        file: PlacementFile::of(profile, machine, objects),
        slow,
        left_out,
    })
}

/// The tier that a line names, and the objects whose allocation it is.
fn placed<'a>(
    line: &str,
    profile: &'a Profile,
    machine: &MemoryMachine,
) -> Result<(usize, Vec<&'a Object>), String> {
    let (calls, allocator) = line
        .rsplit_once('@')
        .ok_or("there is no allocator; write it after the calls, as in `a.c:1 @ posix`")?;
    let calls: Vec<Call<'_>> = calls.split('>').map(read_call).collect::<Result<_, _>>()?;
    if calls.iter().all(|call| *call == Call::Unknown) {
        return Err("no call of it is known".to_owned());
    }
    let tier = tier(allocator.trim(), machine)?;
    let heap = profile
        .objects
        .iter()
        .filter(|it| it.kind == ObjectKind::Heap);
    let matching: Vec<&Object> = heap.filter(|object| matches(&calls, object)).collect();
    if matching.iter().any(|object| !object.origins.is_empty()) {
        Ok((tier, matching))
    } else if matching.is_empty() {
        Err(format!(
            "the profile has no allocation from {}",
            shown(&calls)
        ))
    } else {
        Err("the profile does not say which calls allocate that; make it again".to_owned())
    }
}

fn read_call(text: &str) -> Result<Call<'_>, String> {
    let text = text.trim();
    if let Some((module, digits)) = text.rsplit_once('!') {
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let address = u64::from_str_radix(digits, 16)
            .map_err(|_| format!("{text:?} has no hexadecimal address after '!'"))?;
        let module = base_name(module);
        return Ok(Call::Address { module, address });
    }
    let (file, line) = text
        .rsplit_once(':')
        .ok_or_else(|| format!("{text:?} is no call; write file.c:1 or program!1234"))?;
    if UNKNOWN.contains(&file) {
        return Ok(Call::Unknown);
    }
    let line = line
        .parse()
        .map_err(|_| format!("{text:?} has no line number after ':'"))?;
    let file = base_name(file);
    Ok(Call::Source { file, line })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn tier(allocator: &str, machine: &MemoryMachine) -> Result<usize, String> {
    let kind = match allocator {
        "posix" => Some(TierKind::Dram),
        "memkind/hbwmalloc" => Some(TierKind::Hbm),
        "memkind/pmem" => Some(TierKind::Nvm),
        _ => None,
    };
    let mut tiers = machine.tiers.iter();
    let named = tiers.position(|tier| tier.name == allocator);
    let of_kind = || {
        machine
            .tiers
            .iter()
            .position(|tier| Some(tier.kind) == kind)
    };
    named.or_else(of_kind).ok_or_else(|| {
        let names: Vec<&str> = machine
            .tiers
            .iter()
            .map(|tier| tier.name.as_str())
            .collect();
        match kind {
            Some(kind) => format!(
                "{} has no tier of kind {} for the allocator '{allocator}'",
                machine.name,
                kind.name()
            ),
            None => format!(
                "the allocator '{allocator}' is not known; known are posix, memkind/hbwmalloc, \
                 memkind/pmem, and the tiers {}",
                names.join(", ")
            ),
        }
    })
}

/// Whether the calls are those of an object, as far as both go.
fn matches(calls: &[Call<'_>], object: &Object) -> bool {
    let by_address = calls
        .iter()
        .any(|call| matches!(call, Call::Address { .. }));
    if by_address {
        return object
            .origins
            .iter()
            .any(|path| matches_addresses(calls, path));
    }
    agree(calls.iter().zip(&object.path).map(|(call, frame)| {
        // A frame without a file is an unresolved call to flexmalloc: both keep its place.
        match call {
            Call::Source { file, line } if !frame.file.is_empty() => {
                Some(base_name(&frame.file) == *file && frame.line == *line)
            }
            _ => None,
        }
    }))
}

/// Whether the calls are those of a path, as far as both go. The profile has the last byte of each
/// call as in the file's symbol table; flexmalloc has return addresses: of the program itself as in
/// its symbol table, of libraries from the start of their code on, which is at a page.
fn matches_addresses(calls: &[Call<'_>], path: &[FileOffset]) -> bool {
    agree(calls.iter().zip(path).map(|(call, place)| match call {
        Call::Address { module, address } => {
            let after = place.offset.wrapping_add(1);
            let is_library = module.contains(".so");
            let from_page = after.wrapping_sub(*address) % 4096 == 0 && after >= *address;
            Some(place.module == *module && (after == *address || is_library && from_page))
        }
        _ => None,
    }))
}

/// Whether all comparisons that could be made agree, and one could be made.
fn agree(comparisons: impl Iterator<Item = Option<bool>>) -> bool {
    let mut known = comparisons.flatten().peekable();
    known.peek().is_some() && known.all(|is_same| is_same)
}

/// Adds an object, unless an earlier line placed it.
fn add(objects: &mut Vec<FileObject>, object: &Object, tier: &str) {
    let is_known = objects.iter().any(|known| known.paths == object.origins);
    if is_known || object.origins.is_empty() {
        return;
    }
    objects.push(FileObject {
        name: object.name.clone(),
        kind: PlacedKind::Heap,
        tier: tier.to_owned(),
        bytes: object.bytes,
        calls: object.path.iter().map(call).collect(),
        paths: object.origins.clone(),
        chunks: Vec::new(),
    });
}

fn shown(calls: &[Call<'_>]) -> String {
    let text = |call: &Call<'_>| match call {
        Call::Source { file, line } => format!("{file}:{line}"),
        Call::Address { module, address } => format!("{module}!{address:x}"),
        Call::Unknown => "?".to_owned(),
    };
    calls.iter().map(text).collect::<Vec<_>>().join(" > ")
}
