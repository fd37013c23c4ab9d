//! The project's commands and examples, built and run for an item.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::Size;
use crate::{output_of, succeed, target_folder};

/// Where items are made: what is built, and a folder for files.
#[derive(Debug)]
pub struct Workshop {
    /// The project.
    pub root: PathBuf,
    /// The size of inputs.
    pub size: Size,
    /// Whether it goes on with what an interrupted run has left.
    pub resumes: bool,
    /// For what a run writes; kept between items, so that they share streams and profiles.
    pub scratch: PathBuf,
    /// A folder with inputs that the project does not have.
    pub data: Option<PathBuf>,
    /// The folder with the built command and the folder `examples`.
    built: PathBuf,
    /// Whether what is run is built first, in release mode.
    builds: bool,
    done: RefCell<HashSet<String>>,
}

impl Workshop {
    /// A workshop that builds what it runs in release mode, or takes what lies in `built`. Its
    /// folder for files is empty, unless it `resumes` an interrupted run.
    ///
    /// # Errors
    /// If the folder for files cannot be made.
    pub fn new(
        root: &Path,
        size: Size,
        built: Option<PathBuf>,
        data: Option<PathBuf>,
        resumes: bool,
    ) -> anyhow::Result<Workshop> {
        let target = target_folder(root);
        let scratch = target.join("sources").join(size.pick("small", "full"));
        if !resumes {
            let _ = std::fs::remove_dir_all(&scratch);
        }
        std::fs::create_dir_all(&scratch)?;
        Ok(Workshop {
            root: root.to_owned(),
            size,
            resumes,
            scratch,
            data,
            builds: built.is_none(),
            built: built.unwrap_or_else(|| target.join("release")),
            done: RefCell::default(),
        })
    }

    /// The command `reuselens`.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn reuselens(&self) -> anyhow::Result<PathBuf> {
        self.build("reuselens-cli", &[], "reuselens")
    }

    /// An example of a package.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn example(&self, package: &str, name: &str) -> anyhow::Result<PathBuf> {
        self.build(package, &["--example", name], &format!("examples/{name}"))
    }

    /// A file or folder of inputs that the project does not have, by its name in the folder that
    /// `--data` names.
    ///
    /// # Errors
    /// If there is no such folder or file; `what` says what it is.
    pub fn input(&self, name: &str, what: &str) -> anyhow::Result<PathBuf> {
        let path = self.data.as_ref().map(|folder| folder.join(name));
        let path = path.filter(|path| path.exists());
        path.with_context(|| format!("--data FOLDER must have {name}: {what}"))
    }

    /// Runs a command to its end and gives what it printed.
    ///
    /// # Errors
    /// If it cannot be run, or fails: then with what it wrote to standard error.
    pub fn output(&self, program: &Path, words: &[impl AsRef<OsStr>]) -> anyhow::Result<String> {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.scratch);
        output_of(&mut command)
    }

    fn build(&self, package: &str, words: &[&str], name: &str) -> anyhow::Result<PathBuf> {
        let path = self.built.join(name);
        if self.builds && self.done.borrow_mut().insert(name.to_owned()) {
            let mut cargo = Command::new("cargo");
            cargo.args(["build", "--quiet", "--release", "-p", package]);
            succeed(cargo.args(words).current_dir(&self.root))?;
        }
        anyhow::ensure!(path.exists(), "{} is not built", path.display());
        Ok(path)
    }
}
