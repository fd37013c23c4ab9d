//! What the ledger holds of whole programs.
//!
//! Needs nvcc (`NVCC` says which).

use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, SymbolKind};
use reuselens_gpu_advisor::{CopySum, Direction, Ledger, MemoryObject, Origin, VariableSpace};
use tempfile::TempDir;

use crate::common::{Ran, compile, nvcc, programs, run_program};

const CALLERS: &str = r#"
#include <cstdlib>
#include <vector>
#define OUTLINE __attribute__((noinline))
__device__ int table[100];
__constant__ float factor[4];
static float input[3000];
__global__ void scale(float *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= factor[0] + table[0];
}
OUTLINE float *take(int n)
{
    float *data;
    if (cudaMalloc(&data, n * sizeof *data))
        abort();
    return data;
}
OUTLINE void give_back(float *data)
{
    if (cudaFree(data))
        abort();
}
OUTLINE float *make(int n)
{
    float *data = (float *)malloc(n * sizeof *data);
    for (int i = 0; i < n; i++)
        data[i] = i + 1;
    return data;
}
OUTLINE void run(float *data, int n)
{
    scale<<<(n + 255) / 256, 256>>>(data, n);
    if (cudaGetLastError())
        abort();
}
OUTLINE void often(float *data)
{
    for (int i = 0; i < 10; i++)
        run(data, 3000);
}
int main(int argc, char **)
{
    float local[64], one[4] = {1};
    volatile int times = 3;
    for (int i = 0; i < times; i++) {
        float *data = take(1000 * (i + 1));
        if (i < 2)
            give_back(data);
    }
    float *data, *unused, *heap = make(3000);
    cudaMalloc(&data, 3000 * sizeof *data);
    cudaMalloc(&unused, 77);
    for (int i = 0; i < 3000; i++)
        input[i] = i + 1;
    cudaMemcpyToSymbol(factor, one, sizeof one);
    for (int i = 0; i < times; i++)
        cudaMemcpy(data + 1500 * (i % 2), input + 1500 * (i % 2), 6000, cudaMemcpyHostToDevice);
    cudaMemcpy(data, heap, 12000, cudaMemcpyHostToDevice);
    cudaMemcpy(data, heap, 12000, cudaMemcpyHostToDevice);
    cudaMemset(data, 0, 4);
    often(data);
    run(data, argc > 1 ? 1 << 20 : 3000);
    cudaDeviceSynchronize();
    cudaMemcpy(local, data, sizeof local, cudaMemcpyDeviceToHost);
    return local[5] == 6 ? 0 : 1;
}
"#;

/// The functions of a call path in the program, the outermost first.
fn functions(ledger: &Ledger, number: u32) -> Vec<String> {
    let frames = ledger.call_path(number).frames.iter();
    frames
        .filter_map(|frame| {
            let path = &ledger.modules[frame.module as usize].path;
            symbol(Path::new(path), frame.address, SymbolKind::Text)
        })
        .collect()
}

/// The symbol around an address of a file.
fn symbol(path: &Path, address: u64, kind: SymbolKind) -> Option<String> {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let mut symbols = file.symbols();
    let around = symbols.find(|symbol| {
        let range = symbol.address()..symbol.address() + symbol.size();
        symbol.kind() == kind && range.contains(&address)
    })?;
    Some(around.name().unwrap().to_owned())
}

/// Whether a call path leads from `main` through functions with these names in theirs, the last of
/// them last but for stubs of kernels.
fn leads_through(ledger: &Ledger, number: u32, names: &[&str]) -> bool {
    let functions = functions(ledger, number);
    let mut rest = functions.iter();
    let mut names = std::iter::once(&"main").chain(names);
    names.all(|name| rest.any(|function| function.contains(name)))
}

fn object(ledger: &Ledger, is_it: impl Fn(&MemoryObject) -> bool) -> (u32, &MemoryObject) {
    let mut objects = ledger.objects.iter().enumerate();
    let found = objects.find(|(_, object)| is_it(object));
    let (number, object) = found.unwrap_or_else(|| panic!("{ledger:#?}"));
    (number as u32, object)
}

/// The copies from one object to another, as one sum.
fn copies(ledger: &Ledger, from: u32, to: u32) -> (u64, u64, u64) {
    let copies = ledger.copies_of(from);
    let of_both = copies.filter(|copy: &&CopySum| copy.from == from && copy.to == to);
    of_both.fold((0, 0, 0), |(count, bytes, redundant), copy| {
        (
            count + copy.count,
            bytes + copy.bytes,
            redundant + copy.redundant,
        )
    })
}

