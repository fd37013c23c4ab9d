//! [`RunNames`]: names for what the ledger of a CUDA program has by address: calls of the host, and
//! data objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use addr2line::Loader;
use reuselens::io::{open_regular_file, path_of};
use reuselens_gpu_advisor::{
    CallPath, HostFrame, HostModule, KernelNames, Ledger, MemoryObject, Origin,
};
use reuselens_ptx::{readable, without_parameters};
use reuselens_report::HostCall;

use super::variables::{Nth, SourceTexts};

/// Names for the numbers of a ledger.
pub struct RunNames {
    /// By number of the call path: its calls, the outermost first.
    pub call_paths: Vec<Vec<HostCall>>,
    /// By number of the object.
    pub objects: Vec<String>,
    /// By mangled name of the kernel.
    kernels: BTreeMap<String, String>,
}

impl RunNames {
    /// Names all call paths and objects, and the kernels with these mangled names. Reads the debug
    /// information of the program's files, as far as paths lead there, and the source lines that
    /// allocate.
    pub fn of<'a>(ledger: &Ledger, kernels: impl Iterator<Item = &'a str>) -> RunNames {
        let mut files = HostFiles {
            ledger,
            loaders: HashMap::new(),
            kernels: ledger
                .launches
                .iter()
                .map(|it| it.kernel.as_str())
                .collect(),
        };
        let paths = ledger.call_paths.iter();
        let call_paths: Vec<Vec<HostCall>> = paths.map(|path| files.calls(path)).collect();
        let objects = ObjectNaming::new(ledger, &call_paths, &mut files).names();
        RunNames {
            call_paths,
            objects,
            kernels: kernel_names(kernels.collect()),
        }
    }
}

impl RunNames {
    /// For each call path, the first one that has the same calls: that is written alike.
    pub fn equal_paths(&self) -> Vec<u32> {
        let mut first: HashMap<Vec<String>, u32> = HashMap::new();
        let paths = (0..).zip(&self.call_paths);
        let paths = paths.map(|(number, calls)| {
            let text = calls.iter().map(HostCall::to_string).collect();
            *first.entry(text).or_insert(number)
        });
        paths.collect()
    }
}

/// Kernels as the source calls them; with their parameters only where two have one name.
pub fn kernel_names(mangled: BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut uses: BTreeMap<String, u32> = BTreeMap::new();
    for name in &mangled {
        *uses.entry(without_parameters(name)).or_default() += 1;
    }
    let named = mangled.iter().map(|&name| {
        let text = match uses[&without_parameters(name)] {
            1 => without_parameters(name),
            _ => readable(name),
        };
        (name.to_owned(), text)
    });
    named.collect()
}

impl KernelNames for RunNames {
    fn kernel(&self, kernel: &str) -> String {
        let name = self.kernels.get(kernel).cloned();
        name.unwrap_or_else(|| without_parameters(kernel))
    }

    fn call_path(&self, number: u32) -> Vec<String> {
        let calls = self.call_paths.get(number as usize).into_iter().flatten();
        calls.map(HostCall::to_string).collect()
    }

    fn object(&self, number: u32) -> Option<String> {
        let name = self.objects.get(number as usize)?;
        (number > 0).then(|| name.clone())
    }
}

/// Names objects by the calls of the program's own source that allocated them.
struct ObjectNaming<'a, 'f> {
    ledger: &'a Ledger,
    /// Of each object, the outermost first.
    own_calls: Vec<Vec<&'a HostCall>>,
    files: &'f mut HostFiles<'a>,
    texts: SourceTexts,
}

/// Calls from an allocation outwards that are looked at for its name.
const MOST_OUTWARDS: usize = 8;

