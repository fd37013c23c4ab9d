//! [`Loader`]: the files of the modules, each opened once, and the answers to what an attributor
//! asks.

use std::collections::HashMap;

use object::{Object, ObjectSymbol, SymbolKind};
use reuselens_attribute::known_names::{file_name, is_system_module, run_time};
use reuselens_attribute::{
    BlockTypes, FrameLayouts, Function, StaticSymbol, SymbolSource, Variable,
};
use reuselens_io::{PerfMap, path_of, read_object_file, text_of_bytes};
use reuselens_profile::{Frame, Warning};
use reuselens_trace::{Kind, Module};
use reuselens_units::Bytes;

use crate::access_types::AccessTypes;
use crate::block_types::BlockTypeReader;
use crate::bounds::FunctionBounds;
use crate::checked_file::CheckedFile;
use crate::code_sections::CodeSections;
use crate::debug_names::DebugNames;
use crate::frames::Frames;
use crate::named_types::NamedTypes;
use crate::non_utf8_symbols::{FoundSymbol, NonUtf8Symbols};
use crate::separate::Separate;
use crate::sources::Sources;
use crate::stubs::Stubs;
use crate::symbol_names::{demangled, fortran_name, original};
use crate::unread::Unread;
use crate::wait_loops::WaitRule;
use crate::{
    bounds, commons, debug_names, frames, generated, language, separate, statements, unnamed,
    unread, wait_loops,
};

/// Reads names from the files that modules were mapped from. Opens each file once, at its first
/// use; debug information is parsed when, and as far as, it is asked for.
///
/// A file that is gone, or that is not the one that ran (by its build id), names nothing; a warning
/// names the file.
#[derive(Default)]
pub struct Loader {
    files: HashMap<(String, Vec<u8>), Option<Opened>>,
    /// The names of generated code.
    generated: HashMap<(String, Vec<u8>), Option<PerfMap>>,
    unread: Vec<Unread>,
    ahead: Option<DebugAhead>,
    sources: Sources,
}

/// Which debug information is read before it is asked for.
struct DebugAhead {
    /// Whether there are threads for it. What may be held is the same without.
    has_threads: bool,
    /// Bytes that may be held, and those that are.
    most: u64,
    held: u64,
}

impl DebugAhead {
    /// Whether `bytes` more may be held; they are from now on.
    fn admits(&mut self, bytes: u64) -> bool {
        let held = self.held.saturating_add(bytes);
        if held > self.most {
            return false;
        }
        self.held = held;
        true
    }
}

/// A file in use.
struct Opened {
    build_id: Vec<u8>,
    /// The file with its symbols: itself, or one beside it.
    named: CheckedFile,
    /// The file with its code, if its symbols are in another.
    own: Option<CheckedFile>,
    statics: Vec<StaticSymbol>,
    stubs: Stubs,
    /// Whether rustc made it.
    is_rust: bool,
    /// Whether it has debug information.
    has_debug: bool,
    /// Bytes that its debug information takes once it is read, about.
    debug_bytes: u64,
    /// Of a file whose symbols were stripped: what its functions are called by. Empty for others.
    bounds: FunctionBounds,
    /// Of a file without line numbers: its functions. Empty for others.
    unlined: Vec<(u64, u64)>,
    non_utf8: NonUtf8Symbols,
    debug: DebugNames,
    /// Its code, once it was asked for; `None` in it if it cannot be read.
    code: Option<Option<CodeSections>>,
}

impl Loader {
    /// A loader that has opened nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A loader that begins to read the debug information of a module when it opens its file, each
    /// on a thread of its own if `has_threads`, as long as that of all modules takes at most `most`
    /// bytes. It answers as any other. For callers that have all modules named in the end.
    pub fn reading_ahead(has_threads: bool, most: Bytes) -> Self {
        Loader {
            ahead: Some(DebugAhead {
                has_threads,
                most: most.get(),
                held: 0,
            }),
            ..Loader::default()
        }
    }

    /// Bytes of the debug information that is read ahead, about; the same if there are no threads
    /// for it.
    pub fn memory(&self) -> Bytes {
        Bytes(self.ahead.as_ref().map_or(0, |ahead| ahead.held))
    }

