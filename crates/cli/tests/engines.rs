//! `reuselens engines`, and that exact engines agree to the byte.

use crate::common::{Done, Place};
use reuselens::engines::ENGINES;
use reuselens_cuda::{CudaServer, Interpreter};
use reuselens_cuda_driver::DriverDevice;
use reuselens_ptx::{Ignore, Options};

#[test]
fn every_engine_is_listed() {
    let done = Place::new().run(&["engines"]).succeeds();
    for engine in ENGINES {
        let line = done
            .out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(engine.name));
        let line = line.unwrap_or_else(|| panic!("{} is not in {}", engine.name, done.out));
        assert!(line.contains(engine.summary), "{line}");
        assert_eq!(line.contains(" exact "), engine.exact, "{line}");
    }
    done.prints(&["auto       exact or not ", "Next: "]);
}

#[test]
fn every_engine_runs_under_its_name_and_the_exact_ones_agree_to_the_byte() {
    let place = Place::new();
    let count = place.build("count/count.c", &["-pthread"]);
    let json = |engine: &str| {
        let words = [
            "profile", "-f", "--engine", engine, "--bins", "exact", "--json", "-", "--", &count,
        ];
        let device: &[&str] = match engine {
            "gpu" => &["--device", "interpreter"],
            _ => &[],
        };
        let words = [&words[..2], device, &words[2..], &["37", "11"]].concat();
        place.run(&words).succeeds().out
    };
    let auto = json("auto");
    for engine in ENGINES.iter().filter(|engine| engine.exact) {
        let named = format!("\"engine\": \"{}\"", engine.name);
        let text = json(engine.name);
        assert!(text.contains(&named), "{text}");
        assert_eq!(text.replace(&named, "\"engine\": \"counting\""), auto);
    }
}

