//! How many processors there are to share work among.

use std::env;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// The variable that replaces the number, for tests: `cargo xtask test --on MACHINE` sets it.
const REPLACED: &str = "REUSELENS_TEST_PROCESSORS";

/// The processors that this process may use; one if the system does not say. Cost: a load, since
/// the system is asked once.
///
/// Results never depend on this number, so tests run with others: the environment variable
/// `REUSELENS_TEST_PROCESSORS` replaces it.
pub fn processors() -> NonZeroUsize {
    static PROCESSORS: OnceLock<NonZeroUsize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| {
        let replaced = env::var(REPLACED).ok();
        let replaced = replaced.and_then(|number| number.parse().ok());
        replaced.unwrap_or_else(|| available_parallelism().unwrap_or(NonZeroUsize::MIN))
    })
}
