//! What the source of C++ shows of the declarations of templates: the names of their parameters,
//! and the names that a class or a function declares for itself.
//!
//! Debug information names the parameters of a template as its first declaration does, also in
//! functions that are defined with other names, and in specializations. So the source decides which
//! parameter a name is. By patterns, without a parser: what is not clear is not known.

/// Lines before a declared name that its head may have.
const HEAD_LINES: usize = 10;
/// Stands for the beginning of the line of a declared name.
const LINE: char = '\u{1}';
/// Stands for a line of the preprocessor that makes code depend on something.
const CONDITION: char = '\u{2}';

/// A part of a name: `Node<T>` of `List<T>::Node<T>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePart {
    pub name: String,
    /// The arguments of a template, if there are some.
    pub arguments: Option<Vec<String>>,
}

/// What precedes a name where it is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TemplateHead {
    /// The parameters of each `template <…>`, the outermost first. One without a name is empty.
    pub headers: Vec<Vec<String>>,
    /// What the name is qualified by: the innermost last.
    pub qualifiers: Vec<NamePart>,
    /// Whether arguments follow the name, as in a specialization.
    pub has_arguments: bool,
    /// Whether a class declares it, but not as its own.
    pub is_friend: bool,
}

impl TemplateHead {
    /// Whether a template's parameter has this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.headers.iter().flatten().any(|it| it == name)
    }
}

/// What some source declares of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// It does not declare it.
    Nothing,
    /// It is another name of this type.
    Alias(String),
    /// It is something else, or it is not clear what.
    Something,
}

/// The head of the declaration of a class or a function whose name is on this line, from 1. `None`
/// if it is not found, or if several are possible.
pub(super) fn head(
    lines: &[String],
    line: usize,
    name: &str,
    is_function: bool,
) -> Option<TemplateHead> {
    let at = line.checked_sub(1).filter(|at| *at < lines.len())?;
    let (mut text, mut in_comment) = (String::new(), false);
    let first = at.saturating_sub(HEAD_LINES);
    for (index, line) in lines[first..=at].iter().enumerate() {
        if first + index == at {
            text.push(LINE);
        }
        in_comment = add_line(line, in_comment, &mut text);
        text.push(' ');
    }
    // The window may begin within a comment.
    let text = text.rsplit("*/").next()?;
    let (before, last) = text.split_once(LINE)?;
    let word = if name.starts_with("operator") {
        "operator"
    } else {
        name
    };
    let mut found: Option<TemplateHead> = None;
    for (at, after) in words(last, word) {
        let prefix = format!("{before} {}", &last[..at]);
        let Some(head) = head_before(&prefix, after, word, is_function) else {
            continue;
        };
        match &found {
            None if !is_function => return Some(head),
            None => found = Some(head),
            // A call in the body has nothing of this.
            Some(first) => {
                let is_bare = head.headers.is_empty() && head.qualifiers.is_empty();
                if !is_bare && head != *first {
                    return None;
                }
            }
        }
    }
    found
}

/// The head of a name that has this before and after it, if it is declared there.
fn head_before(prefix: &str, after: &str, word: &str, is_function: bool) -> Option<TemplateHead> {
    let after = after.trim_start();
    let has_arguments = after.starts_with('<') && word != "operator";
    let behind = if has_arguments {
        after[1 + arguments_end(&after[1..])? + 1..].trim_start()
    } else {
        after
    };
    if behind.starts_with("::") {
        return None;
    }
    let candidate = prefix.rsplit([';', '{', '}']).next()?;
    let (headers, rest) = headers(candidate)?;
    let rest = rest.trim_end();
    let is_declared = if is_function {
        behind.starts_with('(') || word == "operator"
    } else {
        ["class", "struct", "union"]
            .iter()
            .any(|key| words(rest, key).next().is_some())
    };
    if !is_declared || rest.ends_with(['~', '.', '=', '(', ',']) || rest.ends_with("->") {
        return None;
    }
    Some(TemplateHead {
        headers,
        qualifiers: qualifiers(rest)?,
        has_arguments,
        is_friend: words(rest, "friend").next().is_some(),
    })
}

