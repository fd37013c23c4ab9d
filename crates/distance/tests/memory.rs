//! What tables take while they grow, by what the operating system says: alone in its process.

use reuselens_distance::{CountingTree, Engine};
use reuselens_units::Distance;

const PIECE: usize = 1 << 12;

fn process(engine: &mut CountingTree, items: impl Iterator<Item = u64>) {
    let mut items = items.peekable();
    let (mut piece, mut distances) = (Vec::new(), vec![Distance::ZERO; PIECE]);
    while items.peek().is_some() {
        piece.clear();
        piece.extend(items.by_ref().take(PIECE));
        engine.process(&piece, &mut distances[..piece.len()]);
    }
}

/// Numbers of which no two lie close together.
fn apart(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(target_os = "linux")]
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .unwrap();
    line.trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .unwrap()
        << 10
}

/// The most memory that the process had meanwhile, beyond what it had before.
#[cfg(target_os = "linux")]
fn peak(work: impl FnOnce()) -> u64 {
    forget_peak().unwrap();
    let before = status("VmRSS");
    work();
    status("VmHWM") - before
}

#[cfg(target_os = "linux")]
fn forget_peak() -> std::io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

#[test]
#[cfg(target_os = "linux")]
fn a_table_that_grows_never_takes_32_bytes_for_an_item() {
    const MIB: u64 = 1 << 20;
    if let Err(error) = forget_peak() {
        eprintln!("not shown: the system does not forget the largest memory so far: {error}");
        return;
    }
    // The table has just grown: at 3.4 million.
    const ITEMS: u64 = 3_600_000;
    let mut engine = CountingTree::new();
    let taken = peak(|| process(&mut engine, (0..ITEMS).map(apart)));
    assert_eq!(engine.distinct().get(), ITEMS);
    assert!(
        taken < 28 * ITEMS + 8 * MIB,
        "{} bytes an item",
        taken / ITEMS
    );
    // From a hash table to shadow pages of which a quarter is in use: the most that they take.
    let mut engine = CountingTree::new();
    let quarter = |item: u64| item / 130 * 512 + item % 130;
    let taken = peak(|| process(&mut engine, (0..ITEMS).map(quarter)));
    assert!(
        taken < 30 * ITEMS + 8 * MIB,
        "{} bytes an item",
        taken / ITEMS
    );
    // And back: items that lie apart come in.
    let others = ITEMS / 2;
    let taken = peak(|| process(&mut engine, (0..others).map(apart)));
    let all = ITEMS + others;
    assert!(taken < 32 * all + 8 * MIB, "{} bytes an item", taken / all);
}
