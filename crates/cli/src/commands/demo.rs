//! `reuselens demo`: builds a demo program, profiles its variants, and compares them on one page.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use reuselens::AnalysisOptions;
use reuselens::attribute::NamesMode;
use reuselens::capture::toolchain::{self, Language};
use reuselens::capture::{Launch, Running};
use reuselens::io::{AtomicFile, command_error};
use reuselens::profile::Profile;
use reuselens::units::Granularity;
use reuselens_report::{CompareOptions, ProfileVariant, ShownProfile};

use crate::demos::{DEMOS, Demo, Files};
use crate::exit::Outcome;
use crate::interrupt;
use crate::options::without_exports;
use crate::output::{DifferenceKind, Show, write_whole};
use crate::progress::Meter;
use crate::say;
use crate::sources::ProfileOrigin;

/// Build a program to look at, profile its variants, and write one page that compares them
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens demo [NAME] [OPTIONS]", mut_args = without_exports)]
pub struct Args {
    /// The program; --list tells which there are
    #[arg(default_value = "matmul")]
    name: String,

    /// List the programs
    #[arg(long)]
    list: bool,

    /// Where to put sources, profiles and the page [default: reuselens-demo-NAME, numbered if it
    /// exists]
    #[arg(short, long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,

    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Builds, profiles, compares.
    pub fn run(self) -> Outcome {
        self.show.refuse_exports()?;
        if self.list {
            return list(&self.show);
        }
        let Some(files) = Files::named(&self.name) else {
            let names: Vec<&str> = DEMOS.iter().map(|demo| demo.name).collect();
            anyhow::bail!(
                "there is no demo '{}'; the demos are {}",
                self.name,
                names.join(", ")
            );
        };
        let demo = files.read()?;
        check_compiler(files.name, language(&demo))?;
        let directory = self.directory()?;
        self.check(files, &demo, &directory)?;
        self.show.say(&format!("{}\n", demo.title))?;
        let program = build(files, &demo, &directory)?;
        let mut profiles = Vec::new();
        for variant in &demo.variants {
            self.show.say(&format!(
                "Running {} {} …",
                files.name,
                variant.args.join(" ")
            ))?;
            profiles.push(self.profile(&demo, &program, &variant.args)?);
            if interrupt::code().is_some() {
                anyhow::bail!("a signal stopped it; run the demo again to compare its variants");
            }
        }
        self.deliver(files, &demo, &directory, &profiles)
    }

