//! Reads traces of Accel-Sim's tracer: a text file for each kernel (`.traceg`, grouped by block,
//! [`KernelReader`]), and the list of them (`kernelslist.g`, [`KernelList`]). They are recorded on
//! real GPUs, and have SASS instructions.
//!
//! ```text
//! -kernel name = …     -grid dim = (x,y,z)     -block dim = (x,y,z)     further lines with `-`
//! #BEGIN_TB
//! thread block = x,y,z
//! warp = n
//! insts = n
//! [line] PC mask dest_num [dests] opcode src_num [srcs] mem_width [mode addresses…] [immediate]
//! #END_TB
//! ```
//!
//! PC, mask and addresses are hexadecimal. Mode 0 lists an address for each active lane, mode 1 has
//! the first and a stride, mode 2 the first and the difference of each from the one before. Only
//! instructions with a memory width are records. Described in the README of Accel-Sim's tracer
//! (`util/tracer_nvbit`).

mod instruction;
mod list;
mod reader;

pub use list::KernelList;
pub use reader::KernelReader;

use reuselens_trace::Confidence;

/// Whether the file begins like a kernel's trace.
pub fn detect(head: &[u8]) -> Confidence {
    let begins = head.starts_with(b"-kernel name =");
    if begins {
        Confidence::Certain
    } else {
        Confidence::No
    }
}

/// Whether the file begins like a list of kernels: `Memcpy…` commands and names of traces.
pub fn is_list(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii();
    line.starts_with(b"Memcpy") || (line.starts_with(b"kernel-") && !line.contains(&b' '))
}
