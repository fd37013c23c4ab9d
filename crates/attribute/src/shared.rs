//! The tables of one attributor, common to all processes and threads of the traced program. Nothing
//! here is shared between analysing threads: each segment of a trace has its own tables.

mod blocks;
mod locals;

use reuselens_profile::Warning;
use reuselens_trace::{Kind, Module};

use crate::ballots::Ballots;
use crate::cells::{CellKey, CellTable, PackedKey};
use crate::chunks::Chunks;
use crate::columns::{CellObject, Columns};
use crate::contexts::{CallKey, Contexts, Places};
use crate::folding::{Candidates, CellChoice};
use crate::function_sites::FunctionSites;
use crate::hash::FastMap;
use crate::known_names::is_system_module;
use crate::locals::{LiveFrames, LocalLayouts};
use crate::merging::Merging;
use crate::objects::{ObjectKey, Objects, Where};
use crate::options::{NamesMode, Options};
use crate::places::{CodePlace, Mappings};
use crate::shadow::NO_STRUCTURE;
use crate::sites::SiteKey;
use crate::space::{SymbolExtent, SymbolExtents};
use crate::structures::{Structure, Structures};
use crate::symbol_source::{BlockTypes, FrameLayouts, StaticSymbol, SymbolSource};
use crate::visits::Visits;
use crate::warnings::Warnings;

/// Most sites. Further instructions count for the unknown one.
pub(crate) const MAX_SITES: usize = 1 << 20;

/// Warnings that accesses count for coarser groups than their own. See [`Shared::once`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum FoldWarning {
    /// For a function further up.
    Contexts,
    /// For the other objects.
    Objects,
    /// The tree of contexts is full.
    ManyContexts,
    /// For the unknown line.
    Lines,
    /// For the other threads.
    Threads,
}

/// The sites, objects, contexts and cells of a trace so far.
#[derive(Debug)]
pub(crate) struct Shared {
    pub modules: Vec<Module>,
    module_numbers: FastMap<(String, Vec<u8>), u32>,
    extents: FastMap<u32, SymbolExtents>,
    pub sites: Vec<SiteKey>,
    pub objects: Objects,
    /// The chunks of objects, if the options ask for them.
    pub chunks: Option<Chunks>,
    /// Which items contexts access, and how often they are entered, if the options ask for it.
    pub visits: Option<Visits>,
    pub contexts: Contexts,
    pub cells: CellTable,
    pub candidates: Candidates,
    pub merging: Merging,
    /// How often cells were merged.
    pub merges: u64,
    pub function_sites: FunctionSites,
    pub structures: Structures,
    frames: FastMap<(u64, u64), u32>,
    /// The source of frame layouts, by module.
    frame_layouts: FastMap<u32, Box<dyn FrameLayouts>>,
    /// The source of the types of blocks, once a module is known.
    block_types: Option<Box<dyn BlockTypes>>,
    /// The types of blocks by the instructions that access them.
    pub ballots: Ballots,
    /// The variables in the frames of functions.
    pub layouts: LocalLayouts,
    pub live_frames: LiveFrames,
    pub references: u64,
    pub warnings: Warnings,
    /// By [`FoldWarning`], whether it was given.
    given: [bool; 5],
    pub(crate) with_contexts: bool,
    /// Whether instructions of modules without lines may share a site. False with basic blocks, as
    /// paths need each instruction, and for items only.
    pub(crate) with_function_sites: bool,
    with_elements: bool,
    /// Whether the options ask for offsets in elements.
    pub(crate) with_offsets: bool,
    /// Whether the options ask for marks of statements and the trace had none so far.
    pub lacks_statements: bool,
    /// Whether only items are asked for: objects then have neither names nor elements.
    is_totals_only: bool,
    /// Events of the trace so far.
    pub events: u64,
}

