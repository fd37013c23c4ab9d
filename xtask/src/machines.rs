//! Machines that tests pretend to run on: `xtask/machines.toml`, as the files in which Linux
//! describes a machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

/// What a machine says of itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// What `--on` calls it.
    pub name: String,
    /// The model's name; without one the file of processors has none.
    pub processor: String,
    /// How many processors work is shared among.
    pub processors: u32,
    /// The highest level of vector instructions, as crate `simd` names it.
    pub level: String,
    /// Settings of the C library of measured programs; empty for none.
    pub tunables: String,
    /// Caches: level, type, size, bytes of a line, ways, sets, and the processors that share it.
    pub caches: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineList {
    machine: Vec<Described>,
}

/// The names of a cache's files, in the order of its words.
const FILES: [&str; 7] = [
    "level",
    "type",
    "size",
    "coherency_line_size",
    "ways_of_associativity",
    "number_of_sets",
    "shared_cpu_list",
];

impl Described {
    /// The machine of this name.
    ///
    /// # Errors
    /// If the list cannot be read, or has no such machine.
    pub fn find(root: &Path, name: &str) -> anyhow::Result<Described> {
        let mut machines = Described::all(root)?;
        let names: Vec<&str> = machines.iter().map(|one| one.name.as_str()).collect();
        let place = names.iter().position(|known| *known == name);
        let place = place.with_context(|| {
            format!(
                "there is no machine `{name}`; xtask/machines.toml has {}",
                names.join(", ")
            )
        })?;
        Ok(machines.swap_remove(place))
    }

    /// All machines of the list.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn all(root: &Path) -> anyhow::Result<Vec<Described>> {
        let path = root.join("xtask/machines.toml");
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let file: MachineList = toml::from_str(&text).context("xtask/machines.toml")?;
        Ok(file.machine)
    }

    /// Writes the files that Linux would have below `folder`, in place of those of an earlier run.
    ///
    /// # Errors
    /// If they cannot be written, or a cache has not seven words.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("proc"))?;
        let model = match self.processor.as_str() {
            "" => String::new(),
            name => format!("model name\t: {name}\n"),
        };
        fs::write(
            folder.join("proc/cpuinfo"),
            format!("processor\t: 0\n{model}"),
        )?;
        for (index, cache) in self.caches.iter().enumerate() {
            let at = folder.join(format!("sys/devices/system/cpu/cpu0/cache/index{index}"));
            fs::create_dir_all(&at)?;
            let words: Vec<&str> = cache.split_whitespace().collect();
            anyhow::ensure!(words.len() == FILES.len(), "{}: `{cache}`", self.name);
            for (file, word) in FILES.iter().zip(words) {
                fs::write(at.join(file), format!("{word}\n"))?;
            }
        }
        Ok(())
    }

    /// The variables by which programs take this machine for theirs, described in `folder`.
    pub fn variables(&self, folder: PathBuf) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("REUSELENS_TEST_MACHINE", folder.display().to_string()),
            ("REUSELENS_TEST_PROCESSORS", self.processors.to_string()),
            ("REUSELENS_TEST_LEVEL", self.level.clone()),
        ];
        if !self.tunables.is_empty() {
            variables.push(("GLIBC_TUNABLES", self.tunables.clone()));
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn every_machine_can_be_described_in_files() {
        for machine in Described::all(&root()).unwrap() {
            let folder = tempfile::tempdir().unwrap();
            machine.write(folder.path()).unwrap();
            let caches = folder.path().join("sys/devices/system/cpu/cpu0/cache");
            let found = fs::read_dir(caches).map_or(0, Iterator::count);
            assert_eq!(found, machine.caches.len(), "{}", machine.name);
        }
    }

    #[test]
    fn unknown_machine_is_refused_with_the_names() {
        let error = Described::find(&root(), "cray").unwrap_err().to_string();
        assert!(error.contains("xeon-20-ways, no-l3"), "{error}");
    }
}
