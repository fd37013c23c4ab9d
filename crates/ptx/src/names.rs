//! Names of kernels: the mangled name in PTX as C++ writes it, and whether a name that a user typed
//! means a kernel.

use cpp_demangle::Symbol;

/// The name with its parameters, as C++ writes it: `scale<float>(float*, int)`. Names that are not
/// mangled stay.
pub fn readable(name: &str) -> String {
    let symbol = Symbol::new(name).ok();
    let text = symbol.and_then(|symbol| symbol.demangle().ok());
    // The demangled name of a template begins with the type that it returns.
    let text = text.map(|text| {
        text.strip_prefix("void ")
            .map_or(text.clone(), str::to_owned)
    });
    text.unwrap_or_else(|| name.to_owned())
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
