//! Names of symbols to show, and symbols to compare.

use addr2line::demangle_auto;

/// A symbol's name as its author wrote it. Only mangled names are touched: a C variable `b` would
/// otherwise read as the mangled type `bool`.
pub(super) fn demangled(name: &str) -> String {
    if ["_Z", "__Z", "_R"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    {
        demangle_auto(name.into(), None).into_owned()
    } else {
        name.to_owned()
    }
}

/// A symbol, still mangled, without what compilers append to the names of clones and parts of
/// functions: to compare, not to show.
pub(super) fn original(symbol: &str) -> &str {
    const APPENDED: [&str; 7] = [
        ".constprop.",
        ".part.",
        ".isra.",
        ".cold",
        ".llvm.",
        ".lto_priv.",
        ".localalias",
    ];
    let ends = APPENDED.iter().filter_map(|appended| symbol.find(appended));
    &symbol[..ends.min().unwrap_or(symbol.len())]
}

/// The name of a Fortran procedure or module variable. Call it only for Fortran: it removes a final
/// `_`. gfortran calls `relax` `relax_`, and `relax` of the module `grid` `__grid_MOD_relax`, shown
/// as `grid::relax`. A name that ends in `__`, such as `MAIN__`, stays.
pub(super) fn fortran_name(name: &str) -> String {
    match name
        .strip_prefix("__")
        .and_then(|rest| rest.split_once("_MOD_"))
    {
        Some((module, procedure)) => format!("{module}::{procedure}"),
        None if name.ends_with("__") => name.to_owned(),
        None => name.strip_suffix('_').unwrap_or(name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use reuselens_io::text_of_bytes;

    use super::*;

    #[test]
    fn only_mangled_names_are_demangled() {
        for name in ["a", "b", "c", "f", "i", "x", "St", "main"] {
            assert_eq!(demangled(name), name);
        }
        assert_eq!(demangled("_ZN4grid4cellE"), "grid::cell");
        // Lengths in mangled names count bytes, of which the text of this one has more.
        let name = text_of_bytes(b"_Z3\xf6ab");
        assert_eq!(demangled(&name), name);
    }

    #[test]
    fn clones_are_their_function() {
        assert_eq!(original("_ZL7descendii.constprop.3"), "_ZL7descendii");
        assert_eq!(original("make.part.0.cold"), "make");
        // Dots that are part of a name.
        let name = "_ZN42_$LT$T$u20$as$u20$core..any..Any$GT$7type_id17h0123456789abcdefE";
        assert_eq!(original(name), name);
    }
}
