//! The calls that a thread is in, from the call frame information (`.eh_frame`) of the code: what
//! exceptions are unwound by. Compiled code keeps no frame pointers, so no shorter way is exact.
//! The rule of each return address is looked up once: a further frame costs nanoseconds.
//!
//! Only what the frames of functions need in practice is read: the canonical frame address from
//! `rsp` or `rbp`, or from where `rbp` points (realigned stacks), and where `rbp` is saved. A walk
//! ends at anything else, such as signal frames or code without such information.
//!
//! Source: DWARF 5, section 6.4; Linux Standard Base 5.0, chapter 10.6 (`.eh_frame`).

use core::sync::atomic::{AtomicU64, Ordering};

use crate::lock::Lock;
use crate::modules::{self, FrameTable};

/// Where a walk is: a return address, and the registers just after the return.
#[derive(Clone, Copy)]
pub struct CallCursor {
    return_address: u64,
    sp: u64,
    bp: u64,
}

/// How the caller's registers come from those of a function at one of its calls.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rule {
    /// The frame address counts from `rbp`, else from `rsp`.
    from_bp: bool,
    /// The frame address is what is stored there.
    is_stored: bool,
    offset: i32,
    bp: SavedBp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SavedBp {
    /// It has its value.
    Same,
    /// At the frame address and this.
    AtFrame(i32),
    /// Where `rbp` points, and this.
    AtBp(i32),
}

impl CallCursor {
    /// That of a call which returns to `return_address`, with `sp` in `rsp` then and `bp` in `rbp`.
    ///
    /// # Safety
    /// The calling thread is in this call, and stays in it as long as it uses the cursor and those
    /// that come from it.
    #[inline]
    pub unsafe fn new(return_address: u64, sp: u64, bp: u64) -> CallCursor {
        CallCursor {
            return_address,
            sp,
            bp,
        }
    }

    /// Where the call returns to.
    #[inline]
    pub fn return_address(self) -> u64 {
        self.return_address
    }

    /// The stack pointer (`rsp`) after the return.
    #[inline]
    pub fn sp(self) -> u64 {
        self.sp
    }

    /// The register `rbp` after the return.
    #[inline]
    pub fn bp(self) -> u64 {
        self.bp
    }

    /// The caller's. `None` where the walk ends.
    pub fn caller(self) -> Option<CallCursor> {
        let rule = rule(self.return_address)?;
        let base = if rule.from_bp { self.bp } else { self.sp };
        let mut frame = base.wrapping_add_signed(rule.offset.into());
        if rule.is_stored {
            frame = load(frame)?;
        }
        // Frames are further up than what they call, and not far: else the information is wrong.
        if frame <= self.sp || frame - self.sp > FARTHEST || frame % 8 != 0 {
            return None;
        }
        let bp = match rule.bp {
            SavedBp::Same => self.bp,
            SavedBp::AtFrame(offset) => load(frame.wrapping_add_signed(offset.into()))?,
            SavedBp::AtBp(offset) => load(self.bp.wrapping_add_signed(offset.into()))?,
        };
        Some(CallCursor {
            return_address: load(frame - 8)?,
            sp: frame,
            bp,
        })
    }
}

/// Bytes of the largest frame.
const FARTHEST: u64 = 64 << 20;

/// A word of the stack.
fn load(at: u64) -> Option<u64> {
    if !at.is_multiple_of(8) || at < 4096 {
        return None;
    }
    // SAFETY: a word of the stack is there, by who made the first cursor and by the frame
    // information of the running code.
    Some(unsafe { *(at as *const u64) })
}

const SLOTS: usize = 4096;

/// The key is the return address with the bits of the rule flipped in it (exclusive or). So a
/// reader that sees the key of one write and the rule of another finds another address, and a slot
/// that was rewritten meanwhile, however often, is not taken for its own.
struct CachedRule {
    key: AtomicU64,
    rule: AtomicU64,
}

/// Rules by return address.
static CACHE: [CachedRule; SLOTS] = [const {
    CachedRule {
        key: AtomicU64::new(0),
        rule: AtomicU64::new(0),
    }
}; SLOTS];
/// Held while rules are written.
static WRITING: Lock = Lock::new();

fn rule(return_address: u64) -> Option<Rule> {
    let hash = return_address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    let slot = &CACHE[hash as usize % SLOTS];
    let packed = slot.rule.load(Ordering::Acquire);
    if slot.key.load(Ordering::Acquire) ^ packed == return_address {
        return unpack(packed);
    }
    let rule = find(return_address);
    let packed = pack(rule);
    let _held = WRITING.hold();
    slot.rule.store(packed, Ordering::Release);
    slot.key.store(return_address ^ packed, Ordering::Release);
    rule
}

