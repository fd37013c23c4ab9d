//! `reuselens place`.

use crate::common::{Done, Json, Place};

/// Two matrices: one is walked along its rows, the other along its columns.
const TRANSPOSE: &str = "
#include <stdlib.h>
enum { N = 256 };
int main(void) {
  double *rows = malloc(sizeof(double) * N * N);
  double *columns = malloc(sizeof(double) * N * N);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) rows[i * N + j] += columns[j * N + i];
  int result = rows[7] > 1e9;
  free(rows);
  free(columns);
  return result;
}
";

fn transposed() -> Place {
    let place = Place::new();
    place.write("transpose.c", TRANSPOSE);
    let words = ["cc", "-g", "-O1", "transpose.c", "-o", "transpose"];
    place.run(&words).succeeds();
    let words = [
        "profile",
        "-q",
        "--granularity",
        "64",
        "-o",
        "t",
        "--",
        "./transpose",
    ];
    place.run(&words).succeeds();
    place
}

/// Where a matrix belongs by the first row that names it, by the line that allocates it.
fn tier_of(done: &Done, line: u32) -> String {
    let name = format!("transpose.c:{line})");
    let mut rows = done.out.lines().filter(|row| row.contains(&name));
    let row = rows
        .next()
        .unwrap_or_else(|| panic!("{name}: {}", done.out));
    row.rsplit("  ")
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[test]
fn matrix_walked_by_columns_is_placed_first() {
    let place = transposed();
    let words = ["place", "t.rlprof", "--fast", "600K", "--cache", "24K"];
    let done = place.run(&words).succeeds();
    assert_eq!(tier_of(&done, 6), "fast");
    assert_eq!(tier_of(&done, 5), "slow: no room");
    assert!(!done.out.contains("mmap64.c"), "{}", done.out);
    assert!(!done.out.contains("fits into"), "{}", done.out);
    done.prints(&[
        "no placement is better than this plan",
        "Next: add -o NAME.rlplace",
    ]);
    let cached = ["place", "t.rlprof", "--fast", "60K", "--cache", "8M"];
    let done = place.run(&cached).succeeds();
    done.prints(&["fits into 8 MiB of cache", "add --cache SIZE"]);
    let room_for_both = ["place", "t.rlprof", "--fast", "2M", "--cache", "24K"];
    let done = place.run(&room_for_both).succeeds();
    assert_eq!(tier_of(&done, 5), "fast");
}

/// A program that `reuselens cc` did not build is recorded with its libraries.
#[test]
fn data_of_the_loader_and_small_statics_are_left_out() {
    let place = Place::new();
    place.write("transpose.c", TRANSPOSE);
    let gcc = std::process::Command::new("gcc")
        .args(["-g", "-O1", "transpose.c", "-o", "transpose"])
        .current_dir(place.path(""))
        .status();
    assert!(gcc.unwrap().success());
    place
        .run(&["profile", "-q", "-o", "t", "--", "./transpose"])
        .succeeds();
    place
        .run(&["place", "t.rlprof", "--fast", "600K", "--cache", "24K"])
        .succeeds()
        .prints(&["of the dynamic loader", "static and smaller than a page"]);
}

/// Accesses the first half of a block.
const HALF: &str = "
#include <stdlib.h>
enum { N = 1 << 17 };
int main(void) {
  double *block = malloc(sizeof(double) * 2 * N);
  for (int pass = 0; pass < 3; pass++)
    for (int i = 0; i < N; i++) block[i] += i;
  int result = block[7] > 1e9;
  free(block);
  return result;
}
";

#[test]
fn end_of_a_block_without_accesses_is_not_placed() {
    let place = Place::new();
    place.write("half.c", HALF);
    let words = ["cc", "-g", "-O1", "half.c", "-o", "half"];
    place.run(&words).succeeds();
    let words = ["profile", "-q", "--placement", "-o", "p", "--", "./half"];
    place.run(&words).succeeds();
    let words = ["place", "p.rlprof", "--fast", "64M", "--cache", "24K"];
    let done = place.run(&[&words[..], &["-o", "p.rlplace"]].concat());
    done.succeeds();
    let file = reuselens_placement::PlacementFile::from_toml(&place.text("p.rlplace")).unwrap();
    let [block] = &file.objects[..] else {
        panic!("{file:?}")
    };
    assert_eq!(block.chunks, [(0, 1 << 20)]);
    assert_eq!(block.bytes, 1 << 20);
}

#[test]
fn json_has_all_objects_and_the_bound() {
    let place = transposed();
    let words = [
        "place",
        "t.rlprof",
        "--machine",
        "keystone2",
        "--objective",
        "time",
        "--json",
        "-",
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    assert_eq!(json.0["schema"], "reuselens-placement/1");
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(number(&json.0["value"]) <= number(&json.0["bound"]));
    let objects = json.0["objects"].as_array().unwrap();
    let accesses: u64 = objects
        .iter()
        .map(|object| object["accesses"].as_u64().unwrap())
        .sum();
    let others = [
        "stack_accesses",
        "unknown_accesses",
        "unknown_size_accesses",
        "loader_accesses",
        "small_static_accesses",
        "negligible_accesses",
    ];
    let others: u64 = others
        .iter()
        .map(|name| json.0[*name].as_u64().unwrap())
        .sum();
    assert_eq!(accesses + others, json.0["accesses"].as_u64().unwrap());
    let again = place.run(&words).succeeds();
    assert_eq!(again.out, place.run(&words).succeeds().out);
}

#[test]
fn machine_files_are_read_and_their_errors_located() {
    let place = transposed();
    let file = "name = \"m\"\ncache = \"24K\"\n\
        [[tier]]\nname = \"near\"\nkind = \"HBM\"\ncapacity = \"600K\"\nlatency = 50\nbandwidth = 400000\n\
        [[tier]]\nname = \"far\"\nkind = \"CXL-DRAM\"\nlatency = 250\nbandwidth = 20000\n";
    place.write("m.toml", file);
    let words = ["place", "t.rlprof", "--machine", "m.toml"];
    assert_eq!(tier_of(&place.run(&words).succeeds(), 6), "near");
    place.write(
        "m.toml",
        file.replace("capacity = \"600K\"", "capacity = \"0\""),
    );
    place
        .run(&words)
        .fails(2)
        .says(&["m.toml", "tier 'near'", "capacity is \"0\""]);
}

#[test]
fn wrong_usage_names_the_right_command() {
    let place = transposed();
    let cases: [(&[&str], &str); 7] = [
        (&["--fast", "1M", "--cache", "0"], "take --objective f"),
        (&[], "add --fast SIZE"),
        (&["--fast", "0"], "--fast 16M"),
        (&["--machine", "keystone3"], "keystone2"),
        (
            &["--fast", "1M", "--objective", "time"],
            "--objective misses",
        ),
        (
            &["--fast", "1M", "--objective", "speed"],
            "f, misses or time",
        ),
        (
            &["--fast", "1M", "--json", "t.rlprof"],
            "name another file, with --json",
        ),
    ];
    for (options, expected) in cases {
        let words = [&["place", "t.rlprof"], options].concat();
        let done = place.run(&words);
        assert!(done.code != 0, "{options:?}");
        assert!(done.err.contains(expected), "{options:?}: {}", done.err);
    }
    place.write("ids.txt", "a b a\n");
    place.run(&["analyze", "-q", "ids.txt"]).succeeds();
    let words = ["place", "ids.rlprof", "--fast", "1M", "--cache", "1K"];
    place
        .run(&words)
        .fails(1)
        .says(&["no data object of known size"]);
}

/// With lazy binding, the first calls of `malloc` and of a library's function enter the dynamic
/// loader; its frames are no part of an allocation.
#[test]
fn first_call_through_the_dynamic_loader_makes_no_other_object() {
    let place = Place::new();
    let library = "#include <stdlib.h>\n\
        char *make(long n) { char *p = malloc(n); p[0] = 1; return p; }\n";
    let program = "#include <stdlib.h>\n\
        char *make(long n);\n\
        int main(void) {\n\
        int sum = 0;\n\
        for (int i = 0; i < 3; i++) {\n\
        char *mine = malloc(100000), *theirs = make(200000);\n\
        for (int j = 0; j < 100000; j++) sum += mine[j] = theirs[j] = j;\n\
        free(mine); free(theirs);\n\
        }\n\
        return sum == 7;\n}\n";
    place.write("library.c", library);
    place.write("program.c", program);
    let shared = ["-shared", "-fPIC", "library.c", "-o", "liblibrary.so"];
    let linked = ["program.c", "-L.", "-llibrary", "-Wl,-rpath,$ORIGIN", "-o"];
    let linked = [&linked[..], &["program"]].concat();
    for words in [&shared[..], &linked] {
        let gcc = std::process::Command::new("gcc")
            .args(["-g", "-O1", "-fno-builtin", "-Wl,-z,lazy"])
            .args(words)
            .current_dir(place.path(""))
            .status();
        assert!(gcc.unwrap().success());
    }
    let words = ["profile", "-q", "-o", "b", "--", "./program"];
    place.run(&words).succeeds();
    let words = [
        "place", "b.rlprof", "--fast", "1M", "--cache", "4K", "--json", "-",
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    for (line, bytes, calls) in [
        ("program.c:6)", 100_000, ["main", "__libc_start_call_main"]),
        ("library.c:2)", 200_000, ["make", "main"]),
    ] {
        let objects = json.0["objects"].as_array().unwrap().iter();
        let found: Vec<_> = objects
            .filter(|object| object["name"].as_str().unwrap().contains(line))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["bytes"], bytes);
        assert_eq!(found[0]["blocks"], 3);
        for (call, name) in found[0]["path"].as_array().unwrap().iter().zip(calls) {
            assert!(call.as_str().unwrap().starts_with(name), "{call}");
        }
    }
}

/// Allocations of one name are one object, however the function was called.
#[test]
fn size_of_an_object_covers_all_allocations_of_its_name() {
    let place = Place::new();
    let program = "#include <stdlib.h>\n\
        int main(void) {\n\
        char *p[4];\n\
        for (int i = 0; i < 4; i++) p[i] = malloc(100000);\n\
        for (int i = 0; i < 4; i++) for (int j = 0; j < 100000; j++) p[i][j] = j;\n\
        return p[3][7] != 7;\n}\n";
    place.write("blocks.c", program);
    let gcc = std::process::Command::new("gcc")
        .args(["-g", "-O1", "-fno-builtin", "blocks.c", "-o", "blocks"])
        .current_dir(place.path(""))
        .status();
    assert!(gcc.unwrap().success());
    let words = ["profile", "-q", "-o", "b", "--", "./blocks"];
    place.run(&words).succeeds();
    let words = [
        "place", "b.rlprof", "--fast", "1M", "--cache", "4K", "--json", "-",
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    let objects = json.0["objects"].as_array().unwrap();
    let blocks = objects
        .iter()
        .find(|object| object["name"].as_str().unwrap().contains("blocks.c:4"));
    assert_eq!(blocks.unwrap()["bytes"], 400_000);
}

#[test]
fn profile_with_bounded_distances_gets_a_warning() {
    let place = transposed();
    let words = [
        "profile",
        "-q",
        "--max-distance",
        "100",
        "-o",
        "near",
        "--",
        "./transpose",
    ];
    place.run(&words).succeeds();
    let words = ["place", "near.rlprof", "--fast", "1M", "--cache", "32K"];
    place
        .run(&words)
        .fails(1)
        .says(&["--max-distance", "--cache with at most"]);
}

#[test]
fn placement_file_names_the_allocation_of_the_matrix_and_its_build() {
    let place = transposed();
    let words = [
        "place",
        "t.rlprof",
        "--fast",
        "600K",
        "--cache",
        "24K",
        "-o",
        "t.rlplace",
    ];
    place
        .run(&words)
        .succeeds()
        .prints(&["Next: reuselens run --placement t.rlplace"]);
    let text = String::from_utf8(place.read("t.rlplace")).unwrap();
    let file = reuselens_placement::PlacementFile::from_toml(&text).unwrap();
    let names: Vec<&str> = file.objects.iter().map(|object| &*object.name).collect();
    assert_eq!(names, ["heap from main (transpose.c:6)"]);
    assert_eq!(file.objects[0].bytes, 256 * 256 * 8);
    assert_eq!(file.tiers[0].capacity_bytes, 600 << 10);
    let path = &file.objects[0].paths[0];
    assert_eq!(path.len(), 1, "{path:?}");
    assert_eq!(path[0].module, "transpose");
    assert!(file.builds["transpose"].len() >= 16, "{text}");
    // The place is in the line that allocates.
    let addr2line = std::process::Command::new("addr2line")
        .args(["-e", "transpose", &format!("{:#x}", path[0].offset)])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let line = String::from_utf8(addr2line.stdout).unwrap();
    assert!(line.contains("transpose.c:6"), "{line}");
    place.run(&words).fails(1).says(&["t.rlplace"]);
}

#[test]
fn cache_is_given_by_its_name() {
    let place = transposed();
    let words = ["place", "t.rlprof", "--fast", "600K", "--cache", "L9"];
    place
        .run(&words)
        .fails(2)
        .says(&["--cache L9 is neither a size"]);
    let words = ["place", "t.rlprof", "--fast", "600K", "--cache", "24K:4"];
    place
        .run(&words)
        .succeeds()
        .prints(&["24 KiB of cache in front do not serve (4-way LRU, expected)"]);
    let words = ["place", "t.rlprof", "--fast", "600K", "--cache", "24K:7"];
    place.run(&words).fails(2).says(&["sets of 7 ways"]);
}

#[test]
fn machines_with_hbm_cxl_and_huge_pages_come_with_it() {
    let place = transposed();
    for (name, tier) in [
        ("knl7210", "MCDRAM"),
        ("xeonmax9480", "HBM2e"),
        ("cxl", "DRAM"),
        ("hugepages", "huge"),
    ] {
        let words = [
            "place",
            "t.rlprof",
            "--machine",
            name,
            "--fast",
            "600K",
            "--cache",
            "24K",
        ];
        assert_eq!(tier_of(&place.run(&words).succeeds(), 6), tier, "{name}");
    }
    place.write("m.xml", "<topology/>");
    place
        .run(&["place", "t.rlprof", "--machine", "m.xml"])
        .fails(2)
        .says(&["m.xml: no memory node is described"]);
}

/// A machine of hwloc whose fast tier has more bandwidth and a higher latency.
const HBM_XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x1" nodeset="0x3" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1" gp_index="3"
      local_memory="137438953472" subtype="DRAM"/>
    <object type="NUMANode" os_index="1" cpuset="0x1" nodeset="0x2" gp_index="4"
      local_memory="17179869184" subtype="HBM"/>
  </object>
  <memattr name="Bandwidth" flags="5">
    <memattr_value target_obj_gp_index="3" value="100000" initiator_cpuset="0x1"/>
    <memattr_value target_obj_gp_index="4" value="400000" initiator_cpuset="0x1"/>
  </memattr>
  <memattr name="Latency" flags="6">
    <memattr_value target_obj_gp_index="3" value="110" initiator_cpuset="0x1"/>
    <memattr_value target_obj_gp_index="4" value="130" initiator_cpuset="0x1"/>
  </memattr>
</topology>
"#;

#[test]
fn parallelism_is_an_option_where_the_machine_states_none() {
    let place = transposed();
    place.write("hbm.xml", HBM_XML);
    let time = |machine: &str, more: &[&str]| {
        let words = ["place", "t.rlprof", "--machine", machine, "--cache", "24K"];
        place.run(&[&words[..], &["--objective", "time"], more].concat())
    };
    // One thread gains nothing, and the message says from which number on something does: hwloc's
    // bandwidths are MiB/s, so a line takes 0.61 ns, of 130 ns.
    time("hbm.xml", &[]).fails(1).says(&[
        "with 10 misses at a time (10 line-fill buffers for each of 1 thread)",
        "add --parallelism 213",
    ]);
    let done = time("hbm.xml", &["--parallelism", "213"]).succeeds();
    done.prints(&["213 at a time"]);
    time("hbm.xml", &["--parallelism", "0"])
        .fails(2)
        .says(&["it must be a number from 1 to 1,000,000"]);
    // A miss of the TLB moves no page.
    time("hugepages", &["--fast", "600K"]).succeeds();
}

#[test]
fn large_machine_files_are_refused() {
    let place = transposed();
    place.write("m.toml", "#".repeat((1 << 20) + 1));
    let words = ["place", "t.rlprof", "--machine", "m.toml"];
    place
        .run(&words)
        .fails(1)
        .says(&["it is larger than 1 MiB"]);
}

#[test]
fn page_has_tiers_and_the_curve_and_fetches_nothing() {
    let place = transposed();
    let words = [
        "place",
        "t.rlprof",
        "--machine",
        "cxl",
        "--fast",
        "600K",
        "--cache",
        "24K",
        "--html",
        "plan.html",
    ];
    place.run(&words).succeeds();
    let page = String::from_utf8(place.read("plan.html")).unwrap();
    for part in [
        "What each tier holds",
        "capacity of DRAM",
        "transpose.c:6",
        "this plan",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        page.len() < 2 << 20
            && !page.contains("=\"NaN")
            && !page.contains(":NaN")
            && !page.contains("src=\"http")
    );
    place
        .run(&words)
        .fails(1)
        .says(&["name another file, with --html"]);
}

#[test]
fn location_file_of_flexmalloc_becomes_a_placement_file() {
    let place = transposed();
    place.write(
        "locations",
        "transpose.c:5 @ posix\ntranspose.c:99 @ posix\ntranspose.c:6 @ nowhere\n",
    );
    let words = [
        "place",
        "t.rlprof",
        "--fast",
        "1M",
        "--import",
        "locations",
        "-o",
        "i.rlplace",
    ];
    let done = place.run(&words).succeeds();
    done.says(&[
        "line 2: the profile has no allocation",
        "line 3: the allocator 'nowhere'",
    ])
    .prints(&["1 object in i.rlplace", "2 locations left out"]);
    let text = String::from_utf8(place.read("i.rlplace")).unwrap();
    let file = reuselens_placement::PlacementFile::from_toml(&text).unwrap();
    assert_eq!(file.objects[0].name, "heap from main (transpose.c:5)");
    place.run(&words[..6]).fails(2).says(&["--output"]);
}

#[test]
fn sizes_and_profiles_that_were_hardly_meant_get_a_warning() {
    let place = transposed();
    let without_unit = ["place", "t.rlprof", "--fast", "16", "--objective", "f"];
    let done = place.run(&without_unit);
    assert!(
        done.err.contains("--fast 16 is 16 bytes; write --fast 16M"),
        "{}",
        done.err
    );
    let with_unit = ["place", "t.rlprof", "--fast", "600K", "--objective", "f"];
    let done = place.run(&with_unit).succeeds();
    assert!(!done.err.contains("warning"), "{}", done.err);
    // The values of this machine are for pages, and the profile counts lines.
    let pages = [
        "place",
        "t.rlprof",
        "--machine",
        "hugepages",
        "--cache",
        "24K",
    ];
    place
        .run(&pages)
        .succeeds()
        .says(&["for items of 4 KiB", "--granularity 4096"]);
    let small = [
        "place",
        "t.rlprof",
        "--fast",
        "1M",
        "--cache",
        "24K",
        "-o",
        "small.rlplace",
    ];
    place.run(&small).succeeds().says(&[
        "tier 'fast' holds less than 2 MiB",
        "it will refuse this file",
    ]);
    let refused = ["run", "--placement", "small.rlplace", "--", "./transpose"];
    place
        .run(&refused)
        .fails(1)
        .says(&["a huge page has 2 MiB"]);
}
