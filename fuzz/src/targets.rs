//! The fuzz targets, each in the file of its name, and their list.

mod accelsim;
mod champsim;
mod csv;
mod detect;
mod din;
mod drmemtrace;
mod drmemtrace_folder;
mod fatbin;
mod graph_dimacs;
mod graph_edges;
mod graph_matrix_market;
mod graph_metis;
mod graph_stream;
mod gzip;
mod lackey;
mod launch;
mod msr;
mod native;
mod native_index;
mod native_plain;
mod native_select;
mod native_threads;
mod netlist;
mod oraclegeneral;
mod part;
mod placement;
mod profile;
mod ptx;
mod ptx_run;
mod snappy;
mod text;
mod u32;
mod u64;
mod vscsi;
mod warps;
mod warps_plain;
mod xz;
mod zip;
mod zstd;

/// A target: what it does with the bytes that libFuzzer makes.
pub type Run = fn(&[u8]);

/// All targets by name, sorted.
pub const TARGETS: &[(&str, Run)] = &[
    ("accelsim", accelsim::run),
    ("champsim", champsim::run),
    ("csv", csv::run),
    ("detect", detect::run),
    ("din", din::run),
    ("drmemtrace", drmemtrace::run),
    ("drmemtrace_folder", drmemtrace_folder::run),
    ("fatbin", fatbin::run),
    ("graph_dimacs", graph_dimacs::run),
    ("graph_edges", graph_edges::run),
    ("graph_matrix_market", graph_matrix_market::run),
    ("graph_metis", graph_metis::run),
    ("graph_stream", graph_stream::run),
    ("gzip", gzip::run),
    ("lackey", lackey::run),
    ("launch", launch::run),
    ("msr", msr::run),
    ("native", native::run),
    ("native_index", native_index::run),
    ("native_plain", native_plain::run),
    ("native_select", native_select::run),
    ("native_threads", native_threads::run),
    ("netlist", netlist::run),
    ("oraclegeneral", oraclegeneral::run),
    ("part", part::run),
    ("placement", placement::run),
    ("profile", profile::run),
    ("ptx", ptx::run),
    ("ptx_run", ptx_run::run),
    ("snappy", snappy::run),
    ("text", text::run),
    ("u32", u32::run),
    ("u64", u64::run),
    ("vscsi", vscsi::run),
    ("warps", warps::run),
    ("warps_plain", warps_plain::run),
    ("xz", xz::run),
    ("zip", zip::run),
    ("zstd", zstd::run),
];

/// The target that the environment names (`FUZZ_TARGET`).
///
/// # Panics
/// If it names none: the message lists them.
pub fn chosen() -> Run {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    let Some((_, run)) = found else {
        let names: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
        panic!("FUZZ_TARGET should be one of: {}", names.join(" "));
    };
    *run
}