/// Where the frame of the function ends that a call returns to, in bytes from the stack pointer
/// after the return; `None` where that is not known beforehand.
pub fn frame_after(return_address: u64) -> Option<u32> {
    let rule = rule(return_address)?;
    let is_fixed = !rule.from_bp && !rule.is_stored && rule.offset >= 8;
    is_fixed.then_some(rule.offset as u32)
}

/// Where the function begins that a call returns to.
pub fn function_start(return_address: u64) -> Option<u64> {
    let address = return_address.checked_sub(1)?;
    let code = modules::code_at(address)?;
    Some(description(&code, address)?.start)
}

/// Keeps rules from being written: a process that forks calls it before, so that in its child no
/// thread that is not there holds the lock.
pub fn before_fork() {
    WRITING.take();
}

/// Lets rules be written again: after the fork, in the parent and in the child.
pub fn after_fork() {
    WRITING.release();
}

/// Forgets all rules: code was unmapped.
pub fn forget() {
    let _held = WRITING.hold();
    for slot in &CACHE {
        slot.rule.store(0, Ordering::Release);
        slot.key.store(0, Ordering::Release);
    }
}

/// Offsets fit 28 bits signed: [`find`] refuses others.
fn pack(rule: Option<Rule>) -> u64 {
    let Some(rule) = rule else { return 0 };
    let (kind, bp) = match rule.bp {
        SavedBp::Same => (1, 0),
        SavedBp::AtFrame(offset) => (2, offset),
        SavedBp::AtBp(offset) => (3, offset),
    };
    let low = |offset: i32| u64::from(offset as u32 & 0xfff_ffff);
    kind | u64::from(rule.from_bp) << 2
        | u64::from(rule.is_stored) << 3
        | low(rule.offset) << 4
        | low(bp) << 32
}

fn unpack(packed: u64) -> Option<Rule> {
    let signed = |bits: u64| ((bits as u32) << 4) as i32 >> 4;
    let bp = signed(packed >> 32 & 0xfff_ffff);
    Some(Rule {
        from_bp: packed & 4 != 0,
        is_stored: packed & 8 != 0,
        offset: signed(packed >> 4 & 0xfff_ffff),
        bp: match packed & 3 {
            0 => return None,
            1 => SavedBp::Same,
            2 => SavedBp::AtFrame(bp),
            _ => SavedBp::AtBp(bp),
        },
    })
}

/// Looks a rule up.
fn find(return_address: u64) -> Option<Rule> {
    let address = return_address.checked_sub(1)?;
    let code = modules::code_at(address)?;
    let description = description(&code, address)?;
    let rule = description.rule(address)?;
    let fits = |offset: i32| (-(1 << 27)..1 << 27).contains(&offset);
    let bp = match rule.bp {
        SavedBp::Same => 0,
        SavedBp::AtFrame(offset) | SavedBp::AtBp(offset) => offset,
    };
    (fits(rule.offset) && fits(bp)).then_some(rule)
}

/// Reads a module's frame information.
#[derive(Clone, Copy)]
struct Reader {
    at: u64,
    end: u64,
}

impl Reader {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let next = self.at.checked_add(N as u64)?;
        if next > self.end {
            return None;
        }
        // SAFETY: the range is within a mapped segment of a module.
        let bytes = unsafe { core::ptr::read_unaligned(self.at as *const [u8; N]) };
        self.at = next;
        Some(bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn uleb(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    fn sleb(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0_i64, 0_u32);
        loop {
            let byte = self.u8()?;
            value |= i64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                let unused = 64_u32.saturating_sub(shift);
                return Some(value << unused >> unused);
            }
        }
    }

    /// A pointer in one of the encodings of `.eh_frame`; `data` is what it may count from.
    fn pointer(&mut self, encoding: u8, data: u64) -> Option<u64> {
        let base = match encoding & 0x70 {
            0x00 => 0,
            0x10 => self.at,
            0x30 => data,
            _ => return None,
        };
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => u64::from_le_bytes(self.bytes()?),
            0x03 => self.u32()?.into(),
            0x0b => i64::from(self.u32()? as i32) as u64,
            0x02 => u16::from_le_bytes(self.bytes()?).into(),
            0x0a => i64::from(i16::from_le_bytes(self.bytes()?)) as u64,
            _ => return None,
        };
        Some(base.wrapping_add(value))
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.at = self.at.checked_add(bytes).filter(|at| *at <= self.end)?;
        Some(())
    }

    /// The next so many bytes.
    fn take(&mut self, bytes: u64) -> Option<Reader> {
        let at = self.at;
        self.skip(bytes)?;
        Some(Reader { at, end: self.at })
    }
}

