//! Names by which the parts of a program that are not its own are known: modules of the system,
//! standard libraries, allocators, run-time libraries of threads.

use std::path::Path;

use reuselens_profile::Frame;
use reuselens_trace::Module;

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(path)
}

/// What a module is called: its file, or what code is that has none.
pub fn module_name(module: &Module) -> &str {
    if module.is_generated_code() {
        "generated code"
    } else {
        file_name(&module.path)
    }
}

/// Whether a module is the system's rather than the program's own.
pub fn is_system_module(path: &str) -> bool {
    const PLACES: [&str; 4] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];
    PLACES.iter().any(|place| path.starts_with(place)) || path.starts_with('[')
}

/// Whether a frame is a library's part in an allocation, not the code that wanted memory.
pub fn is_library_frame(frame: &Frame) -> bool {
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

/// Whether a type is one of a standard library, whose members mean nothing to its users. A
/// `std::pair` is none: its members are the user's.
pub fn is_library_type(name: &str) -> bool {
    const LIBRARIES: [&str; 5] = ["std::", "core::", "alloc::", "__gnu_cxx::", "hashbrown::"];
    // Rust's references to slices, strings and trait objects are pairs of pointers.
    const POINTERS: [char; 2] = ['&', '*'];
    let is_library = LIBRARIES.iter().any(|start| name.starts_with(start));
    (is_library && !name.starts_with("std::pair<")) || name.starts_with(POINTERS)
}

/// The run-time library of threads that a module is, by its file name; `None` for other modules.
/// What it allocates is its own (teams, barriers, queues), and no line of the program asked for it.
pub fn run_time(module: &str) -> Option<&'static str> {
    const RUN_TIMES: [&str; 4] = ["libgomp", "libomp", "libiomp5", "libtbb"];
    let rest = |name: &&str| module.strip_prefix(*name);
    let is_it = |name: &&&str| rest(name).is_some_and(|it| it.starts_with(['.', '-']));
    RUN_TIMES.iter().find(is_it).copied()
}

/// Functions of programs that hand out memory for their callers, which abort where there is none or
/// count it, by the names that they have by custom. Allocators of pools are none of them: a pool's
/// block belongs to the pool.
const ALLOCATING: [&str; 52] = [
    "_PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Malloc",
    "PyObject_Realloc",
    "checked_malloc",
    "ecalloc",
    "emalloc",
    "erealloc",
    "estrdup",
    "g_malloc",
    "g_malloc0",
    "g_malloc0_n",
    "g_malloc_n",
    "g_memdup",
    "g_memdup2",
    "g_realloc",
    "g_realloc_n",
    "g_slice_alloc",
    "g_slice_alloc0",
    "g_strdup",
    "g_strndup",
    "g_try_malloc",
    "g_try_malloc0",
    "g_try_realloc",
    "mem_alloc",
    "memalign",
    "pvalloc",
    "reallocarray",
    "safe_calloc",
    "safe_malloc",
    "safe_realloc",
    "strndup",
    "valloc",
    "x2nrealloc",
    "x2realloc",
    "xcalloc",
    "xcharalloc",
    "xmalloc",
    "xmalloc_array",
    "xmallocz",
    "xmemdup",
    "xmemdup0",
    "xnmalloc",
    "xpalloc",
    "xrealloc",
    "xreallocarray",
    "xstrdup",
    "xstrndup",
    "xzalloc",
    "zcalloc",
    "zmalloc",
    "zrealloc",
];

/// How the names of families of such functions begin: Python's, jemalloc's, mimalloc's.
const FAMILIES: [&str; 4] = ["PyMem_", "_PyMem_", "je_", "mi_"];

/// Whether a function has a name that says that it allocates for its callers.
pub fn allocates_by_name(name: &str) -> bool {
    ALLOCATING.contains(&name) || FAMILIES.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::frame;

    #[test]
    fn run_times_are_known_by_their_files() {
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
