//! Profiles made by hand: a few sites, objects and cells with the counts that a rule looks at.

use reuselens_advisor::{MissAdvice, advise};
use reuselens_profile::{
    Cache, CacheKind, CarriedReuse, Carrier, Causes, Cell, CellCauses, DataLayout, ElementUse,
    Frame, LayoutField, Machine, Method, MissScope, Object, ObjectKind, Profile, ProfiledThread,
    ScopeKind, Site,
};
use reuselens_units::{Bytes, Distance, Granularity};

/// Lines of the cache that all causes are of.
pub const LINES: u64 = 512;
/// A distance beyond that cache.
pub const FAR: u64 = 5000;

/// A profile in the making.
pub struct Sketch(pub Profile);

/// The accesses of a cell.
#[derive(Clone, Copy, Default)]
pub struct Accesses {
    pub hits: u64,
    pub cold: u64,
    /// Accesses at a distance of [`FAR`].
    pub far: u64,
    /// Bytes used of each line.
    pub used: u64,
}

impl Sketch {
    /// Of a machine with an L1d of 32 KiB and an L2 of 1 MiB.
    pub fn new() -> Sketch {
        let cache = |level, kind, kib: u64| Cache {
            level,
            kind,
            size: Bytes(kib << 10),
            line: Bytes(64),
            ways: 8,
            ..Cache::default()
        };
        Sketch(Profile {
            command: vec!["./prog".to_owned()],
            machine: Machine {
                processor: "test".to_owned(),
                caches: vec![
                    cache(1, CacheKind::Data, 32),
                    cache(2, CacheKind::Unified, 1024),
                ],
            },
            method: Method {
                exact: true,
                ..Method::default()
            },
            causes: Some(Causes {
                cache: Bytes(LINES * 64),
                has_loops: true,
                ..Causes::default()
            }),
            threads: ["main", "worker"]
                .map(|name| ProfiledThread {
                    name: name.to_owned(),
                    process: 0,
                })
                .to_vec(),
            ..Profile::empty(Granularity::LINE_64)
        })
    }

    pub fn causes(&mut self) -> &mut Causes {
        self.0.causes.as_mut().unwrap()
    }

    /// A site at this line of `a.c`.
    pub fn site(&mut self, line: u32, kind: &str) -> u32 {
        self.0.sites.push(Site {
            module: "prog".to_owned(),
            offset: line.into(),
            frames: vec![frame(line)],
            kind: kind.to_owned(),
        });
        self.0.sites.len() as u32 - 1
    }

    /// A static array.
    pub fn array(&mut self, name: &str, bytes: u64) -> u32 {
        self.object(ObjectKind::Static, name, bytes, 1)
    }

    pub fn object(&mut self, kind: ObjectKind, name: &str, bytes: u64, blocks: u64) -> u32 {
        self.0.objects.push(Object {
            kind,
            name: name.to_owned(),
            bytes,
            blocks,
            ..Object::default()
        });
        self.0.objects.len() as u32 - 1
    }

    /// Accesses of a site to an object, by the first thread.
    pub fn accesses(&mut self, site: u32, object: u32, accesses: Accesses) -> &mut Cell {
        let distances = [
            (Distance::ZERO, accesses.hits),
            (Distance::COLD, accesses.cold),
            (Distance::new(FAR), accesses.far),
        ];
        let fills = accesses.cold + accesses.far;
        let cell = self.cell(site, object, &distances);
        cell.causes = CellCauses {
            fills,
            used_bytes: fills * accesses.used,
            ..CellCauses::default()
        };
        cell
    }

    /// A cell with these distances.
    pub fn cell(&mut self, site: u32, object: u32, distances: &[(Distance, u64)]) -> &mut Cell {
        let mut cell = Cell {
            site,
            object,
            ..Cell::default()
        };
        for &(distance, count) in distances {
            cell.histogram.add(distance, count);
            self.0.histogram.add(distance, count);
        }
        self.0.cells.push(cell);
        self.0.cells.last_mut().unwrap()
    }

