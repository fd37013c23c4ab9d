//! The types and variables that a statement of source names which allocates a block.
//!
//! C, C++ and Fortran; by patterns, without a parser. What a statement does not show clearly is not
//! named.

use reuselens_profile::DataLayout;

/// Lines before and after a line that a statement may have.
const MORE_LINES: usize = 3;

/// What a statement names that shows the type of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mentioned {
    /// The block has elements of the type of this name.
    Type(String),
    /// The block has pointers.
    Pointer,
    /// The block belongs to this variable or member, after this many `[…]` of it.
    Variable { name: String, steps: usize },
}

/// A pointer to anything.
pub(super) fn pointer() -> DataLayout {
    DataLayout {
        name: "pointer".into(),
        bytes: 8,
        fields: Vec::new(),
    }
}

/// The statement that a line is part of, on one line and without comments.
pub(super) fn around(lines: &[String], line: usize) -> String {
    let code = |at: usize| lines[at].split("//").next().unwrap_or("").trim();
    let ends = |text: &str| text.is_empty() || text.ends_with([';', '{', '}', ':']);
    let mut first = line;
    while first > 0
        && line - first < MORE_LINES
        && !ends(code(first - 1))
        && !code(first - 1).starts_with('#')
        && !code(first - 1).ends_with(')')
    {
        first -= 1;
    }
    let mut last = line;
    while last + 1 < lines.len() && last - line < MORE_LINES && !ends(code(last)) {
        last += 1;
    }
    let parts: Vec<&str> = (first..=last).map(code).collect();
    parts.join(" ")
}

/// The statement of Fortran that begins on a line: lines that go on end with `&`.
pub(super) fn around_fortran(lines: &[String], line: usize) -> String {
    let code = |at: usize| lines[at].split('!').next().unwrap_or("").trim();
    let mut last = line;
    while last + 1 < lines.len() && last - line < MORE_LINES && code(last).ends_with('&') {
        last += 1;
    }
    let parts: Vec<&str> = (line..=last).map(|at| code(at).trim_matches('&')).collect();
    parts.join(" ")
}

/// Whether a file is of Fortran, by its name.
pub(super) fn is_fortran(file: &str) -> bool {
    const ENDS: [&str; 6] = ["f", "for", "f90", "f95", "f03", "f08"];
    let end = file.rsplit_once('.').map_or("", |(_, end)| end);
    ENDS.contains(&end.to_lowercase().as_str())
}

/// Whether a statement does no more with a block than to return it.
pub(super) fn only_returns(statement: &str) -> bool {
    statement
        .split([';', '{', '}'])
        .any(|part| part.trim_start().starts_with("return"))
}

/// What a statement names.
pub(super) fn mentioned(statement: &str) -> Vec<Mentioned> {
    let mut found = allocated(statement);
    if !found.is_empty() {
        return found;
    }
    for (_, after) in matches(statement, "sizeof") {
        let argument = after
            .trim_start()
            .strip_prefix('(')
            .and_then(|it| it.split(')').next());
        found.extend(argument.and_then(type_text));
    }
    for (_, after) in matches(statement, "new") {
        found.extend(type_text(after_new(after.trim_start())));
    }
    found.extend(casts(statement));
    if let Some((left, _)) = assignment(statement) {
        found.extend(declared(left).or_else(|| variable(left)));
    }
    found
}

/// The type that `new` makes, of which this follows it: `T` of `(std::nothrow) T[n]`.
fn after_new(text: &str) -> &str {
    let placement = text.strip_prefix('(').and_then(argument);
    let start = placement.map_or(0, |inside| inside.len() + 2);
    let text = text[start..].trim_start();
    let mut depth = 0_i32;
    let end = text.find(|letter| {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        depth <= 0 && "[({;,)".contains(letter)
    });
    &text[..end.unwrap_or(text.len())]
}

/// The places of a word in a statement, with what follows it.
fn matches<'s>(statement: &'s str, word: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let all = statement.match_indices(word);
    all.filter_map(move |(at, _)| {
        let (before, after) = (&statement[..at], &statement[at + word.len()..]);
        let is_word = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
        is_word.then_some((at, after))
    })
}

