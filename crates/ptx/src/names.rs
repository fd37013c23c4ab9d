//! Names of kernels as their source has them.

use cpp_demangle::Symbol;

/// The name with its parameters, as C++ writes it: `scale<float>(float*, int)`. Names that are not
/// mangled stay.
pub fn readable(name: &str) -> String {
    let symbol = Symbol::new(name).ok();
    let text = symbol.and_then(|symbol| symbol.demangle().ok());
    // What a template returns stands before its name.
    let text = text.map(|text| {
        text.strip_prefix("void ")
            .map_or(text.clone(), str::to_owned)
    });
    text.unwrap_or_else(|| name.to_owned())
}

/// Whether somebody who says `wanted` may mean the kernel: a part of either name. Spaces do not
/// count.
pub fn may_be(name: &str, wanted: &str) -> bool {
    let packed = |text: &str| text.replace(' ', "");
    name.contains(wanted) || packed(&readable(name)).contains(&packed(wanted))
}

/// Whether `wanted` is the whole name, parameters left out or not.
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
    fn names_are_those_of_the_source() {
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
