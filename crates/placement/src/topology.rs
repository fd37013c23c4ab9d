//! Machines from what the system says of its memory nodes: the text of sysfs, or hwloc's XML.
//!
//! Both are parsed from text that the caller read. Firmware gives latency and bandwidth in the
//! table HMAT; most machines have none, and then an error names what is missing.

use std::collections::HashMap;

use reuselens_units::Bytes;
use roxmltree::{Document, Node, ParsingOptions};
use thiserror::Error;

use crate::machine::{MemoryMachine, MemoryTier, TierKind, TierScope};

/// Larger XML files are refused by callers, and ones with more elements here.
const MOST_ELEMENTS: u32 = 1_000_000;
/// Memory nodes at most, as in Linux (`MAX_NUMNODES`).
const MOST_NODES: usize = 1024;
/// What to do where the system does not know its memory.
const REMEDY: &str = "describe the machine in a TOML file (docs/commands/place.md)";

/// What sysfs says of a memory node: the text of files below `/sys/devices/system/node/nodeN`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysfsNode {
    /// N.
    pub number: u32,
    /// `meminfo`.
    pub meminfo: String,
    /// `cpulist`; empty for a node of memory alone.
    pub cpulist: String,
    /// `access0/initiators/read_latency`, in ns; `None` if there is no such file.
    pub read_latency: Option<String>,
    /// `access0/initiators/read_bandwidth`, in MB/s.
    pub read_bandwidth: Option<String>,
}

/// Why the system's description gives no machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A file has another form than expected.
    #[error("{of} cannot be read: {what}")]
    Form {
        /// The file or element.
        of: String,
        /// What is wrong.
        what: String,
    },
    /// There is no memory.
    #[error("no memory node is described; {REMEDY}")]
    NoNode,
    /// There is nothing to choose.
    #[error(
        "there is one memory node ({0}), so no data can be placed in another; plan for huge pages with --machine hugepages, for a memory of any size with --fast SIZE, or {REMEDY}"
    )]
    OneNode(String),
    /// All nodes are equally fast.
    #[error("all memory nodes ({0}) have the same latency and bandwidth; {REMEDY}")]
    Equal(String),
    /// Firmware or file do not have the values.
    #[error("{missing}; {REMEDY}")]
    Missing {
        /// Which values are missing where.
        missing: String,
    },
}

/// A memory node.
struct MemoryNode {
    number: u32,
    bytes: u64,
    /// Its kind, if the source names one.
    kind: Option<TierKind>,
    has_cores: bool,
    latency: Option<f64>,
    bandwidth: Option<f64>,
}

/// The machine that sysfs describes.
///
/// # Errors
/// If there are not two nodes of different speed, or a node's latency or bandwidth is not known.
pub fn machine_of_sysfs(nodes: &[SysfsNode]) -> Result<MemoryMachine, TopologyError> {
    let nodes: Vec<MemoryNode> = nodes.iter().map(sysfs_node).collect::<Result<_, _>>()?;
    machine(
        nodes,
        "this machine",
        "the firmware's table HMAT, read from /sys/devices/system/node",
        None,
    )
}

