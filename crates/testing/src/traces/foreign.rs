//! The same accesses as the traces of other tools, which know more or less about each.

/// Passes over 40 KiB, as addresses of accesses of 8 bytes and whether each is a store: a load and
/// a store to each line, to different bytes of it. More than a small cache holds, so that each load
/// misses there.
pub fn passes() -> impl Iterator<Item = (u64, bool)> {
    let lines = (0..PASSES).flat_map(|_| 0..PASS_LINES);
    lines.flat_map(|line| {
        let address = 0x1f00_0000 + 64 * line;
        [(address, false), (address + 8, true)]
    })
}

/// How often [`passes`] goes over its lines.
pub const PASSES: u64 = 6;
/// Lines of 64 bytes of one of the [`passes`].
pub const PASS_LINES: u64 = 640;

/// The program counters of the load and of the store of [`passes`].
fn instruction(is_store: bool) -> u64 {
    0x40_1000 + 4 * u64::from(is_store)
}

/// [`passes`] as valgrind's lackey writes them: of two instructions, without threads.
pub fn lackey() -> Vec<u8> {
    let row = |(address, is_store)| {
        if is_store {
            format!(" S {address:08x},8\n")
        } else {
            format!("I  04001000,3\n L {address:08x},8\n")
        }
    };
    passes().map(row).collect::<String>().into_bytes()
}

/// [`passes`] as tools for Pin write them, of two threads: one loads, the other stores.
pub fn pin() -> Vec<u8> {
    let mut text = "pc,kind,address,size,thread\n".to_owned();
    for (address, is_store) in passes() {
        let kind = if is_store { "W" } else { "R" };
        let (pc, thread) = (instruction(is_store), u8::from(is_store));
        text += &format!("0x{pc:x},{kind},0x{address:x},8,{thread}\n");
    }
    text.into_bytes()
}

/// [`passes`] as DynamoRIO's drmemtrace, of one thread.
pub fn drmemtrace() -> Vec<u8> {
    let mut entries = vec![(25, 0, 5), (22, 4, 71), (24, 4, 70)];
    for (address, is_store) in passes() {
        let pc = instruction(is_store);
        entries.extend([(10, 3, pc), (u16::from(is_store), 8, address)]);
    }
    entries.extend([(23, 4, 71), (26, 0, 0)]);
    drmemtrace_entries(&entries)
}

/// Entries of drmemtrace, one after the other: kind, size, and address or another value.
pub fn drmemtrace_entries(entries: &[(u16, u16, u64)]) -> Vec<u8> {
    let bytes = |&(kind, size, value): &(u16, u16, u64)| {
        let head = [kind.to_le_bytes(), size.to_le_bytes()].concat();
        [head, value.to_le_bytes().to_vec()].concat()
    };
    entries.iter().flat_map(bytes).collect()
}
