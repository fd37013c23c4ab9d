//! Drivers that fail in one way each: libraries in C, none of which has a GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The functions of a driver that works, or seems to: name, what it takes, what it does before it
/// returns 0.
pub const FUNCTIONS: [(&str, &str, &str); 30] = [
    ("cuDriverGetVersion", "int *to", "*to = 12040;"),
    ("cuInit", "void", ""),
    (
        "cuGetErrorName",
        "int code, char **to",
        "*to = \"CUDA_ERROR_OF_A_TEST\";",
    ),
    (
        "cuGetErrorString",
        "int code, char **to",
        "*to = \"a test\";",
    ),
    ("cuDeviceGetCount", "int *to", "*to = 1;"),
    ("cuDeviceGet", "int *to, int number", "*to = number;"),
    ("cuDevicePrimaryCtxRetain", "long *to", "*to = 8;"),
    ("cuDevicePrimaryCtxRelease_v2", "void", ""),
    ("cuCtxSetCurrent", "void", ""),
    ("cuCtxSetLimit", "int limit, long to", "stack = to;"),
    ("cuCtxGetLimit", "long *to", "*to = stack;"),
    (
        "cuMemGetInfo_v2",
        "long *free, long *all",
        "*free = 300; *all = 5000;",
    ),
    (
        "cuMemAlloc_v2",
        "long *to, long bytes",
        "static long at; *to = at += 4096;",
    ),
    ("cuMemFree_v2", "void", ""),
    ("cuMemcpyHtoD_v2", "void", ""),
    ("cuMemcpyDtoH_v2", "void", ""),
    ("cuMemcpyDtoD_v2", "void", ""),
    ("cuMemsetD8_v2", "void", ""),
    ("cuMemsetD16_v2", "void", ""),
    ("cuMemsetD32_v2", "void", ""),
    (
        "cuModuleLoadDataEx",
        "long *to, void *text, int n, int *options, void **values",
        "*to = 16;",
    ),
    ("cuModuleUnload", "void", ""),
    ("cuModuleGetFunction", "long *to", "*to = 24;"),
    (
        "cuModuleGetGlobal_v2",
        "long *to, long *bytes",
        "return 500;",
    ),
    ("cuFuncGetAttribute", "int *to", "*to = 0;"),
    ("cuFuncSetAttribute", "void", ""),
    ("cuLaunchKernel", "void", ""),
    ("cuLaunchCooperativeKernel", "void", ""),
    ("cuStreamQuery", "void", ""),
    ("cuStreamSynchronize", "void", ""),
];

/// What the functions share: the limit of a thread's stack, and what tests count.
const BEGIN: &str = "#include <stdio.h>\n#include <string.h>\n\
    static long stack = 1024, counted;\n";

/// A driver in a folder of its own.
pub struct Fake {
    folder: TempDir,
}

impl Fake {
    /// One whose functions of these names do something else; one that does nothing is missing.
    /// `None` after saying that there is no compiler of C.
    pub fn with(others: &[(&str, Option<&str>)]) -> Option<Fake> {
        Fake::with_more(others, "")
    }

    /// The same with further functions, in C.
    pub fn with_more(others: &[(&str, Option<&str>)], more: &str) -> Option<Fake> {
        if !reuselens_testing::has("cc") {
            return None;
        }
        let folder = TempDir::new().unwrap();
        let functions = FUNCTIONS.iter().filter_map(|&(own, takes, does)| {
            let other = others.iter().find(|(name, _)| *name == own);
            let does = other.map_or(Some(does), |(_, instead)| *instead)?;
            Some(format!("int {own}({takes}) {{ {does} return 0; }}\n"))
        });
        let source = folder.path().join("driver.c");
        let functions = functions.collect::<String>();
        std::fs::write(&source, [BEGIN, &functions, more].concat()).unwrap();
        let fake = Fake { folder };
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-w", "-o"]);
        let done = compile.arg(fake.library()).arg(source).status().unwrap();
        assert!(done.success());
        Some(fake)
    }

    /// The library.
    pub fn library(&self) -> PathBuf {
        self.folder().join("libcuda.so.1")
    }

    /// The folder that it is in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