/// The parameters of the templates that a text begins with, after other words, and what follows.
fn headers(text: &str) -> Option<(Vec<Vec<String>>, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    if let Some((at, _)) = words(text, "template").next() {
        rest = &text[at..];
        if rest.contains(CONDITION) {
            return None;
        }
    }
    while let Some(after) = rest.trim_start().strip_prefix("template") {
        let inside = after.trim_start().strip_prefix('<')?;
        let end = arguments_end(inside)?;
        found.push(
            split(&inside[..end])
                .iter()
                .map(|it| parameter(it))
                .collect(),
        );
        rest = &inside[end + 1..];
    }
    Some((found, rest))
}

/// The name of a template's parameter: `T` of `class T = int`.
fn parameter(text: &str) -> String {
    let mut depth = 0_i32;
    let end = text.find(|letter| {
        depth += i32::from("<([{".contains(letter)) - i32::from(">)]}".contains(letter));
        depth == 0 && letter == '='
    });
    let text = text[..end.unwrap_or(text.len())].trim_end();
    let start = text.rfind(|letter| !is_part(letter)).map_or(0, |at| {
        at + text[at..].chars().next().map_or(1, char::len_utf8)
    });
    match &text[start..] {
        // Those without a name.
        "class" | "typename" => String::new(),
        name => name.to_owned(),
    }
}

/// What qualifies the name that follows a text: `Array<T>::` of `T* Array<T>::`.
fn qualifiers(text: &str) -> Option<Vec<NamePart>> {
    if !text.ends_with("::") {
        return Some(Vec::new());
    }
    let mut depth = 0_i32;
    let start = text.rfind(|letter| {
        depth += i32::from(">)".contains(letter)) - i32::from("<(".contains(letter));
        depth < 0 || depth == 0 && !is_part(letter) && !":<".contains(letter)
    });
    let start = start.map_or(0, |at| at + 1);
    name_parts(text.get(start..text.len() - 2)?)
}

/// The parts of a name: `Traits<T>` and `type` of `Traits<T>::type`. `None` if it is no name.
pub(super) fn name_parts(text: &str) -> Option<Vec<NamePart>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    loop {
        let rest_of = rest.strip_prefix("template ").unwrap_or(rest).trim_start();
        let end = rest_of.find(|letter| !is_part(letter));
        let end = end.unwrap_or(rest_of.len());
        let name = &rest_of[..end];
        if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
            return None;
        }
        let mut part = NamePart {
            name: name.to_owned(),
            arguments: None,
        };
        rest = rest_of[end..].trim_start();
        if let Some(inside) = rest.strip_prefix('<') {
            let end = arguments_end(inside)?;
            part.arguments = Some(split(&inside[..end]));
            rest = inside[end + 1..].trim_start();
        }
        found.push(part);
        match rest.strip_prefix("::") {
            Some(after) => rest = after.trim_start(),
            None => return rest.is_empty().then_some(found),
        }
    }
}

/// Where the `>` is that closes a list of arguments, of which the text has what follows its `<`.
fn arguments_end(text: &str) -> Option<usize> {
    // Of brackets, as `>` within others compares.
    let mut open = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => open.push(letter),
            '<' if open.last().is_none_or(|it| *it == '<') => open.push(letter),
            ')' | ']' | '}' => {
                let opened = open.pop()?;
                if opened == '<' {
                    return None;
                }
            }
            '>' if open.is_empty() => return Some(at),
            '>' if open.last() == Some(&'<') => {
                open.pop();
            }
            _ => {}
        }
    }
    None
}

/// The parts of a list between commas that are in no brackets.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_i32;
    let parts = text.split(|letter: char| {
        depth += i32::from("<([{".contains(letter)) - i32::from(">)]}".contains(letter));
        depth == 0 && letter == ','
    });
    let all: Vec<String> = parts.map(|part| part.trim().to_owned()).collect();
    match all.as_slice() {
        [only] if only.is_empty() => Vec::new(),
        _ => all,
    }
}

/// What the body of a class declares of a name, if its own name is on this line, from 1. What is in
/// its members is not looked at.
pub(super) fn declared_in_class(lines: &[String], line: usize, name: &str) -> Declared {
    let Some(rest) = line.checked_sub(1).and_then(|at| lines.get(at..)) else {
        return Declared::Something;
    };
    let (mut body, mut depth, mut in_comment) = (String::new(), 0, false);
    for line in rest {
        let mut code = String::new();
        in_comment = add_line(line, in_comment, &mut code);
        for letter in code.chars() {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            match depth {
                0 if letter == '}' => return declared(&body, name),
                // A declaration without a body.
                0 if letter == ';' => return Declared::Something,
                // What is in a member is only a pair of braces.
                1 => body.push(letter),
                2 if letter == '{' => body.push(letter),
                _ => {}
            }
        }
        body.push(' ');
    }
    Declared::Something
}