    /// Makes a new directory.
    fn directory(&self) -> anyhow::Result<PathBuf> {
        if let Some(directory) = &self.output {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot make {}", directory.display()))?;
            return Ok(directory.clone());
        }
        let base = format!("reuselens-demo-{}", self.name);
        let numbered = (2..1000).map(|number| format!("{base}-{number}"));
        for name in std::iter::once(base.clone()).chain(numbered) {
            match std::fs::create_dir(&name) {
                Ok(()) => return Ok(name.into()),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("cannot make {name}")),
            }
        }
        anyhow::bail!("{base} and its numbered successors all exist; use -o DIRECTORY")
    }

    /// Fails now if something would be overwritten later: sources may have been changed since.
    fn check(&self, files: &Files, demo: &Demo, directory: &Path) -> anyhow::Result<()> {
        let pages = demo.variants.iter().map(|variant| &variant.name);
        let outputs = pages.flat_map(|name| [format!("{name}.rlprof"), format!("{name}.html")]);
        let sources = files.sources.iter().map(|(name, _)| (*name).to_owned());
        let own = [files.name.to_owned(), format!("{}.html", files.name)];
        for name in sources.chain(own).chain(outputs) {
            AtomicFile::create(&directory.join(name), self.show.force)?;
        }
        Ok(())
    }

    fn profile(&self, demo: &Demo, program: &Path, words: &[String]) -> anyhow::Result<Profile> {
        let mut command = vec![program.as_os_str().to_owned()];
        command.extend(words.iter().map(OsString::from));
        let options = AnalysisOptions {
            granularity: demo.granularity.map(Granularity::new).transpose()?,
            names: if demo.statements {
                NamesMode::Statement
            } else {
                NamesMode::Instruction
            },
            ..AnalysisOptions::default()
        };
        let mut meter = Meter::new("analysing", self.show.quiet);
        let mut running = Running::start(&Launch {
            command,
            stop: interrupt::graceful(),
            ..Launch::default()
        })?;
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let shown = std::iter::once(name).chain(words.iter().cloned()).collect();
        let profile = reuselens::analyze(&mut running, shown, &options, &mut |p| meter.tick(p))?;
        meter.finish();
        Ok(profile)
    }

    /// Writes each variant's profile and page. Returns the paths of the profiles.
    fn keep(
        &self,
        files: &Files,
        demo: &Demo,
        directory: &Path,
        profiles: &[Profile],
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for (variant, profile) in demo.variants.iter().zip(profiles) {
            let path = directory.join(format!("{}.rlprof", variant.name));
            write_whole(&path, &profile.to_bytes(), self.show.force)?;
            let title = format!("{} {}", files.name, variant.name);
            let page =
                self.show
                    .page(&ShownProfile::new(profile), &title, ProfileOrigin::RanHere)?;
            write_whole(
                &path.with_extension("html"),
                page.as_bytes(),
                self.show.force,
            )?;
            paths.push(path);
        }
        Ok(paths)
    }

    fn deliver(
        &self,
        files: &Files,
        demo: &Demo,
        directory: &Path,
        profiles: &[Profile],
    ) -> Outcome {
        let paths = self.keep(files, demo, directory, profiles)?;
        let variants: Vec<ProfileVariant<'_>> = demo
            .variants
            .iter()
            .zip(profiles)
            .map(|(v, profile)| ProfileVariant {
                name: &v.name,
                caption: &v.caption,
                profile,
            })
            .collect();
        let options = CompareOptions {
            title: demo.title.clone(),
            intro: demo.intro.join("\n\n"),
            ..CompareOptions::default()
        };
        let page = directory.join(format!("{}.html", files.name));
        let text = reuselens_report::compare(&variants, &options)?;
        write_whole(&page, text.as_bytes(), self.show.force)?;
        let find = |name: &str| {
            demo.variants
                .iter()
                .position(|variant| variant.name == name)
        };
        let (before, after) = (
            find(&demo.before).unwrap_or(0),
            find(&demo.after).unwrap_or(0),
        );
        self.show.summary(&ShownProfile::new(&profiles[before]))?;
        self.show.say("")?;
        self.show.difference(
            &profiles[before],
            &profiles[after],
            DifferenceKind {
                inputs: demo.granularity.is_some(),
                ..DifferenceKind::default()
            },
            [before, after].map(|index| paths[index].display().to_string()),
        )?;
        self.show.say(&format!("\n{}", say::page(&page)))?;
        self.show.say(&format!(
            "Next: reuselens diff {} {}, or your own program, compiled with -g: \
             reuselens profile -- ./program",
            paths[before].display(),
            paths[after].display()
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn list(show: &Show) -> Outcome {
    for files in DEMOS {
        show.say(&format!("{:10} {}", files.name, files.read()?.title))?;
    }
    show.say("\nNext: reuselens demo NAME")?;
    Ok(ExitCode::SUCCESS)
}

fn language(demo: &Demo) -> Language {
    match demo.compiler.as_str() {
        "fortran" => Language::Fortran,
        "c++" => Language::Cxx,
        _ => Language::C,
    }
}

/// Fails if the compiler that builds the demo of this name is missing.
fn check_compiler(name: &str, language: Language) -> anyhow::Result<()> {
    let compiler = language.usual_compiler();
    let found = Command::new(&compiler).arg("--version").output();
    let is_missing =
        found.is_err_and(|error| command_error(&compiler, error).kind() == ErrorKind::NotFound);
    let (package, fedora) = match language {
        Language::C => ("gcc", "gcc"),
        Language::Cxx => ("g++", "gcc-c++"),
        Language::Fortran => ("gfortran", "gcc-gfortran"),
    };
    anyhow::ensure!(
        !is_missing,
        "the demo '{name}' is compiled here, and its compiler '{}' is missing; install it (Debian, Ubuntu: sudo apt install \
         {package} libc6-dev; Fedora: sudo dnf install {fedora}), or name another one: {}=COMPILER reuselens demo {name}",
        compiler.display(),
        language.variable()
    );
    Ok(())
}

/// Writes the sources and compiles them.
fn build(files: &Files, demo: &Demo, directory: &Path) -> anyhow::Result<PathBuf> {
    for (name, content) in files.sources {
        write_whole(&directory.join(name), content.as_bytes(), true)?;
    }
    let language = language(demo);
    let program = directory.join(files.name);
    let mut arguments: Vec<OsString> = demo.flags.iter().map(OsString::from).collect();
    if demo.names {
        arguments.push("--rl-names".into());
    }
    arguments.extend(
        demo.sources
            .iter()
            .map(|name| directory.join(name).into_os_string()),
    );
    arguments.extend(["-o".into(), program.clone().into_os_string()]);
    let status = toolchain::compile(language, &arguments)?;
    if !status.success() {
        anyhow::bail!(
            "the compiler could not build the demo ({status}); is {} installed?",
            language.default_compiler()
        );
    }
    Ok(program.canonicalize()?)
}
