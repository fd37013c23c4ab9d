//! Rules about fields and nodes.

use reuselens_advice::Confidence;
use reuselens_profile::{ElementUse, ObjectKind};

use crate::support::{Accesses, Sketch};

/// An object of which 50,000 of 100,000 accesses miss.
fn missing(kind: ObjectKind, blocks: u64, used: u64) -> Sketch {
    missing_of(kind, 8 << 20, blocks, used)
}

fn missing_of(kind: ObjectKind, bytes: u64, blocks: u64, used: u64) -> Sketch {
    let mut sketch = Sketch::new();
    let site = sketch.site(12, "load");
    let object = sketch.object(kind, "entries (a.c)", bytes, blocks);
    let accesses = Accesses {
        hits: 50_000,
        far: 50_000,
        used,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses);
    sketch
}

#[test]
fn array_used_by_one_field_is_found_with_its_name() {
    let mut sketch = missing(ObjectKind::Static, 1, 16);
    let fields = [
        ("x", "double", 1000, 0),
        ("mass", "double", 1000, 1000),
        ("y", "double", 1000, 0),
        ("id", "long", 1000, 0),
    ];
    sketch.fields(1, "Particle", &fields);
    // A pass that initialises `id` alone has more accesses, but they do not miss.
    let elements = &mut sketch.causes().elements[0];
    (elements.misses[8], elements.accesses[24]) = (50_000, 1_000_000);
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "array-of-structures");
    assert_eq!(finding.confidence, Confidence::Likely);
    // Three of four bytes are not used.
    assert_eq!(finding.cost.amount, 37_500);
    assert!(finding.remedy.contains("`mass` of Particle"), "{finding:?}");
    assert!(finding.remedy.contains("holds 8 of them"), "{finding:?}");
    assert!(finding.evidence[0].contains("(25.0 %)"), "{finding:?}");
    assert!(finding.evidence[2].ends_with("x, y and id."), "{finding:?}");
}

/// A block of 8 MiB that is allocated a million times has no more than 8 MiB live at one time.
#[test]
fn array_that_is_allocated_again_and_again_is_an_array() {
    let mut sketch = missing(ObjectKind::Heap, 1 << 20, 16);
    let fields = [("mass", "double", 1000, 1000), ("y", "double", 1000, 0)];
    sketch.fields(1, "Particle", &fields);
    // A block of 8 bytes on average is no array of these.
    assert_eq!(sketch.rules(), ["mixed-fields"]);
    sketch.0.objects[1].longest = 8 << 20;
    assert_eq!(sketch.rules(), ["array-of-structures"]);
}

#[test]
fn loops_that_use_one_field_each_are_the_same_fault() {
    let mut sketch = missing(ObjectKind::Static, 1, 16);
    let field = |name| (name, "double", 1000, 250);
    sketch.fields(1, "Particle", &["x", "y", "z", "mass"].map(field));
    // Used together, the first one would miss.
    sketch.causes().elements[0].misses.fill(0);
    for at in [0, 8, 16, 24] {
        sketch.causes().elements[0].misses[at] = 12_500;
    }
    assert_eq!(sketch.rules(), ["array-of-structures"]);
}

/// One pass that initialises eight fields, and six that use one of them.
#[test]
fn first_pass_over_all_fields_hides_no_unused_ones() {
    let mut sketch = Sketch::new();
    let site = sketch.site(12, "load");
    let object = sketch.object(ObjectKind::Static, "entries (a.c)", 1 << 20, 1);
    let accesses = Accesses {
        cold: 16_384,
        far: 6 * 16_384,
        used: 16,
        ..Accesses::default()
    };
    sketch.accesses(site, object, accesses);
    let elements = 16_384;
    let field = |name, used| (name, "double", 7 * elements, used);
    let mut fields = ["a", "b", "c", "d", "e", "f", "g"].map(|name| field(name, elements));
    fields[0].3 = 7 * elements;
    let names = [fields.to_vec(), vec![field("h", elements)]].concat();
    sketch.fields(object, "Particle", &names);
    assert_eq!(sketch.rules(), ["array-of-structures"]);
}

/// One element of each line, all of it: chosen by an index, or a hash.
#[test]
fn random_elements_of_which_all_is_used_are_no_arrays_of_fields() {
    let mut sketch = missing(ObjectKind::Static, 1, 16);
    let fields = ["key", "value"].map(|name| (name, "long", 1000, 250));
    sketch.fields(1, "Entry", &fields);
    sketch.causes().elements[0].misses[0] = 50_000;
    assert_eq!(sketch.rules(), [""; 0]);
    // One field of them is worth an array of its own in any order.
    sketch.causes().elements.clear();
    let fields = [("key", "long", 1000, 250), ("value", "long", 1000, 0)];
    sketch.fields(1, "Entry", &fields);
    sketch.causes().elements[0].layout = Some(1);
    assert_eq!(sketch.rules(), ["array-of-structures"]);
}

