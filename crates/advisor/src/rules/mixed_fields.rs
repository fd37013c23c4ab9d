//! Structures with fields that are hardly ever used beside those that are.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_profile::FieldUse;
use reuselens_units::{counted, grouped, percent, ratio_percent};

use super::{array_of_structures, cost, is_much_of_run, list, part};
use crate::facts::{MissFacts, StructureUse, total};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "mixed-fields",
    title: "Hot and cold fields mixed",
    what: "Structures of which a quarter of what misses bring in, or more, belongs to fields that \
           are used of less than 10 % of the elements that are used, or 15 % if that saves 5 % of \
           all misses of the program; where several fields are \
           used together, or elements are nodes by themselves. A first pass that initialises all \
           fields does not count. What alignment, and blocks of multiples of 16 bytes, take of the \
           gain is left out.",
    why: "Cold fields fill the lines of the hot ones, so that fewer elements fit the cache.",
    example: Example {
        before: "struct Entry { long key; char title[48]; struct Entry *next; };",
        after: "struct Entry { long key; struct Text *text; struct Entry *next; };\n\
                struct Text { char title[48]; };",
    },
    limits: "Another input may use the cold fields. Where types are not known, fields are pieces \
             of 8 bytes.",
    source: "Chilimbi, Davidson and Larus, Cache-Conscious Structure Definition, PLDI 1999, \
             section 3 (structure splitting)",
};

/// The least share of what is brought in that cold fields take: below, splitting saves little.
const LEAST_COLD: f64 = 0.25;
/// The least share where that is much of all misses of the program: below, what alignment and the
/// data beside it make of the change is as large.
const LEAST_COLD_OF_HOTTEST: f64 = 0.15;
/// Sizes of blocks of the heap are multiples of that.
const BLOCK_STEP: u64 = 16;
/// Numbers of more bytes are rare.
const MOST_ALIGNMENT: u64 = 8;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let structures = facts.structures();
    structures
        .filter_map(|structure| finding(facts, &structure))
        .collect()
}

fn finding(facts: &MissFacts<'_>, structure: &StructureUse<'_>) -> Option<Finding> {
    let later = facts.later_use(structure);
    if array_of_structures::applies(facts, &later) {
        return None;
    }
    let Separation {
        cold,
        hot,
        unused,
        share,
    } = Separation::of(facts, structure, &later);
    let amount = part(structure.misses, share);
    let least = if is_much_of_run(facts, amount) {
        LEAST_COLD_OF_HOTTEST
    } else {
        LEAST_COLD
    };
    if share < least || hot.is_empty() {
        return None;
    }
    let names = |fields: &[&FieldUse]| {
        let names: Vec<String> = fields
            .iter()
            .map(|field| format!("`{}`", field.field.name))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        list(&names, 6)
    };
    let bytes = total(cold.iter().map(|field| field.field.bytes));
    Some(Finding {
        rule: &RULE,
        place: facts.object_place(structure.object),
        evidence: evidence(facts, structure, &names(&hot), &names(&cold), unused),
        cost: cost(facts, amount)?,
        remedy: format!(
            "Move {} of {} ({}) into another structure, in an array of its own; leave {} {}.",
            names(&cold),
            structure.name(),
            counted(bytes, "byte", "bytes"),
            names(&hot),
            if hot.len() == 1 {
                "where it is"
            } else {
                "together"
            }
        ),
        confidence: match structure.type_name {
            Some(_) => Confidence::Likely,
            None => Confidence::Possible,
        },
    })
}

/// The share of the misses in an object's elements that moving their cold fields away would save at
/// most, from 0 to 1; `None` if no field is cold.
pub(crate) fn most_saved(facts: &MissFacts<'_>, structure: &StructureUse<'_>) -> Option<f64> {
    let separation = Separation::of(facts, structure, &facts.later_use(structure));
    (!separation.cold.is_empty()).then_some(separation.share)
}

/// Cold fields, which could be moved away, and the others.
struct Separation<'a> {
    cold: Vec<&'a FieldUse>,
    hot: Vec<&'a FieldUse>,
    /// Bytes of the cold fields that misses brought in for nothing.
    unused: u64,
    /// The share of the misses that is saved at most, from 0 to 1.
    share: f64,
}

impl<'a> Separation<'a> {
    fn of(
        facts: &MissFacts<'_>,
        structure: &'a StructureUse<'_>,
        later: &StructureUse<'_>,
    ) -> Separation<'a> {
        let (cold, hot) = split(structure, later);
        let unused = total((cold.iter()).map(|field| field.brought.saturating_sub(field.used)));
        let brought = unused as f64 / structure.brought.max(1) as f64;
        Separation {
            share: brought.min(saved(facts, structure, &hot)),
            cold,
            hot,
            unused,
        }
    }
}

/// The share of an element's bytes that leaving only these fields saves, from 0 to 1, with what
/// alignment and the steps of an allocator take.
fn saved(facts: &MissFacts<'_>, structure: &StructureUse<'_>, hot: &[&FieldUse]) -> f64 {
    let step = if facts.is_single(structure) {
        BLOCK_STEP
    } else {
        hot.iter().map(|field| alignment(field)).max().unwrap_or(1)
    };
    let now = structure.element.max(1).next_multiple_of(step);
    let later = total(hot.iter().map(|field| field.field.bytes)).next_multiple_of(step);
    1.0 - (later as f64 / now as f64).min(1.0)
}

/// The bytes that a field's offset is a multiple of, at most 8: those of a number, or what its
/// offset and its size have in common.
fn alignment(field: &FieldUse) -> u64 {
    let (offset, bytes) = (field.field.offset, field.field.bytes);
    1 << (offset | bytes | MOST_ALIGNMENT).trailing_zeros()
}

/// The cold fields and the others.
fn split<'a>(
    structure: &'a StructureUse<'_>,
    later: &StructureUse<'_>,
) -> (Vec<&'a FieldUse>, Vec<&'a FieldUse>) {
    let both = structure.fields.iter().zip(&later.fields);
    let (cold, hot): (Vec<_>, Vec<_>) = both.partition(|(_, field)| later.is_cold(field));
    let first = |fields: Vec<(&'a FieldUse, &FieldUse)>| {
        let fields = fields.into_iter();
        fields.map(|(field, _)| field).collect()
    };
    (first(cold), first(hot))
}

fn evidence(
    facts: &MissFacts<'_>,
    structure: &StructureUse<'_>,
    hot: &str,
    cold: &str,
    unused: u64,
) -> Vec<String> {
    let mut evidence = vec![
        format!(
            "Of the {} bytes of {} that misses in {} brought in, {} ({}) belong to fields that \
             were hardly ever used meanwhile: {cold}.",
            grouped(structure.brought),
            structure.name(),
            facts.cache_words(),
            grouped(unused),
            percent(unused, structure.brought)
        ),
        format!(
            "Used: {hot}; {} of all bytes brought in.",
            ratio_percent(structure.utilisation())
        ),
    ];
    if structure.padding > 0 {
        evidence.push(format!(
            "{} of {} are padding.",
            counted(structure.padding, "byte", "bytes"),
            structure.element
        ));
    }
    evidence
}
