//! From the text of a PTX file to its [`Token`]s, each with its position.

use crate::error::{Position, PtxError};

/// What a token is. Words keep their dots: `ld.global.f32` and `%tid.x` are one token each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name, directive, register or opcode.
    Word,
    /// A number as it is written, without a sign.
    Number,
    /// The inside of a string.
    Text,
    /// One character that stands for itself.
    Mark(u8),
    /// The end of the file.
    End,
}

/// A piece of the file.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// The characters, without the quotation marks of a string.
    pub text: &'a str,
    /// Where it begins.
    pub at: Position,
    /// Bytes before it in the file.
    pub start: usize,
    /// Bytes up to its end.
    pub end: usize,
}

/// The tokens of a file, in order; the last one is the end.
///
/// # Errors
/// Characters that PTX does not have, and comments and strings without an end.
pub fn tokens(text: &str) -> Result<Vec<Token<'_>>, PtxError> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let token = lexer.token()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    next: usize,
    line: u32,
    /// Of the character at `counted`, so that a long line is counted once and not for each token.
    column: u32,
    counted: usize,
    /// Bytes that were looked at for columns.
    #[allow(dead_code, reason = "a test asks what columns cost")]
    work: usize,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            text,
            next: 0,
            line: 1,
            column: 1,
            counted: 0,
            work: 0,
        }
    }

    fn token(&mut self) -> Result<Token<'a>, PtxError> {
        self.skip_blank()?;
        let at = self.at();
        let start = self.next;
        let Some(first) = self.peek(0) else {
            return Ok(Token {
                kind: TokenKind::End,
                text: "",
                at,
                start,
                end: start,
            });
        };
        let kind = match first {
            b'0'..=b'9' => self.number(),
            b'"' => return self.string(at),
            _ if is_word_start(first) => self.word(),
            _ if b"{}[](),;:+-@!|<>=*~&^/?".contains(&first) => {
                self.next += 1;
                TokenKind::Mark(first)
            }
            _ => {
                let character = self.text[start..].chars().next().unwrap_or(' ');
                let what = format!("{character:?} has no meaning in PTX; is this a PTX file?");
                return Err(PtxError::new(at, what));
            }
        };
        Ok(Token {
            kind,
            text: &self.text[start..self.next],
            at,
            start,
            end: self.next,
        })
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.next + ahead).copied()
    }

    fn at(&mut self) -> Position {
        let more = &self.text[self.counted..self.next];
        self.column += more.chars().count() as u32;
        self.work += more.len();
        self.counted = self.next;
        Position {
            file: 0,
            line: self.line,
            column: self.column,
        }
    }

    fn skip_blank(&mut self) -> Result<(), PtxError> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => self.new_line(),
                b' ' | b'\t' | b'\r' | 0x0c => self.next += 1,
                b'/' if self.peek(1) == Some(b'/') => {
                    let rest = &self.text[self.next..];
                    self.next += rest.find('\n').unwrap_or(rest.len());
                }
                b'/' if self.peek(1) == Some(b'*') => self.skip_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn new_line(&mut self) {
        self.next += 1;
        self.line += 1;
        (self.column, self.counted) = (1, self.next);
    }

    fn skip_comment(&mut self) -> Result<(), PtxError> {
        let start = self.at();
        self.next += 2;
        loop {
            match self.peek(0) {
                None => return Err(PtxError::new(start, "this comment has no end (`*/`)")),
                Some(b'\n') => self.new_line(),
                Some(b'*') if self.peek(1) == Some(b'/') => {
                    self.next += 2;
                    return Ok(());
                }
                Some(_) => self.next += 1,
            }
        }
    }

    /// Digits, `0x…`, `0f…`, `0d…`, and numbers with a point and an exponent.
    fn number(&mut self) -> TokenKind {
        let hexadecimal = self.peek(0) == Some(b'0')
            && matches!(
                self.peek(1),
                Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D' | b'b' | b'B')
            );
        while let Some(byte) = self.peek(0) {
            let exponent =
                !hexadecimal && matches!(byte, b'+' | b'-') && matches!(self.before(), b'e' | b'E');
            if !byte.is_ascii_alphanumeric() && byte != b'.' && !exponent {
                break;
            }
            self.next += 1;
        }
        TokenKind::Number
    }

    fn before(&self) -> u8 {
        self.text.as_bytes()[self.next - 1]
    }

    fn word(&mut self) -> TokenKind {
        self.next += 1;
        while let Some(byte) = self.peek(0) {
            if is_word_start(byte) || byte.is_ascii_digit() {
                self.next += 1;
            } else if byte == b':' && self.peek(1) == Some(b':') {
                self.next += 2;
            } else {
                break;
            }
        }
        TokenKind::Word
    }

    fn string(&mut self, at: Position) -> Result<Token<'a>, PtxError> {
        let start = self.next;
        let rest = &self.text[start + 1..];
        let end = rest.find(['"', '\n']);
        let Some(length) = end.filter(|&end| rest.as_bytes()[end] == b'"') else {
            return Err(PtxError::new(at, "this string has no end in its line"));
        };
        self.next += length + 2;
        Ok(Token {
            kind: TokenKind::Text,
            text: &rest[..length],
            at,
            start,
            end: self.next,
        })
    }
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let places = |text: &str| -> Vec<(u32, u32)> {
            let tokens = tokens(text).unwrap();
            tokens.iter().map(|t| (t.at.line, t.at.column)).collect()
        };
        assert_eq!(
            places("a \"ä\" b\n/* ö\n */ c,d"),
            [(1, 1), (1, 3), (1, 7), (3, 5), (3, 6), (3, 7), (3, 8)]
        );
    }

    #[test]
    fn lexing_is_linear_in_the_length_of_a_line() {
        let text = "a ".repeat(1 << 12);
        let mut lexer = Lexer::new(&text);
        let mut count = 0;
        while lexer.token().unwrap().kind != TokenKind::End {
            count += 1;
        }
        assert_eq!(count, 1 << 12);
        // Each byte once. Counting from the beginning of the line for each token would look at
        // 2^24.
        assert_eq!(lexer.work, text.len());
    }
}
