//! Where names come from.

use std::sync::Arc;

use reuselens_profile::{DataLayout, Frame};
use reuselens_trace::{Kind, Module};

use crate::Warning;

/// A static symbol of a module; addresses as in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaticSymbol {
    /// First address.
    pub low: u64,
    /// First address after it.
    pub high: u64,
    /// Its name, demangled.
    pub name: String,
}

impl StaticSymbol {
    /// The name of data without a symbol that the program may write.
    pub const UNNAMED_VARIABLES: &str = "unnamed variables";
    /// The name of data without a symbol that the program may not write.
    pub const UNNAMED_CONSTANTS: &str = "unnamed constants";

    /// Whether it is data that no symbol of the file names.
    pub(crate) fn is_unnamed(&self) -> bool {
        [Self::UNNAMED_VARIABLES, Self::UNNAMED_CONSTANTS].contains(&self.name.as_str())
    }
}

/// What the debug information says of a static symbol. Empty and 0 mean unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// The source file that defines it.
    pub file: String,
    /// Bytes of one element: of an array's element, or of a variable that is no array.
    pub element_bytes: u64,
    /// The type of an element, if it is known. Unknown for the system's libraries.
    pub layout: Option<Arc<DataLayout>>,
}

/// A local variable that has a fixed place in the frames of the function around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalVariable {
    /// How many bytes below the canonical frame address (the stack pointer before the call) its
    /// first byte is.
    pub below: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its name and that of the function that declares it, `table in main`. Variables of one name
    /// and file are one object, in whichever frames.
    pub name: String,
    /// The source file that declares it; empty if that is unknown.
    pub file: String,
    /// Bytes of one element: of an array's element, or of the variable itself; 0 if unknown.
    pub element_bytes: u64,
    /// The type of an element, if it is known.
    pub layout: Option<Arc<DataLayout>>,
}

/// The local variables of a function and of those that are inlined in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameLayout {
    /// The function's code: first addresses, and first addresses after, as in the module's file.
    pub code: Vec<(u64, u64)>,
    /// Its variables, in any order. Where some overlap, they become one object.
    pub locals: Vec<LocalVariable>,
}

/// The frames of a module's functions.
pub trait FrameLayouts: std::fmt::Debug + Send {
    /// The frame layout of the function (not inlined) around an instruction at `address`, which is
    /// as in the module's file. `None` if it is unknown, or if no variable has a fixed place.
    /// Called once per function that runs.
    fn at(&mut self, address: u64) -> Option<FrameLayout>;
}

/// What an instruction accesses, as debug information has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessedType {
    /// The type of an element of the data.
    pub layout: Arc<DataLayout>,
    /// The offset of the access in an element; `None` if that is unknown.
    pub offset: Option<u32>,
    /// Whether a number was added that only the run knows. The offset is then right if that is one
    /// of complete elements, as it mostly is.
    pub is_indexed: bool,
    /// Bytes of the access; 0 if they are unknown.
    pub bytes: u32,
    /// Whether data of the type may go on behind it: its last member is an array of any length.
    pub has_tail: bool,
}

/// The types of blocks of the heap.
pub trait BlockTypes: std::fmt::Debug + Send {
    /// The type of the elements of the blocks that these calls allocate, innermost first: modules,
    /// and addresses as in their files. `None` if it is unknown or not clear. Called once per call
    /// path.
    fn of_block(&mut self, calls: &[(&Module, u64)]) -> Option<Arc<DataLayout>>;

    /// What an instruction of a module loads from, or else stores to; the address is that of its
    /// last byte, as in the module's file. `None` if it is unknown, or if the instruction accesses
    /// bytes of anything. Called once per instruction that accesses a block.
    fn of_access(&mut self, module: &Module, address: u64, writes: bool) -> Option<AccessedType>;
}

/// A function of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its name, demangled.
    pub name: String,
    /// The source file, where debug information names one.
    pub file: String,
    /// Distinguishes functions of one name in one file, such as overloads whose types the debug
    /// information lacks: the symbol without what compilers append to clones, followed by its
    /// address if there is no file. Empty without a symbol.
    pub symbol: String,
}

impl Function {
    /// How the name of a stub ends, by which a file calls a function of another.
    pub const STUB: &str = "@plt";
}

/// Names the symbols and lines of modules. All addresses are as in the module's file.
///
/// No method fails: what is unknown is left empty, and [`SymbolSource::warnings`] says why.
pub trait SymbolSource {
    /// The module's static data symbols that have a size, and the data between them, in any order.
    /// Thread-local ones are not among them: their addresses are not the file's.
    fn statics(&mut self, module: &Module) -> Vec<StaticSymbol>;

    /// The places in the source that an instruction comes from: innermost inlined function first,
    /// the function really called last; empty if nothing is known. Without debug information one
    /// frame: the symbol and the distance from it, `main+0x1f`.
    fn frames(&mut self, module: &Module, address: u64) -> Vec<Frame>;

    /// The function (not inlined) around an instruction.
    fn function(&mut self, module: &Module, address: u64) -> Option<Function>;

    /// Where the functions of a module begin and end, ascending and apart from each other, if no
    /// instruction of the module has a line. All instructions between two such addresses have one
    /// function. Empty if there are lines, or if functions are unknown.
    fn functions_without_lines(&mut self, module: &Module) -> Vec<(u64, u64)>;

    /// What is known of the static variable at `address`.
    fn variable(&mut self, module: &Module, address: u64) -> Variable;

    /// The frames of the module's functions; `None` if they are unknown.
    fn frame_layouts(&mut self, module: &Module) -> Option<Box<dyn FrameLayouts>>;

    /// The types of blocks of the heap; `None` if they are unknown.
    fn block_types(&mut self) -> Option<Box<dyn BlockTypes>>;

    /// The variables that the statement at a line of a module's source allocates, one for each of
    /// the `calls` that it made, in their order. Empty if that is not clear, and where the line
    /// alone says enough.
    fn allocated_names(&mut self, module: &Module, frame: &Frame, calls: usize) -> Vec<String>;

    /// Whether an access, by the address of its last byte and its kind, is one of a loop in which a
    /// thread waits for another.
    fn is_wait(&mut self, module: &Module, address: u64, kind: Kind) -> bool;

    /// Whether rustc compiled the module's code: lines are then asked for by options of Cargo.
    fn is_rust(&mut self, module: &Module) -> bool;

    /// The reasons why names are missing, found since the last call.
    fn warnings(&mut self) -> Vec<Warning>;
}

/// Names nothing: for traces without programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoSymbols;

impl SymbolSource for NoSymbols {
    fn statics(&mut self, _: &Module) -> Vec<StaticSymbol> {
        Vec::new()
    }

    fn frames(&mut self, _: &Module, _: u64) -> Vec<Frame> {
        Vec::new()
    }

    fn function(&mut self, _: &Module, _: u64) -> Option<Function> {
        None
    }

    fn functions_without_lines(&mut self, _: &Module) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn variable(&mut self, _: &Module, _: u64) -> Variable {
        Variable::default()
    }

    fn frame_layouts(&mut self, _: &Module) -> Option<Box<dyn FrameLayouts>> {
        None
    }

    fn block_types(&mut self) -> Option<Box<dyn BlockTypes>> {
        None
    }

    fn allocated_names(&mut self, _: &Module, _: &Frame, _: usize) -> Vec<String> {
        Vec::new()
    }

    fn is_wait(&mut self, _: &Module, _: u64, _: Kind) -> bool {
        false
    }

    fn is_rust(&mut self, _: &Module) -> bool {
        false
    }

    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}
