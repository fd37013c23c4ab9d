//! Makes text safe for a page: escapes for HTML and for JSON in scripts, and a little markup for
//! captions.

use crate::terminal::with_units;

/// Text for an element or a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not allowed in HTML, and would be invisible.
            '\t' | '\n' => out.push(letter),
            _ if letter.is_control() => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}

/// [`numbers::percent`](crate::numbers::percent) for an element: it may hold a `<`.
pub fn percent(part: u64, total: u64) -> String {
    escape(&crate::numbers::percent(part, total))
}

/// [`numbers::change`](crate::numbers::change) for an element.
pub fn change(before: u64, after: u64) -> String {
    escape(&crate::numbers::change(before, after))
}

/// JSON for a `<script type="application/json">`: nothing in it can end the element.
pub fn script_json(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Paragraphs of plain text with `code`, **strong** and *emphasis*, separated by empty lines.
pub fn paragraphs(text: &str) -> String {
    let mut out = String::new();
    for paragraph in text
        .split("\n\n")
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty())
    {
        out.push_str("<p>");
        out.push_str(&inline(paragraph));
        out.push_str("</p>\n");
    }
    out
}

/// One line of plain text with `code`, **strong** and *emphasis*.
pub fn inline(text: &str) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('`').enumerate() {
        let piece = escape(piece);
        if index % 2 == 1 {
            out.push_str(&format!("<code>{piece}</code>"));
        } else {
            out.push_str(&paired(&paired(&piece, "**", "b"), "*", "i"));
        }
    }
    out
}

/// Text of a message or a finding: what is between a pair of backticks is `code`, and no line
/// breaks between a number and its unit.
pub fn with_code(text: &str) -> String {
    let words = with_units(text).into_iter();
    let words: Vec<String> = words.map(|word| word.replace(' ', "\u{a0}")).collect();
    paired(&escape(&words.join(" ")), "`", "code")
}

/// Turns text between pairs of `sign` into an element; a sign without a partner stays.
fn paired(text: &str, sign: &str, element: &str) -> String {
    let pieces: Vec<&str> = text.split(sign).collect();
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let closed = index % 2 == 1 && index + 1 < pieces.len();
        if closed {
            out.push_str(&format!("<{element}>{piece}</{element}>"));
        } else {
            if index % 2 == 1 {
                out.push_str(sign);
            }
            out.push_str(piece);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_makes_any_text_safe() {
        assert_eq!(
            escape("<a href=\"x\">&'\u{1}"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}"
        );
        assert_eq!(script_json("\"</script>\""), "\"\\u003c/script>\"");
    }

    #[test]
    fn simple_markup_only_in_pairs() {
        assert_eq!(
            inline("a **b** `c*d*` *e* 2 * 3"),
            "a <b>b</b> <code>c*d*</code> <i>e</i> 2 * 3"
        );
        assert_eq!(
            with_code("`a<b>` of *p* and a lone `"),
            "<code>a&lt;b&gt;</code> of *p* and a lone `"
        );
        assert_eq!(with_code("45 % of 3 lines"), "45\u{a0}% of 3 lines");
        assert_eq!(
            paragraphs("one\n\n<two>"),
            "<p>one</p>\n<p>&lt;two&gt;</p>\n"
        );
    }
}