/// The type that a text is: `struct node`, `grid::Cell`, `double *`. None if it is no name of a
/// type, such as `*p`.
fn type_text(text: &str) -> Option<Mentioned> {
    let words = text.split_whitespace().filter(|word| {
        ![
            "const", "volatile", "struct", "union", "class", "enum", "typename",
        ]
        .contains(word)
    });
    let name = words.collect::<Vec<_>>().join(" ");
    if let Some(before) = name.strip_suffix('*') {
        let is_type = before.starts_with(|c: char| c.is_alphabetic() || c == '_');
        return is_type.then_some(Mentioned::Pointer);
    }
    is_type_name(&name).then_some(Mentioned::Type(name))
}

/// Whether a text can be the name of a type.
fn is_type_name(name: &str) -> bool {
    let is_start = |letter: char| letter.is_alphabetic() || letter == '_';
    let is_part = |letter: char| letter.is_alphanumeric() || "_:<>, *".contains(letter);
    name.starts_with(is_start) && name.chars().all(is_part)
}

/// The types that casts to pointers name: `(T *)`, `static_cast<T *>`.
fn casts(statement: &str) -> Vec<Mentioned> {
    let pointee = |text: &str| type_text(text.trim().strip_suffix('*')?.trim_end());
    let mut found = Vec::new();
    for (at, _) in statement.match_indices('(') {
        // An argument list of a function comes after a name, a cast does not.
        let before = statement[..at].trim_end().chars().next_back();
        let is_call = before.is_some_and(|it| it.is_alphanumeric() || "_)]>".contains(it));
        let inside = statement[at + 1..].split([')', '(']).next().unwrap_or("");
        let has_end = statement[at + 1 + inside.len()..].starts_with(')');
        if !is_call && has_end {
            found.extend(pointee(inside));
        }
    }
    for cast in ["static_cast<", "reinterpret_cast<"] {
        for (at, _) in statement.match_indices(cast) {
            let inside = argument(&statement[at + cast.len()..]);
            found.extend(inside.and_then(pointee));
        }
    }
    found
}

/// The two sides of the first assignment of a statement.
fn assignment(statement: &str) -> Option<(&str, &str)> {
    let is_plain = |at: usize| {
        let before = statement[..at].chars().next_back();
        let after = statement[at + 1..].chars().next();
        !before.is_some_and(|it| "=!<>+-*/%&|^".contains(it)) && after != Some('=')
    };
    let places = statement.match_indices('=').map(|(at, _)| at);
    let at = places.into_iter().find(|at| is_plain(*at))?;
    let left = statement[..at].rsplit([';', '{', '}', '(']).next()?;
    Some((left.trim(), &statement[at + 1..]))
}

/// The type that a declaration gives what its variable points to: `struct node *list`.
fn declared(left: &str) -> Option<Mentioned> {
    let (kind, name) = left.rsplit_once('*')?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = name.trim();
    let name = ["const ", "restrict ", "__restrict "]
        .iter()
        .fold(name, |name, word| name.trim_start_matches(word));
    let is_declaration = !name.is_empty() && name.chars().all(is_name) && !kind.trim().is_empty();
    is_declaration.then(|| type_text(kind.trim())).flatten()
}

/// The variable or the member that is assigned: `node->children[i]` is the member `children`.
fn variable(left: &str) -> Option<Mentioned> {
    let last = left.split_whitespace().next_back()?;
    let last = last.rsplit(['.', '>']).next()?;
    let name = last.split('[').next()?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| Mentioned::Variable {
        name: name.to_owned(),
        steps: last.matches('[').count(),
    })
}

/// The variables of a Fortran statement, `allocate(particles(n), cells(2, m))`.
fn allocated(statement: &str) -> Vec<Mentioned> {
    let lower = statement.to_lowercase();
    let start = lower.trim_start();
    let Some(arguments) = start.strip_prefix("allocate").map(str::trim_start) else {
        return Vec::new();
    };
    let Some(arguments) = arguments.strip_prefix('(') else {
        return Vec::new();
    };
    let mut depth = 0_i32;
    let parts = arguments.split(|letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0 && letter == ','
    });
    let name = |part: &str| {
        let name = part.split('(').next()?.rsplit(['%', ':']).next()?.trim();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_variable = part.contains('(') && !name.is_empty() && name.chars().all(is_name);
        is_variable.then(|| Mentioned::Variable {
            name: name.to_owned(),
            steps: 0,
        })
    };
    parts.filter_map(name).collect()
}