fn sysfs_node(node: &SysfsNode) -> Result<MemoryNode, TopologyError> {
    let of = |file: &str| format!("/sys/devices/system/node/node{}/{file}", node.number);
    let number = |file: &str, text: &Option<String>| match text.as_deref().map(str::trim) {
        // The kernel writes 0 for what the table does not have.
        None | Some("0" | "") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| TopologyError::Form {
            of: of(file),
            what: format!("{text:?} is no number"),
        }),
    };
    let total = node.meminfo.lines().find_map(|line| {
        let (_, rest) = line.split_once("MemTotal:")?;
        rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let kib = total.ok_or_else(|| TopologyError::Form {
        of: of("meminfo"),
        what: "there is no line MemTotal in kB".to_owned(),
    })?;
    Ok(MemoryNode {
        number: node.number,
        bytes: kib.saturating_mul(1024),
        kind: None,
        has_cores: !node.cpulist.trim().is_empty(),
        latency: number("access0/initiators/read_latency", &node.read_latency)?,
        bandwidth: number("access0/initiators/read_bandwidth", &node.read_bandwidth)?,
    })
}

/// The machine of hwloc's XML (`lstopo NAME.xml`), version 2 or later.
///
/// # Errors
/// If the text is no such file, there are not two nodes of different speed, or a node's latency or
/// bandwidth is not in it.
pub fn machine_of_hwloc(text: &str) -> Result<MemoryMachine, TopologyError> {
    let form = |what: String| TopologyError::Form {
        of: "hwloc's XML".to_owned(),
        what,
    };
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: MOST_ELEMENTS,
        ..ParsingOptions::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|error| form(error.to_string()))?;
    if !document.root_element().has_tag_name("topology") {
        return Err(form("its root is not <topology>".to_owned()));
    }
    let elements = || {
        document
            .descendants()
            .filter(|it| it.has_tag_name("object"))
    };
    let of_type = |name: &'static str| {
        elements().filter(move |object| object.attribute("type") == Some(name))
    };
    let speeds = hwloc_speeds(&document).map_err(form)?;
    let nodes: Vec<MemoryNode> = of_type("NUMANode")
        .map(|object| hwloc_node(&speeds, object).map_err(form))
        .collect::<Result<_, _>>()?;
    let last_cache = ["L5Cache", "L4Cache", "L3Cache", "L2Cache"]
        .into_iter()
        .find_map(|name| {
            of_type(name)
                .filter_map(|it| number(it, "cache_size"))
                .max()
        });
    machine(
        nodes,
        "the machine of the XML file",
        "hwloc's XML",
        last_cache.map(Bytes),
    )
}

/// Latency in ns and bandwidth in MB/s of a memory node. Of several initiators the nearest counts:
/// the cores that the program is to run on.
#[derive(Clone, Copy, Default)]
struct Speeds {
    latency: Option<f64>,
    bandwidth: Option<f64>,
}

/// The speeds in hwloc's memory attributes, by the `gp_index` of their nodes.
fn hwloc_speeds<'a>(document: &'a Document<'_>) -> Result<HashMap<&'a str, Speeds>, String> {
    let mut speeds: HashMap<&str, Speeds> = HashMap::new();
    for attribute in document.descendants() {
        let name = attribute.attribute("name").unwrap_or_default();
        let is_latency = matches!(name, "Latency" | "ReadLatency");
        let is_speed = is_latency || matches!(name, "Bandwidth" | "ReadBandwidth");
        if !is_speed || !attribute.has_tag_name("memattr") {
            continue;
        }
        let values = attribute.children();
        for element in values.filter(|it| it.has_tag_name("memattr_value")) {
            let (Some(index), Some(text)) = (
                element.attribute("target_obj_gp_index"),
                element.attribute("value"),
            ) else {
                continue;
            };
            let value: Option<f64> = text.parse().ok();
            let value = value
                .filter(|value| value.is_finite())
                .ok_or_else(|| format!("{name} is {text:?}, which is no number"))?;
            let of_node = speeds.entry(index).or_default();
            if is_latency {
                of_node.latency = Some(of_node.latency.map_or(value, |it| it.min(value)));
            } else {
                // hwloc counts MiB/s.
                let value = value * 1.048_576;
                of_node.bandwidth = Some(of_node.bandwidth.map_or(value, |it| it.max(value)));
            }
        }
    }
    Ok(speeds)
}

fn hwloc_node(speeds: &HashMap<&str, Speeds>, object: Node<'_, '_>) -> Result<MemoryNode, String> {
    let need =
        |name: &str| number(object, name).ok_or_else(|| format!("a NUMANode has no number {name}"));
    let kind = match object.attribute("subtype") {
        Some("HBM" | "MCDRAM") => Some(TierKind::Hbm),
        Some("DRAM") => Some(TierKind::Dram),
        Some("NVM") => Some(TierKind::Nvm),
        Some("SPM") => Some(TierKind::Spm),
        Some(name) if name.starts_with("CXL") => Some(TierKind::CxlDram),
        _ => None,
    };
    let index = object.attribute("gp_index").unwrap_or_default();
    let speeds = speeds.get(index).copied().unwrap_or_default();
    Ok(MemoryNode {
        number: u32::try_from(need("os_index")?).map_err(|_| "os_index is too large")?,
        bytes: need("local_memory")?,
        kind,
        has_cores: object.attribute("cpuset").is_some_and(|set| {
            set.bytes()
                .any(|digit| matches!(digit, b'1'..=b'9' | b'a'..=b'f'))
        }),
        latency: speeds.latency,
        bandwidth: speeds.bandwidth,
    })
}

