//! Profiles made by hand, of a real reuse-distance count over the accesses of small programs; and
//! ways to read what is reported of them.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap};

use reuselens_locality::*;
use reuselens_profile::*;
use reuselens_units::{Bytes, Distance, Granularity};

/// The JSON of a profile, with the options that it has by default.
pub fn parsed(profile: &Profile) -> serde_json::Value {
    let text = reuselens_report::json(profile, &reuselens_report::JsonOptions::default());
    serde_json::from_str(&text).unwrap()
}

/// The words of each line of a text, from the first line on that begins with `heading`.
pub fn words_from<'t>(text: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading));
    let words = lines.map(|line| line.split_whitespace().collect());
    words.collect()
}

/// Indices of an access: site, object, context, thread.
pub type Key = (u32, u32, u32, u32);

/// Distances of an item stream: a tree of flags over time, the latest access of each item set.
pub struct Counter {
    tree: Vec<u64>,
    last: HashMap<u64, usize>,
    time: usize,
}

impl Counter {
    pub fn new(accesses: usize) -> Self {
        Counter {
            tree: vec![0; accesses + 2],
            last: HashMap::new(),
            time: 0,
        }
    }

    fn add(&mut self, mut index: usize, delta: i64) {
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].wrapping_add_signed(delta);
            index += index & index.wrapping_neg();
        }
    }

    fn sum(&self, mut index: usize) -> u64 {
        let mut sum = 0_u64;
        while index > 0 {
            sum = sum.wrapping_add(self.tree[index]);
            index -= index & index.wrapping_neg();
        }
        sum
    }

    pub fn access(&mut self, item: u64) -> Distance {
        self.time += 1;
        let now = self.time;
        let distance = match self.last.insert(item, now) {
            None => Distance::COLD,
            Some(then) => {
                let between = self.sum(now - 1) - self.sum(then);
                self.add(then, -1);
                Distance::new(between)
            }
        };
        self.add(now, 1);
        distance
    }
}

/// Collects accesses into the histogram and the cells of a profile.
pub struct Recorder {
    counter: Counter,
    histogram: ExactHistogram,
    cells: BTreeMap<Key, (FineHistogram, u128, u64)>,
    /// Elements of 8 bytes by object and index, of objects that begin at whole MiB.
    elements: BTreeMap<(u32, u64), Element>,
    references: u64,
}

impl Recorder {
    pub fn new(accesses: usize) -> Self {
        Recorder {
            counter: Counter::new(accesses),
            histogram: ExactHistogram::new(),
            cells: BTreeMap::new(),
            elements: BTreeMap::new(),
            references: 0,
        }
    }

    pub fn touch(&mut self, key: Key, address: u64) {
        let distance = self.counter.access(address >> 6);
        self.references += 1;
        self.histogram.add(distance, 1);
        let cell = self.cells.entry(key).or_default();
        cell.0.add(distance, 1);
        let index = (address & 0xf_ffff) / 8;
        let one = Element::counted(index, 0);
        let element = self.elements.entry((key.1, index)).or_insert(one);
        element.accesses += 1;
        element.histogram.add(distance, 1);
        let items = distance.items().unwrap_or(0);
        element.distance_sum += u128::from(items);
        element.distance_max = element.distance_max.max(items);
        if let Some(items) = distance.items() {
            cell.1 += u128::from(items);
            cell.2 = cell.2.max(items);
        }
    }

    /// As `finish`, with the elements of all objects but the unknown one.
    pub fn finish_with_elements(self, profile: &mut Profile) {
        for ((object, _), element) in &self.elements {
            if *object > 0 {
                profile.objects[*object as usize]
                    .elements
                    .push(element.clone());
            }
        }
        self.finish(profile);
    }

    pub fn finish(self, profile: &mut Profile) {
        profile.references = self.references;
        profile.histogram = self.histogram;
        profile.cells = self
            .cells
            .into_iter()
            .map(
                |((site, object, context, thread), (histogram, distance_sum, distance_max))| Cell {
                    site,
                    object,
                    context,
                    thread,
                    histogram,
                    distance_sum,
                    distance_max,
                    ..Cell::default()
                },
            )
            .collect();
    }
}

pub fn machine() -> Machine {
    let cache = |level, size, ways, shared_by| Cache {
        level,
        kind: if level == 1 {
            CacheKind::Data
        } else {
            CacheKind::Unified
        },
        size: Bytes(size),
        line: Bytes(64),
        ways,
        sets: (size / 64 / u64::from(ways)) as u32,
        shared_by,
    };
    Machine {
        processor: "Example CPU @ 3.00GHz".into(),
        caches: vec![
            cache(1, 32 << 10, 8, 1),
            cache(2, 256 << 10, 8, 1),
            cache(3, 8 << 20, 16, 4),
        ],
    }
}

