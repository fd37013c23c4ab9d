//! [`Compact`]: where the JSON of this crate has line breaks.

use std::io::{self, Write};

/// One line for each field of the outermost object, and for each element of an array of objects
/// there; everything inside is on that line. So a profile can be read, searched and compared line
/// by line.
#[derive(Default)]
pub(crate) struct Compact {
    depth: usize,
}

impl serde_json::ser::Formatter for Compact {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 2 {
            writer.write_all(b"\n  ")?;
        }
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(match (first, self.depth) {
            (true, 1) => b"\n ",
            (true, _) => b"",
            (false, 1) => b",\n ",
            (false, _) => b", ",
        })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(match (first, self.depth) {
            (true, _) => b"",
            // What follows may be an object, on a line of its own.
            (false, 2) => b",",
            (false, _) => b", ",
        })
    }
}
