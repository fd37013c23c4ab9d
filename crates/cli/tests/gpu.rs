//! `reuselens gpu`.

use crate::common::{self, Place, has};

const PTX: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u32 n, .param .f32 by, .param .u64 x, .param .u64 y)
{
\t.reg .pred %p<2>;
\t.reg .f32 %f<4>;
\t.reg .b32 %r<6>;
\t.reg .b64 %rd<7>;
\tld.param.u32 %r1, [n];
\tld.param.f32 %f1, [by];
\tld.param.u64 %rd1, [x];
\tld.param.u64 %rd2, [y];
\tmov.u32 %r2, %ctaid.x;
\tmov.u32 %r3, %ntid.x;
\tmov.u32 %r4, %tid.x;
\tmad.lo.s32 %r5, %r2, %r3, %r4;
\tsetp.ge.s32 %p1, %r5, %r1;
\t@%p1 bra DONE;
\tmul.wide.s32 %rd3, %r5, 4;
\tadd.s64 %rd4, %rd1, %rd3;
\tld.global.f32 %f2, [%rd4];
\tmul.f32 %f3, %f2, %f1;
\tadd.s64 %rd5, %rd2, %rd3;
\tst.global.f32 [%rd5], %f3;
DONE:
\tret;
}
";

const RUN: [&str; 9] = [
    "gpu", "run", "k.ptx", "--entry", "scale", "--grid", "4", "--block", "64",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

fn singles(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

#[test]
fn simt_is_another_name_of_gpu() {
    let help = |name| Place::new().run(&[name, "run", "--help"]).succeeds().out;
    assert_eq!(help("simt"), help("gpu"));
}

#[test]
fn hooks_are_put_into_ptx_and_what_has_none_is_listed() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let command = ["gpu", "instrument", "k.ptx", "-o", "h.ptx"];
    let shown = place.run(&command).succeeds().out;
    let expected = "h.ptx: hooks at 2 memory instructions
The variable reuselens_ring names the buffer
Next: ptxas -arch=sm_70 -o h.cubin h.ptx
";
    assert_eq!(shown, expected);
    let hooks = String::from_utf8(place.read("h.ptx")).unwrap();
    let is_hook = |line: &&str| line.contains("reuselens_");
    let kept: String = hooks.lines().filter(|line| !is_hook(line)).collect();
    assert_eq!(kept, PTX.lines().collect::<String>());

    let copy = "cp.async.ca.shared.global [%r1], [%rd1], 4;\nDONE:";
    place.write("k.ptx", PTX.replace("DONE:", copy));
    place.run(&command).fails(1).says(&["h.ptx"]);
    let more = [&command[..], &["-f", "--blocks"]].concat();
    let shown = place.run(&more).succeeds().out;
    assert!(
        shown.contains("hooks at 2 memory instructions and 2 basic blocks"),
        "{shown}"
    );
    let left = "no hooks at 1: asynchronous copies (cp.async.ca.shared.global in line 26)";
    assert!(shown.contains(left), "{shown}");
    place.write("k.ptx", PTX.replace("7.0", "6.0"));
    place.run(&more).fails(1).says(&["k.ptx", "version 6.0"]);
}

#[test]
fn hooks_at_branches_are_recorded_or_counted() {
    let place = Place::new();
    place.write("k.ptx", PTX.replace("DONE:", "bar.sync 0;\nDONE:"));
    let command = [
        "gpu",
        "instrument",
        "k.ptx",
        "-o",
        "h.ptx",
        "-f",
        "--branches",
    ];
    let shown = place.run(&command).succeeds().out;
    let hooks = "hooks at 2 memory instructions, 1 branch and 1 barrier\n";
    assert!(shown.contains(hooks), "{shown}");
    let shown = place.run(&[&command[..], &["--counts"]].concat());
    let shown = shown.succeeds().out;
    let counts = "The variable reuselens_counts has the counts\n";
    assert!(shown.contains(counts), "{shown}");
}

#[test]
fn loads_go_by_warps_and_results_stay() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let command = ["gpu", "bypass", "k.ptx", "--warps", "1", "-o", "b.ptx"];
    let shown = place.run(&command).succeeds().out;
    let expected = "b.ptx: the first warp of each block uses the L1 at 1 load\n\
        Next: reuselens gpu run b.ptx -o FILE.rlwarp with the options of the kernel, and reuselens \
        gpu report FILE.rlwarp\n";
    assert_eq!(shown, expected);
    let outputs = ["k.ptx", "b.ptx"].map(|kernel| {
        let out = format!("y={kernel}.npy");
        let mut words = with(&["--arg", "200", "--arg", "2.5", "--arg", "ramp:f32:200"]);
        words.extend(["--arg", "y=zeros:f32:200", "--out", &out]);
        words[2] = kernel;
        place.run(&words).succeeds();
        place.read(&format!("{kernel}.npy"))
    });
    assert_eq!(outputs[0], outputs[1]);
    place.run(&command).fails(1).says(&["b.ptx"]);
    for choice in ["0", "best"] {
        let mut words = with(&["--arg", "200", "--arg", "2.5", "--arg", "ramp:f32:200"]);
        words.extend(["--arg", "y=zeros:f32:200", "--out", "y=y.npy", "-f"]);
        words.extend(["--bypass", choice]);
        let shown = place.run(&words).succeeds().out;
        assert_eq!(place.read("y.npy"), outputs[0]);
        // 64 numbers of 4 bytes of the first block, none of them twice.
        let best = "scale: 2 of 2 warps use the L1, which then fetches 8 sectors from the L2\n";
        assert_eq!(shown.contains(best), choice == "best", "{shown}");
    }
    place
        .run(&with(&["--bypass", "65"]))
        .fails(2)
        .says(&["--bypass", "0 to 64, or best"]);
    let other = [&command[..], &["-f", "--kernel", "other"]].concat();
    place
        .run(&other)
        .fails(1)
        .says(&["no kernel other", "scale"]);
    let volatile = "ld.volatile.global.f32";
    place.write("k.ptx", PTX.replace("ld.global.f32", volatile));
    let named = [&command[..], &["-f", "--kernel", "scale"]].concat();
    let shown = place.run(&named).succeeds().out;
    let kept = "as before at 1: loads with an order (ld.volatile.global.f32 in line 22)";
    assert!(shown.contains(kept), "{shown}");
}

