//! What text, page, JSON, CSV and differences of a run show.

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BasicBlockExecutions, BranchExecutions, BranchReport, CallPath,
    ClassCounts, CopySum, Direction, GuardedExecutions, InstructionCounts, InstructionExecutions,
    KernelNames, LaunchContext, Ledger, MemoryObject, ObjectRange, Origin, RunFacts, findings,
};
use reuselens_warp::{
    BlockUse, DeviceCall, Extent, InstructionClass, KernelSite, Launch, SharedArray, Space,
    WarpKind, WarpRow,
};
use serde_json::Value;

use super::*;
use crate::{AdviceReport, AdviceTextOptions, advice_text};

mod source;

/// Where the object of the device begins.
const DATA: u64 = 0x1000;

/// A launch of one warp: a load of neighbouring words, then one that strides over `stride` bytes.
fn launch(advisor: &mut Advisor, kernel: &str, call_path: u32, stride: u64) {
    let site = |line| KernelSite {
        place: format!("/src/k.cu:{line}:3"),
        // Line 4 is instruction 0 of those below, line 5 instruction 1.
        text: format!("ld.global.f32 (PTX line {})", 16 + line),
        ..KernelSite::default()
    };
    let launch = Launch {
        kernel: kernel.to_owned(),
        grid: Extent::line(1),
        block: Extent::line(32),
        used: Some(BlockUse {
            static_shared: 40 << 10,
            dynamic_shared: 16 << 10,
            has_exchange: false,
        }),
        arrays: [
            SharedArray {
                name: "tile".to_owned(),
                start: 0,
                bytes: Some(40 << 10),
            },
            SharedArray {
                name: "more".to_owned(),
                start: 40 << 10,
                bytes: None,
            },
        ]
        .into(),
        sites: [site(4), site(5), site(7), site(8), site(7)].into(),
    };
    let context = LaunchContext {
        call_path,
        objects: vec![ObjectRange {
            start: DATA,
            end: DATA + (1 << 20),
            object: 1,
        }]
        .into(),
    };
    advisor.begin(&launch, context);
    let mut block = advisor.open().unwrap();
    for (site, stride) in [(0, 4), (1, stride)] {
        let addresses: Vec<u64> = (0..32).map(|lane| DATA + lane * stride).collect();
        block.record(&WarpRow {
            site,
            phase: 0,
            position: u64::from(site) + 1,
            block: 0,
            warp: 0,
            mask: u32::MAX,
            space: Space::Global,
            kind: WarpKind::Load,
            bytes: 4,
            addresses: &addresses,
        });
    }
    // Neighbouring words of the one array, twice every other word of the other, and local memory.
    for (site, start, stride, space) in [
        (2, 0, 4, Space::Shared),
        (4, 40 << 10, 8, Space::Shared),
        (4, 41 << 10, 8, Space::Shared),
        (3, 64, 0, Space::Local),
    ] {
        let addresses: Vec<u64> = (0..32).map(|lane| start + lane * stride).collect();
        block.record(&WarpRow {
            site,
            phase: 0,
            position: u64::from(site) + 1,
            block: 0,
            warp: 0,
            mask: u32::MAX,
            space,
            kind: WarpKind::Store,
            bytes: 4,
            addresses: &addresses,
        });
    }
    advisor.close(block);
    let (basic_blocks, branches) = (
        [BasicBlockExecutions {
            block: 0,
            place: "/src/k.cu:6:1".into(),
            calls: [].into(),
            executions: 4,
            divergent: 1,
        }],
        [BranchExecutions {
            branch: 0,
            place: "/src/k.cu:6:1".into(),
            calls: [].into(),
            executions: 4,
            splits: 3,
            lanes: 128,
        }],
    );
    let guarded = [GuardedExecutions {
        instruction: 0,
        place: "/src/k.cu:7:1".into(),
        calls: [].into(),
        executions: 4,
        lanes: 128,
        lanes_off: 32,
    }];
    let executed = |number, line, class, warps, threads, float_operations| InstructionExecutions {
        instruction: number,
        place: format!("/src/k.cu:{line}").into(),
        column: number + 1,
        calls: [].into(),
        ptx_line: 20 + number,
        // The loads are sites too, which have opcodes.
        text: match class {
            InstructionClass::LoadGlobal => format!("@%p1 ld.global.f32 %f{number};").into(),
            _ => format!("instruction {number};").into(),
        },
        class,
        counts: ClassCounts {
            warps,
            threads,
            float_operations,
        },
    };
    let instructions = [
        executed(0, 4, InstructionClass::LoadGlobal, 1, 32, 0),
        executed(1, 5, InstructionClass::LoadGlobal, 1, 32, 0),
        executed(2, 5, InstructionClass::Float32, 3, 96, 192),
        executed(3, 7, InstructionClass::Integer, 5, 140, 0),
        executed(4, 7, InstructionClass::Control, 1, 32, 0),
    ];
    advisor.branches(&BranchReport {
        basic_blocks: basic_blocks.into(),
        branches: branches.into(),
        guarded: guarded.into(),
        instructions: instructions.into(),
    });
    advisor.end(InstructionCounts {
        warps: 10,
        threads: 300,
    });
}