fn number(object: Node<'_, '_>, name: &str) -> Option<u64> {
    object.attribute(name)?.parse().ok()
}

/// The machine of memory nodes; equal ones are a tier together.
fn machine(
    mut nodes: Vec<MemoryNode>,
    name: &str,
    source: &str,
    cache: Option<Bytes>,
) -> Result<MemoryMachine, TopologyError> {
    nodes.retain(|node| node.bytes > 0);
    nodes.sort_by_key(|node| node.number);
    let all = sizes(&nodes, source)?;
    let missing = missing(&nodes, source);
    if !missing.is_empty() {
        let missing = missing.join("; ");
        return Err(TopologyError::Missing { missing });
    }
    let with_cores = nodes.iter().filter(|node| node.has_cores);
    let ordinary = with_cores
        .filter_map(|node| node.bandwidth)
        .fold(0.0, f64::max);
    let mut tiers: Vec<(MemoryTier, Vec<u32>)> = Vec::new();
    for node in &nodes {
        add(&mut tiers, node, ordinary);
    }
    if tiers.len() < 2 {
        return Err(TopologyError::Equal(all));
    }
    tiers.sort_by(|(a, _), (b, _)| {
        let by_kind = (a.kind as u8).cmp(&(b.kind as u8));
        let by_speed = a.latency.total_cmp(&b.latency);
        by_kind
            .then(by_speed)
            .then(b.bandwidth.total_cmp(&a.bandwidth))
    });
    let mut tiers: Vec<MemoryTier> = tiers
        .into_iter()
        .map(|(tier, numbers)| named(tier, &numbers))
        .collect();
    if let Some(last) = tiers.last_mut() {
        last.capacity = None;
    }
    let machine = MemoryMachine {
        name: name.to_owned(),
        source: format!(
            "{source}; kinds of nodes that it does not name are guessed by their speed"
        ),
        tiers,
        cache,
        parallelism: None,
        granularity: None,
    };
    machine.check().map_err(|error| TopologyError::Form {
        of: source.to_owned(),
        what: error.to_string(),
    })?;
    Ok(machine)
}

/// The number and size of each node.
fn sizes(nodes: &[MemoryNode], source: &str) -> Result<String, TopologyError> {
    if nodes.len() > MOST_NODES {
        let count = nodes.len();
        return Err(TopologyError::Form {
            of: source.to_owned(),
            what: format!("it has {count} memory nodes, more than {MOST_NODES}"),
        });
    }
    let size = |node: &MemoryNode| format!("node {}: {}", node.number, Bytes(node.bytes));
    let all = nodes.iter().map(size).collect::<Vec<_>>().join(", ");
    match nodes.len() {
        0 => Err(TopologyError::NoNode),
        1 => Err(TopologyError::OneNode(all)),
        _ => Ok(all),
    }
}