/// What describes the frames of a function: the part that is common to many, and its own.
struct Description {
    common: Reader,
    own: Reader,
    code_step: u64,
    data_step: i64,
    start: u64,
}

/// By binary search in the table of the module (`.eh_frame_hdr`).
fn description(code: &FrameTable, address: u64) -> Option<Description> {
    let mut reader = Reader {
        at: code.frames,
        end: code.frames_end,
    };
    let [version, frame_form, count_form, table_form] = reader.bytes()?;
    // Linkers write tables of pairs of 4 bytes, counted from the head.
    if version != 1 || table_form != 0x3b {
        return None;
    }
    reader.pointer(frame_form, code.frames)?;
    let count = reader.pointer(count_form, code.frames)?;
    let entry = |index: u64| {
        let mut reader = reader;
        reader.skip(index.checked_mul(8)?)?;
        let start = reader.pointer(table_form, code.frames)?;
        Some((start, reader.pointer(table_form, code.frames)?))
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if entry(middle)?.0 <= address {
            low = middle + 1
        } else {
            high = middle
        }
    }
    let (_, at) = entry(low.checked_sub(1)?)?;
    let end = code.end;
    read_description(Reader { at, end }, address)
}

fn read_description(mut reader: Reader, address: u64) -> Option<Description> {
    let bytes = reader.u32()?;
    let mut own = reader.take(bytes.into())?;
    let here = own.at;
    let back = own.u32()?;
    let mut common = Reader {
        at: here.checked_sub(back.into())?,
        end: reader.end,
    };
    let bytes = common.u32()?;
    let mut common = common.take(bytes.into())?;
    let (code_step, data_step, form) = read_common(&mut common)?;
    let start = own.pointer(form.unwrap_or(0), 0)?;
    let range = own.pointer(form.unwrap_or(0) & 0x0f, 0)?;
    if !(start..start.checked_add(range)?).contains(&address) {
        return None;
    }
    if form.is_some() {
        let bytes = own.uleb()?;
        own.skip(bytes)?;
    }
    Some(Description {
        common,
        own,
        code_step,
        data_step,
        start,
    })
}

/// Reads up to the instructions of what is common to many functions: the steps of code addresses
/// and of offsets, and the form of addresses, if the descriptions have data of that sort.
fn read_common(common: &mut Reader) -> Option<(u64, i64, Option<u8>)> {
    if common.u32()? != 0 || !matches!(common.u8()?, 1 | 3) {
        return None;
    }
    let mut letters = [0_u8; 8];
    let mut count = 0;
    loop {
        match common.u8()? {
            0 => break,
            letter => *letters.get_mut(count)? = letter,
        }
        count += 1;
    }
    let (code_step, data_step) = (common.uleb()?, common.sleb()?);
    let register = common.uleb()?;
    // Register 16 is the return address.
    if register != 16 {
        return None;
    }
    if letters[0] != b'z' {
        return (count == 0).then_some((code_step, data_step, None));
    }
    let mut form = 0;
    let bytes = common.uleb()?;
    let mut data = common.take(bytes)?;
    for letter in &letters[1..count] {
        match letter {
            b'R' => form = data.u8()?,
            b'L' => drop(data.u8()?),
            b'P' => {
                let form = data.u8()?;
                data.pointer(form & !0x80, 0)?;
            }
            b'B' => {}
            // `S`: the frame of a signal.
            _ => return None,
        }
    }
    Some((code_step, data_step, Some(form)))
}

const BP: u64 = 6;
const SP: u64 = 7;
const RETURN: u64 = 16;

/// A row of the table that the instructions describe.
#[derive(Clone, Copy)]
struct Row {
    frame_register: u64,
    is_stored: bool,
    offset: i64,
    bp: Option<SavedBp>,
    /// Whether the return address is not where calls put it.
    is_outermost: bool,
}

impl Description {
    /// The rule at an address of the function.
    fn rule(&self, address: u64) -> Option<Rule> {
        let row = Row {
            frame_register: SP,
            is_stored: false,
            offset: 8,
            bp: Some(SavedBp::Same),
            is_outermost: false,
        };
        let initial = self.run(self.common, row, row, u64::MAX)?;
        let row = self.run(self.own, initial, initial, address)?;
        if row.is_outermost || !matches!(row.frame_register, BP | SP) {
            return None;
        }
        Some(Rule {
            from_bp: row.frame_register == BP,
            is_stored: row.is_stored,
            offset: i32::try_from(row.offset).ok()?,
            bp: row.bp?,
        })
    }