#[test]
fn results_and_stream_are_written_and_the_same_on_any_number_of_threads() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let arguments = [
        "--arg",
        "200",
        "--arg",
        "2.5",
        "--arg",
        "ramp:f32:200",
        "--arg",
        "y=zeros:f32:200",
    ];
    for threads in ["1", "3"] {
        let out = format!("y=y{threads}.npy");
        let stream = format!("s{threads}.rlwarp");
        let all = [
            &arguments[..],
            &["--out", &out, "-o", &stream, "--threads", threads],
        ]
        .concat();
        place.run(&with(&all)).succeeds().prints(&[
            "scale: 4 blocks",
            "memory instructions of warps",
            "Next: reuselens gpu analyze",
        ]);
    }
    let npy = place.read("y1.npy");
    assert_eq!(npy, place.read("y3.npy"));
    assert_eq!(place.read("s1.rlwarp"), place.read("s3.rlwarp"));
    let data = &npy[npy.len() - 800..];
    assert_eq!(
        singles(data),
        (0..200).map(|i| i as f32 * 2.5).collect::<Vec<f32>>()
    );
    // What was written can be an argument again.
    let again = [&[
        "--arg",
        "200",
        "--arg",
        "2",
        "--arg",
        "npy:y1.npy",
        "--arg",
        "zeros:f32:200",
        "--out",
        "arg4=z.raw",
        "-q",
    ][..]]
    .concat();
    assert_eq!(place.run(&with(&again)).succeeds().out, "");
    assert_eq!(singles(&place.read("z.raw"))[199], 199.0 * 5.0);
}

