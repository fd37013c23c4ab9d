//! What documents are made of: tables, sections, charts and numbers, in every format.
//!
//! A [`Table`] is a value: columns, each with what it holds, and rows. What only one format shows
//! is marked so. [`Table::write_text`], [`Table::write_html`] and [`Table::write_markdown`] write
//! it from the same value, so that a number cannot differ between a terminal and a page. A
//! [`Section`] is a heading, how to read it, and parts; [`sheet`] is a page of them.
//!
//! - [`numbers`]: counts, shares and changes in words.
//! - [`terminal`]: colours, line breaks, and names that are too long.
//! - [`html`]: texts that are safe in a page, and the frame of all pages with their style sheet.
//! - [`markdown`], [`csv`]: texts that mean nothing else there.
//! - [`chart()`], [`chart_png`], [`chart_element`]: curves, dots and squares of any numbers, as
//!   SVG, PNG, or within a page.
//!
//! For: `report`, `presponse` and the command line, which show results. Not for: what is shown;
//! nothing here knows a profile. Nothing is read, written or fetched; equal values give equal
//! bytes.

mod chart;
pub mod csv;
pub mod html;
pub mod markdown;
pub mod numbers;
mod section;
mod table;
pub mod terminal;

pub use chart::{
    AxisScale, ChartAxis, ChartLine, DotRow, Look, Panel, Unit, chart, chart_element, chart_png,
};
pub use section::{Section, SectionPart, sheet};
pub use table::{Table, TableColumn, TableRow};
