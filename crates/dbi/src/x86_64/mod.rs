//! All code that depends on the instruction set, x86-64: the translator (`translate` with `body`,
//! `special`, `terminator`, `rewrite`, `flags`, `place` and `emit`) and the entries into our own
//! code (`asm`).

pub mod asm;
pub mod body;
pub mod emit;
pub mod flags;
pub mod place;
pub mod registers;
pub mod rewrite;
pub mod special;
pub mod terminator;
pub mod translate;

/// How many bytes before a block's head indirect branches enter it.
pub const ENTRY: u64 = place::ENTRY as u64;

/// Bytes that `xsave` writes for the components in `mask`.
pub fn state_bytes(mask: u64) -> u64 {
    let mut bytes = 512 + 64;
    for component in 2..32_u32 {
        if mask >> component & 1 != 0 {
            let about = core::arch::x86_64::__cpuid_count(0xd, component);
            if about.eax != 0 {
                bytes += u64::from(about.eax);
            }
        }
    }
    bytes
}

/// Bytes of the state with the components in `mask`, in the standard form.
pub fn standard_state_bytes(mask: u64) -> u64 {
    let has = |component: &u32| mask >> component & 1 != 0;
    let end = |component: u32| {
        let about = core::arch::x86_64::__cpuid_count(0xd, component);
        u64::from(about.eax) + u64::from(about.ebx)
    };
    (2..63).filter(has).map(end).fold(512 + 64, u64::max)
}
