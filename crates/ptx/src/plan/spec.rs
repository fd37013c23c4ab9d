//! Arguments as they are typed on the command line, `--arg a=random:f32:1000`: [`Plan::argument`]
//! reads one, and adds the buffer that it describes to the plan.

use std::path::{Path, PathBuf};

use super::buffer::{Buffer, Content, Element};
use super::{Given, Plan};

/// An argument that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the argument '{text}': {what}")]
pub struct SpecError {
    text: String,
    what: String,
}

const FORMS: &str = "write a number, zeros:TYPE:COUNT, ramp:TYPE:COUNT[:START[:STEP]], random:TYPE:COUNT[:SEED[:LOW:HIGH]], npy:FILE, raw:FILE, or &NAME for a buffer that is there already";

impl Plan {
    /// Reads an argument as it is typed: a number; `[NAME=]KIND:…`, which adds a buffer; `&NAME`, a
    /// buffer that is there already. Without a name, the buffer of the third argument is called
    /// `arg3`.
    ///
    /// # Errors
    /// What is none of those.
    pub fn argument(&mut self, text: &str, number: usize) -> Result<Given, SpecError> {
        let wrong = |what: String| SpecError {
            text: text.to_owned(),
            what,
        };
        if let Some(name) = text.strip_prefix('&') {
            return Ok(Given::Buffer(name.to_owned()));
        }
        if let Some(given) = scalar(text) {
            return Ok(given);
        }
        let named = text.split_once('=').filter(|(name, _)| is_name(name));
        let (name, rest) = named.map_or_else(
            || (format!("arg{number}"), text),
            |(name, rest)| (name.to_owned(), rest),
        );
        let (kind, rest) = rest.split_once(':').ok_or_else(|| {
            let is_file = |ending: &str| rest.ends_with(ending) || Path::new(rest).is_file();
            wrong(match (is_file(".npy"), rest.ends_with(".npy")) {
                (true, true) => format!("write npy:{rest}"),
                (true, false) => format!("for a file's bytes, write raw:{rest}"),
                (false, _) => FORMS.to_owned(),
            })
        })?;
        let content = content(kind, rest).map_err(wrong)?;
        self.buffers.push(Buffer {
            name: name.clone(),
            content,
        });
        Ok(Given::Buffer(name))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// A number: decimal, hexadecimal, or with a point or an exponent.
fn scalar(text: &str) -> Option<Given> {
    let (negative, digits) = text
        .strip_prefix('-')
        .map_or((false, text), |rest| (true, rest));
    if let Some(digits) = digits.strip_prefix("0x") {
        let value = i128::from(u64::from_str_radix(digits, 16).ok()?);
        return Some(Given::Integer(if negative { -value } else { value }));
    }
    if let Ok(value) = text.parse::<i64>() {
        return Some(Given::Integer(i128::from(value)));
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(Given::Integer(i128::from(value)));
    }
    text.parse().ok().map(Given::Float)
}

/// What a buffer holds: a kind, and what follows its colon.
pub(super) fn content(kind: &str, rest: &str) -> Result<Content, String> {
    match kind {
        "npy" => return Ok(Content::Npy(PathBuf::from(rest))),
        "raw" => return Ok(Content::Raw(PathBuf::from(rest))),
        "zeros" | "ramp" | "random" => {}
        _ => return Err(format!("there is no '{kind}'; {FORMS}")),
    }
    let parts: Vec<&str> = rest.split(':').collect();
    let most = match kind {
        "zeros" => 2,
        "ramp" => 4,
        _ => 5,
    };
    if parts.len() < 2 || parts.len() > most {
        return Err(format!("{kind} takes other parts; {FORMS}"));
    }
    let element = Element::named(parts[0]).ok_or_else(|| {
        format!(
            "'{}' is no type; there are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64",
            parts[0]
        )
    })?;
    let count = parts[1]
        .parse()
        .map_err(|_| format!("'{}' is no number of elements", parts[1]))?;
    let number = |index: usize, otherwise: f64| -> Result<f64, String> {
        parts.get(index).map_or(Ok(otherwise), |text| {
            text.parse().map_err(|_| format!("'{text}' is no number"))
        })
    };
    Ok(match kind {
        "zeros" => Content::Zeros { element, count },
        "ramp" => Content::Ramp {
            element,
            count,
            start: number(2, 0.0)?,
            step: number(3, 1.0)?,
        },
        _ => {
            let seed = parts.get(2).map_or(Ok(0), |text| {
                text.parse().map_err(|_| format!("'{text}' is no seed"))
            })?;
            let high = if element.0.is_float() { 1.0 } else { 100.0 };
            Content::Random {
                element,
                count,
                seed,
                low: number(3, 0.0)?,
                high: number(4, high)?,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbers_buffers_and_names_of_buffers() {
        let mut plan = Plan::default();
        assert_eq!(plan.argument("42", 1), Ok(Given::Integer(42)));
        assert_eq!(plan.argument("-0x10", 1), Ok(Given::Integer(-16)));
        assert_eq!(
            plan.argument("18446744073709551615", 1),
            Ok(Given::Integer(i128::from(u64::MAX)))
        );
        assert_eq!(plan.argument("1e3", 1), Ok(Given::Float(1000.0)));
        assert_eq!(
            plan.argument("zeros:f32:8", 3),
            Ok(Given::Buffer("arg3".to_owned()))
        );
        assert_eq!(
            plan.argument("x=ramp:i16:8:5", 4),
            Ok(Given::Buffer("x".to_owned()))
        );
        assert_eq!(plan.argument("&x", 5), Ok(Given::Buffer("x".to_owned())));
        assert_eq!(
            plan.argument("in=npy:a=b.npy", 6),
            Ok(Given::Buffer("in".to_owned()))
        );
        assert_eq!(plan.buffers.len(), 3);
        assert_eq!(
            plan.buffers[2].content,
            Content::Npy(PathBuf::from("a=b.npy"))
        );
    }

    #[test]
    fn buffer_spec_errors_name_the_mistake() {
        let message = |text: &str| Plan::default().argument(text, 1).unwrap_err().to_string();
        assert!(message("hello").contains("write a number"));
        assert!(message("ones:f32:8").contains("there is no 'ones'"));
        assert!(message("zeros:f16:8").contains("'f16' is no type"));
        assert!(message("zeros:f32").contains("other parts"));
        assert!(message("zeros:f32:many").contains("'many' is no number of elements"));
        assert!(message("random:f32:3:x").contains("'x' is no seed"));
    }
}