pub fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: function.into(),
        file: file.into(),
        line,
    }
}

pub fn site(frames: Vec<Frame>, offset: u64, kind: &str) -> Site {
    Site {
        module: "matmul".into(),
        offset,
        frames,
        kind: kind.into(),
    }
}

pub fn context(parent: u32, function: &str, call: Frame) -> Context {
    Context {
        parent,
        function: function.into(),
        call,
        ..Context::default()
    }
}

/// No accesses at all.
pub fn empty() -> Profile {
    Profile {
        version: "0.1.0".into(),
        command: vec!["./nothing".into()],
        machine: machine(),
        method: Method {
            engine: "counting".into(),
            exact: true,
            error_bound: None,
            error_bounds: None,
            source: "compiler instrumentation: every load and store of nothing; not of libraries"
                .into(),
            order: "one thread: program order".into(),
            kinds: "all".into(),
            data: "all".into(),
            ..Method::default()
        },
        outcome: Outcome::Exit(0),
        objects: vec![Object {
            name: "unknown memory".into(),
            ..Object::default()
        }],
        contexts: vec![context(0, "(root)", Frame::default())],
        threads: vec![ProfiledThread {
            name: "thread 0 (main)".into(),
            process: 0,
        }],
        ..Profile::empty(Granularity::LINE_64)
    }
}

/// The source of the program that [`matmul`] models.
pub const MATMUL_C: &str = include_str!("matmul.c");

/// The product of `matmul`, with accesses broken down by the elements of its matrices; except the
/// last of `c`, of which only the accesses are known.
pub fn matmul_by_element(n: u64) -> Profile {
    let mut profile = matmul(n, false);
    run_matmul(n, false, &mut profile, Recorder::finish_with_elements);
    let last = profile.objects[3].elements.last_mut().unwrap();
    *last = Element::counted(last.index, last.accesses);
    profile
}

/// `n` × `n` matrix product by two threads in the order of loops `ijk`, or `ikj` if `swapped`.
pub fn matmul(n: u64, swapped: bool) -> Profile {
    let mut profile = empty();
    profile.command = vec!["./matmul".into(), n.to_string()];
    profile.method.source =
        "compiler instrumentation: every load and store of matmul; not of libraries".into();
    profile.method.order =
        "two threads: the order in which their accesses were recorded, in blocks of 4,096".into();
    profile.threads.push(ProfiledThread {
        name: "thread 1 (worker)".into(),
        process: 0,
    });
    let file = "matmul.c";
    for name in ["a (matmul.c)", "b (matmul.c)", "c (matmul.c)"] {
        profile.objects.push(Object {
            kind: ObjectKind::Static,
            name: name.into(),
            bytes: n * n * 8,
            element_bytes: 8,
            blocks: 1,
            ..Object::default()
        });
    }
    profile.sites.extend([
        site(vec![frame("fill", file, 9)], 0x1150, "store"),
        site(vec![frame("multiply", file, 17)], 0x1190, "load"),
        site(vec![frame("multiply", file, 17)], 0x1198, "load"),
        site(vec![frame("multiply", file, 18)], 0x11a4, "store"),
        site(vec![frame("trace", file, 25)], 0x11c0, "load"),
    ]);
    profile.contexts.extend([
        context(0, "main", Frame::default()),
        context(1, "fill", frame("main", file, 31)),
        context(1, "multiply", frame("main", file, 34)),
        context(1, "trace", frame("main", file, 35)),
        context(0, "worker", Frame::default()),
        context(5, "multiply", frame("worker", file, 28)),
    ]);
    run_matmul(n, swapped, &mut profile, Recorder::finish);
    profile.warnings.push(Warning {
        code: "uninstrumented-code".into(),
        message:
            "2 libraries (libc.so.6, libm.so.6) were not instrumented: their accesses are not here"
                .into(),
        hint: "build them with `reuselens cc`, or record with another source".into(),
    });
    profile
}

fn run_matmul(n: u64, swapped: bool, profile: &mut Profile, finish: fn(Recorder, &mut Profile)) {
    let at = |matrix: u64, row: u64, column: u64| 0x10_0000 * matrix + (row * n + column) * 8;
    let mut recorder = Recorder::new((3 * n * n * n + 4 * n * n) as usize + 16);
    for matrix in [1, 2] {
        for row in 0..n {
            for column in 0..n {
                recorder.touch((1, matrix as u32, 2, 0), at(matrix, row, column));
            }
        }
    }
    for half in 0..n.div_ceil(2) {
        for thread in [0, 1] {
            let i = half + u64::from(thread) * n.div_ceil(2);
            let context = if thread == 0 { 3 } else { 6 };
            if i < n {
                row_product(&mut recorder, &at, n, i, (context, thread), swapped);
            }
        }
    }
    for i in 0..n {
        recorder.touch((5, 3, 4, 0), at(3, i, i));
    }
    finish(recorder, profile);
}

