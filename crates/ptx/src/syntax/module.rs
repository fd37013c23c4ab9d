//! Parser of a whole PTX file: [`parse`] reads its directives, variables and functions into an
//! [`Ast`].

use std::collections::HashMap;

use super::ast::{Ast, FunctionAst};
use super::body;
use super::cursor::Cursor;
use super::declaration;
use super::inline_assembly;
use super::lexer::{self, TokenKind};
use super::number;
use crate::error::PtxError;

/// Reads a file of any version of the language. Instructions are taken as they are: which of them
/// can be run shows when a kernel is made ready.
///
/// # Errors
/// What is no PTX, or is declared in a way that is not supported.
pub fn parse(text: &str) -> Result<Ast, PtxError> {
    let text = inline_assembly::with_own_lines(text);
    let mut cursor = Cursor::new(lexer::tokens(&text)?);
    let mut ast = Ast::default();
    let mut places = HashMap::new();
    if cursor.peek().text != ".version" {
        return Err(cursor.unexpected("`.version`, with which PTX begins"));
    }
    while cursor.peek().kind != TokenKind::End {
        item(&mut cursor, &mut ast, &mut places)?;
    }
    Ok(ast)
}

/// What begins with a directive. `places` is where in `ast` the variables of the file so far are,
/// by their names.
fn item(
    cursor: &mut Cursor<'_>,
    ast: &mut Ast,
    places: &mut HashMap<String, usize>,
) -> Result<(), PtxError> {
    let token = cursor.peek();
    match token.text {
        ".version" => version(cursor, ast),
        ".target" => {
            cursor.take();
            ast.target = cursor.word("an architecture")?.text.to_owned();
            while cursor.takes(b',') {
                cursor.word("an option of the target")?;
            }
            Ok(())
        }
        ".address_size" => address_size(cursor),
        ".file" => file(cursor, ast),
        ".section" => {
            cursor.take();
            let name = cursor.word("the name of a section")?;
            match name.text {
                ".debug_str" => debug_texts(cursor, ast),
                _ => cursor.skip_block(),
            }
        }
        ".pragma" | ".alias" => {
            while !cursor.takes(b';') {
                if cursor.take().kind == TokenKind::End {
                    return Err(cursor.unexpected("';'"));
                }
            }
            Ok(())
        }
        _ => linked(cursor, ast, places),
    }
}

fn version(cursor: &mut Cursor<'_>, ast: &mut Ast) -> Result<(), PtxError> {
    cursor.take();
    let token = cursor.peek();
    let parts = token.text.split_once('.');
    let parsed = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let Some(version) = parsed else {
        return Err(cursor.unexpected("a version like 8.0"));
    };
    cursor.take();
    ast.version = version;
    Ok(())
}

fn address_size(cursor: &mut Cursor<'_>) -> Result<(), PtxError> {
    let at = cursor.take().at;
    if cursor.integer::<u32>("32 or 64")? != 64 {
        let what = "addresses of 32 bits are not supported; compile for 64 bits (`-m64`)";
        return Err(PtxError::unsupported(at, what));
    }
    Ok(())
}

fn file(cursor: &mut Cursor<'_>, ast: &mut Ast) -> Result<(), PtxError> {
    cursor.take();
    let number = cursor.integer("the number of a file")?;
    let name = cursor.peek();
    if name.kind != TokenKind::Text {
        return Err(cursor.unexpected("a file's name in quotes"));
    }
    cursor.take();
    ast.files.insert(number, name.text.into());
    // Time and size, which nobody needs.
    while cursor.takes(b',') {
        cursor.integer::<u64>("a number")?;
    }
    Ok(())
}

/// The section of texts that `.loc` takes names of functions from: labels, and `.b8` with bytes.
fn debug_texts(cursor: &mut Cursor<'_>, ast: &mut Ast) -> Result<(), PtxError> {
    let start = cursor.peek().at;
    cursor.expect(b'{')?;
    while !cursor.takes(b'}') {
        if cursor.takes_word(".b8") {
            ast.debug_bytes.push(cursor.integer("a byte")?);
            while cursor.takes(b',') {
                ast.debug_bytes.push(cursor.integer("a byte")?);
            }
            continue;
        }
        let token = cursor.take();
        if token.kind == TokenKind::End {
            return Err(PtxError::new(start, "this '{' is never closed"));
        }
        if cursor.takes(b':') {
            let label = token.text.to_owned();
            ast.debug_labels.insert(label, ast.debug_bytes.len());
        }
    }
    Ok(())
}

/// A function or a variable, with what says who may see it.
fn linked(
    cursor: &mut Cursor<'_>,
    ast: &mut Ast,
    places: &mut HashMap<String, usize>,
) -> Result<(), PtxError> {
    let (mut is_external, mut is_local) = (false, true);
    loop {
        match cursor.peek().text {
            ".extern" => is_external = true,
            ".visible" | ".weak" | ".common" => {}
            _ => break,
        }
        is_local = false;
        cursor.take();
    }
    match cursor.peek().text {
        ".entry" => ast.functions.push(function_or_refusal(cursor, true)?),
        ".func" => {
            let function = function_or_refusal(cursor, false)?;
            ast.locals.extend(is_local.then(|| function.name.clone()));
            ast.functions.push(function);
        }
        _ => variables(cursor, ast, places, is_external, is_local)?,
    }
    Ok(())
}

