//! The functions by which a program names its data and accesses (Ding & Zhong 2001, section 2.3):
//! `RecordData` and others, declared in `reuselens.h`, for Fortran, and in the Rust crate
//! `annotate`. Each writes its arguments as records, with the caller's address.
//!
//! Fortran passes everything by reference, and the length of a text as a hidden last argument.

use core::arch::global_asm;
use core::ffi::{CStr, c_char, c_int};

use reuselens_wire::{Record, WireKind};

use crate::thread::{announce_quietly, emit};

/// Longer names are cut.
const NAME_BYTES: usize = 64;

fn operand(number: u64) -> Record {
    Record::new(WireKind::Operand, 0, 0, number)
}

fn data(name: &[u8], base: u64, total_bytes: u64, element_bytes: u64, pc: u64) {
    let name = &name[..name.len().min(NAME_BYTES)];
    let operands = [total_bytes, element_bytes, name.len() as u64];
    announce_quietly(WireKind::Data, pc, base, &operands, name);
}

unsafe extern "C" fn record_data(base: u64, total_bytes: u64, element_bytes: u64, pc: u64) {
    data(b"", base, total_bytes, element_bytes, pc);
}

unsafe extern "C" fn record_named_data(
    name: *const c_char,
    base: u64,
    total_bytes: u64,
    element_bytes: u64,
    pc: u64,
) {
    // SAFETY: the interface asks for a zero-terminated name.
    data(
        unsafe { CStr::from_ptr(name) }.to_bytes(),
        base,
        total_bytes,
        element_bytes,
        pc,
    );
}

unsafe extern "C" fn record_partial_data(base: u64, entry: u64, pc: u64) {
    emit(&[
        Record::new(WireKind::PartialData, 0, pc, entry),
        operand(base),
    ]);
}

unsafe extern "C" fn record_access(base: u64, element: u64, pc: u64) {
    emit(&[Record::new(WireKind::Named, 0, pc, element), operand(base)]);
}

unsafe extern "C" fn record_statement(pc: u64) {
    emit(&[Record::new(WireKind::Statement, 0, pc, 0)]);
}

/// A default INTEGER as a size: negative ones count as 0.
unsafe fn size(integer: *const c_int) -> u64 {
    // SAFETY: Fortran passes the address of an INTEGER.
    u64::try_from(unsafe { *integer }).unwrap_or(0)
}

unsafe extern "C" fn fortran_data(
    base: u64,
    total_bytes: *const c_int,
    element_bytes: *const c_int,
    pc: u64,
) {
    // SAFETY: as `size` asks.
    unsafe { data(b"", base, size(total_bytes), size(element_bytes), pc) };
}

unsafe extern "C" fn fortran_named_data(
    name: *const u8,
    base: u64,
    total_bytes: *const c_int,
    element_bytes: *const c_int,
    name_length: usize,
    pc: u64,
) {
    // SAFETY: Fortran passes the text and its length.
    let name = unsafe { core::slice::from_raw_parts(name, name_length.min(NAME_BYTES)) };
    let name = name.trim_ascii_end();
    // SAFETY: as `size` asks.
    unsafe { data(name, base, size(total_bytes), size(element_bytes), pc) };
}

/// Defines functions that pass their return address as the next argument.
macro_rules! with_return_address {
    ($($register:literal $function:ident: $($name:literal),+;)+) => { $(
        global_asm!(
            $(concat!(".globl ", $name, "\n.type ", $name, ",@function\n", $name, ":"),)+
            concat!("mov ", $register, ", qword ptr [rsp]"),
            "jmp {function}",
            function = sym $function,
        );
    )+ };
}

with_return_address! {
    "rcx" record_data: "RecordData";
    "r8" record_named_data: "RecordNamedData";
    "rdx" record_partial_data: "RecordPartialData", "recordpartialdata_";
    "rdx" record_access: "RecordAccess", "recordaccess_";
    "rdi" record_statement: "RecordStatement", "recordstatement_";
    "rcx" fortran_data: "recorddata_";
    "r9" fortran_named_data: "recordnameddata_";
}
