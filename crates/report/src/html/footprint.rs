//! The section of a page about the average footprint.

use reuselens_document::html::page::card;
use reuselens_document::{ChartAxis, ChartLine, Panel, Unit, chart_element};

use super::scene::Scene;

const EXPLAIN: &str = "Take a stretch of the run, of so many accesses, anywhere: how much different data does it touch, \
on the average of all such stretches? Where the curve is steep, the program goes over new data; where it is flat, it stays with \
what it has.";

/// Appends the section, if the footprint was measured.
pub(crate) fn write(out: &mut String, scene: &Scene) {
    let Some(points) = crate::times::footprint(scene.profile) else {
        return;
    };
    let panel = Panel::Lines {
        title: String::new(),
        x: ChartAxis::logarithmic("accesses in a row", Unit::Things),
        y: ChartAxis::logarithmic(format!("distinct {}", scene.items()), Unit::Things),
        lines: vec![ChartLine {
            name: "footprint".to_owned(),
            points: points
                .into_iter()
                .map(|(window, items)| (window as f64, items))
                .collect(),
            ..ChartLine::default()
        }],
        marks: Vec::new(),
    };
    card(
        out,
        "footprint",
        "How much data a stretch of the run touches",
        EXPLAIN,
        |out| {
            out.push_str(&chart_element(&[panel]));
        },
    );
}
