//! Blocks of all functions of all allocators are known in programs that nobody has rebuilt, and
//! named by the code that wanted them.

use std::process::Command;

use crate::common::{Place, has, source};

/// The functions of `allocators.cc`, by the functions of C and C++ that they call.
const FUNCTIONS: [&str; 13] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "posix_memalign",
    "new",
    "aligned_new",
    "aligned_new_of_an_array",
    "aligned_new_or_null",
];
/// Stores to a small and to a large block.
const STORES: u64 = 10 + 4_000;
/// Where Debian's allocators are.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

/// Profiles a program that has the functions of an allocator from a library, or libc's; one
/// function may be missing there.
fn blocks_are_known(library: Option<&str>, missing: Option<&str>) {
    let library = library.map(|library| format!("{LIBRARIES}/{library}"));
    if let Some(library) = library.as_ref()
        && !has(library)
    {
        return;
    }
    let place = Place::new();
    let mut command = Command::new("g++");
    command
        .args([
            "-std=c++17",
            "-O1",
            "-g",
            "-fno-builtin",
            "-o",
            "allocators",
        ])
        .arg(source("rewrite/allocators.cc"))
        .args(library.as_ref())
        .current_dir(place.path(""));
    assert!(command.status().unwrap().success());
    let by = ["--by", "object", "--kind", "stores"];
    let program = std::iter::once("./allocators").chain(missing);
    let (_, json) = place.profile(&by, &program.collect::<Vec<_>>());
    let blocks = json.groups("object");
    for function in FUNCTIONS
        .into_iter()
        .filter(|function| Some(*function) != missing)
    {
        let start = format!("heap from by_{function} (");
        let of = blocks.iter().filter(|block| block.name.starts_with(&start));
        let stores: u64 = of.map(|block| block.accesses).sum();
        // libc clears and copies blocks after they are known to be there.
        assert!(
            (STORES..STORES + 20).contains(&stores),
            "{function} of {library:?}: {stores}"
        );
    }
}

#[test]
fn blocks_of_libc() {
    blocks_are_known(None, None);
}

#[test]
fn blocks_of_jemalloc() {
    blocks_are_known(Some("libjemalloc.so.2"), Some("pvalloc"));
}

#[test]
fn blocks_of_mimalloc() {
    blocks_are_known(Some("libmimalloc.so.2.0"), None);
}

#[test]
fn blocks_of_tcmalloc() {
    blocks_are_known(Some("libtcmalloc_minimal.so.4"), None);
}

/// Two functions that allocate through `xmalloc` have an object each.
#[test]
fn blocks_of_a_wrapper_are_named_by_its_callers() {
    let place = Place::new();
    let own = place.path("wrapped_own").into_os_string();
    let own = own.into_string().unwrap();
    let flags = ["-O1", "-g", "-o", &own, &source("count/wrapped.c")];
    assert!(Command::new("gcc").args(flags).status().unwrap().success());
    for program in [place.build("count/wrapped.c", &[]), own] {
        let by = ["--by", "object", "--kind", "stores"];
        let (_, json) = place.profile(&by, &[&program]);
        for (name, stores) in [("small (wrapped.c:14)", 10), ("large (wrapped.c:22)", 1000)] {
            let name = format!("heap from {name}");
            assert_eq!(json.accesses("object", &name), stores, "{program}: {name}");
        }
    }
}
