//! Names of code that a program made while it ran, as its run-time system calls it: what is said of
//! the source in them becomes a frame.

use reuselens_attribute::Function;
use reuselens_io::{PerfMap, path_of};
use reuselens_profile::Frame;
use reuselens_trace::Module;

/// The names of a module of generated code.
///
/// # Errors
/// In words, if there is no such file any more, or another one.
pub(crate) fn read(module: &Module) -> Result<PerfMap, String> {
    let map = PerfMap::read(&path_of(&module.path), None)
        .map_err(|error| format!("cannot read {}: {error}", module.path))?;
    if map.id() != module.build_id {
        return Err(format!("{} changed since the run", module.path));
    }
    Ok(map)
}

/// The frame of an instruction: of its function, as no map has lines.
pub(crate) fn frame(map: &PerfMap, address: u64) -> Option<Frame> {
    map.find(address).map(|(name, _)| frame_of(name))
}

/// The function that an instruction is in.
pub(crate) fn function(map: &PerfMap, address: u64) -> Option<Function> {
    let (name, _) = map.find(address)?;
    let frame = frame_of(name);
    Some(Function {
        name: frame.function,
        file: frame.file,
        symbol: name.to_owned(),
    })
}

/// What a name says: `JS:*sum /a/b.js:1:13` (V8, any compiler of it), `py::sum:/a/b.py` (CPython);
/// all others are functions. The line is that on which the function begins.
fn frame_of(name: &str) -> Frame {
    const OF_JAVASCRIPT: [&str; 5] = ["JS", "LazyCompile", "Function", "Script", "Eval"];
    let plain = |function: &str| Frame {
        function: function.to_owned(),
        ..Frame::default()
    };
    if let Some((function, file)) = name.strip_prefix("py::").and_then(|it| it.split_once(':')) {
        return Frame {
            file: file.to_owned(),
            ..plain(function)
        };
    }
    let of_javascript = name
        .split_once(':')
        .filter(|(kind, _)| OF_JAVASCRIPT.contains(kind));
    let Some((_, rest)) = of_javascript else {
        return plain(name);
    };
    let rest = rest.trim_start_matches(['~', '^', '+', '*']);
    let (function, place) = rest.rsplit_once(' ').unwrap_or((rest, ""));
    let function = match function {
        "" => "(anonymous)",
        function => function,
    };
    match source(place) {
        Some((file, line)) => Frame {
            file: file.trim_start_matches("file://").to_owned(),
            line,
            ..plain(function)
        },
        None => plain(function),
    }
}

/// The file and the line of `file:line:column` or `file:line`.
fn source(place: &str) -> Option<(&str, u32)> {
    let (before, last) = place.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let with_column = before.rsplit_once(':');
    let with_column = with_column.and_then(|(file, line)| Some((file, line.parse().ok()?)));
    Some(with_column.unwrap_or((before, last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_function_file_and_line() {
        for (name, function, file, line) in [
            ("JS:*sum /a/b.js:12:13", "sum", "/a/b.js", 12),
            ("LazyCompile:~sum /a/b.js:7", "sum", "/a/b.js", 7),
            ("JS:^ file:///a/m.mjs:3:4", "(anonymous)", "/a/m.mjs", 3),
            (
                "Function:~Module._load node:internal/modules:10:2",
                "Module._load",
                "node:internal/modules",
                10,
            ),
            ("JS:~noplace", "noplace", "", 0),
            ("Builtin:ArrayMap", "Builtin:ArrayMap", "", 0),
            ("double Hot.sum(Hot$P[])", "double Hot.sum(Hot$P[])", "", 0),
            ("py::work:/a/c.py", "work", "/a/c.py", 0),
            ("TRACE_12::a.lua:34", "TRACE_12::a.lua:34", "", 0),
        ] {
            let frame = frame_of(name);
            let found = (frame.function.as_str(), frame.file.as_str(), frame.line);
            assert_eq!(found, (function, file, line), "{name}");
        }
    }
}
