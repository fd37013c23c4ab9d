//! The section of a page about objects that were weighed by their sizes.

use reuselens_document::Section;

use super::scene::Scene;
use crate::weights;

/// Appends the section, or nothing if objects were not weighed.
pub(crate) fn write(out: &mut String, scene: &Scene) {
    let Some(totals) = weights::totals(scene.profile) else {
        return;
    };
    let explain = format!("{totals} A cache of each size keeps the objects requested last.");
    Section::new("weights", "What misses in a cache of objects", explain)
        .with_table(weights::table(scene.profile))
        .write_html(out);
}
