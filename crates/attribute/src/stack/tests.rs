use super::*;

/// Where the exit hook returns to when it is called inside a function.
const INSIDE: u64 = 0x99;

/// The return address of the call of the function entered as number `index`.
fn call_of(index: usize) -> u64 {
    0x100 + index as u64
}

#[test]
fn an_exit_by_a_jump_leaves_its_own_function_only() {
    let mut stack = entered(&[0x8000, 0x7000, 0x6f00]);
    stack.exit(0x7000, call_of(2), |_| ());
    assert_eq!(stack.node(), 2);
    stack.exit(0x8000, call_of(1), |_| ());
    assert_eq!(stack.node(), 1);
    stack.exit(0x8000, INSIDE, |_| ());
    assert_eq!(stack.node(), 0);
}

/// The function entered as number `index`, without variables.
fn entered_as(index: usize) -> EnteredFunction {
    EnteredFunction {
        entry: 0x4000,
        call: call_of(index),
        node: index as u32 + 1,
        object: index as u32 + 10,
        layout: 0,
        live: 0,
        outer: 0,
    }
}

fn entered(lows: &[u64]) -> ShadowStack {
    let mut stack = ShadowStack::new(0x1000, 0x9000);
    for (index, low) in lows.iter().enumerate() {
        stack.unwind(*low, |_| ());
        stack.push(*low, entered_as(index));
    }
    stack
}

#[test]
fn an_address_belongs_to_the_innermost_frame_not_above_it() {
    let stack = entered(&[0x8000, 0x7000, 0x6f00]);
    for (address, object) in [
        (0x6f00, 12),
        (0x6fff, 12),
        (0x7000, 11),
        (0x8fff, 10),
        (0x6000, 12),
    ] {
        assert_eq!(stack.find(address).unwrap().object, object, "{address:#x}");
    }
}

#[test]
fn find_and_innermost_end_frames_below_return_addresses() {
    let mut stack = entered(&[0x8000, 0x7000, 0x6f00]);
    stack.set_by_call(true);
    for (address, object) in [
        (0x6f08, 11),
        (0x6f00, 12),
        (0x5000, 12),
        (0x7000, 11),
        (0x7008, 10),
    ] {
        assert_eq!(stack.find(address).unwrap().object, object, "{address:#x}");
    }
    assert_eq!(stack.find(0x8008), None);
    let layouts = LocalLayouts::default();
    let top = stack.innermost(&layouts).unwrap();
    assert_eq!((top.low, top.bytes, top.object), (0x1000, 0x5f08, 12));
}

#[test]
fn missing_exits_end_frames_at_the_next_event() {
    let mut stack = entered(&[0x8000, 0x7000, 0x6f00]);
    stack.exit(0x8000, INSIDE, |_| ());
    assert_eq!(stack.node(), 0);
    let mut stack = entered(&[0x8000, 0x7000, 0x6f00, 0x7800]);
    assert_eq!(stack.node(), 4);
    stack.exit(0x7800, INSIDE, |_| ());
    assert_eq!(stack.node(), 1);
}

#[test]
fn exit_below_low_end_pops_one_frame() {
    let mut stack = entered(&[0x8000, 0x7000]);
    stack.exit(0x6000, INSIDE, |_| ());
    assert_eq!(stack.node(), 1);
}

#[test]
fn frames_on_another_stack_keep_the_context_only() {
    let mut stack = entered(&[0x8000, 0xf_0000, 0xe_0000]);
    assert_eq!((stack.node(), stack.top().unwrap().low), (3, 0x8000));
    stack.exit(0xe_0000, INSIDE, |_| ());
    assert_eq!(stack.node(), 2);
    stack.exit(0x8000, INSIDE, |_| ());
    assert_eq!(stack.node(), 0);
    stack.exit(0x8000, INSIDE, |_| ());
    let mut stack = entered(&[0x8000]);
    stack.exit(0xf_0000, INSIDE, |_| ());
    assert_eq!(
        stack.node(),
        1,
        "the exit of a function whose entry was not seen"
    );
}

#[test]
fn exits_without_pointer_pop_one_frame_each() {
    let mut stack = entered(&[0x8000, 0, 0]);
    stack.exit(0, INSIDE, |_| ());
    stack.exit(0x1500, INSIDE, |_| ());
    assert_eq!(stack.node(), 1);
    stack.exit(0x8000, INSIDE, |_| ());
    assert_eq!(stack.node(), 0);
}
