//! Chunks, lifetimes, footprints and entries of random traces agree with models that know every
//! byte and every item.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_attribute::{Options, PlacementOptions};
use reuselens_profile::{ContextFootprint, Lifetime, Object, ObjectPart};
use reuselens_trace::Kind;

use crate::common::{self, BIAS, Finished, Run, at};

/// Where blocks of the heap are.
const ARENA: u64 = 0x10_0000_0000;
/// The stacks of the threads, which have as many bytes each.
const STACKS: u64 = 0x7ffe_0000_0000;
const STACK_BYTES: u64 = 1 << 20;
/// The functions of the program that threads call, and an instruction of `g` into which `inner` is
/// inlined.
const FUNCTIONS: [(u64, &str); 4] = [(0x100, "main"), (0x200, "f"), (0x300, "g"), (0x400, "make")];
const INLINED: u64 = 0x300 + 40;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A calling context: its functions, each with the function and line that called it.
type ContextPath = Vec<(String, String, u32)>;

/// A function that a thread is in.
#[derive(Clone, Default)]
struct Activation {
    path: ContextPath,
    function: u64,
    pointer: u64,
}

/// A block of the heap, and what of it is live.
struct ModelBlock {
    low: u64,
    bytes: u64,
    object: String,
    live: Vec<(u64, u64)>,
}

/// A change of a block's live bytes: when, of which block, and what is live then.
struct Change {
    references: u64,
    block: usize,
    live: Vec<(u64, u64)>,
}

/// What must come out of a trace.
#[derive(Default)]
struct Model {
    references: u64,
    blocks: Vec<ModelBlock>,
    changes: Vec<Change>,
    /// Item accesses by object and offset in its block.
    accesses: BTreeMap<(String, u64), u64>,
    /// Items by context.
    items: BTreeMap<ContextPath, BTreeSet<u64>>,
    entries: BTreeMap<ContextPath, u64>,
    /// Where each thread is, once it has run.
    threads: Vec<Option<ContextPath>>,
}

impl Model {
    fn be_at(&mut self, thread: usize, path: &ContextPath) {
        let from = match self.threads[thread].replace(path.clone()) {
            Some(from) => from,
            None => {
                *self.entries.entry(Vec::new()).or_default() += 1;
                Vec::new()
            }
        };
        let shared = from
            .iter()
            .zip(path)
            .take_while(|(one, other)| one == other);
        for depth in shared.count() + 1..=path.len() {
            *self.entries.entry(path[..depth].to_vec()).or_default() += 1;
        }
    }

    fn change(&mut self, block: usize, live: Vec<(u64, u64)>) {
        self.blocks[block].live.clone_from(&live);
        self.changes.push(Change {
            references: self.references,
            block,
            live,
        });
    }

    /// Bytes of memory end.
    fn free(&mut self, low: u64, high: u64) {
        for number in 0..self.blocks.len() {
            let block = &self.blocks[number];
            let (from, to) = (low.max(block.low), high.min(block.low + block.bytes));
            if from >= to {
                continue;
            }
            let (from, to) = (from - block.low, to - block.low);
            let left = block
                .live
                .iter()
                .flat_map(|&(start, end)| [(start, end.min(from)), (start.max(to), end)]);
            let left: Vec<_> = left.filter(|(start, end)| start < end).collect();
            if left != block.live {
                self.change(number, left);
            }
        }
    }

    fn allocate(&mut self, low: u64, bytes: u64, object: String) {
        self.free(low, low + bytes);
        self.blocks.push(ModelBlock {
            low,
            bytes,
            object,
            live: Vec::new(),
        });
        self.change(self.blocks.len() - 1, vec![(0, bytes)]);
    }

    /// The object of an address, and the offset in it.
    fn owner(&self, address: u64) -> Option<(String, u64)> {
        let table = (BIAS + 0x1_0000)..(BIAS + 0x1_4000);
        if table.contains(&address) {
            return Some(("table (prog.c)".into(), address - table.start));
        }
        let is_live = |block: &&ModelBlock| {
            let offset = address.wrapping_sub(block.low);
            block
                .live
                .iter()
                .any(|(low, high)| (*low..*high).contains(&offset))
        };
        let block = self.blocks.iter().rev().find(is_live)?;
        Some((block.object.clone(), address - block.low))
    }

