//! Vector instructions are instructions. In a closure that is not inlined into the function for
//! them (it was `Option::is_some_and` once, for 5 % of a profile), the compiler may not use them,
//! and calls a function for each.

use object::{Object, ObjectSymbol};

#[test]
fn vector_instructions_are_no_calls() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_reuselens")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let names = file.symbols().filter_map(|symbol| symbol.name().ok());
    let (mut engine, mut calls) = (0, Vec::new());
    for name in names {
        engine += usize::from(name.contains("process_counting"));
        // Those of other crates for older instructions are theirs.
        if name.contains("core_arch") && name.contains("_mm") && name.contains("avx") {
            calls.push(name);
        }
    }
    assert!(engine > 0, "the command has no symbols");
    assert!(calls.is_empty(), "{calls:?}");
}
