//! `run --device`, as users run it.

use reuselens_cuda::{CudaServer, Interpreter, KernelCounts};
use reuselens_cuda_driver::DriverDevice;
use serde_json::Value;

use crate::common::{Place, presponse};

/// Runs of a graph with a stream, of edges without and with a direction.
const RUN: [&str; 6] = ["run", "graph", "--stream", "stream", "--batch", "50"];
const DIRECTIONS: [&[&str]; 2] = [&[], &["--directed"]];

/// A folder with a graph and a stream.
fn place() -> Place {
    let place = Place::new();
    let graph = "generate erdos-renyi --vertices 200 --edges 700 --directed -o graph";
    let changes = "generate changes graph --count 600 --deletions 0.7 --directed -o stream";
    for words in [graph, changes] {
        place.succeed(&words.split(' ').collect::<Vec<_>>());
    }
    place
}

fn keeper(json: &str) -> Value {
    let json: Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["batches"], 12);
    json["rules"].clone()
}

#[test]
fn run_on_the_interpreter_gives_the_answers_of_the_processor() {
    let place = place();
    for directed in DIRECTIONS {
        let run = [&RUN[..], directed].concat();
        let device = ["--device", "interpreter", "--verify"];
        let answers = ["--answers", "-"];
        let found = place.succeed(&[&run[..], &device, &answers].concat());
        assert_eq!(found, place.succeed(&[&run[..], &answers].concat()));
        let json = place.succeed(&[&run[..], &device, &["--json", "-"]].concat());
        assert_eq!(keeper(&json), "kernels on the interpreter");
    }
    let both = ["--device", "interpreter", "--rules", "repair"];
    let (code, error) = place.fail(&[&["run", "--stream", "stream"][..], &both].concat());
    assert_eq!(code, 2, "{error}");
}

/// The driver is the stand-in, whose GPU is the interpreter.
#[test]
fn run_by_a_driver_gives_the_answers_of_the_processor() {
    let place = place();
    for directed in DIRECTIONS {
        for choice in ["cuda", "auto"] {
            let run = [&RUN[..], directed].concat();
            let device = ["--device", choice, "--verify", "--answers", "answers", "-f"];
            let interpreter =
                Interpreter::new(1 << 30, Default::default(), KernelCounts::default());
            let server = CudaServer::start(interpreter).unwrap();
            let output = presponse(&[&run[..], &device, &["--json", "-"]].concat())
                .current_dir(place.path(""))
                .envs(server.environment())
                .output()
                .unwrap();
            let (refused, _, interpreter) = server.finish();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{error} {refused:?}");
            assert!(refused.missing.is_empty() && refused.messages.is_empty());
            let json = String::from_utf8(output.stdout).unwrap();
            assert_eq!(keeper(&json), "kernels on a GPU");
            let found = std::fs::read_to_string(place.path("answers")).unwrap();
            let expected = place.succeed(&[&run[..], &["--answers", "-"]].concat());
            assert_eq!(found, expected);
            assert!(interpreter.into_watch().kernels().len() > 8);
        }
    }
}

#[test]
fn without_a_gpu_cuda_says_what_to_do_and_auto_takes_the_rules() {
    if DriverDevice::open(0).is_ok() {
        return;
    }
    let place = place();
    let (code, error) = place.fail(&[&RUN[..], &["--device", "cuda"]].concat());
    assert_eq!(code, 1);
    for words in ["driver", "nvidia-smi", "leave --device out"] {
        assert!(error.contains(words), "{error}");
    }
    let auto = place.run(&[&RUN[..], &["--device", "auto", "--json", "-"]].concat());
    let (json, error) = (
        String::from_utf8(auto.stdout),
        String::from_utf8(auto.stderr),
    );
    assert_eq!(keeper(&json.unwrap()), "ours");
    let error = error.unwrap();
    assert!(
        error.contains("the rules of the processor keep the answers"),
        "{error}"
    );
    let quiet = place.run(&[&RUN[..], &["--device", "auto", "--quiet"]].concat());
    assert!(quiet.status.success() && quiet.stderr.is_empty());
}
