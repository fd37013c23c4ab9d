//! Marks a thread's block where it synchronises with other threads, so that the analysing side can
//! order the accesses of threads. The library functions for that (locks, conditions, barriers,
//! OpenMP) are not compiled with the hooks, so the linker leads the program's calls of them here
//! (see `wrap`).
//!
//! A thread marks its block just before it lets others go on, and just after it waited for others:
//! the events before a mark happened before the mark's stamp, later ones after it. It does not
//! matter which threads go on: their later marks have later stamps.

use reuselens_wire::Slot;

use crate::segment;
use crate::thread::{flush, own_slot};
use crate::tls::{DUMMY, Tls, tls};
use crate::wrap::{around, before};
use crate::{publish, stage};

/// Marks the calling thread's block; to be called where it synchronises with others. Costs three
/// loads while only one thread records; else see docs/design/transport.md, and more if records wait
/// to be sorted.
pub fn mark() {
    let Some(segment) = segment::mapped().filter(|segment| publish::others_run(*segment)) else {
        return;
    };
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        let silent = (*t).busy != 0 || core::ptr::eq((*t).slot, &DUMMY);
        if silent || (*t).signal_depth != 0 {
            return;
        }
        let slot = if stage::is_staged(t) {
            sorted_slot(t)
        } else {
            (*t).slot
        };
        if !publish::mark(segment, &*slot) {
            flush();
        }
    }
}

/// Sorts a thread's waiting records, and returns the thread's own slot, to which the wanted ones
/// were written.
///
/// # Safety
/// The calling thread's own state.
#[cold]
unsafe fn sorted_slot(t: *mut Tls) -> *const Slot {
    // SAFETY: by the caller.
    unsafe {
        (*t).busy = 1;
        stage::drain(t);
        (*t).busy = 0;
        own_slot(t)
    }
}

/// Code compiled with the LLVM pass is about to make an atomic store.
#[unsafe(no_mangle)]
extern "C" fn __reuselens_order() {
    mark();
}

/// The thread is about to let others go on.
unsafe extern "C" fn released() {
    mark();
}

/// The thread is about to start another one.
unsafe extern "C" fn starting() {
    publish::start_others();
    flush();
}

/// The thread has waited for others.
unsafe extern "C" fn acquired() {
    mark();
}

/// The thread is about to do something by which no other thread goes on.
unsafe extern "C" fn nothing() {}

/// All threads of a parallel region are done, some without a mark of their own: publishes the
/// thread's block, for a published block has the progress of all other threads.
unsafe extern "C" fn joined() {
    if segment::mapped().is_some_and(publish::others_run) {
        flush();
    }
}

// The names are those of `SYNCHRONISING` in the compiler driver.
before! {
    "pthread_mutex_unlock" released;
    "pthread_rwlock_unlock" released;
    "pthread_spin_unlock" released;
    "pthread_cond_signal" released;
    "pthread_cond_broadcast" released;
    "sem_post" released;
    "thrd_create" starting;
    "mtx_unlock" released;
    "cnd_signal" released;
    "cnd_broadcast" released;
    "_ZNSt18condition_variable10notify_oneEv" released;
    "_ZNSt18condition_variable10notify_allEv" released;
    "GOMP_critical_end" released;
    "GOMP_critical_name_end" released;
    "GOMP_atomic_end" released;
    "GOMP_ordered_end" released;
    "GOMP_doacross_post" released;
    "GOMP_single_copy_end" released;
    "GOMP_task" released;
    "omp_unset_lock" released;
    "omp_unset_nest_lock" released;
    "__kmpc_end_critical" released;
    "__kmpc_end_ordered" released;
    "__kmpc_end_single" released;
    "__kmpc_end_reduce" released;
    "__kmpc_end_reduce_nowait" released;
    "__kmpc_reduce" released;
    "__kmpc_reduce_nowait" released;
    "__kmpc_omp_task" released;
    "__kmpc_doacross_post" released;
}

around! {
    "pthread_mutex_lock" nothing acquired "mov r10d, 0";
    "pthread_mutex_timedlock" nothing acquired "mov r10d, 0";
    "pthread_rwlock_rdlock" nothing acquired "mov r10d, 0";
    "pthread_rwlock_wrlock" nothing acquired "mov r10d, 0";
    "pthread_spin_lock" nothing acquired "mov r10d, 0";
    "pthread_cond_wait" released acquired "mov r10d, 0";
    "pthread_cond_timedwait" released acquired "mov r10d, 0";
    "pthread_cond_clockwait" released acquired "mov r10d, 0";
    "pthread_barrier_wait" released acquired "mov r10d, 0";
    "pthread_join" nothing acquired "mov r10d, 0";
    "sem_wait" nothing acquired "mov r10d, 0";
    "sem_timedwait" nothing acquired "mov r10d, 0";
    "thrd_join" nothing acquired "mov r10d, 0";
    "mtx_lock" nothing acquired "mov r10d, 0";
    "mtx_timedlock" nothing acquired "mov r10d, 0";
    "cnd_wait" released acquired "mov r10d, 0";
    "cnd_timedwait" released acquired "mov r10d, 0";
    "_ZNSt6thread4joinEv" nothing acquired "mov r10d, 0";
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" released acquired "mov r10d, 0";
    "GOMP_barrier" released acquired "mov r10d, 0";
    "GOMP_barrier_cancel" released acquired "mov r10d, 0";
    "GOMP_critical_start" nothing acquired "mov r10d, 0";
    "GOMP_critical_name_start" nothing acquired "mov r10d, 0";
    "GOMP_atomic_start" nothing acquired "mov r10d, 0";
    "GOMP_ordered_start" nothing acquired "mov r10d, 0";
    "GOMP_single_copy_start" released acquired "mov r10d, 0";
    "GOMP_loop_end" released acquired "mov r10d, 0";
    "GOMP_sections_end" released acquired "mov r10d, 0";
    "GOMP_taskwait" released acquired "mov r10d, 0";
    "GOMP_taskgroup_end" released acquired "mov r10d, 0";
    "omp_set_lock" nothing acquired "mov r10d, 0";
    "omp_set_nest_lock" nothing acquired "mov r10d, 0";
    "__kmpc_barrier" released acquired "mov r10d, 0";
    "__kmpc_critical" nothing acquired "mov r10d, 0";
    "__kmpc_critical_with_hint" nothing acquired "mov r10d, 0";
    "__kmpc_ordered" nothing acquired "mov r10d, 0";
    "__kmpc_omp_taskwait" released acquired "mov r10d, 0";
    "__kmpc_end_taskgroup" released acquired "mov r10d, 0";
    "GOMP_parallel" released joined "mov r10d, 0";
    "GOMP_parallel_reductions" released joined "mov r10d, 0";
    "GOMP_parallel_sections" released joined "mov r10d, 0";
    "GOMP_parallel_loop_static" released joined "mov r10d, 2";
    "GOMP_parallel_loop_dynamic" released joined "mov r10d, 2";
    "GOMP_parallel_loop_guided" released joined "mov r10d, 2";
    "GOMP_parallel_loop_nonmonotonic_dynamic" released joined "mov r10d, 2";
    "GOMP_parallel_loop_nonmonotonic_guided" released joined "mov r10d, 2";
    "GOMP_parallel_loop_runtime" released joined "mov r10d, 1";
    "GOMP_parallel_loop_nonmonotonic_runtime" released joined "mov r10d, 1";
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime" released joined "mov r10d, 1";
    // Location, number of arguments, function; the arguments follow, the first three in registers.
    "__kmpc_fork_call" released joined "lea r10d, [rsi - 3]";
}
