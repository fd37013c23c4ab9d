//! Types of variables and their fields, from real files of several compilers.

use std::path::Path;

use object::{Object, ObjectSymbol};
use reuselens_attribute::SymbolSource;
use reuselens_profile::DataLayout;
use reuselens_symbols::Loader;

use crate::compiled::{CPP_COMPILERS, build, module, with_each, with_each_damage};

const C: &str = "\
typedef double real;
struct vector { real x, y, z; };
typedef struct {
    int kind;
    struct vector position;
    union { long number; char text[12]; } value;
    unsigned ready : 1, color : 3;
    unsigned char tail : 4;
    struct { short low; short high; };
    struct vector corners[2];
    struct vector *next;
} Entry;
Entry entries[4][8];
real numbers[100];
const char *words[3];
struct list { struct list *next; int length; } list;
enum color { RED, BLUE } colors[5];
int main(void) {
    Entry local[3];
    volatile Entry *at = local;
    at[1].kind = colors[0];
    entries[1][2].kind = at[1].kind + (int)numbers[3];
    return list.length + (words[0] != 0) + entries[1][2].kind;
}
";

const ENTRY: &str = "\
Entry 112
0 4 kind: int
8 8 position.x: real
16 8 position.y: real
24 8 position.z: real
32 12 value.number/text: long/char[12]
48 1 ready/color/tail: unsigned int/unsigned char
50 2 low: short
52 2 high: short
56 48 corners: vector[2]
104 8 next: vector*
";

/// A layout as text: a line for the type, and one for each field with its offset and bytes.
fn text(layout: &DataLayout) -> String {
    let mut text = format!("{} {}\n", layout.name, layout.bytes);
    for field in &layout.fields {
        let (at, bytes) = (field.offset, field.bytes);
        text += &format!("{at} {bytes} {}: {}\n", field.name, field.type_name);
    }
    // The names that compilers give to equal types of C differ.
    text.replace("long int", "long")
        .replace("short int", "short")
}

/// The layout of the static variable whose symbol ends with a name.
fn of_static(path: &Path, name: &str) -> String {
    let (module, mut loader) = (module(path), Loader::new());
    let statics = loader.statics(&module);
    let found = statics.iter().find(|symbol| symbol.name.ends_with(name));
    let found = found.unwrap_or_else(|| panic!("{name} in {statics:?}"));
    let variable = loader.variable(&module, found.low);
    let layout = variable.layout;
    layout.map_or_else(|| "unknown".into(), |layout| text(&layout))
}

/// The layout of the local variable of a function whose name begins with this.
fn of_local(path: &Path, function: &str, name: &str) -> String {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let is_it = |symbol: &object::Symbol| symbol.name() == Ok(function);
    let address = file.symbols().find(is_it).unwrap().address();
    let mut layouts = Loader::new().frame_layouts(&module(path)).unwrap();
    let locals = layouts.at(address).unwrap().locals;
    let found = locals.iter().find(|local| local.name.starts_with(name));
    let found = found.unwrap_or_else(|| panic!("{name} in {locals:?}"));
    let layout = found.layout.as_ref();
    layout.map_or_else(|| "unknown".into(), |layout| text(layout))
}

#[test]
fn fields_of_c_are_those_of_the_source() {
    with_each(
        ("small.c", C),
        &[
            "gcc -O0 -g",
            "gcc -O2 -g",
            "gcc -O2 -gdwarf-3",
            "clang -O0 -g",
            "clang -O2 -gdwarf-4",
        ],
        |binary, compiler| {
            assert_eq!(of_static(binary, "entries"), ENTRY, "{compiler}");
            assert_eq!(of_static(binary, "numbers"), "real 8\n", "{compiler}");
            assert_eq!(of_static(binary, "words"), "char* 8\n", "{compiler}");
            assert_eq!(of_static(binary, "colors"), "color 4\n", "{compiler}");
            let list = "list 16\n0 8 next: list*\n8 4 length: int\n";
            assert_eq!(of_static(binary, "list"), list, "{compiler}");
            if compiler.contains("-O0") {
                let local = of_local(binary, "main", "local in main");
                assert_eq!(local, ENTRY, "{compiler}");
            }
        },
    );
}

#[test]
fn without_debug_information_types_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let Some(binary) = build(folder.path(), ("small.c", C), &["gcc", "-O2", "-g0"]) else {
        return;
    };
    assert_eq!(of_static(&binary, "entries"), "unknown");
}

