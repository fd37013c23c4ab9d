//! Snapshots: the ids and edges of a graph after a batch, in a file.
//!
//! ```text
//! head: "PRSPSNP1" | kind u32 | crc32 of the 12 bytes before, u32
//! body: batch, root, first id, count of ids without gaps, count of other ids, other ids,
//!       count of edges, then for each edge: from less the one before, to
//! end:  crc32 of the body, u32
//! ```
//!
//! Numbers of the body are varints. Edges have vertex numbers and are sorted.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use anyhow::Context as _;
use reuselens_graph::{Edge, EdgeKind, VertexId, VertexNames};
use reuselens_io::{AtomicFile, varint};

use super::log::{kind_code, kind_of_code};

/// What a snapshot begins with.
pub const MAGIC: [u8; 8] = *b"PRSPSNP1";
/// Bytes that are collected before they are written.
const PIECE: usize = 1 << 16;

/// A graph after a batch.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The batch.
    pub batch: u64,
    /// Whether edges have a direction.
    pub kind: EdgeKind,
    /// The vertex from which depths are counted; 0 also before there is any vertex.
    pub root: VertexId,
    /// The ids of the vertices.
    pub names: VertexNames,
    /// The edges, sorted.
    pub edges: Vec<Edge>,
}

impl Snapshot {
    /// Writes it beside `path`, flushes it to the disk, and gives it its name.
    ///
    /// # Errors
    /// If there is such a file, or the disk is full or refuses.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut file = AtomicFile::create(path, false)?;
        self.write_to(&mut file)
            .with_context(|| format!("cannot write {}", path.display()))?;
        file.commit()?;
        Ok(())
    }

    fn write_to(&self, file: &mut impl Write) -> io::Result<()> {
        let mut head = [0; 16];
        head[..8].copy_from_slice(&MAGIC);
        head[8] = kind_code(self.kind);
        let crc = crc32fast::hash(&head[..12]);
        head[12..].copy_from_slice(&crc.to_le_bytes());
        file.write_all(&head)?;

        let mut hasher = crc32fast::Hasher::new();
        let mut piece = Vec::with_capacity(PIECE + 32);
        let mut flush = |piece: &mut Vec<u8>, least: usize| {
            if piece.len() < least {
                return Ok(());
            }
            hasher.update(piece);
            file.write_all(piece)?;
            piece.clear();
            Ok::<(), io::Error>(())
        };
        varint::put(&mut piece, self.batch);
        varint::put(&mut piece, u64::from(self.root));
        let (first, consecutive) = self.names.range();
        varint::put(&mut piece, first);
        varint::put(&mut piece, u64::from(consecutive));
        varint::put(&mut piece, self.names.len() - u64::from(consecutive));
        for id in self.names.ids().skip(consecutive as usize) {
            varint::put(&mut piece, id);
            flush(&mut piece, PIECE)?;
        }
        varint::put(&mut piece, self.edges.len() as u64);
        let mut before = 0;
        for edge in &self.edges {
            varint::put(&mut piece, u64::from(edge.from - before));
            varint::put(&mut piece, u64::from(edge.to));
            before = edge.from;
            flush(&mut piece, PIECE)?;
        }
        flush(&mut piece, 0)?;
        file.write_all(&hasher.finalize().to_le_bytes())
    }

    /// Reads one.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let read = Self::read_from(BufReader::with_capacity(1 << 20, file));
        read.with_context(|| format!("the snapshot {shown} is damaged; restore it from a copy"))
    }

    fn read_from(mut file: impl Read) -> anyhow::Result<Self> {
        let mut head = [0; 16];
        file.read_exact(&mut head)?;
        let is_intact =
            head[..8] == MAGIC && head[12..] == crc32fast::hash(&head[..12]).to_le_bytes();
        let kind = kind_of_code(head[8])
            .filter(|_| is_intact)
            .context("wrong head")?;
        let mut body = SnapshotNumbers {
            file,
            hasher: crc32fast::Hasher::new(),
        };
        let batch = body.next()?;
        let root = u32::try_from(body.next()?)?;
        let first = body.next()?;
        let consecutive = u32::try_from(body.next()?)?;
        first
            .checked_add(u64::from(consecutive))
            .context("an id that is too large")?;
        let mut names = VertexNames::consecutive(first, consecutive);
        for _ in 0..body.next()? {
            let (id, before) = (body.next()?, names.len());
            names.number(id).context("too many vertices")?;
            if names.len() == before {
                anyhow::bail!("an id comes twice");
            }
        }
        if root > 0 && u64::from(root) >= names.len() {
            anyhow::bail!("a root that is missing");
        }
        // Not reserved by what the file says: memory grows by what is read.
        let mut edges = Vec::new();
        let mut from = 0_u32;
        for _ in 0..body.next()? {
            from = from
                .checked_add(u32::try_from(body.next()?)?)
                .context("a wrong vertex")?;
            let edge = Edge {
                from,
                to: u32::try_from(body.next()?)?,
            };
            if u64::from(edge.from.max(edge.to)) >= names.len() {
                anyhow::bail!("an edge to a vertex that is missing");
            }
            edges.push(edge);
        }
        let crc = body.hasher.finalize().to_le_bytes();
        let mut found = [0; 4];
        body.file.read_exact(&mut found)?;
        if found != crc || body.file.read(&mut [0])? != 0 {
            anyhow::bail!("wrong checksum");
        }
        Ok(Self {
            batch,
            kind,
            root,
            names,
            edges,
        })
    }
}

/// Varints of a file, and the checksum of the bytes that were read.
struct SnapshotNumbers<R> {
    file: R,
    hasher: crc32fast::Hasher,
}

impl<R: Read> SnapshotNumbers<R> {
    fn next(&mut self) -> anyhow::Result<u64> {
        let (mut bytes, mut count) = ([0_u8; 10], 0);
        loop {
            let byte = bytes
                .get_mut(count..count + 1)
                .context("a number that is too large")?;
            self.file.read_exact(byte)?;
            count += 1;
            if bytes[count - 1] & 0x80 == 0 {
                break;
            }
        }
        self.hasher.update(&bytes[..count]);
        let number = varint::Cursor::new(&bytes[..count], 0).number();
        number.ok().context("a number that is too large")
    }
}