/// The variables that a statement allocates, in the order of the allocations. Empty if it shows
/// none clearly.
pub(super) fn allocated_names(statement: &str, is_fortran: bool) -> Vec<String> {
    if is_fortran {
        return fortran_names(statement).unwrap_or_default();
    }
    simple_statements(statement)
        .flat_map(declared_names)
        .collect()
}

/// The variables in the lists of `allocate`; `None` if one of them is not clear.
fn fortran_names(statement: &str) -> Option<Vec<String>> {
    let allocates = matches(statement, "allocate");
    let lists = allocates.chain(matches(statement, "ALLOCATE"));
    let lists = lists.filter_map(|(_, after)| argument(after.trim_start().strip_prefix('(')?));
    let variables = lists.flat_map(|list| parts(list).into_iter().map(designator));
    variables
        .filter(|name| *name != Some(String::new()))
        .collect()
}

/// The parts of a list of arguments or declarators.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = list.split(|letter: char| {
        depth += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
        depth == 0 && letter == ','
    });
    parts.map(str::trim).collect()
}

/// The variable of a part of Fortran's `allocate`: `grid%cells` of `grid%cells(2, n)`. Empty for an
/// option (`stat=i`), `None` for what is no name.
fn designator(part: &str) -> Option<String> {
    let part = part.rsplit("::").next()?.trim();
    let name = match part.strip_suffix(')') {
        // The shape is the last list of arguments.
        Some(_) => {
            let mut depth = 0_i32;
            let shape = part.char_indices().rev().find(|(_, letter)| {
                depth += i32::from(*letter == ')') - i32::from(*letter == '(');
                depth == 0
            });
            part[..shape?.0].trim_end()
        }
        None => part,
    };
    if name.contains('=') {
        return Some(String::new());
    }
    let is_part = |letter: char| letter.is_alphanumeric() || "_%(), ".contains(letter);
    let is_name = name.starts_with(char::is_alphabetic) && name.chars().all(is_part);
    is_name.then(|| name.to_lowercase())
}

/// The statements of a text of C that end in it.
fn simple_statements(text: &str) -> impl Iterator<Item = &str> {
    let ended = text.split_inclusive([';', '{', '}']);
    ended
        .filter_map(|part| part.strip_suffix(';'))
        .map(str::trim)
}

/// The variables of a statement of C that it allocates by a call each: `a` and `b` of `double *a =
/// malloc(n), *b = malloc(n)` and of `std::vector<double> a(n), b(n)`.
fn declared_names(statement: &str) -> Vec<String> {
    // Commas within the type are none between declarators.
    let kind = statement.find('<').filter(|at| {
        let before = &statement[..*at];
        is_type_name(before) && !before.contains(' ')
    });
    let inside = kind.and_then(|at| argument(&statement[at + 1..]).map(|it| at + it.len() + 2));
    let (kind, rest) = statement.split_at(inside.unwrap_or(0));
    let mut has_type = !kind.is_empty();
    let mut names = Vec::new();
    for part in parts(rest) {
        let (left, is_allocated) = match assignment(part) {
            Some((left, right)) => (left, calls(right) == 1),
            None => match part.split_once('(') {
                Some((left, arguments)) => {
                    has_type |= left.trim().contains(' ');
                    (left, has_type && !arguments.starts_with(')'))
                }
                None => continue,
            },
        };
        let name = left.rsplit([' ', '*', '&']).next().unwrap_or("");
        if is_allocated && name.starts_with(|it: char| it.is_alphabetic() || it == '_') {
            names.push(name.to_owned());
        }
    }
    names
}