/// A block of an H100 has 1 KiB more shared memory than it asks for: two of 100 KiB fit into 228.
#[test]
fn occupancy_is_shown_and_known_of_the_stream() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let rest = [
        "--shared",
        "100K",
        "--arg",
        "200",
        "--arg",
        "2.5",
        "--arg",
        "ramp:f32:200",
        "--arg",
        "zeros:f32:200",
    ];
    let out = ["-o", "k.rlwarp"];
    let run = place.run(&with(&[&rest[..], &out].concat())).succeeds();
    run.prints(&[
        "grid 4, block 64, 0 B of static and 100 KiB of dynamic shared memory",
        "occupancy at most 6.25 % (limited by shared memory",
    ]);
    let pascal = [&rest[..], &["--gpu-model", "pascal"]].concat();
    let run = place.run(&with(&pascal)).succeeds();
    run.prints(&["a block does not fit"]);
    let report = ["gpu", "report", "k.rlwarp", "-q", "--json", "k.json"];
    place.run(&report).succeeds();
    let json: serde_json::Value = serde_json::from_str(&place.text("k.json")).unwrap();
    let launched = &json["by_kernel"][0]["configurations"][0];
    assert_eq!(launched["block"], serde_json::json!([64, 1, 1]));
    assert_eq!(launched["dynamic_shared_bytes"], 100 << 10);
    assert_eq!(launched["occupancy"]["blocks"], 2);
    // 99 KiB at most on an RTX 4090; and a GPU of one's own, whose L1 holds four lines.
    let own = "ada,l1=512,sms=1,shared=202K";
    let options = ["--gpu-model", own, "-o", "own", "--json", "own.json"];
    place.run(&[&report[..4], &options].concat()).succeeds();
    let json: serde_json::Value = serde_json::from_str(&place.text("own.json")).unwrap();
    let name = "own GPU (1 SM, 512 B of L1, 72 MiB of L2)";
    assert_eq!(
        (&json["model"]["name"], &json["model"]["sms"]),
        (&name.into(), &1.into())
    );
    let launched = &json["by_kernel"][0]["configurations"][0]["occupancy"];
    assert_eq!(
        (&launched["blocks"], &launched["most_warps"]),
        (&2.into(), &48.into())
    );
    assert_eq!(launched["waves"], 2.0);
    let wrong = [&report[..4], &["--gpu-model", "volta"]].concat();
    place
        .run(&wrong)
        .fails(2)
        .says(&["there is no model of 'volta'", "l1=…,l2=…,sms=…"]);
}

/// Two warps of a block load, and store what they have doubled: two records of each, and of each
/// parameter.
#[test]
fn streams_are_converted_to_text_and_tables() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let run = [
        "gpu",
        "run",
        "k.ptx",
        "--entry",
        "scale",
        "--grid",
        "1",
        "--block",
        "64",
        "--shared",
        "256",
        "--arg",
        "40",
        "--arg",
        "2",
        "--arg",
        "ramp:f32:64",
        "--arg",
        "zeros:f32:64",
        "-q",
        "-o",
        "k.rlwarp",
    ];
    place.run(&run).succeeds();
    let text = place.run(&["convert", "k.rlwarp", "-"]).succeeds().out;
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let launch = [
        "# launch", "1", "scale", "grid", "1,1,1", "block", "64,1,1", "static", "0", "dynamic",
        "256",
    ];
    assert_eq!(lines[2], launch, "{text}");
    let sites = lines.iter().filter(|line| line[0] == "# site").count();
    let of = |space: &str, kind: &str| -> Vec<&Vec<&str>> {
        let rows = lines.iter().filter(|line| line[0] == "1");
        rows.filter(|line| line[6] == space && line[7] == kind)
            .collect()
    };
    let (loads, stores) = (of("global", "load"), of("global", "store"));
    assert_eq!((sites, loads.len(), stores.len()), (6, 2, 2), "{text}");
    // Of the second warp, threads 32 to 39 are below 40.
    let second = loads[1];
    assert_eq!((second[2], second[8], second[9]), ("1", "4", "0xff"));
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let addresses: Vec<u64> = second[10].split(',').map(number).collect();
    let first = number(loads[0][10].split(',').next().unwrap());
    let expected: Vec<u64> = (32..40).map(|thread| first + 4 * thread).collect();
    assert_eq!(addresses, expected);

    let done = place.run(&["convert", "k.rlwarp", "k.parquet"]).succeeds();
    // Two loads of pointers and two of numbers by 64 threads, then 40 loads and as many stores.
    done.prints(&["k.parquet: 336 accesses by 12 memory instructions of warps in 1 launch"]);
    let file = std::fs::File::open(place.path("k.parquet")).unwrap();
    let rows = parquet_rows(file);
    assert_eq!(rows.len(), 336);
    let stored: Vec<_> = rows
        .iter()
        .filter(|row| row[11] == "store" && row[10] == "global")
        .collect();
    assert_eq!(stored.len(), 40);
    let last = stored.last().unwrap();
    assert_eq!(last[..5], ["1", "scale", "0", "1", "7"]);
    assert!(last[9].starts_with("st.global.f32"), "{last:?}");
    for (options, why) in [
        (
            &["--granularity", "64"][..],
            "--granularity is for traces of programs",
        ),
        (&["--from", "25%"], "--from is for traces of programs"),
        (&["--to", "native"], "is copied to text or parquet only"),
    ] {
        let all = [&["convert", "k.rlwarp", "out.txt"], options].concat();
        place.run(&all).fails(2).says(&[why]);
    }
    let table = place.run(&["convert", "k.rlwarp", "-", "--to", "parquet"]);
    table.fails(2).says(&["only text goes to standard output"]);
    // What was cut off is copied up to there.
    let bytes = place.read("k.rlwarp");
    place.write("cut.rlwarp", &bytes[..bytes.len() - 4]);
    let cut = place
        .run(&["convert", "cut.rlwarp", "cut.txt"])
        .ends_with(4);
    cut.says(&["the copy holds everything before that"]);
    assert_eq!(place.text("cut.txt"), text);
}

