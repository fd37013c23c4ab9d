//! The demo programs, with their sources inside this binary: [`DEMOS`], which `reuselens demo`
//! builds and runs.

use anyhow::Context as _;
use serde::Deserialize;

/// A program to look at, as its `demo.toml` describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Headline of its page.
    pub title: String,
    /// `cc`, `c++` or `fortran`.
    pub compiler: String,
    /// Its source files.
    pub sources: Vec<String>,
    /// Options of the compiler.
    pub flags: Vec<String>,
    /// Whether it names its accesses itself, so that the compiler's hooks stay off.
    #[serde(default)]
    pub names: bool,
    /// Bytes per item; without it, this machine's cache line.
    pub granularity: Option<u64>,
    /// Whether a statement counts an element once.
    #[serde(default)]
    pub statements: bool,
    /// The variant that the comparison starts from.
    pub before: String,
    /// The variant that it ends with.
    pub after: String,
    /// Paragraphs that teach how to read the page.
    pub intro: Vec<String>,
    /// What is run.
    pub variants: Vec<DemoVariant>,
}

/// One way to run it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemoVariant {
    /// Its name.
    pub name: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// What there is to see.
    pub caption: String,
}

/// A demo's name and files: `demo.toml` first.
pub struct Files {
    /// What to type.
    pub name: &'static str,
    description: &'static str,
    /// Names and contents of its sources.
    pub sources: &'static [(&'static str, &'static str)],
}

macro_rules! demos {
    ($($name:literal: $($source:literal),+;)+) => {
        &[$(Files {
            name: $name,
            description: include_str!(concat!("../../../programs/", $name, "/demo.toml")),
            sources: &[$((
                $source,
                include_str!(concat!("../../../programs/", $name, "/", $source)),
            )),+],
        }),+]
    };
}

/// All demos; the first is the default.
pub const DEMOS: &[Files] = demos! {
    "matmul": "matmul.c";
    "list": "list.cc";
    "hashjoin": "hashjoin.cc";
    "stencil": "stencil.c";
    "adi": "adi.f";
    "fft": "fft.f";
};

impl Files {
    /// The demo of this name.
    pub fn named(name: &str) -> Option<&'static Files> {
        DEMOS.iter().find(|demo| demo.name == name)
    }

    /// Reads its `demo.toml`.
    pub fn read(&self) -> anyhow::Result<Demo> {
        toml::from_str(self.description)
            .with_context(|| format!("programs/{}/demo.toml", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_descriptions_name_existing_variants_and_sources() {
        for files in DEMOS {
            let demo = files.read().unwrap();
            for name in [&demo.before, &demo.after] {
                assert!(
                    demo.variants.iter().any(|variant| variant.name == *name),
                    "{name}"
                );
            }
            for source in &demo.sources {
                assert!(
                    files.sources.iter().any(|(name, _)| name == source),
                    "{source}"
                );
            }
            assert!(["cc", "c++", "fortran"].contains(&demo.compiler.as_str()));
            assert!(!demo.intro.is_empty() && demo.variants.len() >= 2);
        }
    }
}
