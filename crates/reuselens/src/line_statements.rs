//! Statements of programs that mark none: the lines of their source.

use std::collections::{BTreeMap, HashMap};

use reuselens_attribute::{NamesMode, SymbolSource};
use reuselens_symbols::Loader;
use reuselens_trace::{
    Block, Event, Kind, Module, Note, ProcessId, Projection, Row, Source, Step, ThreadId,
    TraceError,
};
use reuselens_units::Bytes;

use crate::AnalysisOptions;

/// A line of the source; 0 is one that is not known.
type Line = u32;

/// The size of a mark that the program did not make.
pub(crate) const LINE_MARK: u8 = 1;

/// Reads a source with marks of source lines, if the analysis asks for statements.
pub(crate) fn with_lines<T>(
    source: &mut dyn Source,
    options: &AnalysisOptions,
    read: impl FnOnce(&mut dyn Source) -> T,
) -> T {
    if marks_lines(source, options) {
        read(&mut LineStatements::new(source, Box::new(Loader::new())))
    } else {
        read(source)
    }
}

/// Whether [`with_lines`] adds marks.
pub(crate) fn marks_lines(source: &dyn Source, options: &AnalysisOptions) -> bool {
    options.names == NamesMode::Statement && source.has_addresses()
}

/// A source with a mark ([`Kind::Statement`]) before each access that begins a statement by the
/// program's line tables, until the program marks its first statement itself.
///
/// A statement is the code of one source line, the innermost inlined one. A thread's access begins
/// one if its line is another one than that of the thread's access before, or if its instruction is
/// not after that of the access before: then the line runs again. An access whose line is not known
/// is a statement by itself. Accesses that the program names begin none. A mark of a line has the
/// size [`LINE_MARK`], by which it differs from the program's own.
///
/// Cost: a hashed look-up per access, and the line tables for each instruction that accesses
/// memory, once.
pub(crate) struct LineStatements<'a> {
    source: &'a mut dyn Source,
    symbols: Box<dyn SymbolSource>,
    processes: BTreeMap<ProcessId, Code>,
    threads: BTreeMap<ThreadId, Last>,
    /// Lines by file and line; the first is 1.
    lines: HashMap<(String, u32), Line>,
    /// Rows without marks of lines.
    taken: Block,
    marked: bool,
    named: bool,
    /// Whether the note `statements-from-lines` was delivered.
    noted: bool,
}

/// The code of a process.
#[derive(Clone, Default)]
struct Code {
    /// The one that was mapped last is the last.
    modules: Vec<Module>,
    lines: HashMap<u64, Line>,
}

/// A thread's last access.
#[derive(Clone, Copy, Default)]
struct Last {
    /// Whether a mark was made.
    begun: bool,
    line: Line,
    /// What orders the accesses of a statement: the instruction, and whether it writes, because an
    /// instruction that reads and writes has two accesses.
    order: (u64, bool),
}

impl<'a> LineStatements<'a> {
    /// `symbols` knows the lines.
    pub fn new(source: &'a mut dyn Source, symbols: Box<dyn SymbolSource>) -> Self {
        LineStatements {
            source,
            symbols,
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            lines: HashMap::new(),
            taken: Block::new(),
            marked: false,
            named: false,
            noted: false,
        }
    }

    /// Whether the program has named an access, or marked a statement, in what was delivered.
    pub fn are_named(&self) -> bool {
        self.named || self.marked
    }

    /// Whether statements were found by their lines, and no others.
    pub fn are_found(&self) -> bool {
        !self.marked && !self.lines.is_empty()
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Process(process) => {
                let parent = process.parent.and_then(|id| self.processes.get(&id));
                let code = parent.cloned().unwrap_or_default();
                self.processes.insert(process.id, code);
            }
            Event::Module(module) => {
                let code = self.processes.entry(module.process).or_default();
                code.modules.push(module.clone());
                // Other code may be where this is now.
                code.lines.clear();
            }
            Event::ThreadEnded(thread) => drop(self.threads.remove(thread)),
            _ => {}
        }
    }

    /// Copies the rows that were taken, with marks.
    fn mark(&mut self, block: &mut Block) {
        block.clear();
        (block.process, block.thread) = (self.taken.process, self.taken.thread);
        (block.first_stamp, block.last_stamp) = (self.taken.first_stamp, self.taken.last_stamp);
        let mut last = self.threads.get(&block.thread).copied().unwrap_or_default();
        let code = self.processes.entry(block.process).or_default();
        for row in self.taken.rows() {
            self.marked |= row.kind == Kind::Statement;
            self.named |= row.kind == Kind::Named;
            let own = row.kind.is_access() && row.kind != Kind::Named;
            if own && !self.marked {
                let line = match code.lines.get(&row.pc) {
                    Some(line) => *line,
                    None => code.find(row.pc, &mut *self.symbols, &mut self.lines),
                };
                if last.ends(line, &row) {
                    block.push(Row {
                        kind: Kind::Statement,
                        size: LINE_MARK,
                        pc: row.pc,
                        addr: 0,
                    });
                }
            }
            block.push(row);
        }
        self.threads.insert(block.thread, last);
    }
}

impl Code {
    /// Looks up the line of an instruction and keeps it.
    fn find(
        &mut self,
        pc: u64,
        symbols: &mut dyn SymbolSource,
        lines: &mut HashMap<(String, u32), Line>,
    ) -> Line {
        // The instruction is before the address.
        let address = pc.wrapping_sub(1);
        let mut modules = self.modules.iter().rev();
        let module = modules.find(|module| (module.low..module.high).contains(&address));
        let frames = module
            .map(|module| symbols.frames(module, address.wrapping_sub(module.bias)))
            .unwrap_or_default();
        let frame = frames.into_iter().next().filter(|frame| frame.line > 0);
        let line = frame.map_or(0, |frame| {
            let next = lines.len() as Line + 1;
            *lines.entry((frame.file, frame.line)).or_insert(next)
        });
        self.lines.insert(pc, line);
        line
    }
}

impl Last {
    /// Goes on to an access: whether a mark is due before it. None is before the first line that is
    /// known, so that programs without lines have none.
    fn ends(&mut self, line: Line, row: &Row) -> bool {
        let order = (row.pc, matches!(row.kind, Kind::Store | Kind::RangeStore));
        let same = line != 0 && line == self.line && order > self.order;
        (self.line, self.order) = (line, order);
        self.begun |= line != 0;
        self.begun && !same
    }
}

impl Source for LineStatements<'_> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if self.marked {
            return self.source.next(block);
        }
        match self.source.next(&mut self.taken)? {
            Step::Block => {
                self.mark(block);
                Ok(Step::Block)
            }
            Step::Event(event) => {
                self.event(&event);
                Ok(Step::Event(event))
            }
            Step::End if self.are_found() && !self.noted => {
                self.noted = true;
                Ok(Step::Event(Event::Note(Note {
                    code: "statements-from-lines".into(),
                    message: "the program marks no statements, so source lines were taken for them"
                        .into(),
                    hint: String::new(),
                })))
            }
            Step::End => Ok(Step::End),
        }
    }

    fn has_addresses(&self) -> bool {
        self.source.has_addresses()
    }

    fn is_of_one_thread(&self) -> bool {
        self.source.is_of_one_thread()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn memory(&self) -> Bytes {
        self.source.memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.source.read_ahead_within(most);
    }

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
