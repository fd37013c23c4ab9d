//! [`SourceTexts`]: which variable keeps an allocation, read from the line of source that makes it.
//!
//! Debug information has no names for blocks of the heap or of a device, and people know them by
//! the variables that point to them. What a line does not show clearly has no name.

use std::collections::BTreeMap;
use std::path::Path;

use reuselens::io::open_regular_file;
use reuselens_advice::SourcePlace;

/// The most bytes of a source file that is read.
const MOST: u64 = 4 << 20;

/// Which of the objects that come from one line; they are made in the order of its calls.
#[derive(Clone, Copy)]
pub struct Nth {
    /// From 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

/// Lines of source files, read when they are asked for.
#[derive(Default)]
pub struct SourceTexts {
    files: BTreeMap<String, Vec<String>>,
}

impl SourceTexts {
    /// The variable that a call of `callee` on a line (`file:line`) allocates for. An empty
    /// `callee` is an allocator, whatever it is called. Of several such calls on the line it is
    /// the one that `nth` says, if there are as many calls as objects.
    pub fn variable(&mut self, place: &str, callee: &str, nth: Nth) -> Option<String> {
        let SourcePlace { file, line, .. } = SourcePlace::parse(place)?;
        let line = usize::try_from(line).ok()?;
        let lines = self.files.entry(file.to_owned()).or_insert_with(|| {
            let file = open_regular_file(Path::new(file)).ok();
            let text = file
                .filter(|(_, bytes)| *bytes < MOST)
                .and_then(|(file, _)| std::io::read_to_string(file).ok());
            text.unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect()
        });
        let line = lines.get(line.checked_sub(1)?)?;
        let variables = if file.ends_with(".py") {
            targets(line)
        } else {
            variables(line, callee)
        };
        match variables.len() {
            1 => variables.into_iter().next().flatten(),
            calls if calls == nth.count => variables.into_iter().nth(nth.index).flatten(),
            _ => None,
        }
    }
}

/// The variables that the calls of `callee` in a line of source allocate for, in order: `p` in
/// `cudaMalloc((void **)&p, n)`, `float *p = (float *)malloc(n)`, `p = upload(data, n)`,
/// `std::vector<int> p(n)` and `p.push_back(3)`. None for a call without a variable.
fn variables(line: &str, callee: &str) -> Vec<Option<String>> {
    let calls = calls(line, callee);
    if calls.is_empty() {
        return containers(line);
    }
    let one = |&call: &usize| address(line, call).or_else(|| assigned(&line[..call]));
    calls.iter().map(one).collect()
}

/// The variables that a statement of Python assigns to, in order: `a` and `b` in
/// `a, b = pair(x, y=1)`. One without a name for a statement that assigns to nothing or to a part
/// of an array (`a[:] = 0`), and for several statements.
fn targets(line: &str) -> Vec<Option<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_.[],".contains(c);
    let Some((left, right)) = line.split_once('=') else {
        return vec![None];
    };
    // Others than `a == b`, `a += b` and `f(a=b)`; `a: int = b` has a type.
    let left = left.split(':').next().unwrap_or(left);
    let is_slice = left.contains('[') && !left.contains(']');
    if is_slice || line.contains(';') {
        return vec![None];
    }
    if right.starts_with('=') || !left.chars().all(is_part) {
        return vec![None];
    }
    let names = left.split(',').map(str::trim);
    names
        .map(|name| (!name.is_empty()).then(|| name.to_owned()))
        .collect()
}

/// Where the calls of a function in a line have the ends of its name; those of allocators if
/// `callee` is empty.
fn calls(line: &str, callee: &str) -> Vec<usize> {
    // `upload` of `int* ns::upload<int>`, which is how templates come with their result type.
    let callee = name_before(callee.split('<').next().unwrap_or(callee));
    let is_allocator = |name: &str| {
        let name = name.to_lowercase();
        name.ends_with("alloc") || name.contains("cudamalloc") || name.contains("hostalloc")
    };
    let ends = line.match_indices(['(', '<']).map(|(at, _)| at);
    let is_wanted = |end: &usize| match (callee, name_before(&line[..*end])) {
        ("", name) => is_allocator(name),
        (callee, name) => name == callee,
    };
    ends.filter(is_wanted).collect()
}

/// The identifier that a text ends with; empty if it does not.
fn name_before(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.rfind(|c| !is_part(c)).map_or(text, |at| {
        let after = at + text[at..].chars().next().map_or(1, char::len_utf8);
        &text[after..]
    })
}