struct Names;

impl KernelNames for Names {
    fn kernel(&self, kernel: &str) -> String {
        kernel.to_owned()
    }

    fn call_path(&self, number: u32) -> Vec<String> {
        vec![format!("main (k.cu:{number})")]
    }

    fn object(&self, _: u32) -> Option<String> {
        Some("d_data".to_owned())
    }
}

/// A run whose launches have these strides; each has a call path of its own.
pub(super) fn run(strides: &[u64]) -> GpuRun {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    let mut ledger = Ledger::default();
    let mut call_paths = vec![Vec::new()];
    for (number, &stride) in (1..).zip(strides) {
        launch(&mut advisor, "scale<float>", number, stride);
        ledger.call_paths.push(CallPath::default());
        call_paths.push(vec![HostCall {
            function: "main".to_owned(),
            place: format!("k.cu:{number}"),
        }]);
    }
    let memory = |origin, bytes| MemoryObject {
        origin,
        instances: 1,
        bytes,
        peak_bytes: bytes,
        ..MemoryObject::default()
    };
    ledger.objects.push(memory(Origin::Malloc, 1 << 20));
    ledger.objects.push(memory(Origin::Heap, 1 << 20));
    ledger.copies.push(CopySum {
        from: 2,
        to: 1,
        direction: Direction::HostToDevice,
        call_path: 1,
        count: 2,
        bytes: 2 << 20,
        redundant: 1,
        redundant_bytes: 1 << 20,
    });
    let kernels = advisor.finish();
    let findings = findings(&RunFacts {
        kernels: &kernels,
        ledger: &ledger,
        names: &Names,
    });
    GpuRun {
        command: "./k <input>".to_owned(),
        origin: RunOrigin::Program,
        kernels,
        ledger,
        call_paths,
        objects: vec!["?".into(), "d_data".into(), "h_data".into()],
        findings,
        host: None,
        unanalysed_launches: 0,
        unseen: Vec::new(),
        unrecorded: Vec::new(),
    }
}

/// A run read back from its JSON.
fn stored(run: &GpuRun) -> StoredGpuRun {
    StoredGpuRun::parse(&gpu_json(&SummedRun::of(run))).unwrap()
}

/// The JSON of a run.
fn parsed(summed: &SummedRun<'_>) -> Value {
    serde_json::from_str(&gpu_json(summed)).unwrap()
}

pub(super) const OPTIONS: GpuTextOptions = GpuTextOptions {
    top: 5,
    width: 110,
    color: false,
};

