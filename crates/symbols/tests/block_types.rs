//! Types of blocks of the heap, from real files of several compilers.

use std::collections::BTreeSet;
use std::path::Path;

use reuselens_attribute::SymbolSource;
use reuselens_symbols::Loader;
use reuselens_testing::has;

use crate::compiled::{CPP_COMPILERS, build, code, module, with_each};

/// The types that calls at the places of a line would allocate, whose callers are at `outer`.
fn of_line(path: &Path, function: &str, line: u32, outer: &[u64]) -> BTreeSet<String> {
    let (module, mut loader) = (module(path), Loader::new());
    let mut types = loader.block_types().unwrap();
    let mut found = BTreeSet::new();
    for address in code(path, function) {
        let frames = loader.frames(&module, address);
        if frames.last().is_some_and(|frame| frame.line == line) {
            let outer = outer.iter().map(|outer| (&module, *outer));
            let calls: Vec<_> = std::iter::once((&module, address)).chain(outer).collect();
            let layout = types.of_block(&calls);
            found.insert(layout.map_or_else(String::new, |layout| layout.name.clone()));
        }
    }
    found
}

fn one(name: &str) -> BTreeSet<String> {
    [name.to_owned()].into()
}

const C: &str = "\
#include <stdlib.h>
struct node { struct node *next; long value; };
typedef struct { double x, y; int kind; } Entry;
struct table { Entry *entries; double **rows; void *rest; };
void *get(size_t bytes) {
  return malloc(bytes);
}
int main(int argc, char **argv) {
  struct table t;
  struct node *list = malloc(argc * sizeof(struct node));
  t.entries = calloc(argc, 24);
  t.rows = malloc(argc * 8);
  t.rows[0] = malloc(argc *
                     8);
  t.rest = malloc(sizeof(struct node) + sizeof(Entry));
  Entry *more = get(argc * sizeof(Entry));
  void *unknown = get(99);
  return list != 0 && t.entries != 0 && t.rows[0] != 0 && t.rest != 0 && more != unknown;
}
";

#[test]
fn blocks_of_c_have_the_types_of_their_statements() {
    with_each(
        ("small.c", C),
        &["gcc -O0 -g", "gcc -O1 -g", "clang -O0 -g"],
        |binary, compiler| {
            let of = |line| of_line(binary, "main", line, &[]);
            assert_eq!(of(10), one("node"), "{compiler}");
            assert_eq!(of(11), one("Entry"), "{compiler}");
            assert_eq!(of(12), one("double*"), "{compiler}");
            assert_eq!(of(13), one("double"), "{compiler}");
            assert_eq!(of(15), one(""), "two types: {compiler}");
            assert_eq!(of(17), one(""), "no type: {compiler}");
            // A function that allocates for its caller.
            let code = code(binary, "main");
            let (module, mut loader) = (module(binary), Loader::new());
            let mut caller = |line| {
                let is_it = |address: &u64| {
                    let frames = loader.frames(&module, *address);
                    frames.last().is_some_and(|frame| frame.line == line)
                };
                code.iter().copied().find(is_it).unwrap()
            };
            let (typed, untyped) = (caller(16), caller(17));
            assert_eq!(
                of_line(binary, "get", 6, &[typed]),
                one("Entry"),
                "{compiler}"
            );
            assert_eq!(of_line(binary, "get", 6, &[untyped]), one(""), "{compiler}");
        },
    );
}

#[test]
fn blocks_without_debug_information_have_no_types() {
    let folder = tempfile::tempdir().unwrap();
    let Some(binary) = build(folder.path(), ("small.c", C), &["gcc", "-O0"]) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    let mut types = loader.block_types().unwrap();
    for address in code(&binary, "main") {
        assert_eq!(types.of_block(&[(&module, address)]), None);
    }
}

/// The types of blocks that any of the code with this name would allocate.
fn of_code(path: &Path, name: &str) -> BTreeSet<String> {
    let (module, mut loader) = (module(path), Loader::new());
    let mut types = loader.block_types().unwrap();
    let code = code(path, name).into_iter();
    let layouts = code.filter_map(|address| types.of_block(&[(&module, address)]));
    layouts.map(|layout| layout.name.clone()).collect()
}

