//! Arrays of structures of which one field at a time is used.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_profile::FieldUse;
use reuselens_units::{grouped, percent, ratio_percent};

use super::{cost, is_much_of_run, list, part};
use crate::facts::{MissFacts, StructureUse, total};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "array-of-structures",
    title: "Array of structures used by one field",
    what: "Arrays of structures of which at most half of the bytes that misses bring in are used, \
           and, on average, at most one and a half fields of an element while it is in the cache; \
           of three quarters, if the rest is 5 % of all misses of the program and the other fields \
           are hardly ever used. \
           A first pass that initialises all fields does not count.",
    why: "A line holds all fields of a few elements, so that most of what is fetched is not used.",
    example: Example {
        before: "struct Particle { double x, y, z, mass; int id; };\n\
                 struct Particle p[N];\n\
                 for (i = 0; i < N; i++) sum += p[i].mass;",
        after: "struct Particles { double x[N], y[N], z[N], mass[N]; int id[N]; };\n\
                struct Particles p;\n\
                for (i = 0; i < N; i++) sum += p.mass[i];",
    },
    limits: "Code that needs several fields of one element at random may miss more often after the \
             change. Where types are not known, fields are pieces of 8 bytes.",
    source: "Chilimbi, Davidson and Larus, Cache-Conscious Structure Definition, PLDI 1999, \
             section 3; Intel 64 and IA-32 Optimization Reference Manual, Data Layout \
             Optimizations",
};

/// The most of what is brought in that may be used: from half on, the change saves at most half.
const MOST_UTILISATION: f64 = 0.5;
/// The most where what is saved is much of all misses of the program, and the other fields are
/// cold: of a field that every fourth element uses, nearly every line of an array of its own would
/// be brought in.
const MOST_UTILISATION_OF_HOTTEST: f64 = 0.75;
/// The most fields of an element that may be used while it is in the cache.
const MOST_FIELDS: f64 = 1.5;
/// Elements that an array has at least; fewer are a few structures with names.
const LEAST_ELEMENTS: u64 = 16;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let structures = facts.structures();
    structures
        .filter_map(|structure| finding(facts, &structure))
        .collect()
}

/// Whether the rule is about such elements: they follow each other in memory, and one field at a
/// time is used. `later` is their use after they were initialised.
pub(super) fn applies(facts: &MissFacts<'_>, later: &StructureUse<'_>) -> bool {
    let fields = later.fields_at_a_time();
    later.link().is_none()
        && is_array(facts, later)
        && fields <= MOST_FIELDS
        // Few fields may also be those of a few elements, all used together: that is so where the
        // elements are chosen by an index or a hash.
        && later.fields_of_a_visit() <= MOST_FIELDS
        && by_misses(later).first().is_some_and(|field| is_denser(facts, later, field))
}

/// Whether a line holds more values of a field in an array of its own than elements now; of larger
/// elements, whether the field has at most half of their bytes.
fn is_denser(facts: &MissFacts<'_>, structure: &StructureUse<'_>, field: &FieldUse) -> bool {
    let (line, bytes) = (facts.line_bytes(), field.field.bytes.max(1));
    if structure.element <= line {
        line / bytes > line / structure.element.max(1)
    } else {
        2 * bytes <= structure.element
    }
}

fn finding(facts: &MissFacts<'_>, structure: &StructureUse<'_>) -> Option<Finding> {
    let utilisation = structure.utilisation();
    let later = facts.later_use(structure);
    let amount = part(structure.misses, 1.0 - utilisation);
    let others_are_cold = || (by_misses(&later).iter().skip(1)).all(|field| later.is_cold(field));
    let most = if is_much_of_run(facts, amount) && others_are_cold() {
        MOST_UTILISATION_OF_HOTTEST
    } else {
        MOST_UTILISATION
    };
    if later.utilisation() > most || !applies(facts, &later) {
        return None;
    }
    let used = by_misses(structure);
    let first = used.first()?;
    let (line, name) = (facts.line_bytes(), structure.name());
    let gain = match line / first.field.bytes.max(1) {
        0 | 1 => String::new(),
        fits => format!(", so that a line of {line} bytes holds {fits} of them"),
    };
    Some(Finding {
        rule: &RULE,
        place: facts.object_place(structure.object),
        evidence: evidence(facts, structure, &used),
        cost: cost(facts, amount)?,
        remedy: format!(
            "Store `{}` of {name} in an array of its own (a structure of arrays){gain}.",
            first.field.name
        ),
        confidence: match structure.type_name {
            Some(_) => Confidence::Likely,
            None => Confidence::Possible,
        },
    })
}

/// Whether an object has its elements in a row: a block with several of them, however often it was
/// allocated.
fn is_array(facts: &MissFacts<'_>, structure: &StructureUse<'_>) -> bool {
    let bytes = facts.object_bytes(structure.object);
    let longest = facts.object_longest(structure.object);
    bytes >= LEAST_ELEMENTS * structure.element && longest >= 2 * structure.element
}

/// The fields with accesses, the one that misses most first: a field that one pass initialises may
/// have more accesses than the one that all later passes use.
fn by_misses<'a>(structure: &'a StructureUse<'_>) -> Vec<&'a FieldUse> {
    let mut fields: Vec<&FieldUse> = structure.fields.iter().collect();
    fields.retain(|field| field.accesses > 0 || field.used > 0);
    // Stable: equal ones stay in the order of memory.
    fields.sort_by_key(|field| std::cmp::Reverse((field.misses, field.accesses)));
    fields
}

fn evidence(
    facts: &MissFacts<'_>,
    structure: &StructureUse<'_>,
    used: &[&FieldUse],
) -> Vec<String> {
    let all = total(structure.fields.iter().map(|field| field.misses));
    let missing = used.iter().filter(|field| field.misses > 0).take(3);
    let shares: Vec<String> = missing
        .map(|field| {
            let share = percent(field.misses, all);
            format!("`{}` has {share}", field.field.name)
        })
        .collect();
    let unused = structure.fields.iter().filter(|field| field.used == 0);
    let unused: Vec<&str> = unused.map(|field| field.field.name.as_str()).collect();
    let mut evidence = vec![format!(
        "Of the {} bytes of {} that misses in {} brought in, {} were used before they were \
             evicted ({}).",
        grouped(structure.brought),
        structure.name(),
        facts.cache_words(),
        grouped(structure.used),
        ratio_percent(structure.utilisation())
    )];
    if !shares.is_empty() {
        let name = structure.name();
        evidence.push(format!("Of the misses in {name}, {}.", shares.join(", ")));
    }
    if !unused.is_empty() {
        evidence.push(format!(
            "Never used while they were there: {}.",
            list(&unused, 6)
        ));
    }
    evidence
}
