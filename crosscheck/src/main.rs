//! Reads PTX with our parser and with `ptx-syntax`, and compares: functions, their parameters, and
//! the opcode of each instruction, modifiers included.
//!
//! `cargo run --release -- FILE.ptx|FOLDER…`; without arguments, all under `../kernels`.

mod theirs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens_ptx::PtxModule;

/// What a parser says of a function.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub is_entry: bool,
    pub params: Vec<String>,
    pub opcodes: Vec<String>,
}

fn main() -> ExitCode {
    let mut roots: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if roots.is_empty() {
        roots.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels"));
    }
    let mut files = Vec::new();
    roots.iter().for_each(|root| collect(root, &mut files));
    files.sort();
    let (mut functions, mut instructions, mut wrong) = (0, 0, 0);
    for path in &files {
        match compare(path) {
            Ok((some, more)) => {
                functions += some;
                instructions += more;
            }
            Err(what) => {
                wrong += 1;
                println!("{}: {what}", path.display());
            }
        }
    }
    println!(
        "{} files, {functions} functions and {instructions} instructions equal; {wrong} files are not",
        files.len()
    );
    if wrong == 0 && !files.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| collect(&entry.path(), files));
    } else if path.extension().is_some_and(|ending| ending == "ptx") {
        files.push(path.to_owned());
    }
}

/// Functions and instructions that both say, or where they differ first.
fn compare(path: &Path) -> Result<(usize, usize), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let module = PtxModule::parse(&text).map_err(|error| format!("not read by ours: {error}"))?;
    let ours: Vec<Function> = module
        .outlines()
        .map(|outline| Function {
            name: outline.name.to_owned(),
            is_entry: outline.is_entry,
            params: outline.params.iter().map(|&name| name.to_owned()).collect(),
            opcodes: outline.opcodes.iter().map(|&opcode| opcode.to_owned()).collect(),
        })
        .collect();
    let theirs = theirs::functions(text).map_err(|error| format!("not read by ptx-syntax: {error}"))?;
    if ours.len() != theirs.len() {
        return Err(format!("{} functions by ours, {} by theirs", ours.len(), theirs.len()));
    }
    let mut instructions = 0;
    for (a, b) in ours.iter().zip(&theirs) {
        instructions += a.opcodes.len();
        if a != b {
            return Err(difference(a, b));
        }
    }
    Ok((ours.len(), instructions))
}

fn difference(a: &Function, b: &Function) -> String {
    if (&a.name, a.is_entry, &a.params) != (&b.name, b.is_entry, &b.params) {
        return format!(
            "the head of {}({:?}) by ours, of {}({:?}) by theirs",
            a.name, a.params, b.name, b.params
        );
    }
    let both = a.opcodes.iter().zip(&b.opcodes);
    match both.enumerate().find(|(_, (a, b))| a != b) {
        Some((at, (ours, theirs))) => {
            format!("instruction {at} of {}: `{ours}` by ours, `{theirs}` by theirs", a.name)
        }
        None => format!(
            "{} instructions of {} by ours, {} by theirs",
            a.opcodes.len(),
            a.name,
            b.opcodes.len()
        ),
    }
}
