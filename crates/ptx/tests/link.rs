//! Linking of files: names that one declares and another defines, and names that several have.

use reuselens_ptx::{Argument, Device, Ignore, Options, PtxModule};

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// Uses a function and two variables of another file, and has a variable of its own.
const USER: &str = ".extern .func (.param .b32 r) helper(.param .b32 x);\n\
    .extern .global .align 4 .u32 counter;\n.extern .const .align 4 .u32 factor[2];\n\
    .global .align 4 .u32 own = 100;\n\
    .visible .entry k(.param .u64 a) {\n\
    .reg .u64 %x<3>; .reg .u32 %r<9>;\n.param .b32 p0; .param .b32 q0;\n\
    ld.param.u64 %x1, [a];\n ld.global.u32 %r1, [own];\n\
    st.param.b32 [p0], %r1;\n call.uni (q0), helper, (p0);\n ld.param.b32 %r2, [q0];\n\
    ld.const.u32 %r3, [factor+4];\n ld.global.u32 %r4, [counter];\n\
    st.global.v4.u32 [%x1], {%r1, %r2, %r3, %r4};\n ret;\n}\n";

/// Defines them, and has variables and functions of names that the first has too.
const OTHER: &str = ".visible .global .align 4 .u32 counter = 7;\n\
    .visible .const .align 4 .u32 factor[2] = {8, 9};\n\
    .global .align 4 .u32 own = 5;\n\
    .visible .func (.param .b32 r) helper(.param .b32 x) {\n\
    .reg .u32 %r<9>;\n ld.param.b32 %r1, [x];\n ld.global.u32 %r2, [own];\n\
    add.u32 %r3, %r1, %r2;\n st.param.b32 [r], %r3;\n ret;\n}\n";

fn parsed(text: &str) -> PtxModule {
    PtxModule::parse(&format!("{HEAD}{text}")).unwrap()
}

