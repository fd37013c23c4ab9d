//! Turns the numbers of sites, objects and contexts into names, at the end.
//!
//! Equal sites, objects and contexts become one. Cells and elements keep their numbers, so two can
//! have equal keys: see [`Tables`].

mod blocks;
mod call_sites;
mod chunks;
mod contexts;
mod elements;
mod scopes;
mod visits;

use std::collections::BTreeMap;

use reuselens_profile::{
    Context, Element, FileOffset, Frame, Object, ObjectKind, ProfiledThread, Site,
};
use reuselens_trace::Kind;

use crate::cells::{COARSE, CellKey, OTHER_THREADS};
use crate::elements::ElementKey;
use crate::hash::FastMap;
use crate::known_names::{file_name, is_system_module, module_name};
use crate::naming::{kind_name, place_name};
use crate::objects::{ObjectKey, RawObject, Usage};
use crate::places::CodePlace;
use crate::shared::Shared;
use crate::state::ThreadState;
use crate::symbol_source::{Function, SymbolSource, Variable};
use crate::tables::Tables;
use crate::wrappers::Wrappers;
use call_sites::BlockName;
use chunks::FinalChunks;
use elements::FinalElements;

pub(crate) use scopes::ScopePlace;

/// The tables of everything that was accessed: the sites, objects and contexts of all cells, and
/// the objects of all elements; and `scopes` with their names.
pub(crate) fn tables(
    shared: Shared,
    threads: &[ThreadState],
    scopes: &[ScopePlace],
    symbols: &mut dyn SymbolSource,
) -> Tables {
    let mut resolver = Resolver::new(shared, symbols);
    let raw = resolver.shared.cells.take_keys();
    resolver.wrappers = resolver.find_wrappers(&raw);
    resolver.blocks = resolver.name_blocks(&raw);
    resolver.find_chunks(&raw);
    let mut cells: Vec<CellKey> = raw.iter().map(|key| resolver.cell(key)).collect();
    let threads = named_threads(threads, &mut cells);
    let elements = resolver.elements();
    resolver.final_elements.complete(resolver.objects.len());
    let scopes = scopes.iter().map(|scope| resolver.scope(scope)).collect();
    let waiting = if threads.len() > 1 {
        resolver.waiting_sites()
    } else {
        vec![false; resolver.sites.len()]
    };
    resolver.count_visits();
    resolver.warn_of_modules_without_lines();
    resolver.shared.warn_of_elements();
    if resolver.shared.lacks_statements {
        resolver.shared.warnings.no_statements();
    }
    let mut warnings = std::mem::take(&mut resolver.shared.warnings.0);
    warnings.extend(resolver.symbols.warnings());
    Tables {
        sites: resolver.sites,
        objects: resolver.objects,
        element_types: resolver.final_elements.types,
        contexts: resolver.contexts,
        threads,
        cells,
        elements,
        scopes,
        waiting,
        warnings,
    }
}

/// All threads; and after them one for the cells of several, if there are such.
fn named_threads(threads: &[ThreadState], cells: &mut [CellKey]) -> Vec<ProfiledThread> {
    let mut named: Vec<ProfiledThread> = threads.iter().map(named_thread).collect();
    let others = cells.iter_mut().filter(|cell| cell.thread == OTHER_THREADS);
    let mut has_others = false;
    for cell in others {
        cell.thread = threads.len() as u32;
        has_others = true;
    }
    if has_others {
        named.push(ProfiledThread {
            name: "(other threads)".to_owned(),
            process: 0,
        });
    }
    named
}

fn named_thread(thread: &ThreadState) -> ProfiledThread {
    let name = match (thread.name.as_str(), thread.is_main) {
        (_, true) => format!("thread {} (main)", thread.id),
        ("", false) => format!("thread {}", thread.id),
        (name, false) => format!("thread {} ({name})", thread.id),
    };
    ProfiledThread {
        name,
        process: thread.process,
    }
}

/// Numbers in the final table by number in the raw one.
type Numbers = FastMap<u32, u32>;

/// Distinguishes objects of equal names: a module, and an address in it or a source file. Objects
/// that have neither become one where their kinds, names, paths and element sizes are equal, also
/// over several processes.
type Discriminant = (u32, u64, String);

/// An object without its counts, and what distinguishes it from others of its name.
type NamedObject = (Object, Discriminant);