const CPP: &str = "\
#include <map>
#include <vector>
namespace grid { struct Cell { double x, y, z; int kind; }; template <class T> struct Pair { T a, b; }; }
int main(int argc, char **) {
  std::vector<grid::Cell> cells;
  cells.push_back({1, 2, 3, argc});
  std::vector<grid::Pair<float>> pairs(argc);
  auto *own = new grid::Cell[argc];
  own[0].kind = 3; __asm__ volatile(\"\" : : \"r\"(own), \"r\"(cells.data()) : \"memory\");
  return int(cells[0].x + pairs[0].a) + own[0].kind;
}
";

#[test]
fn blocks_of_cpp_have_the_types_of_allocators() {
    with_each(("small.cc", CPP), &CPP_COMPILERS, |binary, compiler| {
        // All functions of the program, those of templates included.
        let found = of_code(binary, "");
        for name in ["grid::Cell", "grid::Pair<float>"] {
            assert!(found.contains(name), "{name} in {found:?}: {compiler}");
        }
        if compiler.contains("-O0") {
            assert_eq!(
                of_line(binary, "main", 8, &[]),
                one("grid::Cell"),
                "{compiler}"
            );
            let allocators = of_code(binary, "allocateE");
            let expected: BTreeSet<String> = ["grid::Cell", "grid::Pair<float>"]
                .map(str::to_owned)
                .into();
            assert!(
                allocators.is_superset(&expected),
                "{allocators:?}: {compiler}"
            );
        }
    });
}

const RUST: &str = "\
pub struct Node { pub value: f64, pub kind: u32, pub next: Option<Box<Node>> }
pub struct Leaf { pub at: [u16; 3], pub size: u64 }
#[inline(never)]
fn grow(n: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    for i in 0..n { nodes.push(Node { value: i as f64, kind: 3, next: None }); }
    nodes
}
#[inline(never)]
fn leaf(n: usize) -> Box<Leaf> { Box::new(Leaf { at: [n as u16; 3], size: 3 }) }
fn main() {
    let n = std::env::args().count();
    let (nodes, leaf) = (grow(n), leaf(n));
    println!(\"{} {} {}\", nodes[0].value, leaf.at[1], leaf.size + u64::from(nodes[0].kind));
}
";

#[test]
fn blocks_of_rust_have_the_types_of_their_owners() {
    for_each_mangling(("small.rs", RUST), |binary, compiler| {
        let found = of_code(binary, "small");
        // With legacy mangling, no symbol of the library's functions has the program's name.
        let found = &found | &of_code(binary, "grow_one");
        for name in ["small::Node", "small::Leaf"] {
            assert!(found.contains(name), "{name} in {found:?}: {compiler}");
        }
    });
}

/// Builds a source in Rust without optimisation and with it, with each mangling of symbols.
fn for_each_mangling(source: (&str, &str), check: impl Fn(&Path, &str)) {
    // Stable compilers have one mangling by themselves, and take only v0 as an option.
    let rustc = "env RUSTC_BOOTSTRAP=1 rustc -g -Zunstable-options";
    // Link-time optimisation inlines functions of other units of the debug information.
    for level in ["0", "2", "2 -Ccodegen-units=4 -Clto=fat"] {
        for mangling in ["legacy", "v0"] {
            let options = format!("-Copt-level={level} -Csymbol-mangling-version={mangling}");
            if has("rustc") {
                with_each(source, &[&format!("{rustc} {options}")], &check);
            }
        }
    }
}

const RUST_OWNERS: &str = "\
#[derive(Clone, Default)]
pub struct Body { pub at: [f64; 3], pub mass: f64, pub tag: u64 }
#[derive(Clone)]
pub struct T { pub one: u8, pub two: f32 }
#[inline(never)]
fn pushed(n: usize) -> Vec<Body> {
    let mut mass = Vec::new();
    for tag in 0..n as u64 { mass.push(Body { tag, ..Body::default() }); }
    mass
}
#[inline(never)]
fn collected(n: usize) -> Vec<Body> {
    let mass: Vec<Body> = (0..n as u64).map(|tag| Body { tag, ..Body::default() }).collect();
    mass
}
#[inline(never)]
fn filled(n: usize) -> Vec<Body> { vec![Body::default(); n] }
#[inline(never)]
fn sliced(n: usize) -> Box<[Body]> { vec![Body::default(); n].as_slice().into() }
#[inline(never)]
fn boxed(n: usize) -> Box<Body> { Box::new(Body { tag: n as u64, ..Body::default() }) }
#[inline(never)]
fn rows(n: usize) -> Vec<[f64; 3]> { vec![[n as f64; 3]; n] }
#[inline(never)]
fn pairs(n: usize) -> Vec<(u8, Body)> { vec![(1, Body::default()); n] }
#[inline(never)]
fn named(n: usize) -> Vec<T> { vec![T { one: 1, two: 2.0 }; n] }
fn main() {
    let n = std::env::args().count() + 1;
    let (a, b, c) = (pushed(n), collected(n), filled(n));
    let (d, e, f, g, h) = (sliced(n), boxed(n), rows(n), pairs(n), named(n));
    println!(\"{} {} {}\", a[1].mass, b[1].tag, c[1].at[1] + d[1].mass + e.mass + f[1][2]);
    println!(\"{} {}\", g[1].1.mass, h[1].two + f32::from(h[0].one));
}
";

#[test]
fn types_of_rust_do_not_depend_on_the_mangling() {
    for_each_mangling(("owners.rs", RUST_OWNERS), |binary, compiler| {
        let is_inlined = compiler.contains("opt-level=2 -Csymbol");
        let mut all = &of_code(binary, "grow_one") | &of_code(binary, "from_elem");
        for (function, name) in [
            ("collected", "owners::Body"),
            ("filled", "owners::Body"),
            ("sliced", "owners::Body"),
            ("boxed", "owners::Body"),
            ("rows", "f64"),
            ("pairs", "(u8, owners::Body)"),
            ("named", "owners::T"),
        ] {
            let found = of_code(binary, function);
            // Otherwise functions of the library may show it.
            let is_it = found == one(name) || !is_inlined && found.is_empty();
            assert!(is_it, "{function}: {found:?}: {compiler}");
            all.extend(found);
        }
        for name in ["owners::Body", "f64", "(u8, owners::Body)", "owners::T"] {
            assert!(all.contains(name), "{name} in {all:?}: {compiler}");
        }
    });
}

#[test]
fn lines_alone_show_no_types() {
    let rust = "rustc -Copt-level=2 -Cdebuginfo";
    for (source, compilers) in [
        (
            ("owners.rs", RUST_OWNERS),
            [
                format!("{rust}=1"),
                format!("{rust}=line-tables-only -Csymbol-mangling-version=v0"),
            ],
        ),
        (
            ("small.cc", CPP),
            [
                "g++ -O2 -g1".into(),
                "clang++ -O2 -gline-tables-only".into(),
            ],
        ),
    ] {
        let compilers = compilers.each_ref().map(String::as_str);
        with_each(source, &compilers, |binary, compiler| {
            let (module, mut loader) = (module(binary), Loader::new());
            let mut types = loader.block_types().unwrap();
            let functions = ["main", "filled", "collected", "grow_one", "boxed"];
            for address in functions.iter().flat_map(|name| code(binary, name)) {
                let of_block = types.of_block(&[(&module, address)]);
                assert_eq!(of_block, None, "{address:#x}: {compiler}");
                let of_load = types.of_access(&module, address, false);
                assert_eq!(of_load, None, "{address:#x}: {compiler}");
            }
        });
    }
}

const FORTRAN: &str = "\
module grid
  type particle
    real(8) :: x, y
    integer :: kind
  end type
end module
program main
  use grid
  type(particle), allocatable :: particles(:)
  real(4), allocatable :: numbers(:, :)
  integer :: n
  n = command_argument_count() + 3
  allocate(particles(n))
  allocate(numbers(2, n))
  particles(2)%kind = n
  numbers(1, 2) = n
  print *, particles(2)%kind, numbers(1, 2)
end program
";

#[test]
fn blocks_of_fortran_have_the_types_of_their_variables() {
    with_each(
        ("small.f90", FORTRAN),
        &["gfortran -g -O0", "gfortran -g -O2"],
        |binary, compiler| {
            assert_eq!(
                of_line(binary, "MAIN__", 13, &[]),
                one("particle"),
                "{compiler}"
            );
            assert_eq!(
                of_line(binary, "MAIN__", 14, &[]),
                one("real(kind=4)"),
                "{compiler}"
            );
        },
    );
}
