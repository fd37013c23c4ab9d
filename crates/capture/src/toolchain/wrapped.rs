//! The names of library functions whose calls the linker redirects to the run time (`--wrap`), and
//! the linker flags for that. The run time must define `__wrap_NAME` for each (`runtime/order.rs`
//! and `runtime/ranges.rs`); a test below compares the lists.

use std::process::Command;

use super::Arguments;

/// gcc and older clangs call no hook for these functions, so the linker redirects the program's own
/// calls.
pub(super) const WRAPPED: [&str; 8] = [
    "memcpy",
    "memmove",
    "mempcpy",
    "__mempcpy_chk",
    "memset",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
];

/// Functions by which threads synchronise: the run time marks the thread's block and calls the
/// library's function.
const SYNCHRONISING: [&str; 80] = [
    "pthread_mutex_unlock",
    "pthread_rwlock_unlock",
    "pthread_spin_unlock",
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "sem_post",
    "thrd_create",
    "mtx_unlock",
    "cnd_signal",
    "cnd_broadcast",
    "_ZNSt18condition_variable10notify_oneEv",
    "_ZNSt18condition_variable10notify_allEv",
    "GOMP_critical_end",
    "GOMP_critical_name_end",
    "GOMP_atomic_end",
    "GOMP_ordered_end",
    "GOMP_doacross_post",
    "GOMP_single_copy_end",
    "GOMP_task",
    "omp_unset_lock",
    "omp_unset_nest_lock",
    "__kmpc_end_critical",
    "__kmpc_end_ordered",
    "__kmpc_end_single",
    "__kmpc_end_reduce",
    "__kmpc_end_reduce_nowait",
    "__kmpc_reduce",
    "__kmpc_reduce_nowait",
    "__kmpc_omp_task",
    "__kmpc_doacross_post",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_barrier_wait",
    "pthread_join",
    "sem_wait",
    "sem_timedwait",
    "thrd_join",
    "mtx_lock",
    "mtx_timedlock",
    "cnd_wait",
    "cnd_timedwait",
    "_ZNSt6thread4joinEv",
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
    "GOMP_barrier",
    "GOMP_barrier_cancel",
    "GOMP_critical_start",
    "GOMP_critical_name_start",
    "GOMP_atomic_start",
    "GOMP_ordered_start",
    "GOMP_single_copy_start",
    "GOMP_loop_end",
    "GOMP_sections_end",
    "GOMP_taskwait",
    "GOMP_taskgroup_end",
    "omp_set_lock",
    "omp_set_nest_lock",
    "__kmpc_barrier",
    "__kmpc_critical",
    "__kmpc_critical_with_hint",
    "__kmpc_ordered",
    "__kmpc_omp_taskwait",
    "__kmpc_end_taskgroup",
    "GOMP_parallel",
    "GOMP_parallel_reductions",
    "GOMP_parallel_sections",
    "GOMP_parallel_loop_static",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
    "__kmpc_fork_call",
];

/// Adds the linker flags. In shared libraries, calls of functions that synchronise threads are not
/// redirected: the program that loads the library may not be linked with OpenMP, and its run time
/// would find no library function to call.
pub(super) fn wrap(command: &mut Command, arguments: &Arguments) {
    if arguments.names_only {
        return;
    }
    let synchronising = SYNCHRONISING.iter().filter(|_| !arguments.is_shared);
    for function in WRAPPED.iter().chain(synchronising) {
        command.arg(format!("-Wl,--wrap={function}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrapped function that the run time does not define fails the link; one that the run time
    /// defines and that is not wrapped is never called.
    #[test]
    fn run_time_defines_every_wrapped_function() {
        let sources = [
            include_str!("../../../runtime/src/order.rs"),
            include_str!("../../../runtime/src/ranges.rs"),
        ];
        let lines = sources.iter().flat_map(|source| source.lines());
        let named = |line: &'static str| {
            line.strip_prefix("    \"")?
                .split_once("\" ")?
                .1
                .split_once(';')
        };
        let mut defined: Vec<&str> = lines
            .filter(|line| named(line).is_some())
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        let mut wrapped: Vec<&str> = WRAPPED.into_iter().chain(SYNCHRONISING).collect();
        assert!(defined.len() >= 80, "only {} names found", defined.len());
        defined.sort_unstable();
        wrapped.sort_unstable();
        assert_eq!(defined, wrapped);
    }
}
