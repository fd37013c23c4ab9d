//! Just enough of Rust's grammar to tell code from comments, strings and tests. Everything keeps
//! its place: what is taken out becomes blanks, so lines stay what they were.

/// The text without comments; strings stay.
pub fn without_comments(text: &str) -> String {
    blank(text, false)
}

/// The text without comments and without what is in strings and character literals.
pub fn code(text: &str) -> String {
    blank(text, true)
}

/// `code` without items marked `#[cfg(test)]`.
pub fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        let (before, marked) = rest.split_at(start);
        let end = MARK.len() + item_end(&marked[MARK.len()..]);
        out.push_str(before);
        out.extend(
            marked[..end]
                .chars()
                .map(|c| if c == '\n' { c } else { ' ' }),
        );
        rest = &marked[end..];
    }
    out + rest
}

/// The number of the line in which a byte lies, from 1.
pub fn line(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

/// Where `word` stands as a whole word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| {
            !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next())
        })
}

/// A function: its name, first line, number of lines.
#[derive(Debug, PartialEq, Eq)]
pub struct FunctionSpan {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// The functions with a body, of `code` without strings and comments.
pub fn functions(code: &str) -> Vec<FunctionSpan> {
    words(code, "fn")
        .filter_map(|at| function(code, at))
        .collect()
}

fn function(code: &str, at: usize) -> Option<FunctionSpan> {
    let after = code[at + 2..].trim_start();
    let name: String = after
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    if name.is_empty() {
        return None;
    }
    let rest = &code[at..];
    let end = item_end(rest);
    if !rest[..end].ends_with('}') {
        return None;
    }
    Some(FunctionSpan {
        name,
        line: line(code, at),
        lines: line(rest, end),
    })
}

/// What is between the braces of the item that `code` begins with, if it has any.
pub fn braces(code: &str) -> Option<std::ops::Range<usize>> {
    let end = item_end(code);
    let start = code[..end].find('{')? + 1;
    Some(start..end - 1)
}

/// Where the item that `code` begins with ends: after its `;` or its closing brace.
fn item_end(code: &str) -> usize {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => others += 1,
            ')' | ']' => others = others.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces <= 1 => return at + 1,
            '}' => braces -= 1,
            ';' if braces == 0 && others == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn blank(text: &str, strings_too: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut last = ' ';
    while let Some(c) = rest.chars().next() {
        let (length, gone) = token(rest, last, strings_too);
        let (this, after) = rest.split_at(length);
        if gone {
            // As many bytes as before, so that places stay.
            out.extend(
                this.bytes()
                    .map(|byte| if byte == b'\n' { '\n' } else { ' ' }),
            );
            last = ' ';
        } else {
            out.push_str(this);
            last = this.chars().next_back().unwrap_or(c);
        }
        rest = after;
    }
    out
}

/// Bytes of the token at the start of `rest`, and whether it is to go.
fn token(rest: &str, last: char, strings_too: bool) -> (usize, bool) {
    let in_word = last.is_alphanumeric() || last == '_';
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), true);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), true);
    }
    if rest.starts_with('"') {
        return (string(rest), strings_too);
    }
    if !in_word && let Some(length) = raw_string(rest) {
        return (length, strings_too);
    }
    if rest.starts_with('\'')
        && let Some(length) = character(rest)
    {
        return (length, strings_too);
    }
    (rest.chars().next().map_or(0, char::len_utf8), false)
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> Option<usize> {
    let start = ["r", "br", "cr"].into_iter().find(|start| {
        rest.strip_prefix(start)
            .is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let marks = rest[start.len()..]
        .chars()
        .take_while(|c| *c == '#')
        .count();
    let open = start.len() + marks + 1;
    let close = format!("\"{}", "#".repeat(marks));
    Some(
        rest[open..]
            .find(&close)
            .map_or(rest.len(), |at| open + at + close.len()),
    )
}

/// A character literal and not a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (_, _) = chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_become_blanks_in_their_place() {
        let text =
            "let a = \"un//safe\"; // unsafe\n/* x /* y */ z */ b'\\'' 'q' &'a r#\"s\"t\"# é";
        let found = code(text);
        assert_eq!(found.len(), text.len());
        assert_eq!(
            found.split_whitespace().collect::<Vec<_>>(),
            ["let", "a", "=", ";", "b", "&'a", "é"]
        );
        assert!(without_comments(text).contains("un//safe"));
        assert!(!without_comments(text).contains("// unsafe"));
    }

    #[test]
    fn test_items_go_and_others_stay() {
        let text =
            "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { } }\n#[cfg(test)]\nuse x;\nfn c() {}";
        let found = without_tests(text);
        assert!(found.contains("fn a") && found.contains("fn c"), "{found}");
        assert!(
            !found.contains("fn b") && !found.contains("use x"),
            "{found}"
        );
        assert_eq!(line(&found, found.find("fn c").unwrap()), 6);
    }

    #[test]
    fn functions_are_measured() {
        let text =
            "trait T { fn no(&self); }\nfn one(a: [u8; 2]) -> u8 {\n    {}\n}\ntype P = fn(u8);";
        let found = functions(text);
        assert_eq!(
            found,
            [FunctionSpan {
                name: "one".to_owned(),
                line: 2,
                lines: 3
            }]
        );
    }

    #[test]
    fn only_whole_words_are_found() {
        assert_eq!(
            words("unsafe_op unsafe{ an_unsafe", "unsafe").collect::<Vec<_>>(),
            [10]
        );
    }
}
