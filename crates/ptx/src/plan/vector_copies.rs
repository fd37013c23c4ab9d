//! [`copies_as_vectors`]: copies of aligned structures as loads and stores of vectors, between
//! clang's two halves.
//!
//! `b[t] = a[t]` of `float4` is one access of 16 bytes to nvcc. clang leaves a copy of memory, of
//! which its code generator makes two loads and two stores of 8 bytes: twice the requests, each
//! with every second half of its sectors. So kernels are compiled to clang's intermediate code
//! first, copies in it are replaced, and the rest of clang makes PTX of that.

use std::fmt::Write as _;

/// clang's options for the second half: PTX from intermediate code that is optimised already.
/// `contracts`: whether a multiplication and an addition may become one, which `-ffp-contract` said
/// to the first half, and which is not kept in its code.
pub fn from_ir(contracts: bool) -> [&'static str; 9] {
    let level = ["-nvptx-fma-level=0", "-nvptx-fma-level=2"][usize::from(contracts)];
    [
        "--target=nvptx64-nvidia-cuda",
        "-x",
        "ir",
        "-S",
        "-O3",
        "-Xclang",
        "-disable-llvm-passes",
        "-mllvm",
        level,
    ]
}

/// Bytes of the widest access.
const VECTOR: u64 = 16;
/// Of larger copies the code generator makes loops.
const MOST: u64 = 128;

/// One side of a copy: its type with the address space, and the pointer.
struct MemcpySide<'a> {
    kind: &'a str,
    pointer: &'a str,
}

/// A copy of whole vectors.
struct Copy<'a> {
    to: MemcpySide<'a>,
    from: MemcpySide<'a>,
    bytes: u64,
    /// A note of its line in the source.
    line: String,
}

/// Intermediate code of clang 17 and newer, as text, in which copies of 16 bytes or a multiple
/// (128 at most), aligned to 16 on both sides, are loads and stores of vectors. All else stays as
/// it is.
pub fn copies_as_vectors(ir: &str) -> String {
    let mut text = String::with_capacity(ir.len());
    for (number, line) in ir.split_inclusive('\n').enumerate() {
        match copy(line) {
            Some(copy) => write_vectors(&mut text, &copy, number),
            None => text.push_str(line),
        }
    }
    text
}

/// The copy of a line, if it is one that has to be replaced.
fn copy(line: &str) -> Option<Copy<'_>> {
    let call = line.trim_start();
    let call = call.strip_prefix("tail ").unwrap_or(call);
    let rest = call.strip_prefix("call void @llvm.memcpy.")?;
    let (arguments, notes) = in_brackets(&rest[rest.find('(')?..])?;
    let [to, from, bytes, is_volatile] = parts(arguments)[..] else {
        return None;
    };
    let bytes = bytes.trim().strip_prefix("i64 ")?.parse().ok()?;
    let is_whole = bytes > 0 && bytes % VECTOR == 0 && bytes <= MOST;
    if !is_whole || is_volatile.trim() != "i1 false" {
        return None;
    }
    // Its line in the source; the other notes are about calls alone.
    let line = notes.split(", ").find(|note| note.starts_with("!dbg "));
    Some(Copy {
        to: side(to)?,
        from: side(from)?,
        bytes,
        line: line.map_or(String::new(), |line| format!(", {}", line.trim_end())),
    })
}

/// What is within the bracket with which a text begins, and what comes after it.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some((&text[1..at], &text[at + 1..]));
        }
    }
    None
}

/// Arguments: what commas outside of brackets part.
fn parts(text: &str) -> Vec<&str> {
    let mut open = 0;
    let outside = move |letter: char| {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        letter == ',' && open == 0
    };
    text.split(outside).collect()
}

/// A side that is aligned to a vector: `ptr addrspace(3) noundef align 16 %4`.
fn side(text: &str) -> Option<MemcpySide<'_>> {
    let text = text.trim();
    let mut kind = "ptr".len();
    let mut rest = text.strip_prefix("ptr")?.trim_start();
    if rest.starts_with("addrspace(") && !rest.contains(" to ptr") {
        kind = text.find(')')? + 1;
        rest = text[kind..].trim_start();
    }
    // Attributes come before the pointer, which is the first word that is none.
    let mut alignment = 1;
    loop {
        let (word, others) = rest.split_once(' ').unwrap_or((rest, ""));
        if word == "align" {
            let (number, after) = others.split_once(' ')?;
            alignment = number.parse().ok()?;
            rest = after;
        } else if is_attribute(word) {
            rest = others;
        } else {
            break;
        }
    }
    let is_pointer = ["%", "@", "getelementptr ", "addrspacecast "]
        .iter()
        .any(|begin| rest.starts_with(begin));
    let is_fit = alignment % VECTOR == 0 && is_pointer;
    is_fit.then_some(MemcpySide {
        kind: &text[..kind],
        pointer: rest,
    })
}

