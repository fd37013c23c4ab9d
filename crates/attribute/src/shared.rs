//! What all processes and threads of a trace have in common.

mod locals;

use reuselens_locality::Warning;
use reuselens_trace::{Kind, Module, Unfolder};

use crate::cells::{CellKey, CellTable, Packed};
use crate::columns::Columns;
use crate::contexts::{Call, Contexts, Places};
use crate::folding::{Candidates, CellChoice};
use crate::function_sites::FunctionSites;
use crate::hash::FastMap;
use crate::locals::{Layouts, LiveFrames};
use crate::objects::{ObjectKey, Objects, Where};
use crate::options::{NamesMode, Options};
use crate::pass::Patterns;
use crate::places::{Mappings, Place};
use crate::shadow::NO_STRUCTURE;
use crate::sites::SiteKey;
use crate::space::{Extent, Extents};
use crate::structures::{Structure, Structures};
use crate::symbols::{FrameLayouts, SymbolSource};
use crate::warnings::Warnings;

/// Sites beyond which new ones are the unknown one.
pub(crate) const MAX_SITES: usize = 1 << 20;

/// The tables so far.
#[derive(Debug)]
pub(crate) struct Shared {
    pub modules: Vec<Module>,
    module_numbers: FastMap<(String, Vec<u8>), u32>,
    extents: FastMap<u32, Extents>,
    pub sites: Vec<SiteKey>,
    pub objects: Objects,
    pub contexts: Contexts,
    pub cells: CellTable,
    pub candidates: Candidates,
    pub function_sites: FunctionSites,
    pub structures: Structures,
    frames: FastMap<(u64, u64), u32>,
    /// What knows the frames of a module's functions, by module.
    frame_layouts: FastMap<u32, Box<dyn FrameLayouts>>,
    /// Where the variables of functions are in their frames.
    pub layouts: Layouts,
    pub live_frames: LiveFrames,
    pub references: u64,
    pub warnings: Warnings,
    /// Whether it was said already that contexts fold, that objects do, that there are too many
    /// contexts, that lines fold.
    said: [bool; 4],
    pub(crate) with_contexts: bool,
    /// Whether instructions without a line may share a site. Not with basic blocks: paths need each
    /// instruction.
    pub(crate) with_function_sites: bool,
    with_elements: bool,
    /// Whether marks of statements are asked for and none has come.
    pub lacks_statements: bool,
    /// Whether nothing is known of an access but its items, so that objects have neither names nor
    /// elements.
    is_whole: bool,
    /// Events of the trace so far.
    pub events: u64,
    /// What is known of rows that come again, from block to block.
    pub patterns: Patterns,
    /// For blocks whose rows that come again nobody asked to be left out.
    pub unfolder: Unfolder,
}

impl Shared {
    pub fn new(options: &Options) -> Self {
        Shared {
            modules: Vec::new(),
            module_numbers: FastMap::default(),
            extents: FastMap::default(),
            sites: vec![SiteKey {
                place: Place::UNKNOWN,
                kind: Kind::Load,
            }],
            objects: Objects::new(),
            contexts: Contexts::new(),
            cells: CellTable::new(options.max_cells),
            candidates: Candidates::default(),
            function_sites: FunctionSites::default(),
            structures: Structures::default(),
            frames: FastMap::default(),
            frame_layouts: FastMap::default(),
            layouts: Layouts::default(),
            live_frames: LiveFrames::default(),
            references: 0,
            warnings: Warnings::default(),
            said: [false; 4],
            with_contexts: options.contexts,
            with_function_sites: !options.basic_blocks && !options.is_whole(),
            with_elements: options.elements,
            lacks_statements: options.names == NamesMode::Statement,
            is_whole: options.is_whole(),
            events: 0,
            patterns: Patterns::default(),
            unfolder: Unfolder::new(),
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
    ) -> Extents {
        if let Some(extents) = self.extents.get(&number)
            && !self.with_elements
        {
            return extents.clone();
        }
        if self.is_whole {
            // To read the files of a program takes as long as to count some million accesses.
            return Extents::default();
        }
        let mut list = symbols.statics(module);
        // Of two at one address, the longer; of two of one length, the first by name.
        list.sort_by(|a, b| (a.low, b.high, &a.name).cmp(&(b.low, a.high, &b.name)));
        let mut extents: Vec<Extent> = Vec::with_capacity(list.len());
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
            self.objects.get_mut(object).name = symbol.name;
            extents.push(Extent {
                low: symbol.low,
                high: symbol.high,
                object,
                structure,
            });
        }
        let extents: Extents = extents.into();
        self.extents.insert(number, extents.clone());
        extents
    }

    /// The structure that counts a symbol's elements, if it has elements and they count.
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

    /// The number of a structure whose elements are counted.
    pub fn structure(&mut self, base: u64, bytes: u64, element: u64, object: u32) -> u32 {
        let element = element.max(1);
        let elements = bytes.div_ceil(element);
        if !self.is_whole {
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

    /// The number of a new site.
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

    /// Asks for what finds the cell of a key with this hash, ahead of its use.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.cells.prefetch(hash);
        self.candidates.prefetch(hash);
    }

    /// Where an access of this key counts: in a cell of its own, while there is room.
    #[inline(never)]
    pub fn cell(&mut self, key: CellKey) -> CellChoice {
        let packed = Packed::from(key);
        let hash = packed.hash();
        match self.cells.look(packed, hash) {
            Some(cell) => CellChoice { cell, lasts: true },
            None => self.new_cell(packed),
        }
    }

    /// Says of which instructions the cells are that columns do not know yet.
    pub fn tell_sites(&self, columns: &mut Columns) {
        let new = &self.cells.keys()[columns.sites.len()..];
        columns.sites.extend(new.iter().map(|key| key.site));
    }

    /// A warning that many accesses give cause for: comparing its text each time would take longer
    /// than all else.
    pub(crate) fn once(&mut self, which: usize, code: &str, message: &str, hint: &str) {
        if !std::mem::replace(&mut self.said[which], true) {
            self.warnings.once(code, message, hint);
        }
    }

    /// The node and the object of a function that is entered.
    #[inline]
    pub fn enter(&mut self, parent: u32, call: Call, mappings: &Mappings) -> (u32, u32) {
        if self.contexts.is_deepest(parent) {
            return (parent, self.frames_of(&call, mappings));
        }
        match self.contexts.child(parent, &call) {
            Some(node) => (node, self.contexts.node(node).frames),
            None => self.enter_new(parent, call, mappings),
        }
    }

    #[cold]
    fn enter_new(&mut self, parent: u32, call: Call, mappings: &Mappings) -> (u32, u32) {
        let object = self.frames_of(&call, mappings);
        if self.contexts.is_full() {
            // Recursion needs no room.
            if let Some(back) = self.contexts.on_path(parent, &call) {
                return (back, object);
            }
            self.once(
                2,
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

    /// The object that a function's frames are.
    fn frames_of(&mut self, call: &Call, mappings: &Mappings) -> u32 {
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

    /// Counts a touch of a structure's bytes `first..=last`, all in one item, for the element that
    /// holds the first: its number, or 0 if it has none.
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

    /// Adds what is counted and said of an analysis that knows no more than items, before what
    /// there is.
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

    /// What became of the elements that the reader must know.
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

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.sites.capacity() * size_of::<SiteKey>()) as u64
            + self.objects.memory()
            + self.contexts.memory()
            + self.cells.memory()
            + self.candidates.memory()
            + self.function_sites.memory()
            + self.structures.memory()
            + self.live_frames.memory()
            + self.patterns.memory()
    }
}