/// Blocks of several sizes, of which a few are elements of the size that is known.
#[test]
fn elements_that_are_few_of_an_object_say_nothing_of_it() {
    let mut sketch = missing(ObjectKind::Heap, 500, 16);
    let field = |name, used| (name, "double", 1000, used);
    sketch.fields(1, "Particle", &[field("x", 1000), field("y", 0)]);
    assert_eq!(sketch.rules(), ["array-of-structures"]);
    let elements = &mut sketch.causes().elements[0];
    let columns = [
        &mut elements.brought,
        &mut elements.used,
        &mut elements.misses,
    ];
    for count in columns.into_iter().flatten() {
        *count /= 3;
    }
    assert_eq!(sketch.rules(), [""; 0]);
}

/// Other data of the object has 20,000 of its misses.
#[test]
fn cost_is_no_more_than_the_misses_of_the_elements() {
    let mut sketch = missing(ObjectKind::Heap, 500, 16);
    let field = |name, used| (name, "double", 1000, used);
    sketch.fields(1, "Particle", &[field("x", 1000), field("y", 0)]);
    assert_eq!(sketch.advise().findings[0].cost.amount, 25_000);
    sketch.causes().elements[0].misses[0] = 30_000;
    assert_eq!(sketch.advise().findings[0].cost.amount, 15_000);
}

#[test]
fn structure_without_a_name_is_named_by_its_size() {
    let mut sketch = missing(ObjectKind::Static, 1, 16);
    let fields = [("mass", "double", 1000, 1000), ("y", "double", 1000, 0)];
    sketch.fields(1, "(unnamed)", &fields);
    let advice = sketch.advise();
    let finding = &advice.findings[0];
    let remedy = "Store `mass` of elements of 16 bytes in";
    assert!(finding.remedy.starts_with(remedy), "{finding:?}");
    assert!(!finding.evidence[0].contains("unnamed"), "{finding:?}");
}

#[test]
fn fields_that_are_used_together_are_no_finding() {
    for used in [1000, 700] {
        let mut sketch = missing(ObjectKind::Static, 1, 64);
        let field = |name| (name, "double", 1000, used);
        sketch.fields(1, "Particle", &["x", "y", "z", "mass"].map(field));
        assert_eq!(sketch.rules(), [""; 0], "{used}");
    }
}

#[test]
fn cold_fields_beside_several_hot_ones_are_to_be_moved() {
    let mut sketch = missing(ObjectKind::Static, 1, 32);
    let fields = [
        ("key", "long", 1000, 1000),
        ("title", "char *", 1000, 10),
        ("value", "long", 1000, 900),
        ("author", "char *", 1000, 0),
    ];
    sketch.fields(1, "Entry", &fields);
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "mixed-fields");
    assert!(
        finding
            .remedy
            .contains("Move `title` and `author` of Entry (16 bytes)")
    );
    assert!(finding.remedy.contains("leave `key` and `value` together"));
    // (990 + 1000) of 4000 bytes.
    assert_eq!(finding.cost.amount, 24_875);
}

#[test]
fn linked_nodes_are_for_one_array() {
    let mut sketch = missing(ObjectKind::Heap, 100_000, 16);
    let fields = [
        // One of the four nodes of a line.
        ("value", "long", 1000, 250),
        ("next", "struct Node *", 1000, 250),
    ];
    sketch.fields(1, "Node", &fields);
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "pointer-chasing");
    assert_eq!(finding.confidence, Confidence::Likely);
    assert!(finding.evidence[2].contains("`next`"), "{finding:?}");
}

/// Nodes of the C++ library have pointers to their base.
#[test]
fn pointers_to_the_base_of_nodes_are_links() {
    let rules = |pointer| {
        let mut sketch = missing(ObjectKind::Heap, 100_000, 16);
        let fields = [
            ("_M_next", pointer, 1000, 250),
            ("value", "long", 1000, 250),
        ];
        sketch.fields(1, "std::_List_node<ns::Order>", &fields);
        let advice = sketch.advise();
        let finding = advice.findings.first();
        finding.map(|finding| (finding.rule.name, finding.confidence))
    };
    let linked = Some(("pointer-chasing", Confidence::Likely));
    assert_eq!(rules("std::__detail::_List_node_base*"), linked);
    let small = Some(("pointer-chasing", Confidence::Possible));
    assert_eq!(rules("std::__detail::_Hash_node_base*"), small);
}