impl Shared {
    pub fn new(options: &Options) -> Self {
        Shared {
            modules: Vec::new(),
            module_numbers: FastMap::default(),
            extents: FastMap::default(),
            sites: vec![SiteKey {
                place: CodePlace::UNKNOWN,
                kind: Kind::Load,
            }],
            objects: Objects::new(),
            chunks: options.chunks(),
            visits: options.visits(),
            contexts: Contexts::new(),
            cells: CellTable::new(options.max_cells),
            candidates: Candidates::default(),
            merging: Merging::new(options),
            merges: 0,
            function_sites: FunctionSites::default(),
            structures: Structures::default(),
            frames: FastMap::default(),
            frame_layouts: FastMap::default(),
            block_types: None,
            ballots: Ballots::default(),
            layouts: LocalLayouts::default(),
            live_frames: LiveFrames::default(),
            references: 0,
            warnings: Warnings::default(),
            given: [false; 5],
            with_contexts: options.contexts,
            with_function_sites: !options.basic_blocks && !options.is_totals_only(),
            with_elements: options.elements,
            with_offsets: options.with_offsets(),
            lacks_statements: options.names == NamesMode::Statement,
            is_totals_only: options.is_totals_only(),
            events: 0,
        }
    }

    /// The number of a module: that of the same file in another process, if there is one.
    pub fn module(&mut self, module: &Module) -> u32 {
        let next = self.modules.len() as u32;
        let key = (module.path.clone(), module.build_id.clone());
        let number = *self.module_numbers.entry(key).or_insert(next);
        if number == next {
            self.modules.push(module.clone());
        }
        number
    }

    /// The static symbols of a module as objects.
    pub fn statics(
        &mut self,
        number: u32,
        module: &Module,
        symbols: &mut dyn SymbolSource,
    ) -> SymbolExtents {
        if let Some(extents) = self.extents.get(&number)
            && !self.with_elements
        {
            return extents.clone();
        }
        if self.is_totals_only {
            // Reading a program's files takes as long as counting some million accesses.
            return SymbolExtents::default();
        }
        let mut list = symbols.statics(module);
        // Keeps the longer of two symbols at one address, or the first name of equally long ones.
        list.sort_by(|a, b| (a.low, b.high, &a.name).cmp(&(b.low, a.high, &b.name)));
        let mut extents: Vec<SymbolExtent> = Vec::with_capacity(list.len());
        for symbol in list {
            let free = extents.last().map_or(0, |last| last.high);
            if symbol.low < free || symbol.high <= symbol.low {
                continue;
            }
            let key = ObjectKey::Static {
                module: number,
                address: symbol.low,
            };
            let object = self.objects.get_or_add(key, Where::Static);
            let structure = self.static_structure(module, symbol.low, symbol.high, object, symbols);
            self.objects.set_fixed(object, symbol.high - symbol.low);
            if self.with_offsets {
                self.find_static_elements(module, &symbol, object, symbols);
            }
            self.objects.get_mut(object).name = symbol.name;
            let extent = (symbol.low, symbol.high, object);
            let pieces = match (&mut self.chunks, structure) {
                // Elements are counted for the object alone, so it has no chunks.
                (Some(chunks), NO_STRUCTURE) => {
                    let pieces = chunks.split(object, (symbol.low, symbol.high), &mut self.objects);
                    chunks.begin(object, symbol.high - symbol.low, 0);
                    pieces
                }
                _ => vec![extent],
            };
            let extent = |(low, high, object)| SymbolExtent {
                low,
                high,
                object,
                structure,
            };
            extents.extend(pieces.into_iter().map(extent));
        }
        let extents: SymbolExtents = extents.into();
        self.extents.insert(number, extents.clone());
        extents
    }

    /// Finds the elements of a symbol, for offsets in them. A small symbol of unknown type is one
    /// element. The debug information of the system's libraries is not read.
    fn find_static_elements(
        &mut self,
        module: &Module,
        symbol: &StaticSymbol,
        object: u32,
        symbols: &mut dyn SymbolSource,
    ) {
        let bytes = symbol.high - symbol.low;
        let element = if is_system_module(&module.path) {
            0
        } else {
            symbols.variable(module, symbol.low).element_bytes
        };
        let element = match element {
            0 if symbol.is_unnamed() => 0,
            0 => bytes,
            element => element,
        };
        self.objects.spans.agree(object, element);
    }

