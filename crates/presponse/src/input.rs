//! Opens files of graphs and streams, packed ones included, and reads graphs.

use std::io::{self, BufRead, Read};
use std::path::Path;

use anyhow::Context as _;
use reuselens_graph::formats::stream::{self, StreamReader};
use reuselens_graph::formats::{GRAPH_FORMATS, LoadedGraph, by_name, detect};
use reuselens_io::{FileError, Input};

use crate::exit::WrongUsage;

/// An [`Input`] as a [`BufRead`].
pub struct TextInput(Input);

/// A stream that comes from a file or a pipe.
pub type Stream = StreamReader<TextInput>;

impl Read for TextInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for TextInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.at_least(1).map_err(|error| match error {
            FileError::Io { source, .. } => source,
            other => io::Error::other(other),
        })
    }

    fn consume(&mut self, count: usize) {
        self.0.consume(count);
    }
}

/// Opens a stream; `-` is standard input. An empty one has no changes.
///
/// # Errors
/// If it cannot be opened.
pub fn open_stream(path: &Path) -> anyhow::Result<Stream> {
    let maker = "presponse generate changes GRAPH -o FILE";
    let mut input = Input::open(path).map_err(|error| explained(error, path, maker))?;
    if path != Path::new("-") {
        // Looks for a compression. A pipe is not looked at: that would wait for 4 KiB of changes.
        match input.head() {
            Ok(_) | Err(FileError::Empty { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(stream::read(TextInput(input)))
}

/// Reads a graph. The format is the named one, or what the content or the name of the file shows.
///
/// # Errors
/// If the file cannot be opened, or is not in the format.
pub fn read_graph(path: &Path, format: Option<&str>) -> anyhow::Result<LoadedGraph> {
    let maker = "presponse generate delaunay -o FILE";
    let mut input = Input::open(path).map_err(|error| explained(error, path, maker))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = [".gz", ".zst", ".xz", ".zip"]
        .iter()
        .find_map(|packing| name.strip_suffix(packing))
        .unwrap_or(&name)
        .to_owned();
    let found = detect(input.head()?, &name);
    let format = match format {
        Some(name) => by_name(name).ok_or_else(|| no_format(name))?,
        None => found,
    };
    let read = (format.read)(&mut TextInput(input));
    read.with_context(|| {
        let shown = path.display();
        format!(
            "cannot read {shown} as a graph in the format {}",
            format.name
        )
    })
}

fn no_format(name: &str) -> WrongUsage {
    let names: Vec<&str> = GRAPH_FORMATS.iter().map(|format| format.name).collect();
    let names = names.join(", ");
    WrongUsage(format!(
        "'{name}' is no format of graphs; formats are {names}"
    ))
}

/// What to type where a file is missing.
fn explained(error: FileError, path: &Path, maker: &str) -> anyhow::Error {
    match &error {
        FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let shown = path.display();
            anyhow::anyhow!(
                "cannot read {shown}: there is no such file; `{maker}` makes one to try"
            )
        }
        _ => error.into(),
    }
}
