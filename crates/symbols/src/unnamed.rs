//! Static data without a symbol: all of a stripped program, and string literals of any program.

use object::{Object, ObjectSection, SectionFlags, elf};
use reuselens_attribute::StaticSymbol;

/// Adds what the sections of a file hold between its symbols. Thread-local data and code are left
/// out.
pub(super) fn add(file: &object::File, symbols: &mut Vec<StaticSymbol>) {
    let mut known: Vec<(u64, u64)> = symbols.iter().map(|each| (each.low, each.high)).collect();
    known.sort_unstable();
    for section in file.sections() {
        let Some(name) = name(section.flags()) else {
            continue;
        };
        let (low, end) = (
            section.address(),
            section.address().saturating_add(section.size()),
        );
        symbols.extend(gaps(low, end, &known).map(|(low, high)| StaticSymbol {
            low,
            high,
            name: name.to_owned(),
        }));
    }
}

/// What the data of a section with these flags are called; nothing if it holds none.
fn name(flags: SectionFlags) -> Option<&'static str> {
    let SectionFlags::Elf { sh_flags, .. } = flags else {
        return None;
    };
    let has = |flag| sh_flags.contains(flag);
    if !has(elf::SHF_ALLOC) || has(elf::SHF_EXECINSTR) || has(elf::SHF_TLS) {
        return None;
    }
    Some(if has(elf::SHF_WRITE) {
        StaticSymbol::UNNAMED_VARIABLES
    } else {
        StaticSymbol::UNNAMED_CONSTANTS
    })
}

/// The parts of `low..end` that none of the known ranges, ascending by their beginning, covers.
fn gaps(low: u64, end: u64, known: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    // A long range may cover the ends of those behind it: from the first that begins in here on,
    // the furthest end so far counts, and before it that of any.
    let first = known.partition_point(|(from, _)| *from < low);
    let before = known[..first].iter().map(|(_, to)| *to).max();
    let inside = known[first..].iter().copied();
    let inside = inside.take_while(move |(from, _)| *from < end);
    let mut free = before.unwrap_or(low).max(low);
    inside.chain([(end, end)]).filter_map(move |(from, to)| {
        let gap = (free < from).then_some((free, from));
        free = free.max(to);
        gap
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_is_left() {
        let known = [(0, 12), (3, 5), (20, 30), (22, 24), (30, 31), (90, 120)];
        let left = |low, end| gaps(low, end, &known).collect::<Vec<_>>();
        assert_eq!(left(10, 100), [(12, 20), (31, 90)]);
        assert_eq!(left(40, 50), [(40, 50)]);
        assert_eq!(left(20, 31), []);
        assert_eq!(left(200, 200), []);
        let all = |low: u64, end| {
            (low..end).filter(|at| !known.iter().any(|(a, b)| (*a..*b).contains(at)))
        };
        for (low, end) in [(0, 130), (4, 21), (23, 95), (125, 126)] {
            let found: Vec<u64> = gaps(low, end, &known).flat_map(|(a, b)| a..b).collect();
            assert_eq!(found, all(low, end).collect::<Vec<_>>(), "{low}..{end}");
        }
    }
}