    /// An access counts for the owner of its first byte, each item access of a block operation for
    /// that of the first byte that it covers.
    fn access(&mut self, kind: Kind, address: u64, bytes: u64, path: ContextPath) {
        self.references += 1;
        let items = address / 64..=(address + bytes - 1) / 64;
        for item in items.clone() {
            let first = match kind {
                Kind::RangeLoad | Kind::RangeStore => address.max(item * 64),
                _ => address,
            };
            if let Some(owner) = self.owner(first) {
                *self.accesses.entry(owner).or_default() += 1;
            }
        }
        self.items.entry(path).or_default().extend(items);
    }

    /// The blocks of an object, by number; of the static one, one of its size.
    fn lengths(&self, object: &str) -> Vec<u64> {
        if object.starts_with("table") {
            return vec![0x4000];
        }
        let blocks = self.blocks.iter().filter(|block| block.object == object);
        blocks.map(|block| block.bytes).collect()
    }

    /// When blocks reached into `part`, and the most bytes of it that were live.
    fn life(&self, object: &str, part: (u64, u64)) -> (Lifetime, u64) {
        let mut lifetime = Lifetime {
            begin: u64::MAX,
            end: self.references,
        };
        let mut live: BTreeMap<usize, u64> = BTreeMap::new();
        let mut most = 0;
        for change in &self.changes {
            let block = &self.blocks[change.block];
            if block.object != object || block.bytes <= part.0 {
                continue;
            }
            let inside = change
                .live
                .iter()
                .map(|(low, high)| (*high).min(part.1).saturating_sub((*low).max(part.0)));
            let before = live.insert(change.block, inside.sum());
            let sum: u64 = live.values().sum();
            most = most.max(sum);
            lifetime.begin = lifetime.begin.min(change.references);
            if sum == 0 && before != Some(0) {
                lifetime.end = change.references;
            }
        }
        if live.values().sum::<u64>() > 0 {
            lifetime.end = self.references;
        }
        (lifetime, most)
    }
}

/// The chunk size of an object with blocks of these lengths, and whether it was always that.
fn chunk_size(asked: Option<u64>, lengths: &[u64]) -> (u64, bool) {
    let (mut chunk, most) = match asked {
        Some(bytes) => (bytes, 1024),
        None => (64 << 10, 64),
    };
    let first = chunk;
    for bytes in lengths {
        while bytes.div_ceil(chunk) > most {
            chunk *= 2;
        }
    }
    (chunk, chunk == first)
}

/// A random trace: its threads, and what they do.
struct Traced {
    run: Run,
    model: Model,
    stacks: Vec<Vec<Activation>>,
    random: Random,
    /// One row in so many ends a block.
    cut: u64,
    longest: u64,
}

impl Traced {
    fn new(seed: u64, asked: Option<u64>, cut: u64) -> Traced {
        let placement = PlacementOptions {
            chunk_bytes: asked,
            max_footprint_entries: 1 << 20,
        };
        let mut run = Run::new(Options {
            placement: Some(placement),
            ..Options::default()
        });
        run.symbols.inlined.insert(INLINED, vec!["inner"]);
        for thread in 0..3 {
            let low = STACKS + u64::from(thread) * STACK_BYTES;
            run.thread(0, thread, (low, low + STACK_BYTES));
        }
        let root = |thread: u64| Activation {
            pointer: STACKS + (thread + 1) * STACK_BYTES - 64,
            ..Activation::default()
        };
        Traced {
            run,
            model: Model {
                threads: vec![None; 3],
                ..Model::default()
            },
            stacks: (0..3).map(|thread| vec![root(thread)]).collect(),
            random: Random(seed * 2 + 1),
            cut,
            longest: match asked {
                Some(bytes) => bytes * 30,
                None => 12 << 20,
            },
        }
    }

    /// Some rows of a thread.
    fn turn(&mut self) {
        let thread = self.random.below(3) as usize;
        self.run.on(0, thread as u32);
        for _ in 0..1 + self.random.below(12) {
            self.row(thread);
        }
    }