fn is_attribute(word: &str) -> bool {
    let name = word.split('(').next().unwrap_or(word);
    matches!(
        name,
        "noundef"
            | "nonnull"
            | "noalias"
            | "nocapture"
            | "captures"
            | "readonly"
            | "writeonly"
            | "dereferenceable"
            | "dereferenceable_or_null"
    )
}

/// All loads before all stores: a structure may be copied onto itself. Names, unlike numbers, need
/// no order among the values of a function.
fn write_vectors(text: &mut String, copy: &Copy<'_>, number: usize) {
    let Copy {
        to,
        from,
        bytes,
        line,
    } = copy;
    let place = |text: &mut String, side: &MemcpySide<'_>, name: &str, at: u64| {
        if at == 0 {
            return format!("{} {}", side.kind, side.pointer);
        }
        let step = format!("%copy.{number}.{name}.{at}");
        let (kind, pointer) = (side.kind, side.pointer);
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "  {step} = getelementptr i8, {kind} {pointer}, i64 {at}{line}"
        );
        format!("{kind} {step}")
    };
    for at in (0..*bytes).step_by(VECTOR as usize) {
        let from = place(text, from, "from", at);
        let value = format!("%copy.{number}.{at}");
        let _ = writeln!(
            text,
            "  {value} = load <4 x i32>, {from}, align {VECTOR}{line}"
        );
    }
    for at in (0..*bytes).step_by(VECTOR as usize) {
        let to = place(text, to, "to", at);
        let value = format!("%copy.{number}.{at}");
        let _ = writeln!(
            text,
            "  store <4 x i32> {value}, {to}, align {VECTOR}{line}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 16 \
                        dereferenceable(16) %10, ptr noundef align 16 %9, i64 16, i1 false), \
                        !dbg !24, !tbaa.struct !25\n";

    #[test]
    fn copy_of_one_vector_is_a_load_and_a_store() {
        assert_eq!(
            copies_as_vectors(CALL),
            "  %copy.0.0 = load <4 x i32>, ptr %9, align 16, !dbg !24\n  \
             store <4 x i32> %copy.0.0, ptr %10, align 16, !dbg !24\n"
        );
    }

    #[test]
    fn larger_copies_are_several_in_the_spaces_of_their_pointers() {
        let text = "call void @llvm.memcpy.p3.p0.i64(ptr addrspace(3) align 32 %a, ptr align 16 \
                    getelementptr inbounds ([4 x %struct.s], ptr @x, i64 0, i64 1), i64 32, i1 \
                    false) #4\n";
        let from = "ptr getelementptr inbounds ([4 x %struct.s], ptr @x, i64 0, i64 1)";
        assert_eq!(
            copies_as_vectors(text),
            format!(
                "  %copy.0.0 = load <4 x i32>, {from}, align 16\n  \
                 %copy.0.from.16 = getelementptr i8, {from}, i64 16\n  \
                 %copy.0.16 = load <4 x i32>, ptr %copy.0.from.16, align 16\n  \
                 store <4 x i32> %copy.0.0, ptr addrspace(3) %a, align 16\n  \
                 %copy.0.to.16 = getelementptr i8, ptr addrspace(3) %a, i64 16\n  \
                 store <4 x i32> %copy.0.16, ptr addrspace(3) %copy.0.to.16, align 16\n"
            )
        );
    }

    #[test]
    fn other_copies_stay_as_they_are() {
        for (old, new) in [
            ("i64 16", "i64 24"),
            ("i64 16", "i64 0"),
            ("i64 16", "i64 144"),
            ("i64 16", "i64 %3"),
            ("i1 false", "i1 true"),
            ("align 16 %9", "align 8 %9"),
            ("align 16 %9", "%9"),
            ("align 16 %9", "align 16 sret(%t) %9"),
            ("memcpy", "memmove"),
            ("i1 false)", "i1 false"),
        ] {
            let text = CALL.replace(old, new);
            assert_ne!(text, CALL);
            assert_eq!(copies_as_vectors(&text), text);
        }
    }
}
