//! [`record_access!`](crate::record_access), the call whose line is recorded, and
//! [`record_array!`](crate::record_array). The first is a macro, because the accesses of a
//! function, even an inlined one, would all have the function's own line.

/// Records an access to an element, with the line of the call.
///
/// - `record_access!(a[i])`: element `i` of `a`, which is a slice, an array, a vector: an
///   [`Entry`](crate::Entry) that can be indexed. Fields may follow the index: `a[i].x`.
/// - `record_access!(base, &element)`: an element by reference, of the structure `base`, any
///   [`Entry`](crate::Entry). It may be a part of an element; the entire element is accessed then.
///
/// The place must exist: an index out of bounds panics here, as it would in the access itself.
/// Without the feature `record` nothing is evaluated, only checked by the compiler.
///
/// ```
/// # use reuselens_annotate::record_access;
/// let grid = [[0.0; 8]; 4];
/// let points = vec![(1, 2), (3, 4)];
/// record_access!(grid, &grid[2][3]);
/// record_access!(points[1].0);
/// ```
///
/// More than one index is refused, because the structure would not be clear:
///
/// ```compile_fail
/// # use reuselens_annotate::record_access;
/// # let grid = [[0.0; 8]; 4];
/// record_access!(grid[2][3]);
/// ```
///
/// A value without an address is refused:
///
/// ```compile_fail
/// # use reuselens_annotate::record_access;
/// # let a = [0.0; 8];
/// record_access!(a, a[2]);
/// ```
#[macro_export]
#[collapse_debuginfo(yes)]
macro_rules! record_access {
    ($base:expr, $element:expr $(,)?) => {
        if $crate::RECORDING {
            $crate::raw::access(
                $crate::Entry::address(&$base),
                $crate::raw::address($element),
            );
        }
    };
    ($($place:tt)+) => {
        $crate::__record_place!([] $($place)+)
    };
}

/// Splits `base[index].field` at the index.
#[doc(hidden)]
#[macro_export]
#[collapse_debuginfo(yes)]
macro_rules! __record_place {
    ([$($base:tt)+] [$($index:tt)+] $($fields:tt)*) => {
        if $crate::RECORDING {
            $crate::__no_index!($($fields)*);
            $crate::raw::access(
                $crate::Entry::address(&$($base)+),
                (&raw const $($base)+[$($index)+] $($fields)*).cast(),
            );
        }
    };
    ([$($base:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__record_place!([$($base)* $next] $($rest)*)
    };
    ([$($base:tt)*]) => {
        compile_error!(
            "record_access! takes an element, record_access!(a[i]), or a structure and a reference, \
             record_access!(a, &element)"
        )
    };
}

/// Refuses a second index.
#[doc(hidden)]
#[macro_export]
macro_rules! __no_index {
    () => {};
    ([$($index:tt)*] $($rest:tt)*) => {
        compile_error!(
            "more than one index: say which is the structure, record_access!(a, &a[i][j])"
        )
    };
    ($next:tt $($rest:tt)*) => {
        $crate::__no_index!($($rest)*)
    };
}

/// [`record_named_data`](crate::record_named_data) for a variable, by its own name.
///
/// ```
/// let grid = vec![0.0; 64];
/// reuselens_annotate::record_array!(grid);
/// ```
#[macro_export]
macro_rules! record_array {
    ($array:expr) => {
        $crate::record_named_data(::core::stringify!($array), &$array[..])
    };
}
