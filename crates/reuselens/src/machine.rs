//! This machine, as the operating system describes it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use reuselens_profile::{Cache, CacheKind, Machine};
use reuselens_units::Bytes;

/// The variable with the folder in which `/proc/cpuinfo` and sysfs are looked for, for tests:
/// `cargo xtask test --on MACHINE` describes another machine there.
const DESCRIBED: &str = "REUSELENS_TEST_MACHINE";

/// Processor and caches of this machine, from `/proc/cpuinfo` and sysfs. What the system does not
/// say is left out. The environment variable `REUSELENS_TEST_MACHINE` names another folder than
/// `/`.
pub fn this_machine() -> Machine {
    machine_in(&env::var_os(DESCRIBED).map_or_else(|| PathBuf::from("/"), PathBuf::from))
}

/// The machine whose `proc/cpuinfo` and `sys` are in this folder.
fn machine_in(root: &Path) -> Machine {
    let mut caches: Vec<Cache> = (0..16)
        .map_while(|index| {
            let path = format!("sys/devices/system/cpu/cpu0/cache/index{index}");
            let path = root.join(path);
            path.is_dir().then(|| cache(&path))
        })
        .flatten()
        .filter(|cache| cache.kind != CacheKind::Instruction)
        .collect();
    caches.sort_by_key(|cache| cache.level);
    Machine {
        processor: processor(root),
        caches,
    }
}

fn processor(root: &Path) -> String {
    let text = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name"));
    name.and_then(|line| line.split_once(':')).map_or_else(
        || "unknown processor".to_owned(),
        |(_, name)| name.trim().to_owned(),
    )
}

fn cache(directory: &Path) -> Option<Cache> {
    let read = |name: &str| -> Option<String> {
        Some(
            fs::read_to_string(directory.join(name))
                .ok()?
                .trim()
                .to_owned(),
        )
    };
    let number = |name: &str| read(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let kind = match read("type")?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    Some(Cache {
        level: read("level")?.parse().ok()?,
        kind,
        size: read("size")?.parse().ok()?,
        line: Bytes(u64::from(number("coherency_line_size"))),
        ways: number("ways_of_associativity"),
        sets: number("number_of_sets"),
        shared_by: read("shared_cpu_list").map_or(1, |list| count_list(&list)),
    })
}

/// The number of processors in a list such as `0-3,8`.
fn count_list(list: &str) -> u32 {
    let count = |part: &str| -> Option<u32> {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        high.checked_sub(low)?.checked_add(1)
    };
    list.split(',').filter_map(count).sum::<u32>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        for (list, count) in [("0", 1), ("0-3", 4), ("0-1,4,6-7", 5), ("", 1), ("3-1", 1)] {
            assert_eq!(count_list(list), count, "{list}");
        }
    }

    #[test]
    fn this_machine_has_a_name_and_sane_caches() {
        let machine = this_machine();
        assert!(!machine.processor.is_empty());
        for cache in &machine.caches {
            assert!(cache.size.get() > 0 && cache.level > 0, "{cache:?}");
        }
    }
}
