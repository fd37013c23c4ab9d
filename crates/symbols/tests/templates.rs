//! Types of blocks that templates of C++ allocate, from real files of several compilers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reuselens_attribute::SymbolSource;
use reuselens_symbols::Loader;

use crate::compiled::{build, code, module, with_each, with_each_damage};

/// Without optimisation and with it, with functions inlined and not.
const COMPILERS: [&str; 8] = [
    "g++ -O0 -g",
    "g++ -O1 -g",
    "g++ -O2 -g",
    "g++ -O3 -g -gdwarf-4",
    "clang++ -O0 -g",
    "clang++ -O1 -g",
    "clang++ -O2 -g -gdwarf-4",
    "clang++ -O3 -g",
];

/// The name of a test's source.
const SOURCE: &str = "small.cc";

/// The types of the blocks that the code of each line of the source would allocate; without a type,
/// an empty text. The line is that of the innermost frame in the source.
fn by_line(path: &Path) -> BTreeMap<u32, BTreeSet<String>> {
    let (module, mut loader) = (module(path), Loader::new());
    let mut types = loader.block_types().unwrap();
    let mut found: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for address in code(path, "") {
        let frames = loader.frames(&module, address);
        let own = frames.iter().find(|frame| frame.file.ends_with(SOURCE));
        let Some(own) = own else { continue };
        let layout = types.of_block(&[(&module, address)]);
        let name = layout.map_or_else(String::new, |layout| layout.name.clone());
        found.entry(own.line).or_default().insert(name);
    }
    found
}

/// Builds a source, and compares the types of the lines that end in a comment with those that the
/// comment names: `//! double | float`.
fn check(source: &str, compilers: &[&str]) {
    with_each((SOURCE, source), compilers, |binary, compiler| {
        let found = by_line(binary);
        for (line, text) in (1..).zip(source.lines()) {
            let Some((_, expected)) = text.split_once("//! ") else {
                continue;
            };
            let names = expected.split(" | ").map(|it| it.replace("none", ""));
            let of_line = found.get(&line).cloned().unwrap_or_default();
            assert_eq!(of_line, names.collect(), "{text}: {compiler}");
        }
    });
}

/// What all sources begin with. The compilers leave out types that no variable has.
const HEAD: &str = "\
#include <cstdlib>
#include <memory>
#include <new>
#define APART __attribute__((noinline))
void *sink[99];
int last;
APART void keep(void *block) { sink[last++ % 99] = block; }
struct T { char name[7]; } sample;
";

const ARRAYS: &str = "\
namespace tnt {
template <class T> class Array {
  T *data_;
public:
  Array(int n);
  void inside(int n) {
    keep(new T[n]); //! double | float | int
  }
  void nothrow(int n) {
    keep(new (std::nothrow) T[n]); //! double | float | int
  }
  template <class U> void other(int n);
};
template <class T>
Array<T>::Array(int n) // With a comment: {
{
  data_ = new T[n]; //! double | float | int
  keep(data_);
}
// The parameters have other names than in the class.
template <class V> template <class U>
void Array<V>::other(int n) {
  keep(new U[n]); //! T | char
  keep(new V[n]); //! double | float
}
}
template <typename Item> void get(int n) {
  Item *block = (Item *)malloc(n * sizeof(Item)); //! double | T
  keep(block);
  keep(std::calloc(n, sizeof(Item))); //! double | T
  keep(static_cast<Item *>(std::malloc(n * 8))); //! double | T
  keep(new Item *[n]); //! pointer
}
template <class T, int N> struct Sized { T all[N]; };
template <class T, int N, class... More> void sized(int n) {
  keep(new T[n]); //! double | float
  auto *both = new Sized<T, N>[n]; keep(both); //! Sized<double, 3> | Sized<float, 4>
}
template <class T> void lambda(int n) {
  auto make = [=](int more) {
    keep(new T[n + more]); //! double | int
  };
  make(n);
}
void plain(int n) {
  keep(new T[n]); //! T
}
int main(int argc, char **) {
  int n = argc;
  tnt::Array<double> a(n); tnt::Array<float> b(n); tnt::Array<int> c(n);
  a.inside(n); b.inside(n); c.inside(n);
  a.nothrow(n); b.nothrow(n); c.nothrow(n);
  a.other<T>(n); b.other<char>(n);
  get<double>(n); get<T>(n);
  sized<double, 3, int>(n); sized<float, 4, int, char>(n);
  lambda<double>(n); lambda<int>(n);
  plain(n);
}
";