/// The values that nodes lack.
fn missing(nodes: &[MemoryNode], source: &str) -> Vec<String> {
    let without = |name: &str, value: fn(&MemoryNode) -> Option<f64>| {
        let nodes = nodes.iter().filter(|node| value(node).is_none());
        let nodes: Vec<String> = nodes.map(|node| node.number.to_string()).collect();
        let word = if nodes.len() == 1 { "node" } else { "nodes" };
        (!nodes.is_empty()).then(|| {
            format!(
                "the {name} of {word} {} is not in {source}",
                nodes.join(", ")
            )
        })
    };
    [
        without("latency", |node| node.latency),
        without("bandwidth", |node| node.bandwidth),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Adds a node to the tier of its like, or as a tier without a name. `ordinary` is the bandwidth of
/// the memory that has cores.
fn add(tiers: &mut Vec<(MemoryTier, Vec<u32>)>, node: &MemoryNode, ordinary: f64) {
    let (Some(latency), Some(bandwidth)) = (node.latency, node.bandwidth) else {
        return;
    };
    let kind = node.kind.unwrap_or(if node.has_cores {
        TierKind::Dram
    } else if bandwidth > ordinary {
        TierKind::Hbm
    } else {
        TierKind::CxlDram
    });
    let alike = tiers
        .iter_mut()
        .find(|(tier, _)| (tier.kind, tier.latency, tier.bandwidth) == (kind, latency, bandwidth));
    match alike {
        Some((tier, numbers)) => {
            numbers.push(node.number);
            tier.capacity = tier
                .capacity
                .map(|sum| Bytes(sum.get().saturating_add(node.bytes)));
        }
        None => {
            let tier = MemoryTier {
                name: String::new(),
                kind,
                capacity: Some(Bytes(node.bytes)),
                latency,
                bandwidth,
                scope: TierScope::Machine,
                way: None,
            };
            tiers.push((tier, vec![node.number]));
        }
    }
}

/// A tier with the name of its nodes. `run` binds a tier to one node.
fn named(mut tier: MemoryTier, numbers: &[u32]) -> MemoryTier {
    let kind = tier.kind.name();
    if let [number] = numbers {
        tier.name = format!("{kind} (node {number})");
        tier.way = Some(format!("node:{number}"));
    } else {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        tier.name = format!("{kind} (nodes {})", numbers.join(", "));
    }
    tier
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u32, kib: u64, cores: &str, latency: &str, bandwidth: &str) -> SysfsNode {
        let value = |text: &str| (!text.is_empty()).then(|| format!("{text}\n"));
        SysfsNode {
            number,
            meminfo: format!(
                "Node {number} MemTotal:       {kib} kB\nNode {number} MemFree:  12 kB\n"
            ),
            cpulist: cores.to_owned(),
            read_latency: value(latency),
            read_bandwidth: value(bandwidth),
        }
    }

    #[test]
    fn sysfs_nodes_are_tiers_fastest_first_and_equal_ones_are_one() {
        let nodes = [
            node(0, 1 << 20, "0-7\n", "110", "90000"),
            node(1, 1 << 20, "8-15\n", "110", "90000"),
            node(2, 1 << 18, "\n", "130", "400000"),
            node(3, 1 << 22, "", "250", "30000"),
        ];
        let machine = machine_of_sysfs(&nodes).unwrap();
        let tiers: Vec<_> = machine
            .tiers
            .iter()
            .map(|tier| (tier.name.as_str(), tier.capacity, tier.way.as_deref()))
            .collect();
        let expected = [
            ("HBM (node 2)", Some(Bytes(1 << 28)), Some("node:2")),
            ("DRAM (nodes 0, 1)", Some(Bytes(2 << 30)), None),
            ("CXL-DRAM (node 3)", None, Some("node:3")),
        ];
        assert_eq!(tiers, expected);
        assert_eq!(machine.tiers[0].latency, 130.0);
    }

    #[test]
    fn what_sysfs_lacks_is_named() {
        let fault = |nodes: &[SysfsNode]| machine_of_sysfs(nodes).unwrap_err().to_string();
        let one = fault(&[node(0, 1 << 20, "0", "", "")]);
        assert!(one.contains("one memory node (node 0: 1 GiB)"), "{one}");
        let two = [node(0, 1 << 20, "0", "100", "0"), node(4, 9, "", "", "")];
        let none = fault(&two);
        assert!(none.contains("the latency of node 4 is not in"), "{none}");
        assert!(none.contains("the bandwidth of nodes 0, 4"), "{none}");
        let same = [node(0, 9, "0", "1", "1"), node(1, 9, "1", "1", "1")];
        assert!(fault(&same).contains("the same latency"));
        let bad = [node(0, 9, "0", "fast", "1"), node(1, 9, "1", "1", "1")];
        assert!(fault(&bad).contains("node0/access0/initiators/read_latency"));
    }

    const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x000000ff" gp_index="3">
      <object type="NUMANode" os_index="0" cpuset="0x000000ff" gp_index="40" local_memory="103079215104"/>
      <object type="NUMANode" os_index="1" cpuset="0x000000ff" gp_index="41" subtype="MCDRAM" local_memory="17179869184"/>
      <object type="L3Cache" cpuset="0x000000ff" gp_index="7" cache_size="33554432" depth="3"/>
    </object>
  </object>
  <memattr name="Bandwidth" flags="5">
    <memattr_value target_obj_gp_index="40" target_obj_type="NUMANode" value="80000" initiator_cpuset="0x000000ff"/>
    <memattr_value target_obj_gp_index="41" target_obj_type="NUMANode" value="350000" initiator_cpuset="0x0000000f"/>
    <memattr_value target_obj_gp_index="41" target_obj_type="NUMANode" value="300000" initiator_cpuset="0x000000f0"/>
  </memattr>
  <memattr name="Latency" flags="6">
    <memattr_value target_obj_gp_index="40" target_obj_type="NUMANode" value="147" initiator_cpuset="0x000000ff"/>
    <memattr_value target_obj_gp_index="41" target_obj_type="NUMANode" value="176" initiator_cpuset="0x000000ff"/>
  </memattr>
</topology>"#;

    #[test]
    fn hwloc_file_gives_tiers_and_the_cache() {
        let machine = machine_of_hwloc(XML).unwrap();
        assert_eq!(machine.cache, Some(Bytes(32 << 20)));
        assert_eq!(machine.tiers[0].kind, TierKind::Hbm);
        assert_eq!(machine.tiers[0].capacity, Some(Bytes(16 << 30)));
        assert_eq!(machine.tiers[0].bandwidth.round(), 367_002.0);
        assert_eq!(machine.tiers[1].latency, 147.0);
    }

    #[test]
    fn faults_of_hwloc_files_are_named() {
        let fault = |text: &str| machine_of_hwloc(text).unwrap_err().to_string();
        assert!(fault("<topology>").contains("hwloc's XML cannot be read"));
        assert!(fault("<html/>").contains("its root is not <topology>"));
        let without = XML.replace("name=\"Latency\"", "name=\"Locality\"");
        let error = fault(&without);
        assert!(
            error.contains("the latency of nodes 0, 1 is not in hwloc's XML"),
            "{error}"
        );
        assert!(fault("<topology/>").contains("no memory node is described"));
        assert!(fault(&XML.replace(" local_memory=\"103079215104\"", "")).contains("local_memory"));
    }

    #[test]
    fn impossible_speeds_are_refused() {
        let fault = |text: &str| machine_of_hwloc(text).unwrap_err().to_string();
        for (value, expected) in [
            ("NaN", "Latency is \"NaN\""),
            ("inf", "Latency is \"inf\""),
            ("-1", "latency is -1"),
            ("0", "latency is 0"),
        ] {
            let text = XML.replace("value=\"176\"", &format!("value=\"{value}\""));
            let error = fault(&text);
            assert!(error.contains(expected), "{error}");
        }
        let error = fault(&XML.replace("value=\"80000\"", "value=\"0\""));
        assert!(error.contains("bandwidth is 0"), "{error}");
        for value in ["nan", "inf", "-1", "1e300"] {
            let nodes = [
                node(0, 9, "0", value, "1000"),
                node(1, 9, "1", "100", "1000"),
            ];
            let error = machine_of_sysfs(&nodes).unwrap_err().to_string();
            assert!(error.contains("latency is"), "{error}");
        }
    }

    #[test]
    fn number_of_memory_nodes_is_limited() {
        let nodes = |count: u32| -> Vec<SysfsNode> {
            let latency = |number| if number == 0 { "100" } else { "200" };
            let nodes = 0..count;
            nodes
                .map(|it| node(it, 9, "0", latency(it), "1000"))
                .collect()
        };
        let machine = machine_of_sysfs(&nodes(1024)).unwrap();
        assert!(machine.slowest().name.ends_with("1022, 1023)"));
        let error = machine_of_sysfs(&nodes(1025)).unwrap_err().to_string();
        assert!(
            error.contains("1025 memory nodes, more than 1024"),
            "{error}"
        );
    }
}
