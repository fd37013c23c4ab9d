//! A prefix that no name of a module has, for the names of the hooks.

use reuselens_ptx::{Token, TokenKind};

/// The first of `reuselens`, `reuselens1`, `reuselens2`, … with which no name of the file begins
/// that goes on with `_`, whatever marks (`%`, `$`, `_`) are before it.
///
/// `.reg .b32 %a<9>` declares `%a0` to `%a8`, so a name that only begins with the prefix is one too
/// many.
///
/// Cost: a pass over the tokens for each prefix that is tried.
pub fn free_prefix(tokens: &[Token<'_>]) -> String {
    let mut names: Vec<&str> = tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Word)
        .map(|token| token.text.trim_start_matches(['%', '$', '_']))
        .filter(|name| name.starts_with(BASE))
        .collect();
    names.sort_unstable();
    names.dedup();
    let is_free = |prefix: &str| !names.iter().any(|name| name.starts_with(prefix));
    let mut prefix = BASE.to_owned();
    let mut number = 0u64;
    // Each name has finitely many prefixes, so this ends after as many steps as they have digits.
    while !is_free(&format!("{prefix}_")) {
        number += 1;
        prefix = format!("{BASE}{number}");
    }
    prefix
}

const BASE: &str = "reuselens";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_file_are_never_taken() {
        for (text, prefix) in [
            (".reg .b32 %r<4>;", "reuselens"),
            (".reg .b32 %reuselens_r<4>;", "reuselens1"),
            ("$reuselens_L: reuselens1_ring", "reuselens2"),
            ("reuselens1_ring", "reuselens"),
        ] {
            let tokens = reuselens_ptx::tokens(text).unwrap();
            assert_eq!(free_prefix(&tokens), prefix, "{text}");
        }
    }
}
