//! `reuselens merge`: puts the parts that `shard` made together, as a profile or as a larger part.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use reuselens::io::path_of;
use reuselens::shard::{Part, merge_all};
use reuselens::units::{Bytes, counted};
use reuselens_report::ShownProfile;

use super::shard;
use crate::exit::{self, Outcome};
use crate::files::read_part;
use crate::output::{Results, Show, name_of, stem, write_whole};
use crate::sources::ProfileOrigin;

/// Put the parts that `shard` made together: summary, NAME.rlprof, NAME.html
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens merge PART… [OPTIONS]")]
pub struct Args {
    /// The parts, in any order
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,

    /// Call the outputs FILE.rlprof and FILE.html (of some pieces only: the part's file)
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Reads and merges.
    pub fn run(self) -> Outcome {
        self.show.check_exports()?;
        let parts = self.parts.iter().map(|path| read_part(path));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let names = self.parts.iter().zip(&parts);
        let names: Vec<String> = names
            .map(|(path, part)| format!("{} is {}", path.display(), part.name()))
            .collect();
        let mut merged = merge_all(parts).with_context(|| names.join(", "))?;
        match (merged.pop(), merged.is_empty()) {
            (Some(part), true) if part.is_whole() => self.profile(part),
            (Some(part), true) => self.part(&part),
            (last, _) => {
                merged.extend(last);
                let missing = reuselens::shard::finish(merged).map(|_| ());
                missing.with_context(|| names.join(", "))?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    /// Finishes if all pieces are there.
    fn profile(&self, part: Part) -> Outcome {
        let mut profile = part.finish()?;
        profile.method.recorded = true;
        let trace = profile
            .command
            .first()
            .map(String::as_str)
            .unwrap_or("merged");
        let name = name_of(&path_of(trace), self.output.as_deref(), self.show.force);
        let results = Results::begin(self.output.as_deref(), &name, self.show.force)?;
        let shown = ShownProfile::new(&profile);
        let rendered = self.show.render(&shown, &name, ProfileOrigin::Anywhere)?;
        results.finish(&shown, &rendered, &self.show, "analyse another trace")?;
        Ok(exit::done(profile.is_truncated()))
    }

    /// Finishes if the pieces are neighbours, but some are missing.
    fn part(&self, part: &Part) -> Outcome {
        let (pieces, of) = (part.pieces(), part.of());
        let missing = part.clone().finish().map(|_| ());
        if let ([path], None) = (&self.parts[..], &self.output) {
            let alone = || {
                format!(
                    "{} alone is piece {} and nothing to merge",
                    path.display(),
                    part.name()
                )
            };
            missing.with_context(alone)?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.show.refuse_exports().is_err() {
            missing?;
            return Ok(ExitCode::SUCCESS);
        }
        let default = || {
            shard::part_path(
                &trace_of(&self.parts[0]),
                *pieces.start(),
                *pieces.end(),
                of,
            )
        };
        let path = self.output.clone().unwrap_or_else(default);
        let bytes = part.to_bytes();
        write_whole(&path, &bytes, self.show.force)?;
        self.show.say(&format!(
            "{}: pieces {} of the trace, {}, {}{}",
            path.display(),
            part.name(),
            counted(part.accesses(), "access", "accesses"),
            Bytes(bytes.len() as u64),
            shard::remark(part.is_truncated())
        ))?;
        if let Err(error) = missing {
            self.show.say(&format!("No profile yet. Still {error}"))?;
        }
        self.show
            .say(&format!("Next: reuselens merge {} PART…", path.display()))?;
        Ok(exit::done(part.is_truncated()))
    }
}

/// The name of the trace in the name of a part: `t` of `t.2-of-4.rlpart`.
fn trace_of(path: &Path) -> String {
    let name = stem(path);
    match name.rsplit_once('.') {
        Some((trace, piece)) if piece.contains("-of-") => trace.to_owned(),
        _ => name,
    }
}