impl<'a, 'f> ObjectNaming<'a, 'f> {
    fn new(
        ledger: &'a Ledger,
        call_paths: &'a [Vec<HostCall>],
        files: &'f mut HostFiles<'a>,
    ) -> ObjectNaming<'a, 'f> {
        let objects = ledger.objects.iter();
        let own_calls = objects.map(|object| {
            let calls = call_paths.get(object.call_path as usize);
            let calls = calls.into_iter().flatten();
            calls.filter(|call| is_of_program(call)).collect()
        });
        ObjectNaming {
            ledger,
            own_calls: own_calls.collect(),
            files,
            texts: SourceTexts::default(),
        }
    }

    /// The names of all objects. Objects that one function allocates for several callers have equal
    /// names at first; they get those of its callers, as far out as that makes them different.
    /// Cost: linear in the objects.
    fn names(mut self) -> Vec<String> {
        let mut outwards = vec![0; self.ledger.objects.len()];
        let mut names = self.names_at(&outwards);
        for _ in 0..MOST_OUTWARDS {
            let groups = equal(&names);
            let mut further = outwards.clone();
            for &number in groups.iter().filter(|group| group.len() > 1).flatten() {
                let last = self.own_calls[number].len().saturating_sub(1);
                further[number] = (outwards[number] + 1).min(last);
            }
            let there = self.names_at(&further);
            // A group goes on only together, and only if its names become different.
            for group in groups {
                let is_better = group.iter().any(|&number| there[number] != there[group[0]]);
                for number in group.into_iter().filter(|_| !is_better) {
                    further[number] = outwards[number];
                }
            }
            if further == outwards {
                break;
            }
            names = self.names_at(&further);
            outwards = further;
        }
        distinct(names)
    }

    /// The names of all objects; `outwards` is for each how many of its calls are passed over.
    fn names_at(&mut self, outwards: &[usize]) -> Vec<String> {
        let sites: Vec<AllocationSite> = (0..outwards.len())
            .map(|number| self.site(number, outwards[number]))
            .collect();
        let mut counts: HashMap<AllocationSite, usize> = HashMap::new();
        for site in &sites {
            *counts.entry(*site).or_default() += 1;
        }
        let mut seen: HashMap<AllocationSite, usize> = HashMap::new();
        let mut names = Vec::with_capacity(sites.len());
        for (object, site) in self.ledger.objects.iter().zip(sites) {
            let next = seen.entry(site).or_default();
            let nth = Nth {
                index: *next,
                count: counts[&site],
            };
            *next += 1;
            let texts = &mut self.texts;
            let variable = || texts.variable(site.place, site.callee, nth);
            names.push(self.files.object(object, site.place, variable));
        }
        names
    }

    fn site(&self, number: usize, outwards: usize) -> AllocationSite<'a> {
        let calls = &self.own_calls[number];
        let at = calls.len().checked_sub(outwards + 1);
        let callee = at.and_then(|at| calls.get(at + 1));
        AllocationSite {
            place: at.map_or("", |at| &calls[at].place),
            callee: callee.map_or("", |call| &call.function),
            origin: self.ledger.objects[number].origin.word(),
        }
    }
}

/// Where objects are allocated, as far as their names go.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct AllocationSite<'a> {
    /// The line of the call; empty if it is not known.
    place: &'a str,
    /// The function of the program that is called there; empty for an allocator.
    callee: &'a str,
    /// What allocates, in words.
    origin: &'static str,
}

/// The numbers of equal names, together.
fn equal(names: &[String]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        groups.entry(name).or_default().push(number);
    }
    groups.into_values().collect()
}

/// Whether a call is in the program's own source, not in a system's headers, a file without debug
/// information, or a package or library of Python.
fn is_of_program(call: &HostCall) -> bool {
    let place = &call.place;
    !place.contains("+0x")
        && !place.starts_with("/usr/")
        && !PYTHON_FOLDERS.iter().any(|folder| place.contains(folder))
        && !place.starts_with('<')
}

/// Parts of the paths of packages that are installed, and of Python's own library.
const PYTHON_FOLDERS: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib/python3."];

