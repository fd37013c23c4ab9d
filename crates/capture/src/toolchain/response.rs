//! Response files: `@FILE` on a compiler's command line stands for the words in FILE. The compiler
//! reads the file itself; `arguments` reads it here to know what the compiler is asked for.

use std::ffi::{OsStr, OsString};

/// The deepest nesting of response files that is followed.
const DEPTH: usize = 8;

/// The words that an argument stands for: itself, unless it is `@FILE` and that file can be read.
pub fn words(argument: &OsStr) -> Vec<OsString> {
    expand(argument, DEPTH)
}

fn expand(argument: &OsStr, depth: usize) -> Vec<OsString> {
    let text = argument.to_string_lossy();
    let content = text
        .strip_prefix('@')
        .filter(|_| depth > 0)
        .and_then(|file| std::fs::read(file).ok());
    match content {
        None => vec![argument.to_owned()],
        Some(content) => split(&String::from_utf8_lossy(&content))
            .iter()
            .flat_map(|word| expand(OsStr::new(word), depth - 1))
            .collect(),
    }
}

/// Words between white space; quotes and backslashes protect, as in gcc's manual under `@FILE`.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_file_is_split_as_compilers_split_it() {
        let text = " -O2\t'a b.c' -DX=\\\"y\\\" \"-I c\" -D'A'B \"\"\nlast";
        let expected = ["-O2", "a b.c", "-DX=\"y\"", "-I c", "-DAB", "", "last"];
        assert_eq!(split(text), expected);
    }

    #[test]
    fn response_file_that_names_itself_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let own = format!("@{}", path.display());
        std::fs::write(&path, format!("-c a.c {own}")).unwrap();
        let found = words(OsStr::new(&own));
        assert_eq!(found.len(), 2 * DEPTH + 1);
        assert_eq!(found[..2], ["-c", "a.c"]);
        assert_eq!(words(OsStr::new("@nowhere")), ["@nowhere"]);
    }
}
