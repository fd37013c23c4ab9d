//! Methods of [`Machine`] and [`Cache`]: names, sizes in items, models. Nothing is read from the
//! machine here; the values come from the profile.

use reuselens_locality::SetAssociative;
use reuselens_units::{Bytes, Granularity};

use crate::{Cache, CacheKind, Machine};

impl Machine {
    /// The caches that hold data, from the one next to the processor outwards.
    pub fn data_caches(&self) -> Vec<&Cache> {
        let mut caches: Vec<&Cache> = self.caches.iter().filter(|cache| cache.is_data()).collect();
        caches.sort_by_key(|cache| (cache.level, cache.size, cache.kind));
        caches
    }

    /// The data cache of a name (`L1d`, `l2`; `L1` is `L1d`) in any case.
    pub fn cache(&self, name: &str) -> Option<&Cache> {
        let wanted = |cache: &&Cache| {
            cache.name().eq_ignore_ascii_case(name)
                || format!("L{}", cache.level).eq_ignore_ascii_case(name)
        };
        self.data_caches().into_iter().find(wanted)
    }

    /// The first data cache of a size, from the processor outwards.
    pub fn cache_of_size(&self, size: Bytes) -> Option<&Cache> {
        let mut caches = self.data_caches().into_iter();
        caches.find(|cache| cache.size == size)
    }

    /// The cache whose misses are explained if none is named: the second level, which programs miss
    /// in often enough to matter, and which a processor mostly has for itself; else the largest;
    /// 1 MiB if no cache is known.
    pub fn default_cause_cache(&self) -> Bytes {
        let largest = self.data_caches().into_iter();
        let largest = largest.max_by_key(|cache| cache.size);
        let cache = self.cache("L2").or(largest);
        cache.map_or(Bytes(1 << 20), |cache| cache.size)
    }

    /// The line of the first data cache as the size of an item; `None` if it is unknown.
    pub fn line(&self) -> Option<Granularity> {
        Granularity::new(self.data_caches().first()?.line.get()).ok()
    }
}

impl Cache {
    /// Whether it holds data.
    pub fn is_data(&self) -> bool {
        self.kind != CacheKind::Instruction
    }

    /// `L1d`, `L1i`, `L2`.
    pub fn name(&self) -> String {
        let suffix = match self.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        format!("L{}{suffix}", self.level)
    }

    /// `L1d 48 KiB 12-way`; without the ways if they are unknown.
    pub fn label(&self) -> String {
        match self.ways {
            0 => format!("{} {}", self.name(), self.size),
            ways => format!("{} {} {ways}-way", self.name(), self.size),
        }
    }

    /// The number of its lines; 0 if the size of a line is unknown.
    pub fn lines(&self) -> u64 {
        self.size.get().checked_div(self.line.get()).unwrap_or(0)
    }

    /// The number of complete items that it holds.
    pub fn items(&self, granularity: Granularity) -> u64 {
        self.size.items(granularity).get()
    }

    /// Its sets and ways as a model, if both are known or follow from each other. The distances
    /// that the model is asked about must be in lines of this cache.
    pub fn model(&self) -> Option<SetAssociative> {
        let ways = u64::from(self.ways);
        let sets = match u64::from(self.sets) {
            0 => self.lines().checked_div(ways)?,
            sets => sets,
        };
        (sets > 0 && ways > 0).then(|| SetAssociative::new(sets, ways))
    }
}

impl Default for Cache {
    /// A unified first-level cache of nothing.
    fn default() -> Self {
        Cache {
            level: 1,
            kind: CacheKind::Unified,
            size: Bytes(0),
            line: Bytes(0),
            ways: 0,
            sets: 0,
            shared_by: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(level: u8, kind: CacheKind, kib: u64, ways: u32) -> Cache {
        Cache {
            level,
            kind,
            size: Bytes(kib << 10),
            line: Bytes(64),
            ways,
            ..Cache::default()
        }
    }

    #[test]
    fn caches_are_found_by_name() {
        let machine = Machine {
            processor: "test".into(),
            caches: vec![
                cache(2, CacheKind::Unified, 2048, 16),
                cache(1, CacheKind::Instruction, 32, 8),
                cache(1, CacheKind::Data, 48, 12),
            ],
        };
        let labels: Vec<_> = machine
            .data_caches()
            .iter()
            .map(|cache| cache.label())
            .collect();
        assert_eq!(labels, ["L1d 48 KiB 12-way", "L2 2 MiB 16-way"]);
        let l1 = machine.cache("l1").unwrap();
        assert_eq!(
            (l1.lines(), l1.items(Granularity::BYTE), l1.name()),
            (768, 48 << 10, "L1d".into())
        );
        assert_eq!(
            l1.model().map(|model| (model.sets(), model.ways())),
            Some((64, 12))
        );
        assert_eq!(machine.line(), Some(Granularity::LINE_64));
        assert!(machine.cache("L3").is_none());
    }

    #[test]
    fn unknown_cache_parameters_give_no_model() {
        let nothing = Cache::default();
        assert_eq!(
            (nothing.lines(), nothing.model(), nothing.label()),
            (0, None, "L1 0 B".into())
        );
        assert_eq!(Machine::default().line(), None);
    }
}