/// The cells of a table as text, with numbers as unsigned ones.
fn parquet_rows(file: std::fs::File) -> Vec<Vec<String>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let cells = rows.map(|row| {
        let row = row.unwrap();
        let cells = row.get_column_iter();
        cells
            .map(|(_, cell)| cell.to_string().trim_matches('"').to_owned())
            .collect()
    });
    cells.collect()
}

/// By hand: 256 threads load four parameters and move three numbers; 200 of them go on.
#[test]
fn instructions_are_counted_by_class_on_request() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let buffers = ["ramp:f32:200", "zeros:f32:200"];
    let arguments = [
        "--arg", "200", "--arg", "2.5", "--arg", buffers[0], "--arg", buffers[1],
    ];
    let run = place
        .run(&with(&[&arguments[..], &["--mix"]].concat()))
        .succeeds();
    run.prints(&[
        "200 FLOP; instructions of threads: integer 29.1 %, parameter load 26.8 %, move 20.1 %, \
         control 8.18 %, float 32 5.24 %, global load 5.24 %, global store 5.24 %",
    ]);
    let run = place.run(&with(&arguments)).succeeds();
    assert!(!run.out.contains("FLOP"), "{}", run.out);
    // Twice as many in two launches, which have the same shares.
    let launch =
        "entry = 'scale'\ngrid = [4]\nblock = [64]\nargs = [200, 3.0, 'x', 'y']\nrepeat = 2\n";
    let plan = format!(
        "kernel = 'k.ptx'\n[buffers]\nx = 'ramp:f32:200'\ny = 'zeros:f32:200'\n[[launch]]\n{launch}"
    );
    place.write("plan.toml", plan);
    let twice = place.run(&["gpu", "run", "plan.toml", "--mix"]).succeeds();
    twice.prints(&["400 FLOP; instructions of threads: integer 29.1 %"]);
}

#[test]
fn a_description_runs_launches_on_the_same_memory() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    place.write("plan.toml", "kernel = 'k.ptx'\n[buffers]\nx = 'ramp:f32:64'\ny = 'zeros:f32:64'\n[[launch]]\nentry = 'scale'\ngrid = [1]\nblock = [64]\nargs = [64, 3.0, 'x', 'y']\n[[launch]]\nentry = 'scale'\ngrid = [1]\nblock = [64]\nargs = [64, 2.0, 'y', 'y']\nrepeat = 2\n");
    let done = place
        .run(&["gpu", "run", "plan.toml", "--out", "y=y.raw", "--seed", "5"])
        .succeeds();
    done.prints(&["scale, 2 times"]);
    assert_eq!(singles(&place.read("y.raw"))[7], 7.0 * 12.0);
}

#[test]
fn gpu_run_rejects_wrong_descriptions() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let buffers = ["--arg", "ramp:f32:200", "--arg", "zeros:f32:100"];
    place
        .run(&with(&["--arg", "200"]))
        .fails(1)
        .says(&["takes 4 arguments (u32, f32, u64, u64), not 1"]);
    let short = [&["--arg", "200", "--arg", "1"][..], &buffers].concat();
    place.run(&with(&short)).fails(1).says(&[
        "a store of 4 bytes",
        "0 bytes behind the end of 'arg4' (400 bytes)",
        "block (1, 0, 0), thread (36, 0, 0)",
        "line 25",
    ]);
    place
        .run(&with(&["--arg", "ones:f32:3"]))
        .fails(2)
        .says(&["there is no 'ones'"]);
    place
        .run(&with(&["--arg", "&z"]))
        .fails(1)
        .says(&["there is no buffer 'z'"]);
    place
        .run(&[
            "gpu", "run", "k.ptx", "--entry", "nope", "--grid", "1", "--block", "1",
        ])
        .fails(1)
        .says(&["there is no kernel nope; there are: scale"]);
    place
        .run(&["gpu", "run", "k.ptx"])
        .fails(2)
        .says(&["--entry NAME"]);
    place
        .run(&[
            "gpu", "run", "no.ptx", "--entry", "f", "--grid", "1", "--block", "1",
        ])
        .fails(1)
        .says(&["cannot read no.ptx"]);
    let huge = [&[
        "--arg",
        "200",
        "--arg",
        "1",
        "--arg",
        "zeros:f32:9999999999999",
        "--arg",
        "zeros:f32:1",
    ][..]]
    .concat();
    place.run(&with(&huge)).fails(1).says(&["--memory-limit"]);
    place.write("bad.ptx", PTX.replace("mul.f32", "mull.f32"));
    let bad = [
        "gpu", "run", "bad.ptx", "--entry", "scale", "--grid", "1", "--block", "1",
    ];
    place.run(&bad).fails(1).says(&[
        "bad.ptx, line 23, column 2",
        "\n23 |  mull.f32 %f3, %f2, %f1;\n      ^",
    ]);
    place.write(
        "endless.ptx",
        PTX.replace("@%p1 bra DONE;", "AGAIN: bra AGAIN;"),
    );
    let endless = [
        "gpu",
        "run",
        "endless.ptx",
        "--entry",
        "scale",
        "--grid",
        "4",
        "--block",
        "64",
        "--max-instructions",
        "100000",
    ];
    let endless = [&endless[..], &["--arg", "200", "--arg", "1"], &buffers].concat();
    place
        .run(&endless)
        .fails(1)
        .says(&["more than 100000 instructions"]);
}