/// The calls of an expression, without those within their arguments; `new` is one.
fn calls(expression: &str) -> usize {
    if matches(expression, "new").next().is_some() {
        return 1;
    }
    let mut depth = 0_i32;
    let mut before = ' ';
    let mut count = 0;
    for letter in expression.chars() {
        let is_call = letter == '(' && depth == 0 && (before.is_alphanumeric() || before == '_');
        count += usize::from(is_call);
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        before = if letter == ' ' { before } else { letter };
    }
    count
}

/// The type whose elements a function of a standard library allocates, by the function's name.
pub(super) fn type_argument(function: &str) -> Option<&str> {
    if let Some((_, text)) = function.split_once("allocator<")
        && let Some(inside) = argument(text)
        && text[inside.len() + 1..].starts_with("::allocate")
    {
        return Some(inside.trim());
    }
    // These have no allocator.
    for maker in ["std::make_unique<", "std::make_unique_for_overwrite<"] {
        if let Some((_, text)) = function.split_once(maker) {
            let kind = argument(text)?.trim();
            return Some(kind.strip_suffix("[]").unwrap_or(kind).trim_end());
        }
    }
    const HOLDERS: [&str; 4] = ["RawVec<", "vec::Vec<", "boxed::Box<", "vec::from_elem::<"];
    let text = HOLDERS
        .iter()
        .find_map(|holder| function.split_once(holder));
    let inside = text
        .filter(|_| is_of_rust(function))
        .and_then(|(_, text)| argument(text))?;
    Some(first_of(inside).trim())
}

/// The parameter of a function of Rust's library that its type argument is, or is a slice of: `T`
/// of `Vec<T>` and of `Box<[T]>`. rustc's legacy mangling has parameters where others have types.
pub(super) fn type_parameter<'n>(function: &str, argument: &'n str) -> Option<&'n str> {
    let slice = argument
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let name = slice.unwrap_or(argument);
    let is_parameter = name.len() == 1 && name.starts_with(|it: char| it.is_ascii_uppercase());
    (is_parameter && is_of_rust(function)).then_some(name)
}

/// Whether a function is one of Rust's library for memory.
fn is_of_rust(function: &str) -> bool {
    function.trim_start_matches('<').starts_with("alloc::")
}

/// The text up to the `>` that closes a list of arguments.
fn argument(text: &str) -> Option<&str> {
    let mut depth = 0_i32;
    let end = text.find(|letter| {
        depth += i32::from("<([".contains(letter)) - i32::from(">)]".contains(letter));
        depth < 0
    })?;
    Some(&text[..end])
}