/// A node of 72 bytes, with a value of 64 bytes: a line holds one of either.
#[test]
fn field_that_fills_a_line_is_for_no_array_of_its_own() {
    let mut sketch = missing(ObjectKind::Static, 1, 16);
    let mut fields = [("", "", 1000, 0); 9];
    (fields[0], fields[1]) = (("next", "Other *", 1000, 10), ("value", "V", 1000, 1000));
    sketch.fields(1, "Node", &fields);
    sketch.causes().elements[0].misses.swap(0, 8);
    let value = |sketch: &mut Sketch, type_name: &str| {
        let fields = &mut sketch.causes().layouts[0].fields;
        fields.truncate(2);
        (fields[1].bytes, fields[1].type_name) = (64, type_name.to_owned());
    };
    value(&mut sketch, "V");
    assert_eq!(sketch.rules(), [""; 0]);
    // Of a value that the library only has as bytes, those that are used are known.
    value(&mut sketch, "__gnu_cxx::__aligned_buffer<V>");
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "array-of-structures");
    assert!(finding.remedy.contains("`value bytes 0–7` of Node"));
}

/// Without the last of three fields, the alignment of a pointer keeps a structure at 16 bytes, and
/// the steps of an allocator keep its blocks there.
#[test]
fn cold_field_whose_place_padding_takes_is_to_stay() {
    let sketch = |sizes: [u64; 3]| {
        let mut sketch = missing(ObjectKind::Static, 1, 16);
        sketch.fields(1, "Task", &[("", "", 1000, 1000); 2]);
        let fields = &mut sketch.causes().layouts[0].fields;
        fields.push(fields[0].clone());
        let mut offset = 0;
        for (field, bytes) in fields.iter_mut().zip(sizes) {
            (field.offset, field.bytes) = (offset, bytes);
            offset += bytes;
        }
        let cold = 16 - sizes[2] as usize;
        sketch.causes().elements[0].used[cold..].fill(0);
        sketch
    };
    assert_eq!(sketch([8, 4, 4]).rules(), [""; 0]);
    let mut numbers = sketch([4, 4, 8]);
    assert_eq!(numbers.rules(), ["mixed-fields"]);
    numbers.0.objects[1].longest = 16;
    assert_eq!(numbers.rules(), [""; 0]);
}

#[test]
fn small_blocks_without_types_may_be_nodes() {
    let nodes = |bytes: u64, used| {
        let mut sketch = missing_of(ObjectKind::Heap, 100_000 * bytes, 100_000, used);
        sketch.untyped(1, bytes as usize, 1000 * used / 64);
        sketch
    };
    let rules = |bytes, used| nodes(bytes, used).rules();
    assert_eq!(rules(16, 16), ["pointer-chasing"]);
    assert_eq!(rules(24, 16), ["pointer-chasing"]);
    // A few blocks are arrays; lines of which two nodes are used are in the order of the accesses;
    // a large node has a line of its own.
    assert_eq!(missing(ObjectKind::Heap, 10, 16).rules(), [""; 0]);
    assert_eq!(rules(16, 32), [""; 0]);
    assert_eq!(rules(48, 16), [""; 0]);
    // Blocks of several sizes, or one that is allocated again and again.
    let buffer = missing_of(ObjectKind::Heap, 1 << 20, 100_000, 16);
    assert_eq!(buffer.rules(), [""; 0]);
    let advice = nodes(16, 16).advise();
    assert_eq!(advice.findings[0].confidence, Confidence::Possible);
}

/// Blocks of 24 bytes, all used. What else is used of their lines is of other blocks.
#[test]
fn blocks_with_used_neighbours_are_in_the_order_of_the_accesses() {
    let rules = |used_of_lines| {
        let mut sketch = missing(ObjectKind::Heap, 100_000, used_of_lines);
        sketch.0.objects[1].longest = 24;
        sketch.causes().elements.push(ElementUse {
            object: 1,
            accesses: vec![0; 24],
            misses: [vec![50_000], vec![0; 23]].concat(),
            brought: vec![50_000; 24],
            used: vec![50_000; 24],
            ..ElementUse::default()
        });
        sketch.rules()
    };
    assert_eq!(rules(24), ["pointer-chasing"]);
    assert_eq!(rules(48), [""; 0]);
}

/// Blocks of one name from several call paths are one object.
#[test]
fn rows_of_one_name_are_one_finding() {
    let mut sketch = missing(ObjectKind::Heap, 1, 16);
    let other = sketch.object(ObjectKind::Heap, "entries (a.c)", 8 << 20, 1);
    let fields = [
        ("x", "double", 1000, 0),
        ("mass", "double", 1000, 1000),
        ("y", "double", 1000, 0),
        ("id", "long", 1000, 0),
    ];
    for object in [1, other] {
        sketch.fields(object, "Particle", &fields);
    }
    // Both rows are of one type.
    sketch.same_layouts();
    let advice = sketch.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.cost.amount, 37_500);
    assert!(
        finding.evidence[0].contains("3,232,000 bytes"),
        "{finding:?}"
    );
}

