//! The plan as words for the preloaded library, and what it counted.

use std::collections::BTreeMap;

use reuselens_placement::{FileObject, PlacedKind, PlacementFile};
use reuselens_profile::FileOffset;

use crate::layout::{MAGIC, call, head, module, object, path, table, tier, way};
use crate::program::ModuleFunction;
use crate::ways::Way;

/// What became of an object, over all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectOutcome {
    /// Index in [`PlacementFile::objects`].
    pub object: usize,
    /// Index of its tier in [`PlacementFile::tiers`].
    pub tier: usize,
    /// Blocks that were placed.
    pub blocks: u64,
    /// Their bytes.
    pub placed: u64,
    /// Blocks that the tier had no room for, or no pages.
    pub no_room: u64,
    /// Their bytes.
    pub no_room_bytes: u64,
    /// Bytes whose pages are where they belong. These four are 0 where nobody asked.
    pub as_planned: u64,
    /// Bytes whose pages are elsewhere.
    pub elsewhere: u64,
    /// Bytes that have no pages, since nothing accessed them.
    pub untouched: u64,
    /// Bytes that the system said nothing about.
    pub unknown: u64,
}

/// What became of a tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierOutcome {
    /// How it was made.
    pub way: Way,
    /// The most bytes that one process had in it.
    pub peak: u64,
    /// System calls for its memory that were refused.
    pub refused: u64,
    /// The system's error at the last of them.
    pub error: i32,
}

impl TierOutcome {
    /// Whether the system forbids such calls, as containers do.
    pub fn is_forbidden(&self) -> bool {
        self.refused > 0 && matches!(self.error, libc::EPERM | libc::ENOSYS | libc::EACCES)
    }
}

/// How often a module of the plan was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSeen {
    /// Its file name.
    pub name: String,
    /// Processes that mapped it.
    pub seen: u64,
    /// Processes that mapped another build of it.
    pub other_build: u64,
}

/// The words of a plan.
pub(crate) struct PlanWords {
    words: Vec<u64>,
    modules: Vec<String>,
}

