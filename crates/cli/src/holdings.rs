//! What a trace contains, for `reuselens info`: as text and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use reuselens::formats::Survey;
use reuselens::trace::{Event, Module, Note, Process, ProcessEnd, ProcessId, Thread, ThreadId};
use reuselens::units::{Bytes, counted, hexadecimal, shown};
use reuselens_document::numbers::grouped;
use serde_json::{Value, json};

/// The name and version of the JSON. Fields may be added to it; none is renamed.
const SCHEMA: &str = "reuselens-info/1";

/// Modules that are listed in words; the JSON has all.
const MODULES: usize = 20;

/// The summary on the terminal.
pub fn text(path: &Path, survey: &Survey) -> String {
    let mut out = String::new();
    // Writing into a string does not fail.
    let _ = words(&mut out, path, survey);
    out
}

/// Whether a trace was cut off or damaged, or is a copy of one that was.
pub fn is_truncated(survey: &Survey) -> bool {
    survey.incomplete.is_some() || notes(survey).any(|note| note.code == Note::TRUNCATED)
}

/// Whether a trace is complete, as far as that was looked at.
fn completeness(survey: &Survey) -> &'static str {
    match &survey.incomplete {
        Some(_) => "NOT COMPLETE",
        // Nothing else was read.
        None if survey.chunks.is_some() && survey.no_index.is_none() => "complete, by its index",
        None => "complete",
    }
}

fn words(out: &mut String, path: &Path, survey: &Survey) -> std::fmt::Result {
    let all = &survey.summary;
    write!(out, "{}: {} trace", path.display(), survey.format)?;
    if let Some(version) = survey.version {
        write!(out, ", version {version}")?;
    }
    if let Some(bytes) = survey.bytes {
        write!(out, ", {}", Bytes(bytes))?;
    }
    writeln!(out, "; {}", completeness(survey))?;
    writeln!(out, "{}\n", survey.description)?;
    let accesses = all.accesses();
    writeln!(
        out,
        "{} in {} and {}",
        counted(accesses, "access", "accesses"),
        counted(all.rows, "row", "rows"),
        counted(all.blocks, "block", "blocks")
    )?;
    for (kind, rows) in all.kinds() {
        writeln!(out, "  {:>15}  {}", grouped(rows), name(kind))?;
    }
    if let Some(chunks) = survey.chunks {
        writeln!(
            out,
            "{}, {}",
            counted(chunks, "chunk", "chunks"),
            counted(all.events.len() as u64, "event", "events")
        )?;
    }
    if let Some(stored) = stored(survey) {
        writeln!(out, "{stored:.3} bytes stored per access")?;
    }
    if let Some((first, last)) = all.stamps {
        writeln!(
            out,
            "{} ticks, from stamp {first} to {last}",
            grouped(last.saturating_sub(first))
        )?;
    }
    who(out, survey)?;
    for note in notes(survey) {
        writeln!(out, "note: {} [{}]", note.message, note.code)?;
    }
    if let Some(why) = &survey.no_index {
        writeln!(out, "note: all of it was read, as it has no index: {why}")?;
    }
    if let Some(error) = &survey.incomplete {
        writeln!(out, "missing: {error}")?;
    }
    Ok(())
}

/// Processes, threads, modules.
fn who(out: &mut String, survey: &Survey) -> std::fmt::Result {
    let all = &survey.summary;
    let processes = processes(survey);
    if !processes.is_empty() {
        writeln!(out, "\nProcesses")?;
    }
    for (process, end) in processes {
        let name = shown(or_unknown(&process.executable));
        writeln!(
            out,
            "  {:>4}  {name}, pid {}, {}",
            process.id.0,
            process.pid,
            ended(process.id, end)
        )?;
    }
    if !all.threads.is_empty() {
        writeln!(out, "Threads")?;
    }
    for (id, rows) in &all.threads {
        let about = thread(survey, *id).map_or_else(String::new, |thread| {
            // A program may give its threads any name: it must not steer the terminal.
            let name = shown(&thread.name);
            let name = or_unknown(&name);
            format!("  {name}, process {}, tid {}", thread.process.0, thread.tid)
        });
        writeln!(out, "  {:>4}  {:>15} rows{about}", id.0, grouped(*rows))?;
    }
    let modules = modules(survey);
    if !modules.is_empty() {
        writeln!(out, "Modules")?;
    }
    for module in modules.iter().take(MODULES) {
        let id = build_id(module).unwrap_or_else(|| "none".to_owned());
        writeln!(
            out,
            "  {:>4}  {}, build id {id}",
            module.process.0,
            shown(or_unknown(&module.path))
        )?;
    }
    if modules.len() > MODULES {
        writeln!(
            out,
            "        and {} more (--json lists all)",
            modules.len() - MODULES
        )?;
    }
    Ok(())
}