#[test]
fn text_names_kernel_line_object_and_what_to_change() {
    let text = gpu_text(&SummedRun::of(&run(&[128])), &OPTIONS);
    // 4 sectors of the first load and 32 of the second, in two requests.
    for part in [
        "scale<float>",
        "18.0",
        "k.cu:5",
        "d_data",
        "h_data",
        "Uncoalesced access: 28 excessive sectors",
        "called by main (k.cu:1)",
        "75.0 %",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
}

#[test]
fn a_run_without_kernels_has_no_text() {
    assert_eq!(gpu_text(&SummedRun::of(&GpuRun::default()), &OPTIONS), "");
}

#[test]
fn json_has_the_counts_and_begins_with_its_schema() {
    let text = gpu_json(&SummedRun::of(&run(&[128, 4])));
    assert!(
        text.starts_with("{\n \"schema\": \"reuselens-gpu/1\""),
        "{text}"
    );
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["by_kernel"][0]["global"]["sectors"], 36 + 8);
    assert_eq!(json["by_kernel"][0]["launches"], 2);
    assert_eq!(json["kernels"].as_array().unwrap().len(), 2);
    assert_eq!(json["by_line"][0]["line"], "/src/k.cu:5");
    assert_eq!(json["by_object"][0]["name"], "d_data");
    assert_eq!(json["copies"][0]["redundant_bytes"], 1 << 20);
    let sectors = &json["kernels"][0]["divergence"]["loads"]["sectors"];
    assert_eq!((&sectors[4], &sectors[32]), (&1.into(), &1.into()));
}

/// A block of one warp with 56 KiB of shared memory, of which an SM of an H100 holds four.
#[test]
fn launches_have_grid_block_shared_memory_and_occupancy() {
    let run = run(&[128, 4]);
    let summed = SummedRun::of(&run);
    let json = parsed(&summed);
    let both = &json["by_kernel"][0]["configurations"];
    assert_eq!(both.as_array().unwrap().len(), 1, "{both}");
    let one = &json["kernels"][1]["configurations"][0];
    assert_eq!(
        (&both[0]["launches"], &one["launches"]),
        (&2.into(), &1.into())
    );
    assert_eq!(one["grid"], serde_json::json!([1, 1, 1]));
    assert_eq!(one["block"], serde_json::json!([32, 1, 1]));
    assert_eq!(one["static_shared_bytes"], 40 << 10);
    assert_eq!(one["dynamic_shared_bytes"], 16 << 10);
    let occupancy = serde_json::json!({
        "share": 0.0625,
        "blocks": 4,
        "warps": 4,
        "most_warps": 64,
        "limits": ["shared memory"],
        "waves": 1.0 / (4.0 * 132.0),
    });
    assert_eq!(one["occupancy"], occupancy);
    let text = gpu_text(&summed, &OPTIONS);
    let row = text.lines().find(|line| line.contains("6.25 %")).unwrap();
    let cells: Vec<&str> = row
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    let expected = [
        "scale<float>",
        "2",
        "1",
        "32",
        "40 KiB",
        "16 KiB",
        "≤ 6.25 %",
        "shared memory",
        "0.00",
    ];
    assert_eq!(cells, expected, "{text}");
    let page = gpu_page(&summed, &GpuPageOptions::default());
    assert!(page.contains("data-head=\"dynamic\">16 KiB<"), "{page}");
    assert!(page.contains("data-head=\"occupancy\">≤ 6.25 %<"), "{page}");
    assert!(
        page.contains("data-head=\"limited by\">shared memory<"),
        "{page}"
    );
}

