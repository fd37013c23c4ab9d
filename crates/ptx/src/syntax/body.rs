//! Parser of a function's body: [`statements`] reads what is between its braces.

use super::ast::{InlinedRef, Instruction, Operand, Prototype, SourceRef, Statement};
use super::cursor::Cursor;
use super::declaration;
use super::lexer::{Token, TokenKind};
use super::number;
use super::types::Type;
use crate::error::PtxError;

/// Registers that one `.reg` may declare.
const MOST_REGISTERS: u32 = 1 << 20;

/// The statements of a body; its `{` is next. Braces inside come as `Open` and `Close`, in pairs.
pub fn statements(cursor: &mut Cursor<'_>) -> Result<Vec<Statement>, PtxError> {
    let start = cursor.peek().at;
    cursor.expect(b'{')?;
    let mut found = Vec::new();
    let mut depth = 1usize;
    loop {
        let token = cursor.peek();
        match token.kind {
            TokenKind::Mark(b'{') => {
                cursor.take();
                depth += 1;
                found.push(Statement::Open);
            }
            TokenKind::Mark(b'}') => {
                cursor.take();
                depth -= 1;
                if depth == 0 {
                    return Ok(found);
                }
                found.push(Statement::Close);
            }
            TokenKind::Mark(b';') => {
                cursor.take();
            }
            TokenKind::End => return Err(PtxError::new(start, "this '{' is never closed")),
            _ => statement(cursor, &mut found)?,
        }
    }
}

fn statement(cursor: &mut Cursor<'_>, found: &mut Vec<Statement>) -> Result<(), PtxError> {
    let token = cursor.peek();
    match token.text {
        text if text == ".reg" || text.starts_with(".reg.") => registers(cursor, found),
        ".loc" => {
            found.push(location(cursor)?);
            Ok(())
        }
        ".pragma" => {
            cursor.take();
            cursor.take();
            cursor.expect(b';')
        }
        _ if token.kind == TokenKind::Word && cursor.ahead(1).kind == TokenKind::Mark(b':') => {
            cursor.take();
            cursor.take();
            match cursor.peek().text {
                ".branchtargets" => {
                    let labels = names(cursor, "a label")?;
                    found.push(Statement::Targets(token.text.to_owned(), labels));
                }
                ".calltargets" => {
                    let functions = names(cursor, "a function")?;
                    found.push(Statement::CallTargets(token.text.to_owned(), functions));
                }
                ".callprototype" => {
                    let prototype = prototype(cursor)?;
                    found.push(Statement::Prototype(token.text.to_owned(), prototype));
                }
                _ => found.push(Statement::Label(token.text.to_owned(), token.at)),
            }
            Ok(())
        }
        text if text.starts_with('.') => {
            let variables = declaration::variables(cursor, false)?;
            found.extend(variables.into_iter().map(Statement::Variable));
            Ok(())
        }
        _ => {
            found.push(Statement::Instruction(instruction(cursor)?));
            Ok(())
        }
    }
}

/// `.reg .b32 %r<44>, %x;`, or `.reg.b32 x;` as in the assembly of CUDA's headers.
fn registers(cursor: &mut Cursor<'_>, found: &mut Vec<Statement>) -> Result<(), PtxError> {
    let mut token = cursor.take();
    let name = match token.text.strip_prefix(".reg.") {
        Some(name) => name,
        None => {
            token = cursor.word("a type")?;
            token.text.strip_prefix('.').unwrap_or_default()
        }
    };
    let Some(ty) = Type::named(name) else {
        let what = format!("registers of type {} are not supported", token.text);
        return Err(PtxError::unsupported(token.at, what));
    };
    loop {
        let name = cursor.word("the name of a register")?;
        let mut count = None;
        if cursor.takes(b'<') {
            let number: u32 = cursor.integer("a number of registers")?;
            if number > MOST_REGISTERS {
                let what = format!("{number} registers; {MOST_REGISTERS} are the most");
                return Err(PtxError::new(name.at, what));
            }
            cursor.expect(b'>')?;
            count = Some(number);
        }
        found.push(Statement::Registers {
            ty,
            name: name.text.to_owned(),
            count,
            at: name.at,
        });
        if cursor.takes(b';') {
            return Ok(());
        }
        cursor.expect(b',')?;
    }
}

/// `.loc 1 12 3, function_name $L__info_string0+4, inlined_at 1 20 5`, which no mark ends.
fn location(cursor: &mut Cursor<'_>) -> Result<Statement, PtxError> {
    cursor.take();
    let file = cursor.integer("the number of a file")?;
    let line = cursor.integer("a line")?;
    let column = cursor.integer("a column")?;
    let (mut name, mut offset, mut at) = (String::new(), 0, None);
    while cursor.takes(b',') {
        if cursor.takes_word("function_name") {
            cursor.word("a name")?.text.clone_into(&mut name);
            if cursor.takes(b'+') {
                offset = cursor.integer("bytes")?;
            }
        } else if cursor.takes_word("inlined_at") {
            at = Some(SourceRef {
                file: cursor.integer("the number of a file")?,
                line: cursor.integer("a line")?,
                column: cursor.integer("a column")?,
            });
        } else {
            return Err(cursor.unexpected("`function_name` or `inlined_at`"));
        }
    }
    let inlined = at.map(|at| InlinedRef { name, offset, at });
    Ok(Statement::Location(
        SourceRef { file, line, column },
        inlined,
    ))
}

