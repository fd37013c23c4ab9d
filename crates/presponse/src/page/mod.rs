//! The sections of pages: [`run`] has those of a run, [`speculation`] those of
//! `presponse speculate`.

pub mod run;
pub mod speculation;

use reuselens_document::{ChartAxis, ChartLine, Panel, Section, Unit, sheet};

/// Sections as a page.
pub fn page(title: &str, facts: &[String], sections: &[Section]) -> String {
    sheet("presponse", title, facts, sections)
}

/// What a picture over time shows.
struct OverTime {
    title: String,
    /// What the values count, and how heights grow with them. It needs no name: the title has it.
    y: ChartAxis,
    /// What is counted from left to right, and how many of it there are.
    x: (&'static str, u64),
    /// How the last value of a line is written in the legend.
    shown: fn(f64) -> String,
}

impl OverTime {
    /// Values of the batches of a run.
    fn of_batches(title: &str, batches: u64, y: ChartAxis, shown: fn(f64) -> String) -> Self {
        OverTime {
            title: title.to_owned(),
            y,
            x: ("batch", batches),
            shown,
        }
    }

    /// The picture of these lines, each a label and its values at equal steps. A value without a
    /// place on the axis is a gap. Pictures name a single line in their title: they have no legend
    /// then.
    fn panel(self, lines: Vec<(&str, Vec<f64>)>) -> Panel {
        let line = |(label, values): (&str, Vec<f64>)| {
            let last = values.iter().rev().find(|value| self.y.shows(**value));
            let last = last.map_or_else(|| "none".to_owned(), |value| (self.shown)(*value));
            let each = self.x.1 as f64 / values.len().max(1) as f64;
            let times = (1..).map(|at| f64::from(at) * each);
            let values = values.into_iter();
            let values = values.map(|value| if self.y.shows(value) { value } else { f64::NAN });
            ChartLine {
                name: format!("{label}, last {last}"),
                points: times.zip(values).collect(),
                ..ChartLine::default()
            }
        };
        let lines: Vec<ChartLine> = lines.into_iter().map(line).collect();
        let title = match lines.as_slice() {
            [line] => format!("{}: {}", self.title, line.name),
            _ => self.title.clone(),
        };
        Panel::Lines {
            lines,
            title,
            x: ChartAxis::linear(self.x.0, Unit::Things),
            y: self.y,
            marks: Vec::new(),
        }
    }
}

/// A count with few digits.
fn plain(value: f64) -> String {
    match value {
        _ if value >= 10.0 => reuselens_units::grouped(value.round() as u64),
        _ if value >= 1.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// A share from 0 to 1 as percent.
fn percent(value: f64) -> String {
    let text = format!("{:.1}", 100.0 * value);
    format!("{} %", text.trim_end_matches(".0"))
}