const CPP: &str = "\
#include <string>
#include <utility>
namespace grid {
struct Empty {};
struct Base { virtual ~Base() {} int id; };
template <class T> struct Point { T x, y; static int count; };
template <class T> int Point<T>::count;
struct Cell : Base, Empty {
    Point<float> center;
    std::pair<int, double> best;
    std::string name;
    const Cell &outer;
    bool is_open;
    struct Inner { long a; };
    Inner inner;
    Cell(const Cell &o) : outer(o) {}
};
struct Late : virtual Base { double own; };
}
alignas(grid::Cell) static char room[2 * sizeof(grid::Cell)];
static grid::Cell cell(*reinterpret_cast<grid::Cell *>(room));
grid::Late late[2];
grid::Point<double> points[7];
int main(int argc, char **) {
    points[argc].x = 1;
    late[argc % 2].own = 2;
    cell.id = argc;
    return grid::Point<float>::count + cell.id + int(points[2].x);
}
";

const CELL: &str = "\
grid::Cell 96
0 8 _vptr.Base: __vtbl_ptr_type*
8 4 id: int
12 4 center.x: float
16 4 center.y: float
24 4 best.first: int
32 8 best.second: double
40 32 name: string
72 8 outer: grid::Cell&
80 1 is_open: bool
88 8 inner.a: long
";

#[test]
fn fields_of_cpp_have_bases_and_arguments_of_templates() {
    with_each(("small.cc", CPP), &CPP_COMPILERS, |binary, compiler| {
        let cell = of_static(binary, "cell").replace("_vptr$Base", "_vptr.Base");
        assert_eq!(cell, CELL, "{compiler}");
        let point = "grid::Point<double> 16\n0 8 x: double\n8 8 y: double\n";
        assert_eq!(of_static(binary, "points"), point, "{compiler}");
        let late = of_static(binary, "late");
        assert!(late.starts_with("grid::Late 32\n"), "{late}");
        assert!(late.ends_with("8 8 own: double\n"), "{late}");
    });
}