    /// The GNU build id of a module's file; empty if it has none, or cannot be read.
    pub fn build_id(&mut self, module: &Module) -> Vec<u8> {
        let opened = self.opened(module);
        opened.map_or_else(Vec::new, |opened| opened.build_id.clone())
    }

    /// The names of a module of generated code; `None` of other modules too.
    fn generated(&mut self, module: &Module) -> Option<&PerfMap> {
        if !module.is_generated_code() {
            return None;
        }
        let key = (module.path.clone(), module.build_id.clone());
        let unread = &mut self.unread;
        let read = || {
            let read = generated::read(module);
            read.map_err(|cause| unread.push(Unread::new(module, cause)))
                .ok()
        };
        self.generated.entry(key).or_insert_with(read).as_ref()
    }

    fn opened(&mut self, module: &Module) -> Option<&mut Opened> {
        if module.is_generated_code() {
            return None;
        }
        let key = (module.path.clone(), module.build_id.clone());
        let (unread, ahead) = (&mut self.unread, &mut self.ahead);
        let open = || {
            let mut opened = open(module, unread)?;
            if let Some(ahead) = ahead
                && opened.has_debug
                && debug_names::is_small(&opened.named)
                && ahead.admits(opened.debug_bytes)
                && ahead.has_threads
            {
                opened.debug = DebugNames::ahead(&opened.named);
            }
            Some(opened)
        };
        self.files.entry(key).or_insert_with(open).as_mut()
    }

    /// The stub that an address is in.
    fn stub(&mut self, module: &Module, address: u64) -> Option<Function> {
        let (start, name) = self.opened(module)?.stubs.at(address)?;
        Some(Function {
            name: name.to_owned(),
            file: String::new(),
            symbol: format!("{name} at {start:#x}"),
        })
    }

    /// The function of a stripped file that an address is in: where it begins. None if a symbol in
    /// it names it.
    fn unnamed_function(&mut self, module: &Module, address: u64) -> Option<u64> {
        let start = self.opened(module)?.bounds.start_of(address)?;
        let symbol = self.symbol(module, address);
        let is_named = symbol.is_some_and(|symbol| symbol.address >= start);
        (!is_named).then_some(start)
    }

    /// The types of a module, by name.
    pub(crate) fn named_types(&mut self, module: &Module) -> Option<NamedTypes> {
        let opened = self.opened(module).filter(|opened| opened.has_debug)?;
        NamedTypes::read(&opened.named)
    }

    /// The types that a module's instructions access. Adds the lists of locations to its debug
    /// information.
    pub(crate) fn access_types(
        &mut self,
        module: &Module,
        debug: &mut frames::Debug,
    ) -> Option<AccessTypes> {
        let opened = self.opened(module).filter(|opened| opened.has_debug)?;
        debug.add_locations(&opened.named)?;
        let code = opened.own.as_ref().unwrap_or(&opened.named);
        AccessTypes::of(code.again().ok()?)
    }

    /// The frames of an instruction that debug information knows, the innermost first.
    fn source_frames(&mut self, module: &Module, address: u64) -> Vec<Frame> {
        let opened = self.opened(module);
        opened.map_or_else(Vec::new, |opened| {
            opened.debug.frames(&opened.named, address)
        })
    }

    /// The symbol that contains an instruction.
    fn symbol(&mut self, module: &Module, address: u64) -> Option<FoundSymbol<'_>> {
        let opened = self.opened(module)?;
        let code = opened.debug.code(&opened.named)?;
        opened.non_utf8.find(code, address)
    }
}

fn open(module: &Module, unread: &mut Vec<Unread>) -> Option<Opened> {
    if module.path.is_empty() || module.path.starts_with('[') {
        return None;
    }
    match try_open(module) {
        Ok(opened) => Some(opened),
        Err(cause) => {
            unread.push(Unread::new(module, cause));
            None
        }
    }
}

