//! `gpu analyze`, `gpu diff` and `gpu map` on streams of known kernels.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_warp::file::WarpWriter;

/// A folder with the stream of a kernel over a small mesh.
fn folder(kernels: &[Kernel]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let mesh = Graph::mesh(1000, 4000, 1).unwrap();
    let write = |kernel: &Kernel| {
        let path = folder.path().join(format!("{}.rlwarp", kernel.name()));
        let mut writer = WarpWriter::new(Vec::new(), &path, "generated").unwrap();
        generate::stream(*kernel, &mesh, 128, &mut writer).unwrap();
        std::fs::write(&path, writer.finish().unwrap()).unwrap();
        path
    };
    let paths = kernels.iter().map(write).collect();
    (folder, paths)
}

fn reuselens(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reuselens"));
    command
        .current_dir(folder)
        .arg("gpu")
        .args(words)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code));
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn vector_kernel_shares_only_parameters() {
    let (folder, _) = folder(&[Kernel::VectorAdd]);
    let run = |words: &[&str]| said(&reuselens(folder.path(), words));
    let text = run(&["analyze", "vectoradd.rlwarp", "--scenario", "2"]);
    assert!(
        text.contains("block 0") && text.contains("nothing is reused"),
        "{text}"
    );
    let all = [
        "analyze",
        "vectoradd.rlwarp",
        "--scenario",
        "2",
        "--space",
        "all",
        "--granularity",
        "32",
    ];
    let csv = run(&[&all[..], &["--csv", "-"]].concat());
    // Four parameters in one line: three pairs side by side, two one apart, one two apart, 128
    // threads each.
    let first: Vec<&str> = csv.lines().take(4).collect();
    let wanted = [
        "stream,distance,degree",
        "\"block 0\",1,384",
        "\"block 0\",2,256",
        "\"block 0\",3,128",
    ];
    assert_eq!(first, wanted);
    assert!(run(&all).contains("MB monotonically decreasing"));
}

#[test]
fn suggested_command_repeats_the_options() {
    let (folder, _) = folder(&[Kernel::Nbf]);
    let words = [
        "analyze",
        "nbf.rlwarp",
        "--granularity",
        "32",
        "--csv=numbers",
        "--block",
        "1",
        "--space",
        "all",
    ];
    let text = said(&reuselens(folder.path(), &words));
    let next = text
        .lines()
        .find_map(|line| line.strip_prefix("Next: reuselens gpu "));
    let next = next.unwrap().split(", ").next().unwrap();
    assert_eq!(next, "map nbf.rlwarp --block 1 --space all");
    let next: Vec<&str> = next.split(' ').collect();
    said(&reuselens(folder.path(), &next));
}

#[test]
fn every_scenario_and_scheduler_can_be_asked_for() {
    let (folder, _) = folder(&[Kernel::Nbf]);
    for scenario in ["1", "2", "3", "4", "5", "6"] {
        for scheduler in ["sequential", "sharing"] {
            let words = [
                "analyze",
                "nbf.rlwarp",
                "--scenario",
                scenario,
                "--block-scheduler",
                scheduler,
            ];
            let more = [
                "--warp-scheduler",
                "sharing",
                "--blocks",
                "3",
                "--clusters",
                "2",
                "--units",
                "16",
            ];
            let text = said(&reuselens(folder.path(), &[&words[..], &more].concat()));
            assert!(text.contains(&format!("Scenario {scenario}")), "{text}");
            let blocks = text.contains("3 blocks at once");
            assert_eq!(blocks, scenario == "4", "{text}");
        }
    }
    let positions = [
        "analyze",
        "nbf.rlwarp",
        "--align",
        "positions",
        "--threads",
        "1",
        "--memory-limit",
        "1M",
    ];
    said(&reuselens(folder.path(), &positions));
}

#[test]
fn a_page_has_pictures_and_fetches_nothing() {
    let (folder, _) = folder(&[Kernel::Sta]);
    let words = ["analyze", "sta.rlwarp", "--html", "sta.html"];
    let text = said(&reuselens(folder.path(), &words));
    assert!(text.contains("\n\nPage: sta.html"), "{text}");
    let text = said(&reuselens(folder.path(), &words[..2]));
    assert!(text.contains("\n\nNext: "), "{text}");
    let page = std::fs::read_to_string(folder.path().join("sta.html")).unwrap();
    for part in [
        "Data reuse characteristic",
        "Blocks",
        "Warps of block",
        "fill-opacity",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("src=\"http") && !page.contains("=\"NaN"));
    assert!(refused(&reuselens(folder.path(), &words), 1).contains("exists"));
}