    fn row(&mut self, thread: usize) {
        let top = self.stacks[thread].last().unwrap().clone();
        self.model.be_at(thread, &top.path);
        let depth = self.stacks[thread].len();
        match self.random.below(20) {
            0..3 if depth < 8 => self.call(thread, &top),
            3..5 if depth > 1 => {
                self.stacks[thread].pop();
                self.run.exit(top.pointer);
                let path = self.stacks[thread].last().unwrap().path.clone();
                self.model.be_at(thread, &path);
            }
            5 if depth == 2 && top.function == 0x100 => self.allocate(),
            6 => self.free(),
            _ => self.access(&top),
        }
        if self.random.below(self.cut) == 0 {
            self.run.flush();
        }
    }

    fn call(&mut self, thread: usize, top: &Activation) {
        let (function, name) = match self.stacks[thread].len() {
            1 => FUNCTIONS[0],
            _ => self.random.one(&FUNCTIONS[1..]),
        };
        // Blocks that one line allocates are one object, as there is one way to it.
        let line = match self.stacks[thread].len() {
            1 => 10,
            _ => 10 + self.random.below(2),
        };
        let pointer = top.pointer - 64;
        self.run.call(function, pointer, at(top.function, line));
        let on_path = top.path.iter().position(|call| call.0 == name);
        let path = match on_path {
            Some(position) => top.path[..=position].to_vec(),
            None => {
                let caller = FUNCTIONS.iter().find(|(at, _)| *at == top.function);
                let caller = caller.map_or("prog+0xa", |caller| caller.1);
                let (caller, line) = match top.function {
                    0 => (format!("prog+{line:#x}"), 0),
                    _ => (caller.to_owned(), line as u32),
                };
                [top.path.clone(), vec![(name.to_owned(), caller, line)]].concat()
            }
        };
        self.model.be_at(thread, &path);
        self.stacks[thread].push(Activation {
            path,
            function,
            pointer,
        });
    }

    fn allocate(&mut self) {
        let line = 30 + self.random.below(3);
        let bytes = match self.random.below(3) {
            0 => 1 + self.random.below(self.longest / 30),
            _ => 1 + self.random.below(self.longest),
        };
        let low = ARENA + self.random.below(8) * (self.longest / 2).next_multiple_of(16);
        self.run.alloc(at(0x100, line), low, bytes);
        self.model
            .allocate(low, bytes, format!("heap from main (prog.c:{line})"));
    }

    fn free(&mut self) {
        if self.model.blocks.is_empty() {
            return;
        }
        let number = self.random.below(self.model.blocks.len() as u64) as usize;
        let block = &self.model.blocks[number];
        let (low, bytes) = (block.low, block.bytes);
        if block.live == [(0, bytes)] && self.random.below(3) > 0 {
            self.run.free(low, 0);
            return self.model.free(low, low + bytes);
        }
        let start = self.random.below(bytes);
        let some = 1 + self.random.below(bytes - start);
        self.run.free(low + start, some);
        self.model.free(low + start, low + start + some);
    }

    fn access(&mut self, top: &Activation) {
        let address = match self.random.below(4) {
            0 => BIAS + 0x1_0000 + self.random.below(0x4000 - 8),
            1 => top.pointer - 8 - self.random.below(6) * 8,
            _ => match self.model.blocks.len() as u64 {
                0 => return,
                blocks => {
                    let block = &self.model.blocks[self.random.below(blocks) as usize];
                    block.low + self.random.below(block.bytes)
                }
            },
        };
        let mut path = top.path.clone();
        let mut line = 20 + self.random.below(2);
        if top.function == 0x300 && self.random.below(3) == 0 {
            line = INLINED - 0x300;
            path.push(("inner".into(), "g".into(), line as u32));
        }
        if self.random.below(12) == 0 {
            // A block operation may cover several chunks, and blocks, and what is between them.
            let kind = self.random.one(&[Kind::RangeLoad, Kind::RangeStore]);
            let most = self.random.one(&[300, 3000, 150_000]);
            let bytes = 1 + self.random.below(most.min(self.longest / 3));
            let pc = at(top.function, line);
            self.run.row(kind, 0, pc, address, &[bytes]);
            return self.model.access(kind, address, bytes, path);
        }
        let kind = self.random.one(&[Kind::Load, Kind::Store]);
        self.run.row(kind, 8, at(top.function, line), address, &[]);
        self.model.access(kind, address, 8, path);
    }
}

