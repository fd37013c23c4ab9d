//! [`WarpReader`]: reads a stream file, chunk by chunk, and checks the totals at its end. The
//! format is described in the module `file`.

use crate::file::MAGIC;
use crate::file::decode::{self, DecodedPiece};
use crate::file::encode::Memory;
use crate::file::writer::{FIXED, OLDEST_VERSION, Totals, VERSION};
use crate::{Launch, WarpBatch, WarpSource, WarpStep};
use reuselens_io::Input;
use reuselens_io::chunk::{Chunks, Content, Stored, Unpacker};
use reuselens_io::varint::{Cursor, Damage};
use reuselens_trace::TraceError;

const MAX_DESCRIPTION: usize = 64 << 10;

/// Reads a stream of warp instructions. Memory: one chunk.
pub struct WarpReader {
    input: Input,
    description: String,
    chunks: Chunks,
    unpacker: Unpacker,
    memory: Memory,
    launch: Option<Launch>,
    plain: Vec<u8>,
    at: usize,
    start: u64,
    totals: Totals,
    over: bool,
}

impl WarpReader {
    /// Reads the file's head.
    ///
    /// # Errors
    /// [`TraceError::UnknownFormat`] if it is no stream file or one of another version,
    /// `FileError::Corrupt` if the head is damaged, `FileError::Empty`, `FileError::Io`.
    pub fn new(mut input: Input) -> Result<WarpReader, TraceError> {
        input.head()?;
        let description = head(&mut input)?;
        let unpacker =
            Unpacker::new().map_err(|error| TraceError::io("decode", input.path(), error))?;
        Ok(WarpReader {
            input,
            description,
            chunks: Chunks::from(0),
            unpacker,
            memory: Memory::default(),
            launch: None,
            plain: Vec::new(),
            at: 0,
            start: 0,
            totals: Totals::default(),
            over: false,
        })
    }

    fn step(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        while self.at >= self.plain.len() {
            let chunk = self.chunks.next(&mut self.input)?;
            let unpacked = self.unpacker.unpack(&chunk, &mut self.plain);
            unpacked.map_err(|damage| self.input.bad_bytes(chunk.start, damage.0))?;
            if chunk.content == Content::Ending {
                return self.check_ending(&chunk).map(|()| WarpStep::End);
            }
            (self.at, self.start) = (0, chunk.start);
            self.totals.chunks += 1;
        }
        let mut cursor = Cursor::new(&self.plain, self.at);
        let piece = decode::piece(&mut cursor, &mut self.memory, self.launch.as_ref(), batch);
        self.at = cursor.at();
        let piece = piece.map_err(|damage| self.input.bad_bytes(self.start, damage.0))?;
        match piece {
            DecodedPiece::Batch => {
                self.totals.records += batch.len() as u64;
                self.totals.accesses += batch.accesses() as u64;
                Ok(WarpStep::Batch)
            }
            DecodedPiece::Launch(launch) => {
                self.totals.launches += 1;
                self.launch = Some(launch.clone());
                Ok(WarpStep::Launch(launch))
            }
        }
    }

    fn check_ending(&mut self, ending: &Stored) -> Result<(), TraceError> {
        let mut cursor = Cursor::new(&self.plain, 0);
        let numbers = (0..4)
            .map(|_| cursor.number())
            .collect::<Result<Vec<_>, Damage>>();
        let ours = self.totals.numbers();
        if !numbers.is_ok_and(|numbers| numbers == ours) || !cursor.is_at_end() {
            let what = "the totals in the ending are not those of the file";
            return Err(self.input.bad_bytes(ending.start, what).into());
        }
        if !self.input.at_least(1)?.is_empty() {
            let what = "there are bytes after the end of the stream: was another file appended?";
            return Err(self.input.bad_bytes(self.input.offset(), what).into());
        }
        Ok(())
    }
}

impl WarpSource for WarpReader {
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        if self.over {
            return Ok(WarpStep::End);
        }
        let step = self.step(batch);
        self.over = matches!(step, Err(_) | Ok(WarpStep::End));
        step
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}

fn head(input: &mut Input) -> Result<String, TraceError> {
    const CUT: &str = "the stream is cut off in its head: nothing was recorded";
    let bytes = input.at_least(FIXED)?;
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        let what = "it does not begin like a stream of warp instructions".to_owned();
        let path = input.path().to_owned();
        return Err(TraceError::UnknownFormat { path, what });
    }
    let Some(&fixed) = bytes.first_chunk::<FIXED>() else {
        return Err(input.bad_bytes(0, CUT).into());
    };
    let version = u16::from_le_bytes([fixed[8], fixed[9]]);
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        let what = format!(
            "it is a stream of version {version}, and this reuselens reads versions \
             {OLDEST_VERSION} to {VERSION}: record it again"
        );
        let path = input.path().to_owned();
        return Err(TraceError::UnknownFormat { path, what });
    }
    let length = u32::from_le_bytes([fixed[12], fixed[13], fixed[14], fixed[15]]) as usize;
    if length > MAX_DESCRIPTION {
        return Err(input
            .bad_bytes(12, "the head of the stream is damaged")
            .into());
    }
    let bytes = input.at_least(FIXED + length + 4)?;
    let complete = bytes.get(..FIXED + length + 4);
    let Some((head, check)) = complete.and_then(<[u8]>::split_last_chunk::<4>) else {
        return Err(input.bad_bytes(0, CUT).into());
    };
    let right = crc32fast::hash(head) == u32::from_le_bytes(*check);
    let text = std::str::from_utf8(&head[FIXED..]).map(str::to_owned);
    match text {
        Ok(text) if right => {
            input.consume(FIXED + length + 4);
            Ok(text)
        }
        _ => Err(input
            .bad_bytes(0, "the checksum of the stream's head is wrong")
            .into()),
    }
}
