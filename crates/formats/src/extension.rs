//! Which format the ending of a file's name means: u64, u32, champsim, oraclegeneral or vscsi. All
//! but the last are never detected by content, as any bytes could be such a file.
//!
//! Used by `lib.rs`, where the content of a file leaves its format open.
//!
//! Endings are compared without regard to case; an ending of a compression (`.gz`) is skipped.

use std::path::Path;

use crate::{champsim, oraclegeneral, u32, u64, vscsi};

/// Endings, without capitals, and the format that each means.
const ENDINGS: &[(&str, &str)] = &[
    ("oraclegeneral", oraclegeneral::NAME),
    ("champsim", champsim::NAME),
    ("champsimtrace", champsim::NAME),
    ("vscsi", vscsi::NAME),
    ("vscsi1", vscsi::NAME),
    ("vscsi2", vscsi::NAME),
    ("u64", u64::NAME),
    ("u32", u32::NAME),
    ("bin", u64::NAME),
];

/// Endings of compressions, which may follow one of [`ENDINGS`].
const PACKED: [&str; 7] = ["gz", "xz", "zst", "zstd", "sz", "snappy", "zip"];

/// The name of the format that the ending of a file's name means, if it means one: `a.u64`,
/// `a.u64.gz`, `a.oracleGeneral.bin`.
pub(super) fn format(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let (_, endings) = name.split_once('.')?;
    let mut endings = endings
        .rsplit('.')
        .filter(|ending| !PACKED.contains(ending));
    let last = endings.next()?;
    let meant = |ending: &str| {
        let known = ENDINGS.iter().find(|(known, _)| *known == ending);
        known.map(|&(_, format)| format)
    };
    if matches!(last, "bin" | "trace") {
        return endings.next().and_then(meant).or_else(|| meant(last));
    }
    meant(last)
}

/// Whether a file's name ends in `.ending`, or in that and what a packing adds.
pub(super) fn is_last(path: &Path, ending: &str) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase());
    let name = name.unwrap_or_default();
    let mut endings = name
        .split('.')
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev();
    endings.find(|ending| !PACKED.contains(ending)) == Some(ending)
}

/// Whether the name is one that DynamoRIO gives to the schedule of a trace, which is beside the
/// trace and has no accesses: `cpu_schedule.bin.zip`, `serial_schedule.bin.gz`.
pub(super) fn is_schedule(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    ["cpu_schedule.bin", "serial_schedule.bin"]
        .iter()
        .any(|schedule| name.starts_with(schedule))
}

/// Whether [`ENDINGS`] has the format.
pub(super) fn has_format(format: &str) -> bool {
    ENDINGS.iter().any(|&(_, known)| known == format)
}

/// Whether a file's name says that it is packed.
pub(super) fn is_packed(path: &Path) -> bool {
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| PACKED.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_selects_the_format() {
        for (name, expected) in [
            ("a/b.u64", Some("u64")),
            ("b.u64.gz", Some("u64")),
            ("b.bin", Some("u64")),
            ("b.u32.sz", Some("u32")),
            ("w01.oracleGeneral.bin.zst", Some("oraclegeneral")),
            ("w01.oracleGeneral", Some("oraclegeneral")),
            ("600.perlbench_s-210B.champsimtrace.xz", Some("champsim")),
            ("b.champsim.trace.gz", Some("champsim")),
            ("w32.vscsi1", Some("vscsi")),
            ("b.gz", None),
            ("u64", None),
            ("b.u64.txt", None),
            ("..", None),
            ("", None),
        ] {
            assert_eq!(format(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn compression_extension_is_skipped() {
        let is = |name: &str| is_last(Path::new(name), "din");
        assert!(is("a.din") && is("b/a.b.DIN.gz") && is("a.din.zip"));
        assert!(!is("din") && !is("a.din.txt") && !is("a.xdin") && !is(""));
    }
}
