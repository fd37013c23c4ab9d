//! The pages: well formed, complete, small, and with the same numbers as the library.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use reuselens_locality::{FineHistogram, PathShares, PatternBins};
use reuselens_profile::{Context, Dimension, PathDistances, PathProfile, PathSite, Profile};
use reuselens_report::{
    CompareOptions, HtmlOptions, JsonOptions, ProfileVariant, TextOptions, compare, json, page,
    summary,
};
use reuselens_testing::has;
use reuselens_units::{Bytes, Distance, Granularity};

use crate::common;

/// Elements without an end tag.
const VOID: [&str; 5] = ["meta", "input", "br", "path", "circle"];

/// Checks that tags balance and that attributes are quoted; gives the text outside of tags.
fn check(html: &str) -> String {
    let body = html.strip_prefix("<!DOCTYPE html>\n").expect("a doctype");
    let mut open: Vec<&str> = Vec::new();
    let mut text = String::new();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let end = start + rest[start..].find('>').expect("an end of the tag");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of <{tag}>");
        rest = &rest[end + 1..];
        let name = tag
            .trim_start_matches('/')
            .split([' ', '\n'])
            .next()
            .unwrap();
        assert!(
            name.starts_with(|first: char| first.is_ascii_alphabetic()),
            "<{tag}>"
        );
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes something else");
        } else if matches!(name, "script" | "style") {
            let close = format!("</{name}>");
            rest = &rest[rest.find(&close).expect("an end of the script") + close.len()..];
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    let ids: Vec<&str> = html
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "ids are unique");
    text
}

/// Checks that the page fetches nothing.
fn is_offline(html: &str) {
    for word in [
        "http://", "https://", " src=", "@import", "url(", "<link", "fetch(", "//cdn",
    ] {
        let found = html.matches(word).count();
        let inside = html.matches("url(#").count();
        assert_eq!(found, if word == "url(" { inside } else { 0 }, "{word}");
    }
}

fn data(html: &str) -> serde_json::Value {
    let start = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").unwrap();
    serde_json::from_str(&html[start..end]).unwrap()
}

fn pages() -> Vec<(&'static str, Profile)> {
    let mut ids = common::tiny();
    ids.granularity = Granularity::BYTE;
    ids.machine.caches.clear();
    vec![
        ("empty", common::empty()),
        ("tiny", common::tiny()),
        ("hot", common::hot()),
        ("ids", ids),
        ("matmul", common::matmul(48, false)),
        ("elements", common::matmul_by_element(48)),
    ]
}

#[test]
fn pages_are_well_formed_and_complete() {
    for (name, profile) in pages() {
        let sources = BTreeMap::from([
            ("matmul.c".to_owned(), common::MATMUL_C.to_owned()),
            (
                "</script>&.c".to_owned(),
                "one\n\ttwo <b>\n</script>\n".to_owned(),
            ),
        ]);
        let html = page(
            &profile,
            &HtmlOptions {
                sources,
                ..HtmlOptions::default()
            },
        );
        let text = check(&html);
        is_offline(&html);
        assert!(
            !text.contains("NaN") && !html.contains("inf%") && !html.contains("NaN%"),
            "{name}"
        );
        assert!(html.len() < 150_000, "{name}: {} bytes", html.len());
        assert_eq!(text.contains("No access was recorded"), name == "empty");
        assert!(
            !text.contains("int main(void)"),
            "{name}: far from any access"
        );
        assert_eq!(
            text.contains("The source, with its misses"),
            matches!(name, "matmul" | "tiny" | "hot" | "ids" | "elements"),
            "{name}"
        );
    }
}

