//! The statements of a body, with their positions in the text: [`read_body`].

use std::collections::HashMap;

use reuselens_ptx::{Token, TokenKind, Type};

use crate::error::InstrumentError;

/// A place in a body at which a hook may be put.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// After a label.
    Label {
        /// Where what follows the colon begins.
        after: usize,
        line: u32,
    },
    /// An instruction.
    Instruction(Box<InstructionText<'a>>),
}

/// An instruction as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionText<'a> {
    /// Where its guard or opcode begins.
    pub start: usize,
    /// Where what follows its semicolon begins.
    pub after: usize,
    pub line: u32,
    /// Column of the opcode.
    pub column: u32,
    pub opcode: &'a str,
    /// Where what follows the opcode begins.
    pub rest: usize,
    /// A predicate, and whether it is negated.
    pub guard: Option<(&'a str, bool)>,
    /// What is between the first brackets.
    pub address: Option<AddressText<'a>>,
    /// Operands, those in parentheses together as one.
    pub operands: usize,
    /// Of an indirect branch or call: what says where it goes.
    pub target: Option<Base<'a>>,
    /// Of a call, what is called: a function, or a register with its address.
    pub callee: Option<&'a str>,
    /// The last operand, if it is a name.
    pub last: Option<&'a str>,
    /// File, line of the `.loc` before it.
    pub source: Option<(u64, u64)>,
}

/// An address as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressText<'a> {
    pub base: Base<'a>,
    /// Bytes; the sign and the number as they are written.
    pub offset: Option<(bool, &'a str)>,
}

