//! How much memory this process can have: of the machine, within its control groups, and within its
//! own limits.
//!
//! Sources: proc(5) for `meminfo`, `self/cgroup`, `self/mountinfo`, `self/limits` and
//! `self/status`; Documentation/admin-guide/cgroup-v2.rst ("Memory Interface Files") and
//! Documentation/admin-guide/cgroup-v1/memory.rst of the Linux kernel.

use std::fs;
use std::path::{Path, PathBuf};

use reuselens_units::Bytes;

/// Memory that could be had without pushing anything out, and without more than the control groups
/// of this process and its own limits allow; `None` where the system says nothing of any.
pub fn available_memory() -> Option<Bytes> {
    available_within(address_space())
}

/// [`available_memory`] for callers that know what is left of the address space
/// ([`address_space`]).
pub(crate) fn available_within(address_space: Option<Bytes>) -> Option<Bytes> {
    let root = Path::new("/");
    let rooms = [
        free(root),
        control_groups(root),
        address_space.map(Bytes::get),
    ];
    rooms.into_iter().flatten().min().map(Bytes)
}

/// Address space, and memory of its own, that this process may still map: what `ulimit -v` and
/// `ulimit -d` leave. `None` where neither is set.
pub(crate) fn address_space() -> Option<Bytes> {
    #[cfg(test)]
    tests::LOOKS.set(tests::LOOKS.get() + 1);
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    // It has the name of this program, which may be any bytes.
    let status = fs::read("/proc/self/status").ok()?;
    let status = String::from_utf8_lossy(&status);
    left_of(&limits, &status)
}

/// What the texts of `limits` and `status` say of it.
fn left_of(limits: &str, status: &str) -> Option<Bytes> {
    let left = |name: &str, used: &str| {
        // No number where there is no limit.
        let limit = named(limits, name)?;
        let used = named(status, used)? << 10;
        Some(limit.saturating_sub(used))
    };
    let lefts = [
        left("Max address space", "VmSize:"),
        left("Max data size", "VmData:"),
    ];
    lefts.into_iter().flatten().min().map(Bytes)
}

/// The first number of a file that holds one.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The number after a word at the beginning of a line.
fn named(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Memory of the machine that is free, or that holds only what is on disk too.
fn free(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    named(&text, "MemAvailable:").map(|kib| kib << 10)
}

/// The least that is left in the control group of this process and those around it.
fn control_groups(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    // Both versions may be there, and either may have the memory.
    let lines = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        match controllers {
            "" => Some((&VERSION_2, path)),
            some if some.split(',').any(|name| name == "memory") => Some((&VERSION_1, path)),
            _ => None,
        }
    });
    let rooms = lines.flat_map(|(version, path)| {
        let folders = version.folders(root, &mounts, path);
        folders
            .into_iter()
            .filter_map(|folder| version.room(&folder))
    });
    rooms.min()
}

/// How a version of control groups says what a group holds and may hold.
struct Version {
    /// The type of its file system, and what its options have.
    mounted: (&'static str, &'static str),
    limits: &'static [&'static str],
    held: &'static str,
    /// What is held only because nobody needed the memory: lines of `memory.stat`.
    given_back: &'static [&'static str],
}

const VERSION_1: Version = Version {
    mounted: ("cgroup", "memory"),
    limits: &["memory.limit_in_bytes"],
    held: "memory.usage_in_bytes",
    given_back: &["total_inactive_file ", "total_active_file "],
};

const VERSION_2: Version = Version {
    mounted: ("cgroup2", ""),
    limits: &["memory.max", "memory.high"],
    held: "memory.current",
    given_back: &["inactive_file ", "active_file ", "slab_reclaimable "],
};

impl Version {
    /// The folders of a group and of those around it, as far as they can be seen from here.
    fn folders(&self, root: &Path, mounts: &str, group: &str) -> Vec<PathBuf> {
        let Some((top, from)) = mounts.lines().find_map(|line| self.mount(line)) else {
            return Vec::new();
        };
        let top = root.join(top.trim_start_matches('/'));
        // A container may see the groups from its own on, under the name that they have outside.
        let below = Path::new(group).strip_prefix(from).unwrap_or(Path::new(""));
        let mut folders = vec![top.clone()];
        for part in below.components() {
            let std::path::Component::Normal(part) = part else {
                continue;
            };
            let next = folders[folders.len() - 1].join(part);
            folders.push(next);
        }
        folders
    }

