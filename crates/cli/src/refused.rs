//! [`guarded`]: runs a command, and explains failures for lack of memory: which limit it was, and
//! what to type.

use std::io;

use reuselens::hugepages::{
    Allocator, OutOfMemory, address_space_limit, catch, data_limit, out_of_memory,
};
use reuselens::io::console::is_broken_pipe;
use reuselens::units::Bytes;

use crate::exit::{Outcome, is_usage};

/// Does the work of a command. If it fails because the system refuses memory, the message names the
/// limit and gives the command's `advice`, which is what else helps than a higher limit.
pub fn guarded(advice: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    let helps = format!("{}; {advice}", limit(address_space_limit(), data_limit()));
    Allocator::explain(format!(
        "reuselens: the system refuses memory, and what is left is too little for a result: {helps}\n"
    ));
    let OutOfMemory { bytes } = match catch(work) {
        Err(refused) => refused,
        Ok(Ok(code)) => return Ok(code),
        Ok(Err(error)) => match cause(&error, out_of_memory()) {
            Some(refused) => refused,
            None => return Err(error),
        },
    };
    Err(anyhow::anyhow!(
        "the system refused {} of memory, and there is no result without it: {helps}",
        Bytes(bytes as u64)
    ))
}

/// The memory that was missing, if the work failed for lack of it. `refused` is the first that the
/// system refused since the process began: work goes on after that, and may fail for another
/// reason.
fn cause(error: &anyhow::Error, refused: Option<OutOfMemory>) -> Option<OutOfMemory> {
    if let Some(reuselens::Error::Memory(refused)) = error.downcast_ref() {
        return Some(*refused);
    }
    let has_another = is_broken_pipe(error.as_ref()) || is_usage(error) || is_of_system(error);
    refused.filter(|_| !has_another)
}

/// Whether the system refused something other than memory, such as room on a disk.
fn is_of_system(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|error: &io::Error| error.kind() != io::ErrorKind::OutOfMemory)
}

/// The limits at which memory is refused, each in bytes, and how they are raised.
fn limit(address_space: Option<u64>, data: Option<u64>) -> String {
    let limits = [("-v", address_space), ("-d", data)];
    let set = limits.into_iter().filter_map(|(option, bytes)| {
        let bytes = bytes?;
        Some(format!(
            "`ulimit {option} {}` allows {}, raise it (ulimit {option} unlimited)",
            bytes >> 10,
            Bytes(bytes)
        ))
    });
    let set: Vec<String> = set.collect();
    if set.is_empty() {
        "neither `ulimit -v` nor `ulimit -d` is set: the machine or its container has no more"
            .to_owned()
    } else {
        set.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;
    use crate::exit::Usage;

    const REFUSED: OutOfMemory = OutOfMemory { bytes: 4096 };

    /// An error of a file that a trace cannot be written to.
    fn of_file(kind: io::ErrorKind) -> anyhow::Error {
        let error = reuselens::trace::TraceError::File(reuselens::io::FileError::Io {
            action: "create",
            path: "t.rltrace".into(),
            source: kind.into(),
        });
        reuselens::Error::Trace(error).into()
    }

    #[test]
    fn errors_with_another_cause_are_kept_after_memory_was_refused() {
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        for error in [
            anyhow::Error::from(pipe),
            of_file(io::ErrorKind::StorageFull),
            of_file(io::ErrorKind::AlreadyExists).context("cannot record"),
            Usage("wrong".to_owned()).into(),
            reuselens::Error::UnboundedTable.into(),
        ] {
            assert_eq!(cause(&error, Some(REFUSED)), None, "{error:#}");
        }
    }

    #[test]
    fn errors_after_refused_memory_are_explained_by_it() {
        let without = || anyhow!("the thread ended");
        assert_eq!(cause(&without(), Some(REFUSED)), Some(REFUSED));
        assert_eq!(cause(&without(), None), None);
        let mapped = of_file(io::ErrorKind::OutOfMemory);
        assert_eq!(cause(&mapped, Some(REFUSED)), Some(REFUSED));
        let memory = Err::<(), _>(reuselens::Error::Memory(REFUSED)).context("cannot count");
        assert_eq!(cause(&memory.unwrap_err(), None), Some(REFUSED));
    }

    #[test]
    fn limits_that_are_set_are_named() {
        let text = limit(None, Some(60 << 20));
        assert!(
            text.starts_with("`ulimit -d 61440` allows 60 MiB"),
            "{text}"
        );
        assert!(!text.contains("ulimit -v"), "{text}");
        let text = limit(Some(90 << 20), Some(60 << 20));
        assert!(text.contains("`ulimit -v 92160` allows 90 MiB"), "{text}");
        assert!(text.contains("`ulimit -d 61440` allows 60 MiB"), "{text}");
        assert!(limit(None, None).starts_with("neither"));
    }
}
