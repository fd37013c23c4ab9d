//! Which language a file was written in, as far as its readers need other advice.

use object::{Object, ObjectSection, ObjectSymbol};

/// What rustc leaves in the section of compilers' names, which stripping keeps.
const RUSTC: &[u8] = b"rustc version";
/// What unwinding calls in Rust: programs of compilers that leave no name still have it.
const PERSONALITY: &[u8] = b"rust_eh_personality";

/// Whether rustc made code of a file.
pub(super) fn is_rust(file: &object::File) -> bool {
    let comment = file.section_by_name(".comment");
    let compilers = comment.and_then(|section| section.data().ok());
    let named = compilers.unwrap_or_default();
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    named.windows(RUSTC.len()).any(|window| window == RUSTC)
        || symbols.any(|symbol| symbol.name_bytes() == Ok(PERSONALITY))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_programs_of_rust_are_of_rust() {
        let is_rust = |path: &str| {
            let bytes = std::fs::read(path).unwrap();
            super::is_rust(&object::File::parse(&*bytes).unwrap())
        };
        assert!(is_rust("/proc/self/exe"));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc = maps.lines().find(|line| line.contains("/libc.so"));
        let Some(libc) = libc.and_then(|line| line.split_whitespace().last()) else {
            reuselens_testing::skip("no libc.so among the libraries");
            return;
        };
        assert!(!is_rust(libc), "{libc}");
    }
}