    /// Runs instructions up to an address.
    fn run(&self, mut code: Reader, mut row: Row, initial: Row, until: u64) -> Option<Row> {
        let mut at = self.start;
        let mut saved = [row; 8];
        let mut depth = 0;
        while code.at < code.end {
            let byte = code.u8()?;
            let low = u64::from(byte & 0x3f);
            let step = match byte {
                0x40..=0x7f => low,
                0x02 => code.u8()?.into(),
                0x03 => u16::from_le_bytes(code.bytes()?).into(),
                0x04 => code.u32()?.into(),
                0x0a => {
                    *saved.get_mut(depth)? = row;
                    depth += 1;
                    0
                }
                0x0b => {
                    depth = depth.checked_sub(1)?;
                    row = saved[depth];
                    0
                }
                _ => {
                    self.change(byte, &mut code, &mut row, &initial)?;
                    0
                }
            };
            at += step * self.code_step;
            if step > 0 && at > until {
                break;
            }
        }
        Some(row)
    }

    /// One instruction that changes the row.
    fn change(&self, byte: u8, code: &mut Reader, row: &mut Row, initial: &Row) -> Option<()> {
        let low = u64::from(byte & 0x3f);
        match byte {
            0x00 => {}
            0x80..=0xbf => {
                let offset = code.uleb()? as i64 * self.data_step;
                self.save(row, low, Some(offset))?;
            }
            0xc0..=0xff => self.restore(row, low, initial),
            0x05 => {
                let register = code.uleb()?;
                let offset = code.uleb()? as i64 * self.data_step;
                self.save(row, register, Some(offset))?;
            }
            0x11 => {
                let register = code.uleb()?;
                let offset = code.sleb()? * self.data_step;
                self.save(row, register, Some(offset))?;
            }
            0x06 => {
                let register = code.uleb()?;
                self.restore(row, register, initial);
            }
            0x07 => {
                let register = code.uleb()?;
                self.save(row, register, None)?;
            }
            0x08 => {
                if code.uleb()? == BP {
                    row.bp = Some(SavedBp::Same);
                }
            }
            0x0c..=0x0f | 0x12 | 0x13 => self.change_frame(byte, code, row)?,
            0x10 => {
                let register = code.uleb()?;
                let bytes = code.uleb()?;
                let place = at_register(code.take(bytes)?);
                if register == BP {
                    row.bp = match place {
                        Some((BP, offset)) => Some(SavedBp::AtBp(offset.try_into().ok()?)),
                        _ => None,
                    };
                }
            }
            0x2e => drop(code.uleb()?),
            _ => return None,
        }
        Some(())
    }

    /// One instruction that changes the frame address.
    fn change_frame(&self, byte: u8, code: &mut Reader, row: &mut Row) -> Option<()> {
        match byte {
            0x0c => {
                (row.frame_register, row.offset, row.is_stored) =
                    (code.uleb()?, code.uleb()? as i64, false)
            }
            0x12 => {
                (row.frame_register, row.offset, row.is_stored) =
                    (code.uleb()?, code.sleb()? * self.data_step, false)
            }
            0x0d => (row.frame_register, row.is_stored) = (code.uleb()?, false),
            0x0e => row.offset = code.uleb()? as i64,
            0x13 => row.offset = code.sleb()? * self.data_step,
            0x0f => {
                let bytes = code.uleb()?;
                let (register, offset) = stored_at(code.take(bytes)?)?;
                (row.frame_register, row.offset, row.is_stored) = (register, offset, true);
            }
            _ => return None,
        }
        Some(())
    }

    /// A register is saved at an offset from the frame address, or lost.
    fn save(&self, row: &mut Row, register: u64, offset: Option<i64>) -> Option<()> {
        match (register, offset) {
            (BP, Some(offset)) => row.bp = Some(SavedBp::AtFrame(offset.try_into().ok()?)),
            (BP, None) => row.bp = None,
            (RETURN, offset) => row.is_outermost = offset != Some(-8),
            _ => {}
        }
        Some(())
    }

    fn restore(&self, row: &mut Row, register: u64, initial: &Row) {
        match register {
            BP => row.bp = initial.bp,
            RETURN => row.is_outermost = initial.is_outermost,
            _ => {}
        }
    }
}

/// Reads an expression that is a register and an offset.
fn at_register(mut code: Reader) -> Option<(u64, i64)> {
    let place = register_and_offset(&mut code)?;
    (code.at == code.end).then_some(place)
}