fn row_product(
    recorder: &mut Recorder,
    at: &impl Fn(u64, u64, u64) -> u64,
    n: u64,
    i: u64,
    (context, thread): (u32, u32),
    swapped: bool,
) {
    for outer in 0..n {
        for inner in 0..n {
            let (j, k) = if swapped {
                (inner, outer)
            } else {
                (outer, inner)
            };
            recorder.touch((2, 1, context, thread), at(1, i, k));
            recorder.touch((3, 2, context, thread), at(2, k, j));
            recorder.touch((4, 3, context, thread), at(3, i, j));
        }
    }
}

/// `b a c a c b d` with two lines and names that need escaping in every format.
pub fn tiny() -> Profile {
    let mut profile = empty();
    profile.command = vec!["./tiny <in> \"x\"".into()];
    profile.sites.push(site(
        vec![frame("f<int, \"q\">", "</script>&.c", 3)],
        16,
        "load",
    ));
    profile
        .sites
        .push(site(vec![frame("g", "dir,a/b\"c.c", 4)], 32, "store"));
    profile.objects.push(Object {
        kind: ObjectKind::Heap,
        name: "heap from f<int, \"q\"> (</script>&.c:3)".into(),
        blocks: 2,
        bytes: 256,
        ..Object::default()
    });
    profile
        .contexts
        .push(context(0, "f<int, \"q\">", Frame::default()));
    profile
        .contexts
        .push(context(1, "g", frame("f<int, \"q\">", "</script>&.c", 3)));
    let mut recorder = Recorder::new(16);
    for (index, letter) in "bacacbd".bytes().enumerate() {
        let key = if index % 2 == 0 {
            (1, 1, 1, 0)
        } else {
            (2, 0, 2, 0)
        };
        recorder.touch(key, u64::from(letter) * 64);
    }
    recorder.finish(&mut profile);
    profile.warnings.push(Warning {
        code: "odd-name".into(),
        message: "a name holds </script> & \"quotes\"".into(),
        hint: String::new(),
    });
    profile
}

/// As [`tiny`], with so many reuses at distance 1 that all other shares are `<0.01 %`.
pub fn hot() -> Profile {
    let mut profile = tiny();
    let reuses = 10_000_000;
    profile.references += reuses;
    profile.histogram.add(Distance::new(1), reuses);
    let cell = &mut profile.cells[0];
    cell.histogram.add(Distance::new(1), reuses);
    cell.distance_sum += u128::from(reuses);
    profile
}

/// `groups` lines, each in a context of its own in a deep tree.
pub fn wide(groups: u32) -> Profile {
    let mut profile = named_groups(groups);
    let mut recorder = Recorder::new(groups as usize * 24);
    for round in 0..20_u64 {
        for group in 1..=groups {
            let address = u64::from(group) * 64 * (round % 7 + 1);
            recorder.touch((group, group, group, 0), address);
        }
    }
    recorder.finish(&mut profile);
    profile
}

/// As many groups, each with distances of all sizes.
pub fn spread(groups: u32) -> Profile {
    let mut profile = named_groups(groups);
    let rounds = 600;
    let mut recorder = Recorder::new(groups as usize * rounds as usize);
    let mut random = 1_u64;
    for round in 0..rounds {
        for group in 1..=groups {
            random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ random >> 29;
            recorder.touch(
                (group, group, group, 0),
                64 * (random % (1 << (round % 16))),
            );
        }
    }
    recorder.finish(&mut profile);
    profile
}

/// So many lines, objects and contexts, without accesses.
fn named_groups(groups: u32) -> Profile {
    let mut profile = empty();
    for group in 1..=groups {
        let function = format!(
            "namespace_{}::function_{group}<std::vector<int>>",
            group % 17
        );
        let file = format!("src/module_{}/file_{}.cpp", group % 23, group % 101);
        profile.sites.push(site(
            vec![frame(&function, &file, group)],
            u64::from(group) * 4,
            "load",
        ));
        let parent = if group % 40 == 0 { 0 } else { group - 1 };
        profile
            .contexts
            .push(context(parent, &function, frame("caller", &file, group)));
        profile.objects.push(Object {
            name: format!("object_{group} ({file})"),
            ..Object::default()
        });
    }
    profile
}