/// The same for other programs.
pub fn document(path: &Path, survey: &Survey) -> Value {
    let all = &survey.summary;
    let kinds = all
        .kinds()
        .map(|(kind, rows)| (name(kind), Value::from(rows)));
    let kinds: serde_json::Map<String, Value> = kinds.collect();
    let processes = processes(survey).into_iter().map(|(process, end)| {
        json!({
            "id": process.id.0, "pid": process.pid, "parent": process.parent.map(|parent| parent.0),
            "executable": process.executable, "ended": ended(process.id, end),
        })
    });
    let threads = all.threads.iter().map(|(id, rows)| {
        let about = thread(survey, *id);
        json!({
            "id": id.0, "rows": rows, "name": about.map(|thread| &thread.name),
            "process": about.map(|thread| thread.process.0), "tid": about.map(|thread| thread.tid),
        })
    });
    let modules = modules(survey).into_iter().map(|module| {
        json!({
            "process": module.process.0, "path": module.path, "build_id": build_id(module),
            "low": module.low, "high": module.high,
        })
    });
    let notes = notes(survey)
        .map(|note| json!({ "code": note.code, "message": note.message, "hint": note.hint }));
    json!({
        "schema": SCHEMA,
        "path": path.display().to_string(),
        "format": survey.format,
        "format_version": survey.version,
        "description": survey.description,
        "byte_addresses": survey.has_addresses,
        "bytes": survey.bytes,
        "bytes_per_access": stored(survey),
        "complete": survey.incomplete.is_none(),
        "missing": survey.incomplete.as_ref().map(ToString::to_string),
        "indexed": (survey.format == "native").then_some(survey.no_index.is_none()),
        "accesses": all.accesses(),
        "rows": all.rows,
        "blocks": all.blocks,
        "chunks": survey.chunks,
        "events": all.events.len(),
        "stamps": all.stamps.map(|(first, last)| [first, last]),
        "kinds": kinds,
        "processes": processes.collect::<Vec<_>>(),
        "threads": threads.collect::<Vec<_>>(),
        "modules": modules.collect::<Vec<_>>(),
        "notes": notes.collect::<Vec<_>>(),
    })
}

/// Bytes of the file for each access, if all of it was looked at.
fn stored(survey: &Survey) -> Option<f64> {
    let accesses = survey.summary.accesses();
    let bytes = survey.bytes.filter(|_| accesses > 0)?;
    Some(bytes as f64 / accesses as f64)
}

/// What rows of a kind are called: its name in small letters, with spaces, in the plural.
fn name(kind: reuselens::trace::Kind) -> String {
    let mut name = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push(' ');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

fn processes(survey: &Survey) -> Vec<(&Process, Option<ProcessEnd>)> {
    let events = &survey.summary.events;
    let end = |of: &Process| {
        events.iter().find_map(|event| match event {
            Event::ProcessEnded(id, end) if *id == of.id => Some(*end),
            _ => None,
        })
    };
    let processes = events.iter().filter_map(|event| match event {
        Event::Process(process) => Some(process),
        _ => None,
    });
    processes.map(|process| (process, end(process))).collect()
}

fn thread(survey: &Survey, id: ThreadId) -> Option<&Thread> {
    // The last event has the name that the thread had last.
    let mut events = survey.summary.events.iter().rev();
    events.find_map(|event| match event {
        Event::Thread(thread) if thread.id == id => Some(thread),
        _ => None,
    })
}

fn modules(survey: &Survey) -> Vec<&Module> {
    let modules = survey
        .summary
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Module(module) => Some(module),
            _ => None,
        });
    modules.collect()
}

fn notes(survey: &Survey) -> impl Iterator<Item = &Note> {
    survey
        .summary
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Note(note) => Some(note),
            _ => None,
        })
}

fn build_id(module: &Module) -> Option<String> {
    (!module.build_id.is_empty()).then(|| hexadecimal(&module.build_id))
}

fn ended(process: ProcessId, end: Option<ProcessEnd>) -> String {
    match end {
        Some(ProcessEnd::Exit(status)) => format!("exited with {status}"),
        Some(ProcessEnd::Signal(signal)) => format!("killed by signal {signal}"),
        Some(ProcessEnd::Unknown) => "ended unseen".to_owned(),
        // Only its own child can be waited for.
        None if process != ProcessId(0) => {
            "started by the program (how it ended is recorded of the first process only)".to_owned()
        }
        None => "its end is not in the trace".to_owned(),
    }
}

fn or_unknown(name: &str) -> &str {
    if name.is_empty() { "(unnamed)" } else { name }
}