#[test]
fn mapping_is_a_permutation_and_is_written_for_kernels() {
    let (folder, _) = folder(&[Kernel::Sta]);
    let words = [
        "map",
        "sta.rlwarp",
        "-o",
        "map.u32",
        "--hgr",
        "sta.hgr",
        "--html",
        "map.html",
    ];
    let text = said(&reuselens(folder.path(), &words));
    assert!(
        text.contains("Transactions") && text.contains("domain"),
        "{text}"
    );
    let bytes = std::fs::read(folder.path().join("map.u32")).unwrap();
    let mut threads: Vec<u32> = bytes
        .chunks(4)
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        .collect();
    threads.sort_unstable();
    assert_eq!(threads, (0..1024).collect::<Vec<_>>());
    let head = std::fs::read_to_string(folder.path().join("sta.hgr")).unwrap();
    assert!(head.lines().next().unwrap().ends_with("1024 1"));
    // What a partitioner would say that leaves all threads where they are.
    let groups: String = (0..1024)
        .map(|thread| format!("{}\n", thread / 32))
        .collect();
    std::fs::write(folder.path().join("sta.part"), groups).unwrap();
    let given = [
        "map",
        "sta.rlwarp",
        "--groups",
        "sta.part",
        "--upto",
        "threads",
    ];
    let text = said(&reuselens(folder.path(), &given));
    let counts: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Transactions"))
        .collect();
    assert!(
        counts.len() == 2 && counts.iter().all(|line| line.contains(" (+0.0 %), ")),
        "{text}"
    );
    assert!(!text.contains("Next: "), "{text}");
    let again = [
        "map",
        "sta.rlwarp",
        "--mapping",
        "map.u32",
        "--block",
        "0",
        "--scenario",
        "2",
    ];
    said(&reuselens(folder.path(), &again));
    for upto in ["threads", "warps"] {
        said(&reuselens(
            folder.path(),
            &[
                "map",
                "sta.rlwarp",
                "--upto",
                upto,
                "--seed",
                "3",
                "--lanes",
                "32",
                "-q",
            ],
        ));
    }
    std::fs::write(folder.path().join("bad.u32"), [0; 4096]).unwrap();
    let bad = ["map", "sta.rlwarp", "--mapping", "bad.u32"];
    assert!(refused(&reuselens(folder.path(), &bad), 1).contains("each thread"));
}

#[test]
fn diff_of_a_stream_with_itself_is_empty() {
    let (folder, _) = folder(&[Kernel::Sta, Kernel::Gsim]);
    let same = said(&reuselens(
        folder.path(),
        &["diff", "sta.rlwarp", "sta.rlwarp"],
    ));
    assert!(
        same.contains("Total reuse degree: unchanged; domain: "),
        "{same}"
    );
    let words = [
        "diff",
        "sta.rlwarp",
        "gsim.rlwarp",
        "--html",
        "d.html",
        "--csv",
        "d.csv",
        "--scenario",
        "1",
    ];
    let text = said(&reuselens(folder.path(), &words));
    assert_ne!(text, same);
    assert!(
        std::fs::read_to_string(folder.path().join("d.csv"))
            .unwrap()
            .starts_with("distance,change\n")
    );
}

#[test]
fn analyze_honours_block_and_warns_of_unused_options() {
    let (folder, _) = folder(&[Kernel::Sta, Kernel::Nbf]);
    let run = |words: &[&str]| reuselens(folder.path(), words);
    let block = said(&run(&["analyze", "sta.rlwarp", "--block", "3"]));
    assert!(
        block.contains("block 3 of 8 blocks") && block.contains("One block by itself"),
        "{block}"
    );
    let unheard = run(&["analyze", "sta.rlwarp", "--units", "8"]);
    said(&unheard);
    let warning = String::from_utf8(unheard.stderr).unwrap();
    assert!(
        warning.contains("--units has no effect in scenario 3"),
        "{warning}"
    );
    // What is to be typed next has the options that led to what was shown.
    let kept = said(&run(&["map", "nbf.rlwarp", "--keep-layout"]));
    assert!(
        kept.contains("Next: reuselens gpu map nbf.rlwarp --keep-layout -o map.u32"),
        "{kept}"
    );
    assert!(kept.contains("each block by itself"), "{kept}");
    said(&run(&["map", "sta.rlwarp", "-o", "sta.u32", "--quiet"]));
    let both = ["map", "sta.rlwarp", "--mapping", "sta.u32", "--seed", "4"];
    assert!(refused(&run(&both), 2).contains("cannot be used with"));
    std::fs::write(folder.path().join("short.u32"), [0; 8]).unwrap();
    let short = refused(&run(&["map", "sta.rlwarp", "--mapping", "short.u32"]), 1);
    assert!(
        short.contains("short.u32: it maps 2 threads, and the launch has 1024"),
        "{short}"
    );
    let two = run(&["diff", "sta.rlwarp", "nbf.rlwarp"]);
    assert!(said(&two).contains("Transactions"));
    assert!(
        String::from_utf8(two.stderr)
            .unwrap()
            .contains("two kernels")
    );
}