const RUST: &str = "\
#[derive(Clone, Copy)]
pub enum Shape { Point, Circle(f64), Rectangle { width: f64, height: f64 } }
pub struct Entry<T> { key: u32, pair: (u8, i64), value: T, name: &'static str, list: Vec<u8> }
pub mod inner { pub struct Cell { pub at: [u16; 5], pub next: Option<Box<Cell>> } }
const NONE: Entry<f32> = Entry { key: 7, pair: (1, 2), value: 3.0, name: \"a\", list: Vec::new() };
#[used]
static mut ENTRIES: [Entry<f32>; 3] = [NONE; 3];
#[used]
static mut SHAPES: [Shape; 9] = [Shape::Circle(1.5); 9];
#[used]
static mut CELLS: [inner::Cell; 4] = [const { inner::Cell { at: [1; 5], next: None } }; 4];
fn main() {
    let i = std::env::args().count();
    unsafe {
        ENTRIES[i].key = i as u32;
        SHAPES[i] = Shape::Rectangle { width: 1.0, height: i as f64 };
        CELLS[i].at[2] = 3;
        let e = &*(&raw const ENTRIES[i]);
        let shape = &*(&raw const SHAPES[i]);
        let area = match shape {
            Shape::Point => 0.0, Shape::Circle(r) => *r, Shape::Rectangle { width, height } => width * height,
        };
        println!(\"{} {:?} {} {} {} {area}\", e.key, e.pair, e.value, e.name, e.list.len());
        println!(\"{}\", (*(&raw const CELLS[i])).next.is_some());
    }
}
";

#[test]
fn fields_of_rust_have_tuples_and_variants() {
    with_each(
        ("small.rs", RUST),
        &[
            "rustc -g -Copt-level=0 --edition=2024",
            "rustc -g -Copt-level=2 --edition=2024",
        ],
        |binary, _| {
            let entries = of_static(binary, "ENTRIES");
            assert!(entries.starts_with("small::Entry<f32> 64\n"), "{entries}");
            for field in [
                " 4 key: u32\n",
                " 1 pair.0: u8\n",
                " 8 pair.1: i64\n",
                " 4 value: f32\n",
                " 16 name: &str\n",
                " 24 list: alloc::vec::Vec<u8, alloc::alloc::Global>\n",
            ] {
                assert!(entries.contains(field), "{field} in {entries}");
            }
            let shapes = "small::Shape 24\n0 8 tag: u64\n\
            8 8 Circle.0/Rectangle.width: f64\n16 8 Rectangle.height: f64\n";
            assert_eq!(of_static(binary, "SHAPES"), shapes);
            let cells = of_static(binary, "CELLS");
            assert!(cells.starts_with("small::inner::Cell 24\n"), "{cells}");
            assert!(cells.contains(" 10 at: u16[5]\n"), "{cells}");
            let next = " 8 next: core::option::Option<alloc::boxed::Box<";
            assert!(cells.contains(next), "{cells}");
        },
    );
}

const FORTRAN: &str = "\
module grid
  type point
    real(8) :: x, y
  end type
  type, extends(point) :: particle
    integer :: kind
    type(point) :: speed
    character(len=6) :: name
    real(4), allocatable :: near(:)
    integer(2) :: last
  end type
  type(particle), save :: particles(2, 50)
  real(8), save :: numbers(10)
end module
program main
  use grid
  integer :: i
  do i = 1, 50
    particles(1, i)%x = i
    particles(2, i)%kind = i
    numbers(1 + mod(i, 10)) = i
  end do
  print *, sum(particles(1, :)%x), sum(particles(2, :)%kind), sum(numbers)
end program
";

#[test]
fn fields_of_fortran_have_parents_and_descriptors() {
    with_each(
        ("small.f90", FORTRAN),
        &["gfortran -g -O0", "gfortran -g -O2"],
        |binary, _| {
            let particle = "particle 120\n0 8 point.x: real(kind=8)\n8 8 point.y: real(kind=8)\n\
            16 4 kind: integer(kind=4)\n24 8 speed.x: real(kind=8)\n32 8 speed.y: real(kind=8)\n\
            40 6 name: character\n48 64 near: real(kind=4)[]\n\
            112 2 last: integer(kind=2)\n";
            assert_eq!(of_static(binary, "particles"), particle);
            let numbers = of_static(binary, "numbers");
            assert_eq!(numbers, "real(kind=8) 8\n");
        },
    );
}

/// A hundred million fields, and structures deeper than any is opened.
#[test]
fn types_of_any_size_cost_little() {
    let mut source = "struct s0 { char a; };\nstruct d0 { char a; };\n".to_owned();
    for level in 1..=8 {
        let members: String = ('a'..='j')
            .map(|name| format!("struct s{} {name}; ", level - 1))
            .collect();
        source += &format!("struct s{level} {{ {members}}};\n");
    }
    for level in 1..=40 {
        source += &format!("struct d{level} {{ struct d{} n; }};\n", level - 1);
    }
    source +=
        "struct s8 many; struct d40 deep; int main(void) { return many.a.b.c.d.a.a.a.a.a; }\n";
    let folder = tempfile::tempdir().unwrap();
    let Some(binary) = build(folder.path(), ("wide.c", &source), &["gcc", "-g"]) else {
        return;
    };
    assert_eq!(of_static(&binary, "many"), "s8 100000000\n");
    assert_eq!(
        of_static(&binary, "deep"),
        "d40 1\n0 1 n.n.n.n.n.n.n.n: d32\n"
    );
}

/// Debug information of a variable whose type `A` has two members of type `A`, and of one whose
/// type is a name for itself.
const CYCLES: &str = r#"
    .data
x:  .zero 16
    .type x, @object
    .size x, 16
y:  .zero 16
    .type y, @object
    .size y, 16
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0x13, 0x0b, 0, 0
    .byte 2, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0
    .byte 3, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0
    .byte 4, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0
    .byte 5, 0x16, 0, 0x03, 0x08, 0x49, 0x13, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
b:  .long e - s
s:  .value 4
    .long 0
    .byte 8
    .byte 1, 0x0c
    .byte 2
    .asciz "x"
    .long A - b
    .byte 9, 3
    .quad x
    .byte 2
    .asciz "y"
    .long T - b
    .byte 9, 3
    .quad y
A:  .byte 3
    .asciz "A"
    .byte 16
    .byte 4
    .asciz "left"
    .long A - b
    .byte 0
    .byte 4
    .asciz "right"
    .long A - b
    .byte 8
    .byte 0
T:  .byte 5
    .asciz "T"
    .long T - b
    .byte 0
e:
    .text
    .globl main
main:
    ret
    .section .note.GNU-stack,"",@progbits
"#;

#[test]
fn types_that_contain_themselves_end() {
    let folder = tempfile::tempdir().unwrap();
    let Some(binary) = build(folder.path(), ("cycles.s", CYCLES), &["gcc"]) else {
        return;
    };
    assert_eq!(of_static(&binary, "x"), "A 16\n0 16 left/right: A\n");
    assert_eq!(of_static(&binary, "y"), "unknown");
}

/// Random bytes in the place of some of the debug information.
#[test]
fn damaged_debug_information_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let Some(binary) = build(folder.path(), ("small.c", C), &["gcc", "-g"]) else {
        return;
    };
    let whole = std::fs::read(&binary).unwrap();
    let file = object::File::parse(&*whole).unwrap();
    let main = file.symbols().find(|symbol| symbol.name() == Ok("main"));
    let main = main.unwrap().address();
    let mut known = 0;
    with_each_damage(&binary, &[".debug_info", ".debug_abbrev"], || {
        let (module, mut loader) = (module(&binary), Loader::new());
        for symbol in loader.statics(&module) {
            known += u32::from(loader.variable(&module, symbol.low).layout.is_some());
        }
        if let Some(mut layouts) = loader.frame_layouts(&module) {
            layouts.at(main);
        }
    });
    assert!(known > 0);
}