    /// The structure that counts a symbol's elements, if it has elements and the options ask for
    /// them.
    fn static_structure(
        &mut self,
        module: &Module,
        low: u64,
        high: u64,
        object: u32,
        symbols: &mut dyn SymbolSource,
    ) -> u32 {
        if !self.with_elements {
            return NO_STRUCTURE;
        }
        let element = symbols.variable(module, low).element_bytes;
        if element == 0 || element >= high - low {
            return NO_STRUCTURE;
        }
        self.objects.get_mut(object).element_bytes = element;
        self.structure(low.wrapping_add(module.bias), high - low, element, object)
    }

    /// The number of a structure whose elements are counted; [`NO_STRUCTURE`] where there is no
    /// room.
    pub fn structure(&mut self, base: u64, bytes: u64, element: u64, object: u32) -> u32 {
        let element = element.max(1);
        let elements = bytes.div_ceil(element);
        if !self.is_totals_only {
            self.objects.reserve_elements(object, elements);
        }
        self.structures
            .get_or_add(Structure {
                base,
                bytes,
                element,
                object,
            })
            .unwrap_or(NO_STRUCTURE)
    }

    /// The number of a new site; 0, the unknown one, for no program counter and for a full table.
    #[cold]
    pub fn add_site(&mut self, mappings: &Mappings, pc: u64, kind: Kind) -> u32 {
        if pc == 0 {
            return 0;
        }
        if self.sites.len() >= MAX_SITES {
            self.warnings.once(
                "sites-not-told-apart",
                "the trace has more than a million instructions that access memory; the rest counts for the unknown one",
                "",
            );
            return 0;
        }
        self.sites.push(SiteKey {
            place: mappings.place(pc),
            kind,
        });
        self.sites.len() as u32 - 1
    }

