//! Commands as a shell takes them, for messages that propose what to type next.

/// Our command of these words: those with other letters than names have are quoted.
pub fn for_a_shell(words: Vec<String>) -> String {
    format!("reuselens {}", quoted_words(words))
}

/// Words with a space between them: those with other letters than names have are quoted.
pub fn quoted_words(words: Vec<String>) -> String {
    let plain = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        !word.is_empty() && word.chars().all(is_plain)
    };
    let quoted = words
        .into_iter()
        .map(|word| if plain(&word) { word } else { quoted(&word) });
    let quoted: Vec<String> = quoted.collect();
    quoted.join(" ")
}

/// A word in single quotes.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
