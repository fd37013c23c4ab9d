//! Pages: single HTML files that fetch nothing, light and dark, narrow and wide. [`run`] is that of
//! a run, [`speculation`] that of `presponse speculate`, [`comparison`] that of
//! `presponse compare`.

mod axis;
mod chart;
pub mod run;
pub mod speculation;

use std::fmt::Write as _;

use chart::Chart;

const STYLE: &str = include_str!("style.css");

/// A part of a page.
pub struct PageSection {
    /// Its heading.
    pub title: String,
    /// How to read it: one paragraph, or nothing.
    pub explain: String,
    /// Heads of columns, and rows; the first column has words, the others numbers. May be empty.
    pub table: (Vec<String>, Vec<Vec<String>>),
    charts: Vec<Chart>,
    /// Whether the other columns have words, too.
    is_words: bool,
}

/// The page of a comparison: a table per question.
pub fn comparison(facts: &[String], sections: &[PageSection]) -> String {
    document("Exact answers, compared", facts, sections)
}

impl PageSection {
    /// A section that is a table.
    pub fn table(title: &str, explain: &str, heads: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self {
            title: title.to_owned(),
            explain: explain.to_owned(),
            table: (heads, rows),
            charts: Vec::new(),
            is_words: false,
        }
    }

    /// The same section, where all columns of the table have words.
    pub fn of_words(self) -> Self {
        Self {
            is_words: true,
            ..self
        }
    }
}

fn document(title: &str, facts: &[String], sections: &[PageSection]) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = escape(title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><div class=\"wrap\">\
         <div class=\"brand\">presponse</div><h1>{title}</h1><ul class=\"facts\">"
    );
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", escape(fact));
    }
    out.push_str("</ul>\n");
    for section in sections {
        let (title, explain) = (escape(&section.title), escape(&section.explain));
        let _ = write!(out, "<section><h2>{title}</h2>");
        if !explain.is_empty() {
            let _ = write!(out, "<p class=\"explain\">{explain}</p>");
        }
        out.push_str("<div class=\"card\">");
        table(&mut out, section);
        for chart in &section.charts {
            chart.write(&mut out);
        }
        out.push_str("</div></section>\n");
    }
    out.push_str("</div></body></html>");
    out
}

fn table(out: &mut String, section: &PageSection) {
    let (heads, rows) = &section.table;
    if heads.is_empty() {
        return;
    }
    let class = if section.is_words {
        " class=\"words\""
    } else {
        ""
    };
    let _ = write!(out, "<div class=\"scroll\"><table{class}><thead><tr>");
    for head in heads {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            let _ = match at {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => {
                    let head = heads.get(at).map_or_else(String::new, |head| escape(head));
                    write!(out, "<td data-head=\"{head}\">{cell}</td>")
                }
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// Text as HTML shows it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in reuselens_units::shown_lines(text).chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}
