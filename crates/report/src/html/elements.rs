//! The strips of a page: for each data structure, which of its elements are accessed and miss.

use std::fmt::Write;

use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{count, grouped};
use reuselens_locality::total;
use reuselens_profile::{Element, Object};

use super::scene::Scene;
use crate::words;

/// Structures that are drawn at most.
const STRIPS: usize = 6;
/// Columns of a strip at most.
const COLUMNS: u64 = 120;

/// Appends a strip for each of the structures with most accesses, if accesses are broken down by
/// element.
pub(crate) fn strips(out: &mut String, scene: &Scene) {
    let mut objects: Vec<(u64, &Object)> = scene
        .profile
        .objects
        .iter()
        .map(|object| (accesses(&object.elements), object))
        .filter(|(accesses, _)| *accesses > 0)
        .collect();
    objects.sort_by_key(|(accesses, _)| std::cmp::Reverse(*accesses));
    for (accesses, object) in objects.into_iter().take(STRIPS) {
        strip(out, scene, object, accesses);
    }
}

/// The accesses whose distances are known.
fn accesses(elements: &[Element]) -> u64 {
    total(elements.iter().map(|element| element.histogram.accesses()))
}

fn strip(out: &mut String, scene: &Scene, object: &Object, accesses: u64) {
    let elements = &object.elements;
    let last = elements.iter().map(|element| element.index).max();
    let len = last.unwrap_or(0).saturating_add(1);
    let columns = columns(elements, len, scene.chosen.items);
    let highest = columns.iter().map(|column| column.0).fold(0.0, f64::max);
    let misses = elements
        .iter()
        .map(|element| element.histogram.misses(scene.chosen.items));
    let misses = total(misses);
    let words = format!(
        "elements 0 to {}; {} accesses, of which {} miss in {}",
        grouped(len - 1),
        count(accesses),
        percent(misses, accesses),
        scene.chosen.label()
    );
    let name = escape(words::or(&object.name, "(unknown object)"));
    let _ = write!(
        out,
        "<figure class=\"strip\"><figcaption><b>{name}</b> <span class=\"soft\">{words}</span></figcaption>\
         <svg viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}: {words}\">\
         <path class=\"hit\" d=\"{}\"/><path class=\"miss\" d=\"{}\"/></svg></figure>",
        columns.len(),
        path(columns.iter().map(|column| column.0 / highest)),
        path(columns.iter().map(|column| column.1 / highest)),
    );
}

/// Accesses and misses per element, by column.
fn columns(elements: &[Element], len: u64, items: u64) -> Vec<(f64, f64)> {
    let number = len.min(COLUMNS);
    let start = |column: u64| (u128::from(len) * u128::from(column)).div_ceil(u128::from(number));
    let mut columns = vec![(0.0, 0.0); number as usize];
    for element in elements {
        let column = (u128::from(element.index) * u128::from(number) / u128::from(len)) as u64;
        let width = (start(column + 1) - start(column)) as f64;
        let sums = &mut columns[column as usize];
        sums.0 += element.histogram.accesses() as f64 / width;
        sums.1 += element.histogram.misses(items) as f64 / width;
    }
    columns
}

/// Steps of these heights, 1 being the height of the strip.
fn path(heights: impl Iterator<Item = f64>) -> String {
    let mut path = "M0 100".to_owned();
    for (right, height) in (1..).zip(heights) {
        let _ = write!(path, "V{:.0}H{right}", 100.0 - height * 100.0);
    }
    path.push_str("V100Z");
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_units::Distance;

    #[test]
    fn each_column_is_the_mean_of_its_elements() {
        let elements: Vec<Element> = (0..300)
            .map(|index| {
                let mut element = Element::counted(index, 4);
                element.histogram.add(Distance::COLD, 1);
                element.histogram.add(Distance::new(1), 3);
                element
            })
            .collect();
        for len in [300, 301, 1000, u64::MAX] {
            let columns = columns(&elements, len, 10);
            assert_eq!(columns.len(), 120);
            assert!(
                columns
                    .iter()
                    .all(|(all, misses)| (misses * 4.0 - all).abs() < 1e-9)
            );
            assert!(columns.iter().all(|(all, _)| *all <= 4.0 + 1e-9), "{len}");
        }
        let few = columns(&elements[..2], 3, 10);
        assert_eq!(few, [(4.0, 1.0), (4.0, 1.0), (0.0, 0.0)]);
        assert_eq!(path([1.0, 0.0].into_iter()), "M0 100V0H1V100H2V100Z");
    }
}