struct Resolver<'a> {
    shared: Shared,
    symbols: &'a mut dyn SymbolSource,
    frames: FastMap<CodePlace, Vec<Frame>>,
    functions: FastMap<CodePlace, Option<Function>>,
    sites: Vec<Site>,
    site_numbers: Numbers,
    equal_sites: FastMap<(CodePlace, Kind), u32>,
    objects: Vec<Object>,
    object_numbers: Numbers,
    equal_objects: FastMap<NamedObject, u32>,
    /// The chunks of objects, if they were recorded.
    chunks: Option<FinalChunks>,
    /// What the elements of objects are.
    final_elements: FinalElements,
    contexts: Vec<Context>,
    /// By context, its module and its function, if they are known. `None` for inlined functions.
    context_functions: Vec<Option<(u32, Function)>>,
    context_numbers: Numbers,
    equal_contexts: FastMap<Context, u32>,
    /// The functions that allocate for their callers: see `wrappers.rs`.
    wrappers: Wrappers,
    /// The names of blocks of the heap, by object.
    blocks: FastMap<u32, BlockName>,
    /// Per module: whether any of its sites has a line.
    has_lines: BTreeMap<u32, bool>,
}

impl<'a> Resolver<'a> {
    fn new(shared: Shared, symbols: &'a mut dyn SymbolSource) -> Self {
        let root = Context {
            function: "(root)".into(),
            ..Context::default()
        };
        let unknown = Object {
            name: "unknown".into(),
            ..Object::default()
        };
        Resolver {
            shared,
            symbols,
            frames: FastMap::default(),
            functions: FastMap::default(),
            sites: vec![Site::default()],
            site_numbers: Numbers::from_iter([(0, 0)]),
            equal_sites: FastMap::default(),
            objects: vec![unknown],
            object_numbers: Numbers::from_iter([(0, 0)]),
            equal_objects: FastMap::default(),
            chunks: None,
            final_elements: FinalElements::default(),
            contexts: vec![root],
            context_functions: vec![None],
            context_numbers: Numbers::from_iter([(0, 0)]),
            equal_contexts: FastMap::default(),
            wrappers: Wrappers::default(),
            blocks: FastMap::default(),
            has_lines: BTreeMap::new(),
        }
    }

    fn cell(&mut self, key: &CellKey) -> CellKey {
        let (site, object) = (self.site(key.site), self.object(key.object));
        let node = key.context & !COARSE;
        let mut context = self.context(node);
        // A coarse cell was made for several groups of accesses (`folding.rs`, `merging.rs`): which
        // context made each access is not known.
        if node != key.context {
            context = self.others_below(context, node);
        } else if self.sites[site as usize].frames.len() > 1 {
            context = self.inlined(context, self.shared.sites[key.site as usize].place);
        }
        CellKey {
            site,
            object,
            context,
            thread: key.thread,
        }
    }

    fn elements(&mut self) -> Vec<ElementKey> {
        let raw = self.shared.objects.elements.keys().to_vec();
        let key = |key: ElementKey| ElementKey {
            object: self.object(key.object),
            ..key
        };
        raw.into_iter().map(key).collect()
    }

    fn site(&mut self, raw: u32) -> u32 {
        if let Some(&number) = self.site_numbers.get(&raw) {
            return number;
        }
        let key = self.shared.sites[raw as usize];
        let next = self.sites.len() as u32;
        let number = *self
            .equal_sites
            .entry((key.place, key.kind))
            .or_insert(next);
        if number == next {
            let frames = self.frames(key.place);
            if (key.place.module as usize) < self.shared.modules.len() {
                let has_lines = self.has_lines.entry(key.place.module).or_default();
                *has_lines |= frames.iter().any(|frame| frame.line > 0);
            }
            let site = Site {
                module: self.module_name(key.place).to_owned(),
                offset: key.place.address,
                frames,
                kind: kind_name(key.kind).to_owned(),
            };
            self.sites.push(site);
        }
        self.site_numbers.insert(raw, number);
        number
    }

    /// By site, whether it is one where a thread waits.
    fn waiting_sites(&mut self) -> Vec<bool> {
        let mut waiting = vec![false; self.sites.len()];
        for (&(place, kind), &site) in &self.equal_sites {
            let module = self.shared.modules.get(place.module as usize);
            if let Some(module) = module {
                waiting[site as usize] = self.symbols.is_wait(module, place.address, kind);
            }
        }
        waiting
    }

