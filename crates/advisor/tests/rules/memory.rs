//! Rules about caches, pages and blocks of memory.

use reuselens_profile::{ObjectKind, ObjectPart, PlacementData, SetCache};
use reuselens_units::{Bytes, Distance, Granularity};

use crate::support::{Accesses, LINES, Sketch};

#[test]
fn misses_that_only_sets_cause_are_conflicts() {
    let conflicts = |sets: u64| {
        let mut sketch = Sketch::new();
        let (site, object) = (sketch.site(12, "load"), sketch.array("grid (a.c)", 1 << 20));
        let accesses = Accesses {
            hits: 90_000,
            far: 10_000,
            used: 64,
            ..Accesses::default()
        };
        sketch.accesses(site, object, accesses).causes.set_misses = vec![sets];
        sketch.causes().set_caches = vec![SetCache {
            name: "L1d".to_owned(),
            size: Bytes(LINES * 64),
            sets: LINES / 8,
            ways: 8,
            misses: sets,
            associative_misses: 10_000,
        }];
        sketch.advise().findings
    };
    let found = conflicts(60_000);
    assert_eq!(
        (found[0].rule.name, found[0].cost.amount),
        ("set-conflicts", 50_000)
    );
    assert!(found[0].evidence[1].contains("4 KiB"), "{found:?}");
    assert!(found[0].remedy.contains("Pad the rows of grid (a.c)"));
    assert_eq!(conflicts(15_000), []);
}

/// `sums` misses since `grid`, of which a column uses 8 bytes of each line, fills its sets.
#[test]
fn array_with_the_stride_is_named_and_not_its_victim() {
    let mut sketch = Sketch::new();
    let (site, other) = (sketch.site(12, "load"), sketch.site(12, "store"));
    let (grid, sums) = (
        sketch.array("grid (a.c)", 8 << 20),
        sketch.array("sums (a.c)", 4096),
    );
    let columns = Accesses {
        far: 100_000,
        used: 8,
        ..Accesses::default()
    };
    sketch.accesses(site, grid, columns).causes.set_misses = vec![100_000];
    let rows = Accesses {
        hits: 90_000,
        far: 100,
        used: 64,
        ..Accesses::default()
    };
    sketch.accesses(other, sums, rows).causes.set_misses = vec![40_000];
    sketch.causes().set_caches = vec![SetCache {
        name: "L1d".to_owned(),
        size: Bytes(LINES * 64),
        sets: LINES / 8,
        ways: 8,
        misses: 140_000,
        associative_misses: 100_100,
    }];
    let advice = sketch.advise();
    let found = advice.findings.iter();
    let mut found = found.filter(|finding| finding.rule.name == "set-conflicts");
    let finding = found.next().unwrap();
    assert_eq!(found.next(), None);
    assert_eq!(finding.place.object.as_deref(), Some("grid (a.c)"));
    assert_eq!(finding.cost.amount, 39_900);
    assert!(finding.remedy.contains("rows of grid (a.c)"), "{finding:?}");
    assert!(finding.evidence[0].starts_with("sums (a.c) has 40,000 misses"));
    assert!(finding.evidence[2].starts_with("grid (a.c) fills these sets"));
    // Small blocks have no rows.
    sketch.0.objects[grid as usize].longest = 48;
    let names = sketch.rules();
    assert!(!names.contains(&"set-conflicts"), "{names:?}");
    sketch.0.objects[grid as usize].longest = 8 << 20;
    // An array that is used completely has no stride.
    sketch.0.cells[0].causes.used_bytes = 64 * 100_000;
    let advice = sketch.advise();
    assert_eq!(advice.findings[0].rule.name, "set-conflicts");
    let object = advice.findings[0].place.object.as_deref();
    assert_eq!(object, Some("sums (a.c)"));
}

