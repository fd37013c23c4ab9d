//! The address of the last instruction of the x87 unit, which programs find in what `fnstenv`,
//! `fxsave`, `xsave` and their kin store, and in the frames of signals. The processor has the
//! address of the instruction's copy in the cache; [`show`] replaces it by the program's own before
//! such an instruction runs.

use core::arch::asm;

use reuselens_wire::CACHE;

use crate::image::codes;
use crate::image::thread::Thread;

/// Where that address is in what `fxsave64` and `xsave64` store.
pub const POINTER: usize = 8;
/// The same for `fnstenv`, which stores the lower half only.
const ENVIRONMENT_POINTER: usize = 3;

#[repr(align(16))]
struct Saved([u8; 512]);

/// Called by code in the cache, before an instruction that stores the address. Returns where that
/// code continues.
pub unsafe extern "C" fn show(thread: &mut Thread) -> u64 {
    let mut saved = Saved([0; 512]);
    // SAFETY: aligned and large enough.
    unsafe { asm!("fxsave64 [{}]", in(reg) saved.0.as_mut_ptr(), options(nostack)) };
    let field = &mut saved.0[POINTER..POINTER + 8];
    let found = u64::from_le_bytes((*field).try_into().unwrap_or_default());
    if let Some(pc) = codes::program_counter(found) {
        field.copy_from_slice(&pc.to_le_bytes());
        // SAFETY: what was saved above, but for the address.
        unsafe {
            asm!("fxrstor64 [{}]", in(reg) saved.0.as_ptr(),
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
                out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _,
                out("xmm15") _, options(nostack));
        }
    } else if found == 0 {
        // Processors of AMD save the address so only while an exception waits.
        show_environment();
    }
    thread.back
}

/// The same by way of `fnstenv`.
fn show_environment() {
    let mut environment = [0_u32; 7];
    // SAFETY: large enough.
    unsafe { asm!("fnstenv [{}]", in(reg) environment.as_mut_ptr(), options(nostack)) };
    let low = &mut environment[ENVIRONMENT_POINTER];
    // The cache is within 4 GiB.
    if let Some(pc) = codes::program_counter(CACHE >> 32 << 32 | u64::from(*low)) {
        *low = pc as u32;
    }
    // SAFETY: what was stored above, but for the address; `fnstenv` has changed the masks of
    // exceptions, so this is always necessary.
    unsafe { asm!("fldenv [{}]", in(reg) environment.as_ptr(), options(nostack)) };
}
