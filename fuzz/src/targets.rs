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

/// The list of these targets, sorted, and a test of each: what is kept in its corpus, and damaged.
macro_rules! list {
    ($($name:ident)*) => {
        /// All targets by name, sorted.
        pub const TARGETS: &[(&str, Run)] = &[$((stringify!($name), $name::run)),*];

        #[cfg(test)]
        mod tests {
            $(
                #[test]
                fn $name() {
                    crate::replay::inputs_and_damaged_ones(stringify!($name), super::$name::run);
                }
            )*
        }
    };
}

list! {
    accelsim champsim csv detect din drmemtrace drmemtrace_folder fatbin graph_dimacs
    graph_edges graph_matrix_market graph_metis graph_stream gzip lackey launch msr native
    native_index native_plain native_select native_threads netlist oraclegeneral part
    placement profile ptx ptx_run snappy text u32 u64 vscsi warps warps_plain xz zip zstd
}

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