fn callers(folder: &TempDir, flags: &[&str]) -> Option<PathBuf> {
    let nvcc = nvcc()?;
    let source = folder.path().join("callers.cu");
    let program = folder.path().join("callers");
    std::fs::write(&source, CALLERS).unwrap();
    compile(&nvcc, &source, &program, flags);
    Some(program)
}

#[test]
fn allocations_copies_and_launches_have_their_callers() {
    let folder = TempDir::new().unwrap();
    for flags in [&["-O2"][..], &["-O2", "-cudart", "shared"]] {
        let Some(program) = callers(&folder, flags) else {
            return;
        };
        let Ran { ended, ledger, .. } = run_program(&program, &[]);
        assert!(ended.success(), "{flags:?}: {ended}");
        assert_eq!((ledger.is_cut, ledger.faults.len()), (false, 0));

        // 4,000, 8,000 and 12,000 bytes, the first two freed before the next one is taken.
        let (_, taken) = object(&ledger, |object| object.instances == 3);
        assert!(leads_through(&ledger, taken.call_path, &["take"]));
        assert_eq!((taken.bytes, taken.largest), (24_000, 12_000));
        assert_eq!((taken.peak_bytes, taken.unfreed()), (12_000, 1));
        let [(freed_by, 2)] = taken.freed[..] else {
            panic!("{:?}", taken.freed)
        };
        assert!(leads_through(&ledger, freed_by, &["give_back"]));

        // 11 launches from two places.
        let [often, once] = &ledger.launches[..] else {
            panic!("{:#?}", ledger.launches)
        };
        assert_eq!((often.launches, once.launches), (10, 1));
        assert!(leads_through(&ledger, often.call_path, &["often", "run"]));
        assert!(leads_through(&ledger, once.call_path, &["run"]));
        assert!(!leads_through(&ledger, once.call_path, &["often"]));

        assert_ties(&ledger, &program);
    }
}

/// Which memory of the host the copies of `callers` tie to which memory of the device.
fn assert_ties(ledger: &Ledger, program: &Path) {
    let (data, about) = object(ledger, |object| {
        object.origin == Origin::Malloc && object.bytes == 12_000 && object.instances == 1
    });
    assert!(leads_through(ledger, about.call_path, &[]));
    let (input, about) = object(ledger, |object| {
        matches!(object.origin, Origin::Static { .. })
    });
    let Origin::Static { address, .. } = about.origin else {
        panic!()
    };
    let name = symbol(program, address, SymbolKind::Data).unwrap();
    assert!(name.contains("input"), "{name}");
    assert_eq!((about.instances, about.bytes), (1, 12_000));
    // Two halves, and the first half once more; later the same bytes from elsewhere, twice.
    assert_eq!(copies(ledger, input, data), (3, 18_000, 1));
    let (heap, about) = object(ledger, |object| object.origin == Origin::Heap);
    assert!(leads_through(ledger, about.call_path, &["make"]));
    assert_eq!((about.instances, about.bytes), (1, 12_000));
    assert_eq!(copies(ledger, heap, data), (2, 24_000, 2));

    let (factor, about) = object(ledger, |object| {
        let space = VariableSpace::Constant;
        let name = "factor".to_owned();
        object.origin == Origin::Variable { name, space }
    });
    assert_eq!((about.bytes, about.unfreed()), (16, 0));
    let tied = ledger.tied_to(factor);
    let [one] = tied[..] else { panic!("{tied:?}") };
    let Origin::Local {
        function, below, ..
    } = ledger.objects[one as usize].origin
    else {
        panic!("{:?}", ledger.objects[one as usize])
    };
    assert_eq!(
        symbol(program, function, SymbolKind::Text).as_deref(),
        Some("main")
    );
    // `local` is another variable of the same frame.
    let back = ledger.copies.iter();
    let back: Vec<_> = back
        .filter(|copy| copy.direction == Direction::DeviceToHost)
        .collect();
    let [back] = back[..] else { panic!("{back:?}") };
    assert_eq!((back.from, back.count, back.bytes), (data, 1, 256));
    let local = &ledger.objects[back.to as usize].origin;
    assert!(
        matches!(local, Origin::Local { function: of, below: at, .. } if *of == function && *at != below),
        "{local:?}"
    );
    let [fill] = ledger.fills[..] else {
        panic!("{:?}", ledger.fills)
    };
    assert_eq!((fill.object, fill.count, fill.bytes), (data, 1, 4));

    // Of the device, only one block was never touched by the host; `table` is used by the kernel.
    let unused = ledger.unused(&[]);
    let unused: Vec<_> = unused
        .iter()
        .map(|number| ledger.objects[*number as usize].bytes)
        .collect();
    assert_eq!(unused.len(), 3, "{unused:?}");
    for bytes in [77, 24_000, 400] {
        assert!(unused.contains(&bytes), "{unused:?}");
    }
}

