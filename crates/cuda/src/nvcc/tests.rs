//! Command lines, and the steps that they become. Nothing is compiled.

use std::ffi::OsString;

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn read(line: &str) -> Result<NvccCall, OptionError> {
    NvccCall::read(&words(line))
}

/// The steps for a line, each as one text.
fn steps(line: &str) -> Vec<String> {
    let tools = ClangTools {
        clang: "clang".into(),
        headers: "/h".into(),
        libraries: "/l".into(),
        temporary: "/t".into(),
        overlay: None,
    };
    let steps = plan(&read(line).unwrap(), &tools);
    let text = |step: &NvccStep| match step {
        NvccStep::Run(words) => words.join(OsStr::new(" ")).into_string().unwrap(),
        NvccStep::JoinCopies(ir) => format!("join {}", ir.display()),
        NvccStep::Bypass { ptx, warps } => format!("bypass {warps} {}", ptx.display()),
        NvccStep::Pack { ptx, to, .. } => format!("pack {} {}", ptx.display(), to.display()),
    };
    steps.iter().map(text).collect()
}

#[test]
fn loads_pass_the_l1_by_before_the_code_is_packed() {
    for line in ["--rl-bypass 2 a.cu -c", "--rl-bypass=2 a.cu -c"] {
        let steps = steps(line);
        let at = |text: &str| steps.iter().position(|step| step.starts_with(text));
        let (bypass, pack) = (at("bypass 2 /t/0.ptx"), at("pack"));
        assert!(bypass.is_some() && bypass < pack, "{steps:#?}");
    }
    assert!(
        !steps("a.cu -c")
            .iter()
            .any(|step| step.starts_with("bypass"))
    );
    for line in ["--rl-bypass 65 a.cu", "--rl-bypass some a.cu"] {
        let error = read(line).unwrap_err().to_string();
        assert!(error.contains("from 0 to 64"), "{error}");
    }
    assert!(is_bypass(&"--rl-bypass=3".into()) && !is_bypass(&"-o".into()));
}

#[test]
fn program_is_compiled_for_both_sides_and_linked() {
    let steps = steps("-O2 -arch=sm_80 a.cu b.cpp c.o -lm -o a");
    let [device, join, rest, pack, host, other, link] = &steps[..] else {
        panic!("{steps:#?}");
    };
    for part in [
        "--cuda-device-only",
        "sm_80",
        "+ptx70",
        "-O3",
        "-fno-builtin-malloc",
        "-Xclang -no-enable-noundef-analysis",
        "-o /t/0.ll a.cu",
    ] {
        assert!(device.contains(part), "{part}: {device}");
    }
    assert!(!device.contains("-O2"), "{device}");
    assert_eq!(join, "join /t/0.ll");
    for part in [
        "-x ir",
        "-march=sm_80",
        "-nvptx-fma-level=2",
        "-o /t/0.ptx /t/0.ll",
    ] {
        assert!(rest.contains(part), "{part}: {rest}");
    }
    assert_eq!(pack, "pack /t/0.ptx /t/0.fatbin");
    for part in [
        "--cuda-host-only",
        "/t/0.fatbin",
        "-O2",
        "-c -o /t/0.o a.cu",
    ] {
        assert!(host.contains(part), "{part}: {host}");
    }
    assert!(
        other.contains("-x c++") && other.ends_with("-c -o /t/1.o b.cpp"),
        "{other}"
    );
    assert!(link.contains("-o a "), "{link}");
    assert!(
        link.contains("/t/0.o /t/1.o c.o -lm /l/uses.o -L/l -lcudart"),
        "{link}"
    );
}

#[test]
fn outputs_are_named_as_by_nvcc() {
    let last = |line: &str| steps(line).pop().unwrap();
    assert!(last("-c dir/a.cu").ends_with("-o a.o dir/a.cu"));
    assert!(last("-dc a.cu -o b.o").ends_with("-o b.o a.cu"));
    assert!(last("-c a.cu -odir obj").ends_with("-o obj/a.o a.cu"));
    assert!(last("-dlink a.o b.o").ends_with("-o a_dlink.o /dev/null"));
    assert!(last("-dlink a.o -o l.o").ends_with("-o l.o /dev/null"));
    assert!(last("-ptx a.cu").ends_with("-o a.ptx /t/0.ll"));
    assert!(last("-x cu -c a.cpp").contains("-x cuda"));
    assert!(last("a.cu").contains("-o a.out"));
    assert_eq!(
        read("-c a.cu b.cu -o c.o"),
        Err(OptionError::SeveralOutputs(2))
    );
}

