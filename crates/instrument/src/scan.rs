//! The functions of a file, its sources and what it says of itself: [`scan`].

use std::collections::BTreeMap;

use reuselens_ptx::{Token, TokenKind};

use crate::body::{Body, read_body};
use crate::error::InstrumentError;

/// What hooks need to know of a file.
#[derive(Clone, Debug)]
pub struct ScannedModule<'a> {
    pub bodies: Vec<ScannedBody<'a>>,
    /// Functions that are declared and have no body: name and line.
    pub declared: Vec<(&'a str, u32)>,
    /// Sources by their numbers.
    pub files: BTreeMap<u64, &'a str>,
    /// What `.target` names first; empty without one.
    pub target: &'a str,
    /// What `.version` says.
    pub version: &'a str,
    /// What `.address_size` says; 64 without one.
    pub address_size: &'a str,
    /// Where a variable can be declared: after the directives at the head.
    pub head: usize,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub struct ScannedBody<'a> {
    pub function: &'a str,
    pub is_kernel: bool,
    /// Whether its head limits threads or registers.
    pub has_limits: bool,
    pub body: Body<'a>,
}

/// Finds the functions of a file.
///
/// # Errors
/// A text without `.version`, or a function or statement without an end.
pub fn scan<'a>(tokens: &[Token<'a>]) -> Result<ScannedModule<'a>, InstrumentError> {
    let mut found = ScannedModule {
        bodies: Vec::new(),
        declared: Vec::new(),
        files: BTreeMap::new(),
        target: "",
        version: "",
        address_size: "64",
        head: 0,
    };
    let mut next = 0;
    let word = |at: usize| tokens[at.min(tokens.len() - 1)];
    while word(next).kind != TokenKind::End {
        match word(next).text {
            ".version" => {
                found.version = word(next + 1).text;
                found.head = word(next + 1).end;
                next += 2;
            }
            ".target" => {
                found.target = word(next + 1).text;
                next += 2;
                while word(next).kind == TokenKind::Mark(b',') {
                    next += 2;
                }
                found.head = word(next - 1).end;
            }
            ".address_size" => {
                found.address_size = word(next + 1).text;
                found.head = word(next + 1).end;
                next += 2;
            }
            ".file" => {
                if let Ok(number) = word(next + 1).text.parse() {
                    found.files.insert(number, word(next + 2).text);
                }
                next += 3;
            }
            ".section" => next = after_block(tokens, next)?,
            ".entry" | ".func" => next = function(tokens, next, &mut found)?,
            _ => next += 1,
        }
    }
    if found.version.is_empty() {
        return Err(InstrumentError::NotPtx);
    }
    Ok(found)
}

impl ScannedModule<'_> {
    /// That the file can have hooks.
    ///
    /// # Errors
    /// If its version, its target or its addresses are not for them.
    pub fn check_hooks(&self) -> Result<(), InstrumentError> {
        old_target(self.target)?;
        if self.address_size != "64" {
            return Err(InstrumentError::AddressSize);
        }
        check_version(self.version)
    }
}

/// The index after a block in braces, the first from here.
fn after_block(tokens: &[Token<'_>], start: usize) -> Result<usize, InstrumentError> {
    let mut depth = 0u32;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.kind {
            TokenKind::Mark(b'{') => depth += 1,
            TokenKind::Mark(b'}') if depth <= 1 => return Ok(at + 1),
            TokenKind::Mark(b'}') => depth -= 1,
            _ => {}
        }
    }
    Err(InstrumentError::NoEnd {
        line: tokens[start].at.line,
        what: "section",
    })
}

/// `.func (.param .b32 r) name (…) .noreturn { … }`; `tokens[start]` is the directive. Returns the
/// index after it.
fn function<'a>(
    tokens: &[Token<'a>],
    start: usize,
    found: &mut ScannedModule<'a>,
) -> Result<usize, InstrumentError> {
    const LIMITS: [&str; 4] = [".maxntid", ".reqntid", ".maxnreg", ".minnctapersm"];
    let (mut name, mut depth) = (None, 0u32);
    let mut at = start + 1;
    loop {
        let token = tokens[at.min(tokens.len() - 1)];
        match token.kind {
            TokenKind::Mark(b'(') => depth += 1,
            TokenKind::Mark(b')') => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 && name.is_none() && !token.text.starts_with('.') => {
                name = Some(token.text);
            }
            // After a string: the end of a `.pragma` between head and body.
            TokenKind::Mark(b';') if tokens[at - 1].kind != TokenKind::Text => {
                found
                    .declared
                    .extend(name.map(|name| (name, tokens[start].at.line)));
                return Ok(at + 1);
            }
            TokenKind::Mark(b'{') => break,
            TokenKind::End => {
                let line = tokens[start].at.line;
                let what = "function";
                return Err(InstrumentError::NoEnd { line, what });
            }
            _ => {}
        }
        at += 1;
    }
    let (body, next) = read_body(tokens, at)?;
    let function = name.unwrap_or_default();
    found.bodies.push(ScannedBody {
        function,
        is_kernel: tokens[start].text == ".entry",
        has_limits: tokens[start..at].iter().any(|it| LIMITS.contains(&it.text)),
        body,
    });
    Ok(next)
}

/// `activemask` is there since 6.2.
fn check_version(found: &str) -> Result<(), InstrumentError> {
    let numbers = found.split_once('.');
    let parsed = numbers.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    match parsed {
        Some(parsed) if parsed >= (6, 2) => Ok(()),
        _ => Err(InstrumentError::Version {
            found: found.to_owned(),
        }),
    }
}

/// `shfl` is there since sm_30, `red.min.u64` since sm_32.
fn old_target(target: &str) -> Result<(), InstrumentError> {
    let number = target.strip_prefix("sm_").unwrap_or_default();
    let digits = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    match digits.parse::<u32>() {
        Ok(number) if number < 32 => Err(InstrumentError::Target {
            found: target.to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use reuselens_ptx::tokens;

    use super::*;

    #[test]
    fn what_has_no_version_is_no_ptx() {
        for text in ["", "1 2 3", "__global__ void scale(float *a) { a[0] = 2; }"] {
            let tokens = tokens(text).unwrap();
            assert_eq!(
                scan(&tokens).unwrap_err(),
                InstrumentError::NotPtx,
                "{text}"
            );
        }
    }
}