    /// Where its file system is mounted, and from which group on, if this line of `mountinfo` is of
    /// that.
    fn mount<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (from, top) = (fields.next()?, fields.next()?);
        let mut fields = after.split(' ');
        let (kind, options) = (fields.next()?, fields.nth(1)?);
        let (own, option) = self.mounted;
        let has = option.is_empty() || options.split(',').any(|one| one == option);
        (kind == own && has).then_some((top, from))
    }

    /// What a group may still take, if it is limited.
    fn room(&self, folder: &Path) -> Option<u64> {
        let limits = self.limits.iter();
        // "max" is no number.
        let limit = limits.filter_map(|name| number(&folder.join(name))).min()?;
        let held = number(&folder.join(self.held))?;
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let given_back = self.given_back.iter().filter_map(|name| named(&stat, name));
        let held = held.saturating_sub(given_back.sum());
        Some(limit.saturating_sub(held))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// How often this thread has asked what is left of the address space.
        pub(crate) static LOOKS: Cell<u32> = const { Cell::new(0) };
    }

    /// A folder that stands for the root of a system.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str) -> Root {
            let name = format!("reuselens-available-{name}-{}", std::process::id());
            Root(std::env::temp_dir().join(name))
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn limits_of_the_own_group_and_of_those_around_it_count() {
        let root = Root::new("v2");
        assert_eq!(control_groups(&root.0), None);
        root.file("proc/self/cgroup", "0::/a.slice/b.scope\n");
        let mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        root.file("proc/self/mountinfo", mount);
        let own = "sys/fs/cgroup/a.slice/b.scope";
        root.file(&format!("{own}/memory.max"), "max\n");
        root.file(&format!("{own}/memory.current"), "104857600\n");
        assert_eq!(control_groups(&root.0), None, "no limit anywhere");
        root.file(&format!("{own}/memory.high"), "209715200\n");
        assert_eq!(control_groups(&root.0), Some(100 * MIB));
        // Files that were read can be read again.
        let stat = "anon 7\ninactive_file 31457280\nactive_file 10485760\n";
        root.file(&format!("{own}/memory.stat"), stat);
        assert_eq!(control_groups(&root.0), Some(140 * MIB));
        root.file("sys/fs/cgroup/a.slice/memory.max", "314572800\n");
        root.file("sys/fs/cgroup/a.slice/memory.current", "262144000\n");
        assert_eq!(control_groups(&root.0), Some(50 * MIB));
    }

    #[test]
    fn a_container_sees_its_group_where_the_file_system_begins() {
        let root = Root::new("v1");
        root.file(
            "proc/self/cgroup",
            "9:pids:/x\n4:cpu,memory:/docker/c0ffee\n0::/\n",
        );
        let mounts = "30 23 0:26 /docker/c0ffee /sys/fs/cgroup/cpu,memory ro shared:4 - cgroup cgroup rw,cpu,memory\n";
        root.file("proc/self/mountinfo", mounts);
        let own = "sys/fs/cgroup/cpu,memory";
        root.file(&format!("{own}/memory.limit_in_bytes"), "209715200\n");
        root.file(&format!("{own}/memory.usage_in_bytes"), "52428800\n");
        root.file(
            &format!("{own}/memory.stat"),
            "total_inactive_file 1048576\n",
        );
        assert_eq!(control_groups(&root.0), Some(151 * MIB));
    }

    #[test]
    fn what_ulimit_leaves_is_what_is_not_mapped_yet() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
             Max data size             unlimited            unlimited            bytes\n\
             Max address space         104857600            unlimited            bytes\n";
        let status = "VmPeak:\t 30000 kB\nVmSize:\t 20480 kB\nVmData:\t 320 kB\n";
        assert_eq!(left_of(limits, status), Some(Bytes(80 * MIB)));
        let more = status.replace("20480", "204800");
        assert_eq!(left_of(limits, &more), Some(Bytes(0)));
        let none = limits.replace("104857600", "unlimited");
        assert_eq!(left_of(&none, status), None);
        let own = none.replacen("unlimited", "1048576", 1);
        assert_eq!(left_of(&own, status), Some(Bytes(704 << 10)));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available_memory().is_none_or(|free| free.get() > 0));
    }
}