#[test]
fn a_fault_names_launch_and_the_object_that_was_missed() {
    let folder = TempDir::new().unwrap();
    let Some(program) = callers(&folder, &["-O2"]) else {
        return;
    };
    let ran = run_program(&program, &["far"]);
    let ledger = &ran.ledger;
    assert_eq!(ran.ended.code(), Some(1));
    let [fault] = &ledger.faults[..] else {
        panic!("{:#?}", ledger.faults)
    };
    assert!(leads_through(ledger, fault.call_path, &["run"]));
    let missed = &ledger.objects[fault.object.unwrap() as usize];
    assert_eq!((&missed.origin, missed.bytes), (&Origin::Malloc, 12_000));
    assert_eq!(
        (ledger.launches[1].launches, ledger.launches[1].failed),
        (0, 1)
    );
    assert_eq!((ran.kernels[0].launches, ran.kernels[0].failed), (10, 1));
}

/// Copies with rows and pieces of zeros, each made twice, and one of zeros to the host.
const ZEROS: &str = r#"
#include <cstdlib>
enum { WIDTH = 100, PITCH = 512, ROWS = 3 };
int main()
{
    const size_t large = 20 << 20;
    char *one, *two, *host, rows[ROWS][WIDTH] = {};
    cudaMalloc(&one, ROWS * PITCH);
    cudaMalloc(&two, large);
    host = (char *)calloc(large, 1);
    rows[0][7] = 1;
    for (int i = 0; i < 2; i++)
        cudaMemcpy2D(one, PITCH, rows, WIDTH, WIDTH, ROWS, cudaMemcpyHostToDevice);
    cudaMemset(two, 0, large);
    cudaMemset(two, 1, 1);
    for (int i = 0; i < 2; i++)
        cudaMemcpy(host, two, large, cudaMemcpyDeviceToHost);
    cudaMemset(two, 0, 1);
    host[0] = 0;
    cudaMemcpy(host, two, large, cudaMemcpyDeviceToHost);
    return 0;
}
"#;

#[test]
fn rows_and_pieces_of_zeros_leave_a_copy_redundant() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let (source, program) = (folder.path().join("zeros.cu"), folder.path().join("zeros"));
    std::fs::write(&source, ZEROS).unwrap();
    compile(&nvcc, &source, &program, &["-O2"]);
    let Ran { ended, ledger, .. } = run_program(&program, &[]);
    assert!(ended.success(), "{ended}");
    let sums = |direction| {
        let copies = ledger
            .copies
            .iter()
            .filter(|copy| copy.direction == direction);
        copies.fold((0, 0), |(count, redundant), copy| {
            (count + copy.count, redundant + copy.redundant)
        })
    };
    assert_eq!(sums(Direction::HostToDevice), (2, 1));
    assert_eq!(sums(Direction::DeviceToHost), (3, 1));
}

/// The seed's example: which array, its host allocation, its device allocation, and the copy.
#[test]
fn arrays_of_bfs_are_tied_to_those_of_the_host() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("bfs");
    let source = programs().join("bfs.cu");
    compile(&nvcc, &source, &program, &["-O2"]);
    let Ran { ended, ledger, .. } = run_program(&program, &["30000"]);
    assert!(ended.success(), "{ended}");
    // One more integer than nodes.
    let (first, about) = object(&ledger, |object| object.bytes == 4 * 30_001);
    assert_eq!(about.origin, Origin::Malloc);
    assert!(leads_through(&ledger, about.call_path, &[]));
    let tied = ledger.tied_to(first);
    let [vector] = tied[..] else {
        panic!("{tied:?}")
    };
    let vector_about = &ledger.objects[vector as usize];
    assert_eq!(vector_about.origin, Origin::Heap);
    assert!(leads_through(&ledger, vector_about.call_path, &[]));
    assert_eq!(copies(&ledger, vector, first), (1, 4 * 30_001, 0));
    // The flag goes there and back once a level, from and to a local variable.
    let (flag, _) = object(&ledger, |object| {
        object.origin == Origin::Malloc && object.bytes == 4
    });
    let tied = ledger.tied_to(flag);
    let [more] = tied[..] else { panic!("{tied:?}") };
    assert!(matches!(
        ledger.objects[more as usize].origin,
        Origin::Local { .. }
    ));
    let levels = ledger.launches[0].launches;
    assert!(levels > 3);
    assert_eq!(copies(&ledger, more, flag).0, levels);
    assert_eq!(copies(&ledger, flag, more).0, levels);
}