    /// Prefetches what [`Self::cell`] reads for a key with this hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.cells.prefetch(hash);
        self.candidates.prefetch(hash);
    }

    /// The cell that an access of this key counts for: one of its own, while there is room.
    #[inline(never)]
    pub fn cell(&mut self, key: CellKey) -> CellChoice {
        let packed = PackedKey::from(key);
        let hash = packed.hash();
        match self.cells.look(packed, hash) {
            Some(cell) => CellChoice { cell, lasts: true },
            None => self.new_cell(packed),
        }
    }

    /// Whether any key gets a cell of its own at once.
    pub fn has_room(&self) -> bool {
        self.cells.has_room() || self.merging.admission(&self.cells) == Some(1)
    }

    /// Adds the sites of new cells to columns, and their objects, as the options ask for it.
    pub fn add_cells(&self, options: &Options, columns: &mut Columns) {
        let keys = self.cells.keys();
        if options.basic_blocks || options.bytes {
            let new = &keys[columns.sites.len()..];
            columns.sites.extend(new.iter().map(|key| key.site));
        }
        if options.bytes {
            let new = &keys[columns.objects.len()..];
            let object = |key: &CellKey| {
                let element = self.objects.spans.get(key.object).unwrap_or(0);
                let end = self.objects.spans.start(key.object) + u64::from(element);
                let longest = self.objects.usage(key.object).longest;
                CellObject {
                    object: key.object,
                    element_bytes: element,
                    is_single: (1..=end).contains(&longest),
                }
            };
            columns.objects.extend(new.iter().map(object));
        }
    }

    /// Gives a warning once that many accesses give cause for. Comparing its text at each of them
    /// would take longer than everything else.
    pub(crate) fn once(&mut self, which: FoldWarning, code: &str, message: &str, hint: &str) {
        if !std::mem::replace(&mut self.given[which as usize], true) {
            self.warnings.once(code, message, hint);
        }
    }

    /// Whether [`Shared::once`] was called for this warning.
    pub(crate) fn has_given(&self, which: FoldWarning) -> bool {
        self.given[which as usize]
    }

    /// The node and the object of a function that is entered.
    #[inline]
    pub fn enter(&mut self, parent: u32, call: CallKey, mappings: &Mappings) -> (u32, u32) {
        if self.contexts.is_deepest(parent) {
            return (parent, self.frames_of(&call, mappings));
        }
        match self.contexts.child(parent, &call) {
            Some(node) => (node, self.contexts.node(node).frames),
            None => self.enter_new(parent, call, mappings),
        }
    }

    #[cold]
    fn enter_new(&mut self, parent: u32, call: CallKey, mappings: &Mappings) -> (u32, u32) {
        let object = self.frames_of(&call, mappings);
        if self.contexts.is_full() {
            // A recursive call needs no new node.
            if let Some(back) = self.contexts.on_path(parent, &call) {
                return (back, object);
            }
            self.once(
                FoldWarning::ManyContexts,
                "contexts-folded",
                "the program has more than a million calling contexts; new ones count for the function that called them",
                "leave out contexts (--no-contexts), or measure a smaller part of the program",
            );
            return (parent, object);
        }
        let places = Places {
            function: mappings.place(call.pc),
            call: mappings.place(call.return_address),
        };
        (self.contexts.add(parent, call, places, object), object)
    }

    /// The object of a function's frames.
    fn frames_of(&mut self, call: &CallKey, mappings: &Mappings) -> u32 {
        let key = (call.code, call.pc);
        if let Some(&object) = self.frames.get(&key) {
            return object;
        }
        let place = mappings.place(call.pc);
        let key_of_frames = ObjectKey::Frames(place);
        let object = self.objects.get_or_add(key_of_frames, Where::Stack);
        self.frames.insert(key, object);
        self.find_layout(object, place);
        object
    }

    /// Counts an access to a structure's bytes `first..=last`, all in one item, for the element
    /// that contains the first. Returns the element's number, or 0 if it has none.
    #[inline(never)]
    pub fn count_element(&mut self, structure: u32, first: u64, last: u64) -> u32 {
        let Some(structure) = self.structures.get(structure) else {
            return 0;
        };
        if !structure.contains(first) {
            return 0;
        }
        let index = structure.index(first);
        let elements = &mut self.objects.elements;
        elements.shared_items |= structure.contains(last) && structure.index(last) != index;
        self.objects.count_element(structure.object, index)
    }

    /// Adds the counts and the warnings of the segment before this one; its warnings come first.
    /// For items only: sites, objects and cells are not joined.
    pub fn put_behind(&mut self, earlier: Shared) {
        self.references += earlier.references;
        self.lacks_statements &= earlier.lacks_statements;
        let later = std::mem::replace(&mut self.warnings, earlier.warnings);
        for Warning {
            code,
            message,
            hint,
        } in later.0
        {
            self.warnings.once(&code, &message, &hint);
        }
    }

    /// Warns of what the tables by element lack.
    pub fn warn_of_elements(&mut self) {
        let elements = &self.objects.elements;
        let cases = [
            (
                elements.counters_full,
                "elements-not-counted",
                "the data structures have more elements than there are counters; accesses per element are missing for some",
                "give RecordData larger elements, or name fewer structures",
            ),
            (
                elements.numbers_full,
                "elements-without-distances",
                "more than 131072 elements of data structures were accessed; in tables by element, those that came later have accesses and no distances (all other tables are whole)",
                "analyse a smaller input, or name fewer structures",
            ),
            (
                elements.shared_items,
                "elements-share-items",
                "some accesses touch several elements in one item; they count for the first of these",
                "take items as large as elements, for instance --granularity 8",
            ),
        ];
        for (_, code, message, hint) in cases.into_iter().filter(|case| case.0) {
            self.warnings.once(code, message, hint);
        }
    }

    /// Memory held, without the tables by module and the layouts of frames.
    pub fn memory(&self) -> u64 {
        (self.sites.capacity() * size_of::<SiteKey>()) as u64
            + self.objects.memory()
            + self.ballots.memory()
            + self.contexts.memory()
            + self.cells.memory()
            + self.candidates.memory()
            + self.merging.memory()
            + self.function_sites.memory()
            + self.structures.memory()
            + self.live_frames.memory()
            + self.chunks.as_ref().map_or(0, Chunks::memory)
            + self.visits.as_ref().map_or(0, Visits::memory)
    }
}
