//! The command as it was typed, for messages that propose what to type next.

/// The command as it was typed, for a shell.
pub fn typed() -> String {
    for_a_shell(words())
}

/// The command as it was typed with another verb after `gpu`, without options that say where
/// results go or that the verb does not take.
pub fn typed_as(verb: &str, without: &[&str]) -> String {
    let mut words = words();
    if let Some(word) = words.get_mut(1) {
        *word = verb.to_owned();
    }
    for option in without.iter().chain(&["--html", "--csv"]) {
        while let Some(at) = words
            .iter()
            .position(|word| word.split('=').next() == Some(option))
        {
            let alone = usize::from(!words[at].contains('='));
            words.drain(at..(at + 1 + alone).min(words.len()));
        }
    }
    words.retain(|word| !["-f", "--force", "-q", "--quiet"].contains(&word.as_str()));
    for_a_shell(words)
}

fn words() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The command of these words, for a shell.
pub fn for_a_shell(words: Vec<String>) -> String {
    let plain = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        !word.is_empty() && word.chars().all(is_plain)
    };
    let quoted = words.into_iter().map(|word| match plain(&word) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    let quoted: Vec<String> = quoted.collect();
    format!("reuselens {}", quoted.join(" "))
}