/// Equal names get numbers.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let number = |name: String| {
        let count = seen.entry(name.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => name,
            count => format!("{name} ({count})"),
        }
    };
    names.into_iter().map(number).collect()
}

/// The files of the program, with their debug information.
struct HostFiles<'a> {
    ledger: &'a Ledger,
    /// By number of the module; none for files that cannot be read.
    loaders: HashMap<u32, Option<Loader>>,
    /// Mangled names of the kernels that were launched: the host has a function of the same name
    /// for each, which launches it.
    kernels: BTreeSet<&'a str>,
}

impl HostFiles<'_> {
    fn loader(&mut self, module: u32) -> Option<&Loader> {
        let modules = &self.ledger.modules;
        let loader = self.loaders.entry(module).or_insert_with(|| {
            let path = path_of(&modules.get(module as usize)?.path);
            // The program names its files: it must not make the profiler wait for a pipe.
            open_regular_file(&path).ok()?;
            Loader::new(&path).ok()
        });
        loader.as_ref()
    }

    /// The calls of a path from `main` inwards, inlined ones too, without those of CUDA's own
    /// headers and of the functions that the compiler makes for each kernel.
    fn calls(&mut self, path: &CallPath) -> Vec<HostCall> {
        let mut calls: Vec<NamedCall> = Vec::new();
        for frame in &path.frames {
            calls.extend(self.named(*frame));
        }
        if calls.iter().any(|call| call.is_interpreted) {
            // What leads from the program's last line to CUDA's function is in packages.
            let last = calls.iter().rposition(|call| is_of_program(&call.call));
            calls.truncate(last.map_or(calls.len(), |last| last + 1));
        }
        if let Some(main) = calls.iter().position(|call| call.mangled == "main") {
            calls.drain(..main);
        }
        while calls.len() > 1 && calls.last().is_some_and(|call| self.is_stub(call)) {
            calls.pop();
        }
        calls.into_iter().map(|call| call.call).collect()
    }

    /// Whether a function only passes its arguments on to CUDA.
    fn is_stub(&self, call: &NamedCall) -> bool {
        let HostCall { function, place } = &call.call;
        self.kernels.contains(call.mangled.as_str())
            || function.contains(STUB)
            || PASSING.iter().any(|start| function.starts_with(start))
            || CUDA_FILES.iter().any(|file| place.contains(file))
    }

    /// The function of a frame, and those that are inlined into it, the outermost first.
    fn named(&mut self, frame: HostFrame) -> Vec<NamedCall> {
        let module = self.ledger.modules.get(frame.module as usize);
        if let Some(module) = module.filter(|module| !module.function.is_empty()) {
            return vec![NamedCall::interpreted(module, frame.address)];
        }
        let file = module
            .map_or("", |module| last_part(&module.path))
            .to_owned();
        let unknown = format!("{file}+{:#x}", frame.address);
        let mut calls = Vec::new();
        if let Some(loader) = self.loader(frame.module) {
            let mut frames = loader.find_frames(frame.address).ok();
            while let Some(Ok(Some(frame))) = frames.as_mut().map(|frames| frames.next()) {
                let mangled = frame.function.as_ref().and_then(|it| it.raw_name().ok());
                let Some(mangled) = mangled else { continue };
                let location = frame.location.as_ref();
                let line = location.and_then(|it| Some((it.file?, it.line?)));
                let place =
                    line.map_or_else(|| unknown.clone(), |(file, line)| format!("{file}:{line}"));
                calls.push(NamedCall::new(&mangled, place));
            }
            if calls.is_empty() {
                let symbol = loader.find_symbol(frame.address);
                calls.extend(symbol.map(|name| NamedCall::new(name, unknown.clone())));
            }
        }
        if calls.is_empty() {
            calls.push(NamedCall::new("(unknown)", unknown));
        }
        calls.reverse();
        calls
    }

    /// The name of an object that the program allocates at `place`; `variable` is the one that
    /// keeps it.
    fn object(
        &mut self,
        object: &MemoryObject,
        place: &str,
        variable: impl FnOnce() -> Option<String>,
    ) -> String {
        match &object.origin {
            Origin::Unknown => "(unknown memory)".to_owned(),
            Origin::Variable { name, space } => {
                let name = readable(name);
                let keyword = Origin::Variable {
                    name: String::new(),
                    space: *space,
                };
                format!("{name} ({})", keyword.word())
            }
            Origin::Static { module, address } => {
                let name = self.loader(*module).and_then(|it| it.find_symbol(*address));
                let name = name.map_or_else(|| format!("{address:#x}"), short_function);
                format!("{name} (static)")
            }
            Origin::Local {
                module, function, ..
            } => {
                let name = self
                    .loader(*module)
                    .and_then(|it| it.find_symbol(*function));
                let name = name.map_or_else(|| format!("{function:#x}"), short_function);
                format!("a local variable of {name}")
            }
            origin if place.is_empty() => origin.word().to_owned(),
            origin => {
                let place = last_part(place);
                match variable() {
                    Some(name) => format!("{name} ({}, {place})", origin.word()),
                    None => format!("{} at {place}", origin.word()),
                }
            }
        }
    }
}

