//! The section of a page about objects that were weighed by their sizes.

use std::fmt::Write;

use reuselens_document::html::escape;

use super::scene::Scene;
use crate::weights;

/// Appends the section, or nothing if objects were not weighed.
pub(crate) fn write(out: &mut String, scene: &Scene) {
    let misses = weights::misses(scene.profile);
    let Some(totals) = weights::totals(scene.profile).filter(|_| !misses.is_empty()) else {
        return;
    };
    let _ = write!(
        out,
        "<section id=\"weights\"><h2>What misses in a cache of objects</h2><p class=\"explain\">{} A cache of \
         each size keeps the objects requested last.</p><table><thead><tr><th scope=\"col\">Size of the cache</th>\
         <th scope=\"col\">Of the requests</th><th scope=\"col\">Of the bytes</th></tr></thead><tbody>",
        escape(&totals)
    );
    for row in misses {
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            row.size, row.requests, row.bytes
        );
    }
    out.push_str("</tbody></table></section>");
}
