//! Tests of what a measured program and the measuring side do not trust each other with: the
//! environment, the shared memory, and the files that a program names.

use std::ffi::OsString;
use std::fs::Permissions;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_capture::Capture;
use reuselens_capture::toolchain::{self, Language};
use reuselens_trace::{Event, ProcessEnd};
use reuselens_wire::{ENVIRONMENT, Header, MAGIC, SEGMENT_BYTES, VERSION};

use crate::common::{Told, watch};

fn source(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/hostile");
    programs.join(name)
}

/// Builds a program of `programs/hostile` by our compiler driver, and by the system's.
fn build(folder: &Path, name: &str) -> [PathBuf; 2] {
    let arguments = |output: &Path| -> Vec<OsString> {
        let flags = ["-O1", "-w", "-pthread", "-o"].map(OsString::from);
        let files = [output.into(), source(name).into(), "-ldl".into()];
        flags.into_iter().chain(files).collect()
    };
    let both = ["ours", "plain"].map(|output| folder.join(output));
    let done = toolchain::compile(Language::C, &arguments(&both[0]));
    assert!(done.unwrap().success());
    let done = Command::new("gcc").args(arguments(&both[1])).status();
    assert!(done.unwrap().success());
    both
}

/// A file that a program takes for the shared memory of a reading side that is gone.
fn segment(path: &Path) -> std::fs::File {
    let file = std::fs::File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    file.set_len(SEGMENT_BYTES as u64).unwrap();
    file.set_permissions(Permissions::from_mode(0o666)).unwrap();
    let put = |bytes: &[u8], at: usize| file.write_all_at(bytes, at as u64).unwrap();
    put(&MAGIC.to_le_bytes(), offset_of!(Header, magic));
    put(&VERSION.to_le_bytes(), offset_of!(Header, version));
    put(&u32::MAX.to_le_bytes(), offset_of!(Header, filters));
    put(&1_u32.to_le_bytes(), offset_of!(Header, consumer_gone));
    file
}

/// How many processes have recorded into it.
fn processes(segment: &std::fs::File) -> u32 {
    let mut number = [0; 4];
    let at = offset_of!(Header, next_process) as u64;
    segment.read_exact_at(&mut number, at).unwrap();
    u32::from_le_bytes(number)
}

#[test]
fn setuid_program_ignores_the_segment_in_its_environment() {
    const NOBODY: u32 = 65534;
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return reuselens_testing::skip("only root may give files away");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let [program, _] = build(folder.path(), "secure.c");
    let path = folder.path().join("segment");
    let segment = segment(&path);
    let run = || {
        let output = Command::new(&program).env(ENVIRONMENT, &path).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(run(), "0\n");
    assert_eq!(processes(&segment), 1);
    std::os::unix::fs::chown(&program, Some(NOBODY), None).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
    if run() == "0\n" {
        return reuselens_testing::skip("files cannot be setuid here");
    }
    assert_eq!(processes(&segment), 1);
}

/// Runs a program that must end by itself with status 0, as it does alone: how many rows it gave,
/// and the remarks.
fn ends(command: Vec<OsString>, capture: Capture) -> (usize, Vec<String>) {
    let (mut rows, mut remarks) = (0, Vec::new());
    let running = watch(command, capture, |told| match told {
        Told::Rows(block) => rows += block.len(),
        Told::Event(Event::Note(note)) => remarks.push(note.code),
        Told::Event(_) => {}
    });
    assert_eq!(running.ended(), Some(ProcessEnd::Exit(0)), "{capture:?}");
    (rows, remarks)
}

#[test]
fn program_survives_invalid_block_numbers_in_the_segment() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, plain] = build(folder.path(), "pool.c");
    let at = offset_of!(Header, pool).to_string();
    for (program, capture) in [(ours, Capture::CompiledIn), (plain, Capture::Rewriting)] {
        let (_, remarks) = ends(vec![program.into(), at.clone().into()], capture);
        assert!(!remarks.is_empty(), "{capture:?}: damage is reported");
    }
}

#[test]
fn modules_that_are_devices_and_pipes_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, plain] = build(folder.path(), "modules.c");
    let library = folder.path().join("answer.so");
    for (program, capture) in [(ours, Capture::CompiledIn), (plain, Capture::Rewriting)] {
        // The program has put a pipe in the place of the library.
        let _ = std::fs::remove_file(&library);
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", "-x", "c", "-o"])
            .arg(&library);
        let text = folder.path().join("answer.c");
        std::fs::write(&text, "int answer(void) { return 7; }\n").unwrap();
        assert!(gcc.arg(&text).status().unwrap().success());
        let (rows, _) = ends(vec![program.into(), library.clone().into()], capture);
        assert!(rows > 0, "{capture:?}");
    }
}

#[test]
fn program_that_a_limit_leaves_no_room_to_record_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, _] = build(folder.path(), "secure.c");
    let script = "ulimit -v 200000; exec \"$0\"";
    let mut command = Vec::from(["sh", "-c", script].map(OsString::from));
    command.push(ours.into());
    let (_, remarks) = ends(command, Capture::CompiledIn);
    assert!(
        remarks.iter().any(|note| note == "short-of-space"),
        "{remarks:?}"
    );
}
