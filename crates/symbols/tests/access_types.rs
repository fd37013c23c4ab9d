//! Types of data by the instructions that access them, from real files of several compilers.

use std::collections::BTreeSet;
use std::path::Path;

use reuselens_attribute::SymbolSource;
use reuselens_symbols::Loader;

use crate::compiled::{CPP_COMPILERS, build, code, module, with_each, with_each_damage};

/// What the instructions of a line of a function access: the types with the fields.
fn of_line(path: &Path, function: &str, line: u32) -> BTreeSet<String> {
    let (module, mut loader) = (module(path), Loader::new());
    let mut types = loader.block_types().unwrap();
    let mut found = BTreeSet::new();
    for address in code(path, function) {
        let frames = loader.frames(&module, address);
        if !frames.iter().any(|frame| frame.line == line) {
            continue;
        }
        for writes in [false, true] {
            let Some(accessed) = types.of_access(&module, address, writes) else {
                continue;
            };
            let layout = &accessed.layout;
            let is_at = |at: u64| {
                let mut fields = layout.fields.iter();
                fields.find(|it| it.offset <= at && at < it.offset + it.bytes)
            };
            let field = match accessed.offset {
                Some(offset) => is_at(offset.into()).map_or("", |field| &field.name),
                None => "?",
            };
            found.insert(format!("{}.{field}", layout.name));
        }
    }
    found
}

const C: &str = "\
#include <stddef.h>
struct node { struct node *next; long key; int marks[3]; float weight; };
struct pool { size_t used; struct node *nodes; struct node *table[4]; };
struct pool pool;
long walk(struct node *list) {
  long sum = 0;
  for (struct node *n = list; n; n = n->next)
    sum += n->key;
  return sum;
}
float weigh(struct node *nodes, int count) {
  float sum = 0;
  for (int i = 0; i < count; i++)
    sum += nodes[i].weight;
  return sum;
}
void mark(int bucket, int value) {
  struct node *n = pool.table[bucket];
  n->marks[value & 1] = value;
  pool.nodes->next->key = value;
}
char *bytes(char *from, void *to) {
  struct node *n = to;
  n->weight = from[3];
  return from + n->key;
}
int main(int argc, char **argv) {
  mark(argc, 3);
  return walk(pool.nodes) + weigh(pool.nodes, argc) + *bytes(argv[0], pool.nodes);
}
";

/// The fields that the lines of a function access, but for its own variables and for numbers.
fn of_lines(path: &Path, function: &str, lines: std::ops::Range<u32>) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for line in lines {
        let all = of_line(path, function, line);
        let of_structures = all.into_iter().filter(|name| !name.ends_with('.'));
        found.extend(of_structures.map(|name| (line, name)));
    }
    found
}

fn named(list: &[(u32, &str)]) -> Vec<(u32, String)> {
    let named = |&(line, name): &(u32, &str)| (line, name.to_owned());
    list.iter().map(named).collect()
}

#[test]
fn instructions_of_c_access_fields() {
    with_each(
        ("small.c", C),
        &[
            "gcc -O0 -g",
            "gcc -O1 -g",
            "gcc -O2 -g",
            "gcc -O2 -gdwarf-4",
            "clang -O0 -g",
            "clang -O2 -g",
            "clang -O2 -gdwarf-4",
        ],
        |binary, compiler| {
            let of = |function| of_lines(binary, function, 5..29);
            let list = named(&[(7, "node.next"), (8, "node.key")]);
            assert_eq!(of("walk"), list, "{compiler}");
            let weigh = of("weigh");
            assert_eq!(weigh, named(&[(14, "node.weight")]), "{compiler}");
            let mark = of("mark");
            // Of the array, the instruction may have the index of its first element in the index.
            assert!(
                mark.iter()
                    .any(|(line, field)| *line == 19 && field.starts_with("node."))
            );
            for (line, field) in [(20, "pool.nodes"), (20, "node.next")] {
                let field = (line, field.to_owned());
                assert!(mark.contains(&field), "{field:?} in {mark:?}: {compiler}");
            }
            let bytes = named(&[(24, "node.weight"), (25, "node.key")]);
            assert_eq!(of("bytes"), bytes, "{compiler}");
        },
    );
}

