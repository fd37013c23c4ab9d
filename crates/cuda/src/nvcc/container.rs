//! [`fat_binary`]: PTX in the container that programs embed, and [`undefined`]: what the PTX
//! misses.

use crate::fatbin_head::{PTX, container};

/// A fat binary with one image: this PTX, as it is.
pub fn fat_binary(ptx: &str, architecture: u32) -> Vec<u8> {
    container(&[(PTX, architecture, ptx.as_bytes())])
}

/// Functions of CUDA's run time, and what tables of virtual functions have in place of a function
/// that no class defines: they need no body.
const RUN_TIME: [&str; 7] = [
    "vprintf",
    "malloc",
    "free",
    "__assertfail",
    "__assert_fail",
    "__cxa_pure_virtual",
    "__cxa_deleted_virtual",
];

/// Functions that PTX declares and does not define, by their names in the source.
pub fn undefined(ptx: &str) -> Vec<String> {
    let declared = ptx.match_indices(".extern .func");
    let mut names: Vec<String> = declared
        .filter_map(|(at, head)| function_name(&ptx[at + head.len()..]))
        .filter(|name| !RUN_TIME.contains(&name.as_str()))
        .map(|name| match name.strip_prefix("__nv_") {
            // A function of mathematics.
            Some(name) => name.to_owned(),
            None => reuselens_ptx::readable(&name),
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The name in a declaration: after the results in brackets, if there are any.
fn function_name(declaration: &str) -> Option<String> {
    let rest = declaration.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(results) => results.split_once(')')?.1.trim_start(),
        None => rest,
    };
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    Some(rest[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::FatBinary;

    #[test]
    fn ptx_is_read_back() {
        for length in 0..20 {
            let text = format!(".version 7.8\n{}", "x".repeat(length));
            let bytes = fat_binary(&text, 90);
            let read = FatBinary::read(&bytes).unwrap();
            assert_eq!(read.images[0].architecture, 90);
            assert_eq!(read.ptx().unwrap(), text);
        }
    }

    #[test]
    fn functions_without_a_body_are_named() {
        let text = "
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0,
.extern .func  (.param .b64 func_retval0) __nv_j0
.extern .func _Z5outerPf
(
.extern .func __cxa_pure_virtual
.visible .func  (.param .b32 func_retval0) _Z4heref(
";
        assert_eq!(undefined(text), ["j0", "outer(float*)"]);
    }
}