#[test]
fn the_bench_measures_every_exact_engine_on_every_stream() {
    let place = Place::new();
    let words = [
        "engines",
        "--bench",
        "--references",
        "20k",
        "--scaling",
        "2k",
    ];
    let words = [&words[..], &["--svg", "e.svg", "--json", "e.json"]].concat();
    let done = place.run(&words).succeeds();
    done.prints(&[
        "÷ olken",
        "share of bound",
        "equal",
        "Over distinct items",
        "Next: ",
    ]);
    let json: serde_json::Value = serde_json::from_str(&place.text("e.json")).unwrap();
    assert_eq!(json["schema"], "reuselens-bench/1");
    let streams = json["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 4);
    for stream in streams {
        assert_eq!(stream["references"], 20_000);
        let timings = stream["timings"].as_array().unwrap();
        let names = timings
            .iter()
            .map(|timing| timing["name"].as_str().unwrap());
        assert!(names.eq(["counting", "fenwick", "olken", "bound"]));
        // A machine that does much else may measure nothing.
        let measurable = |timing: &serde_json::Value| timing["measurable"] == true;
        for timing in timings {
            assert_eq!(timing["runs"], 3);
            for (ratio, to) in [("ratio_to_olken", 2), ("share_of_bound", 3)] {
                let ratio = timing[ratio].as_f64();
                let there = measurable(timing) && measurable(&timings[to]);
                assert_eq!(ratio.is_some_and(|ratio| ratio > 0.0), there, "{timing}");
            }
        }
    }
    assert_eq!(json["series"].as_array().unwrap().len(), 2);
    let svg = place.text("e.svg");
    assert!(
        svg.starts_with("<svg xmlns=") && svg.contains(">jacobi<"),
        "{svg}"
    );
    place.run(&words).fails(1).says(&["--force"]);
}

#[test]
fn bench_measures_traces_and_chosen_engines() {
    let place = Place::new();
    place.write("abc.txt", "a b c a b c a a");
    let words = [
        "engines",
        "--bench",
        "--quick",
        "--engine",
        "counting,fenwick",
    ];
    let words = [&words[..], &["--trace", "abc.txt", "--json", "-"]].concat();
    let done = place.run(&words).succeeds();
    let json: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let stream = &json["streams"][4];
    assert_eq!(stream["stream"], "abc");
    assert_eq!(
        (&stream["references"], &stream["distinct"]),
        (&8.into(), &3.into())
    );
    assert_eq!(stream["timings"].as_array().unwrap().len(), 2);
    assert_eq!(
        stream["timings"][0]["ratio_to_olken"],
        serde_json::Value::Null
    );
    assert_eq!(place.files(), ["abc.txt"]);
}

#[test]
fn bench_takes_streams_and_instruction_sets() {
    let place = Place::new();
    place.write("abc.txt", "a b c a b c a a");
    let bench = ["engines", "--bench", "--references", "3k"];
    let run = |words: &[&str]| place.run(&[&bench[..], words].concat());
    let words = ["--stream", "loop,zipf", "--simd", "portable", "--json", "-"];
    let json: serde_json::Value = serde_json::from_str(&run(&words).succeeds().out).unwrap();
    assert_eq!(json["simd"], "portable");
    assert_eq!(json["streams"][0]["stream"], "loop");
    assert_eq!(json["streams"][1]["stream"], "zipf");
    assert_eq!(json["streams"].as_array().unwrap().len(), 2);
    let words = ["--stream", "none", "--trace", "abc.txt", "--json", "-"];
    let json: serde_json::Value = serde_json::from_str(&run(&words).succeeds().out).unwrap();
    assert_eq!(json["streams"][0]["stream"], "abc");
    run(&["--stream", "steps"])
        .fails(2)
        .says(&["there is no stream 'steps'", "jacobi"]);
    run(&["--simd", "mmx"])
        .fails(2)
        .says(&["there is no 'mmx'", "portable, avx2, avx512"]);
}

#[test]
fn long_bench_run_reports_its_contents() {
    let done = Place::new()
        .run(&["engines", "--bench", "--long", "300k"])
        .succeeds();
    done.prints(&[
        "Long run: counting, 300000 references",
        "bytes per item",
        "at its peak",
    ]);
}

#[test]
fn engines_rejects_what_cannot_be_measured_before_measuring() {
    let place = Place::new();
    let run = |words: &[&str]| place.run(&[&["engines"], words].concat());
    run(&["--quick"]).fails(2).says(&["--bench"]);
    run(&["--bench", "--engine", "steam"])
        .fails(2)
        .says(&["there is no engine 'steam'"]);
    run(&["--bench", "--references", "many"])
        .fails(2)
        .says(&["4M"]);
    run(&["--bench", "--references", "900000G"])
        .fails(1)
        .says(&["memory", "--references"]);
    run(&["--bench", "--svg", "-"]).fails(2).says(&["--json -"]);
    run(&["--bench", "--trace", "-"])
        .fails(2)
        .says(&["--trace"]);
    run(&["--bench", "--trace", "none.txt"])
        .fails(1)
        .says(&["none.txt"]);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn unknown_engine_is_wrong_usage_before_the_run() {
    let place = Place::new();
    place.write("abc.txt", "a b c");
    let done = place
        .run(&["analyze", "abc.txt", "--engine", "steam"])
        .fails(2);
    done.says(&["there is no engine 'steam'", "counting", "olken"]);
    assert_eq!(place.files(), ["abc.txt"]);
}

#[test]
fn hp_rda_reports_its_approximation_and_options() {
    let place = Place::new();
    // In chunks of 2048, 30 rounds over 4000 items: every chunk counts its items again.
    let words: Vec<String> = (0..120_000).map(|at| (at % 4000).to_string()).collect();
    place.write("loop.txt", words.join("\n"));
    let json = |options: &[&str]| {
        let words = [
            "analyze", "-f", "--format", "text", "loop.txt", "--engine", "hp-rda", "--json",
        ];
        let words = [&words[..], &["-", "--bins", "exact"], options].concat();
        place.run(&words).succeeds().out
    };
    let adjusted = json(&["--threads", "1"]);
    for text in [
        "\"engine\": \"hp-rda\"",
        "\"exact\": false",
        "\"error_bound\": null",
        "\"code\": \"approximate\"",
        "--engine auto is exact",
    ] {
        assert!(adjusted.contains(text), "{text} is not in {adjusted}");
    }
    assert_eq!(adjusted, json(&["--threads", "3"]));
    let merged = json(&["--disable-adjusting"]);
    assert!(merged.contains("left as they are"), "{merged}");
    assert!(!adjusted.contains("left as they are"));
    place
        .run(&["analyze", "--format", "text", "loop.txt", "--threads", "0"])
        .fails(2);
}

#[test]
fn engines_on_a_device_are_refused_without_one() {
    let place = Place::new();
    place.write("abc.txt", "a b c a");
    let has_gpu = DriverDevice::open(0).is_ok();
    for (engine, processor) in [("gpu", "counting"), ("hp-rda-gpu", "hp-rda")] {
        for device in [&[][..], &["--device", "auto"], &["--device", "cuda"]] {
            if has_gpu {
                continue;
            }
            let words = [&["analyze", "abc.txt", "--engine", engine], device].concat();
            let hint = format!("--engine {processor}");
            let done = place.run(&words).fails(1);
            done.says(&["driver", "nvidia-smi", "--device interpreter", &hint]);
        }
    }
    let on_processor = ["analyze", "abc.txt", "--device", "interpreter"];
    let done = place.run(&on_processor).fails(2);
    done.says(&[
        "--device is for the engines gpu and hp-rda-gpu",
        "--engine is auto",
        "--engine gpu",
    ]);
    // A list is no number, whose digits commas group.
    for list in ["1,2", "16,64", "1,0000", ",5", "1,"] {
        let words = ["analyze", "abc.txt", "--engine", "hp-rda", "--chunk", list];
        place.run(&words).fails(2).says(&["takes one number"]);
    }
    let words = [
        "analyze", "abc.txt", "--engine", "hp-rda", "--chunk", "1,024",
    ];
    place
        .run(&[&words[..], &["-o", "grouped"]].concat())
        .succeeds();
    assert_eq!(place.files(), ["abc.txt", "grouped.html", "grouped.rlprof"]);
}

#[test]
fn hp_rda_on_a_device_equals_that_on_the_processor() {
    let place = Place::new();
    // Immediate repeats, and rounds that chunks cut.
    let words: Vec<String> = (0..60_000).map(|at| (at / 2 % 5000).to_string()).collect();
    place.write("loop.txt", words.join("\n"));
    let json = |engine: &str, options: &[&str]| {
        let words = [
            "analyze", "-f", "--format", "text", "loop.txt", "--json", "-", "--bins",
        ];
        let words = [&words[..], &["exact", "--engine", engine], options].concat();
        place.run(&words).succeeds().out
    };
    for options in [&[][..], &["--disable-adjusting"]] {
        let device = [options, &["--device", "interpreter"]].concat();
        let found = json("hp-rda-gpu", &device);
        assert_eq!(
            found.replace("hp-rda-gpu", "hp-rda"),
            json("hp-rda", options)
        );
    }
}

#[test]
fn chunks_of_hp_rda_are_as_asked_for() {
    let place = Place::new();
    let words: Vec<String> = (0..40_000_u64)
        .map(|at| (at * at % 4001).to_string())
        .collect();
    place.write("squares.txt", words.join("\n"));
    let base = ["analyze", "-f", "-q", "--format", "text", "squares.txt"];
    let json = |options: &[&str]| {
        let words = [&base[..], &["--json", "-", "--bins", "exact"], options].concat();
        place.run(&words).succeeds().out
    };
    let small = ["--engine", "hp-rda", "--chunk", "64"];
    let cut = ["--block-threads", "3", "--blocks", "2"];
    let found = json(&small);
    assert!(found.contains("one chunk of 64 accesses"), "{found}");
    assert!(found != json(&["--engine", "hp-rda"]));
    // Blocks change no distance, and a device neither.
    assert_eq!(found, json(&[&small[..], &cut].concat()));
    let device = ["--engine", "hp-rda-gpu", "--chunk", "64", "--device"];
    let by_device = json(&[&device[..], &["interpreter"], &cut].concat());
    assert_eq!(by_device.replace("hp-rda-gpu", "hp-rda"), found);
    for (engine, option, number) in [
        ("hp-rda", "--chunk", "0"),
        ("hp-rda", "--chunk", "32769"),
        ("hp-rda-gpu", "--block-threads", "65"),
        ("hp-rda", "--blocks", "513"),
        ("gpu", "--blocks", "2"),
        ("counting", "--chunk", "64"),
    ] {
        let words = [&base[..], &["--engine", engine, option, number]].concat();
        place.run(&words).fails(2).says(&[option]);
    }
    let words = [&base[..], &["--engine-times"]].concat();
    place
        .run(&words)
        .fails(2)
        .says(&["--engine-times", "'auto'", "--engine hp-rda"]);
}

#[test]
fn engines_in_chunks_report_the_time_of_their_steps() {
    let place = Place::new();
    let words: Vec<String> = (0..9_000).map(|at| (at % 700).to_string()).collect();
    place.write("loop.txt", words.join("\n"));
    for (engine, steps) in [
        ("hp-rda", &["preprocess", "block merge", "adjust"][..]),
        ("hp-rda-gpu", &["transfer", "local", "thread merge"]),
        ("gpu", &["transfer", "sort", "dominance", "resolve"]),
    ] {
        let mut words = vec!["analyze", "-f", "--format", "text", "loop.txt", "--engine"];
        words.extend([engine, "--engine-times", "-o", "loop"]);
        if engine != "hp-rda" {
            words.extend(["--device", "interpreter"]);
        }
        place.run(&words).succeeds().prints(steps);
        let show = |options: &[&str]| {
            let words = [&["report", "-f", "loop.rlprof"], options].concat();
            place.run(&words).succeeds().out
        };
        let json = show(&["--json", "-"]);
        let named: Vec<String> = steps
            .iter()
            .map(|step| format!("\"step\": \"{step}\""))
            .collect();
        assert!(named.iter().all(|step| json.contains(step)), "{json}");
        show(&["--html", "loop.html"]);
        let page = std::fs::read_to_string(place.path("loop.html")).unwrap();
        assert!(page.contains("Time of the engine"), "{engine}");
    }
}

#[test]
fn bench_compares_chunks_with_an_exact_engine() {
    let place = Place::new();
    let words = "engines --bench -q --references 60k --repetitions 1 --stream zipf --engine counting,hp-rda --chunk 64,2048";
    let words: Vec<&str> = words.split(' ').collect();
    place.run(&words).succeeds().prints(&[
        "hp-rda, chunks of 64",
        "hp-rda, chunks of 2048",
        "Error against the exact histogram",
        "Where the time of the fastest run went",
        "thread merge",
    ]);
    let words = "engines --bench --engine counting --chunk 64";
    let words: Vec<&str> = words.split(' ').collect();
    place
        .run(&words)
        .fails(2)
        .says(&["--chunk", "--engine hp-rda"]);
    let words = "engines --bench --engine hp-rda --chunk 99999";
    let words: Vec<&str> = words.split(' ').collect();
    place
        .run(&words)
        .fails(2)
        .says(&["--chunk 99999", "1 to 32768"]);
}

/// The driver is the stand-in, whose GPU is the interpreter.
#[test]
fn engines_by_a_driver_equal_those_of_the_processor() {
    let place = Place::new();
    let words: Vec<String> = (0..5_000).map(|at| (at * at % 701).to_string()).collect();
    place.write("squares.txt", words.join(" "));
    let words = [
        "analyze",
        "-f",
        "--format",
        "text",
        "squares.txt",
        "--bins",
        "exact",
    ];
    let words = [&words[..], &["--json", "-", "--engine"]].concat();
    for (engine, processor) in [("gpu", "counting"), ("hp-rda-gpu", "hp-rda")] {
        let expected = place
            .run(&[&words[..], &[processor]].concat())
            .succeeds()
            .out;
        for device in ["auto", "cuda"] {
            let server = CudaServer::start(Interpreter::new(1 << 26, Options::default(), Ignore));
            let server = server.unwrap();
            let words = [&words[..], &[engine, "--device", device]].concat();
            let mut command = place.command(&words);
            let found = Done::of(command.envs(server.environment())).succeeds().out;
            let (refused, ..) = server.finish();
            assert!(refused.missing.is_empty(), "{refused:?}");
            assert_eq!(found.replace(engine, processor), expected);
        }
    }
}

/// Items that fill the device's memory end the analysis, and nothing is written.
#[test]
fn a_device_without_memory_left_fails_the_analysis() {
    let place = Place::new();
    place.write_items("new.u64", (0..400_000_u64).map(|item| item * 3));
    let words = [
        "analyze",
        "new.u64",
        "--engine",
        "hp-rda-gpu",
        "--device",
        "interpreter",
    ];
    let done = place
        .run(&[&words[..], &["--memory-limit", "56M"]].concat())
        .fails(1);
    done.says(&["the device cannot allocate memory", "--engine counting"]);
    assert_eq!(place.files(), ["new.u64"]);
}

#[test]
fn long_bench_rejects_several_engines() {
    let place = Place::new();
    let words = ["engines", "--bench", "--long", "100K", "--engine"];
    let refused = place
        .run(&[&words[..], &["counting,olken"]].concat())
        .fails(2);
    refused.says(&["one run, of one engine"]);
    let bound = place.run(&[&words[..], &["bound"]].concat()).fails(2);
    bound.says(&["one run, of one engine"]);
    let done = place.run(&[&words[..], &["counting"]].concat()).succeeds();
    assert!(done.out.contains("; one run\n"), "{}", done.out);
}

#[test]
fn bench_measures_repeated_choices_once_and_rejects_empty_ones() {
    let place = Place::new();
    let run = |more: &[&str]| place.run(&[&["engines", "--bench"], more].concat());
    run(&["--stream", "none"])
        .fails(2)
        .says(&["leaves nothing to measure", "--trace"]);
    run(&["--granularity", "64"]).fails(2).says(&["--trace"]);
    run(&["--long", "10K", "--granularity", "64"])
        .fails(2)
        .says(&["--granularity"]);
    run(&["--references", "20000000000G"])
        .fails(2)
        .says(&["more than 64 bits hold"]);
    let named = ["--references", "10K", "--repetitions", "1", "--engine"];
    let twice = ["counting,counting", "--stream", "loop,zipf,loop"];
    let done = run(&[&named[..], &twice].concat()).succeeds();
    let rows = |name: &str| done.out.matches(&format!("| {name} |")).count();
    assert_eq!((rows("loop"), rows("zipf")), (1, 1), "{}", done.out);
}

#[test]
fn bench_rejects_an_empty_trace() {
    let place = Place::new();
    place.write("none.csv", "address,size\n");
    let words = [
        "engines", "--bench", "--stream", "none", "--trace", "none.csv",
    ];
    place
        .run(&words)
        .fails(1)
        .says(&["none.csv", "no accesses"]);
}