/// What a directive lists up to its `;`; the directive is next.
fn names(cursor: &mut Cursor<'_>, what: &str) -> Result<Vec<String>, PtxError> {
    cursor.take();
    let mut found = Vec::new();
    loop {
        found.push(cursor.word(what)?.text.to_owned());
        if cursor.takes(b';') {
            return Ok(found);
        }
        cursor.expect(b',')?;
    }
}

/// `.callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;`, of which only the name in the
/// middle is always there; the directive is next.
fn prototype(cursor: &mut Cursor<'_>) -> Result<Prototype, PtxError> {
    cursor.take();
    let mut found = Prototype::default();
    if cursor.is(b'(') {
        found.returns = declaration::parameters(cursor)?;
    }
    cursor.word("the name of any function (`_`)")?;
    if cursor.is(b'(') {
        found.params = declaration::parameters(cursor)?;
    }
    // Advice for registers, and whether the function returns.
    while !cursor.takes(b';') {
        let token = cursor.take();
        if !matches!(token.kind, TokenKind::Word | TokenKind::Number) {
            return Err(PtxError::new(
                token.at,
                "this prototype of a call has no end",
            ));
        }
    }
    Ok(found)
}

fn instruction(cursor: &mut Cursor<'_>) -> Result<Instruction, PtxError> {
    let guard = if cursor.takes(b'@') {
        let negated = cursor.takes(b'!');
        Some((cursor.word("a predicate")?.text.to_owned(), negated))
    } else {
        None
    };
    let opcode = cursor.word("an instruction")?;
    let mut operands = Vec::new();
    while !cursor.takes(b';') {
        if !operands.is_empty() {
            cursor.expect(b',')?;
        }
        operands.push(operand(cursor)?);
    }
    Ok(Instruction {
        guard,
        opcode: opcode.text.to_owned(),
        operands,
        at: opcode.at,
    })
}

fn operand(cursor: &mut Cursor<'_>) -> Result<Operand, PtxError> {
    if cursor.takes(b'{') {
        return Ok(Operand::Vector(listed(cursor, b'}')?));
    }
    if cursor.takes(b'(') {
        return Ok(Operand::List(listed(cursor, b')')?));
    }
    if cursor.takes(b'[') {
        let base = simple(cursor)?;
        let (base, offset) = match base {
            Operand::Name(name, offset) => (Operand::Name(name, 0), offset),
            other => (other, 0),
        };
        if offset == 0 && cursor.takes(b',') {
            let coordinates = if cursor.takes(b'{') {
                listed(cursor, b'}')?
            } else {
                vec![simple(cursor)?]
            };
            cursor.expect(b']')?;
            return Ok(Operand::Texture(Box::new(base), coordinates));
        }
        if !cursor.takes(b']') {
            let at = cursor.peek().at;
            let what = "only addresses of the form [a], [a+4] and [a-4] are supported, and textures with coordinates";
            return Err(PtxError::unsupported(at, what));
        }
        return Ok(Operand::Address(Box::new(base), offset));
    }
    let first = simple(cursor)?;
    if cursor.takes(b'|') {
        return Ok(Operand::Pair(Box::new(first), Box::new(simple(cursor)?)));
    }
    Ok(first)
}

fn listed(cursor: &mut Cursor<'_>, end: u8) -> Result<Vec<Operand>, PtxError> {
    let mut found = Vec::new();
    while !cursor.takes(end) {
        if !found.is_empty() {
            cursor.expect(b',')?;
        }
        found.push(simple(cursor)?);
    }
    Ok(found)
}

/// An operand without parts: a name with an offset, a number, a negated predicate.
fn simple(cursor: &mut Cursor<'_>) -> Result<Operand, PtxError> {
    if cursor.takes(b'!') {
        let name = cursor.word("a predicate")?;
        return Ok(Operand::Not(Box::new(Operand::Name(
            name.text.to_owned(),
            0,
        ))));
    }
    let negative = cursor.takes(b'-');
    let token = cursor.peek();
    match token.kind {
        TokenKind::Word if !negative => {
            cursor.take();
            Ok(Operand::Name(token.text.to_owned(), offset(cursor)?))
        }
        TokenKind::Number => {
            cursor.take();
            signed(token, negative)
        }
        _ => Err(cursor.unexpected("an operand")),
    }
}

fn signed(token: Token<'_>, negative: bool) -> Result<Operand, PtxError> {
    let value = number::value(token.text).ok_or_else(|| {
        PtxError::new(
            token.at,
            format!("'{}' is no number that fits into 64 bits", token.text),
        )
    })?;
    let sign = u64::from(negative);
    Ok(match value {
        Operand::Integer(bits) if negative => Operand::Integer(bits.wrapping_neg()),
        Operand::Single(bits) => Operand::Single(bits ^ (sign as u32) << 31),
        Operand::Double(bits) => Operand::Double(bits ^ sign << 63),
        other => other,
    })
}

/// `+4`, `+-4` or `-4` after a name.
fn offset(cursor: &mut Cursor<'_>) -> Result<i64, PtxError> {
    let plus = cursor.takes(b'+');
    let minus = cursor.takes(b'-');
    if !plus && !minus {
        return Ok(0);
    }
    let bytes: i64 = cursor.integer("a number of bytes")?;
    Ok(if minus { -bytes } else { bytes })
}
