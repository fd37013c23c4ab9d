//! [`PtxError`]: what is wrong with PTX before anything runs, with its [`Position`] in the text.
//! What goes wrong while a kernel runs is `KernelError` in `machine::fault`.

use std::sync::Arc;

/// A place in a PTX file. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Number of the file among those that were linked, from 1; 0 if none were.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl Position {
    /// The name of its file, of the names of all that were linked.
    pub(crate) fn file_in(self, linked: &[String]) -> Option<&str> {
        let index = (self.file as usize).checked_sub(1)?;
        linked.get(index).map(String::as_str)
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Characters of a line that are shown.
const SHOWN: usize = 100;

/// PTX that cannot be read, or that this interpreter does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", in_file(file), place(*position, line))]
pub struct PtxError {
    position: Position,
    file: Option<Box<str>>,
    /// The line of the source, as `file:line`.
    line: Option<Arc<str>>,
    message: Box<str>,
    unsupported: bool,
}

impl PtxError {
    pub(crate) fn new(position: Position, message: impl Into<String>) -> PtxError {
        PtxError {
            position,
            file: None,
            line: None,
            message: message.into().into(),
            unsupported: false,
        }
    }

    /// Valid PTX, as far as can be seen, that is outside the subset.
    pub(crate) fn unsupported(position: Position, message: impl Into<String>) -> PtxError {
        PtxError {
            unsupported: true,
            ..PtxError::new(position, message)
        }
    }

    /// The same, in one of several linked files.
    pub(crate) fn in_file(self, file: Option<String>) -> PtxError {
        PtxError {
            file: file.map(String::into_boxed_str),
            ..self
        }
    }

    /// The same, with the line of the source that it is about.
    pub(crate) fn at_line(self, line: Arc<str>) -> PtxError {
        PtxError {
            line: Some(line),
            ..self
        }
    }

    /// The same, in the file of that number among those that are linked.
    pub(crate) fn set_file(&mut self, number: u32) {
        self.position.file = number;
    }

    /// Where.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The line of the file that it is about, and a mark below the place; empty if the file has no
    /// such line.
    pub fn excerpt(&self, text: &str) -> String {
        let Position { line, column, .. } = self.position;
        let Some(found) = text.lines().nth((line as usize).wrapping_sub(1)) else {
            return String::new();
        };
        // Of lines that are longer than a terminal, the part around the place.
        let before = (column as usize).saturating_sub(1);
        let from = before.saturating_sub(SHOWN / 2);
        let shown = found.chars().skip(from).take(SHOWN);
        let shown: String = shown
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let number = line.to_string();
        let mark = number.len() + 3 + before - from;
        format!("\n{number} | {}\n{:mark$}^", shown.trim_end(), "")
    }

    /// Whether it may be right PTX, but outside the subset that is run here.
    pub fn is_unsupported(&self) -> bool {
        self.unsupported
    }
}

fn in_file(file: &Option<Box<str>>) -> String {
    file.as_ref()
        .map_or_else(String::new, |file| format!("{file}, "))
}

fn place(position: Position, line: &Option<Arc<str>>) -> String {
    match line {
        Some(line) => format!("{line} (PTX {position})"),
        None => position.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_the_line_with_a_mark() {
        let at = |line, column| {
            let file = 0;
            PtxError::new(Position { file, line, column }, "no")
        };
        let text = "one\n\tadd.s32 %r1;\n";
        assert_eq!(at(2, 2).excerpt(text), "\n2 |  add.s32 %r1;\n     ^");
        assert_eq!(at(3, 1).excerpt(text), "");
        assert_eq!(at(0, 0).excerpt(text), "");
        let long = at(1, 300).excerpt(&"ä".repeat(400));
        assert_eq!(long.lines().nth(2), Some(&format!("{:54}^", "")[..]));
    }
}
