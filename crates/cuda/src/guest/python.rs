//! Calls of a program in Python: which lines of Python lead to a function of CUDA. On the stack of
//! the thread are only the interpreter's own functions, so Python is asked, by its C interface.
//!
//! Asking needs Python's lock (the GIL). A thread that has released it to call CUDA takes it again
//! for some microseconds; so none of this library's locks may be held by the caller, for a thread
//! that has Python's lock may wait for them.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::hook;
use super::lock;

/// Calls that are kept: the innermost.
pub const MAX_CALLS: usize = 64;
/// Functions that are kept. Calls of others are left out: a program may make functions without end.
const MAX_FUNCTIONS: usize = 1 << 16;

type Object = *mut c_void;

/// The functions of Python's C interface, the same in Python 3.9 to 3.14.
#[derive(Clone, Copy)]
struct Python {
    is_initialized: extern "C" fn() -> i32,
    own_thread: extern "C" fn() -> Object,
    ensure: extern "C" fn() -> i32,
    release: extern "C" fn(i32),
    error: extern "C" fn() -> Object,
    frame_of: extern "C" fn(Object) -> Object,
    frame_before: extern "C" fn(Object) -> Object,
    code_of: extern "C" fn(Object) -> Object,
    line_of: extern "C" fn(Object) -> i32,
    attribute: extern "C" fn(Object, *const c_char) -> Object,
    text_of: extern "C" fn(Object, *mut isize) -> *const c_char,
    clear_error: extern "C" fn(),
    release_object: extern "C" fn(Object),
}

/// The function that a call is in.
#[derive(Clone, PartialEq, Eq)]
pub struct PythonFunction {
    pub file: Vec<u8>,
    pub name: Vec<u8>,
}

/// A call: a number of the function, and the line.
pub type PythonCall = (u64, u64);

/// Functions by the addresses of their code. These are kept by Python, so that none is used twice.
static FUNCTIONS: Mutex<BTreeMap<usize, PythonFunction>> = Mutex::new(BTreeMap::new());

static PYTHON: Mutex<Option<Python>> = Mutex::new(None);
static IS_THERE: AtomicBool = AtomicBool::new(false);

/// Looks for Python; called when the process has mapped other files.
pub fn look() {
    // No lock is held: the loader has its own.
    if !is_there()
        && let Some(found) = look_for_python()
    {
        *lock(&PYTHON) = Some(found);
        IS_THERE.store(true, Ordering::Release);
    }
}

/// Whether the process has Python. Takes no lock.
pub fn is_there() -> bool {
    IS_THERE.load(Ordering::Acquire)
}

fn look_for_python() -> Option<Python> {
    /// The function of a name, if there is one.
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: Python's function of that name has the type of the field.
            unsafe { std::mem::transmute::<usize, _>(hook::symbol_of_any($name)? as usize) }
        };
    }
    Some(Python {
        is_initialized: function!(c"Py_IsInitialized"),
        own_thread: function!(c"PyGILState_GetThisThreadState"),
        ensure: function!(c"PyGILState_Ensure"),
        release: function!(c"PyGILState_Release"),
        error: function!(c"PyErr_Occurred"),
        frame_of: function!(c"PyThreadState_GetFrame"),
        frame_before: function!(c"PyFrame_GetBack"),
        code_of: function!(c"PyFrame_GetCode"),
        line_of: function!(c"PyFrame_GetLineNumber"),
        attribute: function!(c"PyObject_GetAttrString"),
        text_of: function!(c"PyUnicode_AsUTF8AndSize"),
        clear_error: function!(c"PyErr_Clear"),
        release_object: function!(c"Py_DecRef"),
    })
}

/// The calls of Python that lead here, the innermost first; `None` in a thread that Python does not
/// know, and while an error is on its way, which asking could lose.
pub fn calls() -> Option<Vec<PythonCall>> {
    if !is_there() {
        return None;
    }
    let python = (*lock(&PYTHON))?;
    if (python.is_initialized)() == 0 {
        return None;
    }
    let thread = (python.own_thread)();
    if thread.is_null() {
        return None;
    }
    let state = (python.ensure)();
    let calls = (python.error)().is_null().then(|| python.calls_of(thread));
    (python.release)(state);
    calls.filter(|calls| !calls.is_empty())
}

/// The function of a number.
pub fn function(number: u64) -> Option<PythonFunction> {
    lock(&FUNCTIONS).get(&(number as usize)).cloned()
}

impl Python {
    /// The calls of a thread whose turn it is.
    fn calls_of(self, thread: Object) -> Vec<PythonCall> {
        let mut calls = Vec::new();
        let mut frame = (self.frame_of)(thread);
        while !frame.is_null() && calls.len() < MAX_CALLS {
            let line = u64::try_from((self.line_of)(frame)).unwrap_or(0);
            calls.push((self.number_of((self.code_of)(frame)), line));
            let before = (self.frame_before)(frame);
            (self.release_object)(frame);
            frame = before;
        }
        if !frame.is_null() {
            (self.release_object)(frame);
        }
        calls
    }

    /// The number of the function of a code object: its address. The object is kept for ever.
    fn number_of(self, code: Object) -> u64 {
        let (is_known, is_full) = {
            let functions = lock(&FUNCTIONS);
            let is_known = functions.contains_key(&(code as usize));
            (is_known, functions.len() >= MAX_FUNCTIONS)
        };
        if is_known || is_full {
            (self.release_object)(code);
            return if is_known { code as u64 } else { 0 };
        }
        let function = PythonFunction {
            file: self.text(code, &[c"co_filename"]),
            name: self.text(code, &[c"co_qualname", c"co_name"]),
        };
        lock(&FUNCTIONS).insert(code as usize, function);
        code as u64
    }

    /// The first attribute of these that an object has, as text.
    fn text(self, object: Object, names: &[&CStr]) -> Vec<u8> {
        for name in names {
            let value = (self.attribute)(object, name.as_ptr());
            if value.is_null() {
                // Older ones do not have it.
                (self.clear_error)();
                continue;
            }
            let mut bytes = 0;
            let text = (self.text_of)(value, &raw mut bytes);
            let text = match (text.is_null(), usize::try_from(bytes)) {
                // SAFETY: Python gives that many bytes, which are there as long as the object.
                (false, Ok(bytes)) => unsafe { std::slice::from_raw_parts(text.cast(), bytes) },
                _ => {
                    (self.clear_error)();
                    &[]
                }
            };
            let text = text.to_vec();
            (self.release_object)(value);
            return text;
        }
        Vec::new()
    }
}
