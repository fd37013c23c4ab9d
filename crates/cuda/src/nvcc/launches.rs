//! [`joined`]: kernel launches whose brackets are written apart, `k << < 1, 1 >> > (a)`, as some
//! formatters left them. nvcc reads them as `<<<` and `>>>`; to clang they are shifts and a
//! bracket.
//!
//! clang is shown the joined text in place of the file (an overlay of its file system), so that
//! messages and lines keep the file's name. [`overlay`] makes that for sources and what they
//! include.

use std::collections::HashSet;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use reuselens_io::open_regular_file;

/// The text with brackets of launches joined, in the same lines and columns; none where there is
/// nothing to join.
///
/// `operator<< <T>` is no launch, and neither are brackets of templates, strings and comments. A
/// bracket is joined only if its other one is found before the statement ends.
pub fn joined(text: &[u8]) -> Option<Vec<u8>> {
    let mut made = text.to_vec();
    // Launches that are open: where the bracket begins and ends, and how deep in other brackets.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        if let Some(end) = end_of_words(text, at) {
            at = end;
            continue;
        }
        match text[at] {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b';' | b'{' | b'}' => open.retain(|launch| launch.2 < depth),
            b'<' => {
                if let Some(end) = bracket(text, at, b'<')
                    && !is_operator(&text[..at])
                {
                    open.push((at, end, depth));
                    at = end;
                    continue;
                }
            }
            b'>' => {
                if let Some(end) = bracket(text, at, b'>')
                    && let Some(&(from, to, deep)) = open.last()
                    && deep == depth
                {
                    open.pop();
                    join(&mut made[from..to], b'<');
                    join(&mut made[at..end], b'>');
                    at = end;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (made != text).then_some(made)
}

/// Three signs, then blanks.
fn join(part: &mut [u8], sign: u8) {
    part.fill(b' ');
    part[..3].fill(sign);
}

/// Where a bracket of three such signs ends, the third with or without blanks before it.
fn bracket(text: &[u8], at: usize, sign: u8) -> Option<usize> {
    if !text[at..].starts_with(&[sign, sign]) {
        return None;
    }
    let blanks = text[at + 2..].iter();
    let blanks = blanks
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let third = at + 2 + blanks;
    (text.get(third) == Some(&sign)).then_some(third + 1)
}

/// Whether a text ends with the word `operator`.
fn is_operator(before: &[u8]) -> bool {
    before.trim_ascii_end().ends_with(b"operator")
}

/// Where a comment or a string that begins here ends; none if neither does.
fn end_of_words(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let until = |end: &[u8], from: usize| {
        let found = rest[from..].windows(end.len()).position(|part| part == end);
        at + found.map_or(rest.len(), |found| from + found + end.len())
    };
    let is_in_word = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => Some(until(b"\n", 2)),
        [b'/', b'*', ..] => Some(until(b"*/", 2)),
        [b'R', b'"', inner @ ..] if !is_in_word => {
            let name = inner.iter().position(|byte| *byte == b'(')?;
            let end = [b")", &inner[..name], b"\""].concat();
            Some(until(&end, 2))
        }
        // Within a number, it groups digits.
        [b'\'', ..] if is_in_word => None,
        [quote @ (b'"' | b'\''), inner @ ..] => {
            let mut length = 1;
            while let Some(byte) = inner.get(length - 1)
                && byte != quote
                && *byte != b'\n'
            {
                length += 1 + usize::from(*byte == b'\\');
            }
            Some(text.len().min(at + length + 1))
        }
        _ => None,
    }
}

/// For a source and the files that it includes by `"name"`, from its folder and `folders`: writes
/// those whose launches have to be joined into `temporary`, beside a description for clang's
/// option `-ivfsoverlay`, whose path is returned. None if there are no such files.
///
/// # Errors
/// If files cannot be written. Those that cannot be read are left to clang's own messages.
pub fn overlay(
    sources: &[&Path],
    folders: &[PathBuf],
    temporary: &Path,
) -> io::Result<Option<PathBuf>> {
    let here = std::env::current_dir()?;
    let mut files = Vec::new();
    let mut waiting: Vec<PathBuf> = sources.iter().map(|path| absolute(&here, path)).collect();
    let mut seen: HashSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        let Some(text) = source_text(&path) else {
            continue;
        };
        for name in included(&text) {
            let own = path.parent().map(Path::to_owned);
            let found = own.into_iter().chain(folders.iter().cloned());
            let found = found.map(|folder| absolute(&here, &folder.join(name)));
            if let Some(file) = found.into_iter().find(|file| file.is_file())
                && seen.insert(file.clone())
            {
                waiting.push(file);
            }
        }
        // The description of files is JSON, whose names are UTF-8.
        if let Some(text) = joined(&text).filter(|_| path.to_str().is_some()) {
            let to = temporary.join(format!("{}.joined", files.len()));
            std::fs::write(&to, text)?;
            files.push((path, to));
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let entries = files.iter().map(
        |(path, to)| serde_json::json!({"name": path, "type": "file", "external-contents": to}),
    );
    let described = serde_json::json!({
        "version": 0,
        "use-external-names": false,
        "roots": entries.collect::<Vec<_>>(),
    });
    let path = temporary.join("overlay.json");
    std::fs::write(&path, described.to_string())?;
    Ok(Some(path))
}

/// The text of an ordinary file of up to 16 MiB; a pipe would be empty when clang reads it.
fn source_text(path: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 16 << 20;
    let (file, bytes) = open_regular_file(path).ok()?;
    let mut text = Vec::new();
    (bytes <= MOST && file.take(MOST).read_to_end(&mut text).is_ok()).then_some(text)
}

/// Names of `#include "…"`.
fn included(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.trim_ascii_start().strip_prefix(b"#")?;
        let name = line.trim_ascii_start().strip_prefix(b"include")?;
        let name = name.trim_ascii_start().strip_prefix(b"\"")?;
        let end = name.iter().position(|byte| *byte == b'"')?;
        std::str::from_utf8(&name[..end]).ok()
    })
}