/// `out` is streamed; `table` is used again at a distance just beyond the cache.
fn streamed(single_use: u64, distance: u64) -> Sketch {
    let mut sketch = Sketch::new();
    let (store, load) = (sketch.site(12, "store"), sketch.site(13, "load"));
    let (out, table) = (
        sketch.array("out (a.c)", 8 << 20),
        sketch.array("table (a.c)", 32 << 10),
    );
    let accesses = Accesses {
        hits: 70_000,
        cold: 10_000,
        used: 64,
        ..Accesses::default()
    };
    sketch
        .accesses(store, out, accesses)
        .causes
        .single_use_fills = single_use;
    let cell = sketch.cell(load, table, &[(Distance::new(distance), 20_000)]);
    (cell.causes.fills, cell.causes.used_bytes) = (20_000, 20_000 * 64);
    sketch
}

#[test]
fn streamed_data_is_found_where_it_evicts_other_data() {
    let advice = streamed(10_000, LINES + 50).advise();
    let found = &advice.findings[0];
    assert_eq!((found.rule.name, found.cost.amount), ("streaming", 20_000));
    assert!(found.remedy.contains("Write out (a.c)"), "{found:?}");
    assert!(found.evidence[1].contains("table (a.c)"), "{found:?}");
    // Too far to hit without the stream, and data that is used twice.
    assert_eq!(streamed(10_000, 4 * LINES).rules(), [""; 0]);
    assert_eq!(streamed(5_000, LINES + 50).rules(), [""; 0]);
}

#[test]
fn reuse_beyond_the_last_cache_is_found_without_causes() {
    let beyond = |distance| {
        let mut sketch = Sketch::new();
        let (site, object) = (
            sketch.site(12, "load"),
            sketch.array("table (a.c)", 64 << 20),
        );
        sketch.cell(
            site,
            object,
            &[(Distance::new(distance), 50_000), (Distance::COLD, 5000)],
        );
        sketch.0.causes = None;
        sketch.advise()
    };
    let advice = beyond(100_000);
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(
        (finding.rule.name, finding.cost.amount),
        ("fits-no-cache", 50_000)
    );
    assert_eq!(
        (advice.cache_name.as_deref(), advice.misses),
        (Some("L2"), 55_000)
    );
    assert!(
        finding.evidence[0].contains("table (a.c) of 64 MiB"),
        "{finding:?}"
    );
    assert!(
        finding.remedy.contains("parts of it that fit L2"),
        "{finding:?}"
    );
    assert_eq!(beyond(10_000).findings, []);
}

#[test]
fn pages_beyond_the_tlb_are_for_huge_pages() {
    let pages = |distance| {
        let mut sketch = Sketch::new();
        sketch.0.granularity = Granularity::new(4096).unwrap();
        let (site, object) = (
            sketch.site(12, "load"),
            sketch.array("table (a.c)", 64 << 20),
        );
        sketch.cell(site, object, &[(Distance::new(distance), 50_000)]);
        sketch.0.causes = None;
        sketch.advise().findings
    };
    let found = pages(10_000);
    assert_eq!(
        (found[0].rule.name, &*found[0].cost.unit),
        ("huge-pages", "misses of the TLB")
    );
    assert_eq!(pages(1000), []);
}

#[test]
fn large_blocks_that_are_allocated_again_and_again_are_found() {
    let allocated = |blocks, longest, live| {
        let mut sketch = Sketch::new();
        let site = sketch.site(12, "store");
        let object = sketch.object(ObjectKind::Heap, "heap from work (a.c:9)", live, blocks);
        let accesses = Accesses {
            cold: 20_000,
            used: 64,
            ..Accesses::default()
        };
        sketch.accesses(site, object, accesses);
        sketch.0.method.placement = Some(PlacementData::default());
        sketch.0.objects[object as usize].part = Some(ObjectPart {
            longest,
            ..ObjectPart::default()
        });
        sketch.rules()
    };
    let mib = 1 << 20;
    assert_eq!(allocated(100, mib, mib), ["short-lived-allocations"]);
    assert_eq!(allocated(4, mib, mib), [""; 0]);
    assert_eq!(allocated(100, mib, 100 * mib), [""; 0]);
    assert_eq!(allocated(100, 64 << 10, 64 << 10), [""; 0]);
    // Of 100 blocks of 1 MiB the first 1 KiB: what the other misses are is no first touch.
    assert_eq!(allocated(100, mib, 1 << 10), [""; 0]);
}
