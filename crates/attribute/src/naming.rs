//! Names as people read them.

use std::path::Path;

use reuselens_locality::Frame;

use crate::places::CodePlace;

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(path)
}

/// Whether a module is the system's rather than the program's own.
pub(crate) fn is_system_module(path: &str) -> bool {
    const PLACES: [&str; 4] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];
    PLACES.iter().any(|place| path.starts_with(place)) || path.starts_with('[')
}

/// Whether a frame is a library's part in an allocation, not the code that wanted memory.
pub(crate) fn is_library_frame(frame: &Frame) -> bool {
    const NAMES: [&str; 12] = [
        "std::",
        "__gnu_cxx::",
        "operator new",
        "alloc::",
        "core::",
        "<std::",
        "<alloc::",
        "<core::",
        "__rust_",
        "__rdl_",
        "__rustc::",
        "_gfortran_",
    ];
    const ALLOCATORS: [&str; 7] = [
        "malloc",
        "calloc",
        "realloc",
        "aligned_alloc",
        "posix_memalign",
        "strdup",
        "mmap",
    ];
    let name = qualified_name(&frame.function);
    frame.is_library_source()
        || NAMES.iter().any(|start| name.starts_with(start))
        || ALLOCATORS.contains(&name)
}

/// A demangled function without its result type: template functions come with one, so that
/// `std::vector<int> make<int>(int)` is no function of `std`.
fn qualified_name(function: &str) -> &str {
    if function.contains("operator ") {
        return function;
    }
    let (mut depth, mut start) = (0_i32, 0);
    for (index, letter) in function.char_indices() {
        match letter {
            '(' if depth == 0 && index > start => break,
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = (depth - 1).max(0),
            ' ' if depth == 0 => start = index + 1,
            _ => {}
        }
    }
    &function[start..]
}

/// A place in the source: `make_nodes (list.c:12)`, as much of it as is known.
pub(crate) fn place_name(frame: &Frame) -> String {
    match (frame.file.is_empty(), frame.line) {
        (true, _) => frame.function.clone(),
        (false, 0) => format!("{} ({})", frame.function, file_name(&frame.file)),
        (false, line) => format!("{} ({}:{line})", frame.function, file_name(&frame.file)),
    }
}

/// A frame of an allocation's call path.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub frame: Frame,
    /// Where its call is in the code; of frames that were inlined there, the same for all.
    pub place: CodePlace,
    /// Whether its module is the system's.
    pub system: bool,
}

/// The name of the blocks that code at this frame wanted.
pub(crate) fn heap_name(wanting: Option<&Caller>) -> String {
    match wanting {
        Some(caller) => format!("heap from {}", place_name(&caller.frame)),
        None => "heap from an unknown call".to_owned(),
    }
}

/// The run-time library of threads that a module is, by its file name; `None` for other modules.
/// What it allocates is its own (teams, barriers, queues), and no line of the program asked for it.
pub(crate) fn run_time(module: &str) -> Option<&'static str> {
    const RUN_TIMES: [&str; 4] = ["libgomp", "libomp", "libiomp5", "libtbb"];
    let rest = |name: &&str| module.strip_prefix(*name);
    let is_it = |name: &&&str| rest(name).is_some_and(|it| it.starts_with(['.', '-']));
    RUN_TIMES.iter().find(is_it).copied()
}

/// The name of the blocks that a run-time library allocates, for a call at this frame.
pub(crate) fn heap_of_run_time(library: &str, wanting: Option<&Caller>) -> String {
    match wanting.filter(|caller| !caller.system) {
        Some(caller) => format!("heap of {library} below {}", place_name(&caller.frame)),
        None => format!("heap of {library}"),
    }
}

/// What a row of this kind does, as sites say it.
pub(crate) fn kind_name(kind: reuselens_trace::Kind) -> &'static str {
    use reuselens_trace::Kind;
    match kind {
        Kind::Load => "load",
        Kind::Store => "store",
        Kind::Atomic => "atomic",
        Kind::RangeLoad => "range load",
        Kind::RangeStore => "range store",
        Kind::Named => "named",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> Frame {
        Frame {
            function: function.into(),
            file: file.into(),
            line,
        }
    }

    #[test]
    fn blocks_of_run_times_are_theirs() {
        for (module, library) in [
            ("libgomp.so.1.0.0", Some("libgomp")),
            ("libgomp.so.1", Some("libgomp")),
            ("libomp-19.so.5", Some("libomp")),
            ("libomp.so.5", Some("libomp")),
            ("libiomp5.so", Some("libiomp5")),
            ("libompare.so", None),
            ("libc.so.6", None),
            ("program", None),
        ] {
            assert_eq!(run_time(module), library, "{module}");
        }
        let caller = |system| Caller {
            frame: frame("main", "/src/omp.c", 8),
            place: CodePlace::UNKNOWN,
            system,
        };
        let name = |caller: Option<&Caller>| heap_of_run_time("libgomp", caller);
        assert_eq!(
            name(Some(&caller(false))),
            "heap of libgomp below main (omp.c:8)"
        );
        assert_eq!(name(Some(&caller(true))), "heap of libgomp");
        assert_eq!(name(None), "heap of libgomp");
    }

    #[test]
    fn library_code_is_seen_through() {
        for library in [
            "std::vector<int>::push_back(int&&)",
            "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
            "operator new(unsigned long)",
            "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
            "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
            "alloc::raw_vec::RawVec<T,A>::grow_one",
            "malloc",
        ] {
            assert!(is_library_frame(&frame(library, "", 0)), "{library}");
        }
        for own in [
            "std::vector<int> make<int>(int)",
            "main",
            "stdio_like",
            "<my::List as core::Tr>::f",
        ] {
            assert!(!is_library_frame(&frame(own, "src/a.cc", 3)), "{own}");
        }
    }
}
