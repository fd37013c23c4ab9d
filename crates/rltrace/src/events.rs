//! Codes events: a tag, then the fields in the order of their declaration.
//!
//! `encode` and `index` call [`put`], `decode` and `index` [`get`]. The tag is read by the caller
//! of `get`, because blocks have tags too. *Invariant:* `get` returns what `put` was given.

use reuselens_io::varint::{self, Cursor, Damage, put_bytes};
use reuselens_trace::{
    Event, Module, ModuleId, Note, Process, ProcessEnd, ProcessId, Sampling, Thread, ThreadId,
};

// Tags 0 and 18 are blocks: see `encode`.
const PROCESS: u8 = 1;
const PROCESS_ENDED: u8 = 2;
const MODULE: u8 = 3;
const THREAD: u8 = 4;
const THREAD_ENDED: u8 = 5;
const NOTE: u8 = 6;
const FILLING: u8 = 7;
const MEASURED: u8 = 8;
const ENDED: u8 = 9;

/// Appends an event, with its tag.
pub(super) fn put(out: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Process(process) => put_process(out, process),
        Event::ProcessEnded(process, end) => put_end(out, *process, *end),
        Event::Module(module) => put_module(out, module),
        Event::Thread(thread) => put_thread(out, thread),
        Event::ThreadEnded(thread) => {
            out.push(THREAD_ENDED);
            varint::put(out, thread.0.into());
        }
        Event::Sampling(sampling) => put_sampling(out, *sampling),
        Event::Note(note) => {
            out.push(NOTE);
            put_bytes(out, note.code.as_bytes());
            put_bytes(out, note.message.as_bytes());
            put_bytes(out, note.hint.as_bytes());
        }
    }
}

/// Reads an event whose tag was read.
///
/// # Errors
/// If the tag is none of an event, or a field cannot be what it says.
pub(super) fn get(tag: u8, from: &mut Cursor<'_>) -> Result<Event, Damage> {
    Ok(match tag {
        PROCESS => Event::Process(process(from)?),
        PROCESS_ENDED => Event::ProcessEnded(ProcessId(from.small()?), end(from)?),
        MODULE => Event::Module(module(from)?),
        THREAD => Event::Thread(thread(from)?),
        THREAD_ENDED => Event::ThreadEnded(ThreadId(from.small()?)),
        FILLING => Event::Sampling(Sampling::Filling {
            first: from.number()?,
        }),
        MEASURED => Event::Sampling(Sampling::Measured {
            first: from.number()?,
            stands_for: from.number()?,
        }),
        ENDED => Event::Sampling(Sampling::Ended {
            recorded: from.number()?,
            accesses: from.number()?,
        }),
        NOTE => Event::Note(Note {
            code: from.text()?,
            message: from.text()?,
            hint: from.text()?,
        }),
        _ => {
            return Err(Damage(
                "an event is of a kind that this version does not know",
            ));
        }
    })
}

fn put_sampling(out: &mut Vec<u8>, sampling: Sampling) {
    let (tag, numbers): (u8, &[u64]) = match &sampling {
        Sampling::Filling { first } => (FILLING, &[*first]),
        Sampling::Measured { first, stands_for } => (MEASURED, &[*first, *stands_for]),
        Sampling::Ended { recorded, accesses } => (ENDED, &[*recorded, *accesses]),
    };
    out.push(tag);
    for number in numbers {
        varint::put(out, *number);
    }
}

fn put_process(out: &mut Vec<u8>, process: &Process) {
    out.push(PROCESS);
    varint::put(out, process.id.0.into());
    varint::put(out, process.pid.into());
    varint::put(
        out,
        process.parent.map_or(0, |parent| u64::from(parent.0) + 1),
    );
    put_bytes(out, process.executable.as_bytes());
    out.push(process.instrumented.into());
}

fn process(from: &mut Cursor<'_>) -> Result<Process, Damage> {
    let id = ProcessId(from.small()?);
    let pid = from.small()?;
    let parent = match from.number()?.checked_sub(1) {
        None => None,
        Some(parent) => {
            let parent = u16::try_from(parent);
            Some(ProcessId(
                parent.map_err(|_| Damage("a process has no such parent"))?,
            ))
        }
    };
    let executable = from.text()?;
    Ok(Process {
        id,
        pid,
        parent,
        executable,
        instrumented: from.byte()? != 0,
    })
}

fn put_end(out: &mut Vec<u8>, process: ProcessId, end: ProcessEnd) {
    let (how, number) = match end {
        ProcessEnd::Unknown => (0, 0),
        ProcessEnd::Exit(status) => (1, status),
        ProcessEnd::Signal(signal) => (2, signal),
    };
    out.push(PROCESS_ENDED);
    varint::put(out, process.0.into());
    out.push(how);
    varint::put(out, number.cast_unsigned().into());
}

fn end(from: &mut Cursor<'_>) -> Result<ProcessEnd, Damage> {
    let how = from.byte()?;
    let number: u32 = from.small()?;
    Ok(match how {
        0 => ProcessEnd::Unknown,
        1 => ProcessEnd::Exit(number.cast_signed()),
        2 => ProcessEnd::Signal(number.cast_signed()),
        _ => {
            return Err(Damage(
                "a process ends in a way that this version does not know",
            ));
        }
    })
}

fn put_module(out: &mut Vec<u8>, module: &Module) {
    out.push(MODULE);
    varint::put(out, module.process.0.into());
    varint::put(out, module.id.0.into());
    put_bytes(out, module.path.as_bytes());
    varint::put(out, module.bias);
    varint::put(out, module.low);
    varint::put(out, module.high);
    put_bytes(out, &module.build_id);
}

fn module(from: &mut Cursor<'_>) -> Result<Module, Damage> {
    Ok(Module {
        process: ProcessId(from.small()?),
        id: ModuleId(from.small()?),
        path: from.text()?,
        bias: from.number()?,
        low: from.number()?,
        high: from.number()?,
        build_id: from.bytes()?.to_vec(),
    })
}

fn put_thread(out: &mut Vec<u8>, thread: &Thread) {
    out.push(THREAD);
    varint::put(out, thread.id.0.into());
    varint::put(out, thread.process.0.into());
    varint::put(out, thread.tid.into());
    varint::put(out, thread.stack_low);
    varint::put(out, thread.stack_high);
    put_bytes(out, thread.name.as_bytes());
}

fn thread(from: &mut Cursor<'_>) -> Result<Thread, Damage> {
    Ok(Thread {
        id: ThreadId(from.small()?),
        process: ProcessId(from.small()?),
        tid: from.small()?,
        stack_low: from.number()?,
        stack_high: from.number()?,
        name: from.text()?,
    })
}
