//! The table of [`summary`](super::summary) about paths: how well paths of each length separate the
//! patterns of instructions.

use std::fmt::Write;

use reuselens_profile::Profile;

use super::{Paint, TextStyle, wrap};
use crate::path_shares;

/// Appends a table by length of paths, if paths were followed.
pub(super) fn write(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    let Some(paths) = &profile.paths else {
        return;
    };
    let _ = writeln!(
        out,
        "\n{}",
        paint.ink(
            TextStyle::Strong,
            "What the path to an instruction tells (last outcomes of branches)"
        )
    );
    path_shares::table(paths).write_text(out, width, paint);
    let text = path_shares::explain(paths);
    let _ = writeln!(
        out,
        "{}",
        paint.ink(TextStyle::Soft, &wrap(&text, width, 0))
    );
}
