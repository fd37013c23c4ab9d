//! The works, in the order of the page. One file or folder for each subject.

mod exact;
mod gpu_advisor;
mod hp_rda;
mod paths;
mod placement;
mod presponse;
mod simt;

use super::printed::Publication;

/// All works whose tables and figures are made.
pub const WORKS: &[&Publication] = &[&EXACT, &HP_RDA, &PATHS, &SIMT, &DISSERTATION];

const HP_RDA: Publication = Publication {
    id: "hp_rda",
    title: "Cui, Yi, Xue, Wang, Yang, Feng, A Highly Parallel Reuse Distance Analysis Algorithm on \
            GPUs (IPDPS 2012)",
    remark: "The text names few values of the figures. Our programs are four of Ding and Zhong's \
             report and four of our own, recorded with libraries and the stack, in lines of 64 bytes; \
             the printed ones are of SPEC CPU2000 with their test inputs. Chunks have 2048 references \
             where nothing else is said.",
    parts: &[hp_rda::HP_RDA],
};

const EXACT: Publication = Publication {
    id: "exact",
    title: "Ding, Zhong, Reuse Distance Analysis (University of Rochester, TR-741, 2001)",
    remark: "Its six programs are ADI and FFT, which were never published, and four of suites that \
             may not be given out; all are written anew here, of the published sizes \
             (`programs/adi`, `programs/fft`, `programs/sources`). Most values of its figures are \
             not printed. Three lists that the text draws from figures 5 and 6 are here too.",
    parts: &[
        exact::ALGORITHMS,
        exact::TESTED,
        exact::HISTOGRAMS,
        exact::REORDERED,
        exact::COSTS,
    ],
};

const PATHS: Publication = Publication {
    id: "paths",
    title: "Fang, Carr, Önder, Wang, Path-Based Reuse Distance Analysis (CC 2006)",
    remark: "Figures 1, 2 and 6 are drawings and code. All are of the three inputs of 10 programs in \
             floating point and 10 in whole numbers, those of `programs/sources/paths`, which names \
             for most the program of SPEC CPU2000 that does similar work; libraries and the start of \
             the programs are included.",
    parts: &[paths::SHARES, paths::PREDICTED],
};

const SIMT: Publication = Publication {
    id: "simt",
    title: "Garrido Platero, A Memory Trace-based Analysis for Data Sharing Degree of SIMT \
            Architectures (thesis, 2013)",
    remark: "Figures 1 to 23 are drawings of concepts and algorithms. The text names few values of \
             the figures, so most cells of what is printed are empty. Our kernels are written anew \
             from the descriptions, and run in the interpreter of PTX; our mesh is generated, of \
             the published size, since the published one is not to be had.",
    parts: &[simt::CHARACTERISTICS, simt::LIMITED, simt::MAPPINGS],
};

const DISSERTATION: Publication = Publication {
    id: "dissertation",
    title: "Shen, Exploring Heterogeneous Architectures with Tools and Applications (dissertation, 2021)",
    remark: "Chapter 2 is on placement (DataPlacer, HMBench), chapter 3 on GPU kernels (CUDAAdvisor), \
             chapter 4 on evolving graphs (Presponse). The programs of its suites are written anew \
             here. Energy is not measured by this project, and times of GPUs are measured by hand.",
    parts: &[
        placement::PLACEMENT,
        gpu_advisor::GPU_ADVISOR,
        presponse::PRESPONSE,
    ],
};
