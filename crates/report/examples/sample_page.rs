//! Writes sample pages into a folder, to look at them: `cargo run --example sample_page -- /tmp/pages`.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[path = "../tests/common/mod.rs"]
mod common;

use reuselens_report::{HtmlOptions, page};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    std::fs::create_dir_all(&folder)?;
    let sources = BTreeMap::from([("matmul.c".to_owned(), common::MATMUL_C.to_owned())]);
    let options = HtmlOptions { sources, ..HtmlOptions::default() };
    let matmul = common::matmul(96, false);
    std::fs::write(folder.join("matmul.html"), page(&matmul, &options))?;
    std::fs::write(folder.join("tiny.html"), page(&common::tiny(), &HtmlOptions::default()))?;
    std::fs::write(folder.join("empty.html"), page(&common::empty(), &HtmlOptions::default()))?;
    std::fs::write(folder.join("wide.html"), page(&common::wide(5000), &HtmlOptions::default()))?;
    Ok(())
}