    /// Warns of the program's own modules in which no accessing instruction has a line. In other
    /// modules, single instructions without a line are the compiler's, and give no warning.
    fn warn_of_modules_without_lines(&mut self) {
        let without_lines = self.has_lines.iter().filter(|(_, has_lines)| !**has_lines);
        let modules = without_lines.map(|(&module, _)| &self.shared.modules[module as usize]);
        let own = modules.filter(|it| !is_system_module(&it.path) && !it.is_generated_code());
        let symbols = &mut *self.symbols;
        let named = own.map(|module| (file_name(&module.path), symbols.is_rust(module)));
        let are_shared = self.shared.function_sites.are_used();
        self.shared.warnings.no_debug_information(named, are_shared);
    }

    fn object(&mut self, raw: u32) -> u32 {
        if let Some(&number) = self.object_numbers.get(&raw) {
            return number;
        }
        let whole = self.shared.objects.start_of(raw).0;
        let raw_object = self.shared.objects.get(whole).clone();
        let mut named = self.named_object(whole, &raw_object);
        named.0.part = self.part_of(raw, &named);
        let next = self.objects.len() as u32;
        let object = named.0.clone();
        let number = *self.equal_objects.entry(named).or_insert(next);
        if number == next {
            self.objects.push(object);
        }
        let origins = self.origins_of(whole, &raw_object.key);
        let element = self.element_of(whole, &raw_object);
        self.final_elements.add(number, element);
        let is_chunk = self.add_chunk(number, raw);
        let usage = self.shared.objects.usage(whole);
        let object = &mut self.objects[number as usize];
        if !is_chunk {
            add_counts(object, &raw_object, usage);
        }
        for origin in origins {
            object.add_origin(origin);
        }
        self.object_numbers.insert(raw, number);
        number
    }

    /// The origins of an object, by which it is found in the files of another run: the calls that
    /// allocated it, innermost first, or the place of its symbol. Empty for other objects.
    fn origins_of(&mut self, object: u32, key: &ObjectKey) -> Vec<Vec<FileOffset>> {
        let mut origins = match *key {
            ObjectKey::Static { module, address } => {
                vec![vec![self.offset(CodePlace { module, address })]]
            }
            ObjectKey::Heap { node, call } => {
                let others = self.shared.objects.other_callers(object).to_vec();
                let nodes = std::iter::once(node).chain(others);
                nodes.map(|node| self.heap_origin(node, call)).collect()
            }
            _ => return Vec::new(),
        };
        // Code without a file cannot be found in another run.
        origins.retain(|origin| origin.first().is_some_and(|place| !place.module.is_empty()));
        origins
    }

    /// An object without its counts, and what distinguishes it from others of its name.
    fn named_object(&mut self, number: u32, raw: &RawObject) -> NamedObject {
        let none = (CodePlace::NO_MODULE, 0, String::new());
        let object = |kind, name: String, element_bytes| Object {
            kind,
            name,
            element_bytes,
            ..Object::default()
        };
        match &raw.key {
            // Of a chunk, the object is asked for.
            ObjectKey::Unknown | ObjectKey::Chunk { .. } => {
                (object(ObjectKind::Unknown, "unknown".into(), 0), none)
            }
            ObjectKey::Other => (
                object(ObjectKind::Unknown, "(other objects)".into(), 0),
                none,
            ),
            ObjectKey::UnknownFrame => {
                let name = "stack of thread (unknown frame)";
                (object(ObjectKind::Stack, name.into(), 0), none)
            }
            ObjectKey::Static { module, address } => {
                let (name, element_bytes) = self.static_name(raw, *module, *address);
                let symbol = (*module, *address, String::new());
                (object(ObjectKind::Static, name, element_bytes), symbol)
            }
            ObjectKey::Frames(place) => {
                let name = format!("stack of {}", self.function_name(*place));
                let file = self
                    .function(*place)
                    .map(|function| function.file)
                    .unwrap_or_default();
                (object(ObjectKind::Stack, name, 0), (place.module, 0, file))
            }
            ObjectKey::Local { module, file, name } => {
                let object = object(ObjectKind::Stack, name.clone(), raw.element_bytes);
                (object, (*module, 0, file.clone()))
            }
            ObjectKey::Heap { node, call } => {
                let BlockName { name, path } = self.block_name(number, *node, *call);
                let object = object(ObjectKind::Heap, name, raw.element_bytes);
                (Object { path, ..object }, none)
            }
            ObjectKey::Named { name, element, .. } => {
                (object(ObjectKind::Named, name.clone(), *element), none)
            }
            ObjectKey::Unnamed {
                owner, start, call, ..
            } => self.announced_object(raw, (*owner, *start), *call),
        }
    }