/// What an offset is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base<'a> {
    /// A register of 32 bits.
    Narrow(&'a str),
    /// A register of 64 bits.
    Wide(&'a str),
    /// A variable.
    Variable(&'a str),
    /// A number.
    Number(&'a str),
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// The labels of each `.branchtargets`, by its own.
    pub tables: HashMap<&'a str, Vec<&'a str>>,
    /// After its `{`.
    pub open: usize,
    /// Where its first label or instruction begins.
    pub first: usize,
    pub items: Vec<Item<'a>>,
    /// The `.param` variables that it declares: arguments and results of calls.
    pub passed: Vec<&'a str>,
}

/// The registers that are declared in one pair of braces: name or beginning of names, count, bytes.
type Scope<'a> = HashMap<&'a str, Vec<(Option<u64>, u8)>>;

struct BodyReader<'a, 't> {
    tokens: &'t [Token<'a>],
    next: usize,
    scopes: Vec<Scope<'a>>,
    tables: HashMap<&'a str, Vec<&'a str>>,
    source: Option<(u64, u64)>,
    passed: Vec<&'a str>,
}

/// Reads a body; `tokens[at]` is its `{`. Returns it, and the index after its `}`.
///
/// # Errors
/// If it has no end.
pub fn read_body<'a>(
    tokens: &[Token<'a>],
    at: usize,
) -> Result<(Body<'a>, usize), InstrumentError> {
    let mut reader = BodyReader {
        tokens,
        next: at + 1,
        scopes: vec![Scope::new()],
        tables: HashMap::new(),
        source: None,
        passed: Vec::new(),
    };
    let open = tokens[at].end;
    let mut items = Vec::new();
    let mut first = None;
    while !reader.scopes.is_empty() {
        let token = reader.peek();
        match token.kind {
            TokenKind::Mark(b'{') => {
                reader.next += 1;
                reader.scopes.push(Scope::new());
            }
            TokenKind::Mark(b'}') => {
                reader.next += 1;
                reader.scopes.pop();
            }
            TokenKind::End => {
                return Err(InstrumentError::NoEnd {
                    line: tokens[at].at.line,
                    what: "body",
                });
            }
            TokenKind::Word | TokenKind::Mark(b'@') => {
                if let Some(item) = reader.statement()? {
                    first.get_or_insert(token.start);
                    items.push(item);
                }
            }
            _ => reader.next += 1,
        }
    }
    let first = first.unwrap_or(open);
    let body = Body {
        tables: reader.tables,
        open,
        first,
        items,
        passed: reader.passed,
    };
    Ok((body, reader.next))
}

impl<'a> BodyReader<'a, '_> {
    /// The next token; at the end always the end.
    fn peek(&self) -> Token<'a> {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> Token<'a> {
        self.tokens[(self.next + count).min(self.tokens.len() - 1)]
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn is(&self, mark: u8) -> bool {
        self.peek().kind == TokenKind::Mark(mark)
    }

    fn statement(&mut self) -> Result<Option<Item<'a>>, InstrumentError> {
        let token = self.peek();
        if token.kind == TokenKind::Word && self.ahead(1).kind == TokenKind::Mark(b':') {
            self.next += 2;
            let is_table = matches!(
                self.peek().text,
                ".branchtargets" | ".calltargets" | ".callprototype"
            );
            if is_table {
                self.table(token.text)?;
                return Ok(None);
            }
            let after = self.tokens[self.next - 1].end;
            let line = token.at.line;
            return Ok(Some(Item::Label { after, line }));
        }
        match token.text {
            ".loc" => self.location(),
            text if text == ".reg" || text.starts_with(".reg.") => self.registers()?,
            ".param" => self.passed()?,
            text if text.starts_with('.') => {
                self.skip_statement()?;
            }
            _ => return Ok(Some(self.instruction()?)),
        }
        Ok(None)
    }

    /// Goes beyond the next semicolon outside of braces. Returns where the text after it begins.
    fn skip_statement(&mut self) -> Result<usize, InstrumentError> {
        let line = self.peek().at.line;
        let mut depth = 0u32;
        loop {
            let token = self.take();
            match token.kind {
                TokenKind::Mark(b'{') => depth += 1,
                TokenKind::Mark(b'}') if depth > 0 => depth -= 1,
                TokenKind::Mark(b';') if depth == 0 => return Ok(token.end),
                TokenKind::Mark(b'}') | TokenKind::End => {
                    let what = "statement";
                    return Err(InstrumentError::NoEnd { line, what });
                }
                _ => {}
            }
        }
    }

    /// `.branchtargets A, B, A;`, whose label is before it. Of the others nothing is kept.
    fn table(&mut self, label: &'a str) -> Result<(), InstrumentError> {
        let is_branches = self.peek().text == ".branchtargets";
        let begin = self.next + 1;
        self.skip_statement()?;
        if is_branches {
            let inside = &self.tokens[begin..self.next];
            let words = inside.iter().filter(|it| it.kind == TokenKind::Word);
            self.tables.insert(label, words.map(|it| it.text).collect());
        }
        Ok(())
    }

    /// `.loc 1 2 3, function_name …, inlined_at 1 2 3`, which has no semicolon.
    fn location(&mut self) {
        self.next += 1;
        let number = |token: Token<'_>| token.text.parse::<u64>().ok();
        self.source = number(self.peek()).zip(number(self.ahead(1)));
        while self.peek().kind == TokenKind::Number {
            self.next += 1;
        }
        while self.is(b',') {
            // The word; a label after it, an offset, or three numbers.
            self.next += 2;
            if self.peek().kind == TokenKind::Word
                && self.tokens[self.next - 1].text == "function_name"
            {
                self.next += 1;
            }
            while self.is(b'+') || self.peek().kind == TokenKind::Number {
                self.next += 1;
            }
        }
    }

    /// `.reg .b32 %r<44>, %x;`, or `.reg.b32 x;`.
    fn registers(&mut self) -> Result<(), InstrumentError> {
        let mut token = self.take();
        let mut name = token.text.strip_prefix(".reg.");
        while name.is_none_or(|name| Type::named(name).is_none())
            && self.peek().text.starts_with('.')
        {
            token = self.take();
            name = token.text.strip_prefix('.');
        }
        let bytes = name.and_then(Type::named).map_or(0, Type::size);
        while self.peek().kind == TokenKind::Word {
            let name = self.take().text;
            let mut count = None;
            if self.is(b'<') {
                count = self.ahead(1).text.parse().ok();
                self.next += 3;
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.entry(name).or_default().push((count, bytes));
            }
            if self.is(b',') {
                self.next += 1;
            }
        }
        self.skip_statement()?;
        Ok(())
    }

    /// `.param .align 8 .b8 param0[16];`
    fn passed(&mut self) -> Result<(), InstrumentError> {
        let first = self.next;
        self.skip_statement()?;
        let words = self.tokens[first..self.next].iter();
        let mut words = words.filter(|token| token.kind == TokenKind::Word);
        let name = words.find(|token| !token.text.starts_with('.'));
        self.passed.extend(name.map(|token| token.text));
        Ok(())
    }

    /// Bytes of a register; none if there is no such register.
    fn register(&self, name: &str) -> Option<u8> {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let in_scope = |scope: &Scope<'_>| {
            let alone = scope.get(name).into_iter().flatten();
            let alone = alone.filter(|(count, _)| count.is_none());
            // `%r1<4>` declares `%r10` to `%r13`: any split of the digits may be the one.
            let numbered = (stem.len()..name.len()).filter_map(|at| {
                let number = name[at..].parse::<u64>().ok()?;
                let declared = scope.get(&name[..at])?;
                let fits = |(count, _): &&(Option<u64>, u8)| count.is_some_and(|it| number < it);
                declared.iter().find(fits)
            });
            alone.chain(numbered).map(|(_, bytes)| *bytes).next()
        };
        self.scopes.iter().rev().find_map(in_scope)
    }

    fn instruction(&mut self) -> Result<Item<'a>, InstrumentError> {
        let start = self.peek().start;
        let mut guard = None;
        if self.is(b'@') {
            self.next += 1;
            let is_negated = self.is(b'!');
            self.next += usize::from(is_negated);
            guard = Some((self.take().text, is_negated));
        }
        let opcode = self.take();
        let operands = self.next;
        let after = self.skip_statement()?;
        let operands = &self.tokens[operands..self.next - 1];
        let base = opcode.text.split('.').next();
        let outside = outside_parentheses(operands);
        Ok(Item::Instruction(Box::new(InstructionText {
            start,
            after,
            line: opcode.at.line,
            column: opcode.at.column,
            opcode: opcode.text,
            rest: opcode.end,
            guard,
            address: self.address(operands),
            operands: count_operands(operands),
            target: (outside.filter(|_| matches!(base, Some("brx" | "call"))))
                .and_then(|name| self.named(name)),
            callee: outside.filter(|_| base == Some("call")),
            last: (operands.last().filter(|it| it.kind == TokenKind::Word)).map(|it| it.text),
            source: self.source.filter(|(_, line)| *line > 0),
        })))
    }

    /// What a register is an address in; none of a register that has none.
    fn named(&self, name: &'a str) -> Option<Base<'a>> {
        match self.register(name) {
            Some(4) => Some(Base::Narrow(name)),
            Some(8) => Some(Base::Wide(name)),
            Some(_) => None,
            None => Some(Base::Variable(name)),
        }
    }

    /// What is between the first brackets; none if it is no address that is understood.
    fn address(&self, operands: &[Token<'a>]) -> Option<AddressText<'a>> {
        let at = |mark| {
            let mut operands = operands.iter();
            operands.position(|token| token.kind == TokenKind::Mark(mark))
        };
        let inside = operands.get(at(b'[')? + 1..at(b']')?)?;
        let (base, rest) = inside.split_first()?;
        let offset = match rest {
            [] => None,
            [sign, number] | [_, sign, number] if number.kind == TokenKind::Number => {
                let plus = rest[0].kind == TokenKind::Mark(b'+');
                let minus = sign.kind == TokenKind::Mark(b'-');
                if !(minus || plus) || rest.len() == 3 && !(plus && minus) {
                    return None;
                }
                Some((minus, number.text))
            }
            _ => return None,
        };
        let base = match base.kind {
            TokenKind::Number => Base::Number(base.text),
            TokenKind::Word => self.named(base.text)?,
            _ => return None,
        };
        Some(AddressText { base, offset })
    }
}

/// The first word that is in no parentheses: what says where a branch (`brx.idx %r1, table`) or a
/// call (`call (x), %rd1, (y), prototype`) goes.
fn outside_parentheses<'a>(operands: &[Token<'a>]) -> Option<&'a str> {
    let mut depth = 0u32;
    let outside = operands.iter().find(|token| {
        match token.kind {
            TokenKind::Mark(b'(') => depth += 1,
            TokenKind::Mark(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.kind == TokenKind::Word
    });
    outside.map(|token| token.text)
}

/// Operands that are separated by commas outside of parentheses, brackets and braces.
fn count_operands(operands: &[Token<'_>]) -> usize {
    let mut depth = 0u32;
    let mut commas = 0;
    for token in operands {
        match token.kind {
            TokenKind::Mark(b'(' | b'[' | b'{') => depth += 1,
            TokenKind::Mark(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            TokenKind::Mark(b',') if depth == 0 => commas += 1,
            _ => {}
        }
    }
    usize::from(!operands.is_empty()) + commas
}