#[test]
fn gpu_run_goes_on_after_bad_accesses_if_asked_to() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    // Room for 150 of the 200 elements.
    let short = [
        "--arg",
        "200",
        "--arg",
        "2",
        "--arg",
        "y=zeros:f32:150",
        "--arg",
        "zeros:f32:200",
    ];
    place
        .run(&with(&short))
        .fails(1)
        .says(&["is out of bounds"]);
    let goes_on = [&short[..], &["--on-fault", "continue"]].concat();
    let done = place.run(&with(&goes_on)).succeeds();
    done.says(&[
        "warning: kernel scale",
        "(the first of 50 that were left out)",
    ]);
}

#[test]
fn gpu_run_checks_its_files_before_it_runs() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    place.write("out.npy", "mine");
    let buffers = ["--arg", "200", "--arg", "1", "--arg", "zeros:f32:200"];
    let taken = [
        &buffers[..],
        &["--arg", "y=zeros:f32:200", "--out", "y=out.npy"],
    ]
    .concat();
    let refused = place
        .run(&with(&taken))
        .fails(1)
        .says(&["out.npy: it exists already", "--force"]);
    assert_eq!(refused.out, "");
    assert_eq!(place.read("out.npy"), b"mine");
    place.write("in.npy", "");
    let bare = [&buffers[..], &["--arg", "in.npy"]].concat();
    place.run(&with(&bare)).fails(2).says(&["write npy:in.npy"]);
    place.write("k.cubin", [0x7f, b'E', b'L', b'F', 0xff]);
    let binary = [
        "gpu", "run", "k.cubin", "--entry", "f", "--grid", "1", "--block", "1",
    ];
    place.run(&binary).fails(1).says(&["is no PTX"]);
    let source = [
        "gpu", "run", "no.cu", "--entry", "f", "--grid", "1", "--block", "1",
    ];
    place.run(&source).fails(1).says(&["cannot read no.cu"]);
}

/// A kernel with a MiB of local memory for each thread.
const LOCAL: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry local()
{
\t.local .b8 array[1048576];
\t.reg .b32 %r<2>;
\tmov.u32 %r1, 7;
\tst.local.u32 [array], %r1;
\tret;
}
";

#[test]
fn buffers_that_are_larger_than_the_device_or_no_files_are_refused() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let sparse = std::fs::File::create(place.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    let refusals = [
        ("sparse", "takes 1099511627776 bytes"),
        ("/dev/zero", "it is no regular file"),
        ("pipe", "it is no regular file"),
    ];
    for (file, why) in refusals {
        let buffer = format!("raw:{file}");
        let arguments = [
            "--arg", "200", "--arg", "1", "--arg", "&x", "--arg", &buffer,
        ];
        let said = place.run(&with(&arguments)).fails(1).err;
        assert!(said.contains(why), "{file}: {said}");
    }
    let kernel = [
        "gpu",
        "run",
        "/dev/zero",
        "--entry",
        "f",
        "--grid",
        "1",
        "--block",
        "1",
    ];
    place.run(&kernel).fails(1).says(&["it is no regular file"]);
}