/// What some lines declare of a name: from a line to another, from 1.
pub(super) fn declared_between(
    lines: &[String],
    (first, last): (usize, usize),
    name: &str,
) -> Declared {
    let range = first.checked_sub(1).zip(Some(last));
    match range.and_then(|(first, last)| lines.get(first..last)) {
        Some(lines) => declared(&code(lines.iter()), name),
        None => Declared::Something,
    }
}

/// What code declares of a name. It is an alias only if the source has nothing else for the name.
fn declared(text: &str, name: &str) -> Declared {
    let mut found = Declared::Nothing;
    let mut add = |one: Declared| {
        found = match found {
            Declared::Nothing => one,
            _ => Declared::Something,
        }
    };
    for (_, after) in words(text, "typedef") {
        let statement = statement(after);
        let names = split(statement);
        if names.iter().any(|it| declarator(it) == name) {
            add(match names.len() {
                1 => alias(text, statement.trim().strip_suffix(name)),
                _ => Declared::Something,
            });
        }
    }
    for (at, after) in words(text, "using") {
        let statement = after.split(';').next().unwrap_or(after);
        let (left, right) = match statement.split_once('=') {
            Some((left, right)) => (left, Some(right)),
            None => (statement, None),
        };
        if words(left, name).any(|(_, rest)| rest.trim().is_empty()) {
            let is_template = text[..at].trim_end().ends_with('>');
            add(alias(text, right.filter(|_| !is_template)));
        }
    }
    for key in ["class", "struct", "union", "enum"] {
        for (_, after) in words(text, key) {
            if declares_type(after, name) {
                add(Declared::Something);
            }
        }
    }
    found
}

/// Whether what follows `class` declares a type of a name. Parameters of templates are none.
fn declares_type(after: &str, name: &str) -> bool {
    let end = after.find([';', '{', '}']).unwrap_or(after.len());
    let Some((at, rest)) = words(&after[..end], name).next() else {
        return false;
    };
    // Attributes and macros.
    let between = after[..at].trim();
    let is_own =
        between.is_empty() || between.ends_with(|letter| is_part(letter) || ")]".contains(letter));
    let rest = rest.trim_start();
    let is_base = rest.starts_with(':') && !rest.starts_with("::");
    let is_end = rest.is_empty() && !after[end..].starts_with('}');
    is_own
        && !between.contains(['<', '>', ',', ':'])
        && (is_base || is_end || rest.starts_with("final"))
}

/// The text up to the `;` that ends a statement.
fn statement(text: &str) -> &str {
    let mut depth = 0_i32;
    let end = text.find(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth < 0 || depth == 0 && letter == ';'
    });
    &text[..end.unwrap_or(text.len())]
}

/// An alias of a type, unless it depends on something.
fn alias(text: &str, kind: Option<&str>) -> Declared {
    match kind.map(str::trim) {
        Some(kind) if !text.contains(CONDITION) && !kind.contains('{') => {
            Declared::Alias(kind.to_owned())
        }
        _ => Declared::Something,
    }
}

/// The name that a declarator declares: `row` of `T row[3]`, `call` of `T (*call)(int)`.
fn declarator(text: &str) -> &str {
    let text = match text.split_once("(*") {
        Some((_, inside)) => inside.split(')').next().unwrap_or(inside),
        None => text.split('[').next().unwrap_or(text),
    };
    let text = text.trim_end();
    let start = text.rfind(|letter| !is_part(letter));
    let start = start.map_or(0, |at| {
        at + text[at..].chars().next().map_or(1, char::len_utf8)
    });
    &text[start..]
}

/// Code without comments, and without what is in texts. Conditions become [`CONDITION`].
fn code<'l>(lines: impl Iterator<Item = &'l String>) -> String {
    let mut found = String::new();
    let mut in_comment = false;
    for line in lines {
        in_comment = add_line(line, in_comment, &mut found);
        found.push(' ');
    }
    found
}