/// Variables outside functions. What is not supported is kept as an error of those that use it.
fn variables(
    cursor: &mut Cursor<'_>,
    ast: &mut Ast,
    places: &mut HashMap<String, usize>,
    is_external: bool,
    is_local: bool,
) -> Result<(), PtxError> {
    let variables = match declaration::variables(cursor, is_external) {
        Ok(variables) => variables,
        Err(error) if error.is_unsupported() => {
            for name in declaration::rest_of_names(cursor)? {
                ast.locals.extend(is_local.then(|| name.clone()));
                let is_known = places.contains_key(&name) && !ast.externs.contains(&name);
                if !is_known {
                    ast.refused.insert(name, error.clone());
                }
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for variable in variables {
        let place = places.get(&variable.name).copied();
        if is_external {
            // After another declaration, or the definition, one more says nothing.
            if place.is_none() {
                ast.externs.insert(variable.name.clone());
                places.insert(variable.name.clone(), ast.variables.len());
                ast.variables.push(variable);
            }
            continue;
        }
        let name = &variable.name;
        ast.locals.extend(is_local.then(|| name.clone()));
        ast.refused.remove(name);
        let was_declared = ast.externs.remove(name);
        if let Some(place) = place.filter(|_| was_declared) {
            ast.variables[place] = variable;
        } else {
            places.insert(name.clone(), ast.variables.len());
            ast.variables.push(variable);
        }
    }
    Ok(())
}

/// A function, or, if it has what is not supported, its name and the error.
fn function_or_refusal(cursor: &mut Cursor<'_>, is_entry: bool) -> Result<FunctionAst, PtxError> {
    let start = cursor.place();
    function(cursor, is_entry).or_else(|error| {
        if !error.is_unsupported() {
            return Err(error);
        }
        cursor.back_to(start);
        refused_function(cursor, is_entry, error)
    })
}

/// Goes over a function that has what is not supported.
fn refused_function(
    cursor: &mut Cursor<'_>,
    is_entry: bool,
    error: PtxError,
) -> Result<FunctionAst, PtxError> {
    cursor.take();
    if cursor.is(b'(') {
        cursor.skip_parentheses()?;
    }
    let name = cursor.word("the name of a function")?;
    let mut function = FunctionAst::empty(name.text, is_entry, name.at);
    function.refused = Some(error);
    while !cursor.is(b'{') && !cursor.is(b';') {
        if cursor.takes_word(".pragma") {
            cursor.take();
            cursor.expect(b';')?;
        } else if cursor.take().kind == TokenKind::End {
            return Err(cursor.unexpected("'{'"));
        }
    }
    if !cursor.takes(b';') {
        cursor.skip_block()?;
        function.body = Some(Vec::new());
    }
    Ok(function)
}

fn function(cursor: &mut Cursor<'_>, is_entry: bool) -> Result<FunctionAst, PtxError> {
    cursor.take();
    let returns = if !is_entry && cursor.is(b'(') {
        declaration::parameters(cursor)?
    } else {
        Vec::new()
    };
    let name = cursor.word("the name of a function")?;
    let params = if cursor.is(b'(') {
        declaration::parameters(cursor)?
    } else {
        Vec::new()
    };
    let mut function = FunctionAst {
        returns,
        params,
        ..FunctionAst::empty(name.text, is_entry, name.at)
    };
    attributes(cursor, &mut function)?;
    if !cursor.takes(b';') {
        function.body = Some(body::statements(cursor)?);
    }
    Ok(function)
}

/// The directives between the head of a function and its body.
fn attributes(cursor: &mut Cursor<'_>, function: &mut FunctionAst) -> Result<(), PtxError> {
    while !cursor.is(b'{') && !cursor.is(b';') {
        let name = cursor.word("'{'")?;
        match name.text {
            ".maxntid" => {
                let sizes = three(cursor)?;
                function.max_threads = Some(sizes.iter().map(|&size| u64::from(size)).product());
            }
            ".reqntid" => function.required_threads = Some(three(cursor)?),
            ".noreturn" | ".explicitcluster" => {}
            ".pragma" => {
                cursor.take();
                cursor.expect(b';')?;
            }
            ".minnctapersm"
            | ".maxnctapersm"
            | ".maxnreg"
            | ".maxclusterrank"
            | ".abi_preserve"
            | ".abi_preserve_control" => {
                cursor.integer::<u32>("a number")?;
            }
            ".reqnctapercluster" => {
                three(cursor)?;
            }
            other => {
                let what = format!("the directive {other} is not supported");
                return Err(PtxError::unsupported(name.at, what));
            }
        }
    }
    Ok(())
}

fn three(cursor: &mut Cursor<'_>) -> Result<[u32; 3], PtxError> {
    let mut sizes = [1; 3];
    for (index, size) in sizes.iter_mut().enumerate() {
        if index > 0 && !cursor.takes(b',') {
            break;
        }
        let token = cursor.peek();
        let value = number::integer(token.text).and_then(|value| u32::try_from(value).ok());
        *size = value.ok_or_else(|| cursor.unexpected("a number of threads"))?;
        cursor.take();
    }
    Ok(sizes)
}