#[test]
fn blocks_with_much_local_memory_run_few_at_a_time() {
    let place = Place::new();
    place.write("local.ptx", LOCAL);
    // For 256 blocks at a time the address space of 6 GB has no room.
    let run = "ulimit -v 6000000; exec \"$0\" gpu run local.ptx --entry local --threads 256 \
               --grid 2 --block \"$1\"";
    let of = |block: &str| {
        let binary = env!("CARGO_BIN_EXE_reuselens");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", run, binary, block]);
        common::Done::of(shell.current_dir(place.path(".")))
    };
    of("32").succeeds().prints(&["64 accesses"]);
    of("1024").succeeds();
    place.write("local.ptx", LOCAL.replace("1048576", "1048580"));
    of("1024")
        .fails(1)
        .says(&["local memory", "1073741824 are possible"]);
}

#[test]
fn warp_streams_are_refused_as_traces_and_truncation_is_reported_once() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let buffers = ["--arg", "200", "--arg", "1", "--arg", "zeros:f32:200"];
    let all = [&buffers[..], &["--arg", "zeros:f32:200", "-o", "s.rlwarp"]].concat();
    place.run(&with(&all)).succeeds();
    for command in ["info", "analyze"] {
        place
            .run(&[command, "s.rlwarp"])
            .fails(1)
            .says(&["reuselens gpu analyze s.rlwarp"]);
    }
    let whole = place.read("s.rlwarp");
    place.write("cut.rlwarp", &whole[..whole.len() - 20]);
    let cut = place.run(&["gpu", "analyze", "cut.rlwarp"]).fails(1);
    assert_eq!(cut.err.matches("cut.rlwarp").count(), 1, "{}", cut.err);
    let other = place.run(&["gpu", "analyze", "k.ptx"]).fails(1);
    assert!(!other.err.contains("--format"), "{}", other.err);
    // Loads of parameters are in the stream, and looked at when they are asked for.
    let counted = |space: &str| {
        let words = ["gpu", "analyze", "s.rlwarp", "--space", space];
        place.run(&words).succeeds().out
    };
    assert!(counted("param").contains("touches of 4 elements"));
    let one = ["gpu", "analyze", "s.rlwarp", "--block", "9"];
    place.run(&one).fails(2).says(&["there is no block 9"]);
}

#[test]
fn arrays_are_read_from_the_data_folder_and_keep_their_shape() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    array.extend_from_slice(&(head.len() as u16).to_le_bytes());
    array.extend_from_slice(head.as_bytes());
    array.extend((0..6).flat_map(|value| (value as f32).to_le_bytes()));
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/x.npy", &array);
    place.write("plan.toml", "kernel = 'k.ptx'\n[buffers]\nx = 'npy:x.npy'\n[[launch]]\nentry = 'scale'\ngrid = [1]\nblock = [32]\nargs = [6, 3.0, 'x', 'x']\n");
    let words = [
        "gpu",
        "run",
        "plan.toml",
        "--data",
        "data",
        "--out",
        "x=y.npy",
    ];
    place.run(&words).succeeds();
    let written = place.read("y.npy");
    assert!(String::from_utf8_lossy(&written).contains("'shape': (2, 3)"));
    assert_eq!(singles(&written[written.len() - 24..])[5], 15.0);
    place
        .run(&["gpu", "run", "plan.toml"])
        .fails(1)
        .says(&["x.npy", "--data FOLDER"]);
    place
        .run(&with(&["--data", "data"]))
        .fails(2)
        .says(&["--data"]);
}

#[test]
fn cuda_sources_are_compiled() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    place.write("k.cu", "#include <cuda_runtime.h>\n__global__ void add(int *a, int by) {\n  __shared__ int s[64];\n  s[threadIdx.x] = a[threadIdx.x];\n  __syncthreads();\n  a[threadIdx.x] = s[63 - threadIdx.x] + by;\n}\n");
    let words = [
        "gpu",
        "run",
        "k.cu",
        "--entry",
        "add",
        "--grid",
        "1",
        "--block",
        "64",
        "--arg",
        "a=ramp:i32:64",
        "--arg",
        "100",
        "--out",
        "a=a.raw",
        "--force",
    ];
    let run = |buffer: &str| {
        let mut words = words;
        words[10] = buffer;
        let mut command = place.command(&words);
        common::Done::of(command.env("CUDA_CLANG", "clang-19").env_remove("NVCC"))
    };
    run("a=ramp:i32:64").succeeds();
    let found: Vec<i32> = place
        .read("a.raw")
        .chunks_exact(4)
        .map(|b| i32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(found, (0..64).map(|i| 163 - i).collect::<Vec<i32>>());
    // Errors name the line of the source, and kernels by their names there.
    run("a=ramp:i32:63")
        .fails(1)
        .says(&["kernel add(int*, int),", "k.cu:4", "thread (63, 0, 0)"]);
    place.write("wrong.cu", "__global__ void add( {}\n");
    let mut command = place.command(&[
        "gpu", "run", "wrong.cu", "--entry", "add", "--grid", "1", "--block", "1",
    ]);
    common::Done::of(command.env("CUDA_CLANG", "clang-19").env_remove("NVCC"))
        .fails(1)
        .says(&["does not compile", "wrong.cu"]);
}