/// Adds a line's code as [`code`] has it. It is told whether a comment goes on, and returns whether
/// one goes on after the line.
fn add_line(line: &str, in_comment: bool, found: &mut String) -> bool {
    let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
    match directive.filter(|_| !in_comment) {
        None => add_code(line, in_comment, found),
        Some(directive) => {
            if ["if", "el", "en"]
                .iter()
                .any(|it| directive.starts_with(it))
            {
                found.push(CONDITION);
            }
            false
        }
    }
}

/// Adds the code of a line that is none of the preprocessor.
fn add_code(line: &str, in_comment: bool, found: &mut String) -> bool {
    let mut in_comment = in_comment;
    let mut quote = None;
    let mut letters = line.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match (in_comment, quote) {
            (true, _) => {
                if letter == '*' && next == Some('/') {
                    in_comment = false;
                    letters.next();
                }
            }
            (_, Some(_)) if letter == '\\' => drop(letters.next()),
            (_, Some(opened)) => {
                if letter == opened {
                    quote = None;
                    found.push(letter);
                }
            }
            _ if letter == '/' && next == Some('/') => return false,
            _ if letter == '/' && next == Some('*') => {
                in_comment = true;
                letters.next();
            }
            _ => {
                // 1'000 is a number.
                if letter == '"' || letter == '\'' && !last.is_alphanumeric() {
                    quote = Some(letter);
                }
                found.push(letter);
            }
        }
        last = letter;
    }
    in_comment
}

/// The names in a text.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(|letter| !is_part(letter));
    all.filter(|name| name.starts_with(|it: char| it.is_alphabetic() || it == '_'))
}

/// The places of a word in a text, with what follows it.
fn words<'s>(text: &'s str, word: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
    let all = text.match_indices(word);
    all.filter_map(move |(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        is_word.then_some((at, after))
    })
}

