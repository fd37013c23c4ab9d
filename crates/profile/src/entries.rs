//! The entries of a profile's tables: [`Site`]s, [`Object`]s, [`Context`]s and [`ProfiledThread`]s,
//! and the [`Cell`]s, which hold distances and refer to one entry of each table by its index.
//!
//! Plain values: nothing here knows [`Profile`](crate::Profile), which holds them, or how they are
//! named in reports.

use reuselens_locality::FineHistogram;
use serde::{Deserialize, Serialize};

use crate::element::merge_elements;
use crate::{CellCauses, Element};

/// A place in the source: one level of a call that may have been inlined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// Function, demangled; empty if unknown.
    pub function: String,
    /// Source file as the debug information names it; empty if unknown.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
}

/// Parts of paths under which compilers, systems and package managers have sources.
const LIBRARY_SOURCES: [&str; 6] = [
    "/usr/include/",
    "/usr/lib/",
    "/include/c++/",
    "/rustc/",
    "/rustlib/",
    "/.cargo/registry/",
];

impl Frame {
    /// Whether its source is that of a library, as the path of its file shows, and not the user's.
    /// Reports name code that is inlined from there by the user's line around it.
    pub fn is_library_source(&self) -> bool {
        LIBRARY_SOURCES.iter().any(|part| self.file.contains(part))
    }
}

/// An instruction that accessed memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// File name of the module it is in; empty if unknown.
    pub module: String,
    /// Offset of the instruction in that module, so that equal builds give equal profiles.
    pub offset: u64,
    /// Where it is in the source: innermost inlined function first, the function that was really
    /// called last. Empty if unknown.
    pub frames: Vec<Frame>,
    /// What it does: `load`, `store`, `atomic`, `range load`, `range store` or `named`.
    pub kind: String,
}

impl Site {
    /// The function of the innermost frame; empty if it is not known. Without debug information the
    /// frame has a symbol and the distance from it, or the library and the distance: the symbol
    /// alone then, or nothing.
    pub fn symbol(&self) -> &str {
        let function = self.frames.first().map_or("", |frame| &frame.function);
        match function.rsplit_once("+0x") {
            Some((name, distance)) if distance.chars().all(|digit| digit.is_ascii_hexdigit()) => {
                if name == self.module {
                    ""
                } else {
                    name
                }
            }
            _ => function,
        }
    }
}

/// What sort of object.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Memory of which nothing is known.
    #[default]
    Unknown,
    /// A symbol of a module.
    Static,
    /// The frames of one function.
    Stack,
    /// The blocks from one allocation call path.
    Heap,
    /// A structure that the program named itself with `RecordData`.
    Named,
}

/// A place in a module's file, so that it means the same wherever the module is loaded. With an
/// empty module it stands for calls that are unknown: any number of them, none included.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileOffset {
    /// File name of the module.
    pub module: String,
    /// Address as in the module's symbol table. For a call, that of its last byte: one below the
    /// return address, and what debuggers look lines up by.
    pub offset: u64,
}

/// A data object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Object {
    /// What sort.
    pub kind: ObjectKind,
    /// Its name as people read it: `table (a.c)`, `stack of main`, `heap from read_all (io.c:12)`.
    pub name: String,
    /// For heap objects: the call path of the allocation, innermost first.
    pub path: Vec<Frame>,
    /// Where it comes from, ascending, at most [`Object::ORIGINS`]: for heap objects the calls that
    /// allocated it, each a path from the innermost outwards; for symbols one path of one place.
    /// Empty in profiles of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Vec<FileOffset>>,
    /// Bytes: of the symbol, or the largest number live at one time for heap and stack. Where
    /// several allocations have one name, the sum of what each had live at most. 0 = unknown.
    pub bytes: u64,
    /// Bytes of one element, 0 if unknown.
    pub element_bytes: u64,
    /// Number of blocks that were allocated over the run (1 for symbols).
    pub blocks: u64,
    /// Bytes of its largest block, or of the symbol; 0 if unknown, as in profiles of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest: u64,
    /// The elements that were accessed, if accesses are broken down by element; by index.
    pub elements: Vec<Element>,
    /// The chunk of its blocks that this row is, if the object is large and the profile has
    /// placement data ([`Method::placement`](crate::Method::placement)). Each chunk is a row of its
    /// own: `bytes`, `blocks` and `lifetime` are those of the chunk, and so are the cells that name
    /// the row; all else is as in the rows of the object's other chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ObjectPart>,
    /// When there were blocks of this row, if the profile has placement data. `None` for the frames
    /// of functions, for what the program names itself, and for unknown memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
}

