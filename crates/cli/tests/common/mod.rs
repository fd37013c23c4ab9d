//! What the tests of all commands share: the real binary, on real programs, in a folder of its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// All commands.
pub const COMMANDS: [&str; 25] = [
    "profile",
    "record",
    "analyze",
    "shard",
    "merge",
    "report",
    "diff",
    "check",
    "advise",
    "explain",
    "place",
    "run",
    "predict",
    "reorder",
    "gpu",
    "demo",
    "cc",
    "c++",
    "fortran",
    "info",
    "convert",
    "formats",
    "engines",
    "completions",
    "man",
];

/// All that `--by` takes.
pub const DIMENSIONS: [&str; 7] = [
    "program",
    "thread",
    "function",
    "line",
    "object",
    "context",
    "instruction",
];

/// Whether a tool is there: see [`reuselens_testing::has`].
pub fn has(tool: &str) -> bool {
    reuselens_testing::has(tool)
}

/// Whether the system describes the caches of this machine; records a skipped test where not.
pub fn caches_are_known() -> bool {
    let are_known = !reuselens::this_machine().data_caches().is_empty();
    if !are_known {
        reuselens_testing::skip("the caches of this machine are not known");
    }
    are_known
}

/// A source in `programs/`.
pub fn source(path: &str) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let source = programs.join(path).canonicalize().unwrap();
    source.into_os_string().into_string().unwrap()
}

/// Arguments of `count` for a short run.
pub const SHORT_RUN: [&str; 2] = ["100", "30"];
/// Arguments of `count` for a run whose trace has more than one chunk.
pub const LONG_RUN: [&str; 2] = ["5000", "220"];

/// A folder with the program `count`.
pub fn counter() -> Place {
    let place = Place::new();
    place.build("count/count.c", &["-pthread"]);
    place
}

/// A folder with the program `count` and `count.rltrace`, a short run of it with two threads.
pub fn recorded() -> Place {
    let place = Place::new();
    place.record_count("count.rltrace", SHORT_RUN);
    place
}

/// A folder with `count.c`.
pub fn with_count_source() -> Place {
    let place = Place::new();
    place.write("count.c", std::fs::read(source("count/count.c")).unwrap());
    place
}

/// A folder with the profiles `old.rlprof` and `new.rlprof` of 3 and 4 items, each used twice, so
/// every reuse has a distance of 2, and of 3.
pub fn old_and_new() -> Place {
    let place = Place::new();
    place.write("old.txt", "a b c a b c\n");
    place.write("new.txt", "a b c d a b c d\n");
    for name in ["old", "new"] {
        let trace = format!("{name}.txt");
        place.run(&["analyze", "-q", &trace]).succeeds();
    }
    place
}

