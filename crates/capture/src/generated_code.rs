//! Code that programs make while they run, as modules: where their run-time systems write down what
//! it is called ([`PerfMap`]).
//!
//! Such a file is complete when the process has ended. It is announced then as modules of the
//! process, which give code a place that ran before: attributors look for those of late modules.

use std::path::Path;
use std::time::{Duration, SystemTime};

use reuselens_io::PerfMap;
use reuselens_trace::{Module, ModuleId, ProcessId};

/// File systems round times, and clocks differ: a file may seem older than it is by so much.
const CLOCK_ERROR: Duration = Duration::from_secs(2);

/// The modules of the code that a process has made, if it has written their names down since the
/// program was started. `known` are its other modules: names of their code are theirs.
pub(crate) fn modules(
    (process, pid): (ProcessId, u32),
    known: &[Module],
    started: SystemTime,
) -> Vec<Module> {
    let path = Module::path_of_generated_code(pid);
    let since = started.checked_sub(CLOCK_ERROR);
    let Ok(map) = PerfMap::read(Path::new(&path), since) else {
        return Vec::new();
    };
    let mut own: Vec<&Module> = known.iter().filter(|it| it.process == process).collect();
    own.sort_by_key(|module| module.low);
    let ranges = joined(&map, &own);
    let numbers = own.len() as u16..u16::MAX;
    let module = |((low, high), number)| Module {
        process,
        id: ModuleId(number),
        path: path.clone(),
        bias: 0,
        low,
        high,
        build_id: map.id().to_vec(),
    };
    ranges.into_iter().zip(numbers).map(module).collect()
}

/// The ranges of a map, where one module lies between no two parts of one.
fn joined(map: &PerfMap, modules: &[&Module]) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    let is_free = |low: u64, high: u64| {
        let next = modules.partition_point(|module| module.high <= low);
        modules.get(next).is_none_or(|module| high <= module.low)
    };
    for (low, high) in map.ranges().filter(|(low, high)| is_free(*low, *high)) {
        match joined.last_mut() {
            Some(last) if is_free(last.0, high) => last.1 = high,
            _ => joined.push((low, high)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_joined_where_no_module_lies_between() {
        let map =
            PerfMap::parse(b"100 10 a\n180 10 b\n1000 8 of the program\n2000 10 c\n2008 20 d\n");
        let module = Module {
            low: 0x800,
            high: 0x1800,
            ..Module::default()
        };
        assert_eq!(joined(&map, &[&module]), [(0x100, 0x190), (0x2008, 0x2028)]);
        assert_eq!(joined(&map, &[]), [(0x100, 0x2028)]);
    }

    #[test]
    fn a_process_that_wrote_nothing_has_no_modules() {
        let nobody = (ProcessId(0), u32::MAX);
        assert_eq!(modules(nobody, &[], SystemTime::now()), []);
    }
}
