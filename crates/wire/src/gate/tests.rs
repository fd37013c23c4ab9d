//! Tests of which records [`Gate::sort`] passes on and how many accesses it counts as left out.

use super::*;
extern crate std;
use std::vec::Vec;

const HIGH: u64 = 0x10000;

fn load(address: u64) -> Record {
    Record::new(WireKind::Load, 8, 1, address)
}

fn enter(pc: u64, depth: u64) -> Record {
    crate::enter_words(pc, 7, depth)
}

fn exit(depth: u64) -> Record {
    Record::new(WireKind::Exit, 0, 1, HIGH - depth * 8)
}

fn sorted(gate: &mut Gate, control: &Control, records: &[Record]) -> Vec<Record> {
    let mut kept = Vec::new();
    gate.sort(control, HIGH, records, &mut |run| kept.extend(run));
    kept
}

#[test]
fn sort_keeps_the_accesses_of_bursts() {
    let control = Control::new();
    control.after.store(2, Ordering::Relaxed);
    control.on.store(3, Ordering::Relaxed);
    control.off.store(4, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    let records: Vec<Record> = (0..30).map(load).collect();
    let mut kept = Vec::new();
    for part in records.chunks(4) {
        kept.extend(sorted(&mut gate, &control, part));
    }
    let expected: Vec<Record> = (0..30)
        .filter(|n| *n >= 2 && (n - 2) % 7 < 3)
        .map(load)
        .collect();
    assert_eq!(kept, expected);
    gate.report(&control);
    let left_out = control.left_out.load(Ordering::Relaxed);
    assert_eq!(left_out + kept.len() as u64, 30);
}

#[test]
fn each_part_of_a_burst_is_announced_before_its_accesses() {
    let control = Control::new();
    control.strata.store(1, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    // The end of the beginning, which nothing announces, and three strata; of the last two only
    // what is around their bursts.
    let burst = |number: u64| crate::Stratum::of(number << 18).unwrap().burst(0);
    let bursts = [8, 9, 10].map(burst);
    let beginning = crate::Stratum::BEGINNING;
    let mut numbers: Vec<u64> = (beginning - 50..beginning + 50).collect();
    let mut expected: Vec<Record> = (beginning - 50..beginning).map(load).collect();
    let mut kept = sorted_at(&mut gate, &control, &numbers);
    for burst in bursts {
        for (first, end) in [(burst.begin, burst.measured), (burst.measured, burst.end)] {
            expected.push(Record::new(WireKind::Burst, 0, 0, first));
            expected.extend((first..first + 20).chain(end - 20..end).map(load));
        }
        let around = |at: u64| at - 20..at + 20;
        for from in [burst.begin, burst.measured, burst.end] {
            numbers = around(from).collect();
            kept.extend(sorted_at(&mut gate, &control, &numbers));
        }
    }
    assert_eq!(kept, expected);
}

/// Sorts the accesses with these numbers, one after the other.
fn sorted_at(gate: &mut Gate, control: &Control, numbers: &[u64]) -> Vec<Record> {
    // What was claimed before is used up.
    gate.budget = 0;
    control.position.store(numbers[0], Ordering::Relaxed);
    let records: Vec<Record> = numbers.iter().map(|number| load(*number)).collect();
    sorted(gate, control, &records)
}

#[test]
fn a_thread_that_claims_numbers_of_the_next_burst_announces_it() {
    let control = Control::new();
    control.strata.store(1, Ordering::Relaxed);
    let [first, second] = [8, 9].map(|number| crate::Stratum::of(number << 18).unwrap().burst(0));
    let mut gate = Gate::new(RecordingScope::default());
    for burst in [first, second] {
        // Other threads have had all numbers before.
        let kept = sorted_at(&mut gate, &control, &[burst.end - 1]);
        let part = Record::new(WireKind::Burst, 0, 0, burst.measured);
        assert_eq!(kept, [part, load(burst.end - 1)]);
    }
}

#[test]
fn sort_keeps_a_wanted_function_with_its_callees() {
    let control = Control::new();
    control.functions.store(1, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    gate.set_ranges(&[Range { low: 50, high: 60 }]);
    let records = [
        load(0),
        enter(55, 10),
        load(1),
        enter(99, 20),
        load(2),
        enter(55, 30),
        load(3),
        exit(30),
        exit(20),
        load(4),
        exit(10),
        load(5),
    ];
    assert_eq!(sorted(&mut gate, &control, &records), records[1..11]);
    assert_eq!(control.entered.load(Ordering::Relaxed), 1);
}

#[test]
fn entry_at_a_higher_stack_pointer_ends_the_function() {
    let control = Control::new();
    control.functions.store(1, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    gate.set_ranges(&[Range { low: 50, high: 60 }]);
    let records = [enter(55, 10), load(1), enter(99, 5), load(2)];
    assert_eq!(sorted(&mut gate, &control, &records), records[..2]);
}

#[test]
fn entries_wait_for_an_access_or_are_cancelled_by_their_exit() {
    let control = Control::new();
    control.regions.store(1, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    let outside = [
        enter(1, 10),
        load(0),
        enter(2, 20),
        load(0),
        // The exit of the second is missing.
        enter(3, 20),
        exit(20),
        enter(4, 30),
    ];
    assert_eq!(sorted(&mut gate, &control, &outside), []);
    gate.begin_region(&control, b"any");
    let within = [load(1), exit(30), exit(10), exit(5)];
    let kept = sorted(&mut gate, &control, &within);
    let expected = [
        enter(1, 10),
        enter(2, 20),
        enter(4, 30),
        load(1),
        exit(30),
        exit(10),
        exit(5),
    ];
    assert_eq!(kept, expected);
    gate.end_region();
    // An exit whose entry was passed on before is passed on, in any state.
    assert_eq!(sorted(&mut gate, &control, &[load(2), exit(1)]), [exit(1)]);
}

#[test]
fn nested_regions_count_by_their_name() {
    let control = Control::new();
    control.regions.store(1, Ordering::Relaxed);
    control.region_bytes.store(1, Ordering::Relaxed);
    control.region[0].store(b'a', Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    let seen = |gate: &mut Gate| gate.take(&control, 1).0;
    gate.begin_region(&control, b"b");
    assert!(!seen(&mut gate));
    gate.begin_region(&control, b"a");
    assert!(seen(&mut gate) && gate.is_direct(&control));
    gate.begin_region(&control, b"b");
    assert!(seen(&mut gate));
    gate.end_region();
    gate.end_region();
    assert!(!seen(&mut gate));
    gate.end_region();
    gate.end_region();
    gate.begin_region(&control, b"a");
    assert!(seen(&mut gate));
}

#[test]
fn operands_are_left_out_with_their_access_and_other_records_pass() {
    let control = Control::new();
    control
        .state
        .store(Recording::Waiting as u32, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    let operand = Record::new(WireKind::Operand, 0, 0, 9);
    let alloc = Record::new(WireKind::Alloc, 0, 1, 5);
    let range = Record::new(WireKind::RangeLoad, 0, 1, 5);
    let records = [range, operand, alloc, operand, load(1)];
    assert_eq!(sorted(&mut gate, &control, &records), [alloc, operand]);
    gate.report(&control);
    assert_eq!(control.left_out.load(Ordering::Relaxed), 2);
}

#[test]
fn phase_ends_with_the_claimed_numbers() {
    let control = Control::new();
    control.after.store(10, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    let phase = |recorded, accesses| Phase { recorded, accesses };
    // All numbers that are skipped are claimed at once, and one is used.
    assert_eq!(gate.take(&control, 1), (false, 1));
    assert!(control.is_unmetered());
    assert_eq!(gate.phase(&control), phase(false, 9));
    gate.spend(phase(false, 9), 8);
    assert!(!gate.was_recorded() && !gate.is_direct(&control));
    assert_eq!(gate.phase(&control), phase(false, 1));
    assert_eq!(gate.take(&control, 5), (false, 1));
    assert_eq!(gate.phase(&control), phase(true, u64::MAX));
    gate.spend(phase(true, u64::MAX), 5);
    assert!(gate.was_recorded() && gate.is_direct(&control));
    gate.report(&control);
    assert_eq!(control.left_out.load(Ordering::Relaxed), 10);
}

#[test]
fn phase_outside_of_regions_claims_no_numbers() {
    let control = Control::new();
    control.regions.store(1, Ordering::Relaxed);
    control.on.store(3, Ordering::Relaxed);
    control.off.store(4, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    let outside = Phase {
        recorded: false,
        accesses: u64::MAX,
    };
    assert_eq!(gate.phase(&control), outside);
    gate.spend(outside, 100);
    assert_eq!(control.position.load(Ordering::Relaxed), 0);
    gate.begin_region(&control, b"any");
    let within = gate.phase(&control);
    assert_eq!((within.recorded, within.accesses), (true, 3));
}

/// Entries and exits decided one by one ([`Gate::enter`], [`Gate::leave`], [`Gate::goes_on`])
/// change a gate as they do in a run of records.
#[test]
fn entries_and_exits_one_by_one_are_as_sorted() {
    let control = Control::new();
    control.functions.store(1, Ordering::Relaxed);
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let (mut went_on, mut changed) = (0, 0);
    let mut one = Gate::new(RecordingScope::default());
    one.set_ranges(&[Range { low: 50, high: 60 }]);
    let mut many = one;
    for step in 0..20_000 {
        if step == 10_000 {
            (one, many) = (one.with_own_exits(), many.with_own_exits());
        }
        let record = match random(4) {
            0 => enter(40 + random(30), 1 + random(20)),
            1 | 2 => exit(1 + random(20)),
            _ => load(random(100)),
        };
        let expected = sorted(&mut many, &control, &[record]);
        let mut kept = Vec::new();
        let mut out = |run: &[Record]| kept.extend_from_slice(run);
        let recorded = one.was_recorded();
        if record.kind() == WireKind::Load as u8 {
            let phase = one.phase(&control);
            if phase.recorded {
                one.flush(&mut out);
                out(&[record]);
            }
            one.spend(phase, 1);
        } else {
            let is_entry = record.kind() == WireKind::Enter as u8;
            let (entry, exit) = (
                is_entry.then_some(record),
                (!is_entry).then_some(record.word0),
            );
            if recorded && one.function != 0 && one.goes_on(HIGH, entry, exit) {
                out(&[record]);
                went_on += 1;
            } else if is_entry {
                changed += u32::from(one.enter(&control, HIGH, record, &mut out));
            } else {
                changed += u32::from(one.leave(record, &mut out));
            }
        }
        assert_eq!(kept, expected);
        let state = |gate: &Gate| (gate.function, gate.deeper, gate.on, gate.left_out);
        assert_eq!(state(&one), state(&many));
    }
    assert!(went_on > 1000 && changed > 1000, "{went_on} {changed}");
}

#[test]
fn callee_that_ends_with_a_jump_does_not_end_the_function() {
    let control = Control::new();
    control.functions.store(1, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    gate.set_ranges(&[Range { low: 50, high: 60 }]);
    // The callee's exit has the pointer of its caller; so has the function's own.
    let records = [
        enter(55, 10),
        load(1),
        enter(99, 20),
        load(2),
        exit(10),
        load(3),
        exit(10),
        load(4),
    ];
    let kept = sorted(&mut gate, &control, &records);
    let loads: Vec<u64> = kept
        .iter()
        .filter(|record| record.kind() == WireKind::Load as u8)
        .map(|record| record.word0)
        .collect();
    assert_eq!(loads, [1, 2, 3]);
}

#[test]
fn calls_without_return_do_not_keep_a_function_with_own_exits_open() {
    let control = Control::new();
    control.functions.store(1, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default()).with_own_exits();
    gate.set_ranges(&[Range { low: 50, high: 60 }]);
    // The call at depth 20 is left by `longjmp`.
    let records = [
        enter(55, 10),
        load(1),
        enter(99, 20),
        load(2),
        exit(10),
        load(3),
    ];
    assert_eq!(sorted(&mut gate, &control, &records), records[..5]);
}

#[test]
fn sort_ends_with_any_numbers_in_the_gate() {
    let control = Control::new();
    control
        .state
        .store(Recording::Waiting as u32, Ordering::Relaxed);
    let mut gate = Gate::new(RecordingScope::default());
    gate.entries_waiting = u64::MAX;
    gate.pointers = [1; ENTRIES];
    (gate.left_out, gate.nested, gate.deeper, gate.function) = (u64::MAX, u64::MAX, u64::MAX, 1);
    let records = [exit(10), load(1), enter(55, 20), load(2)];
    sorted(&mut gate, &control, &records);
    gate.begin_region(&control, b"any");
}
