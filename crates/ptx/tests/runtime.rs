//! Functions of CUDA's run time that kernels call: `malloc`, `free` and `assert`.

use reuselens_ptx::{
    Argument, Device, FaultKind, Ignore, KernelError, LaunchConfig, LaunchError, Loaded, Options,
    PtxModule,
};

/// `list(heads, bytes)`: each thread allocates a node of `bytes` with its number, and puts the
/// node's address into the list of heads. `sum(heads, out)`: reads the nodes, and frees those of
/// even threads. `twice(heads)`: frees the first node two times. `check(values)`: asserts
/// that a value is below 4.
const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 ret) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 condition[6] = {118,32,60,32,52,0};
.global .align 1 .b8 file[5] = {107,46,99,117,0};
.global .align 1 .b8 function[10] = {118,111,105,100,32,107,40,41,0,0};
.visible .entry list(.param .u64 heads, .param .u64 bytes) {
    .reg .pred %p1; .reg .b32 %r<6>; .reg .b64 %x<9>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u64 %x1, [heads];
    mul.wide.u32 %x2, %r4, 8;
    add.u64 %x1, %x1, %x2;
    ld.param.u64 %x3, [bytes];
    {
    .param .b64 p0;
    .param .b64 r0;
    st.param.b64 [p0+0], %x3;
    call.uni (r0), malloc, (p0);
    ld.param.b64 %x4, [r0+0];
    }
    st.global.u64 [%x1], %x4;
    setp.eq.u64 %p1, %x4, 0;
    @!%p1 st.u32 [%x4], %r4;
    ret;
}
.visible .entry sum(.param .u64 heads, .param .u64 out) {
    .reg .pred %p1; .reg .b32 %r<7>; .reg .b64 %x<9>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u64 %x1, [heads];
    mul.wide.u32 %x2, %r4, 8;
    add.u64 %x1, %x1, %x2;
    ld.global.u64 %x4, [%x1];
    ld.u32 %r5, [%x4];
    ld.param.u64 %x5, [out];
    mul.wide.u32 %x6, %r4, 4;
    add.u64 %x5, %x5, %x6;
    st.global.u32 [%x5], %r5;
    and.b32 %r6, %r4, 1;
    setp.eq.u32 %p1, %r6, 1;
    @%p1 bra END;
    {
    .param .b64 p0;
    st.param.b64 [p0+0], %x4;
    call.uni free, (p0);
    }
END:
    ret;
}
.visible .entry twice(.param .u64 heads) {
    .reg .b64 %x<3>;
    ld.param.u64 %x1, [heads];
    ld.global.u64 %x2, [%x1];
    {
    .param .b64 p0;
    st.param.b64 [p0+0], %x2;
    call.uni free, (p0);
    }
    {
    .param .b64 p0;
    st.param.b64 [p0+0], %x2;
    call.uni free, (p0);
    }
    ret;
}
.visible .entry check(.param .u64 values) {
    .reg .pred %p1; .reg .b32 %r<3>; .reg .b64 %x<9>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %x1, [values];
    mul.wide.u32 %x2, %r1, 4;
    add.u64 %x1, %x1, %x2;
    ld.global.u32 %r2, [%x1];
    setp.lt.u32 %p1, %r2, 4;
    @%p1 bra GOOD;
    mov.u64 %x3, condition;
    cvta.global.u64 %x3, %x3;
    mov.u64 %x4, file;
    cvta.global.u64 %x4, %x4;
    mov.u64 %x5, function;
    cvta.global.u64 %x5, %x5;
    {
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 p2;
    .param .b64 p3;
    .param .b64 p4;
    st.param.b64 [p0+0], %x3;
    st.param.b64 [p1+0], %x4;
    st.param.b32 [p2+0], 71;
    st.param.b64 [p3+0], %x5;
    st.param.b64 [p4+0], 1;
    call.uni __assertfail, (p0, p1, p2, p3, p4);
    }
GOOD:
    ret;
}"#;

struct Machine {
    device: Device,
    module: Loaded,
    threads: usize,
}

const BLOCKS: u32 = 3;
const THREADS: u32 = 40;

impl Machine {
    fn new(threads: usize) -> Machine {
        let mut device = Device::new();
        let module = device.load(PtxModule::parse(PTX).unwrap()).unwrap();
        Machine {
            device,
            module,
            threads,
        }
    }