#[test]
fn long_names_are_cut_to_different_ones_and_shares_never() {
    let mut run = run(&[128]);
    let name =
        |kind: &str| format!("void reduce_kernel<block_policy<{kind}, 256>, float*, float*>");
    let mut other = run.kernels[0].clone();
    (run.kernels[0].kernel, other.kernel) = (name("float"), name("double"));
    run.kernels.push(other);
    let summed = SummedRun::of(&run);
    for width in [60, 80, 100, 110, 160] {
        let options = GpuTextOptions { width, ..OPTIONS };
        let text = gpu_text(&summed, &options);
        let shares = &rows::mix(&summed.kernels[0], width - 54)[4];
        assert!(shares.contains('%'));
        assert_eq!(text.matches(&shares[..]).count(), 2, "{width}: {text}");
        let table = text
            .lines()
            .skip_while(|line| !line.contains("Kernels by instructions"));
        let mut names = table.skip(2).map(|line| line.split("  ").nth(1));
        assert_ne!(names.next(), names.next(), "{width}: {text}");
    }
}

/// 192 operations, 2 for each of 96 executions. The loads access 4 and 32 sectors, of which one is
/// the same and in the L1 by then: the L2 is asked for 35, and loads them.
#[test]
fn instructions_have_classes_and_operations_per_byte() {
    let run = run(&[128]);
    let summed = SummedRun::of(&run);
    let json = parsed(&summed);
    let kernel = &json["by_kernel"][0];
    let mix = serde_json::json!({
        "integer": { "warps": 5, "threads": 140 },
        "float 32": { "warps": 3, "threads": 96 },
        "global load": { "warps": 2, "threads": 64 },
        "control": { "warps": 1, "threads": 32 },
    });
    assert_eq!(kernel["instruction_mix"], mix);
    assert_eq!(json["kernels"][0]["instruction_mix"], mix);
    let operations = serde_json::json!({ "f16": 0, "f32": 192, "f64": 0, "tensor": 0 });
    assert_eq!(kernel["float_operations"], operations);
    let intensity = serde_json::json!({
        "l2_bytes": 32 * 35,
        "memory_bytes": 32 * 35,
        "per_l2_byte": 192.0 / (32.0 * 35.0),
        "per_memory_byte": 192.0 / (32.0 * 35.0),
    });
    assert_eq!(kernel["intensity"], intensity);
    let line = &json["by_line"][0];
    assert_eq!(
        (&line["line"], &line["warp_instructions"]),
        (&"/src/k.cu:5".into(), &4.into())
    );
    assert_eq!(
        (&line["thread_instructions"], &line["float_operations"]),
        (&128.into(), &192.into())
    );
    let shares = "integer 42.2 %, float 32 28.9 %, global load 19.3 %, control 9.64 %";
    let wide = GpuTextOptions {
        width: 140,
        ..OPTIONS
    };
    let text = gpu_text(&summed, &wide);
    assert!(text.contains(shares), "{text}");
    let narrow = GpuTextOptions {
        width: 80,
        ..OPTIONS
    };
    let text = gpu_text(&summed, &narrow);
    assert!(text.contains("  integer 42.2 %, …\n"), "{text}");
    let page = gpu_page(&summed, &GpuPageOptions::default());
    assert!(
        page.contains(shares) && page.contains("data-head=\"FLOP\">192<"),
        "{page}"
    );
    assert!(page.contains("data-head=\"FLOP/B memory\">0.17<"), "{page}");
}

/// A stream has neither operations nor other instructions than those that access memory.
#[test]
fn mix_of_a_stream_has_memory_instructions() {
    let mut stream = run(&[128]);
    stream.origin = RunOrigin::Stream;
    let kernel = &mut stream.kernels[0];
    kernel.mix = kernel.spaces.mix();
    let summed = SummedRun::of(&stream);
    let json = parsed(&summed);
    let mix = serde_json::json!({
        "global load": { "warps": 2, "threads": 64 },
        "shared store": { "warps": 3, "threads": 96 },
        "local store": { "warps": 1, "threads": 32 },
    });
    assert_eq!(json["by_kernel"][0]["instruction_mix"], mix);
    assert_eq!(
        json["by_kernel"][0]["intensity"]["per_l2_byte"],
        Value::Null
    );
    assert!(gpu_text(&summed, &OPTIONS).contains("shared store 50.0 %, global load 33.3 %"));
    assert!(gpu_text(&summed, &OPTIONS).contains(STREAM_MIX));
    assert!(gpu_page(&summed, &GpuPageOptions::default()).contains(STREAM_MIX));
}

