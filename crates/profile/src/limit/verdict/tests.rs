//! Limits held against small profiles.

use reuselens_units::{Bytes, Distance, Granularity};

use super::super::counted::BY_SETS;
use super::*;
use crate::CacheSizeError;
use crate::{Cache, CacheKind, Machine, testing};

/// A profile of 100 accesses: `far` at distance 10, the others at 0.
fn profile(far: u64) -> Profile {
    let mut profile = testing::profile();
    (profile.cells, profile.histogram) = (Vec::new(), Default::default());
    profile.histogram.add(Distance::new(10), far);
    profile.histogram.add(Distance::ZERO, 100 - far);
    profile.machine = Machine {
        processor: "test".into(),
        caches: vec![Cache {
            kind: CacheKind::Data,
            size: Bytes(512),
            line: Bytes(64),
            ..Cache::default()
        }],
    };
    profile
}

fn judge(rule: &str, now: &Profile, base: Option<&Profile>) -> Judgement {
    check(rule, now, base).unwrap().judgement
}

fn check(rule: &str, now: &Profile, base: Option<&Profile>) -> Result<Verdict, CheckError> {
    rule.parse::<Limit>().unwrap().check(now, base)
}

#[test]
fn limit_holds_at_its_bound() {
    let (base, now) = (profile(20), profile(21));
    let cases = [
        ("misses@640 > 20", Judgement::Broken),
        ("misses@640 > 21", Judgement::Holds),
        ("misses@704 > 0", Judgement::Holds),
        ("miss-ratio@640 > 20 %", Judgement::Broken),
        ("miss-ratio@L1 > 21 %", Judgement::Holds),
        ("miss-ratio@l1d < 22 %", Judgement::Broken),
        ("misses@640 > +5 %", Judgement::Holds),
        ("misses@640 > +4.9 %", Judgement::Broken),
        ("misses@640 < +5 %", Judgement::Holds),
        ("misses@640 < +6 %", Judgement::Broken),
        ("accesses > +0 %", Judgement::Holds),
        ("accesses < 101", Judgement::Broken),
        ("cold > 0", Judgement::Holds),
        ("mean-distance > 2", Judgement::Broken),
    ];
    for (rule, judgement) in cases {
        assert_eq!(judge(rule, &now, Some(&base)), judgement, "{rule}");
    }
}

#[test]
fn change_from_zero_breaks_any_percentage() {
    let (none, some) = (profile(0), profile(1));
    let rule = "misses@640 > +1000 %";
    assert_eq!(judge(rule, &some, Some(&none)), Judgement::Broken);
    assert_eq!(judge(rule, &none, Some(&none)), Judgement::Holds);
    assert_eq!(
        judge("misses@640 < -99 %", &none, Some(&some)),
        Judgement::Broken
    );
    let error = check(rule, &some, None).unwrap_err();
    assert_eq!(error, CheckError::NoBase);
}

#[test]
fn samples_hold_and_break_limits_by_more_than_they_may_be_off() {
    let mut now = profile(30);
    (now.method.exact, now.method.error_bound) = (false, Some(0.05));
    let verdict = check("misses@640 > 26", &now, None).unwrap();
    assert_eq!(verdict.judgement, Judgement::Unsure);
    assert_eq!(verdict.now.certainty, Certainty::Within(5.0));
    let verdict = check("miss-ratio@640 > 24 %", &now, None).unwrap();
    assert_eq!(verdict.judgement, Judgement::Broken);
    assert_eq!(verdict.now.certainty, Certainty::Within(0.05));
    assert_eq!(judge("misses@640 > 34", &now, None), Judgement::Unsure);
    assert_eq!(judge("misses@640 > 35", &now, None), Judgement::Holds);
    assert_eq!(judge("misses@640 < 26", &now, None), Judgement::Unsure);
    assert_eq!(judge("misses@640 < 25", &now, None), Judgement::Holds);
    assert_eq!(judge("misses@640 < 34", &now, None), Judgement::Unsure);
    assert_eq!(judge("misses@640 < 36", &now, None), Judgement::Broken);
    let mut base = profile(25);
    assert_eq!(
        judge("misses@640 > +0 %", &now, Some(&base)),
        Judgement::Unsure
    );
    base.method = now.method.clone();
    assert_eq!(
        judge("misses@640 > +0 %", &profile(31), Some(&base)),
        Judgement::Broken
    );
    assert_eq!(
        judge("misses@640 > +0 %", &profile(29), Some(&base)),
        Judgement::Unsure
    );
    now.method.error_bound = None;
    let verdict = check("misses@640 > 26", &now, None).unwrap();
    assert_eq!(verdict.judgement, Judgement::Broken);
    assert!(matches!(verdict.now.certainty, Certainty::Estimate(_)));
}