#[test]
fn host_code_that_asks_for_devices_compiles_with_folders_and_macros() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    place.write("host.cu", include_str!("gpu/host.cu"));
    std::fs::create_dir(place.path("inc")).unwrap();
    place.write("inc/factor.h", "#define FACTOR (BASE + 1)\n");
    let run = |words: &[&str]| {
        let mut all = vec!["gpu", "run"];
        all.extend(words);
        let mut command = place.command(&all);
        common::Done::of(command.env("CUDA_CLANG", "clang-19").env_remove("NVCC"))
    };
    let launch = "host.cu --entry scale --grid 1 --block 32 --arg a=ramp:f32:32 --arg 32 --arg 2 --out a=a.raw --force";
    let launch: Vec<&str> = launch.split(' ').collect();
    let expected: Vec<u8> = (0..32)
        .flat_map(|at| (at as f32 * 2.0 + 8.0).to_le_bytes())
        .collect();
    run(&[&launch[..], &["-I", "inc", "-D", "BASE=7"]].concat()).succeeds();
    assert_eq!(place.read("a.raw"), expected);
    run(&[&launch[..], &["-D", "BASE=7"]].concat())
        .fails(1)
        .says(&["factor.h"]);
    // A description has the same two, and options add to them.
    place.write(
        "plan.toml",
        "kernel = 'host.cu'\ninclude = ['inc']\n[buffers]\na = 'ramp:f32:32'\n[[launch]]\nentry = 'scale'\ngrid = [1]\nblock = [32]\nargs = ['a', 32, 2.0]\n",
    );
    let plan = "plan.toml -D BASE=7 --out a=a.raw --force";
    run(&plan.split(' ').collect::<Vec<_>>()).succeeds();
    assert_eq!(place.read("a.raw"), expected);
}