#[test]
fn a_bar_that_the_cache_cuts_is_coloured_by_its_accesses() {
    // All in one bar, 512 to 1,023 items; the cache ends in its middle.
    let edge = |distances: &[u64], items: u64| {
        let mut profile = common::tiny();
        profile.histogram = reuselens_locality::ExactHistogram::new();
        for distance in distances {
            profile.histogram.add(Distance::new(*distance), 500);
        }
        let cache = Some(Bytes(items * profile.granularity.bytes()).into());
        let options = HtmlOptions {
            cache,
            ..HtmlOptions::default()
        };
        let html = page(&profile, &options);
        let after = |html: &str, start: &str, end: char| {
            let from = html.find(start).unwrap() + start.len();
            let number = html[from..].split(end).next().unwrap().to_owned();
            number.parse::<f64>().unwrap()
        };
        let bars = &html[html.find("<path class=\"hit bars\"").unwrap()..];
        let (left, right) = (after(bars, " d=\"M", ' '), after(bars, "H", 'V'));
        let edge = after(&html, "id=\"misses-rect\" x=\"", '"');
        (edge - left) / (right - left)
    };
    for (distances, items, hits) in [
        (&[1000_u64][..], 768, 0.0),
        (&[600], 768, 1.0),
        (&[600, 1000], 768, 0.5),
        (&[600, 700, 767, 1000], 768, 0.75),
        (&[512, 513, 1023], 513, 1.0 / 3.0),
    ] {
        let found = edge(distances, items);
        assert!((found - hits).abs() < 0.01, "{distances:?}: {found}");
    }
}

#[test]
fn page_has_no_table_for_unknown_dimensions() {
    let mut ids = common::tiny();
    ids.sites.clear();
    ids.objects.clear();
    ids.contexts.truncate(1);
    ids.threads.truncate(1);
    for cell in &mut ids.cells {
        (cell.site, cell.object, cell.context, cell.thread) = (u32::MAX, u32::MAX, 0, 0);
    }
    let html = page(&ids, &HtmlOptions::default());
    check(&html);
    assert!(!html.contains("Where the misses come from"));
    assert!(!html.contains("unknown line") && html.contains("id=\"histogram\""));
    let mut fewer = ids.clone();
    fewer.cells.pop();
    let changes = |other: &Profile| {
        let variants = [("a", &ids), ("b", other)].map(|(name, profile)| ProfileVariant {
            name,
            caption: "",
            profile,
        });
        let page = compare(&variants, &CompareOptions::default()).unwrap();
        page.contains("What changed where")
    };
    assert!(!changes(&fewer) && changes(&common::tiny()));
}

#[test]
fn structures_are_drawn_from_end_to_end() {
    let options = HtmlOptions::default();
    let with = page(&common::matmul_by_element(48), &options);
    assert_eq!(with.matches("<figure class=\"strip\">").count(), 3);
    assert!(with.contains("elements 0 to 2,303; 113 k accesses, of which"));
    let table = &data(&with)["tables"]["element"];
    assert_eq!(table["names"].as_array().unwrap().len(), 100);
    assert!(table["rest"].is_array());
    let without = page(&common::matmul(48, false), &options);
    assert!(!without.contains("class=\"strip\"") && data(&without)["tables"]["element"].is_null());
    assert!(
        with.len() < without.len() + 40_000,
        "{} bytes",
        with.len() - without.len()
    );
}

/// A path with the given accesses at each distance.
fn path(outcomes: u32, hills: &[(u64, u64)]) -> PathDistances {
    let mut bins = PatternBins::new();
    for (distance, accesses) in hills {
        bins.add(Distance::new(*distance), *accesses);
    }
    PathDistances {
        outcomes,
        length: 32,
        bins,
    }
}