impl PlanWords {
    pub fn new(
        file: &PlacementFile,
        ways: &[Way],
        wrappers: &[ModuleFunction],
        verifies: bool,
        is_loose: bool,
    ) -> PlanWords {
        let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
        let places = file
            .objects
            .iter()
            .flat_map(|object| object.paths.iter().flatten());
        for place in places.filter(|place| !place.module.is_empty()) {
            modules.insert(&place.module, 0);
        }
        for (number, index) in modules.values_mut().zip(0..) {
            *number = index;
        }
        let mut tables: [Vec<u64>; table::SIZES.len()] = Default::default();
        for (tier, way) in file.tiers.iter().zip(ways) {
            tables[table::TIERS].extend(tier_record(tier.capacity_bytes, *way));
        }
        for name in modules.keys() {
            let build = file.builds.get(*name).map_or("", String::as_str);
            tables[table::MODULES].extend(module_record(name, build));
        }
        for (number, of) in file.objects.iter().enumerate() {
            let first_chunk = tables[table::CHUNKS].len() / 2;
            let record = object_record(file, of, first_chunk);
            tables[table::OBJECTS].extend(record);
            let chunks = of.chunks.iter().flat_map(|(low, high)| [*low, *high]);
            tables[table::CHUNKS].extend(chunks);
            for calls in &of.paths {
                let first = tables[table::CALLS].len() / call::SIZE;
                let mut record = [0; path::SIZE];
                record[path::OBJECT] = number as u64;
                record[path::CALL] = first as u64;
                record[path::CALLS] = calls.len() as u64;
                tables[table::PATHS].extend(record);
                let calls = calls.iter();
                let calls = calls.flat_map(|place| call_record(place, of.kind, &modules));
                tables[table::CALLS].extend(calls);
            }
        }
        for (module, low, high) in wrappers {
            let number = modules.get(module.as_str());
            let record = number.map(|number| [*number, *low, *high]);
            tables[table::WRAPPERS].extend(record.into_iter().flatten());
        }
        let mut words = joined(tables);
        words[head::MAGIC] = MAGIC;
        words[head::VERIFY] = u64::from(verifies);
        words[head::LOOSE] = u64::from(is_loose);
        words[head::WORDS] = words.len() as u64;
        PlanWords {
            words,
            modules: modules.keys().map(|name| (*name).to_owned()).collect(),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }

    /// Takes over what was counted, from the bytes of the file after the run.
    pub fn update(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }

    /// A word of the header.
    pub fn head(&self, at: usize) -> u64 {
        self.words[at]
    }

    /// The records of a table.
    fn records(&self, number: usize) -> impl Iterator<Item = &[u64]> {
        let count = self.words[head::TABLES + 2 * number] as usize;
        let first = self.words[head::TABLES + 2 * number + 1] as usize;
        let all = self.words.get(first..).unwrap_or_default();
        all.chunks_exact(table::SIZES[number]).take(count)
    }

    pub fn objects(&self) -> Vec<ObjectOutcome> {
        let records = self.records(table::OBJECTS).enumerate();
        let outcome = |(object, record): (usize, &[u64])| ObjectOutcome {
            object,
            tier: record[object::TIER] as usize,
            blocks: record[object::BLOCKS],
            placed: record[object::PLACED],
            no_room: record[object::NO_ROOM],
            no_room_bytes: record[object::NO_ROOM_BYTES],
            as_planned: record[object::AS_PLANNED],
            elsewhere: record[object::ELSEWHERE],
            untouched: record[object::UNTOUCHED],
            unknown: record[object::UNKNOWN],
        };
        records.map(outcome).collect()
    }

    pub fn tiers(&self, ways: &[Way]) -> Vec<TierOutcome> {
        let records = self.records(table::TIERS).zip(ways);
        let outcome = |(record, way): (&[u64], &Way)| TierOutcome {
            way: *way,
            peak: record[tier::PEAK],
            refused: record[tier::REFUSED],
            error: record[tier::ERROR] as i32,
        };
        records.map(outcome).collect()
    }

    pub fn modules(&self) -> Vec<ModuleSeen> {
        let records = self.records(table::MODULES).zip(&self.modules);
        let seen = |(record, name): (&[u64], &String)| ModuleSeen {
            name: name.clone(),
            seen: record[module::SEEN],
            other_build: record[module::OTHER_BUILD],
        };
        records.map(seen).collect()
    }
}

/// The header, filled as far as it says where the tables are, and the tables.
fn joined(tables: [Vec<u64>; table::SIZES.len()]) -> Vec<u64> {
    let mut words = vec![0; head::SIZE];
    for (number, records) in tables.into_iter().enumerate() {
        words[head::TABLES + 2 * number] = (records.len() / table::SIZES[number]) as u64;
        words[head::TABLES + 2 * number + 1] = words.len() as u64;
        words.extend(records);
    }
    words
}

fn tier_record(capacity: u64, way: Way) -> [u64; tier::SIZE] {
    let mut record = [0; tier::SIZE];
    record[tier::CAPACITY] = capacity;
    (record[tier::WAY], record[tier::NODE]) = match way {
        Way::Huge | Way::Madvise => (way::MADVISE, 0),
        Way::Hugetlb => (way::HUGETLB, 0),
        Way::Node(node) => (way::NODE, node.into()),
    };
    record
}

fn object_record(file: &PlacementFile, of: &FileObject, first_chunk: usize) -> [u64; object::SIZE] {
    let mut record = [0; object::SIZE];
    record[object::TIER] = file.tier(&of.tier).unwrap_or(0) as u64;
    record[object::IS_STATIC] = u64::from(of.kind == PlacedKind::Static);
    record[object::BYTES] = of.bytes;
    record[object::CHUNK] = first_chunk as u64;
    record[object::CHUNKS] = of.chunks.len() as u64;
    record
}

fn module_record(name: &str, build: &str) -> [u64; module::SIZE] {
    let mut record = [0; module::SIZE];
    let mut put = |at: usize, len_at: usize, bytes: &[u8], most: usize| {
        let bytes = &bytes[..bytes.len().min(most)];
        record[len_at] = bytes.len() as u64;
        for (index, byte) in bytes.iter().enumerate() {
            record[at + index / 8] |= u64::from(*byte) << (index % 8 * 8);
        }
    };
    let digits = build.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let build: Vec<u8> = digits.iter().filter_map(byte).collect();
    put(module::BUILD, module::BUILD_LEN, &build, module::BUILD_MAX);
    put(
        module::NAME,
        module::NAME_LEN,
        name.as_bytes(),
        module::NAME_MAX,
    );
    record
}

/// A call, of which the return address is searched: one after its last byte. A symbol is where it
/// is.
fn call_record(
    place: &FileOffset,
    kind: PlacedKind,
    modules: &BTreeMap<&str, u64>,
) -> [u64; call::SIZE] {
    let mut record = [0; call::SIZE];
    let module = modules.get(place.module.as_str());
    record[call::MODULE] = module.copied().unwrap_or(call::ANY);
    if module.is_some() {
        let after = u64::from(kind == PlacedKind::Heap);
        record[call::OFFSET] = place.offset.wrapping_add(after);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_where_they_are_counted() {
        let text = "version = 1\n[[tier]]\nname = \"t\"\nkind = \"DRAM\"\ncapacity_bytes = 9\n\
            [builds]\nprog = \"0aff\"\n\
            [[object]]\nname = \"a\"\nkind = \"heap\"\ntier = \"t\"\nbytes = 1\n\
            paths = [[\"prog+0x10\", \"...\", \"lib.so+0x20\"], [\"prog+0x30\"]]\nchunks = [[1, 2]]\n\
            [[object]]\nname = \"b\"\nkind = \"static\"\ntier = \"t\"\nbytes = 7\npaths = [[\"prog+0x40\"]]\n";
        let file = PlacementFile::from_toml(text).unwrap();
        let wrappers = [("prog".to_owned(), 5, 6), ("other".to_owned(), 7, 8)];
        let mut segment = PlanWords::new(&file, &[Way::Node(3)], &wrappers, true, false);
        let wrappers: Vec<&[u64]> = segment.records(table::WRAPPERS).collect();
        assert_eq!(wrappers, [[1, 5, 6]]);
        let calls: Vec<&[u64]> = segment.records(table::CALLS).collect();
        // Modules are numbered by name: the library first.
        let expected: [[u64; 2]; 5] = [[1, 0x11], [call::ANY, 0], [0, 0x21], [1, 0x31], [1, 0x40]];
        assert_eq!(calls, expected);
        let build = segment.records(table::MODULES).nth(1).unwrap();
        assert_eq!(
            (build[module::BUILD_LEN], build[module::BUILD]),
            (2, 0xff0a)
        );
        let at = segment.words[head::TABLES + 2 * table::OBJECTS + 1] as usize;
        let mut bytes = segment.to_bytes();
        bytes[8 * (at + object::SIZE + object::PLACED)] = 77;
        segment.update(&bytes);
        assert_eq!(segment.objects()[1].placed, 77);
        assert_eq!(segment.tiers(&[Way::Node(3)])[0].way, Way::Node(3));
        assert_eq!(segment.modules()[0].name, "lib.so");
    }
}
