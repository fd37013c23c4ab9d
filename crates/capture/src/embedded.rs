//! The two compressed files that the build script has compiled for measured programs: the run time
//! and the rewriter's image. `toolchain` links programs with the first, `inject` puts the second
//! into running programs.

const RUN_TIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reuselens.o.zst"));
const REWRITER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dbi.so.zst"));

/// The run time for programs that `reuselens cc` links: one object file.
pub(crate) fn run_time() -> Vec<u8> {
    unpack(RUN_TIME)
}

/// The rewriter for unmodified programs: a shared object, or nothing if this was not compiled for
/// x86-64. Unpacking it takes about a millisecond.
pub(crate) fn rewriter() -> Vec<u8> {
    unpack(REWRITER)
}

/// Decompresses a file that the build script has compressed.
fn unpack(packed: &[u8]) -> Vec<u8> {
    zstd::stream::decode_all(packed).expect("the build script packed it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_embeds_elf_at_less_than_half(packed: &[u8], file: &[u8]) {
        assert!(file.starts_with(b"\x7fELF"));
        assert!(packed.len() < file.len() / 2, "{} bytes", packed.len());
    }

    #[test]
    fn run_time_is_embedded_at_less_than_half_its_size() {
        assert_embeds_elf_at_less_than_half(RUN_TIME, &run_time());
    }

    #[test]
    fn rewriter_is_embedded_for_x86_64_only() {
        let file = rewriter();
        if cfg!(target_arch = "x86_64") {
            assert_embeds_elf_at_less_than_half(REWRITER, &file);
        } else {
            assert!(file.is_empty(), "{} bytes", file.len());
        }
    }
}