#[test]
fn lines_have_a_picture_of_their_patterns_by_path() {
    let site = |line: u32, paths: Vec<PathDistances>| PathSite {
        module: "matmul".to_owned(),
        offset: u64::from(line),
        frame: common::frame("multiply", "src/loops/<b>.c", line),
        paths,
    };
    let mut profile = common::tiny();
    profile.paths = Some(PathProfile {
        keep: 8,
        length: 16,
        long: 1024,
        blocks: 1,
        shares: vec![PathShares {
            length: 8,
            instructions: 4,
            multiple: 2,
            ..PathShares::default()
        }],
        sites: vec![
            site(7, vec![path(0b01, &[(3, 100)]), path(0b10, &[(4, 100)])]),
            // Near on one way and far on the other, and 5 of 3005 farther still.
            site(
                8,
                vec![
                    path(0b01, &[(3, 1000)]),
                    path(0b10, &[(5000, 3000), (90_000, 5)]),
                ],
            ),
            // Two paths of 16 outcomes that are one of 8.
            site(9, vec![path(1 << 12, &[(9, 70_000)]), path(0, &[(9, 1)])]),
        ],
        ..PathProfile::default()
    });
    let options = HtmlOptions {
        cache: Some(Bytes(1024 * profile.granularity.bytes()).into()),
        ..HtmlOptions::default()
    };
    let html = page(&profile, &options);
    let text = check(&html);
    is_offline(&html);
    assert!(html.contains("<a href=\"#paths\">Paths</a>") && text.contains("Patterns by path"));
    assert!(
        !html.contains("&lt;b&gt;.c:9"),
        "one path separates nothing"
    );
    let first = html
        .find("loops/&lt;b&gt;.c:8")
        .expect("the line that misses");
    let second = html.find("loops/&lt;b&gt;.c:7").expect("the other");
    assert!(first < second, "most misses first");
    let rows = &html[first..second];
    assert!(rows.contains("2 paths to 1 instruction, 4,005 accesses"));
    for row in ["all paths", "00000001", "00000010"] {
        assert_eq!(rows.matches(&format!(">{row}</text>")).count(), 1, "{row}");
    }
    // In the row of all paths and in its own: the far pattern in the colour of misses, the rarest
    // as a ring.
    assert_eq!(rows.matches("bar warm").count(), 4);
    assert_eq!(rows.matches("; rare</title>").count(), 2);
    assert_eq!(rows.matches("class=\"warm ring\"").count(), 2);
    assert_eq!(rows.matches("bar cool").count(), 2);
    // No accesses are known that it could be a share of.
    let row = [("outcomes", "8"), ("paths", "0"), ("accesses covered", "—")];
    let cell = |(head, cell)| format!("<td class=\"num\" data-head=\"{head}\">{cell}</td>");
    assert!(html.contains(&row.map(cell).concat()), "{html}");
    profile.paths = None;
    assert!(!page(&profile, &options).contains("Patterns by path"));
}

#[test]
fn names_from_the_program_cannot_break_out() {
    let html = page(&common::tiny(), &HtmlOptions::default());
    check(&html);
    assert!(!html.contains("</script>&.c"), "a name ended the script");
    assert!(html.contains("&lt;/script&gt;&amp;.c:3"));
    assert_eq!(html.matches("</script>").count(), 3);
    let names = &data(&html)["tables"]["function"]["names"];
    assert_eq!(names[0], "f<int, \"q\">");
}

#[test]
fn thousands_of_groups_stay_small_and_add_up() {
    stays_small_and_adds_up(&common::wide(5000));
}

#[test]
fn groups_with_large_histograms_stay_small_and_add_up() {
    stays_small_and_adds_up(&common::spread(700));
}

