//! [`sheet`]: tables and charts of any numbers as an HTML page.

use std::fmt::Write;

use super::escape::{escape, with_code};
use super::page;
use crate::chart::{self, Panel};

/// A part of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetSection {
    /// Its heading.
    pub title: String,
    /// How to read it: one paragraph, plain text.
    pub explain: String,
    /// A table: the heads of its columns, and rows. Empty for none.
    pub table: (Vec<String>, Vec<Vec<String>>),
    /// Pictures, one under the other.
    pub panels: Vec<Panel>,
}

/// Numbers that are no profile's as one HTML file that works offline; in the colours of all pages,
/// light and dark. `facts` are short lines below the heading. Equal sheets, equal bytes.
pub fn sheet(title: &str, facts: &[String], sections: &[SheetSection]) -> String {
    let mut out = String::with_capacity(64 << 10);
    page::head(&mut out, title);
    let names: Vec<(String, String)> = sections
        .iter()
        .enumerate()
        .map(|(at, section)| (format!("s{at}"), escape(&section.title)))
        .collect();
    let links: Vec<(&str, &str)> = names
        .iter()
        .map(|(id, name)| (&id[..], &name[..]))
        .collect();
    page::top(&mut out, &links, |_| true);
    let _ = write!(
        out,
        "<h1 class=\"title\">{}</h1><ul class=\"facts\">",
        escape(title)
    );
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", with_code(fact));
    }
    out.push_str("</ul>\n");
    for ((id, name), section) in names.iter().zip(sections) {
        page::picture(&mut out, id, name, &with_code(&section.explain), |out| {
            table(out, &section.table, &[0]);
            if !section.panels.is_empty() {
                out.push_str(&chart::inline(&section.panels));
            }
        });
    }
    page::end(&mut out, "{}");
    out
}

/// Appends a table: the heads of its columns, and rows. Nothing without heads. The columns of
/// `words` are set at the left, those of numbers at the right.
pub(crate) fn table(
    out: &mut String,
    (heads, rows): &(Vec<String>, Vec<Vec<String>>),
    words: &[usize],
) {
    let class = |at: usize| match words.contains(&at) {
        true => " class=\"words\"",
        false => " class=\"num\"",
    };
    if heads.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table class=\"stacks\"><thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        let _ = write!(out, "<th{}>{}</th>", class(at), escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (at, (cell, head)) in row.iter().zip(heads).enumerate() {
            let (class, head, cell) = (class(at), escape(head), escape(cell));
            let _ = write!(out, "<td{class} data-head=\"{head}\">{cell}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheet_is_complete_and_escapes_its_texts() {
        let section = SheetSection {
            title: "a < b".to_owned(),
            explain: "x & y".to_owned(),
            table: (
                vec!["name".into(), "n".into()],
                vec![vec!["<i>".into(), "3".into()]],
            ),
            panels: vec![Panel::Heat {
                title: "who".to_owned(),
                axis: "blocks".to_owned(),
                rows: 2,
                values: vec![5.0, 0.0, 0.0, 9.0],
            }],
        };
        let text = sheet("t", &["fact".to_owned()], &[section]);
        assert!(
            text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"),
            "{text}"
        );
        for part in [
            "a &lt; b",
            "x &amp; y",
            "&lt;i&gt;",
            "<li>fact</li>",
            "fill-opacity",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("=\"NaN"));
    }
}
