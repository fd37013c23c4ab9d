//! [`Cursor`]: the position of the parser among the tokens of a file, with the errors for tokens
//! that do not fit.

use super::lexer::{Token, TokenKind};
use super::number;
use crate::error::PtxError;

/// Reads tokens one by one.
pub struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(tokens: Vec<Token<'a>>) -> Cursor<'a> {
        Cursor { tokens, next: 0 }
    }

    /// The next token; at the end of the file always the end.
    pub fn peek(&self) -> Token<'a> {
        self.ahead(0)
    }

    /// The token `count` places after the next one.
    pub fn ahead(&self, count: usize) -> Token<'a> {
        let last = self.tokens.len() - 1;
        self.tokens[(self.next + count).min(last)]
    }

    /// Where the parser is, for [`Self::back_to`].
    pub fn place(&self) -> usize {
        self.next
    }

    /// Goes back to where the parser was.
    pub fn back_to(&mut self, place: usize) {
        self.next = place;
    }

    pub fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    pub fn is(&self, mark: u8) -> bool {
        self.peek().kind == TokenKind::Mark(mark)
    }

    /// Takes that mark if it is there.
    pub fn takes(&mut self, mark: u8) -> bool {
        let found = self.is(mark);
        if found {
            self.take();
        }
        found
    }

    /// Takes that word if it is there.
    pub fn takes_word(&mut self, word: &str) -> bool {
        let token = self.peek();
        let found = token.kind == TokenKind::Word && token.text == word;
        if found {
            self.take();
        }
        found
    }

    pub fn expect(&mut self, mark: u8) -> Result<(), PtxError> {
        if self.takes(mark) {
            return Ok(());
        }
        Err(self.unexpected(&format!("'{}'", char::from(mark))))
    }

    pub fn word(&mut self, what: &str) -> Result<Token<'a>, PtxError> {
        if self.peek().kind == TokenKind::Word {
            return Ok(self.take());
        }
        Err(self.unexpected(what))
    }

    /// An integer that fits.
    pub fn integer<N: TryFrom<u64>>(&mut self, what: &str) -> Result<N, PtxError> {
        let token = self.peek();
        let value = (token.kind == TokenKind::Number)
            .then(|| number::integer(token.text))
            .flatten()
            .and_then(|value| N::try_from(value).ok());
        let Some(value) = value else {
            return Err(self.unexpected(what));
        };
        self.take();
        Ok(value)
    }

    /// Skips a block in braces; the opening one is next.
    pub fn skip_block(&mut self) -> Result<(), PtxError> {
        self.skip_between(b'{', b'}')
    }

    /// Skips what is between parentheses; the opening one is next.
    pub fn skip_parentheses(&mut self) -> Result<(), PtxError> {
        self.skip_between(b'(', b')')
    }

    fn skip_between(&mut self, open: u8, close: u8) -> Result<(), PtxError> {
        let start = self.peek().at;
        let mut depth = 0usize;
        loop {
            let token = self.take();
            match token.kind {
                TokenKind::Mark(mark) if mark == open => depth += 1,
                TokenKind::Mark(mark) if mark == close => depth = depth.saturating_sub(1),
                TokenKind::End => {
                    let what = format!("this '{}' is never closed", char::from(open));
                    return Err(PtxError::new(start, what));
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The error that the next token is not `wanted`.
    pub fn unexpected(&self, wanted: &str) -> PtxError {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::End => "the file ends here".to_owned(),
            TokenKind::Text => format!("here is \"{}\"", shortened(token.text)),
            _ => format!("here is '{}'", shortened(token.text)),
        };
        PtxError::new(token.at, format!("expected {wanted}, but {found}"))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
