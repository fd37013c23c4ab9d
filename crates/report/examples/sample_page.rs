//! Writes sample pages into a folder, to look at them: `cargo run --example sample_page --
//! /tmp/pages`.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[path = "../tests/common/mod.rs"]
mod common;

use reuselens_report::{CompareOptions, HtmlOptions, ProfileVariant, compare, page};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    std::fs::create_dir_all(&folder)?;
    let sources = BTreeMap::from([("matmul.c".to_owned(), common::MATMUL_C.to_owned())]);
    let options = HtmlOptions {
        sources,
        ..HtmlOptions::default()
    };
    let matmul = common::matmul(96, false);
    std::fs::write(folder.join("matmul.html"), page(&matmul, &options))?;
    std::fs::write(
        folder.join("tiny.html"),
        page(&common::tiny(), &HtmlOptions::default()),
    )?;
    std::fs::write(
        folder.join("empty.html"),
        page(&common::empty(), &HtmlOptions::default()),
    )?;
    let swapped = common::matmul(96, true);
    let variants = [
        ProfileVariant {
            name: "ijk",
            caption: "The order of the textbook. `b` is read *down its columns*: each step is a new line.",
            profile: &matmul,
        },
        ProfileVariant {
            name: "ikj",
            caption: "The two inner loops **swapped**: `c[i][j]` and `b[k][j]` are walked along their rows.",
            profile: &swapped,
        },
    ];
    let options = CompareOptions {
        title: "A matrix product, two orders of loops".into(),
        intro: "Both programs multiply the same matrices and do the same additions. They differ in the order of their loops, and so in how soon they use data again.".into(),
        closing: "## \n\nTry it on a program of your own: `reuselens profile -- ./your-program`.".replace("## \n\n", ""),
        ..CompareOptions::default()
    };
    match compare(&variants, &options) {
        Ok(html) => std::fs::write(folder.join("compare.html"), html)?,
        Err(error) => eprintln!("{error}"),
    }
    std::fs::write(
        folder.join("wide.html"),
        page(&common::wide(5000), &HtmlOptions::default()),
    )?;
    Ok(())
}