    /// A loop at this line.
    pub fn scope(&mut self, kind: ScopeKind, line: u32) -> u32 {
        let scopes = &mut self.causes().scopes;
        scopes.push(MissScope {
            kind,
            frame: frame(line),
            ..MissScope::default()
        });
        scopes.len() as u32 - 1
    }

    /// Reuses at [`FAR`].
    pub fn carried(&mut self, ends: [u32; 2], object: u32, carrier: Carrier, misses: u64) {
        self.causes().carried.push(CarriedReuse {
            source: ends[0],
            sink: ends[1],
            object,
            carrier,
            misses,
            distance_sum: misses * FAR,
        });
    }

    /// Elements of an object whose type is not known: so many of 1,000 that are brought in are
    /// used.
    pub fn untyped(&mut self, object: u32, bytes: usize, used: u64) {
        let elements = ElementUse {
            object,
            accesses: vec![1000; bytes],
            misses: vec![0; bytes],
            brought: vec![1000; bytes],
            used: vec![used; bytes],
            ..ElementUse::default()
        };
        let elements = self.of_all_fills(elements);
        self.causes().elements.push(elements);
    }

    /// The same shares of all bytes that the object's fills bring in. The first byte that is used
    /// is the one that misses.
    fn of_all_fills(&self, mut elements: ElementUse) -> ElementUse {
        let cells = self.0.cells.iter();
        let mine = cells.filter(|cell| cell.object == elements.object);
        let fills: u64 = mine.map(|cell| cell.causes.fills).sum();
        let factor = (fills * 64 / elements.brought.iter().sum::<u64>()).max(1);
        for count in elements.brought.iter_mut().chain(&mut elements.used) {
            *count *= factor;
        }
        let missing = elements.used.iter().position(|used| *used > 0);
        elements.misses[missing.unwrap_or(0)] = fills;
        elements
    }

    /// An object's elements of fields of 8 bytes: in how many of its fills each is brought in, and
    /// in how many it is used, as shares.
    pub fn fields(&mut self, object: u32, type_name: &str, fields: &[(&str, &str, u64, u64)]) {
        let layout = DataLayout {
            name: type_name.to_owned(),
            bytes: 8 * fields.len() as u64,
            fields: (0..)
                .zip(fields)
                .map(|(at, (name, type_name, ..))| LayoutField {
                    name: (*name).to_owned(),
                    type_name: (*type_name).to_owned(),
                    offset: 8 * at,
                    bytes: 8,
                })
                .collect(),
        };
        let column = |value: fn(&(&str, &str, u64, u64)) -> u64| {
            let values = fields.iter().flat_map(move |field| [value(field); 8]);
            values.collect::<Vec<u64>>()
        };
        let begins = fields.iter().flat_map(|field| {
            let mut bytes = [0; 8];
            bytes[0] = field.3;
            bytes
        });
        let elements = ElementUse {
            object,
            layout: Some(self.causes().layouts.len() as u32),
            accesses: begins.collect(),
            misses: vec![0; 8 * fields.len()],
            brought: column(|field| field.2),
            used: column(|field| field.3),
            ..ElementUse::default()
        };
        let elements = self.of_all_fills(elements);
        let causes = self.causes();
        causes.layouts.push(layout);
        causes.elements.push(elements);
    }

    /// Lets all elements have the first type.
    pub fn same_layouts(&mut self) {
        for elements in &mut self.causes().elements {
            elements.layout = Some(0);
        }
    }

    pub fn advise(&self) -> MissAdvice {
        advise(&self.0)
    }

    /// The names of the rules that apply, the costliest first.
    pub fn rules(&self) -> Vec<&'static str> {
        let advice = self.advise();
        advice
            .findings
            .iter()
            .map(|finding| finding.rule.name)
            .collect()
    }
}

fn frame(line: u32) -> Frame {
    Frame {
        function: "work".to_owned(),
        file: "/src/a.c".to_owned(),
        line,
    }
}
