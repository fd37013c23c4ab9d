//! Chunks decoded where they are read.

use crate::decode::{Decoder, Piece};
use crate::form::Form;
use reuselens_io::chunk::{Stored, Unpacker};
use reuselens_io::varint::Damage;
use reuselens_trace::{Block, Event};

/// A piece that is whole.
#[derive(Debug)]
pub(super) enum Decoded {
    Block(Block),
    Event(Event),
}

/// What whoever decodes hands over.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are pieces, of which none is to be allocated"
)]
pub(super) enum Taken {
    Piece(Decoded),
    /// A chunk is over.
    End,
    /// A chunk is damaged: where it begins, and how.
    Damaged(u64, Damage),
    /// A thread broke down.
    Broken(std::io::Error),
}

/// Unpacks and decodes one chunk at a time.
pub(super) struct Alone {
    unpacker: Unpacker,
    plain: Vec<u8>,
    decoder: Decoder,
    rows: Block,
    /// Where the chunk that is being decoded begins, and what was wrong with it from the start.
    chunk: Option<(u64, Result<(), Damage>)>,
}

impl Alone {
    /// Delivers rows in this form.
    pub(super) fn new(form: Form) -> std::io::Result<Alone> {
        Ok(Alone {
            unpacker: Unpacker::new()?,
            plain: Vec::new(),
            decoder: Decoder::new(form),
            rows: Block::new(),
            chunk: None,
        })
    }

    /// Whether there is no chunk to go on with.
    pub(super) fn is_idle(&self) -> bool {
        self.chunk.is_none()
    }

    /// Where the chunk to go on with begins.
    pub(super) fn start(&self) -> Option<u64> {
        self.chunk.map(|(start, _)| start)
    }

    /// Begins with a chunk; see [`Decoder::begin`].
    pub(super) fn begin(&mut self, chunk: &Stored, bare: bool) {
        let unpacked = self.unpacker.unpack(chunk, &mut self.plain);
        let begun = unpacked.and_then(|()| self.decoder.begin(&self.plain, bare));
        self.chunk = Some((chunk.start, begun));
    }

    /// The next piece of the chunk. A block gets its memory from `spare`.
    pub(super) fn next(&mut self, spare: impl FnOnce() -> Block) -> Taken {
        let Some((start, begun)) = self.chunk else {
            return Taken::End;
        };
        let next = begun.and_then(|()| self.decoder.next(&self.plain, &mut self.rows));
        let ended = match next {
            Ok(Piece::Block) => {
                let rows = std::mem::replace(&mut self.rows, spare());
                return Taken::Piece(Decoded::Block(rows));
            }
            Ok(Piece::Event(event)) => return Taken::Piece(Decoded::Event(event)),
            Ok(Piece::End) => Taken::End,
            Err(damage) => Taken::Damaged(start, damage),
        };
        self.chunk = None;
        ended
    }
}