fn four_words(files: &[&str]) -> Vec<u32> {
    let linked = PtxModule::link(files.iter().map(|file| parsed(file)).collect());
    let mut device = Device::new();
    let module = device.load(linked).unwrap();
    let kernel = device.kernel(&module, "k", &Options::default()).unwrap();
    let a = device.allocate("a", 16).unwrap();
    let launch = kernel
        .launch([1; 3], [1; 3], 0, &[Argument::Pointer(a)])
        .unwrap();
    device
        .launch(&kernel, &launch, &Options::default(), &mut Ignore)
        .unwrap();
    let bytes = device.read(a, 16).unwrap().chunks_exact(4);
    bytes
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn functions_and_variables_of_another_file_are_found_and_own_ones_stay_own() {
    assert_eq!(four_words(&[USER, OTHER]), [100, 105, 9, 7]);
    assert_eq!(four_words(&[OTHER, USER]), [100, 105, 9, 7]);
}

#[test]
fn variables_that_are_defined_nowhere_are_errors_of_the_kernels_that_use_them() {
    let plain = ".visible .entry plain() {\n ret;\n}\n";
    let without = format!("{plain}{}", OTHER.replace("counter", "other"));
    let linked = PtxModule::link(vec![parsed(USER), parsed(&without)]);
    let mut device = Device::new();
    let module = device.load(linked).unwrap();
    let ready = |name| device.kernel(&module, name, &Options::default());
    let message = ready("k").unwrap_err().to_string();
    let expected = "linked file 1, line 5, column 31: counter is declared and nowhere defined";
    assert_eq!(message, expected);
    assert!(ready("plain").is_ok());
}

#[test]
fn many_declarations_are_read_and_a_definition_stays_one() {
    // Each is looked up among all that are defined.
    let declared = |at: u32| format!(".extern .global .u32 v{at};\n");
    let all: String = (0..100_000).map(declared).collect();
    let kernel = ".visible .entry k(.param .u64 a) {\n .reg .u64 %x<2>; .reg .u32 %r<2>;\n\
        ld.param.u64 %x1, [a]; ld.global.u32 %r1, [v7];\n\
        st.global.v4.u32 [%x1], {%r1, %r1, %r1, %r1};\n ret;\n}\n";
    let text = format!(
        "{all}.visible .global .u32 v7 = 12;\n{}{kernel}",
        declared(7)
    );
    assert_eq!(four_words(&[&text]), [12; 4]);
}

#[test]
fn variables_of_refused_types_are_of_their_own_file_only() {
    let bad = ".global .texref t;\n.visible .entry other() {\n .reg .u64 %x<2>;\n\
        mov.u64 %x1, t;\n ret;\n}\n";
    let ready = |files: &[&str], name: &str| {
        let linked = PtxModule::link(files.iter().map(|file| parsed(file)).collect());
        let mut device = Device::new();
        let module = device.load(linked).unwrap();
        device.kernel(&module, name, &Options::default()).map(drop)
    };
    for linkage in ["", ".visible "] {
        let good = format!(
            "{linkage}.global .align 4 .u32 t = 6;\n.visible .entry k(.param .u64 a) {{\n\
             .reg .u64 %x<2>; .reg .u32 %r<2>;\n ld.param.u64 %x1, [a];\n ld.global.u32 %r1, [t];\n\
             st.global.v4.u32 [%x1], {{%r1, %r1, %r1, %r1}};\n ret;\n}}\n"
        );
        for files in [[bad, &good], [&good, bad]] {
            assert_eq!(four_words(&files), [6; 4]);
            let message = ready(&files, "other").unwrap_err().to_string();
            assert!(message.contains("references to textures"), "{message}");
        }
    }
    // A definition counts more than a declaration that is not supported.
    let declares = ".extern .global .texref t;\n";
    let defines = ".visible .global .align 4 .u32 t = 6;\n.visible .entry k() {\n .reg .u64 %x<2>;\n\
        mov.u64 %x1, t;\n ret;\n}\n";
    for files in [[declares, defines], [defines, declares]] {
        ready(&files, "k").unwrap();
    }
    ready(&[&format!("{declares}{defines}")], "k").unwrap();
    ready(&[&format!("{defines}{declares}")], "k").unwrap();
}

/// Two files with a variable of one name each, which one of them shows to others.
#[test]
fn own_variables_stay_own_beside_those_of_later_files() {
    let own = ".global .align 4 .u32 t = 6;\n.visible .func (.param .b32 r) six() {\n\
        .reg .u32 %r<2>;\n ld.global.u32 %r1, [t];\n st.param.b32 [r], %r1;\n ret;\n}\n";
    let shown = ".visible .global .align 4 .u32 t = 7;\n.extern .func (.param .b32 r) six();\n\
        .visible .entry k(.param .u64 a) {\n .reg .u64 %x<2>; .reg .u32 %r<3>; .param .b32 q;\n\
        ld.param.u64 %x1, [a]; ld.global.u32 %r1, [t];\n call (q), six; ld.param.b32 %r2, [q];\n\
        st.global.v4.u32 [%x1], {%r1, %r2, %r1, %r2};\n ret;\n}\n";
    assert_eq!(four_words(&[own, shown]), [7, 6, 7, 6]);
    assert_eq!(four_words(&[shown, own]), [7, 6, 7, 6]);
}

#[test]
fn shared_memory_of_the_launch_needs_no_definition() {
    let text = ".extern .shared .align 16 .b8 room[];\n";
    let kernel = ".visible .entry k() {\n .reg .u32 %r<2>;\n mov.u32 %r1, room;\n ret;\n}\n";
    let user = format!("{text}{kernel}");
    let mut device = Device::new();
    let module = device.load(PtxModule::link(vec![parsed(text), parsed(&user)]));
    let kernel = device.kernel(&module.unwrap(), "k", &Options::default());
    assert!(kernel.is_ok(), "{kernel:?}");
}

/// Calls a function of another file with an address.
const CALLER: &str = ".extern .func bad(.param .b64 x);\n\
    .visible .entry k(.param .u64 a) {\n\
    .reg .u64 %x<3>;\n.param .b64 p0;\n\
    ld.param.u64 %x1, [a];\n st.param.b64 [p0], %x1;\n\
    call.uni bad, (p0);\n ret;\n}\n";

/// The message of a launch of the kernel that calls `bad`, which is in line 4 of its file.
fn message_of_bad(instruction: &str, rest: &str) -> String {
    let bad = format!(
        ".visible .func bad(.param .b64 x) {{ .reg .u64 %x<3>; .reg .u32 %r<3>;\n\
        ld.param.u64 %x1, [x];\n.loc 1 9 5\n{instruction}\n ret;\n}}\n{rest}"
    );
    let linked = PtxModule::link(vec![parsed(CALLER), parsed(&bad)]);
    let mut device = Device::new();
    let module = device.load(linked).unwrap();
    let kernel = match device.kernel(&module, "k", &Options::default()) {
        Ok(kernel) => kernel,
        Err(error) => return error.to_string(),
    };
    let launch = kernel
        .launch([1; 3], [1; 3], 0, &[Argument::Integer(64)])
        .unwrap();
    let done = device.launch(&kernel, &launch, &Options::default(), &mut Ignore);
    done.unwrap_err().to_string()
}

#[test]
fn places_in_linked_files_have_the_line_and_the_file() {
    let line = HEAD.lines().count() + 4;
    let load = "ld.global.u32 %r1, [%x1];";
    let message = message_of_bad(load, "");
    let place = format!(": PTX line {line} of linked file 2: a load");
    assert!(message.contains(&place), "{message}");
    let message = message_of_bad(load, ".file 1 \"/a/other.cu\"\n");
    let place = format!(": /a/other.cu:9 (PTX line {line} of linked file 2 (other.cu)): a load");
    assert!(message.contains(&place), "{message}");
    let message = message_of_bad("no.such.u32 %r1, %r1;", "");
    let place = format!("linked file 2, line {line}, column 1: ");
    assert!(message.contains(&place), "{message}");
}

#[test]
fn places_in_a_single_file_name_no_file() {
    let mut device = Device::new();
    let module = parsed(".visible .entry k() {\n no.such.u32;\n}\n");
    let module = device.load(module).unwrap();
    let error = device.kernel(&module, "k", &Options::default());
    let message = error.unwrap_err().to_string();
    assert!(message.starts_with("line 5, column 2: "), "{message}");
}
