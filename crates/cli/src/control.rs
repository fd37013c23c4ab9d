//! [`Control`]: the options that choose which part of a program's run is recorded, for `profile`
//! and `record`.

use std::time::Duration;

use reuselens::capture::{ControlOptions, Regions, Span};

use crate::exit::Usage;
use crate::options::number;

/// What is recorded, and until when.
#[derive(clap::Args, Clone, Debug)]
pub struct Control {
    /// Record only within the regions that the program marks (reuselens_region_begin)
    #[arg(long, help_heading = "What is recorded")]
    pub regions: bool,

    /// Record only within regions of this name
    #[arg(long, value_name = "NAME", help_heading = "What is recorded")]
    pub region: Option<String>,

    /// Record only within calls of this function, what it calls included
    #[arg(long, value_name = "NAME", help_heading = "What is recorded")]
    pub function: Option<String>,

    /// Skip this number of accesses (2M, 500k), or this time (2s, 500ms), before recording
    #[arg(long, value_name = "N|TIME", value_parser = span, help_heading = "What is recorded")]
    pub after: Option<Span>,

    /// Stop after recording this number of accesses, or for this time
    #[arg(long = "for", value_name = "N|TIME", value_parser = span, help_heading = "What is recorded")]
    pub span: Option<Span>,

    /// Record ON accesses, leave OFF out, and so on (100k:900k)
    #[arg(long, value_name = "ON:OFF", value_parser = burst, help_heading = "What is recorded")]
    pub burst: Option<(u64, u64)>,

    /// Stop recording at this number of accesses
    #[arg(long, value_name = "N", value_parser = number, help_heading = "What is recorded")]
    pub max_accesses: Option<u64>,

    /// Stop recording when the program has run for this time
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "What is recorded")]
    pub max_time: Option<Duration>,

    /// End the program when recording stops; without it the program continues unrecorded
    #[arg(long, help_heading = "What is recorded")]
    pub then_stop: bool,
}

/// Refuses options that leave basic blocks out, since paths need all of them.
pub fn refuse_gaps(control: &ControlOptions, basic_blocks: bool) -> Result<(), Usage> {
    if basic_blocks && control.leaves_out() {
        return Err(Usage(
            "paths need every basic block, and --regions, --region, --function, --after and --burst leave some out; take \
             the one or the other (limits such as --for and --max-accesses go with paths)"
                .to_owned(),
        ));
    }
    Ok(())
}

impl Control {
    /// The options for the library; `sized` if another option limits the recording.
    pub fn options(&self, sized: bool) -> Result<ControlOptions, Usage> {
        let limits = self.span.is_some() || self.max_accesses.is_some() || self.max_time.is_some();
        if self.then_stop && !limits && !sized {
            return Err(Usage(
                "--then-stop ends the program when recording stops, but nothing stops it; give --for, \
                 --max-accesses or --max-time too (record: or --max-size)"
                    .to_owned(),
            ));
        }
        Ok(ControlOptions {
            regions: match &self.region {
                Some(name) => Regions::Named(name.clone()),
                None if self.regions => Regions::Any,
                None => Regions::Ignored,
            },
            function: self.function.clone(),
            after: self.after,
            span: self.span,
            max_accesses: self.max_accesses,
            max_time: self.max_time,
            burst: self.burst,
            strata: None,
            then_stop: self.then_stop,
        })
    }
}

/// A number of accesses, or a time.
fn span(text: &str) -> Result<Span, String> {
    let accesses = text.strip_suffix("accesses").map(str::trim_end);
    match accesses {
        Some(text) => number(text).map(Span::Accesses),
        None => match time(text) {
            Ok(time) => Ok(Span::Time(time)),
            Err(_) => number(text).map(Span::Accesses).map_err(|_| {
                format!("'{text}' is neither a number of accesses (2M, 500k) nor a time (2s, 500ms, 1min)")
            }),
        },
    }
}

/// A time with its unit.
fn time(text: &str) -> Result<Duration, String> {
    // Longer names first: `ms` ends with `s`.
    const UNITS: [(&str, f64); 5] = [
        ("ms", 1e-3),
        ("us", 1e-6),
        ("min", 60.0),
        ("h", 3600.0),
        ("s", 1.0),
    ];
    let found = UNITS
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let seconds =
        found.and_then(|(digits, size)| Some(digits.trim_end().parse::<f64>().ok()? * size));
    seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{text}' is no time; write for instance 10s, 500ms or 2min"))
}

/// Accesses recorded and left out in turn.
fn burst(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once(':');
    let numbers = parts.and_then(|(on, off)| Some((number(on).ok()?, number(off).ok()?)));
    numbers.ok_or_else(|| {
        format!("'{text}' is no pair of numbers above 0; write for instance 100k:900k, to record 100,000 accesses of a million")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_distinguishes_times_from_numbers() {
        assert_eq!(span("2s"), Ok(Span::Time(Duration::from_secs(2))));
        assert_eq!(span("1.5 ms"), Ok(Span::Time(Duration::from_micros(1500))));
        assert_eq!(span("2min"), Ok(Span::Time(Duration::from_secs(120))));
        assert_eq!(span("2M"), Ok(Span::Accesses(2_000_000)));
        assert_eq!(span("5000accesses"), Ok(Span::Accesses(5000)));
        for wrong in ["", "s", "0", "0s", "-1s", "2 days", "infs", "nan", "1e400s"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn burst_takes_two_positive_numbers() {
        assert_eq!(burst("100k:900k"), Ok((100_000, 900_000)));
        for wrong in ["", "1", "1:", ":1", "0:5", "5:0", "1:2:3"] {
            assert!(burst(wrong).is_err(), "{wrong}");
        }
    }
}