/// The bytes `start..end` of every block of an object. A block that is shorter than `end` has the
/// part up to its own end, and one that is not longer than `start` has none of it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct ObjectPart {
    /// Offset of the first byte in a block: a multiple of `chunk`.
    pub start: u64,
    /// Offset of the first byte after it: `start + chunk`, or the end of the largest block.
    pub end: u64,
    /// Bytes of each of the object's chunks but the last.
    pub chunk: u64,
    /// Bytes of the object's largest block, or of the symbol; 0 if unknown. Chunks without accesses
    /// have no row, so the rows of an object may end before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest: u64,
}

/// From when to when some block of an object was live. Blocks may be missing in between.
///
/// The clock is the number of references ([`Profile::references`](crate::Profile::references): the
/// program's loads and stores that count) so far, over all threads; it ends at the profile's total.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Lifetime {
    /// References before the first allocation; 0 for static objects.
    pub begin: u64,
    /// References before the last free after which no block was left; the total of the run if one
    /// was left at the end, and for static objects.
    pub end: u64,
}

impl Object {
    /// Number of origins that are kept.
    pub const ORIGINS: usize = 64;

    /// Adds an origin, unless it is there. The smallest ones are kept, so that the order in which
    /// they are added does not show.
    pub fn add_origin(&mut self, origin: Vec<FileOffset>) {
        if let Err(at) = self.origins.binary_search(&origin) {
            self.origins.insert(at, origin);
            self.origins.truncate(Self::ORIGINS);
        }
    }

    /// What the rows of all chunks of one object have in common within a profile; `None` for an
    /// object that is not in chunks. Not the length of its largest block, which may differ where
    /// profiles of several runs were merged.
    pub fn chunked_key(&self) -> Option<ChunkedKey<'_>> {
        let part = self.part?;
        Some((&self.name, &self.path, &self.origins, part.chunk))
    }
}

/// What the rows of an object's chunks have in common: [`Object::chunked_key`]. Name, path,
/// origins, and bytes of a chunk.
pub type ChunkedKey<'a> = (&'a str, &'a [Frame], &'a [Vec<FileOffset>], u64);

/// A node of the calling context tree. Node 0 is the root, which has no caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Context {
    /// Index of the caller's node; the root is its own parent. Parents come before children.
    pub parent: u32,
    /// The function, demangled; `(root)` for the root.
    pub function: String,
    /// Where its caller called it.
    pub call: Frame,
    /// How often it was entered, if the profile has placement data: how often a thread went from
    /// outside the context and all below it to inside, by a call, or by a return to a function of
    /// a recursion. Summed over the threads. For the root, the number of threads. `None` for
    /// functions that the compiler inlined, and for contexts that stand for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// How many distinct items were accessed in it, if the profile has placement data. `None` for
    /// contexts that stand for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<ContextFootprint>,
}

/// Distinct items that were accessed in a calling context, by all threads together. They are
/// counted exactly, by the context that really made each access, where cells were merged too.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct ContextFootprint {
    /// In the context itself.
    pub exclusive: u64,
    /// In it and in all contexts below it, each item once.
    pub inclusive: u64,
}

/// A thread of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProfiledThread {
    /// Its name as people read it: `thread 0 (main)`.
    pub name: String,
    /// Number of its process, from 0.
    pub process: u16,
}

/// The accesses that agree in site, object, context and thread: the smallest group there is. All
/// other groups are sums of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Index into [`Profile::sites`](crate::Profile::sites).
    pub site: u32,
    /// Index into [`Profile::objects`](crate::Profile::objects).
    pub object: u32,
    /// Index into [`Profile::contexts`](crate::Profile::contexts).
    pub context: u32,
    /// Index into [`Profile::threads`](crate::Profile::threads).
    pub thread: u32,
    /// Its distances.
    pub histogram: FineHistogram,
    /// Sum of the finite distances, for the mean.
    pub distance_sum: u128,
    /// Largest finite distance.
    pub distance_max: u64,
    /// Of its cold accesses, those whose item another thread's store had invalidated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub invalidated: u64,
    /// Its forward distances: those of the next accesses to the same items. Empty if not measured.
    #[serde(default, skip_serializing_if = "FineHistogram::is_empty")]
    pub forward: FineHistogram,
    /// Why they miss, if that was recorded ([`Profile::causes`](crate::Profile::causes)).
    #[serde(default, skip_serializing_if = "CellCauses::is_empty")]
    pub causes: CellCauses,
}

impl Object {
    /// Adds elements to those that there are: equal indices become one. Cost: logarithmic per
    /// element.
    pub fn add_elements(&mut self, elements: &[Element]) {
        merge_elements(&mut self.elements, elements);
    }

    /// The element with this index, if there is one.
    pub fn element_mut(&mut self, index: u64) -> Option<&mut Element> {
        let elements = &mut self.elements;
        let at = elements.binary_search_by_key(&index, |element| element.index);
        elements.get_mut(at.ok()?)
    }
}

/// For serde: whether a count is left out of the file.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}
