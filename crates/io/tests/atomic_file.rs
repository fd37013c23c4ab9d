//! Tests that output files appear complete or not at all.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use reuselens_io::{AtomicFile, FileError};

fn kind(error: &FileError) -> ErrorKind {
    match error {
        FileError::Io { source, .. } => source.kind(),
        other => panic!("{other}"),
    }
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn target_appears_with_its_complete_content() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a.rltrace");
    let mut file = AtomicFile::create(&target, false).unwrap();
    file.write_all(b"whole").unwrap();
    assert!(!target.exists());
    assert_eq!(file.commit().unwrap().file_name(), target.file_name());
    assert_eq!(fs::read(&target).unwrap(), b"whole");
    assert_eq!(names(folder.path()), ["a.rltrace"]);
}

#[test]
fn file_that_is_synced_ahead_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (target, dropped) = (folder.path().join("a.rltrace"), folder.path().join("b"));
    let mut expected = Vec::new();
    let mut file = AtomicFile::create(&target, false).unwrap();
    file.sync_ahead().unwrap();
    for number in 0..40_u8 {
        let megabyte = vec![number; 1 << 20];
        file.write_all(&megabyte).unwrap();
        expected.extend(megabyte);
    }
    file.commit().unwrap();
    assert!(fs::read(&target).unwrap() == expected);
    let mut file = AtomicFile::create(&dropped, false).unwrap();
    file.sync_ahead().unwrap();
    file.write_all(&expected).unwrap();
    drop(file);
    assert_eq!(names(folder.path()), ["a.rltrace"]);
}

#[test]
fn protected_file_is_not_replaced_by_any_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let (read, other) = (folder.path().join("read"), folder.path().join("other"));
    fs::write(&read, "read").unwrap();
    fs::hard_link(&read, folder.path().join("hard")).unwrap();
    std::os::unix::fs::symlink(&read, folder.path().join("soft")).unwrap();
    // Kept open, so that no file of another test gets its inode number, and with it the protection.
    std::mem::forget(fs::File::open(&read).unwrap());
    AtomicFile::protect(&read);
    AtomicFile::protect(&other);
    AtomicFile::protect(folder.path());
    for name in ["read", "hard", "soft", "./read"] {
        for force in [false, true] {
            let error = AtomicFile::create(&folder.path().join(name), force).unwrap_err();
            assert_eq!(kind(&error), ErrorKind::InvalidInput, "{name}");
        }
    }
    fs::write(&other, "made since").unwrap();
    AtomicFile::create(&other, true).unwrap().commit().unwrap();
    assert_eq!(fs::read(&read).unwrap(), b"read");
}

#[test]
fn dropped_file_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = AtomicFile::create(&folder.path().join("a"), false).unwrap();
    file.write_all(b"half").unwrap();
    drop(file);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn existing_file_is_replaced_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    fs::write(&target, b"old").unwrap();
    let error = AtomicFile::create(&target, false).unwrap_err();
    assert_eq!(kind(&error), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("--force"), "{error}");
    let mut file = AtomicFile::create(&target, true).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"old");
    file.commit().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
}

#[test]
fn target_that_appears_meanwhile_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let file = AtomicFile::create(&target, false).unwrap();
    fs::write(&target, b"another's").unwrap();
    assert_eq!(kind(&file.commit().unwrap_err()), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&target).unwrap(), b"another's");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn partial_file_is_kept_until_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a.rltrace");
    let begin = || AtomicFile::create(&target, false).unwrap();
    let mut file = begin();
    assert_eq!(
        file.keep_partial().unwrap().file_name().unwrap(),
        "a.rltrace.partial"
    );
    file.write_all(b"half").unwrap();
    drop(file);
    assert_eq!(names(folder.path()), ["a.rltrace.partial"]);
    assert_eq!(
        fs::read(folder.path().join("a.rltrace.partial")).unwrap(),
        b"half"
    );
    let error = begin().keep_partial().map(|_| ()).unwrap_err();
    assert_eq!(kind(&error), ErrorKind::AlreadyExists);
    let mut file = AtomicFile::create(&target, true).unwrap();
    file.keep_partial().unwrap();
    file.commit().unwrap();
    assert_eq!(names(folder.path()), ["a.rltrace"]);
}

