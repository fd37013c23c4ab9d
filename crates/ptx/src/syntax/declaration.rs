//! Parser of the declarations of variables and parameters, with their initial values.

use super::ast::{Init, Operand, Variable};
use super::cursor::Cursor;
use super::lexer::TokenKind;
use super::number;
use super::types::{StateSpace, Type};
use crate::error::PtxError;

/// More bytes than this are no variable but a mistake.
const MOST_BYTES: u64 = 1 << 40;

/// `(.param .u64 a, .param .align 8 .b8 b[16])`; the parenthesis is next.
pub fn parameters(cursor: &mut Cursor<'_>) -> Result<Vec<Variable>, PtxError> {
    cursor.expect(b'(')?;
    let mut params = Vec::new();
    while !cursor.takes(b')') {
        if !params.is_empty() {
            cursor.expect(b',')?;
        }
        let head = head(cursor)?;
        params.push(declarator(cursor, &head, false)?);
    }
    Ok(params)
}

/// `.shared .align 4 .b8 name[256];`, maybe several with commas between; the space is next.
pub fn variables(cursor: &mut Cursor<'_>, is_external: bool) -> Result<Vec<Variable>, PtxError> {
    let head = head(cursor)?;
    let mut found = Vec::new();
    loop {
        let mut variable = declarator(cursor, &head, is_external)?;
        if cursor.takes(b'=') {
            variable.init = initializer(cursor, &variable)?;
        }
        found.push(variable);
        if cursor.takes(b';') {
            return Ok(found);
        }
        cursor.expect(b',')?;
    }
}

/// Goes to the end of a declaration whose head has what is not supported. Returns the names of its
/// variables.
pub fn rest_of_names(cursor: &mut Cursor<'_>) -> Result<Vec<String>, PtxError> {
    let mut found = Vec::new();
    let mut is_name = true;
    loop {
        match cursor.peek().kind {
            TokenKind::End => return Err(cursor.unexpected("';'")),
            TokenKind::Mark(b'(') => cursor.skip_parentheses()?,
            TokenKind::Mark(b'{') => cursor.skip_block()?,
            kind => {
                let token = cursor.take();
                match kind {
                    TokenKind::Mark(b';') => return Ok(found),
                    TokenKind::Mark(b',') => is_name = true,
                    TokenKind::Word if is_name && !token.text.starts_with('.') => {
                        found.push(token.text.to_owned());
                        is_name = false;
                    }
                    _ => {}
                }
            }
        }
    }
}

/// What is said once for all variables of a declaration.
struct DeclarationHead {
    space: StateSpace,
    ty: Type,
    /// Elements of a vector type.
    lanes: u64,
    align: Option<u64>,
}

fn head(cursor: &mut Cursor<'_>) -> Result<DeclarationHead, PtxError> {
    let (mut space, mut ty, mut lanes, mut align) = (None, None, 1, None);
    let mut is_pointer = false;
    let start = cursor.peek();
    while cursor.peek().kind == TokenKind::Word && cursor.peek().text.starts_with('.') {
        let token = cursor.take();
        match &token.text[1..] {
            // After `.ptr`: the alignment of what the pointer points to.
            "align" if is_pointer => {
                alignment(cursor)?;
            }
            "align" => align = Some(alignment(cursor)?),
            "ptr" => is_pointer = true,
            "v2" => lanes = 2,
            "v4" => lanes = 4,
            "managed" | "unified" => {}
            // Which space a pointer points into; the parameter's own was said before.
            word if StateSpace::named(word).is_some() => {
                space = space.or(StateSpace::named(word));
            }
            "reg" => space = Some(StateSpace::Param),
            word if Type::named(word).is_some() => ty = Type::named(word),
            "texref" | "samplerref" | "surfref" | "tex" => {
                let what =
                    "references to textures and surfaces are not supported; use texture objects";
                return Err(PtxError::unsupported(token.at, what));
            }
            "attribute" => {
                while !cursor.takes(b')') {
                    if cursor.take().kind == TokenKind::End {
                        return Err(cursor.unexpected("')'"));
                    }
                }
            }
            word => {
                let what = format!("the directive .{word} is not supported");
                return Err(PtxError::unsupported(token.at, what));
            }
        }
    }
    let (Some(space), Some(ty)) = (space, ty) else {
        let what = "expected a directive, a function or a variable with its space and type";
        return Err(PtxError::new(start.at, what));
    };
    Ok(DeclarationHead {
        space,
        ty,
        lanes,
        align,
    })
}