const TAILS: &str = "\
#include <stddef.h>
struct vec { size_t len; long data[]; };
struct string { size_t len; char data[]; };
struct old { size_t len; long data[1]; };
struct head { size_t used, room; };
long of_vec(struct vec *v) {
  long sum = 0;
  for (size_t i = 0; i < v->len; i++)
    sum += v->data[i];
  return sum;
}
long of_string(struct string *s, size_t at) {
  return s->len
    + s->data[at];
}
long of_old(struct old *o, size_t at) {
  return o->len
    + o->data[at];
}
long of_head(struct head *h, size_t at) {
  return h->used
    + ((long *)(h + 1))[at];
}
int main(int argc, char **argv) {
  long space[4] = {1, argc, 2, 3};
  void *to = space;
  return of_vec(to) + of_string(to, argc) + of_old(to, argc) + of_head(to, argc) + !argv;
}
";

#[test]
fn data_behind_a_structure_are_none_of_its_fields() {
    let compilers = ["gcc -O0 -g", "gcc -O2 -fno-inline -g", "clang -O0 -g"];
    let compilers = [&compilers[..], &["clang -O2 -fno-inline -g"]].concat();
    with_each(("tails.c", TAILS), &compilers, |binary, compiler| {
        let (module, mut loader) = (module(binary), Loader::new());
        let mut types = loader.block_types().unwrap();
        for (function, kind) in [
            ("of_vec", "vec"),
            ("of_string", "string"),
            ("of_old", "old"),
        ] {
            let mut accessed = code(binary, function).into_iter();
            let mut of = |address| types.of_access(&module, address, false);
            let found =
                accessed.find_map(|address| of(address).filter(|it| it.layout.name == kind));
            let found = found.unwrap_or_else(|| panic!("no {kind}: {compiler}"));
            assert!(found.has_tail, "{kind}: {compiler}");
        }
        // Without optimisation, gcc adds the bytes of the head to the index.
        if compiler.contains("-O2") {
            for address in code(binary, "of_head") {
                let accessed = types.of_access(&module, address, false);
                let behind = accessed.filter(|it| it.is_indexed && it.layout.name == "head");
                assert_eq!(behind.and_then(|it| it.offset), None, "{compiler}");
            }
        }
    });
}

#[test]
fn without_debug_information_nothing_is_known() {
    with_each(("small.c", C), &["gcc -O2"], |binary, _| {
        for function in ["walk", "weigh", "mark", "bytes"] {
            assert_eq!(of_lines(binary, function, 0..100), []);
        }
        let (module, mut loader) = (module(binary), Loader::new());
        let mut types = loader.block_types().unwrap();
        for address in code(binary, "walk") {
            assert_eq!(types.of_access(&module, address, false), None);
        }
    });
}

const CPP: &str = "\
#include <memory>
#include <vector>
namespace grid {
struct Base { virtual ~Base() {} int id; };
struct Cell : Base { double x, y; Cell *next; };
struct Owner { std::unique_ptr<Cell> cell; };
}
static inline double second(const grid::Cell &cell) {
  return cell.next->y;
}
__attribute__((noinline)) double sum(std::vector<grid::Cell> &cells, grid::Owner *owner) {
  double sum = 0;
  for (auto &cell : cells)
    sum += cell.x;
  sum += second(cells[0]);
  sum += owner->cell->id;
  return sum;
}
int main(int argc, char **) {
  std::vector<grid::Cell> cells(argc);
  grid::Owner owner{std::make_unique<grid::Cell>()};
  cells[0].next = owner.cell.get();
  return int(sum(cells, &owner));
}
";

