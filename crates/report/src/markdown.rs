//! Text in Markdown (GitHub's): as code, and without a meaning of its signs.

use reuselens_units::shown;

/// Text as code in a cell of a table, where `|` needs an escape even there.
pub(crate) fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Text as code. Fenced by more backticks than there are in it.
pub(crate) fn code(text: &str) -> String {
    let text = shown(text);
    let runs = text.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    match fence.len() {
        1 => format!("`{text}`"),
        _ => format!("{fence} {text} {fence}"),
    }
}

/// Text with its signs escaped, so that they mean nothing in Markdown.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in shown(text).chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' => out.extend(['\\', letter]),
            '<' => out.push_str("&lt;"),
            _ => out.push(letter),
        }
    }
    out
}