/// What is in the names of the functions that the compiler makes to launch a kernel. Namespaces may
/// be before it.
const STUB: &str = "__device_stub__";
/// How functions are called that CUDA's headers have to pass arguments on.
const PASSING: [&str; 2] = ["__cuda", "cuda"];
/// Parts of the names of the files that these are in.
const CUDA_FILES: [&str; 2] = ["cuda_runtime", ".cudafe1.stub.c"];

/// A call with its mangled name.
struct NamedCall {
    mangled: String,
    call: HostCall,
    /// Whether an interpreter runs it.
    is_interpreted: bool,
}

impl NamedCall {
    /// Of a function that an interpreter runs, at a line.
    fn interpreted(module: &HostModule, line: u64) -> NamedCall {
        NamedCall {
            mangled: String::new(),
            call: HostCall {
                function: module.function.clone(),
                place: format!("{}:{line}", module.path),
            },
            is_interpreted: true,
        }
    }

    fn new(mangled: &str, place: String) -> NamedCall {
        NamedCall {
            mangled: mangled.to_owned(),
            call: HostCall {
                function: short_function(mangled),
                place,
            },
            is_interpreted: false,
        }
    }
}

/// A function's name without its parameters. Names of Rust have none.
fn short_function(mangled: &str) -> String {
    let rust = addr2line::demangle(mangled, addr2line::gimli::DW_LANG_Rust);
    rust.unwrap_or_else(|| without_parameters(mangled))
}

/// A path without its folders.
fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_parameters_only_where_names_are_equal() {
        let mangled = ["_Z3runPfi", "_Z3runPf", "_Z4stepPf", "plain"];
        let names = kernel_names(mangled.into_iter().collect());
        let names: Vec<&str> = mangled.iter().map(|it| names[*it].as_str()).collect();
        assert_eq!(names, ["run(float*, int)", "run(float*)", "step", "plain"]);
    }

    #[test]
    fn equal_names_get_numbers() {
        let names = ["a", "b", "a", "a"].map(str::to_owned).to_vec();
        assert_eq!(distinct(names), ["a", "b", "a (2)", "a (3)"]);
    }

    #[test]
    fn functions_lose_their_parameters() {
        assert_eq!(short_function("_Z3runPfi"), "run");
        assert_eq!(short_function("main"), "main");
        assert_eq!(short_function("_Z2goIL2Op0EEvPi"), "go<(Op)0>");
        let rust = "_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE";
        assert_eq!(short_function(rust), "alloc::vec::Vec<T>::push");
    }
}