fn stays_small_and_adds_up(profile: &Profile) {
    let html = page(profile, &HtmlOptions::default());
    check(&html);
    // Sources take up to 600 KiB.
    assert!(html.len() < 1_400_000, "{} bytes", html.len());
    let data = data(&html);
    let accesses = |histogram: &serde_json::Value| {
        let numbers = histogram.as_array().unwrap();
        let bins = numbers
            .iter()
            .skip(3)
            .step_by(2)
            .map(|count| count.as_u64().unwrap());
        bins.sum::<u64>() + numbers[0].as_u64().unwrap()
    };
    for by in [
        "line",
        "line-object",
        "object",
        "function",
        "context",
        "thread",
    ] {
        let table = &data["tables"][by];
        let rows: u64 = table["h"].as_array().unwrap().iter().map(accesses).sum();
        let rest = if table["rest"].is_null() {
            0
        } else {
            accesses(&table["rest"][1])
        };
        assert_eq!(rows + rest, profile.histogram.accesses(), "{by}");
    }
    let tree: u64 = data["tree"]["h"]
        .as_array()
        .unwrap()
        .iter()
        .map(accesses)
        .sum();
    assert_eq!(tree, profile.histogram.accesses());
    for (node, parent) in data["tree"]["p"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .skip(1)
    {
        assert!(parent.as_u64().unwrap() < node as u64);
    }
}

#[test]
fn several_profiles_on_one_page() {
    let (ijk, ikj, none) = (
        common::matmul(24, false),
        common::matmul(24, true),
        common::empty(),
    );
    let variant = |name, profile| ProfileVariant {
        name,
        caption: "What **it** is.\n\n`<b>`",
        profile,
    };
    let variants = [
        variant("i<j>k", &ijk),
        variant("ikj", &ikj),
        variant("none", &none),
    ];
    let options = CompareOptions {
        cache: Some(Bytes(4096).into()),
        ..CompareOptions::default()
    };
    let hot = common::hot();
    let hot = [variant("ijk", &ijk), variant("hot", &hot)];
    check(&compare(&hot, &options).unwrap());
    for count in 0..=3 {
        let html = compare(&variants[..count], &options).unwrap();
        let text = check(&html);
        is_offline(&html);
        assert!(!text.contains("NaN"), "{count}");
        assert!(
            count < 2 || text.contains("ikj against i&lt;j&gt;k"),
            "{count}"
        );
    }
    let mut ids = common::tiny();
    ids.granularity = Granularity::BYTE;
    assert!(compare(&[variant("a", &ijk), variant("b", &ids)], &options).is_err());
}

/// Runs the page's script outside of a browser on expressions; `None` if there is no Node.js.
fn node(expressions: &[String]) -> Option<Vec<String>> {
    let program = format!(
        "{}{}\n{}",
        include_str!("../src/html/scales.js"),
        include_str!("../src/html/script.js"),
        expressions
            .iter()
            .map(|each| format!("console.log(String({each}));\n"))
            .collect::<String>()
    );
    if !has("node") {
        return None;
    }
    let mut child = Command::new("node")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(program.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn the_script_counts_what_the_library_counts() {
    let profile = common::matmul(48, false);
    let mut groups: Vec<FineHistogram> = profile
        .groups(Dimension::Line)
        .into_iter()
        .map(|group| group.histogram)
        .collect();
    let mut far = FineHistogram::new();
    for (exponent, count) in [
        (0, 3),
        (6, 1 << 50),
        (13, 7),
        (31, 12_345),
        (40, 99_999_999),
    ] {
        far.add(Distance::new((1 << exponent) + 5), count);
    }
    groups.push(far);
    let sizes = [
        1,
        2,
        31,
        32,
        33,
        55,
        100,
        512,
        768,
        1001,
        12_345,
        540_672,
        (1 << 31) + (1 << 26),
        (1 << 40) + 12_345,
    ];
    let mut expressions = Vec::new();
    let mut expected = Vec::new();
    for group in &groups {
        for size in sizes {
            expressions.push(format!("misses({}, {size})", encode(group)));
            expected.push(group.misses(size).to_string());
        }
    }
    if let Some(found) = node(&expressions) {
        assert_eq!(found, expected);
    }
}

/// As the page encodes it: cold, no mean, steps of bins with counts.
fn encode(histogram: &FineHistogram) -> String {
    let mut numbers = vec![histogram.cold().to_string(), "null".to_owned()];
    let mut last = 0;
    for (low, _, count) in histogram.iter() {
        let bin = FineHistogram::bin(low);
        numbers.extend([(bin - last).to_string(), count.to_string()]);
        last = bin;
    }
    format!("[{}]", numbers.join(","))
}

#[test]
fn small_shares_get_heights_that_can_be_seen() {
    let expressions = [
        // The axis that Rust draws, for a share of 33 %.
        "linearScale(0.33).ticks.map(tickLabel).join()",
        "linearScale(0.33).of(0.2)",
        // Logarithmic: 3 % of accesses is half of the height where the smallest bar has 0.1 %.
        "logScale(0.001).ticks.map(tickLabel).join()",
        "logScale(0.001).of(0.0316).toFixed(2)",
        "[logScale(0.001).of(1), logScale(0.001).of(0), logScale(0).of(1)].join()",
        // Distances 0, 3, 5 and 9 with 10 accesses each, in a cache of 6 items: the bar of 4 to 7
        // misses in part.
        "octaves([7, null, 0, 10, 3, 10, 2, 10, 4, 10]).map((bar) => [bar.low, bar.end, bar.n]).join(' ')",
        "missing(octaves([7, null, 0, 10, 3, 10, 2, 10, 4, 10]), 6, (at) => misses([7, null, 0, 10, 3, 10, 2, 10, 4, 10], at)).map((bar) => [bar.low, bar.n]).join(' ')",
        "missing(octaves([7, null, 0, 10, 5, 10]), 5, (at) => misses([7, null, 0, 10, 5, 10], at)).map((bar) => [bar.low, bar.n]).join(' ')",
    ];
    let Some(found) = node(&expressions.map(str::to_owned)) else {
        return;
    };
    assert_eq!(
        found,
        [
            "0,10 %,20 %,30 %,40 %",
            "0.5",
            "100 %,10 %,1 %,0.1 %",
            "0.50",
            "1,0,1",
            "0,1,10 2,4,10 4,8,10 8,16,10",
            "4,0 8,10",
            "4,10",
        ]
    );
}

/// Where labels of caches go to the left is defined by the picture, and not by the script.
#[test]
fn the_script_flips_labels_where_the_picture_says() {
    let html = page(&common::matmul(24, false), &HtmlOptions::default());
    let edge = |name: &str| -> f64 {
        let before = format!(" data-{name}=\"");
        let edges = html.split(&before).skip(1);
        let edges: Vec<&str> = edges.filter_map(|rest| rest.split('"').next()).collect();
        // Of the histogram and of the curve.
        assert!(edges.len() == 2 && edges[0] == edges[1], "{edges:?}");
        edges[0].parse().unwrap()
    };
    let (wide, narrow) = (edge("flip"), edge("narrow-flip"));
    assert!(narrow < wide && wide < 1.0);
    let script = include_str!("../src/html/script.js");
    for edge in [wide, narrow] {
        assert!(!script.contains(&edge.to_string()), "{edge}");
    }
    let edges = format!("{{ flip: '{wide}', narrowFlip: '{narrow}' }}");
    let at = |x: f64| format!("flips({x}, {edges})");
    let Some(found) = node(&[at(narrow - 0.01), at(narrow), at(wide - 0.01), at(wide)]) else {
        return;
    };
    let both = " flip narrow-flip";
    assert_eq!(found, ["", " narrow-flip", " narrow-flip", both]);
}

#[test]
fn the_script_writes_numbers_as_the_page_does() {
    let profile = common::matmul(48, false);
    let html = page(&profile, &HtmlOptions::default());
    let items = data(&html)["chosen"].as_u64().unwrap();
    let misses = profile.histogram.misses(items);
    let all = profile.histogram.accesses();
    let expressions = [
        format!("count({misses})"),
        format!("percent({misses}, {all})"),
        format!("size({items}, 64)"),
        "bytes(1536)".to_owned(),
        "parseSize('48K')".to_owned(),
        "parseSize('1.5 MiB')".to_owned(),
        "parseSize('x')".to_owned(),
        "percent(1, 1000000)".to_owned(),
        "percent(999999, 1000000)".to_owned(),
    ];
    let Some(found) = node(&expressions) else {
        return;
    };
    assert!(
        html.contains(&format!(">{}</span> of ", found[0])),
        "{}",
        found[0]
    );
    assert!(
        html.contains(&format!("<b>{}</b>) miss in", found[1])),
        "{}",
        found[1]
    );
    assert_eq!(found[2], Bytes(items * 64).to_string());
    assert_eq!(
        found[3..],
        ["1.5 KiB", "49152", "1572864", "NaN", "<0.01 %", ">99.99 %"]
    );
}

/// A recursion that went 200,000 calls deep: what is done for each call must not go through all of
/// its callers.
#[test]
fn contexts_of_any_depth_are_shown() {
    let mut profile = common::tiny();
    let call = |node: u32| Context {
        parent: node.saturating_sub(1),
        function: "descend".to_owned(),
        ..Context::default()
    };
    profile.contexts = (0..200_000).map(call).collect();
    for cell in &mut profile.cells {
        cell.context = 199_999;
    }
    let deep = "descend > (199967 more) > descend";
    let page = page(&profile, &HtmlOptions::default());
    assert!(page.contains("(199967 more)") && page.len() < 2 << 20);
    let by = vec![Dimension::Context];
    let options = JsonOptions {
        by: by.clone(),
        ..JsonOptions::default()
    };
    assert!(json(&profile, &options).contains(deep));
    let options = TextOptions {
        by,
        ..TextOptions::default()
    };
    assert!(summary(&profile, &options).contains("descend"));
    let merged = Profile::merge(&[profile.clone(), profile]).unwrap();
    assert_eq!(merged.contexts.len(), 200_000);
}
