//! What is said where the system refuses memory: which limit that is, and what to type.

use reuselens::memory::{Allocator, OutOfMemory, address_space_limit, catch, out_of_memory};
use reuselens::units::Bytes;

use crate::exit::Outcome;

/// Does the work of a command. Where the system refuses memory, and there is no result without that,
/// the message names the limit and gives the command's `advice`: what else helps than a higher limit.
pub fn guarded(advice: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    let helps = format!("{}; {advice}", limit());
    Allocator::explain(format!(
        "reuselens: the system refuses memory, and what is left is too little for a result: {helps}\n"
    ));
    let OutOfMemory { bytes } = match catch(work) {
        Err(refused) => refused,
        Ok(Ok(code)) => return Ok(code),
        // Whatever it says, memory is what was missing.
        Ok(Err(error)) => match (error.downcast_ref(), out_of_memory()) {
            (Some(reuselens::Error::Memory(refused)), _) => *refused,
            (_, Some(refused)) => refused,
            (_, None) => return Err(error),
        },
    };
    Err(anyhow::anyhow!(
        "the system refused {} of memory, and there is no result without it: {helps}",
        Bytes(bytes as u64)
    ))
}

/// The limit at which memory is refused, and how it is raised.
fn limit() -> String {
    match address_space_limit() {
        Some(bytes) => format!(
            "`ulimit -v {}` allows {}, raise it (ulimit -v unlimited)",
            bytes >> 10,
            Bytes(bytes)
        ),
        None => "no `ulimit -v` is set, so the machine or its container has no more".to_owned(),
    }
}