/// The first of some arguments.
fn first_of(arguments: &str) -> &str {
    let mut depth = 0_i32;
    let end = arguments.find(|letter| {
        depth += i32::from("<([".contains(letter)) - i32::from(">)]".contains(letter));
        depth == 0 && letter == ','
    });
    &arguments[..end.unwrap_or(arguments.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a statement names, as text.
    fn text(statement: &str) -> String {
        let one = |mention: Mentioned| match mention {
            Mentioned::Type(name) => name,
            Mentioned::Pointer => "*".into(),
            Mentioned::Variable { name, steps } => format!("{name}/{steps}"),
        };
        let all: Vec<String> = mentioned(statement).into_iter().map(one).collect();
        all.join(" ")
    }

    #[test]
    fn statements_name_types_and_variables() {
        for (statement, expected) in [
            ("struct node *n = malloc(sizeof(struct node));", "node node"),
            (
                "Entry *e = (Entry *)calloc(n, sizeof(Entry));",
                "Entry Entry Entry",
            ),
            ("double **rows = malloc(n * sizeof(double *));", "* *"),
            ("t->rows[i] = malloc(n);", "rows/1"),
            (
                "cells = static_cast<grid::Cell*>(std::malloc(n));",
                "grid::Cell cells/0",
            ),
            ("auto *p = new grid::Cell[n];", "grid::Cell auto"),
            ("keep(new (std::nothrow) Pair<K, V>[n]);", "Pair<K, V>"),
            ("keep(new typename List<T>::Node);", "List<T>::Node"),
            ("keep(new T, new T(1), new T{2}, new T*[3]);", "T T T *"),
            ("p = xmalloc(n * sizeof *p);", "p/0"),
            ("allocate(particles(n), stat=i)", "particles/0"),
            ("ALLOCATE ( grid%cells(2, n) )", "cells/0"),
            ("return malloc(n);", ""),
            ("if ((p = malloc(n)) == NULL) return;", "p/0"),
            ("use(malloc(n));", ""),
            ("renew(x);", ""),
        ] {
            assert_eq!(text(statement), expected, "{statement}");
        }
        assert!(only_returns("{ return malloc(n); }"));
        assert!(!only_returns("p = malloc(n);"));
    }

    #[test]
    fn variables_of_one_statement_are_named_in_their_order() {
        for (statement, expected) in [
            ("double *a = malloc(n * 8), *b = malloc(m * 8);", "a b"),
            ("std::vector<double> cold(n), hot(n);", "cold hot"),
            ("std::map<int, T> a(f(n), 2), b(n), c;", "a b"),
            (
                "int main() { size_t n = 9; std::vector<int> a(n), b(n);",
                "a b",
            ),
            (
                "int main(int c, char **v) { a = make(n), b = make(n);",
                "a b",
            ),
            ("p->a = (T *)calloc(n, 8); p->b = new T[n];", "p->a p->b"),
            ("ALLOC2(cold, hot, n);", ""),
            ("x = 3, f(a), g(b);", ""),
        ] {
            assert_eq!(
                allocated_names(statement, false).join(" "),
                expected,
                "{statement}"
            );
        }
        for (statement, expected) in [
            ("allocate(hot(n), cold(n))", "hot cold"),
            ("ALLOCATE ( Grid%cells(2, n), STAT=i )", "grid%cells"),
            (
                "if (.not. allocated(a)) allocate(real(8) :: a(n), b(2, m), source=f(x))",
                "a b",
            ),
            ("allocate(t(i)%list(n), node)", "t(i)%list node"),
            ("deallocate(a, b)", ""),
            ("allocate(a(n)); allocate(b(n))", "a b"),
        ] {
            assert_eq!(
                allocated_names(statement, true).join(" "),
                expected,
                "{statement}"
            );
        }
    }

    #[test]
    fn functions_of_libraries_name_the_type_of_their_elements() {
        for (function, expected) in [
            (
                "std::__new_allocator<Node>::allocate(unsigned long, void const*)",
                Some("Node"),
            ),
            (
                "__gnu_cxx::new_allocator<std::pair<int const, N> >::allocate(unsigned long)",
                Some("std::pair<int const, N>"),
            ),
            (
                "std::vector<Node, std::allocator<Node> >::reserve(unsigned long)",
                None,
            ),
            (
                "<alloc::raw_vec::RawVec<prog::Node>>::grow_one",
                Some("prog::Node"),
            ),
            (
                "<alloc::vec::Vec<prog::Cell<u8, 3>, A>>::with_capacity",
                Some("prog::Cell<u8, 3>"),
            ),
            ("alloc::vec::from_elem::<prog::Node>", Some("prog::Node")),
            ("<alloc::boxed::Box<prog::Node>>::new", Some("prog::Node")),
            (
                "std::__detail::__unique_ptr_array_t<N []> std::make_unique<N []>(unsigned long)",
                Some("N"),
            ),
            ("alloc::alloc::exchange_malloc", None),
        ] {
            assert_eq!(type_argument(function), expected, "{function}");
        }
    }

    #[test]
    fn a_statement_of_fortran_has_its_continuations() {
        let lines = ["n = 3", "allocate(a(n), & ! both", "  & b(n))", "a = 1"].map(str::to_owned);
        assert_eq!(text(&around_fortran(&lines, 1)), "a/0 b/0");
        assert!(is_fortran("src/grid.F90") && !is_fortran("src/grid.c"));
    }

    #[test]
    fn a_statement_has_all_of_its_lines() {
        let lines = "int n;\nEntry *e =\n    malloc(n *\n    sizeof(Entry)); // all\nuse(e);";
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        for line in 1..=3 {
            assert_eq!(
                around(&lines, line),
                "Entry *e = malloc(n * sizeof(Entry));"
            );
        }
    }
}