fn trace(seed: u64, asked: Option<u64>, cut: u64) -> (Finished, Model) {
    let mut traced = Traced::new(seed, asked, cut);
    for _ in 0..60 {
        traced.turn();
    }
    (traced.run.finish(), traced.model)
}

/// Item accesses by row of the table of objects, as name and part.
fn accesses(finished: &Finished) -> BTreeMap<(String, Option<ObjectPart>), u64> {
    let mut accesses = BTreeMap::new();
    for cell in &finished.columns.cells {
        let cell = &finished.tables.cells[*cell as usize];
        let object = &finished.tables.objects[cell.object as usize];
        *accesses
            .entry((object.name.clone(), object.part))
            .or_default() += 1;
    }
    accesses
}

fn check_objects(finished: &Finished, model: &Model, asked: Option<u64>) {
    let mut expected: BTreeMap<(String, Option<ObjectPart>), u64> = BTreeMap::new();
    for ((object, offset), accesses) in &model.accesses {
        let lengths = model.lengths(object);
        let (chunk, _) = chunk_size(asked, &lengths);
        let longest = lengths.into_iter().max().unwrap();
        let start = offset / chunk * chunk;
        let part = ObjectPart {
            start,
            end: (start + chunk).min(longest),
            chunk,
            longest,
        };
        let key = (object.clone(), (longest > chunk).then_some(part));
        *expected.entry(key).or_default() += accesses;
    }
    let mut found = accesses(finished);
    found.retain(|(name, _), _| name.starts_with("heap") || name.starts_with("table"));
    assert_eq!(found, expected);
    for (name, part) in expected.into_keys() {
        let is_row = |object: &&Object| (&object.name, object.part) == (&name, part);
        let mut rows = finished.tables.objects.iter().filter(is_row);
        let row = rows.next().unwrap();
        assert!(rows.next().is_none(), "{row:?} twice");
        let lengths = model.lengths(&name);
        let (start, end) = part.map_or((0, u64::MAX), |part| (part.start, part.end));
        if name.starts_with("table") {
            let whole = Lifetime {
                begin: 0,
                end: model.references,
            };
            let bytes = part.map_or(0x4000, |part| part.end - part.start);
            assert_eq!(
                (row.lifetime, row.bytes, row.blocks),
                (Some(whole), bytes, 1)
            );
            continue;
        }
        let (lifetime, bytes) = model.life(&name, (start, end));
        assert_eq!(row.lifetime, Some(lifetime), "{name} {part:?}");
        let blocks = lengths.iter().filter(|bytes| **bytes > start).count() as u64;
        assert_eq!(row.blocks, blocks, "{name} {part:?}");
        if chunk_size(asked, &lengths).1 {
            assert_eq!(row.bytes, bytes, "{name} {part:?}")
        } else {
            assert!(row.bytes >= bytes, "{name} {part:?}")
        }
    }
}

fn check_contexts(finished: &Finished, model: &Model) {
    let contexts = &finished.tables.contexts;
    let mut paths: Vec<ContextPath> = vec![Vec::new()];
    for context in &contexts[1..] {
        let mut path = paths[context.parent as usize].clone();
        let call = &context.call;
        path.push((context.function.clone(), call.function.clone(), call.line));
        paths.push(path);
    }
    assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
    for path in model.items.keys() {
        assert!(paths.contains(path), "{path:?} is missing in {paths:?}");
    }
    for (context, path) in contexts.iter().zip(&paths) {
        let exclusive = model.items.get(path).map_or(0, BTreeSet::len);
        let below = model
            .items
            .iter()
            .filter(|(other, _)| other.starts_with(path));
        let inclusive: BTreeSet<u64> = below.flat_map(|(_, items)| items.clone()).collect();
        let footprint = ContextFootprint {
            exclusive: exclusive as u64,
            inclusive: inclusive.len() as u64,
        };
        assert_eq!(context.footprint, Some(footprint), "{path:?}");
        assert_eq!(
            context.entries,
            model.entries.get(path).copied(),
            "{path:?}"
        );
    }
}