/// Whether a name can have this letter.
fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of what the last line declares, as text: parameters, qualifiers, and whether there
    /// are arguments.
    fn text(source: &str, name: &str, is_function: bool) -> Option<String> {
        let lines: Vec<String> = source.lines().map(str::to_owned).collect();
        let head = head(&lines, lines.len(), name, is_function)?;
        let headers: Vec<String> = head.headers.iter().map(|it| it.join(",")).collect();
        let part = |part: &NamePart| match &part.arguments {
            Some(arguments) => format!("{}<{}>", part.name, arguments.join(",")),
            None => part.name.clone(),
        };
        let qualifiers: Vec<String> = head.qualifiers.iter().map(part).collect();
        let end = if head.has_arguments { "<>" } else { "" };
        let friend = if head.is_friend { "friend " } else { "" };
        Some(format!(
            "{friend}{} {}{end}",
            headers.join("|"),
            qualifiers.join("::")
        ))
    }

    #[test]
    fn functions_have_the_parameters_of_what_they_are_declared_in() {
        for (source, expected) in [
            ("void f(int n) {", Some(" ")),
            ("template <class T> T *f(T n) { return f(n); }", Some("T ")),
            (
                "template<typename T, int N = (3 > 2)>\ninline T *\nf(int)",
                Some("T,N "),
            ),
            ("template <class T> void A<T>::f(int n)", Some("T A<T>")),
            (
                "template <class A, class B> template <class U>\nvoid ns::S<B, A>::In::f(U n)",
                Some("A,B|U ns::S<B,A>::In"),
            ),
            ("template <> void A<int>::f(int)", Some(" A<int>")),
            ("template <> void f<int>(int)", Some(" <>")),
            ("int a; template <class X> struct B; void f()", Some(" ")),
            (
                "template <template <class> class C, class... Ts> void f()",
                Some("C,Ts "),
            ),
            (
                "template <class, class = void, typename T = int> void f()",
                Some(",,T "),
            ),
            ("/* template <class T> */ // class T {\nvoid f()", Some(" ")),
            (
                "template <class T, /* of\n{ */ class U> void f()",
                Some("T,U "),
            ),
            ("friend T *f(A<T> &)", Some("friend  ")),
            (
                "#if A\ntemplate <class T>\n#else\ntemplate <class U>\n#endif\nvoid f()",
                None,
            ),
            (
                "template <class T> void f(T); template <class U> void f(U *);",
                None,
            ),
            ("g(1);", None),
            ("x.f(1);", None),
        ] {
            assert_eq!(text(source, "f", true).as_deref(), expected, "{source}");
        }
        let operator = "template <class T> bool A<T>::operator<(int)";
        assert_eq!(text(operator, "operator<", true).as_deref(), Some("T A<T>"));
        let made = "template <class T>\nA<T>::A(int n) : b(new T[n]), c(A(3)) {";
        assert_eq!(text(made, "A", true).as_deref(), Some("T A<T>"));
    }

    #[test]
    fn classes_have_the_parameters_of_their_templates() {
        for (source, expected) in [
            ("template <class T> class A : public B<A<T>> {", Some("T ")),
            ("template <class T>\nstruct alignas(16) A", Some("T ")),
            ("template <class T> struct A<T *> {", Some("T <>")),
            ("template <> struct A<int> {", Some(" <>")),
            ("template <class T> struct L<T>::A {", Some("T L<T>")),
            ("A a;", None),
        ] {
            assert_eq!(text(source, "A", false).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn classes_declare_types() {
        let alias = |kind: &str| Declared::Alias(kind.to_owned());
        for (body, expected) in [
            ("int n; N *next; struct Node { int N; };", Declared::Nothing),
            ("typedef T N;", alias("T")),
            ("typedef const T N; N n;", alias("const T")),
            ("using N = Pair<T, int>;", alias("Pair<T, int>")),
            ("using N = T;\n#if A\n#endif", Declared::Something),
            ("typedef T N; typedef U N;", Declared::Something),
            ("typedef T M, N;", Declared::Something),
            ("typedef T N[3];", Declared::Something),
            ("typedef T (*N)(int);", Declared::Something),
            ("typedef struct { int a; } N;", Declared::Something),
            ("template <class U> using N = U;", Declared::Something),
            ("using Base<T>::N;", Declared::Something),
            ("struct N;", Declared::Something),
            ("class EXPORT N final : M { };", Declared::Something),
            ("enum class N : int { A };", Declared::Something),
            (
                "template <class N> void f(); struct N *p;",
                Declared::Nothing,
            ),
            (
                "struct M { typedef T N; }; void f() { struct N { }; }",
                Declared::Nothing,
            ),
            (
                "const char *text = \"typedef T N;\"; // typedef T N;",
                Declared::Nothing,
            ),
        ] {
            let source =
                format!("template <class T>\nclass A : B<T> {{\n{body}\n}};\nusing N = int;");
            let lines: Vec<String> = source.lines().map(str::to_owned).collect();
            assert_eq!(declared_in_class(&lines, 2, "N"), expected, "{body}");
        }
        let lines = ["struct A;".to_owned()];
        assert_eq!(declared_in_class(&lines, 1, "N"), Declared::Something);
        assert_eq!(declared_in_class(&lines, 7, "N"), Declared::Something);
        assert_eq!(declared_between(&lines, (0, 1), "N"), Declared::Something);
        assert_eq!(declared_between(&lines, (1, 1), "A"), Declared::Something);
        assert_eq!(declared_between(&lines, (1, 1), "N"), Declared::Nothing);
    }

    #[test]
    fn any_text_is_read() {
        let pieces = [
            "template", "<", ">", "::", "f", "(", "T", ",", "{", "}", "\"", "'", "\n", "*/",
        ];
        let mut state = 1_u32;
        for _ in 0..5000 {
            let mut source = String::new();
            for _ in 0..state % 23 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                source.push_str(pieces[(state >> 16) as usize % pieces.len()]);
                source.push_str([" ", "é", ""][(state >> 8) as usize % 3]);
            }
            state = state.wrapping_add(1);
            let lines: Vec<String> = source.lines().map(str::to_owned).collect();
            let at = lines.len();
            // Whatever is found, it is one of the names that the text has.
            for head in [head(&lines, at, "f", true), head(&lines, at, "T", false)] {
                for name in head.iter().flat_map(|head| head.headers.iter().flatten()) {
                    assert!(source.contains(name.as_str()), "{name} in {source}");
                }
            }
            let declared = declared_in_class(&lines, 1, "T");
            if let Declared::Alias(kind) = declared {
                assert!(
                    source.contains("typedef") || source.contains("using"),
                    "{kind}"
                );
            }
            name_parts(&source);
        }
    }
}