/// The variable whose address is the first argument of the call whose name ends at `call`.
fn address(line: &str, call: usize) -> Option<String> {
    let arguments = line[call..].split_once('(')?.1;
    let (before, after) = arguments.split_once('&')?;
    if before.contains(',') {
        return None;
    }
    let end = after.find(|c| !is_expression(c)).unwrap_or(after.len());
    let name = after[..end].trim_end_matches(['-', '>', '.']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The variable that a line assigns to before a call: what is left of the last `=`.
fn assigned(before_call: &str) -> Option<String> {
    let (left, right) = before_call.rsplit_once('=')?;
    let is_comparison = left.ends_with(['=', '!', '<', '>']) || right.contains([';', '{']);
    if is_comparison {
        return None;
    }
    let left = left.trim_end();
    let start = left.rfind(|c| !is_expression(c)).map_or(0, |at| at + 1);
    let name = left.get(start..)?.trim_start_matches(['-', '>', '.']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// What a line without a call of an allocator allocates for: `new`, or standard containers that it
/// declares or grows.
fn containers(line: &str) -> Vec<Option<String>> {
    const GROWING: [&str; 5] = ["push_back", "emplace_back", "resize", "assign", "reserve"];
    if let Some((before, _)) = line.split_once("= new ") {
        return vec![assigned(&format!("{before}="))];
    }
    for call in GROWING {
        if let Some(at) = line.find(&format!(".{call}(")) {
            let name = name_before(&line[..at]);
            return vec![(!name.is_empty()).then(|| name.to_owned())];
        }
    }
    let Some((_, declared)) = line.split_once("vector<") else {
        return vec![None];
    };
    let Some((_, variables)) = declared.split_once("> ") else {
        return vec![None];
    };
    let mut depth = 0;
    let parts = variables.split(|c: char| {
        depth += i32::from("({[<".contains(c)) - i32::from(")}]>".contains(c));
        (c == ',' || c == ';') && depth == 0
    });
    let name = |part: &str| {
        let part = part.trim_start();
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
        part[..end.unwrap_or(part.len())].to_owned()
    };
    let names = parts.map(name).filter(|name| !name.is_empty());
    names.map(Some).collect()
}

fn is_expression(c: char) -> bool {
    c.is_alphanumeric() || "_.->[]".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variable of the only call; empty if there are several, or none.
    fn only(line: &str, callee: &str) -> String {
        match &variables(line, callee)[..] {
            [Some(name)] => name.clone(),
            _ => String::new(),
        }
    }

    #[test]
    fn calls_of_one_line_have_their_variables_in_order() {
        let line = "  int *a = device(x), *b = device(y), c = sum(device(z));";
        let named = variables(line, "device<int>").into_iter().flatten();
        assert_eq!(named.collect::<Vec<_>>(), ["a", "b", "c"]);
        let line = "  std::vector<float> h(n * n, 0), r(f(n, n));";
        let named = variables(line, "").into_iter().flatten();
        assert_eq!(named.collect::<Vec<_>>(), ["h", "r"]);
    }

    #[test]
    fn statements_of_python_have_the_variables_that_they_assign_to() {
        let names = |line: &str| {
            let names = targets(line).into_iter();
            names
                .map(Option::unwrap_or_default)
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (line, expected) in [
            ("    x = cuda.to_device(y)", "x"),
            ("self.data[0] = alloc(n, dtype=float)", "self.data[0]"),
            ("a, b = (to_device(v) for v in pair)", "a b"),
            ("a: Array = zeros(3)", "a"),
            ("a: list[int] = zeros(3)", "a"),
            ("a[:] = 0; kernel[grid](a)", ""),
            ("a[i, :] = to_device(b)", ""),
            ("x = 1; y = to_device(b)", ""),
            ("kernel[grid](x, stream=s)", ""),
            ("if a == b: f(x)", ""),
            ("a -= b", ""),
            ("a >= f(b)", ""),
            ("return to_device(x)", ""),
        ] {
            assert_eq!(names(line), expected, "{line}");
        }
    }

    #[test]
    fn variables_of_allocations_are_read_from_their_lines() {
        for (line, name) in [
            ("  cudaMalloc((void **)&d_cost, n * sizeof(int));", "d_cost"),
            (
                "  CHECK(cudaMalloc(&state->levels[2], n));",
                "state->levels[2]",
            ),
            ("  cudaError_t e = cudaMallocManaged(&m, n);", "m"),
            ("  cudaHostAlloc(&pinned, n, 0);", "pinned"),
            ("  float *h_a = (float *)malloc(n);", "h_a"),
            ("  g.nodes = (struct node *)calloc(n, 4);", "g.nodes"),
            ("  std::vector<float> data(n);", "data"),
            ("  float *h = new float[w * h];", "h"),
            ("  graph.edges.push_back(3);", "edges"),
            ("  if (x == malloc_size(n)) {", ""),
            ("  a = malloc(1); b = malloc(2);", ""),
            ("  take(cudaMalloc(p, &n));", ""),
        ] {
            assert_eq!(only(line, ""), name, "{line}");
        }
    }

    #[test]
    fn variables_of_calls_that_allocate_are_read_from_their_lines() {
        for (line, callee, name) in [
            ("  int *d_edges = upload(edges);", "upload<int>", "d_edges"),
            (
                "  int *d_edges = upload<int>(edges);",
                "int* ns::upload<int>",
                "d_edges",
            ),
            ("  allocate(&nodes, 3);", "allocate", "nodes"),
            ("  run(upload(a), upload(b));", "upload", ""),
            ("  use(\u{e9}upload(a));", "upload", ""),
        ] {
            assert_eq!(only(line, callee), name, "{line}");
        }
    }
}
