//! Packs the bytes of chunks.

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

/// The fastest of the usual levels: while a program is recorded, packing takes as long as all else,
/// and level 3 makes files smaller by a tenth only.
const LEVEL: i32 = 1;
/// How far that level goes on where it finds nothing, and that it leaves bytes as they are that it
/// finds nowhere. Takes a quarter less time than without, to pack, and less to unpack; files are a
/// fifth larger.
const STEP: u32 = 3;

/// Packs.
pub(super) struct Packer(Compressor<'static>);

impl Packer {
    pub(super) fn new() -> std::io::Result<Packer> {
        let mut packer = Compressor::new(LEVEL)?;
        packer.set_parameter(CParameter::TargetLength(STEP))?;
        Ok(Packer(packer))
    }

    /// Puts into `stored` what becomes of `plain`.
    pub(super) fn pack(&mut self, plain: &[u8], stored: &mut Vec<u8>) -> std::io::Result<()> {
        stored.clear();
        stored.reserve(compress_bound(plain.len()));
        self.0.compress_to_buffer(plain, stored)?;
        Ok(())
    }
}
