//! The command as it was typed, for messages that propose what to type next.

use crate::shell_words::for_a_shell;

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
