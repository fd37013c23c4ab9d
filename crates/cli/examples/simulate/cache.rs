//! A cache with sets: the least recently used line of a set goes, and is written back if it was
//! written to.

/// A line that the cache holds.
#[derive(Clone, Copy)]
struct Way {
    line: u64,
    last_use: u64,
    is_dirty: bool,
}

const EMPTY: Way = Way {
    line: u64::MAX,
    last_use: 0,
    is_dirty: false,
};

/// What an access to a cache did.
pub struct Lookup {
    /// Whether the line was there.
    pub is_hit: bool,
    /// The line that had to be written back to make room.
    pub written_back: Option<u64>,
}

/// A cache that allocates on loads and stores.
pub struct Cache {
    ways: usize,
    sets: u64,
    lines: Vec<Way>,
    clock: u64,
}

impl Cache {
    /// A cache of about `bytes` bytes, with at least one set of `ways` lines of `line` bytes.
    pub fn new(bytes: u64, ways: usize, line: u64) -> Cache {
        let sets = (bytes / line / ways as u64).max(1);
        Cache {
            ways,
            sets,
            lines: vec![EMPTY; sets as usize * ways],
            clock: 0,
        }
    }

    /// Accesses a line, and keeps it.
    pub fn access(&mut self, line: u64, is_store: bool) -> Lookup {
        self.clock += 1;
        let begin = (line % self.sets) as usize * self.ways;
        let set = &mut self.lines[begin..begin + self.ways];
        if let Some(way) = set.iter_mut().find(|way| way.line == line) {
            way.last_use = self.clock;
            way.is_dirty |= is_store;
            return Lookup {
                is_hit: true,
                written_back: None,
            };
        }
        let mut oldest = 0;
        for (index, way) in set.iter().enumerate() {
            if way.last_use < set[oldest].last_use {
                oldest = index;
            }
        }
        let gone = set[oldest];
        set[oldest] = Way {
            line,
            last_use: self.clock,
            is_dirty: is_store,
        };
        Lookup {
            is_hit: false,
            written_back: gone.is_dirty.then_some(gone.line),
        }
    }
}
