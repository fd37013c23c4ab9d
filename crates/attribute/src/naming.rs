//! Names as people read them.

use reuselens_profile::Frame;

use crate::known_names::file_name;
use crate::places::CodePlace;

/// A place in the source: `make_nodes (list.c:12)`, as much of it as is known.
pub(crate) fn place_name(frame: &Frame) -> String {
    match (frame.file.is_empty(), frame.line) {
        (true, _) => frame.function.clone(),
        (false, 0) => format!("{} ({})", frame.function, file_name(&frame.file)),
        (false, line) => format!("{} ({}:{line})", frame.function, file_name(&frame.file)),
    }
}

/// A frame of an allocation's call path.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub frame: Frame,
    /// Where its call is in the code; of frames that were inlined there, the same for all.
    pub place: CodePlace,
    /// Whether its module is the system's.
    pub system: bool,
}

/// The name of the blocks that code at this frame wanted.
pub(crate) fn heap_name(wanting: Option<&Caller>) -> String {
    match wanting {
        Some(caller) => format!("heap from {}", place_name(&caller.frame)),
        None => "heap from an unknown call".to_owned(),
    }
}

/// The name of the blocks that a run-time library allocates, for a call at this frame.
pub(crate) fn heap_of_run_time(library: &str, wanting: Option<&Caller>) -> String {
    match wanting.filter(|caller| !caller.system) {
        Some(caller) => format!("heap of {library} below {}", place_name(&caller.frame)),
        None => format!("heap of {library}"),
    }
}

/// What a row of this kind does, as sites say it.
pub(crate) fn kind_name(kind: reuselens_trace::Kind) -> &'static str {
    use reuselens_trace::Kind;
    match kind {
        Kind::Load => "load",
        Kind::Store => "store",
        Kind::Atomic => "atomic",
        Kind::RangeLoad => "range load",
        Kind::RangeStore => "range store",
        Kind::Named => "named",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::frame;

    #[test]
    fn blocks_of_run_times_are_theirs() {
        let caller = |system| Caller {
            frame: frame("main", "/src/omp.c", 8),
            place: CodePlace::UNKNOWN,
            system,
        };
        let name = |caller: Option<&Caller>| heap_of_run_time("libgomp", caller);
        assert_eq!(
            name(Some(&caller(false))),
            "heap of libgomp below main (omp.c:8)"
        );
        assert_eq!(name(Some(&caller(true))), "heap of libgomp");
        assert_eq!(name(None), "heap of libgomp");
    }
}