#[test]
fn partial_name_that_is_in_use_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    fs::write(folder.path().join("a.partial"), b"left by a dead program").unwrap();
    let begin = |content: &[u8]| {
        let mut file = AtomicFile::create(&target, true).unwrap();
        file.name_partial().unwrap();
        file.write_all(content).unwrap();
        file
    };
    let (first, second, third) = (begin(b"1"), begin(b"2"), begin(b"3"));
    let partial = ["a.2.partial", "a.3.partial", "a.partial"];
    assert_eq!(names(folder.path()), partial);
    for (file, content) in [(second, b"2"), (first, b"1"), (third, b"3")] {
        file.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), content);
    }
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn partial_file_that_is_not_kept_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let mut file = AtomicFile::create(&target, false).unwrap();
    file.name_partial().unwrap();
    assert_eq!(names(folder.path()), ["a.partial"]);
    drop(file);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn commit_goes_on_with_the_next_name_that_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = |number: u32| folder.path().join(format!("a.{number}"));
    let mut file = AtomicFile::create(&path(1), false).unwrap();
    file.write_all(b"mine").unwrap();
    for number in 1..4 {
        fs::write(path(number), b"another's").unwrap();
    }
    let mut number = 1;
    let next = || {
        number += 1;
        path(number)
    };
    assert_eq!(file.commit_or(next).unwrap(), path(4));
    assert_eq!(fs::read(path(4)).unwrap(), b"mine");
    assert_eq!(fs::read(path(3)).unwrap(), b"another's");
}

#[test]
fn two_files_for_one_target_do_not_share_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let mut first = AtomicFile::create(&target, true).unwrap();
    let mut second = AtomicFile::create(&target, true).unwrap();
    first.write_all(b"first").unwrap();
    second.write_all(b"second").unwrap();
    first.commit().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"first");
    second.commit().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"second");
}

#[test]
fn missing_directory_is_reported_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let error = AtomicFile::create(&folder.path().join("none/a"), false).unwrap_err();
    assert_eq!(kind(&error), ErrorKind::NotFound);
    assert!(
        error.to_string().contains("create its directory"),
        "{error}"
    );
    let error = AtomicFile::create(folder.path(), true).unwrap_err();
    assert_eq!(kind(&error), ErrorKind::IsADirectory);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;

    let null = Path::new("/dev/null");
    let mut file = AtomicFile::create(null, false).unwrap();
    file.write_all(b"gone").unwrap();
    file.commit().unwrap();
    assert!(fs::metadata(null).unwrap().file_type().is_char_device());

    let mut file = AtomicFile::create(Path::new("/dev/full"), false).unwrap();
    file.write_all(b"the buffer hides that the disk is full")
        .unwrap();
    let error = file.commit().unwrap_err();
    assert_eq!(kind(&error), ErrorKind::StorageFull);
    assert!(error.to_string().contains("free some space"), "{error}");
}

#[cfg(unix)]
#[test]
fn target_of_a_link_is_replaced_and_the_link_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, b"old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut file = AtomicFile::create(&link, true).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
}

#[test]
fn one_of_several_commits_without_force_succeeds() {
    for keeps in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        // Names of partial files differ, the target is one.
        let commit = |number: usize| {
            let target = folder.path().join("a");
            let mut file = AtomicFile::create(&target, false).ok()?;
            if keeps && number == 0 {
                file.keep_partial().ok()?;
            }
            file.write_all(&[number as u8; 100]).unwrap();
            file.commit().ok()
        };
        let won = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|number| {
                    scope.spawn({
                        let commit = &commit;
                        move || commit(number)
                    })
                })
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join().unwrap());
            ended.flatten().count()
        });
        assert_eq!(won, 1);
        let content = fs::read(folder.path().join("a")).unwrap();
        assert!(content.len() == 100 && content.iter().all(|byte| *byte == content[0]));
    }
}

#[test]
fn replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("secret");
    fs::write(&target, b"old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    let mut file = AtomicFile::create(&target, true).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    let mode = fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[test]
fn link_to_a_missing_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("missing", &link).unwrap();
    for force in [false, true] {
        let error = AtomicFile::create(&link, force).unwrap_err();
        assert!(
            error.to_string().contains("link to a file that is missing"),
            "{error}"
        );
    }
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("missing"));
}