fn try_open(module: &Module) -> Result<Opened, String> {
    let cannot = |error| format!("cannot read {}: {error}", module.path);
    let path = path_of(&module.path);
    let (file, bytes) = read_object_file(&path).map_err(cannot)?;
    let own = CheckedFile { path, file };
    let file = object::File::parse(&*bytes)
        .map_err(|error| format!("{} is no program or library: {error}", module.path))?;
    let build_id = file.build_id().ok().flatten().unwrap_or_default();
    if !module.build_id.is_empty() && module.build_id != build_id {
        return Err(format!(
            "{} changed since it was recorded (its build id differs)",
            module.path
        ));
    }
    let separate = separate::find(&file, &path_of(&module.path));
    let beside = separate.as_ref().map(|it| object::File::parse(&*it.bytes));
    let beside = beside.and_then(Result::ok);
    let is_stripped = separate.is_none() && file.symbol_table().is_none();
    let with_names = beside.as_ref().unwrap_or(&file);
    let mut statics = static_symbols(with_names);
    if statics.is_empty() {
        statics = static_symbols(&file);
    }
    commons::split(with_names, &mut statics);
    unnamed::add(&file, &mut statics);
    let stubs = Stubs::of(&file);
    let has_lines = with_names.section_by_name(".debug_line").is_some();
    let mut bounds = FunctionBounds::default();
    let mut unlined = Vec::new();
    let non_utf8 = NonUtf8Symbols::of(with_names);
    if is_stripped || !has_lines {
        let functions = FunctionBounds::of(&file);
        if !has_lines {
            unlined = functions.named_alike(with_names, &non_utf8, &stubs);
        }
        if is_stripped {
            bounds = functions;
        }
    }
    let build_id = build_id.to_vec();
    let has_debug = with_names.section_by_name(".debug_info").is_some();
    let debug_bytes = debug_names::bytes(with_names);
    let is_rust = language::is_rust(&file);
    let named = separate.map(|Separate { path, file, .. }| CheckedFile { path, file });
    Ok(Opened {
        build_id,
        statics,
        stubs,
        is_rust,
        has_debug,
        debug_bytes,
        bounds,
        unlined,
        non_utf8,
        debug: DebugNames::default(),
        code: None,
        own: named.is_some().then(|| own.again().ok()).flatten(),
        named: named.unwrap_or(own),
    })
}

/// The data symbols of a file; those for the loader, where it has no others.
fn static_symbols(file: &object::File) -> Vec<StaticSymbol> {
    let own = file.symbols();
    let own: Vec<StaticSymbol> = own.filter_map(|symbol| static_symbol(&symbol)).collect();
    if !own.is_empty() {
        return own;
    }
    let dynamic = file.dynamic_symbols();
    dynamic
        .filter_map(|symbol| static_symbol(&symbol))
        .collect()
}

/// A symbol of data with a size and an address; not thread-local.
fn static_symbol<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<StaticSymbol> {
    if symbol.kind() != SymbolKind::Data || symbol.is_undefined() || symbol.size() == 0 {
        return None;
    }
    let raw = text_of_bytes(symbol.name_bytes().ok()?);
    let name = if raw.starts_with("__") && raw.contains("_MOD_") {
        fortran_name(&raw)
    } else {
        demangled(&raw)
    };
    let high = symbol.address().checked_add(symbol.size())?;
    Some(StaticSymbol {
        low: symbol.address(),
        high,
        name,
    })
}

impl SymbolSource for Loader {
    fn statics(&mut self, module: &Module) -> Vec<StaticSymbol> {
        self.opened(module)
            .map(|opened| opened.statics.clone())
            .unwrap_or_default()
    }

    fn frames(&mut self, module: &Module, address: u64) -> Vec<Frame> {
        if let Some(map) = self.generated(module) {
            return generated::frame(map, address).into_iter().collect();
        }
        if let Some(stub) = self.stub(module, address) {
            return vec![Frame {
                function: stub.name,
                ..Frame::default()
            }];
        }
        if let Some(start) = self.unnamed_function(module, address) {
            let name = bounds::name(file_name(&module.path), start);
            return vec![Frame {
                function: format!("{name}+{:#x}", address - start),
                ..Frame::default()
            }];
        }
        let mut frames = self.source_frames(module, address);
        if frames.last().is_none_or(|last| last.function.is_empty()) {
            let symbol = self.symbol(module, address);
            let function = symbol.map(|symbol| {
                let distance = address.saturating_sub(symbol.address);
                format!("{}+{distance:#x}", demangled(symbol.name))
            });
            match frames.last_mut() {
                Some(last) => last.function = function.unwrap_or_default(),
                None => frames.extend(function.map(|function| Frame {
                    function,
                    ..Frame::default()
                })),
            }
        }
        frames
    }

