//! Names of kernels: the mangled name in PTX as C++ writes it, and whether a name that a user typed
//! means a kernel.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name with its parameters, as C++ writes it: `scale<float>(float*, int)`. Names that are not
/// mangled stay.
pub fn readable(name: &str) -> String {
    demangled(name, DemangleOptions::new()).unwrap_or_else(|| name.to_owned())
}

/// The name without its parameters: `scale<float>`. Names that are not mangled stay.
pub fn without_parameters(name: &str) -> String {
    demangled(name, DemangleOptions::new().no_params()).unwrap_or_else(|| name.to_owned())
}

/// The name of a variable without the function or namespace that it is in: `tile` for
/// `_ZZ6matmulPKfS0_PfE4tile`; of a part of one that the compiler split, as `tile (part 0)` for
/// `_ZZ6matmulPKfS0_PfE4tile_$_0`.
pub fn variable(name: &str) -> String {
    let (whole, part) = match split_variable(name) {
        Some((whole, part)) => (whole, format!(" (part {part})")),
        None => (name, String::new()),
    };
    let readable = readable(whole);
    let own = match readable.rsplit_once("::") {
        Some((_, last)) if !last.is_empty() => last,
        _ => &readable,
    };
    format!("{own}{part}")
}

/// The variable that a part is of, and which of its parts: LLVM adds `.0` to the name of a variable
/// that it splits, and writes points as `_$_` in PTX.
fn split_variable(name: &str) -> Option<(&str, String)> {
    const POINT: &str = "_$_";
    let (whole, parts) = name.split_once(POINT)?;
    let parts: Vec<&str> = parts.split(POINT).collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (!whole.is_empty() && parts.iter().all(is_number)).then(|| (whole, parts.join(".")))
}

/// The demangled name without the type that it returns, with which that of a template begins;
/// `None` if it is not mangled.
fn demangled(name: &str, options: DemangleOptions) -> Option<String> {
    // Names of one letter would be taken for types: `t` is an unsigned short.
    let symbol = Some(source_symbol(name)).filter(|symbol| symbol.starts_with("_Z"))?;
    let symbol = Symbol::new(symbol).ok()?;
    let text = symbol.demangle_with_options(&options.no_return_type());
    text.ok().map(|text| without_tags(&text))
}

/// A demangled name without the tags of its parts. Numba adds some to each function, one of about a
/// hundred letters, and the name of the program's own module: `__main__::smooth[abi:v2][abi:c8t…]`.
fn without_tags(name: &str) -> String {
    let tagged = name
        .contains("[abi:")
        .then(|| name.strip_prefix("__main__::"));
    let mut parts = tagged.flatten().unwrap_or(name).split("[abi:");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        all.push_str(part.split_once(']').map_or("", |(_, rest)| rest));
    }
    all
}

/// The symbol of a function as the compiler of C++ names it. nvcc puts the file before the symbols
/// of static kernels that are linked with other files: `__nv_static_25__ce16d1_2_a_cu_k__Z1kPfi`.
fn source_symbol(name: &str) -> &str {
    let is_static = name.starts_with("__nv_static_");
    let symbol = name.find("__Z").filter(|_| is_static);
    symbol.map_or(name, |before| &name[before + 1..])
}

/// Whether `wanted` is a part of the kernel's mangled or demangled name. Spaces do not count.
pub fn may_be(name: &str, wanted: &str) -> bool {
    let packed = |text: &str| text.replace(' ', "");
    name.contains(wanted) || packed(&readable(name)).contains(&packed(wanted))
}

/// Whether `wanted` is the kernel's complete name, with or without its parameters.
pub fn is(name: &str, wanted: &str) -> bool {
    let packed = |text: &str| text.replace(' ', "");
    let (readable, wanted) = (packed(&readable(name)), packed(wanted));
    name == wanted
        || readable == wanted
        || readable
            .strip_prefix(&wanted)
            .is_some_and(|rest| rest.starts_with('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: &str = "_Z5scaleIfEvPT_S0_i";

    #[test]
    fn kernel_names_are_demangled() {
        assert_eq!(readable(SCALE), "scale<float>(float*, float, int)");
        assert_eq!(
            readable("_Z6reducePKfPfi"),
            "reduce(float const*, float*, int)"
        );
        assert_eq!(readable("gemm"), "gemm");
        assert_eq!(["a", "i", "v"].map(readable), ["a", "i", "v"]);
        assert_eq!(without_parameters("gemm"), "gemm");
        assert_eq!(without_parameters(SCALE), "scale<float>");
        assert_eq!(
            readable("__nv_static_25__ce16d1_2_a_cu_k__Z1kPfi"),
            "k(float*, int)"
        );
        let of_numba = "_ZN8__main__6smoothB2v3B8cw51c_XTE5ArrayIfLi2E1C7mutable7alignedE";
        assert_eq!(without_parameters(of_numba), "smooth");
    }

    #[test]
    fn variables_are_without_their_function() {
        for (name, short) in [
            ("_ZZ6matmulPKfS0_PfE4tile", "tile"),
            ("_ZZN3sub6matmulIfEEvPKT_S2_PS0_E4tile", "tile"),
            ("_ZN3sub5tableE", "table"),
            ("global_smem", "global_smem"),
            ("t", "t"),
            ("k::", "k::"),
            ("_ZZ6matmulPKfS0_PfE4tile_$_0", "tile (part 0)"),
            ("_ZZ6matmulPKfS0_PfE4tile_$_1_$_12", "tile (part 1.12)"),
            ("tile_$_x", "tile_$_x"),
            ("_$_0", "_$_0"),
        ] {
            assert_eq!(variable(name), short);
        }
    }

    /// Parentheses that are not those of the parameters.
    #[test]
    fn names_lose_only_their_parameters() {
        for (name, short) in [
            ("_Z2goIL2Op0EEvPi", "go<(Op)0>"),
            (
                "_ZN12_GLOBAL__N_14anonEPNS_1SE",
                "(anonymous namespace)::anon",
            ),
            ("_ZNK3addclEi", "add::operator()"),
            ("_Z4callIPFviEEvT_", "call<void (*)(int)>"),
        ] {
            assert_eq!(without_parameters(name), short);
        }
    }

    #[test]
    fn a_kernel_is_found_by_either_name() {
        assert!(is(SCALE, SCALE) && is(SCALE, "scale<float>") && is("gemm", "gemm"));
        assert!(!is(SCALE, "scale") && !is(SCALE, "scale<double>"));
        assert!(
            may_be(SCALE, "scale")
                && may_be(SCALE, "scaleIf")
                && may_be(SCALE, "scale<float>(float *")
        );
        assert!(!may_be(SCALE, "double"));
    }
}