/// What people have: a source with the host's side in it.
const WITH_HOST: &str = "#include <cuda_runtime.h>
#include <stdio.h>
__global__ void f(float *a) { a[threadIdx.x] = sinf(a[threadIdx.x]); if (threadIdx.x == 0) printf(\"there\"); }
__global__ void down(int *c) { c[0]--; }
int main() {
  float *a; cudaMalloc(&a, 128); cudaEvent_t e; cudaEventCreate(&e);
  f<<<1, 32>>>(a);
  printf(\"%d\", cudaGetLastError());
}
";

#[test]
fn sources_with_host_code_are_compiled_and_missing_compilers_named() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    place.write("h.cu", WITH_HOST);
    let words = [
        "gpu",
        "run",
        "h.cu",
        "--entry",
        "f",
        "--grid",
        "1",
        "--block",
        "32",
        "--arg",
        "a=ramp:f32:32",
        "--out",
        "a=a.raw",
    ];
    let clang = |words: &[&str]| {
        let mut command = place.command(words);
        common::Done::of(command.env("CUDA_CLANG", "clang-19").env_remove("NVCC"))
    };
    clang(&words).succeeds();
    let found: Vec<f32> = place
        .read("a.raw")
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    for (at, value) in found.iter().enumerate() {
        assert!(
            (f64::from(*value) - (at as f64).sin()).abs() < 1e-6,
            "{at}: {value}"
        );
    }
    let mut command = place.command(&words);
    common::Done::of(command.env("NVCC", "./none"))
        .fails(1)
        .says(&["NVCC names './none'"]);
    let plan = |repeat: &str| {
        format!(
            "kernel = 'h.cu'\n[buffers]\nc = 'ramp:i32:1:5'\n[[launch]]\nentry = 'down'\ngrid = [1]\nblock = [1]\nargs = ['c']\nwhile = 'c'\n{repeat}"
        )
    };
    for (repeat, times, says) in [("", "5 times", false), ("repeat = 2\n", "2 times", true)] {
        place.write("plan.toml", plan(repeat));
        let done = clang(&["gpu", "run", "plan.toml"]).succeeds();
        assert!(
            done.out.contains(times) && done.out.contains("not all zeros yet") == says,
            "{done:?}"
        );
    }
}

#[test]
fn report_shows_a_stream_as_profile_shows_a_run() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let arguments = [
        "--arg",
        "256",
        "--arg",
        "2",
        "--arg",
        "ramp:f32:256",
        "--arg",
        "zeros:f32:256",
    ];
    let run = with(&[&arguments[..], &["-q", "-o", "k.rlwarp"]].concat());
    place.run(&run).succeeds();
    let done = place
        .run(&["gpu", "report", "k.rlwarp", "--csv", "k.csv"])
        .succeeds();
    done.prints(&[
        "scale",
        "Page:    k.html",
        "Next:    change something, record and gpu report again",
    ]);
    // A load and a store of eight warps, each of four sectors.
    let run = place.json("k.rlgpu").0;
    let global = &run["by_kernel"][0]["global"];
    assert_eq!(
        (&global["requests"], &global["sectors"]),
        (&16.into(), &64.into())
    );
    assert!(place.text("k.csv").contains("\r\nkernel,scale,1,"));
    // Of a cut stream, what came before, and the error.
    let bytes = place.read("k.rlwarp");
    std::fs::write(place.path("cut.rlwarp"), &bytes[..bytes.len() - 9]).unwrap();
    place
        .run(&["gpu", "report", "cut.rlwarp"])
        .fails(1)
        .says(&["cut.rlwarp"]);
    let run = place.json("cut.rlgpu").0;
    assert_eq!(run["by_kernel"][0]["global"]["requests"], 16);
    let done = place.run(&["gpu", "report", "k.ptx"]).fails(1);
    done.says(&["k.ptx"]);
}

/// Eight blocks, each on a multiprocessor of its own, load 32 lines between them and store to 32
/// others.
#[test]
fn caches_of_any_size_are_shown_when_asked_for() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let mut run = vec!["gpu", "run", "k.ptx", "--entry", "scale", "--grid", "8"];
    run.extend([
        "--block", "32", "-q", "-o", "k.rlwarp", "--arg", "256", "--arg", "2",
    ]);
    run.extend(["--arg", "ramp:f32:256", "--arg", "zeros:f32:256"]);
    place.run(&run).succeeds();
    let report = ["gpu", "report", "k.rlwarp", "--cache-distances"];
    let done = place.run(&report).succeeds();
    done.prints(&[
        "Caches of multiprocessors, by size",
        "invalidated",
        "64 MiB",
    ]);
    let json = place.json("k.rlgpu").0;
    let distances = &json["kernels"][0]["cache_distances"];
    for cache in ["private", "coherent", "shared"] {
        assert_eq!(
            distances[cache],
            serde_json::json!({ "bins": [], "cold": 8 }),
            "{cache}"
        );
    }
    assert_eq!(distances["invalidated"], 0);
    assert!(place.text("k.html").contains("id=\"caches\""));
    let done = place.run(&["gpu", "report", "k.rlwarp", "-f"]).succeeds();
    assert!(!done.out.contains("Caches of multiprocessors, by size"));
    let both = [&report[..], &["--no-cache-model"]].concat();
    place.run(&both).fails(2).says(&["--no-cache-model"]);
}

#[test]
fn arithmetic_operations_are_written_with_their_operands() {
    let place = Place::new();
    place.write("k.ptx", PTX);
    let mut run = vec!["gpu", "run", "k.ptx", "--entry", "scale", "--grid", "4"];
    run.extend(["--block", "64", "--arg", "256", "--arg", "2"]);
    run.extend(["--arg", "ramp:f32:256", "--arg", "zeros:f32:256"]);
    let plain = place.run(&run).succeeds().out;
    run.extend(["--arithmetic", "k.tsv"]);
    let done = place.run(&run).succeeds();
    let done = done.prints(&["k.tsv: ", "arithmetic operations of warps"]);
    let text = place.text("k.tsv");
    assert!(text.starts_with("# reuselens arithmetic 1\n"), "{text}");
    let (_, product) = text.split_once("mul.f32").expect(&text);
    assert!(
        product.lines().next().unwrap().ends_with("\tf32\tf32"),
        "{text}"
    );
    // Nothing else changes, and files are not overwritten.
    let counts = |out: &str| out.lines().next().unwrap().to_owned();
    assert_eq!(counts(&done.out), counts(&plain));
    place.run(&run).fails(1).says(&["k.tsv", "--force"]);
    run.extend(["-f", "-o", "k.rlwarp", "--threads", "3"]);
    place.run(&run).succeeds();
    assert_eq!(place.text("k.tsv"), text);
}