    fn function(&mut self, module: &Module, address: u64) -> Option<Function> {
        if let Some(map) = self.generated(module) {
            return generated::function(map, address);
        }
        if let Some(stub) = self.stub(module, address) {
            return Some(stub);
        }
        if let Some(start) = self.unnamed_function(module, address) {
            return Some(Function {
                name: bounds::name(file_name(&module.path), start),
                file: String::new(),
                symbol: format!("fn at {start:#x}"),
            });
        }
        let outermost = self.source_frames(module, address).pop();
        let outermost = outermost.filter(|frame| !frame.function.is_empty());
        let symbol = self.symbol(module, address);
        let (name, file) = match outermost {
            Some(frame) => (frame.function, frame.file),
            None => (demangled(symbol.as_ref()?.name), String::new()),
        };
        let symbol = symbol.map_or_else(String::new, |symbol| {
            if file.is_empty() {
                format!("{} at {:#x}", symbol.name, symbol.address)
            } else {
                original(symbol.name).to_owned()
            }
        });
        Some(Function { name, file, symbol })
    }

    fn functions_without_lines(&mut self, module: &Module) -> Vec<(u64, u64)> {
        self.opened(module)
            .map(|opened| opened.unlined.clone())
            .unwrap_or_default()
    }

    fn variable(&mut self, module: &Module, address: u64) -> Variable {
        let Some(opened) = self.opened(module) else {
            return Variable::default();
        };
        let variable = opened.debug.variable(&opened.named, address);
        variable.cloned().unwrap_or_default()
    }

    /// Frames of the system's libraries stay whole: nobody who measures a program changes them, and
    /// where their debug information is installed, reading it takes longer than a short program.
    fn frame_layouts(&mut self, module: &Module) -> Option<Box<dyn FrameLayouts>> {
        if is_system_module(&module.path) {
            return None;
        }
        let opened = self.opened(module).filter(|opened| opened.has_debug)?;
        let named = opened.named.again().ok()?;
        Some(Box::new(Frames::new(named)))
    }

    fn block_types(&mut self) -> Option<Box<dyn BlockTypes>> {
        Some(Box::new(BlockTypeReader::default()))
    }

    fn allocated_names(&mut self, module: &Module, frame: &Frame, calls: usize) -> Vec<String> {
        let is_fortran = statements::is_fortran(&frame.file);
        if is_system_module(&module.path) || (calls == 1 && !is_fortran) {
            return Vec::new();
        }
        let statement = self.sources.statement(frame);
        let names = statement.map(|statement| statements::allocated_names(&statement, is_fortran));
        names
            .filter(|names| names.len() == calls)
            .unwrap_or_default()
    }

    fn is_wait(&mut self, module: &Module, address: u64, kind: Kind) -> bool {
        let rule = match run_time(file_name(&module.path)) {
            Some(_) => WaitRule::RunTime,
            None if kind == Kind::Load => WaitRule::Program,
            None => return false,
        };
        let Some(opened) = self.opened(module) else {
            return false;
        };
        let file = opened.own.as_ref().unwrap_or(&opened.named);
        let code = opened
            .code
            .get_or_insert_with(|| CodeSections::of(file.again().ok()?));
        let around = code
            .as_ref()
            .and_then(|it| it.around(address, rule.reach()));
        around.is_some_and(|(start, code)| wait_loops::waits(rule, start, &code, address))
    }

    fn is_rust(&mut self, module: &Module) -> bool {
        self.opened(module).is_some_and(|opened| opened.is_rust)
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let unread = std::mem::take(&mut self.unread);
        unread::warnings(&unread)
    }
}