#[test]
fn parameters_of_templates_are_their_arguments() {
    check(&format!("{HEAD}{ARRAYS}"), &COMPILERS);
}

const MEMBERS: &str = "\
struct Node { double own; } node;
template <class K, class V> struct Pair { K key; V value; };
namespace far { template <class K, class V> struct Pair { K key, more; V value; }; }
template <class T> struct Traits {
  typedef T type;
  struct Item { T one, two; } item;
  typedef Pair<T, int> Both;
};
template <class T> class List {
  struct Node { T value; Node *next; };
  typedef T value_type;
  using Both = Pair<T, T>;
  using Number = int;
  Node *head = nullptr;
  Both *both = nullptr;
  Traits<T> *traits = nullptr;
public:
  void push(T value) {
    head = new Node{value, head}; //! List<double>::Node | List<float>::Node
    keep(head);
  }
  void fill(int n) {
    both = new Both[n]; keep(both); //! Pair<double, double> | Pair<float, float>
    keep(new value_type[n]); //! double | float
    keep(new Number[n]); //! int
    auto *pairs = new Pair<T, int>[n]; keep(pairs); //! Pair<double, int> | Pair<float, int>
    auto *far = new far::Pair<T, int>[n]; keep(far); //! far::Pair<double, int> | far::Pair<float, int>
    keep(new typename Traits<T>::type[n]); //! double | float
    keep(new typename Traits<T>::Item[n]); //! Traits<double>::Item | Traits<float>::Item
    keep(new typename Traits<T>::Both); //! Pair<double, int> | Pair<float, int>
    keep(new List); //! List<double> | List<float>
    keep(new List<T>); //! List<double> | List<float>
    keep(malloc(n * sizeof(Node))); //! List<double>::Node | List<float>::Node
  }
};
template <class Policy> struct Store {
  Policy policy;
  APART void fill(int n) {
    keep(new typename Policy::type[n]); //! int | char
    keep(new typename Policy::Item[n]); //! Traits<int>::Item | Traits<char>::Item
  }
};
int main(int argc, char **) {
  List<double> a; List<float> b;
  a.push(argc); b.push(argc); a.fill(argc); b.fill(argc);
  Store<Traits<int>> c; Store<Traits<char>> d;
  c.fill(argc); d.fill(argc);
  keep(&a); keep(&b); keep(&c); keep(&d);
}
";

#[test]
fn types_that_classes_declare_are_those_of_their_templates() {
    check(&format!("{HEAD}{MEMBERS}"), &COMPILERS);
}

const SPECIAL: &str = "\
template <class T> struct Special { void f(int n) {
    keep(new T[n]); //! double
  } };
template <class T> struct Special<T *> { void f(int n) {
    keep(new T[n]); //! none
  } };
template <> struct Special<int> { void f(int n) {
    keep(new T[n]); //! T
  } };
template <class A, class B> struct Swapped { void f(int n); };
template <class B, class A> void Swapped<B, A>::f(int n) {
  keep(new A[n]); //! float
  keep(new B[n]); //! double
}
template <class T> struct Member { void f(int n); };
template <> void Member<double>::f(int n) {
  keep(new T[n]); //! T
}
template <class T> void Member<T>::f(int n) {
  keep(new T[n]); //! float
}
template <class T> void function(int n) {
  keep(new T[n]); //! double
}
template <> void function<int>(int n) {
  keep(new T[n]); //! T
}
int main(int argc, char **) {
  int n = argc;
  Special<double>().f(n); Special<double *>().f(n); Special<int>().f(n);
  Swapped<double, float>().f(n);
  Member<double>().f(n); Member<float>().f(n);
  function<double>(n); function<int>(n);
}
";

#[test]
fn parameters_of_specializations_are_not_those_of_the_template() {
    check(&format!("{HEAD}{SPECIAL}"), &COMPILERS);
}

const HIDDEN: &str = "\
struct Base { typedef char Elem; };
template <class Elem> struct Derived : Base { void f(int n) {
    keep(new Elem[n]); //! none
  } };
template <class Elem> struct Generic { Elem value; };
template <class Elem> struct Specific : Generic<Elem> { void f(int n) {
    keep(new Elem[n]); //! double
  } };