#[test]
fn options_reach_the_side_that_they_are_for() {
    let line = "-c a.cu -I inc -DX=1 --std c++17 -Xcompiler -Wall,-fPIC --compiler-options=-fno-rtti \
                --use_fast_math -Xptxas -v -maxrregcount 32 --expt-relaxed-constexpr -lineinfo -G \
                -MMD -MF a.d --fmad=false -cudart=static --ptxas-options=-v -diag-suppress 177";
    let steps = steps(line);
    let (device, rest, host) = (&steps[0], &steps[2], &steps[4]);
    assert!(rest.contains("-nvptx-fma-level=0"), "{rest}");
    for part in ["-Iinc", "-DX=1", "-std=c++17"] {
        assert!(device.contains(part) && host.contains(part), "{part}");
    }
    for part in ["-Wall -fPIC -fno-rtti", "-MMD -MF a.d", " -g "] {
        assert!(
            host.contains(part) && !device.contains(part),
            "{part}: {host}"
        );
    }
    for part in ["-fgpu-approx-transcendentals", "-ffp-contract=off"] {
        assert!(device.contains(part) && !host.contains(part), "{part}");
    }
}

#[test]
fn newest_architecture_is_taken_within_what_is_run() {
    let of = |line: &str| steps(&format!("-c a.cu {line}")).remove(0);
    let several = "-gencode arch=compute_75,code=sm_75 -gencode=arch=compute_86,code=compute_86";
    assert!(of(several).contains("gpu-arch=sm_86"));
    assert!(of("-arch sm_35").contains("gpu-arch=sm_70"));
    assert!(of("--gpu-architecture=sm_120").contains("gpu-arch=sm_90"));
    assert!(of("-arch=native").contains("gpu-arch=sm_90"));
}

#[test]
fn what_cannot_be_done_is_named() {
    let says = |line: &str| read(line).unwrap_err().to_string();
    assert!(says("a.cu -fPIC").contains("unknown option -fPIC"));
    assert!(says("a.cu --wibble=3").contains("--wibble=3"));
    assert!(says("a.cu -o").contains("-o needs a value"));
    assert!(says("-O2").contains("no input files"));
    assert!(says("a.o -dlto").contains("linking device code"));
    assert!(says("a.cu -lcublas").contains("-lcublas is a library of machine code"));
    assert!(says("a.cu -lcurand_static").contains("-lcurand_static"));
    assert!(says("-m32 a.cu").contains("64 bits"));
    assert!(says("-cubin a.cu").contains("-ptx makes PTX"));
    assert!(says("@nothing --options-file /does/not/exist").contains("/does/not/exist"));
}

#[test]
fn unknown_options_are_forwarded_when_asked_for() {
    let call = read("-forward-unknown-to-host-compiler -fPIC -c a.cu").unwrap();
    assert_eq!(call.host, ["-fPIC"]);
}

#[test]
fn own_libraries_are_left_out_and_others_kept_in_order() {
    let link = steps("a.o -L/lib -lcudart -lfoo b.a -Xlinker -z,now -lcuda -shared")
        .pop()
        .unwrap();
    assert!(
        link.contains("a.o -L/lib -lfoo b.a -Xlinker -z -Xlinker now /l/uses.o"),
        "{link}"
    );
    assert!(link.contains("-shared"), "{link}");
}

#[test]
fn options_in_files_are_read_with_their_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("options");
    std::fs::write(&file, "-I\"a b\" -DX='\"s\"'\n -c").unwrap();
    let call = read(&format!("--options-file {} a.cu", file.display())).unwrap();
    assert_eq!(call.phase, NvccPhase::Object);
    assert_eq!(call.common, ["-Ia b", "-DX=\"s\""]);
    std::fs::write(&file, format!("-optf {}", file.display())).unwrap();
    assert!(read(&format!("-optf {}", file.display())).is_err());
}

#[test]
fn line_information_is_added_for_nvcc() {
    let with = |line: &str| with_lines(&words(line)).join(OsStr::new(" "));
    assert_eq!(with("a.cu -o a"), "a.cu -o a -lineinfo");
    for line in ["a.cu -G", "a.cu -lineinfo", "--version"] {
        assert_eq!(with(line), line);
    }
}