fn alignment(cursor: &mut Cursor<'_>) -> Result<u64, PtxError> {
    let at = cursor.peek().at;
    let align: u64 = cursor.integer("an alignment in bytes")?;
    if !align.is_power_of_two() || align > 1 << 20 {
        return Err(PtxError::new(
            at,
            format!("an alignment of {align} is no power of two up to a MiB"),
        ));
    }
    Ok(align)
}

fn declarator(
    cursor: &mut Cursor<'_>,
    head: &DeclarationHead,
    is_external: bool,
) -> Result<Variable, PtxError> {
    let name = cursor.word("the name of a variable")?;
    let element = u64::from(head.ty.size()) * head.lanes;
    let mut size = Some(element);
    while cursor.takes(b'[') {
        if cursor.takes(b']') {
            size = None;
            continue;
        }
        let at = cursor.peek().at;
        let count: u64 = cursor.integer("a number of elements")?;
        cursor.expect(b']')?;
        let product = size.map(|size| size.checked_mul(count));
        size = match product {
            Some(Some(bytes)) if bytes <= MOST_BYTES => Some(bytes),
            None => None,
            _ => return Err(PtxError::new(at, "an array of more than a TiB")),
        };
    }
    if size.is_none() && !is_external && !cursor.is(b'=') && head.space != StateSpace::Param {
        let what = format!("the array {} has no length", name.text);
        return Err(PtxError::new(name.at, what));
    }
    Ok(Variable {
        name: name.text.to_owned(),
        space: head.space,
        ty: head.ty,
        size,
        align: head.align.unwrap_or(element.next_power_of_two().min(16)),
        init: Vec::new(),
        at: name.at,
    })
}

/// Values in braces, or one; nested braces mean nothing more.
fn initializer(cursor: &mut Cursor<'_>, variable: &Variable) -> Result<Vec<Init>, PtxError> {
    let at = cursor.peek().at;
    let mut values = Vec::new();
    let mut depth = 0usize;
    loop {
        if cursor.takes(b'{') {
            depth += 1;
        } else if cursor.takes(b'}') {
            depth = depth
                .checked_sub(1)
                .ok_or_else(|| cursor.unexpected("a value"))?;
        } else if depth > 0 && cursor.takes(b',') {
        } else {
            values.push(initial(cursor, variable.ty)?);
        }
        if depth == 0 {
            break;
        }
    }
    let bytes = values.len() as u64 * u64::from(variable.ty.size());
    if variable.size.is_some_and(|size| bytes > size) {
        return Err(PtxError::new(
            at,
            format!("more values than {} has room for", variable.name),
        ));
    }
    Ok(values)
}

fn initial(cursor: &mut Cursor<'_>, ty: Type) -> Result<Init, PtxError> {
    let negative = cursor.takes(b'-');
    let token = cursor.take();
    if token.kind == TokenKind::Word {
        let generic = token.text == "generic" && cursor.takes(b'(');
        let name = if generic {
            cursor.word("a variable")?.text
        } else {
            token.text
        };
        if generic {
            cursor.expect(b')')?;
        }
        let offset = if cursor.takes(b'+') {
            cursor.integer("bytes")?
        } else {
            0i64
        };
        return Ok(Init::Address {
            name: name.to_owned(),
            offset,
            generic,
        });
    }
    let value = (token.kind == TokenKind::Number)
        .then(|| number::value(token.text))
        .flatten();
    let bits = match value {
        Some(Operand::Integer(bits)) if negative => bits.wrapping_neg(),
        Some(Operand::Integer(bits)) => bits,
        Some(Operand::Single(bits)) => u64::from(bits) ^ u64::from(negative) << 31,
        Some(Operand::Double(bits)) => narrowed(bits ^ u64::from(negative) << 63, ty),
        _ => {
            return Err(PtxError::new(
                token.at,
                format!("'{}' is no value", token.text),
            ));
        }
    };
    Ok(Init::Bits(bits))
}

/// The bits of a double as those of a number of that type.
pub fn narrowed(bits: u64, ty: Type) -> u64 {
    match ty {
        Type::F32 | Type::B32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
        _ => bits,
    }
}
