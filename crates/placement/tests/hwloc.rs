//! A file as hwloc's tools write it.

use reuselens_placement::{TierKind, machine_of_hwloc};
use reuselens_units::Bytes;

/// Written by `lstopo` 2.9.0 for a package with two memory nodes, the second of them CXL memory,
/// whose speeds `hwloc-annotate` added: 120 and 300 ns, 90,000 and 20,000 MiB/s.
const WRITTEN_BY_LSTOPO: &str = include_str!("hwloc/lstopo.xml");

#[test]
fn file_of_lstopo_is_a_machine() {
    let machine = machine_of_hwloc(WRITTEN_BY_LSTOPO).unwrap();
    let tiers: Vec<_> = machine
        .tiers
        .iter()
        .map(|tier| (tier.kind, tier.capacity, tier.latency, tier.bandwidth))
        .collect();
    let gib = Some(Bytes(1 << 30));
    assert_eq!(
        tiers,
        [
            (TierKind::Dram, gib, 120.0, 94_371.84),
            (TierKind::CxlDram, None, 300.0, 20_971.52)
        ]
    );
    assert_eq!(machine.cache, Some(Bytes(4 << 20)));
    let ways: Vec<_> = machine
        .tiers
        .iter()
        .map(|tier| tier.way.as_deref())
        .collect();
    assert_eq!(ways, [Some("node:0"), Some("node:1")]);
}

#[test]
fn file_of_lstopo_without_speeds_says_what_is_missing() {
    let (before, rest) = WRITTEN_BY_LSTOPO
        .split_once("  <memattr name=\"Bandwidth\"")
        .unwrap();
    let (_, after) = rest.split_once("</memattr>\n").unwrap();
    let error = machine_of_hwloc(&format!("{before}{after}")).unwrap_err();
    assert!(
        error.to_string().contains("the bandwidth of nodes 0, 1"),
        "{error}"
    );
}
