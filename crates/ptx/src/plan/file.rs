//! Plans as files: [`Plan::read`] reads a launch description in TOML.
//!
//! ```toml
//! kernel = "saxpy.cu"
//!
//! [buffers]
//! x = "random:f32:1000:7"
//! y = "npy:y.npy"
//!
//! [[launch]]
//! entry = "saxpy"
//! grid = [4]
//! block = [256]
//! args = [1000, 1.5, "x", "y"]
//! ```

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::buffer::{Buffer, Content};
use super::{Given, Plan, PlanError, PlannedLaunch, Preprocessor, spec};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    kernel: Option<String>,
    #[serde(default)]
    include: Vec<PathBuf>,
    #[serde(default)]
    define: Vec<String>,
    #[serde(default)]
    buffers: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    launch: Vec<LaunchOf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchOf {
    kernel: Option<String>,
    entry: String,
    grid: Vec<u32>,
    block: Vec<u32>,
    #[serde(default)]
    shared: u64,
    #[serde(default)]
    args: Vec<Value>,
    /// At least once: how often a launch runs that never does is nothing to say.
    repeat: Option<NonZeroU32>,
    #[serde(default)]
    zero: Vec<String>,
    #[serde(rename = "while")]
    while_set: Option<String>,
}

/// How often a launch with `while` is repeated at most, if nothing is said: a buffer that never
/// becomes zeros must end too.
const MOST_TIMES: u32 = 10_000;

impl LaunchOf {
    /// How often, at most.
    fn times(&self) -> u32 {
        let unless_said = if self.while_set.is_some() {
            MOST_TIMES
        } else {
            1
        };
        self.repeat.map_or(unless_said, NonZeroU32::get)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Integer(i64),
    Float(f64),
    Name(String),
}

impl Plan {
    /// Reads a description. Paths of kernels and of folders to include are relative to its folder;
    /// its buffers' files are in `data`, or beside it too.
    ///
    /// # Errors
    /// What cannot be read, and what is none.
    pub fn read(path: &Path, data: Option<&Path>) -> Result<Plan, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|error| PlanError::File {
            what: "read",
            path: path.to_owned(),
            error,
        })?;
        Plan::parse(&text, path, data)
    }

    /// Reads a description from a text; `path` is the file that it would be in, and `data` as in
    /// [`Plan::read`].
    ///
    /// # Errors
    /// What is no description.
    pub fn parse(text: &str, path: &Path, data: Option<&Path>) -> Result<Plan, PlanError> {
        let wrong = |what: String| PlanError::Description {
            path: path.to_owned(),
            what,
        };
        let description: Description =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let include = description.include.iter();
        let mut plan = Plan {
            preprocessor: Preprocessor {
                include: include.map(|include| folder.join(include)).collect(),
                define: description.define,
            },
            ..Plan::default()
        };
        for (name, text) in description.buffers {
            let content = content(&name, &text, data.unwrap_or(folder)).map_err(wrong)?;
            plan.buffers.push(Buffer { name, content });
        }
        if description.launch.is_empty() {
            return Err(wrong("nothing is launched; add a [[launch]]".to_owned()));
        }
        for launch in description.launch {
            let kernel = launch.kernel.as_ref().or(description.kernel.as_ref());
            let kernel = kernel.ok_or_else(|| {
                wrong(format!(
                    "the launch of {} names no file; add kernel = \"FILE\"",
                    launch.entry
                ))
            })?;
            plan.steps.push(PlannedLaunch {
                kernel: folder.join(kernel),
                grid: sizes(&launch.grid).ok_or_else(|| {
                    wrong(format!(
                        "the grid of {} has no sizes, or more than three",
                        launch.entry
                    ))
                })?,
                block: sizes(&launch.block).ok_or_else(|| {
                    wrong(format!(
                        "the block of {} has no sizes, or more than three",
                        launch.entry
                    ))
                })?,
                repeat: launch.times(),
                entry: launch.entry,
                shared: launch.shared,
                arguments: launch.args.into_iter().map(given).collect(),
                zero: launch.zero,
                while_set: launch.while_set,
            });
        }
        Ok(plan)
    }
}

/// What a buffer begins with. Its file is in `data`, unless its path is absolute.
fn content(name: &str, text: &str, data: &Path) -> Result<Content, String> {
    let (kind, rest) = text
        .split_once(':')
        .ok_or_else(|| format!("the buffer '{name}' is '{text}'; write e.g. zeros:f32:1000"))?;
    let mut content =
        spec::content(kind, rest).map_err(|what| format!("the buffer '{name}': {what}"))?;
    if let Content::Npy(file) | Content::Raw(file) = &mut content {
        *file = data.join(&*file);
    }
    Ok(content)
}

fn given(value: Value) -> Given {
    match value {
        Value::Integer(value) => Given::Integer(i128::from(value)),
        Value::Float(value) => Given::Float(value),
        Value::Name(name) => Given::Buffer(name),
    }
}

fn sizes(given: &[u32]) -> Option<[u32; 3]> {
    let mut sizes = [1; 3];
    if given.is_empty() || given.len() > 3 {
        return None;
    }
    sizes[..given.len()].copy_from_slice(given);
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "kernel = 'k.ptx'\n[buffers]\nx = 'npy:x.npy'\ny = 'zeros:i32:4'\n[[launch]]\nentry = 'f'\ngrid = [4, 2]\nblock = [32]\nargs = [1, 2.5, 'x']\nrepeat = 3\nwhile = 'y'\n";

    #[test]
    fn a_launch_description_becomes_a_plan() {
        let plan = Plan::parse(WHOLE, Path::new("folder/a.toml"), None).unwrap();
        assert_eq!(plan.buffers[0].content, Content::Npy("folder/x.npy".into()));
        let step = &plan.steps[0];
        assert_eq!(
            (step.grid, step.block, step.repeat),
            ([4, 2, 1], [32, 1, 1], 3)
        );
        assert_eq!(
            step.arguments,
            [
                Given::Integer(1),
                Given::Float(2.5),
                Given::Buffer("x".to_owned())
            ]
        );
        assert_eq!(step.kernel, Path::new("folder/k.ptx"));
    }

    #[test]
    fn include_folders_are_relative_to_the_description() {
        let text = format!("include = ['inc', '/usr/x']\ndefine = ['N=4']\n{WHOLE}");
        let plan = Plan::parse(&text, Path::new("folder/a.toml"), None).unwrap();
        let include: [PathBuf; 2] = ["folder/inc".into(), "/usr/x".into()];
        assert_eq!(plan.preprocessor.include, include);
        assert_eq!(plan.preprocessor.define, ["N=4"]);
    }

    #[test]
    fn plan_file_errors_name_the_mistake() {
        let message = |text: &str| {
            Plan::parse(text, Path::new("a.toml"), None)
                .unwrap_err()
                .to_string()
        };
        assert!(message("").contains("nothing is launched"));
        assert!(message(&WHOLE.replace("kernel = 'k.ptx'", "")).contains("names no file"));
        assert!(message(&WHOLE.replace("[4, 2]", "[]")).contains("the grid of f"));
        assert!(message(&WHOLE.replace("zeros", "ones")).contains("there is no 'ones'"));
        assert!(message(&WHOLE.replace("repeat = 3", "repeat = 0")).contains("nonzero"));
        assert!(message(&WHOLE.replace("repeat", "repaet")).contains("unknown field"));
    }
}