/// Elements of ten fields, of which this number is never used, in an object with these misses
/// beside an array of which all of each line is used.
fn with_cold_fields(cold: usize, misses: u64, others: u64) -> Sketch {
    let mut sketch = Sketch::new();
    let site = sketch.site(12, "load");
    let shapes = sketch.array("shapes", 8 << 20);
    let far = |far, used| Accesses {
        far,
        used,
        ..Accesses::default()
    };
    sketch.accesses(site, shapes, far(misses, 50));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let used = |at| if at < 10 - cold { 900 } else { 0 };
    let fields = (0..10).map(|at| (names[at], "double", 1000, used(at)));
    sketch.fields(shapes, "Shape", &fields.collect::<Vec<_>>());
    let numbers = sketch.array("numbers", 8 << 20);
    sketch.accesses(site, numbers, far(others, 64));
    sketch.untyped(numbers, 8, 1000);
    sketch
}

/// A fifth of the element is cold: little of the object's misses, and much of the program's where
/// the object has most of them.
#[test]
fn cold_fields_count_by_what_they_are_of_all_misses() {
    let of_all = with_cold_fields(2, 50_000, 50_000);
    let advice = of_all.advise();
    let [finding] = &advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(finding.rule.name, "mixed-fields");
    // 20 % of 50,000, to a rounding of the share.
    assert!(
        (9_999..=10_000).contains(&finding.cost.amount),
        "{finding:?}"
    );
    // 20 % of 20,000 are 4 % of all misses.
    assert_eq!(with_cold_fields(2, 20_000, 80_000).rules(), [""; 0]);
    // A tenth of the element is within what alignment makes of it.
    assert_eq!(with_cold_fields(1, 50_000, 50_000).rules(), [""; 0]);
}

/// One field is used of all elements, the other of a part of them.
#[test]
fn one_field_of_two_counts_by_what_it_is_of_all_misses() {
    let rules = |others, used_of_value| {
        let mut sketch = missing(ObjectKind::Static, 1, 40);
        sketch.fields(
            1,
            "Pair",
            &[
                ("key", "long", 1000, 1000),
                ("value", "long", 1000, used_of_value),
            ],
        );
        let numbers = sketch.array("numbers", 8 << 20);
        let site = sketch.site(20, "load");
        let accesses = Accesses {
            far: others,
            used: 64,
            ..Accesses::default()
        };
        sketch.accesses(site, numbers, accesses);
        sketch.untyped(numbers, 8, 1000);
        sketch.rules()
    };
    assert_eq!(rules(50_000, 80), ["array-of-structures"]);
    assert_eq!(rules(500_000, 80), [""; 0]);
    // An array of values used at every fourth element would be brought in nearly whole.
    assert_eq!(rules(50_000, 240), [""; 0]);
}

#[test]
fn data_with_most_misses_has_a_sentence_why_no_rule_applies() {
    let unexplained = |sketch: &Sketch| sketch.advise().unexplained;
    // A finding is about it.
    assert_eq!(unexplained(&with_cold_fields(2, 60_000, 40_000)), None);
    let words = unexplained(&with_cold_fields(1, 60_000, 40_000)).unwrap();
    let expected = "shapes has the most misses in L1d (32 KiB) (60,000, 60.0 %), and no rule \
                    applies to it: 78.1 % of the bytes that these misses bring in are used, and \
                    moving the fields away that are hardly ever used would save 10.0 % of them at \
                    most; no loop carries reuses of it that are beyond the cache.";
    assert_eq!(words, expected);
    let words = unexplained(&with_cold_fields(1, 40_000, 60_000)).unwrap();
    assert!(words.starts_with("numbers has the most misses"), "{words}");
    assert!(words.contains("its elements are no structures"), "{words}");
    // Without elements, loops or a name.
    let mut sketch = with_cold_fields(1, 60_000, 40_000);
    sketch.causes().elements.clear();
    sketch.causes().has_loops = false;
    let words = unexplained(&sketch).unwrap();
    assert!(
        words.contains("which of its fields that is, is not known"),
        "{words}"
    );
    assert!(
        words.contains("which loop carries its reuses is not known"),
        "{words}"
    );
    sketch.0.objects[1].kind = ObjectKind::Unknown;
    let words = unexplained(&sketch).unwrap();
    assert!(
        words.starts_with("Data without a name has the most misses"),
        "{words}"
    );
    // Too little to speak of.
    assert_eq!(unexplained(&with_cold_fields(1, 3000, 1000)), None);
}