/// Reads an expression that is what is stored at a register and an offset.
fn stored_at(mut code: Reader) -> Option<(u64, i64)> {
    const DEREF: u8 = 0x06;
    let place = register_and_offset(&mut code)?;
    (code.u8()? == DEREF && code.at == code.end).then_some(place)
}

fn register_and_offset(code: &mut Reader) -> Option<(u64, i64)> {
    const BREG0: u8 = 0x70;
    let register = code
        .u8()?
        .checked_sub(BREG0)
        .filter(|register| *register < 32)?;
    Some((register.into(), code.sleb()?))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::arch::naked_asm;
    use core::ffi::{c_int, c_void};
    use std::vec::Vec;

    use super::*;

    // The unwinder that Rust's panics use.
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            each: unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *const c_void) -> usize;
    }

    unsafe extern "C" fn keep_address(context: *const c_void, into: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a frame, and what `walks` gave it.
        unsafe { (*into.cast::<Vec<u64>>()).push(_Unwind_GetIP(context) as u64) };
        0
    }

    /// The return addresses of the calls that this function is in, by this module and by the other
    /// unwinder.
    #[inline(never)]
    fn walks() -> [Vec<u64>; 2] {
        let (return_address, sp, bp);
        // SAFETY: only reads registers.
        unsafe {
            core::arch::asm!(
                "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) return_address, out(reg) sp, out(reg) bp,
                options(nomem, nostack, preserves_flags)
            );
        }
        // SAFETY: of this function, as if it had been called.
        let here = unsafe { CallCursor::new(return_address, sp, bp) };
        let callers = core::iter::successors(here.caller(), |cursor| cursor.caller());
        let ours = callers.map(|cursor| cursor.return_address).collect();
        let mut theirs: Vec<u64> = Vec::new();
        // SAFETY: the callback gets the list that it adds to.
        unsafe { _Unwind_Backtrace(keep_address, (&raw mut theirs).cast()) };
        // The first is this function itself.
        theirs.remove(0);
        [ours, theirs]
    }

    /// Calls itself: with frames that have an array, and without.
    #[inline(never)]
    fn nested(depth: u64) -> [Vec<u64>; 2] {
        let mut room = [depth; 100];
        let walked = if depth == 0 {
            walks()
        } else {
            nested(core::hint::black_box(depth - 1))
        };
        core::hint::black_box(&mut room);
        walked
    }

    #[test]
    fn calls_are_those_that_another_unwinder_finds() {
        const DEPTH: u64 = 20;
        // Rules are looked up, known, and looked up again.
        for round in 0..3 {
            let [ours, theirs] = nested(DEPTH);
            assert!(ours.len() > DEPTH as usize + 1, "{ours:x?} of {theirs:x?}");
            assert_eq!(ours, theirs[..ours.len()]);
            let starts = ours[..=DEPTH as usize].iter();
            let start = nested as *const () as u64;
            assert!(
                starts
                    .map(|at| function_start(*at))
                    .all(|at| at == Some(start))
            );
            if round == 1 {
                forget();
            }
        }
        assert!(function_start(1).is_none());
    }

    /// Where it returns to.
    #[unsafe(naked)]
    extern "C" fn own_return_address() -> u64 {
        naked_asm!("mov rax, qword ptr [rsp]", "ret")
    }

    /// [`own_return_address`] from a frame of 816 bytes, the return address among them.
    #[unsafe(naked)]
    extern "C" fn address_in_fixed_frame() -> u64 {
        naked_asm!(
            ".cfi_startproc",
            "sub rsp, 808",
            ".cfi_adjust_cfa_offset 808",
            "call {inner}",
            "add rsp, 808",
            ".cfi_adjust_cfa_offset -808",
            "ret",
            ".cfi_endproc",
            inner = sym own_return_address,
        )
    }

    /// The same from a frame that ends where `rbp` says.
    #[unsafe(naked)]
    extern "C" fn address_in_frame_of_rbp() -> u64 {
        naked_asm!(
            ".cfi_startproc",
            "push rbp",
            ".cfi_adjust_cfa_offset 8",
            ".cfi_rel_offset rbp, 0",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "call {inner}",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            inner = sym own_return_address,
        )
    }

    #[test]
    fn the_end_of_a_frame_is_known_if_it_does_not_hang_on_rbp() {
        assert_eq!(frame_after(address_in_fixed_frame()), Some(816));
        let address = address_in_frame_of_rbp();
        assert!(frame_after(address).is_none());
        assert!(function_start(address) == Some(address_in_frame_of_rbp as *const () as u64));
        assert!(frame_after(1).is_none());
    }
}