/// A folder that goes away with the test.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// Writes these items as a raw trace.
    pub fn write_items(&self, name: &str, items: impl IntoIterator<Item = u64>) {
        let items = items.into_iter().flat_map(u64::to_le_bytes);
        self.write(name, items.collect::<Vec<u8>>());
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Json {
        Json::parse(&self.text(name))
    }

    /// What is in the folder, hidden files too.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The binary with these arguments, in this folder.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reuselens"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env(
                "XDG_CACHE_HOME",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            );
        for variable in ["REUSELENS_CC", "REUSELENS_CXX", "REUSELENS_FC", "COLUMNS"] {
            command.env_remove(variable);
        }
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Done {
        Done::of(&mut self.command(arguments))
    }

    /// With `input` on standard input.
    pub fn run_on(&self, input: impl AsRef<[u8]>, arguments: &[&str]) -> Done {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may have heard enough before the end.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Done::from(child.wait_with_output().unwrap())
    }

    /// Builds one source of `programs/` into this folder, under the source's name.
    pub fn build(&self, path: &str, flags: &[&str]) -> String {
        let verb = match path.rsplit_once('.').unwrap().1 {
            "cc" => "c++",
            "f" => "fortran",
            _ => "cc",
        };
        let name = Path::new(path).file_stem().unwrap().to_str().unwrap();
        let source = source(path);
        let mut words = vec![verb, "-O1", &source, "-o", name];
        words.extend(flags);
        self.run(&words).succeeds();
        format!("./{name}")
    }

    /// Builds `count` and records a run of it to this file.
    pub fn record_count(&self, trace: &str, arguments: [&str; 2]) {
        self.build("count/count.c", &["-pthread"]);
        let words = ["record", "-q", "-o", trace, "--", "./count"];
        self.run(&[&words[..], &arguments].concat()).succeeds();
    }

    /// Builds `libcells.so`, the library that `count/dl_main.c` opens, with `cc` and these flags.
    pub fn build_library(&self, flags: &[&str]) {
        let library = source("count/dl_lib.c");
        let words = ["-O1", "-shared", "-fPIC", &library, "-o", "libcells.so"];
        let words = [&["cc"], flags, &words].concat();
        self.run(&words).succeeds();
    }

    /// Holds `count`, built as `./NAME`, against its own numbers.
    pub fn counts_of_count_are_exact(&self, program: &str) {
        self.counts_are_exact(&[], &[program, "40", "25", "2"]);
    }

    /// Runs the binary while nobody reads its standard output.
    pub fn run_into_closed_pipe(&self, arguments: &[&str]) -> Done {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        Done::from(child.wait_with_output().unwrap())
    }

    /// Profiles a program, whatever its exit status; returns what ran and the JSON.
    pub fn profile(&self, options: &[&str], program: &[&str]) -> (Done, Json) {
        let mut words = vec!["profile", "-q", "-f", "--json", "profile.json"];
        words.push("--ignore-status");
        words.extend(options);
        words.push("--");
        words.extend(program);
        let done = self.run(&words).succeeds();
        (done, self.json("profile.json"))
    }

    /// Runs a program twice and holds the profiles against the loads and stores that it prints.
    pub fn counts_are_exact(&self, options: &[&str], program: &[&str]) {
        for kind in ["loads", "stores"] {
            let mut all = vec!["--by", "object", "--kind", kind];
            all.extend(options);
            let (done, json) = self.profile(&all, program);
            let expected = expected(&done.out, kind);
            assert!(!expected.is_empty(), "{program:?} expects nothing");
            for (object, count) in expected {
                assert_eq!(
                    json.object(&object),
                    count,
                    "{kind} of {object}, {program:?}"
                );
            }
        }
    }
}

/// The numbers of lines `expect NAME loads N stores M`, summed by name.
pub fn expected(output: &str, kind: &str) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = words.iter().position(|word| *word == kind);
        if words.first() != Some(&"expect") || number.is_none() {
            continue;
        }
        let count: u64 = words[number.unwrap() + 1].parse().unwrap();
        match found.iter_mut().find(|(name, _)| name == words[1]) {
            Some((_, sum)) => *sum += count,
            None => found.push((words[1].to_owned(), count)),
        }
    }
    found
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn of(command: &mut Command) -> Done {
        Done::from(command.output().unwrap())
    }

    #[track_caller]
    pub fn succeeds(self) -> Done {
        self.ends_with(0)
    }

    /// Failed with this code, and said why on one line that begins with our name or clap's.
    #[track_caller]
    pub fn fails(self, code: i32) -> Done {
        let done = self.ends_with(code);
        let says = done.err.contains("reuselens: ") || done.err.contains("error: ");
        assert!(says, "no reason is given: {done:?}");
        assert!(!done.err.contains("panicked"), "{done:?}");
        done
    }

    #[track_caller]
    pub fn ends_with(self, code: i32) -> Done {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Standard error has all of these in it.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Done {
        for text in texts {
            assert!(
                has_words(&self.err, text),
                "'{text}' is not in: {}",
                self.err
            );
        }
        self
    }

    /// Standard output has all of these in it.
    #[track_caller]
    pub fn prints(self, texts: &[&str]) -> Done {
        for text in texts {
            assert!(
                has_words(&self.out, text),
                "'{text}' is not in: {}",
                self.out
            );
        }
        self
    }
}

