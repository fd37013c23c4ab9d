//! Files of debug symbols beside the program: what packages such as `libc6-dbg` and `…-dbgsym`
//! install.
//!
//! Places and names are those of the GNU debugger's manual, "Debugging Information in Separate
//! Files".

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;
use reuselens_io::read_object_file;
use reuselens_units::hexadecimal;

/// Where systems put them.
const ROOT: &str = "/usr/lib/debug";

/// A file of debug symbols.
pub(super) struct Separate {
    pub path: PathBuf,
    pub file: File,
    pub bytes: Vec<u8>,
}

/// The file with the symbols of `file`, which lies at `path`, if there is one that is of the same
/// build.
pub(super) fn find(file: &object::File, path: &Path) -> Option<Separate> {
    let build_id = file.build_id().ok().flatten();
    let mut places: Vec<PathBuf> = build_id.map(by_build_id).into_iter().collect();
    if let Ok(Some((name, _))) = file.gnu_debuglink() {
        // A name, and not a way out of the folder.
        let name = Path::new(OsStr::from_bytes(name)).file_name()?;
        let folder = path.parent()?;
        let below = folder.strip_prefix("/").unwrap_or(folder);
        places.push(folder.join(name));
        places.push(folder.join(".debug").join(name));
        places.push(Path::new(ROOT).join(below).join(name));
    }
    let is_other = |place: &PathBuf| place != path;
    places
        .into_iter()
        .filter(is_other)
        .find_map(|place| read(place, build_id))
}

/// `/usr/lib/debug/.build-id/ab/cdef….debug`.
fn by_build_id(id: &[u8]) -> PathBuf {
    let digits = hexadecimal(id);
    let (first, rest) = digits.split_at(digits.len().min(2));
    Path::new(ROOT).join(format!(".build-id/{first}/{rest}.debug"))
}

/// The file at this place, if there is one of the same build. Without build ids, its name has to
/// do.
fn read(path: PathBuf, build_id: Option<&[u8]>) -> Option<Separate> {
    let (file, bytes) = read_object_file(&path).ok()?;
    let found = object::File::parse(&*bytes).ok()?;
    let is_same = found.build_id().ok().flatten() == build_id;
    is_same.then_some(Separate { path, file, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_a_place() {
        let place = by_build_id(&[0xab, 0xcd, 0x0f]);
        assert_eq!(place, Path::new("/usr/lib/debug/.build-id/ab/cd0f.debug"));
        assert_eq!(
            by_build_id(&[]).parent(),
            Some(Path::new("/usr/lib/debug/.build-id"))
        );
    }
}
