//! Prints sample summaries, to look at them: `cargo run --example sample_text -- 90 color`.

#[path = "../tests/common/mod.rs"]
mod common;

use reuselens_report::{DiffOptions, JsonOptions, TextOptions, diff, groups_csv, json, summary};

fn main() {
    let width = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(90);
    let options = TextOptions {
        width,
        color: std::env::args().nth(2).is_some(),
        ..TextOptions::default()
    };
    for profile in [
        common::matmul(96, false),
        common::tiny(),
        common::empty(),
        common::wide(300),
    ] {
        println!("{}\n{}", summary(&profile, &options), "=".repeat(width));
    }
    let pairs = [
        (common::matmul(96, false), common::matmul(96, true)),
        (common::matmul(24, false), common::matmul(96, false)),
    ];
    for (before, after) in pairs {
        match diff(
            &before,
            &after,
            &DiffOptions {
                width,
                ..DiffOptions::default()
            },
        ) {
            Ok(text) => println!("{text}\n{}", "=".repeat(width)),
            Err(error) => eprintln!("{error}"),
        }
    }
    print!("{}", json(&common::tiny(), &JsonOptions::default()));
    print!(
        "{}",
        groups_csv(&common::tiny(), &reuselens_profile::Dimension::ALL)
    );
}