template <class E> struct Outer {
  typedef E Cell;
  struct Inner {
    typedef char Cell;
    void f(int n) {
      keep(new Cell[n]); //! char
      keep(new E[n]); //! double | float
    }
  };
};
template <class E> struct Local {
  typedef E Cell;
  void f(int n) {
    typedef char Cell;
    keep(new Cell[n]); //! none
  }
  void g(int n) {
    { typedef char Cell; Cell one[3] = {}; keep(one); }
    keep(new Cell[n]); //! none
  }
};
template <class T> struct Befriended {
  T *all;
  friend void befriended(Befriended &one, int n) {
    one.all = nullptr;
    keep(new T[n]); //! none
  }
};
#define TEMPLATE template <class T>
TEMPLATE struct Macro { void f(int n) {
    keep(new T[n]); //! none
  } };
#ifdef OTHER
template <class T, class U>
#else
template <class U, class T>
#endif
struct Conditional { void f(int n) {
    keep(new T[n]); //! none
  } };
template <class T> void pointers(int n) {
  keep(new Generic<T *>[n]); //! none
}
int main(int argc, char **) {
  int n = argc;
  Derived<double>().f(n); Specific<double>().f(n);
  Outer<double>::Inner().f(n); Outer<float>::Inner().f(n);
  Local<double>().f(n); Local<double>().g(n);
  Befriended<double> friends; befriended(friends, n);
  Macro<double>().f(n); Conditional<double, int>().f(n);
  Generic<T *> generic{&sample}; keep(&generic); pointers<double>(n);
}
";

#[test]
fn names_that_others_may_hide_have_no_type() {
    check(&format!("{HEAD}{HIDDEN}"), &COMPILERS);
}

const FOLDED: &str = "\
namespace {
template <class T> APART void make(int n) {
  keep(malloc(n * sizeof(T))); //! none
}
struct A { double x, y; } a;
struct B { long x, y; } b;
}
int main(int argc, char **) {
  make<A>(argc); make<B>(argc);
  keep(&a); keep(&b);
}
";

#[test]
fn functions_with_equal_code_that_is_one_have_no_type() {
    let source = format!("{HEAD}{FOLDED}");
    for compiler in ["g++ -O2 -g", "g++ -O2 -g -flto"] {
        with_each((SOURCE, &source), &[compiler], |binary, _| {
            let code = code(binary, "make");
            let distinct: BTreeSet<&u64> = code.iter().collect();
            if distinct.len() == code.len() {
                reuselens_testing::skip("the compiler leaves equal functions apart");
                return;
            }
            check(&source, &[compiler]);
        });
    }
}

const UNIQUE: &str = "\
template <typename Item> APART void unique(int n) {
  auto block = std::make_unique<Item[]>(n);
  keep(block.release());
}
int main(int argc, char **) { unique<T>(argc); unique<double>(argc); }
";

#[test]
fn functions_of_the_library_show_what_they_make() {
    let source = format!("{HEAD}{UNIQUE}");
    with_each((SOURCE, &source), &COMPILERS, |binary, compiler| {
        let (module, mut loader) = (module(binary), Loader::new());
        let mut types = loader.block_types().unwrap();
        // Its own code, and that of functions into which it is inlined.
        let code = ["make_unique", "unique"].map(|name| code(binary, name));
        let layouts = code.iter().flatten();
        let layouts = layouts.filter_map(|address| types.of_block(&[(&module, *address)]));
        let found: BTreeSet<String> = layouts.map(|layout| layout.name.clone()).collect();
        let expected: BTreeSet<String> = ["T", "double"].map(str::to_owned).into();
        assert_eq!(found, expected, "{compiler}");
    });
}

#[test]
fn damaged_debug_information_of_templates_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{HEAD}{MEMBERS}");
    for compiler in [["g++", "-O1", "-g"], ["clang++", "-O0", "-g"]] {
        let Some(binary) = build(folder.path(), (SOURCE, &source), &compiler) else {
            continue;
        };
        let code = code(&binary, "fill");
        let sections = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_line"];
        let mut found = 0;
        with_each_damage(&binary, &sections, || {
            let (module, mut loader) = (module(&binary), Loader::new());
            let mut types = loader.block_types().unwrap();
            let calls = code.iter().step_by(7);
            let all = calls.filter_map(|address| types.of_block(&[(&module, *address)]));
            found += all.count();
        });
        assert!(found > 0, "{compiler:?}");
    }
}
