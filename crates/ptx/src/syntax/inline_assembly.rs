//! [`with_own_lines`]: lines of source for instructions that a program has as inline assembly.

use std::borrow::Cow;

/// What compilers write around inline assembly.
const BEGIN: &str = "// begin inline asm";
const END: &str = "// end inline asm";

/// The text without the lines of source that LLVM gives the instructions of inline assembly.
///
/// LLVM counts the lines of the assembly on from the line of source that has it: of a load that
/// Triton writes as `mov` and `ld`, the `ld` gets the line after it. Without these `.loc`, all
/// instructions have the line that was set before the assembly. Lines of PTX keep their numbers.
///
/// Cost: a search of the text; a copy of it if there is such a `.loc`.
pub fn with_own_lines(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    // Up to where `out` has the text.
    let mut copied = 0;
    let mut from = 0;
    while let Some(begin) = text[from..].find(BEGIN).map(|at| from + at) {
        let end = text[begin..].find(END).map_or(text.len(), |at| begin + at);
        let mut at = begin;
        for line in text[begin..end].split_inclusive('\n') {
            if line.trim_start().starts_with(".loc") {
                out.push_str(&text[copied..at]);
                copied = at + line.trim_end_matches(['\r', '\n']).len();
            }
            at += line.len();
        }
        from = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_source_inside_inline_assembly_are_left_out() {
        let text = "\t.loc 1 20 9\n// begin inline asm\n\t.loc\t1 20 9 // k.py\nmov.u32 %r1, 0;\r\n\
                    .loc 1 21 9\r\nld.global.b32 %r1, [%rd1];\n// end inline asm\n.loc 1 22 5\nret;\n\
                    // begin inline asm\n.loc 1 23 1\nexit;";
        let own = "\t.loc 1 20 9\n// begin inline asm\n\nmov.u32 %r1, 0;\r\n\
                   \r\nld.global.b32 %r1, [%rd1];\n// end inline asm\n.loc 1 22 5\nret;\n\
                   // begin inline asm\n\nexit;";
        assert_eq!(with_own_lines(text), own);
    }

    #[test]
    fn other_text_is_not_copied() {
        for text in [
            "",
            "ret;\n.loc 1 2 3\n",
            "// begin inline asm\nret;\n// end inline asm\n.loc 1 2 3\n",
        ] {
            assert!(matches!(with_own_lines(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
