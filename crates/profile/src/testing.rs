//! A small profile for tests, and what it is made of.

use reuselens_locality::ExactHistogram;
use reuselens_units::{Distance, Granularity};

use crate::*;

/// A histogram of these distances with their accesses; `u64::MAX` is cold.
pub(crate) fn histogram(pairs: &[(u64, u64)]) -> ExactHistogram {
    let mut histogram = ExactHistogram::new();
    for &(raw, accesses) in pairs {
        histogram.add(Distance::new(raw), accesses);
    }
    histogram
}

/// A site of one frame.
pub(crate) fn site(function: &str, file: &str, line: u32) -> Site {
    let frames = vec![Frame {
        function: function.into(),
        file: file.into(),
        line,
    }];
    Site {
        module: "prog".into(),
        offset: 0x1000 + u64::from(line),
        frames,
        kind: "load".into(),
    }
}

/// A node of the calling context tree.
pub(crate) fn context(parent: u32, function: &str) -> Context {
    Context {
        parent,
        function: function.into(),
        ..Context::default()
    }
}

/// An object.
pub(crate) fn object(kind: ObjectKind, name: &str, bytes: u64) -> Object {
    Object {
        kind,
        name: name.into(),
        bytes,
        blocks: 1,
        ..Object::default()
    }
}

/// Two lines, two objects, a little tree, two threads; the cells hold all accesses.
pub(crate) fn profile() -> Profile {
    let mut profile = Profile {
        version: "0.1.0".into(),
        command: vec!["./prog".into(), "5".into()],
        method: Method {
            engine: "counting".into(),
            exact: true,
            ..Method::default()
        },
        outcome: Outcome::Exit(0),
        references: 100,
        sites: vec![
            Site::default(),
            site("sweep", "/p/a.c", 12),
            site("solve", "/p/b.c", 7),
        ],
        objects: vec![
            Object::default(),
            object(ObjectKind::Static, "table (a.c)", 4096),
            object(ObjectKind::Heap, "heap from solve (b.c:5)", 800),
        ],
        contexts: vec![
            context(0, "(root)"),
            context(0, "main"),
            context(1, "solve"),
            context(1, "print"),
        ],
        threads: ["thread 0 (main)", "thread 1"]
            .map(|name| ProfiledThread {
                name: name.into(),
                process: 0,
            })
            .to_vec(),
        ..Profile::empty(Granularity::LINE_64)
    };
    let keys = [
        (0, 0, 0, 0),
        (1, 1, 2, 0),
        (1, 1, 2, 1),
        (1, 2, 3, 1),
        (2, 1, 1, 0),
    ];
    for (number, (site, object, context, thread)) in (1_u64..).zip(keys) {
        let distances = (0..number * 9).map(|step| {
            if step % 8 == 7 {
                u64::MAX
            } else {
                step * step * number % 5000
            }
        });
        add_cell(&mut profile, [site, object, context, thread], distances);
    }
    profile
}

/// Adds a cell with these raw distances, also to the histogram of all accesses.
pub(crate) fn add_cell(profile: &mut Profile, key: [u32; 4], raw: impl Iterator<Item = u64>) {
    let [site, object, context, thread] = key;
    let mut cell = Cell {
        site,
        object,
        context,
        thread,
        ..Cell::default()
    };
    for raw in raw {
        let distance = Distance::new(raw);
        cell.histogram.add(distance, 1);
        profile.histogram.add(distance, 1);
        cell.distance_sum += u128::from(distance.items().unwrap_or(0));
        cell.distance_max = cell.distance_max.max(distance.items().unwrap_or(0));
    }
    profile.cells.push(cell);
}