    /// Data that the program announced without a name: a part of another object's memory from a
    /// byte on, or, of no object (0), what a call announced.
    fn announced_object(
        &mut self,
        raw: &RawObject,
        (owner, start): (u32, u64),
        call: CodePlace,
    ) -> NamedObject {
        let (mut object, discriminant) = match owner {
            0 => {
                let name = match self.frames(call).first() {
                    Some(frame) => format!("data announced by {}", place_name(frame)),
                    None => "data announced by an unknown call".to_owned(),
                };
                let object = Object {
                    name,
                    ..Object::default()
                };
                (object, (call.module, call.address, String::new()))
            }
            number => {
                let owner = self.shared.objects.get(number).clone();
                self.named_object(number, &owner)
            }
        };
        object.kind = ObjectKind::Named;
        object.element_bytes = raw.element_bytes;
        if start > 0 {
            object.name = format!("{} + {start} bytes", object.name);
        }
        (object, discriminant)
    }

    /// The name of a static object, such as `table (a.c)`, and the bytes of an element.
    fn static_name(&mut self, raw: &RawObject, module: u32, address: u64) -> (String, u64) {
        let Some(module) = self.shared.modules.get(module as usize) else {
            return (raw.name.clone(), 0);
        };
        let Variable {
            file,
            element_bytes,
            ..
        } = self.symbols.variable(module, address);
        // What the program announced counts more.
        let element_bytes = match raw.element_bytes {
            0 => element_bytes,
            announced => announced,
        };
        let home = if file.is_empty() { &module.path } else { &file };
        (format!("{} ({})", raw.name, file_name(home)), element_bytes)
    }

    /// Where an instruction is in the source: at least its module and offset, if it has a module.
    fn frames(&mut self, place: CodePlace) -> Vec<Frame> {
        let Some(module) = self.shared.modules.get(place.module as usize) else {
            return Vec::new();
        };
        let symbols = &mut *self.symbols;
        let find = || {
            let mut frames = symbols.frames(module, place.address);
            if frames.is_empty() {
                let function = format!("{}+{:#x}", module_name(module), place.address);
                frames.push(Frame {
                    function,
                    ..Frame::default()
                });
            }
            frames
        };
        self.frames.entry(place).or_insert_with(find).clone()
    }

    fn function(&mut self, place: CodePlace) -> Option<Function> {
        let module = self.shared.modules.get(place.module as usize)?;
        let symbols = &mut *self.symbols;
        let find = || symbols.function(module, place.address);
        self.functions.entry(place).or_insert_with(find).clone()
    }

    fn function_name(&mut self, place: CodePlace) -> String {
        if let Some(function) = self.function(place) {
            return function.name;
        }
        match self.module_name(place) {
            "" => "an unknown function".to_owned(),
            module => format!("{module}+{:#x}", place.address),
        }
    }

    fn module_name(&self, place: CodePlace) -> &str {
        let module = self.shared.modules.get(place.module as usize);
        module.map_or("", module_name)
    }
}

/// Adds the counts of a raw object to the object that it turned out to be. The accesses of elements
/// add up. Blocks add up too, but a static object is always one block. Peaks of heap objects add
/// up; of other objects the larger peak stays. The largest block of all is kept.
fn add_counts(object: &mut Object, raw: &RawObject, usage: &Usage) {
    object.bytes = match raw.key {
        // Allocations at several places can have one name. What was live at one time over all of
        // them is not known; this is never too little.
        ObjectKey::Heap { .. } => object.bytes.saturating_add(usage.peak),
        _ => object.bytes.max(usage.peak),
    };
    object.blocks = match raw.key {
        ObjectKey::Static { .. } => 1,
        _ => object.blocks.saturating_add(usage.blocks),
    };
    object.longest = object.longest.max(usage.longest);
    let counters = (0..).zip(&raw.elements);
    let used = counters.filter(|(_, counter)| counter.accesses > 0);
    let elements = used.map(|(index, counter)| Element::counted(index, counter.accesses));
    object.add_elements(&elements.collect::<Vec<_>>());
}