/// The path from the root without `.` and `..`, by its words alone, as clang looks it up.
fn absolute(here: &Path, path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> Option<String> {
        joined(source.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn launches_are_joined_in_their_columns() {
        for (apart, together) in [
            ("k << < 1, 1 >> > (a);", "k <<<  1, 1 >>>  (a);"),
            ("k<< <f(1 >> 2), b[2]>> >(a)", "k<<< f(1 >> 2), b[2]>>> (a)"),
            ("k<<<1, 1>> >(a)", "k<<<1, 1>>> (a)"),
            ("k<<\t <1,\n 1>> >()", "k<<<  1,\n 1>>> ()"),
            (
                "k << < g<h<int>>(), 1 >> > ()",
                "k <<<  g<h<int>>(), 1 >>>  ()",
            ),
            (
                "x('>', \"<< <\"); k << <1, 1>>>(a)",
                "x('>', \"<< <\"); k <<< 1, 1>>>(a)",
            ),
            (
                "n = 1'000; k << <1, 1>> >(a)",
                "n = 1'000; k <<< 1, 1>>> (a)",
            ),
        ] {
            assert_eq!(text(apart).as_deref(), Some(together));
        }
    }

    #[test]
    fn other_brackets_stay() {
        for source in [
            "k<<<1, 1>>>(a);",
            "a<b<c<int>> > x;",
            "friend S& operator<< <T>(S&, a<b<c>> >);",
            "// k << < 1, 1 >> > (a)",
            "/* k << < 1,\n 1 >> > (a) */",
            "\"k << < 1, 1 >> > (a)\"",
            "R\"x(k << < 1, 1 >> > (a) \" )x\"",
            "x << y < z; a<b<c>> > d;",
            "k << < 1;",
            "'",
            "R\"",
            "/*",
        ] {
            assert_eq!(text(source), None, "{source}");
        }
    }

    #[test]
    fn included_files_are_joined_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("inc")).unwrap();
        std::fs::write(at("a.cu"), "#include \"inc/b.cuh\"\n# include \"c.cuh\"\n").unwrap();
        std::fs::write(at("inc/b.cuh"), "#include \"../a.cu\"\nk << <1, 1>> >();\n").unwrap();
        std::fs::write(at("inc/c.cuh"), "x();").unwrap();
        let made = overlay(&[&at("./a.cu")], &[at("inc")], folder.path()).unwrap();
        let described = std::fs::read_to_string(made.unwrap()).unwrap();
        assert!(described.contains("/inc/b.cuh\""), "{described}");
        assert!(!described.contains("c.cuh"), "{described}");
        assert!(
            overlay(&[&at("inc/c.cuh")], &[], folder.path())
                .unwrap()
                .is_none()
        );
    }
}
