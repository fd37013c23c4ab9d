//! Machines to place data on: files in TOML, hwloc's XML, this machine's sysfs, and those that come
//! with reuselens.

use std::fs;
use std::path::Path;

use reuselens::io::read_folder;
use reuselens_placement::{MemoryMachine, SHIPPED, SysfsNode, machine_of_hwloc, machine_of_sysfs};

use crate::exit::Usage;
use crate::files::{read_text, unreadable};

/// Larger machine files are refused.
const MAX_TOML_BYTES: u64 = 1 << 20;
/// The same, of XML: a large machine's is about one MiB.
const MAX_XML_BYTES: u64 = 16 << 20;
/// The name of the machine that reuselens runs on.
const HERE: &str = "here";
/// Where Linux describes memory nodes.
const NODES: &str = "/sys/devices/system/node";

/// The machine of this name, or of this file.
pub fn find(name: &str) -> anyhow::Result<MemoryMachine> {
    if name == HERE {
        return Ok(machine_of_sysfs(&nodes(Path::new(NODES))?)?);
    }
    if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return Ok(MemoryMachine::from_toml(text)?);
    }
    let path = Path::new(name);
    let is_xml = path.extension().is_some_and(|end| end == "xml");
    let most = if is_xml {
        MAX_XML_BYTES
    } else {
        MAX_TOML_BYTES
    };
    let text = read_text(path, most).map_err(|error| {
        let next = format!(
            "name a TOML file of memory tiers (docs/commands/place.md), a file of lstopo that ends \
             in .xml, or one of: {}",
            names()
        );
        unreadable(path, &error, &next)
    })?;
    if is_xml {
        let machine = machine_of_hwloc(&text);
        return Ok(machine.map_err(|error| Usage(format!("{name}: {error}")))?);
    }
    let machine = MemoryMachine::from_toml(&text);
    Ok(machine.map_err(|error| Usage(format!("{name}: {error}")))?)
}

/// The machines that need no file.
pub fn names() -> String {
    let shipped = SHIPPED.iter().map(|(name, _)| *name);
    shipped.chain([HERE]).collect::<Vec<_>>().join(", ")
}

/// The memory nodes that sysfs describes in this folder, by number.
fn nodes(folder: &Path) -> anyhow::Result<Vec<SysfsNode>> {
    let entries = read_folder(folder).map_err(|error| {
        anyhow::anyhow!(
            "{} cannot be read ({error}), so the memory of this machine is not known; describe it \
             in a TOML file (docs/commands/place.md)",
            folder.display()
        )
    })?;
    let mut nodes = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node"));
        let Some(number) = number.and_then(|digits| digits.parse().ok()) else {
            continue;
        };
        let text = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
        nodes.push(SysfsNode {
            number,
            meminfo: text("meminfo").unwrap_or_default(),
            cpulist: text("cpulist").unwrap_or_default(),
            read_latency: text("access0/initiators/read_latency"),
            read_bandwidth: text("access0/initiators/read_bandwidth"),
        });
    }
    nodes.sort_by_key(|node| node.number);
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_from_the_folder_of_sysfs() {
        let folder = tempfile::tempdir().unwrap();
        for (name, memory, latency) in [("node1", 8, "250\n"), ("node0", 16, "100\n")] {
            let at = folder.path().join(name);
            fs::create_dir_all(at.join("access0/initiators")).unwrap();
            let text = format!("Node 0 MemTotal:  {memory} kB\n");
            fs::write(at.join("meminfo"), text).unwrap();
            fs::write(at.join("access0/initiators/read_latency"), latency).unwrap();
            fs::write(at.join("access0/initiators/read_bandwidth"), "9000\n").unwrap();
        }
        fs::create_dir(folder.path().join("power")).unwrap();
        let nodes = nodes(folder.path()).unwrap();
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0].read_latency.as_deref(), Some("100\n"));
        let machine = machine_of_sysfs(&nodes).unwrap();
        assert_eq!(machine.tiers[0].way.as_deref(), Some("node:0"));
        assert_eq!(machine.tiers[1].latency, 250.0);
    }
}