    fn launch(&mut self, name: &str, arguments: &[Argument]) -> Result<(), KernelError> {
        let options = Options {
            threads: self.threads,
            ..Options::default()
        };
        let kernel = self.device.kernel(&self.module, name, &options).unwrap();
        let launch = kernel.launch([BLOCKS, 1, 1], [THREADS, 1, 1], 0, arguments);
        let launch = launch.unwrap();
        match self.device.launch(&kernel, &launch, &options, &mut Ignore) {
            Ok(_) => Ok(()),
            Err(LaunchError::Stopped(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }

    fn words(&self, address: u64) -> Vec<u64> {
        let bytes = self
            .device
            .read(address, u64::from(8 * BLOCKS * THREADS))
            .unwrap();
        let words = bytes.as_chunks::<8>().0;
        words.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }
}

/// Allocates nodes of `bytes` twice, with half of the first ones freed between, and returns all
/// addresses.
fn addresses(threads: usize, bytes: i128) -> (Vec<u64>, Vec<u64>) {
    let mut machine = Machine::new(threads);
    let size = u64::from(8 * BLOCKS * THREADS);
    let heads = machine.device.allocate("heads", size).unwrap();
    let out = machine.device.allocate("out", size).unwrap();
    let list = [Argument::Pointer(heads), Argument::Integer(bytes)];
    machine.launch("list", &list).unwrap();
    let first = machine.words(heads);
    let sum = [Argument::Pointer(heads), Argument::Pointer(out)];
    machine.launch("sum", &sum).unwrap();
    let found = machine.device.read(out, size / 2).unwrap();
    let expected: Vec<u8> = (0..BLOCKS * THREADS).flat_map(u32::to_le_bytes).collect();
    assert_eq!(found, expected);
    machine.launch("list", &list).unwrap();
    (first, machine.words(heads))
}

#[test]
fn nodes_stay_for_later_launches_and_freed_room_is_taken_again() {
    let (first, second) = addresses(1, 24);
    let mut all: Vec<u64> = first
        .iter()
        .skip(1)
        .step_by(2)
        .chain(&second)
        .copied()
        .collect();
    all.sort_unstable();
    assert!(
        all.windows(2).all(|pair| pair[0] + 24 <= pair[1]),
        "{all:x?}"
    );
    // The freed nodes were those of even threads, and those that allocate first get them.
    let freed: Vec<u64> = first.iter().step_by(2).copied().collect();
    assert_eq!(second[..freed.len()], freed);
    for threads in [2, 3] {
        assert_eq!(addresses(threads, 24), (first.clone(), second.clone()));
    }
}

#[test]
fn a_full_heap_gives_null() {
    let mut machine = Machine::new(1);
    let heads = machine
        .device
        .allocate("heads", u64::from(8 * BLOCKS * THREADS))
        .unwrap();
    assert!(
        !machine.device.set_heap(u64::MAX),
        "more than the device has"
    );
    assert!(machine.device.set_heap(4096));
    let list = [Argument::Pointer(heads), Argument::Integer(100)];
    machine.launch("list", &list).unwrap();
    let found = machine.words(heads);
    let given = found.iter().take_while(|&&address| address != 0).count();
    // Each takes 112 bytes, a multiple of 16.
    assert_eq!(given, 4096 / 112);
    assert!(found[given..].iter().all(|&address| address == 0));
    assert!(!machine.device.set_heap(8192), "the heap is in use");
}

#[test]
fn a_refused_cooperative_launch_takes_no_memory() {
    let mut machine = Machine::new(1);
    machine.device = Device::with_limit(u64::MAX);
    let module = PtxModule::parse(PTX).unwrap();
    machine.module = machine.device.load(module).unwrap();
    assert!(machine.device.set_heap(1 << 60));
    let options = Options::default();
    let kernel = machine.device.kernel(&machine.module, "list", &options);
    let kernel = kernel.unwrap();
    let arguments = [Argument::Integer(0), Argument::Integer(8)];
    let launch = kernel.launch([1, 1, 1], [32, 1, 1], 0, &arguments);
    let launch = LaunchConfig {
        cooperative: true,
        ..launch.unwrap()
    };
    let before = machine.device.left();
    let refused = machine
        .device
        .launch(&kernel, &launch, &options, &mut Ignore);
    assert!(
        matches!(refused, Err(LaunchError::Refused(_))),
        "{refused:?}"
    );
    assert_eq!(machine.device.left(), before);
}

#[test]
fn a_node_is_freed_once() {
    let mut machine = Machine::new(1);
    let heads = machine
        .device
        .allocate("heads", u64::from(8 * BLOCKS * THREADS))
        .unwrap();
    let list = [Argument::Pointer(heads), Argument::Integer(8)];
    machine.launch("list", &list).unwrap();
    let error = machine
        .launch("twice", &[Argument::Pointer(heads)])
        .unwrap_err();
    assert_eq!(error.kind(), FaultKind::Operand);
    assert_eq!(error.thread(), Some([1, 0, 0]), "{error}");
    assert!(error.to_string().contains("is freed already"), "{error}");
    assert_eq!(error.assertion(), None);
}

#[test]
fn a_failed_assertion_has_the_text_of_cuda() {
    let mut machine = Machine::new(2);
    let values = machine
        .device
        .allocate("values", u64::from(4 * THREADS))
        .unwrap();
    machine
        .launch("check", &[Argument::Pointer(values)])
        .unwrap();
    machine
        .device
        .write(values + 4 * 33, &7u32.to_le_bytes())
        .unwrap();
    machine
        .device
        .write(values + 4 * 35, &9u32.to_le_bytes())
        .unwrap();
    let error = machine
        .launch("check", &[Argument::Pointer(values)])
        .unwrap_err();
    assert_eq!(error.kind(), FaultKind::Assertion);
    let expected = "k.cu:71: void k(): block: [0,0,0], thread: [33,0,0] Assertion `v < 4` failed.\n\
                    k.cu:71: void k(): block: [0,0,0], thread: [35,0,0] Assertion `v < 4` failed.\n";
    assert_eq!(error.assertion(), Some(expected));
    assert!(
        error
            .to_string()
            .contains("the assertion `v < 4` does not hold, in void k()")
    );
}
