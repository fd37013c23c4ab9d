//! [`LaunchSelection`]: which launches are looked at, by the name of the kernel and the number of
//! the launch. The others run without a sink.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::names;

/// Numbers of launches, as they are typed: `1,10`, or `1,5-9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchNumbers(Vec<RangeInclusive<u64>>);

impl LaunchNumbers {
    /// Whether a number is among them.
    pub fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

impl FromStr for LaunchNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<LaunchNumbers, String> {
        let number = |text: &str| match text.trim().parse() {
            Ok(0) | Err(_) => Err(format!(
                "'{text}' is no number of a launch: write numbers from 1, as in 1,10 or 5-9"
            )),
            Ok(number) => Ok(number),
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u64, u64) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!(
                    "'{part}' ends before it begins: write {last}-{first}"
                ));
            }
            Ok(first..=last)
        };
        let ranges: Result<Vec<_>, String> = text.split(',').map(range).collect();
        ranges.map(LaunchNumbers)
    }
}

/// Chooses launches in the order in which they come.
#[derive(Clone, Debug, Default)]
pub struct LaunchSelection {
    /// Names or parts of names, and whether a launch had it. Without any, all kernels are chosen.
    kernels: Vec<(String, bool)>,
    /// Of each kernel; without them, all are chosen.
    launches: Option<LaunchNumbers>,
    /// Launches of each kernel so far, by its mangled name.
    begun: BTreeMap<String, u64>,
    left_out: u64,
}

impl LaunchSelection {
    /// Chooses the launches with these numbers of each kernel whose name is one of `kernels`, or
    /// has one of them as a part; as C++ writes it, or mangled.
    pub fn new(kernels: Vec<String>, launches: Option<LaunchNumbers>) -> LaunchSelection {
        LaunchSelection {
            kernels: kernels.into_iter().map(|name| (name, false)).collect(),
            launches,
            ..LaunchSelection::default()
        }
    }

    /// Whether all launches are chosen.
    pub fn has_all(&self) -> bool {
        self.kernels.is_empty() && self.launches.is_none()
    }

    /// Whether the next launch, of the kernel with this mangled name, is chosen.
    pub fn takes(&mut self, kernel: &str) -> bool {
        if self.has_all() {
            return true;
        }
        let number = match self.begun.get_mut(kernel) {
            Some(begun) => {
                *begun += 1;
                *begun
            }
            None => {
                self.begun.insert(kernel.to_owned(), 1);
                1
            }
        };
        let mut is_named = self.kernels.is_empty();
        for (wanted, is_found) in &mut self.kernels {
            if names::may_be(kernel, wanted) {
                (*is_found, is_named) = (true, true);
            }
        }
        let launches = self.launches.as_ref();
        let is_taken = is_named && launches.is_none_or(|launches| launches.contains(number));
        self.left_out += u64::from(!is_taken);
        is_taken
    }

    /// Launches that were not chosen.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Names that no kernel had which was launched.
    pub fn not_found(&self) -> impl Iterator<Item = &str> {
        let missing = self.kernels.iter().filter(|(_, is_found)| !is_found);
        missing.map(|(name, _)| name.as_str())
    }

    /// The mangled names of the kernels that were launched, in alphabetical order, with the number
    /// of their launches.
    pub fn launched(&self) -> impl Iterator<Item = (&str, u64)> {
        self.begun
            .iter()
            .map(|(name, &count)| (name.as_str(), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_lists_and_ranges() {
        let numbers: LaunchNumbers = "1, 10,5-7".parse().unwrap();
        let found: Vec<u64> = (0..12).filter(|&number| numbers.contains(number)).collect();
        assert_eq!(found, [1, 5, 6, 7, 10]);
        for text in [
            "",
            "0",
            "1,",
            "a",
            "3-",
            "-3",
            "1-2-3",
            "18446744073709551616",
        ] {
            let error = text.parse::<LaunchNumbers>().unwrap_err();
            assert!(
                error.contains("is no number of a launch"),
                "{text}: {error}"
            );
        }
        let error = "9-5".parse::<LaunchNumbers>().unwrap_err();
        assert_eq!(error, "'9-5' ends before it begins: write 5-9");
    }

    const SCALE: &str = "_Z5scaleIfEvPT_S0_i";

    #[test]
    fn launches_are_numbered_for_each_kernel() {
        let all = ["one", SCALE, "one", "two", "one", SCALE];
        let chosen = |kernels: &[&str], launches: Option<&str>| {
            let kernels = kernels.iter().map(|&name| name.to_owned()).collect();
            let launches = launches.map(|text| text.parse().unwrap());
            let mut selection = LaunchSelection::new(kernels, launches);
            let taken: Vec<bool> = all.iter().map(|name| selection.takes(name)).collect();
            let numbers = (0..).zip(taken).filter(|(_, is_taken)| *is_taken);
            (numbers.map(|(at, _)| at).collect::<Vec<u32>>(), selection)
        };
        assert_eq!(chosen(&[], None).0, [0, 1, 2, 3, 4, 5]);
        assert_eq!(chosen(&["scale<float>"], None).0, [1, 5]);
        assert_eq!(chosen(&["scale", "two"], None).0, [1, 3, 5]);
        assert_eq!(chosen(&[], Some("2")).0, [2, 5]);
        let (numbers, selection) = chosen(&["one(", "three", "two"], Some("1,3"));
        assert_eq!((numbers, selection.left_out()), (vec![3], 5));
        assert_eq!(selection.not_found().collect::<Vec<_>>(), ["one(", "three"]);
        let launched: Vec<_> = selection.launched().collect();
        assert_eq!(launched, [(SCALE, 2), ("one", 3), ("two", 1)]);
    }
}