/// Whether a text is in another, wherever that has its line breaks.
fn has_words(all: &str, text: &str) -> bool {
    let words: Vec<&str> = all.split_whitespace().collect();
    all.contains(text) || words.join(" ").contains(text)
}

impl From<std::process::Output> for Done {
    fn from(output: std::process::Output) -> Done {
        Done {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A profile as JSON.
#[derive(Clone, Debug)]
pub struct Json(pub Value);

/// A group of the JSON.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: String,
    pub accesses: u64,
    pub cold: u64,
}

impl Json {
    pub fn parse(text: &str) -> Json {
        Json(serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    #[track_caller]
    pub fn number(&self, field: &str) -> u64 {
        self.0[field].as_u64().unwrap_or_else(|| panic!("{field}"))
    }

    /// `[low, high, count]` of the histogram.
    pub fn counts(&self) -> Vec<[u64; 3]> {
        triples(&self.0["histogram"])
    }

    pub fn groups(&self, by: &str) -> Vec<Group> {
        let groups = self.0["groups"].as_array().unwrap();
        groups
            .iter()
            .filter(|group| group["by"] == by)
            .map(|group| Group {
                name: group["name"].as_str().unwrap().to_owned(),
                accesses: group["accesses"].as_u64().unwrap(),
                cold: group["cold"].as_u64().unwrap(),
            })
            .collect()
    }

    /// Accesses of the group of this name; 0 if there is none.
    pub fn accesses(&self, by: &str, name: &str) -> u64 {
        let groups = self.groups(by);
        let found = groups.iter().find(|group| group.name == name);
        found.map_or(0, |group| group.accesses)
    }

    /// Accesses to the variable `name`, in whatever file and namespace.
    pub fn object(&self, name: &str) -> u64 {
        let groups = self.groups("object");
        let found = groups.iter().filter(|group| variable(&group.name) == name);
        found.map(|group| group.accesses).sum()
    }

    /// What was recorded and how much there was, from the note of what was left out.
    pub fn recorded(&self) -> [u64; 2] {
        let warnings = self.0["warnings"].as_array().unwrap();
        let note = warnings.iter().find(|w| w["code"] == "left-out").unwrap();
        let text = note["message"].as_str().unwrap().replace(',', "");
        let words = text.split_whitespace();
        let mut numbers = words.filter_map(|word| word.parse().ok());
        [(); 2].map(|()| numbers.next().unwrap())
    }

    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.0["warnings"].as_array().unwrap();
        let code = |warning: &Value| warning["code"].as_str().unwrap().to_owned();
        warnings.iter().map(code).collect()
    }

    /// All but what the trace or program was called.
    pub fn without_command(&self) -> Value {
        let mut value = self.0.clone();
        value["command"] = Value::Null;
        value
    }
}

/// `[low, high, count]` of a histogram.
pub fn triples(histogram: &Value) -> Vec<[u64; 3]> {
    let counts = histogram["counts"].as_array().unwrap();
    counts
        .iter()
        .map(|triple| [0, 1, 2].map(|index| triple[index].as_u64().unwrap()))
        .collect()
}

/// `cells` of `(anonymous namespace)::cells (a.cc)`.
fn variable(object: &str) -> &str {
    let name = object.rsplit_once(" (").map_or(object, |(name, _)| name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Holds a page to what pages promise: whole, small, and it fetches nothing.
#[track_caller]
pub fn is_offline_page(page: &[u8]) {
    const MOST_BYTES: usize = 2 << 20;
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
    let text = String::from_utf8_lossy(page);
    assert!(text.trim_end().ends_with("</html>"));
    for fetch in ["http:", "https:", " src=", "@import", "<link", "fetch("] {
        assert!(!text.contains(fetch), "the page has {fetch} in it");
    }
}

/// Whether a signal is ignored by whoever runs the tests (in the background, or under `nohup`).
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
    mask >> (signal - 1) & 1 == 1
}