#[test]
fn bursts_tell_how_much_misses_and_nothing_else() {
    let mut now = testing::profile();
    (now.method.exact, now.method.error_bound) = (false, Some(0.0));
    now.method.engine = crate::Method::BURSTS.to_owned();
    assert!(check("misses@4K > 1", &now, None).is_ok());
    for rule in [
        "distinct > 1",
        "cold > 1",
        "accesses > 1",
        "mean-distance > 1",
        "misses@4K:4 > 1",
        "misses@4K of function sweep > 1",
        "accesses of function sweep > 1",
    ] {
        let error = check(rule, &now, None).unwrap_err();
        assert!(matches!(error, CheckError::Bursts), "{rule}: {error}");
    }
}

#[test]
fn limits_of_groups_count_only_the_group() {
    let profile = testing::profile();
    let group = profile.groups(crate::Dimension::Function);
    let sweep = group.iter().find(|group| group.name == "sweep").unwrap();
    let verdict = check("misses@4K of function sweep > 1", &profile, None).unwrap();
    assert_eq!(verdict.now.value, sweep.misses(64) as f64);
    assert_eq!(verdict.name.as_deref(), Some("sweep"));
    assert_eq!(
        (verdict.items, verdict.judgement),
        (Some(64), Judgement::Broken)
    );
    let ratio = check("miss-ratio@4K of function sweep > 1", &profile, None).unwrap();
    assert_eq!(
        ratio.now.value,
        sweep.misses(64) as f64 / sweep.accesses as f64
    );
    let accesses = check("accesses of object table > 1", &profile, None).unwrap();
    assert_eq!(accesses.name.as_deref(), Some("table (a.c)"));
    let error = check("misses@4K of function swep > 1", &profile, None).unwrap_err();
    assert!(
        error.to_string().contains("names like it: sweep"),
        "{error}"
    );
    let mut base = testing::profile();
    base.sites[1].frames[0].function = "other".into();
    let error = check("misses@4K of function sweep > +1 %", &profile, Some(&base)).unwrap_err();
    assert!(error.to_string().contains("in the base"), "{error}");
}

#[test]
fn limits_of_caches_with_sets_use_the_model() {
    let profile = profile(30);
    let model = reuselens_locality::SetAssociative::new(4, 4);
    let verdict = check("misses@1K:4 > 0", &profile, None).unwrap();
    assert_eq!(verdict.now.value, model.misses(&profile.histogram));
    assert!(
        verdict.now.value > 0.0 && verdict.now.value < 30.0,
        "{verdict:?}"
    );
    assert_eq!(verdict.now.certainty, BY_SETS);
    assert!(matches!(
        check("misses@1K:3 > 0", &profile, None),
        Err(CheckError::Cache(CacheSizeError::Sets {
            lines: 16,
            ways: 3
        }))
    ));
}

#[test]
fn limit_on_a_missing_metric_never_passes() {
    let mut profile = profile(30);
    let fails = |rule: &str, profile: &Profile| check(rule, profile, None).unwrap_err().to_string();
    assert!(fails("misses@L2 > 1", &profile).contains("L1d"));
    assert!(fails("misses@63 > 1", &profile).contains("one item of 64 bytes"));
    profile.method.max_distance = Some(10);
    assert_eq!(judge("misses@640 > 30", &profile, None), Judgement::Holds);
    assert!(fails("misses@704 > 1", &profile).contains("--max-distance"));
    for rule in [
        "cold > 1",
        "distinct > 1",
        "mean-distance > 1",
        "misses@640:2 > 1",
    ] {
        assert!(fails(rule, &profile).contains("--max-distance"), "{rule}");
    }
    assert_eq!(judge("accesses > 1", &profile, None), Judgement::Broken);
    profile.method.ids = true;
    assert!(fails("misses@L1 > 1", &profile).contains("ids"));
    let mut other = super::tests::profile(30);
    other.granularity = Granularity::BYTE;
    let error = check("accesses > +1 %", &profile, Some(&other)).unwrap_err();
    assert!(matches!(error, CheckError::Difference(_)), "{error}");
}