#[test]
fn gpu_analyses_reject_impossible_requests() {
    let (folder, _) = folder(&[Kernel::Sta]);
    let run = |words: &[&str]| reuselens(folder.path(), words);
    assert!(refused(&run(&["analyze", "none"]), 1).contains("cannot open none"));
    std::fs::write(folder.path().join("text"), "hello").unwrap();
    assert!(refused(&run(&["analyze", "text"]), 1).contains("no stream of warp instructions"));
    assert!(refused(&run(&["analyze", "sta.rlwarp", "--launch", "2"]), 1).contains("it has 1 sta"));
    let scheduler = ["analyze", "sta.rlwarp", "--block-scheduler", "random"];
    assert!(refused(&run(&scheduler), 2).contains("sequential, sharing"));
    assert!(
        refused(&run(&["analyze", "sta.rlwarp", "--granularity", "3"]), 2).contains("power of two")
    );
    assert!(
        refused(&run(&["map", "sta.rlwarp", "--lanes", "24"]), 1).contains("whole number of warps")
    );
}

/// A kernel that reads global memory with a stride, and that passes it on through shared memory.
const SHARING: &str = ".version 7.0
.target sm_70
.address_size 64
.shared .align 4 .b8 room[256];
.visible .entry k(.param .u64 a)
{
.reg .b32 %r<9>; .reg .b64 %x<9>;
ld.param.u64 %x1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r2, %r1, 8, %r2;
mad.wide.u32 %x2, %r2, 4, %x1; ld.global.u32 %r3, [%x2];
mov.u32 %r4, room; mad.lo.u32 %r4, %r1, 4, %r4; st.shared.u32 [%r4], %r3;
ret;
}
";

#[test]
fn map_offers_nothing_where_threads_share_memory() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| reuselens(folder.path(), words);
    let stream = |name: &str, text: &str| {
        let (ptx, stream) = (format!("{name}.ptx"), format!("{name}.rlwarp"));
        std::fs::write(folder.path().join(&ptx), text).unwrap();
        said(&run(&[
            "run",
            &ptx,
            "--entry",
            "k",
            "--grid",
            "8",
            "--block",
            "64",
            "--arg",
            "zeros:i32:1024",
            "-o",
            &stream,
        ]));
        stream
    };
    let shared = stream("shared", SHARING);
    let why = "k: its threads exchange data (in shared memory, by barriers, shuffles or votes)";
    let text = said(&run(&["map", &shared]));
    assert!(text.starts_with(why) && !text.contains("Next:"), "{text}");
    let error = refused(&run(&["map", &shared, "-o", "map.u32"]), 1);
    assert!(
        error.contains(why) && error.contains("nothing was written"),
        "{error}"
    );
    assert!(!folder.path().join("map.u32").exists());
    // So do barriers, shuffles and votes, without an access of shared memory.
    let plain = SHARING.replace(".shared .align 4 .b8 room[256];\n", "");
    let plain = plain.replace("mov.u32 %r4, room; mad.lo.u32 %r4, %r1, 4, %r4; ", "");
    for (index, exchange) in [
        "bar.sync 0;",
        "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;",
        "vote.sync.ballot.b32 %r4, %p1, -1;",
    ]
    .into_iter()
    .enumerate()
    {
        let text = plain.replace("st.shared.u32 [%r4], %r3;", exchange);
        let text = text.replace(".reg .b32", ".reg .pred %p<2>; .reg .b32");
        let stream = stream(&format!("exchange{index}"), &text);
        let text = said(&run(&["map", &stream]));
        assert!(text.starts_with(why), "{exchange}: {text}");
    }
    // The same accesses of global memory alone gain.
    let alone = stream("alone", &plain.replace("st.shared.u32 [%r4], %r3;", ""));
    let text = said(&run(&["map", &alone, "--keep-layout", "-o", "map.u32"]));
    assert!(
        text.contains("data where it is") && !text.contains("does not say"),
        "{text}"
    );
    // What people bring is looked at.
    let text = said(&run(&["map", &shared, "--mapping", "map.u32"]));
    assert!(text.contains("data where it is"), "{text}");
}
