//! [`CudaSeen`]: whether a program has loaded a library of CUDA's, of whose kernels nothing is
//! seen.

use reuselens_trace::Note;

/// The library that runs kernels without a GPU: where it is, they are seen.
const STAND_IN: &str = "libreuselens-cuda.so";
/// What files of CUDA's driver and runtime are called, up to their versions.
const LIBRARIES: [&str; 2] = ["libcuda.so", "libcudart.so"];
/// What the paths of files end with, up to the versions of Python, that reach for the driver's
/// library, whether there is one or not: those of cuda-python, CuPy, PyCUDA and Warp.
const PYTHON_MODULES: [&str; 4] = [
    "/cuda/bindings/_internal/driver.",
    "/cupy_backends/cuda/api/driver.",
    "/pycuda/_driver.",
    "/warp/bin/warp.so",
];

/// The libraries of CUDA's that a program has loaded.
#[derive(Debug, Default)]
pub struct CudaSeen {
    /// The path of the first.
    library: Option<String>,
    stands_in: bool,
}

impl CudaSeen {
    /// Adds a file that the program has loaded.
    pub fn add(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.stands_in |= name == STAND_IN;
        let is_library = LIBRARIES.iter().any(|library| name.starts_with(library));
        if self.library.is_none()
            && (is_library || PYTHON_MODULES.iter().any(|part| path.contains(part)))
        {
            self.library = Some(path.to_owned());
        }
    }

    /// What the reader of the report must know.
    pub fn remark(&self) -> Option<Note> {
        let library = self.library.as_ref().filter(|_| !self.stands_in)?;
        Some(Note {
            code: "host-only".to_owned(),
            message: format!(
                "the program loaded {library}, which is for CUDA: the accesses of its host code \
                 were seen, and nothing of kernels"
            ),
            hint: "add --cuda to run kernels without a GPU and analyse what they do".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(paths: &[&str]) -> Option<String> {
        let mut seen = CudaSeen::default();
        paths.iter().for_each(|path| seen.add(path));
        seen.remark().map(|note| note.message)
    }

    #[test]
    fn libraries_of_cuda_are_named_unless_their_kernels_are_seen() {
        let python = "/usr/bin/python3.12";
        for library in [
            "/usr/lib/libcuda.so.1",
            "/x/libcudart.so.12.8",
            "/x/site-packages/cuda/bindings/_internal/driver.cpython-312-x86_64-linux-gnu.so",
            "/x/cupy_backends/cuda/api/driver.cpython-311.so",
        ] {
            let said = remark(&[python, library, "/usr/lib/libcuda.so.1"]);
            assert!(said.unwrap().contains(library));
            assert_eq!(remark(&[library, "/tmp/x/libreuselens-cuda.so"]), None);
        }
        assert_eq!(
            remark(&[python, "/x/libcudapoa.so", "/x/cuda/driver.so"]),
            None
        );
    }
}