#[test]
fn random_traces_have_the_chunks_and_footprints_of_the_model() {
    let mut chunks = 0;
    for seed in 1..1201 {
        let asked = [Some(64), Some(4096), None][seed as usize % 3];
        let cut = [1_000_000, 40, 3][seed as usize / 3 % 3];
        let (finished, model) = trace(seed, asked, cut);
        assert_eq!(finished.references, model.references);
        check_objects(&finished, &model, asked);
        check_contexts(&finished, &model);
        let rows = finished.tables.objects.iter();
        chunks += rows.filter(|object| object.part.is_some()).count();
    }
    assert!(chunks > 20_000, "{chunks}");
}

/// However the rows are cut into blocks.
#[test]
fn cuts_of_a_trace_do_not_show() {
    for seed in 1..101 {
        let mut rows: Vec<_> = Vec::new();
        for pieces in [1, 7, 1_000_000] {
            let (finished, _) = replay(seed, pieces);
            rows.push(finished.tables);
        }
        assert_eq!(rows[0], rows[1]);
        assert_eq!(rows[0], rows[2]);
    }
}

/// A trace whose actions do not depend on where its blocks end.
fn replay(seed: u64, every: u64) -> (Finished, Model) {
    let mut traced = Traced::new(seed, Some(64), 1_000_000_000);
    for row in 0..400_u64 {
        let thread = traced.random.below(3) as usize;
        traced.run.on(0, thread as u32);
        traced.row(thread);
        if row % every == 0 {
            traced.run.flush();
        }
    }
    (traced.run.finish(), traced.model)
}

#[test]
fn footprints_beyond_their_limit_are_left_out_with_a_warning() {
    let run = |max_footprint_entries| {
        let mut run = Run::new(Options {
            placement: Some(PlacementOptions {
                chunk_bytes: None,
                max_footprint_entries,
            }),
            ..Options::default()
        });
        run.enter(0x100, common::STACK.1 - 64, at(0, 10));
        // Each access is to a group of its own.
        for group in 0..100 {
            run.load(at(0x100, 20), ARENA + group * 4096);
        }
        run.finish()
    };
    let (all, none) = (run(100), run(99));
    let footprints = |finished: &Finished| {
        let contexts = finished.tables.contexts.iter();
        contexts
            .map(|context| context.footprint)
            .collect::<Vec<_>>()
    };
    let of = |exclusive| {
        Some(ContextFootprint {
            exclusive,
            inclusive: 100,
        })
    };
    assert_eq!(footprints(&all), [of(0), of(100)]);
    assert_eq!(footprints(&none), [None, None]);
    assert_eq!(none.tables.contexts[1].entries, Some(1));
    assert!(none.warnings().contains(&"footprints-left-out"));
    assert!(!all.warnings().contains(&"footprints-left-out"));
}

/// Cells that are merged into those of coarser contexts leave the footprints as they are.
#[test]
fn footprints_are_of_the_true_contexts_where_cells_are_merged() {
    for merges in [false, true] {
        let mut run = Run::new(Options {
            placement: Some(PlacementOptions {
                chunk_bytes: None,
                max_footprint_entries: 1 << 20,
            }),
            max_cells: 8,
            merges,
            ..Options::default()
        });
        let (top, mut expected) = (common::STACK.1 - 64, BTreeMap::new());
        for round in 0..200 {
            let line = round % 50;
            run.enter(0x100, top, at(0, 10));
            run.enter(0x200, top - 64, at(0x100, line));
            for item in 0..=round {
                run.load(at(0x200, 60 + item % 9), ARENA + item * 64);
            }
            expected.insert(line as u32, round + 1);
            run.exit(top - 64);
            run.exit(top);
            run.flush();
        }
        let finished = run.finish();
        let mut known = 0;
        for context in finished.tables.contexts.iter().skip(1) {
            let Some(footprint) = context.footprint else {
                assert_eq!(context.function, "(other contexts)");
                continue;
            };
            if context.function == "main" {
                assert_eq!((footprint.exclusive, footprint.inclusive), (0, 200));
            } else {
                known += 1;
                assert_eq!(context.entries, Some(4));
                assert_eq!(footprint.exclusive, expected[&context.call.line]);
            }
        }
        assert_eq!(known, 50);
    }
}
