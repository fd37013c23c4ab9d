//! The frame that all pages share: head, style sheet, bar at the top, cards and end.

use std::fmt::Write;

use super::escape;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("theme.js");

/// Appends everything up to the body's content. `maker` is the program that makes the page, as
/// HTML.
pub fn head(out: &mut String, maker: &str, title: &str) {
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>{} · {maker}</title>\n<style>{STYLE}</style></head>\n<body><div class=\"wrap\">",
        escape(title)
    );
}

/// Appends the bar at the top: the name of the maker, links to the sections that exist, the switch
/// of the theme. Links are ids and names; both are HTML.
pub fn top(out: &mut String, maker: &str, links: &[(&str, &str)], is_there: impl Fn(&str) -> bool) {
    let _ = write!(
        out,
        "<header class=\"top\"><span class=\"brand\"><svg viewBox=\"0 0 20 20\" aria-hidden=\"true\"><circle cx=\"8.5\" cy=\"8.5\" \
         r=\"6.5\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"/><path d=\"M13.5 13.5L18.5 18.5M5.5 10.5V9M8.5 10.5V5.5M11.5 \
         10.5V8\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linecap=\"round\"/></svg>{maker}</span><nav \
         aria-label=\"Sections\">"
    );
    for (id, name) in links.iter().filter(|(id, _)| is_there(id)) {
        let _ = write!(out, "<a href=\"#{id}\">{name}</a>");
    }
    out.push_str("</nav><button class=\"theme needs-js\" id=\"theme\" type=\"button\">Dark</button></header>\n<main>\n");
}

/// Appends a section that is a card. Title and explanation are HTML; `draw` appends what it shows.
pub fn card(
    out: &mut String,
    id: &str,
    title: &str,
    explain: &str,
    draw: impl FnOnce(&mut String),
) {
    let _ = write!(
        out,
        "<section id=\"{id}\"><div class=\"card\"><h2>{title}</h2>"
    );
    self::explain(out, explain);
    draw(out);
    out.push_str("</div></section>\n");
}

/// Appends how to read a section, which is HTML; nothing if there is nothing to say.
pub fn explain(out: &mut String, explain: &str) {
    if !explain.is_empty() {
        let _ = write!(out, "<p class=\"explain\">{explain}</p>");
    }
}

/// Appends the end of the page, with the script that all pages have. `scripts` is HTML with those
/// that this page has beside it.
pub fn end(out: &mut String, maker: &str, scripts: &str) {
    let _ = write!(
        out,
        "</main><footer>Made by {maker}. This file is complete: it loads nothing, and can be mailed or archived.\
         </footer></div>\n<script>{SCRIPT}</script>{scripts}</body></html>"
    );
}