/// By hand: 32 words in a row need a wavefront, every other one of them two.
#[test]
fn shared_arrays_and_local_memory_are_shown_by_array_and_line() {
    let run = run(&[4]);
    let summed = SummedRun::of(&run);
    let json = parsed(&summed);
    let banks = |requests: u64, wavefronts: u64| {
        serde_json::json!({
            "requests": requests,
            "wavefronts": wavefronts,
            "ideal_wavefronts": requests,
        })
    };
    let arrays = serde_json::json!([
        { "name": "tile", "start": 0, "bytes": 40 << 10, "shared": banks(1, 1) },
        { "name": "more", "start": 40 << 10, "bytes": null, "shared": banks(2, 4) },
    ]);
    assert_eq!(json["by_kernel"][0]["shared_arrays"], arrays);
    assert_eq!(json["kernels"][0]["shared_arrays"], arrays);
    assert_eq!(json["kernels"][0]["sites"][2]["array"], "tile");
    let lines = json["by_line"].as_array().unwrap();
    let line = |number| {
        let name = format!("/src/k.cu:{number}");
        lines.iter().find(|it| it["line"] == name).unwrap()
    };
    assert_eq!(line(7)["shared"], banks(3, 5));
    let local = serde_json::json!({ "requests": 1, "lanes": 32, "bytes": 128 });
    assert_eq!(line(8)["local"], local);
    let text = gpu_text(&summed, &OPTIONS);
    let row = text.lines().find(|line| line.contains("  more ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells,
        ["more", "scale<float>", "dynamic", "2", "4", "2.0", "2"]
    );
    // A conflict is found with the array.
    assert!(
        text.contains("k.cu:7 in scale<float> on more (shared)"),
        "{text}"
    );
    let sources = BTreeMap::from([("/src/k.cu".to_owned(), "a\n".repeat(20))]);
    let page = gpu_page(&summed, &GpuPageOptions { sources });
    let heads = ["Instructions", "Lanes", "Wavefronts", "Conflicts", "Local"];
    let heads = heads
        .map(|head| format!("<th scope=\"col\">{head}</th>"))
        .concat();
    assert!(page.contains(&heads), "{page}");
    let row = |cells: [&str; 5], number| {
        let cells = cells.map(|cell| format!("<td>{cell}</td>")).concat();
        format!("{cells}<td class=\"no\">{number}</td>")
    };
    // 140 and 32 instructions of threads by 5 and 1 warps.
    assert!(
        page.contains(&row(["172", "28.7", "5", "2", ""], 7)),
        "{page}"
    );
    assert!(page.contains(&row(["", "", "", "", "128 B"], 8)), "{page}");
    assert!(page.contains("id=\"shared\"") && page.contains("data-head=\"array\">more<"));
}

/// The 65th configuration of a kernel and those after it are counted together.
#[test]
fn configurations_that_are_not_kept_are_mentioned() {
    let mut run = run(&[4]);
    run.kernels[0].other_configurations = 7;
    let summed = SummedRun::of(&run);
    let left = "7 launches with other configurations are not listed.";
    assert!(gpu_text(&summed, &OPTIONS).contains(left));
    assert!(gpu_page(&summed, &GpuPageOptions::default()).contains(left));
    assert_eq!(parsed(&summed)["by_kernel"][0]["other_configurations"], 7);
}

#[test]
fn accesses_without_a_line_have_a_row() {
    let mut run = run(&[128]);
    run.kernels[0].by_site[1].code.place = String::new();
    let text = gpu_text(&SummedRun::of(&run), &OPTIONS);
    assert!(text.contains("(no line)  "), "{text}");
}

#[test]
fn accesses_without_a_line_are_together_by_kernel() {
    let mut run = run(&[128]);
    run.kernels[0].by_site[1].code.place = String::new();
    let mut other = run.kernels[0].clone();
    other.kernel = "another".to_owned();
    run.kernels.push(other);
    let text = gpu_text(&SummedRun::of(&run), &OPTIONS);
    let mut kernels: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix("(no line)")?
                .split_whitespace()
                .next()
        })
        .collect();
    kernels.sort_unstable();
    assert_eq!(kernels, ["another", &run.kernels[0].kernel], "{text}");
    let difference = gpu_diff(&stored(&run), &stored(&self::run(&[128])), &OPTIONS);
    assert!(difference.contains("(no line) in another"), "{difference}");
}

