//! [`Section`]: a part of a document, and [`sheet`]: a page of them.

use std::fmt::Write;

use crate::chart::{self, Panel};
use crate::html::{escape, page, with_code};
use crate::table::Table;
use crate::terminal::{Paint, heading};

/// A part of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// What links to it name: a word, distinct within a page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What the numbers are of, beside the heading; may be empty.
    pub aside: String,
    /// How to read it: one paragraph, in which code is between backticks. For pages.
    pub explain: String,
    /// What it shows, from the top.
    pub parts: Vec<SectionPart>,
}

/// What a section shows.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionPart {
    /// A table.
    Table(Table),
    /// Pictures, one under the other.
    Picture(Vec<Panel>),
}

impl Section {
    /// A section without parts.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        explain: impl Into<String>,
    ) -> Self {
        Section {
            id: id.into(),
            title: title.into(),
            aside: String::new(),
            explain: explain.into(),
            parts: Vec::new(),
        }
    }

    /// The same section, with what its numbers are of.
    pub fn with_aside(self, aside: impl Into<String>) -> Self {
        Section {
            aside: aside.into(),
            ..self
        }
    }

    /// The same section with a table below its other parts.
    pub fn with_table(mut self, table: Table) -> Self {
        self.parts.push(SectionPart::Table(table));
        self
    }

    /// The same section with pictures below its other parts; with none, the same.
    pub fn with_pictures(mut self, panels: Vec<Panel>) -> Self {
        if !panels.is_empty() {
            self.parts.push(SectionPart::Picture(panels));
        }
        self
    }

    /// The same section with the first rows of its tables, `most` of each: see [`Table::first`].
    pub fn first(mut self, most: usize, left_out: fn(usize) -> String) -> Self {
        for part in &mut self.parts {
            if let SectionPart::Table(table) = part {
                *table = std::mem::take(table).first(most, left_out);
            }
        }
        self
    }

    /// Whether there is nothing to show: no picture, and no row.
    pub fn is_empty(&self) -> bool {
        let is_empty = |part: &SectionPart| match part {
            SectionPart::Table(table) => table.rows.is_empty(),
            SectionPart::Picture(_) => false,
        };
        self.parts.iter().all(is_empty)
    }

    /// Appends heading and tables as text; a terminal has no pictures. Nothing if the section
    /// [is empty](Self::is_empty).
    pub fn write_text(&self, out: &mut String, width: usize, paint: Paint) {
        if self.is_empty() {
            return;
        }
        let aside = match self.aside.as_str() {
            "" => String::new(),
            aside => format!("({aside})"),
        };
        heading(out, &self.title, &aside, width, paint);
        for part in &self.parts {
            if let SectionPart::Table(table) = part {
                table.write_text(out, width, paint);
            }
        }
    }

    /// Appends the section as a card of a page, which links can name. Nothing if it
    /// [is empty](Self::is_empty).
    pub fn write_html(&self, out: &mut String) {
        if !self.is_empty() {
            let (title, explain) = (escape(&self.title), self.explanation());
            page::card(out, &self.id, &title, &explain, |out| self.write_parts(out));
        }
    }

    /// As [`write_html`](Self::write_html), as one of several cards within a section.
    pub fn write_html_within(&self, out: &mut String) {
        if self.is_empty() {
            return;
        }
        let (id, title) = (escape(&self.id), escape(&self.title));
        let _ = write!(
            out,
            "<div class=\"card below\" id=\"{id}\"><h3 class=\"first\">{title}</h3>"
        );
        page::explain(out, &self.explanation());
        self.write_parts(out);
        out.push_str("</div>");
    }

    /// Appends what the section shows, without its heading.
    pub fn write_parts(&self, out: &mut String) {
        for part in &self.parts {
            match part {
                SectionPart::Table(table) => table.write_html(out),
                SectionPart::Picture(panels) => out.push_str(&chart::chart_element(panels)),
            }
        }
    }

    /// What the numbers are of and how to read them, as HTML.
    fn explanation(&self) -> String {
        let mut aside = self.aside.chars();
        let aside = match aside.next() {
            Some(first) => format!("{}{}. ", first.to_uppercase(), aside.as_str()),
            None => String::new(),
        };
        with_code(&format!("{aside}{}", self.explain))
    }
}

/// Sections as one HTML file that works offline; in the colours of all pages, light and dark.
/// `maker` is the program that made it, and `facts` are short lines below the heading. Sections
/// that are empty are left out. Equal sections, equal bytes.
pub fn sheet(maker: &str, title: &str, facts: &[String], sections: &[Section]) -> String {
    let mut out = String::with_capacity(64 << 10);
    page::head(&mut out, maker, title);
    let shown: Vec<&Section> = sections.iter().filter(|it| !it.is_empty()).collect();
    let names: Vec<String> = shown.iter().map(|it| escape(&it.title)).collect();
    let links = shown.iter().zip(&names);
    let links: Vec<(&str, &str)> = links
        .map(|(section, name)| (section.id.as_str(), name.as_str()))
        .collect();
    page::top(&mut out, maker, &links, |_| true);
    let title = escape(title);
    let _ = write!(out, "<h1 class=\"title\">{title}</h1><ul class=\"facts\">");
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", with_code(fact));
    }
    out.push_str("</ul>\n");
    for section in shown {
        section.write_html(&mut out);
    }
    page::end(&mut out, maker, "");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TableColumn;

    #[test]
    fn a_section_is_text_and_a_card_and_nothing_without_rows() {
        let columns = TableColumn::all(&["n", "name"], &[1]);
        let row = vec!["3".to_owned(), "a".to_owned()];
        let section = Section::new("s", "Names", "Read `it`.").with_aside("of <L2>");
        let empty = section
            .clone()
            .with_table(Table::new(columns.clone(), [[]; 0]));
        let section = section.with_table(Table::new(columns, [row]));
        let write = |section: &Section| {
            let (mut text, mut card, mut within) = (String::new(), String::new(), String::new());
            section.write_text(&mut text, 80, Paint::new(false));
            section.write_html(&mut card);
            section.write_html_within(&mut within);
            [text, card, within]
        };
        let [text, card, within] = write(&section);
        assert_eq!(text, "\nNames (of <L2>)\n  n  name\n  3  a\n");
        let explain = "<p class=\"explain\">Of &lt;L2&gt;. Read <code>it</code>.</p>";
        assert!(card.starts_with("<section id=\"s\">") && card.contains(explain));
        assert!(within.contains("id=\"s\"") && within.contains(explain));
        assert_eq!(write(&empty), [const { String::new() }; 3]);
    }

    #[test]
    fn sheet_is_complete_and_escapes_its_texts() {
        let columns = TableColumn::all(&["name", "n"], &[0]);
        let table = Table::new(columns, [vec!["<i>".to_owned(), "3".to_owned()]]);
        let heat = Panel::Heat {
            title: "who".to_owned(),
            axis: "blocks".to_owned(),
            rows: 2,
            values: vec![5.0, 0.0, 0.0, 9.0],
        };
        let section = Section::new("s", "a < b", "x & y");
        let section = section.with_table(table).with_pictures(vec![heat]);
        let text = sheet("reuselens", "t", &["fact\u{1}".to_owned()], &[section]);
        assert!(
            text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"),
            "{text}"
        );
        for part in [
            "a &lt; b",
            "x &amp; y",
            "&lt;i&gt;",
            "<li>fact\u{fffd}</li>",
            "fill-opacity",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("=\"NaN"));
    }
}