#[test]
fn instructions_of_cpp_access_fields_of_references_and_iterators() {
    with_each(("small.cc", CPP), &CPP_COMPILERS, |binary, compiler| {
        let has = |function: &str, field: &str| {
            let mut lines = 8..19;
            let found = lines.any(|line| of_line(binary, function, line).contains(field));
            assert!(found, "{field} in {function}: {compiler}");
        };
        // Optimisers move instructions to other lines.
        has("sum", "grid::Cell.x");
        if compiler.contains("-O0") {
            has("second", "grid::Cell.next");
            has("second", "grid::Cell.y");
        }
    });
}

const RUST: &str = "\
pub struct Node { pub value: f64, pub kind: u32, pub next: Option<Box<Node>> }
#[inline(never)]
pub fn walk(list: &Node) -> f64 {
    let mut sum = 0.0;
    let mut at = Some(list);
    while let Some(node) = at {
        sum += node.value;
        at = node.next.as_deref();
    }
    sum
}
#[inline(never)]
pub fn kinds(nodes: &[Node]) -> u32 {
    let mut sum = 0;
    for node in nodes {
        sum += node.kind;
    }
    sum
}
fn main() {
    let n = std::env::args().count();
    let node = |i: usize| Node { value: i as f64, kind: i as u32, next: None };
    let nodes: Vec<Node> = (0..n + 3).map(node).collect();
    println!(\"{} {}\", walk(&nodes[0]), kinds(&nodes));
}
";

#[test]
fn instructions_of_rust_access_fields_of_references() {
    with_each(
        ("small.rs", RUST),
        &["rustc -g -Copt-level=0", "rustc -g -Copt-level=2"],
        |binary, compiler| {
            let has = |function: &str, line: u32, field: &str| {
                let found = of_line(binary, function, line);
                assert!(found.contains(field), "{field} in {found:?}: {compiler}");
            };
            has("walk", 7, "small::Node.value");
            // Without optimisation, the reference is in a place that no variable is.
            if compiler.contains("level=2") {
                has("kinds", 16, "small::Node.kind");
            }
        },
    );
}

const FORTRAN: &str = "\
module grid
  type particle
    real(8) :: x, y
    integer :: kind
  end type
contains
  subroutine advance(one, count)
    type(particle), intent(inout) :: one
    integer, intent(in) :: count
    one%y = one%y + count
    one%kind = count
  end subroutine
end module
program main
  use grid
  type(particle) :: one
  one%y = 1
  call advance(one, command_argument_count())
  print *, one%y, one%kind
end program
";

#[test]
fn instructions_of_fortran_access_fields_of_arguments() {
    with_each(
        ("small.f90", FORTRAN),
        &["gfortran -g -O0", "gfortran -g -O2 -fno-inline"],
        |binary, compiler| {
            let found = of_line(binary, "advance", 10);
            assert!(found.contains("particle.y"), "{found:?}: {compiler}");
            let found = of_line(binary, "advance", 11);
            assert!(found.contains("particle.kind"), "{found:?}: {compiler}");
        },
    );
}

/// Random bytes in the place of some of the debug information, and of the code.
#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let Some(binary) = build(folder.path(), ("small.c", C), &["gcc", "-O2", "-g"]) else {
        return;
    };
    let addresses = ["walk", "weigh", "mark", "bytes"].map(|name| code(&binary, name));
    let sections = [".debug_info", ".debug_abbrev", ".debug_loclists", ".text"];
    let mut known = 0;
    with_each_damage(&binary, &sections, || {
        let (module, mut loader) = (module(&binary), Loader::new());
        let mut types = loader.block_types().unwrap();
        for address in addresses.iter().flatten() {
            known += u32::from(types.of_access(&module, *address, false).is_some());
        }
    });
    assert!(known > 0);
}
