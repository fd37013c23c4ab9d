//! Huge pages by mapping, from `/proc/self/smaps`: for kernels that cannot say it page by page.

use reuselens_guest::sys::File;

/// What a part of a range is.
#[derive(Clone, Copy)]
pub enum Sort {
    Huge,
    Small,
    Untouched,
}

/// A mapping, as far as its lines were read.
#[derive(Default)]
struct SmapsEntry {
    low: u64,
    high: u64,
    resident: u64,
    huge: u64,
}

/// Calls `each` with how many bytes of a range are of which sort, where a mapping that has several
/// counts in proportion; whether all of the range was found.
pub fn ask(low: usize, high: usize, mut each: impl FnMut(Sort, u64)) -> bool {
    let Some(file) = File::open(c"/proc/self/smaps", 0) else {
        return false;
    };
    let (mut buffer, mut line, mut len) = ([0_u8; 4096], [0_u8; 256], 0);
    let (mut mapping, mut seen) = (SmapsEntry::default(), 0);
    let mut count = |mapping: &SmapsEntry| {
        let bytes = mapping
            .high
            .min(high as u64)
            .saturating_sub(mapping.low.max(low as u64));
        let size = (mapping.high - mapping.low).max(1);
        let part = |of: u64| (u128::from(bytes) * u128::from(of) / u128::from(size)) as u64;
        if bytes > 0 {
            let (huge, resident) = (part(mapping.huge), part(mapping.resident));
            each(Sort::Huge, huge);
            each(Sort::Small, resident - huge);
            each(Sort::Untouched, bytes - resident);
            seen += bytes;
        }
    };
    loop {
        let read = file.read(&mut buffer);
        for &byte in &buffer[..read] {
            if byte != b'\n' {
                if len < line.len() {
                    line[len] = byte;
                    len += 1;
                }
                continue;
            }
            let text = &line[..len];
            len = 0;
            if let Some((low, high)) = range(text) {
                count(&mapping);
                mapping = SmapsEntry {
                    low,
                    high,
                    ..SmapsEntry::default()
                };
            } else if let Some(bytes) = field(text, b"Rss:") {
                mapping.resident += bytes;
            } else if let Some(bytes) = field(text, b"AnonHugePages:") {
                mapping.huge += bytes;
            } else if let Some(bytes) = field(text, b"Private_Hugetlb:") {
                // Pages of the pool are not among the resident ones.
                mapping.huge += bytes;
                mapping.resident += bytes;
            }
        }
        if read == 0 {
            count(&mapping);
            return seen == (high - low) as u64;
        }
    }
}

/// `7f12-7f34 rw-p …`.
fn range(line: &[u8]) -> Option<(u64, u64)> {
    let (low, rest) = hex(line)?;
    let (high, rest) = hex(rest.strip_prefix(b"-")?)?;
    rest.starts_with(b" ").then_some((low, high))
}

fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    let digit = |letter: &u8| (*letter as char).to_digit(16);
    let count = text
        .iter()
        .take_while(|letter| digit(letter).is_some())
        .count();
    let digits = text[..count].iter().filter_map(digit);
    let value = digits.fold(0_u64, |value, digit| value << 4 | u64::from(digit));
    (count > 0 && count <= 16).then_some((value, &text[count..]))
}

/// `Rss:      12 kB` in bytes.
fn field(line: &[u8], name: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(name)?.trim_ascii();
    let digits = rest.iter().take_while(|letter| letter.is_ascii_digit());
    let kibibytes = digits.fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    Some(kibibytes << 10)
}