#[test]
fn csv_rows_have_as_many_cells_as_the_head() {
    let text = gpu_csv(&SummedRun::of(&run(&[128])));
    let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert!(
        cells.len() >= 5 && cells.iter().all(|count| *count == cells[0]),
        "{text}"
    );
    assert!(text.contains("\r\nline,/src/k.cu:5,"), "{text}");
}

#[test]
fn page_is_offline_and_escapes_names() {
    let sources = BTreeMap::from([("/src/k.cu".to_owned(), "a\n".repeat(20) + "<b>")]);
    let mut run = run(&[128]);
    run.host = Some(HostAccesses {
        cache: "L2 <b>".to_owned(),
        profile: "<img src=x>.rlprof".to_owned(),
        ..HostAccesses::default()
    });
    let page = gpu_page(&SummedRun::of(&run), &GpuPageOptions { sources });
    assert!(page.contains("The page of &lt;img src=x&gt;.rlprof") && !page.contains("<img"));
    assert!(page.contains("L2 &lt;b&gt;"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(page.contains("./k &lt;input&gt;") && !page.contains("<input>"));
    assert!(!page.contains("src=\"") && !page.contains("href=\"http"));
    for id in [
        "findings", "kernels", "memory", "reuse", "source", "objects", "heat", "copies", "branches",
    ] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(!page.contains("=\"NaN"));
}

#[test]
fn heat_map_shows_the_parts_that_each_kernel_accesses() {
    let run = run(&[128, 1 << 14]);
    let summed = SummedRun::of(&run);
    let json = parsed(&summed);
    // Parts of 16 KiB: neighbouring words twice and lines once, then a word in each of 32 parts.
    let heat = &json["by_object"][0]["heat"];
    assert_eq!(heat["part_bytes"], 1 << 14);
    let sectors: Vec<u64> = (heat["sectors"].as_array().unwrap().iter())
        .map(|it| it.as_u64().unwrap())
        .collect();
    let mut expected = vec![0; 64];
    expected[..32].fill(1);
    expected[0] += 4 + 32 + 4;
    assert_eq!(sectors, expected);
    let own = &json["kernels"][1]["objects"][0]["heat"]["sectors"];
    assert_eq!(
        (&own[0], &own[31], &own[32]),
        (&5.into(), &1.into(), &0.into())
    );
    let page = gpu_page(&summed, &GpuPageOptions::default());
    assert!(page.contains("32 of 64 parts accessed"), "{page}");
    assert!(page.contains("0 B to 16 KiB: 41 sectors"), "{page}");
}

/// What a guard switches off is no divergence, and would be seen nowhere else.
#[test]
fn lanes_that_a_guard_switches_off_are_shown() {
    let run = run(&[4]);
    let summed = SummedRun::of(&run);
    let json = parsed(&summed);
    let lines = json["by_line"].as_array().unwrap();
    let line = lines.iter().find(|it| it["line"] == "/src/k.cu:7").unwrap();
    let counts = [&line["guarded"], &line["guarded_lanes"], &line["lanes_off"]];
    assert_eq!(counts, [&Value::from(4), &128.into(), &32.into()]);
    assert_eq!(json["kernels"][0]["guarded"][0]["lanes_off"], 32);
    let page = gpu_page(&summed, &GpuPageOptions::default());
    assert!(page.contains("data-head=\"lanes off\">25.0 %<"), "{page}");
}

#[test]
fn page_of_many_launches_is_small() {
    let strides: Vec<u64> = (0..10_000).map(|at| 4 + 4 * (at % 40)).collect();
    let page = gpu_page(&SummedRun::of(&run(&strides)), &GpuPageOptions::default());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    // Three rows for each of 66 call paths are shown.
    let left = "9,934 more launches from 9,934 call paths are in the JSON only.";
    assert!(page.contains(left), "{left}");
}

#[test]
fn difference_shows_what_changed_and_nothing_else() {
    let (before, after) = (stored(&run(&[128])), stored(&run(&[4])));
    let text = gpu_diff(&before, &after, &OPTIONS);
    for part in [
        "−77.8 %",
        "k.cu:5",
        "Findings that are gone",
        "Uncoalesced access",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let text = gpu_diff(&before, &before, &OPTIONS);
    assert!(
        !text.contains("Source lines") && !text.contains("Findings"),
        "{text}"
    );
}

#[test]
fn difference_states_what_else_differs() {
    let (before, mut after) = (run(&[128]), run(&[128]));
    assert_eq!(stored(&before).unlike(&stored(&after)).unwrap(), [""; 0]);
    let caches = after.kernels[0].caches.as_mut().expect("modelled caches");
    caches.model = reuselens_gpu_advisor::GpuModel::KEPLER;
    after.ledger.faults.push(fault());
    let text = gpu_diff(&stored(&before), &stored(&after), &OPTIONS);
    for part in [
        "capability 9.0, then compute capability 3.5",
        "hit rates are not comparable",
        "1 kernel was stopped or refused in the run after",
    ] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.to_lowercase().contains(&part.to_lowercase()),
            "{part} in\n{text}"
        );
    }
    after.kernels[0].caches = None;
    let text = gpu_diff(&stored(&before), &stored(&after), &OPTIONS);
    assert!(text.contains("no model"), "{text}");
}

fn fault() -> LaunchFault {
    LaunchFault {
        kernel: "scale".to_owned(),
        call_path: 0,
        message: "scale: stopped".to_owned(),
        object: None,
        is_refused: false,
        count: 1,
    }
}

/// A stream has neither objects nor branches: all of them would seem to be gone.
#[test]
fn a_program_is_not_compared_with_a_stream() {
    let stream = GpuRun {
        origin: RunOrigin::Stream,
        ..run(&[128])
    };
    let (program, stream) = (stored(&run(&[128])), stored(&stream));
    assert_eq!(program.unlike(&stream), Err(UnlikeOrigins));
    assert!(stream.unlike(&stream).is_ok());
}

#[test]
fn stopped_kernels_leave_open_what_to_change() {
    let mut stopped = run(&[4]);
    stopped.findings.clear();
    assert!(gpu_text(&SummedRun::of(&stopped), &OPTIONS).contains("Nothing to change was found"));
    stopped.ledger.faults.push(fault());
    let text = gpu_text(&SummedRun::of(&stopped), &OPTIONS);
    assert!(
        !text.contains("Nothing to change") && text.contains("Kernels were stopped"),
        "{text}"
    );
    let page = gpu_page(&SummedRun::of(&stopped), &GpuPageOptions::default());
    assert!(!page.contains("No rule applied") && page.contains("Kernels were stopped"));
    let options = AdviceTextOptions {
        most: 5,
        width: 110,
        color: false,
    };
    let advice = advice_text(&AdviceReport::of_gpu_run(&stopped), &options);
    assert!(
        advice.contains("what to change is not known") && !advice.contains("nothing to change"),
        "{advice}"
    );
    // The fault comes first, of the file too.
    assert!(
        advice.starts_with("Stopped and refused kernels\n   scale: stopped\n"),
        "{advice}"
    );
    let file = GpuFindings::from(stored(&stopped));
    let of_file = advice_text(&AdviceReport::of_gpu_file(&file), &options);
    assert_eq!(of_file, advice);
}

#[test]
fn files_that_are_no_runs_are_refused() {
    for text in ["", "{}", "[1]", "{\"schema\": \"reuselens-gpu/1\"}"] {
        let error = StoredGpuRun::parse(text).unwrap_err();
        assert!(
            matches!(error, StoredGpuRunError::NotARun(_)),
            "{text}: {error}"
        );
    }
    let other =
        gpu_json(&SummedRun::of(&run(&[4]))).replacen("reuselens-gpu/1", "reuselens-gpu/9", 1);
    let error = StoredGpuRun::parse(&other).unwrap_err();
    assert_eq!(
        error,
        StoredGpuRunError::Schema("reuselens-gpu/9".to_owned())
    );
}

#[test]
fn analyses_that_were_cut_short_are_reported() {
    let mut cut = run(&[4]);
    assert!(!gpu_text(&SummedRun::of(&cut), &OPTIONS).contains("than are kept"));
    cut.ledger.is_cut = true;
    assert!(gpu_text(&SummedRun::of(&cut), &OPTIONS).contains("than are kept"));
    assert!(gpu_page(&SummedRun::of(&cut), &GpuPageOptions::default()).contains("than are kept"));
    let json = parsed(&SummedRun::of(&cut));
    assert_eq!(json["is_cut"], true);
}

#[test]
fn launches_that_were_left_out_are_mentioned() {
    let all = run(&[4]);
    let mut some = run(&[4]);
    some.unanalysed_launches = 3;
    let left_out = "3 launches were left out";
    assert!(gpu_text(&SummedRun::of(&some), &OPTIONS).contains(left_out));
    assert!(gpu_page(&SummedRun::of(&some), &GpuPageOptions::default()).contains(left_out));
    assert_eq!(parsed(&SummedRun::of(&some))["unanalysed_launches"], 3);
    let text = gpu_diff(&stored(&all), &stored(&some), &OPTIONS);
    assert!(
        text.contains("3 launches were left out in the run after"),
        "{text}"
    );
    assert!(!text.contains("run before"), "{text}");
}

#[test]
fn blocks_that_the_cache_model_cut_are_named() {
    let mut run = run(&[4]);
    let caches = run.kernels[0].caches.as_mut().expect("modelled caches");
    caches.cut_blocks = 2;
    let text = gpu_text(&SummedRun::of(&run), &OPTIONS);
    let cut = "2 blocks were too long for the cache model";
    assert!(text.contains(cut), "{text}");
    let json = parsed(&SummedRun::of(&run));
    assert_eq!(json["kernels"][0]["waves"]["cut_blocks"], 2);
}

#[test]
fn copies_of_impossible_sizes_do_not_overflow() {
    let mut large = run(&[4]);
    let copy = CopySum {
        bytes: u64::MAX,
        redundant_bytes: u64::MAX,
        ..large.ledger.copies[0]
    };
    large.ledger.copies = vec![copy, copy];
    assert!(
        gpu_page(&SummedRun::of(&large), &GpuPageOptions::default()).contains("100 % redundant")
    );
}

#[test]
fn lines_that_only_moved_are_not_different() {
    let text = gpu_json(&SummedRun::of(&run(&[128])));
    let moved = text.replace("k.cu:", "k.cu:1").replace("/src/", "/other/");
    let read = |text: &str| StoredGpuRun::parse(text).unwrap();
    let text = gpu_diff(&read(&text), &read(&moved), &OPTIONS);
    assert!(
        !text.contains("Source lines") && !text.contains("are gone"),
        "{text}"
    );
}

#[test]
fn findings_of_another_amount_are_shown_with_both() {
    let (before, after) = (stored(&run(&[128])), stored(&run(&[16])));
    let text = gpu_diff(&before, &after, &OPTIONS);
    assert!(text.contains("28 → 12 excessive sectors"), "{text}");
}
