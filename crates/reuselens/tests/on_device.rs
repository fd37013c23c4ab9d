//! Whole analyses by engines on a device: profiles are those of the processor, and what a device
//! refuses is an error and no profile.

mod common;

use reuselens::distance::generate::Random;
use reuselens::profile::{Profile, Sharing};
use reuselens::units::{Bytes, Granularity};
use reuselens::{AnalysisOptions, DeviceChoice, Error, analyze};

use common::{Made, refusal};

/// Loads of three instructions of one thread.
fn loads(number: u64, item: impl Fn(u64, &mut Random) -> u64) -> Made {
    let mut random = Random::new(5);
    let load = |at| (item(at, &mut random), 0x400 + 16 * (at % 3));
    let loads: Vec<(u64, u64)> = (0..number).map(load).collect();
    Made::one(&loads, 3_000)
}

fn options(engine: &str, memory: u64) -> AnalysisOptions {
    AnalysisOptions {
        engine: engine.to_owned(),
        device: DeviceChoice::Interpreter,
        memory_limit: Some(Bytes(memory)),
        // Memory is needed for the items of these traces, whatever this machine's lines are.
        granularity: Some(Granularity::LINE_64),
        ..AnalysisOptions::default()
    }
}

fn profile(trace: &Made, options: &AnalysisOptions) -> Profile {
    analyze(&mut trace.clone(), Vec::new(), options, &mut |_| {}).unwrap()
}

/// The profile, as if another engine had made it.
fn named(mut profile: Profile, engine: &str) -> Profile {
    profile.method.engine = engine.to_owned();
    profile
}

#[test]
fn profiles_of_several_chunks_equal_those_of_the_counting_tree() {
    let trace = loads(50_000, |at, random| {
        if at % 4 == 0 {
            at % 3_000
        } else {
            random.below(4_000)
        }
    });
    for change in [
        &|_: &mut AnalysisOptions| {},
        &|options: &mut AnalysisOptions| options.totals_only = true,
        &|options: &mut AnalysisOptions| options.reuse_times = true,
    ] as [&dyn Fn(&mut AnalysisOptions); 3]
    {
        // A fourth of the memory for either side: chunks of some 20,000 accesses.
        let mut on_device = options("gpu", 4 << 20);
        change(&mut on_device);
        let expected = AnalysisOptions {
            engine: "counting".to_owned(),
            device: DeviceChoice::Auto,
            memory_limit: None,
            ..on_device.clone()
        };
        let found = profile(&trace, &on_device);
        assert_eq!(found.method.engine, "gpu");
        assert!(found.method.exact);
        assert_eq!(found.warnings, []);
        assert!(named(found, "counting") == profile(&trace, &expected));
    }
}

#[test]
fn hp_rda_profiles_equal_those_of_the_processor() {
    let trace = loads(20_000, |at, random| match at % 5 {
        0 => random.below(90),
        _ => at / 2 % 3_000,
    });
    for adjusting in [true, false] {
        let of = |engine| AnalysisOptions {
            adjusting,
            ..options(engine, 1 << 30)
        };
        let found = profile(&trace, &of("hp-rda-gpu"));
        let mut expected = named(profile(&trace, &of("hp-rda")), "hp-rda-gpu");
        assert!(!found.method.exact);
        let warning = &mut expected.warnings[0].message;
        *warning = warning.replace("hp-rda is", "hp-rda-gpu is");
        assert!(found == expected, "{:?}", found.warnings);
    }
}

/// The memory of the device ends while the trace is read: there is no profile of a part.
#[test]
fn a_device_that_refuses_leaves_no_profile() {
    let mut trace = loads(400_000, |at, _| at);
    let error = analyze(
        &mut trace,
        Vec::new(),
        &options("hp-rda-gpu", 56 << 20),
        &mut |_| {},
    );
    let error = error.unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error}");
    assert!(!error.is_usage());
    assert!(error.to_string().contains("--engine counting"), "{error}");
    // The rest of the trace was not read.
    assert!(trace.at < trace.steps.len(), "{} steps", trace.at);
}

/// Too little memory for anything is said before the trace is read.
#[test]
fn a_device_that_is_too_small_is_refused_first() {
    for engine in ["gpu", "hp-rda-gpu"] {
        let error = reuselens::check(&options(engine, 100_000)).unwrap_err();
        assert!(
            error.to_string().contains("references at a time take"),
            "{error}"
        );
    }
}

#[test]
fn what_needs_distances_in_order_is_refused() {
    for sharing in [Sharing::Private, Sharing::Coherent] {
        for engine in ["gpu", "hp-rda-gpu"] {
            let message = refusal(sharing, |asked: &mut AnalysisOptions| {
                asked.engine = engine.to_owned();
                asked.device = DeviceChoice::Interpreter;
            });
            assert!(message.contains(engine), "{message}");
            assert!(message.contains("--engine counting"), "{message}");
        }
    }
    let says = |change: &dyn Fn(&mut AnalysisOptions), hint: &str| {
        let mut asked = options("gpu", 1 << 30);
        change(&mut asked);
        let message = reuselens::check(&asked).unwrap_err().to_string();
        assert!(message.contains(hint), "{message}");
    };
    says(&|asked| asked.forward = true, "--engine counting");
    says(&|asked| asked.paths = true, "this --engine");
    says(
        &|asked| asked.causes = Some(Bytes(1 << 20)),
        "this --engine",
    );
    says(&|asked| asked.max_distance = Some(7), "only 'counting' can");
    says(&|asked| asked.sample = Some(0.5), "looks at every access");
}
