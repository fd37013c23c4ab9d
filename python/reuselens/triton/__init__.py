"""Triton kernels without a GPU, in this process, with a report of what they do with memory.

::

    import reuselens.triton as rt
    rt.install()
    kernel[grid](x, y, out, n, BLOCK=1024)     # arrays of NumPy, or CPU tensors of torch
    print(rt.report())

or, for a program as it is: ``python3 -m reuselens.triton program.py``.

Kernels are compiled by Triton as for a GPU, and their PTX runs on reuselens' interpreter. Results
are those of the kernel; times are not those of a GPU, so nothing here measures time. Counts of the
report are exact, hit rates are those of a model of the caches.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
import sys
import weakref
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import triton
import triton.backends
from triton.backends import Backend
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase, decompose_descriptor
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler.compiler import CompiledKernel
from triton.runtime import driver as _triton_driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from .. import _arrays, _benchmarks, _native, _registers, _torch
from .._native import KernelError
from .._places import Frames, caller
from .._replaced import Replaced

__all__ = [
    "KernelError",
    "activate",
    "autotuning",
    "install",
    "kernels",
    "record",
    "report",
    "reset",
    "save",
    "uninstall",
]

_TRITON = os.path.dirname(os.path.abspath(triton.__file__)) + os.sep
# Shared memory of a block, by target: what a GPU of it has.
_SHARED_BYTES = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10}
_MOST_SHARED = 227 << 10


def _shared_bytes(arch: int) -> int:
    return _SHARED_BYTES.get(arch, _MOST_SHARED)


class _Backend(CUDABackend):
    """Triton's compiler for NVIDIA, up to PTX: nothing is assembled for a GPU."""

    def add_stages(self, stages: Dict[str, Any], options: Any, language: Any) -> None:
        super().add_stages(stages, options, language)
        # What Triton takes for the machine code is the PTX.
        stages["cubin"] = lambda source, metadata: source.encode()

    def hash(self) -> str:
        return f"reuselens-{self.target.arch}"


class _Utils:
    """What Triton asks of a driver when it loads a kernel."""

    def __init__(self, driver: "_Driver") -> None:
        self._driver = driver

    def get_device_properties(self, device: int) -> Dict[str, int]:
        return {
            "max_shared_mem": _shared_bytes(self._driver.target.arch),
            "multiprocessor_count": self._driver.native.multiprocessors(),
            "max_num_regs": 65536,
            "warpSize": 32,
            "sm_clock_rate": 1_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 5120,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> Tuple[Any, ...]:
        native = self._driver.native
        module = native.load(kernel.decode())
        number, threads = native.kernel(module, name)
        # The assembler is asked for registers and spills when a program reads them.
        return (native, module), (native, number), None, None, threads

    def unload_module(self, module: Tuple[_native.Device, int]) -> None:
        native, number = module
        native.unload(number)


class _Launcher:
    """Launches a kernel that Triton has compiled."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self._types = tuple(src.signature.values())
        self._names = tuple(src.signature)
        self._kernel = metadata.name
        self._threads = 32 * metadata.num_warps
        self._shared = metadata.shared
        self._cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self._clusters = getattr(metadata, "num_ctas", 1)
        self._scratch = getattr(metadata, "global_scratch_size", 0) or 0
        self._profile_scratch = getattr(metadata, "profile_scratch_size", 0) or 0

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: Tuple[_native.Device, int],
        packed: Any,
        launch_metadata: Any,
        enter: Any,
        leave: Any,
        *args: Any,
    ) -> None:
        driver = _active()
        if self._clusters > 1:
            raise ValueError(
                f"kernel {self._kernel} wants clusters of {self._clusters} blocks, which do not run "
                "here; launch it with num_ctas=1"
            )
        blocks = x * y * z
        if blocks == 0 or driver.is_dry:
            return
        packing = _Packing(driver.frames, self._kernel)
        for name, kind, value in zip(self._names, self._types, args):
            packing.add(name, kind, value)
        for name, size in (("scratch", self._scratch), ("profile", self._profile_scratch)):
            packing.add_scratch(name, size * blocks)
        if enter is not None:
            enter(launch_metadata)
        native, number = function
        try:
            native.launch(
                number,
                (x, y, z),
                self._threads,
                self._shared,
                packing.arguments,
                packing.views,
                driver.calls(),
                cooperative=self._cooperative,
            )
        finally:
            printed = native.take_printed()
            if printed:
                sys.stdout.write(printed.decode(errors="replace"))
        if leave is not None:
            leave(launch_metadata)


class _Packing:
    """The arguments of a launch as the native device takes them."""

    def __init__(self, frames: Frames, kernel: str) -> None:
        self.arguments: List[_native.KernelArgument] = []
        self.views: List[_arrays.ArrayView] = []
        self._frames = frames
        self._kernel = kernel
        self._numbers: Dict[int, int] = {}
        # Keeps alive what only this launch knows.
        self._owners: List[Any] = []

    def add(self, name: str, kind: Any, value: Any) -> None:
        """Adds an argument of a type of Triton's; constants are in the code."""
        if isinstance(kind, tuple):
            for inner_kind, item in zip(kind, value):
                self.add(name, inner_kind, item)
        elif kind == "constexpr":
            return
        elif kind.startswith("tensordesc"):
            base, *numbers = decompose_descriptor(value)
            self._pointer(name, base)
            self.arguments.extend(int(number) for number in numbers)
        elif kind.startswith("*"):
            self._pointer(name, value)
        elif kind == "fp16":
            self.arguments.append(struct.pack("<e", value))
        elif kind == "bf16":
            self.arguments.append(_bfloat16(value))
        elif kind in ("fp32", "f32", "fp64"):
            self.arguments.append(float(value))
        else:
            self.arguments.append(int(value))

    def add_scratch(self, name: str, size: int) -> None:
        """Adds memory that the kernel wants for itself; a null pointer if it wants none."""
        if size == 0:
            self.arguments.append(0)
        else:
            self._pointer(name, (ctypes.c_uint8 * size)())

    def _pointer(self, argument: str, value: Any) -> None:
        if value is None:
            self.arguments.append(0)
            return
        array = _arrays.inner(value)
        if isinstance(array, int):
            raise TypeError(
                f"argument {argument} of {self._kernel} is the number {array:#x}, and which array "
                "has this address is not known; pass the array itself"
            )
        number = self._numbers.get(id(array))
        if number is None:
            view = _arrays.view(array)
            view.name, view.label = self._named(argument, array)
            number = self._numbers[id(array)] = len(self.views)
            self.views.append(view)
            self._owners.append(array)
        view = self.views[number]
        self.arguments.append((number, self._address(array) - view.base_address))

    @staticmethod
    def _address(array: Any) -> int:
        """The address of the first element."""
        if isinstance(array, ctypes.Array):
            return ctypes.addressof(array)
        if hasattr(array, "data_ptr"):
            return array.data_ptr()
        return array.__array_interface__["data"][0]

    def _named(self, argument: str, array: Any) -> Tuple[str, str]:
        """Name of an array, and its label in reports."""
        name, line = self._frames.variable(array)
        if name is None:
            whole = _arrays.base(array)
            if whole is not array:
                name, line = self._frames.variable(whole)
                name = None if name is None else f"part of {name}"
        name = name or f"{argument} of {self._kernel}"
        line = line or self._frames.launch_line()
        place = f", {line}" if line else ""
        return name, f"{name} ({_arrays.described(array)}{place})"


def _bfloat16(value: float) -> bytes:
    """The two bytes of a float, rounded to the nearest even one."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if bits & 0x7FFFFFFF > 0x7F800000:
        return struct.pack("<H", 0x7FFF)
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)


class _Driver(DriverBase):
    """Triton's driver for the interpreter."""

    # Kernels that Triton keeps for one device are never used with another one.
    _numbers = itertools.count(1000)

    def __init__(self, target: GPUTarget, native: _native.Device, autotune: str) -> None:
        super().__init__()
        self.target = target
        self.native = native
        self.autotune = autotune
        self.number = next(self._numbers)
        self.utils = _Utils(self)
        self.launcher_cls = _Launcher
        self.frames = Frames(None, _TRITON)
        # Compiles kernels and checks launches, and runs nothing.
        self.is_dry = False
        self.tuning: Optional[_Tuning] = None
        self.tuned: List[Dict[str, Any]] = []
        self.searches = itertools.count(1)
        # Functions that keep kernels for this device.
        self.functions: "weakref.WeakSet[JITFunction]" = weakref.WeakSet()
        # Kernels that were launched without their function.
        self.compiled: "weakref.WeakSet[CompiledKernel]" = weakref.WeakSet()
        # What waits for torch to be imported.
        self.watch: Any = None

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise NotImplementedError("no C++ is compiled for kernels that run on the interpreter")

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return self.number

    def set_current_device(self, device: int) -> None:
        """There is one device."""

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_device_capability(self, device: Optional[int] = None) -> Tuple[int, int]:
        return divmod(self.target.arch, 10)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        raise NotImplementedError(
            "kernels run on an interpreter, whose times say nothing about a GPU; import do_bench "
            "after reuselens.triton.install(), or leave benchmarks out"
        )

    def get_benchmarker(self) -> Any:
        return _benchmark

    def get_empty_cache_for_benchmark(self) -> Any:
        return self.get_device_interface()

    def calls(self) -> List[Tuple[str, str]]:
        """The calls that lead to the launch, with the configuration that is tried."""
        calls = self.frames.calls()
        if self.tuning is not None and self.tuning.config is not None and calls:
            calls.append((self.tuning.label(), calls[-1][1]))
        return calls


class _Tuning:
    """A search for the best configuration of a kernel."""

    def __init__(self, number: int) -> None:
        self.number = number
        # What is tried, as text.
        self.config: Optional[str] = None
        self.is_found = False

    def label(self) -> str:
        """What the report calls the configuration that is tried: the last call of a path."""
        return f"autotune {self.number}: {self.config}"


def _config_text(config: triton.Config) -> str:
    """A configuration without what only other GPUs look at."""
    values = {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _benchmark(call: Any, quantiles: Any = None, **_: Any) -> List[float]:
    """What a configuration costs, for Triton's autotuner: not a time, but sectors."""
    driver = _active()
    tuning = driver.tuning or _Tuning(0)
    if driver.autotune == "first":
        if tuning.is_found:
            return [float("inf")] * 3
        driver.is_dry = True
        try:
            call()
        finally:
            driver.is_dry = False
        tuning.is_found = True
        return [0.0] * 3
    call()
    rows = driver.native.kernels()
    rows = [row for row in rows if row["calls"] and row["calls"][-1][0] == tuning.label()]
    sectors = sum(_sectors(row) for row in rows)
    instructions = sum(row["warp_instructions"] for row in rows)
    for row in rows:
        driver.tuned.append({"search": tuning.number, "config": tuning.config, **row})
    # Instructions decide between configurations with equal sectors.
    return [sectors + instructions * 1e-15] * 3


def _sectors(row: Dict[str, Any]) -> int:
    """Sectors that the L2 is asked for; without a model of the caches, those of all requests."""
    return row["sectors"] if row["l2_sectors"] is None else row["l2_sectors"]


# What `install` put in the place of Triton's own, with what was there.
_installed: Optional[_Driver] = None
_originals: Dict[str, Any] = {}
_replaced = Replaced()


def _active() -> _Driver:
    if _installed is None:
        raise RuntimeError("reuselens is not Triton's driver; call reuselens.triton.install()")
    return _installed


def _run(self: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
    """In the place of ``JITFunction.run``: takes arrays of NumPy, and notes who launches."""
    driver = _active()
    driver.frames = Frames(caller(1), _TRITON)
    driver.functions.add(self)
    try:
        return _originals["run"](
            self,
            *map(_arrays.with_pointers, args),
            grid=grid,
            warmup=warmup,
            **{name: _arrays.with_pointers(value) for name, value in kwargs.items()},
        )
    finally:
        # Frames hold the variables of all functions in them.
        driver.frames = Frames(None, _TRITON)


def _launch_compiled(self: CompiledKernel, grid: Any) -> Any:
    """In the place of ``CompiledKernel.__getitem__``, of kernels that ``warmup`` gave."""
    launch = _originals["compiled"](self, grid)

    def launch_noted(*args: Any, **kwargs: Any) -> None:
        driver = _active()
        driver.frames = Frames(caller(0), _TRITON)
        driver.compiled.add(self)
        try:
            launch(*map(_arrays.with_pointers, args), **kwargs)
        finally:
            driver.frames = Frames(None, _TRITON)

    return launch_noted


def _run_tuned(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
    """In the place of ``Autotuner.run``: begins a search."""
    driver = _active()
    changed = {*self.reset_to_zero, *self.restore_value}
    names = dict(zip(self.arg_names, range(len(args))))
    positions = {names[name] for name in changed if name in names}
    outer, driver.tuning = driver.tuning, _Tuning(next(driver.searches))
    # Triton keeps what measures, be it by the driver of then or the program's own.
    measured = vars(self).get("do_bench")
    vars(self)["do_bench"] = _benchmark
    try:
        # Triton calls methods of tensors on these.
        return _originals["tune"](
            self,
            *(_arrays.with_pointers(it) if i in positions else it for i, it in enumerate(args)),
            **{k: _arrays.with_pointers(v) if k in changed else v for k, v in kwargs.items()},
        )
    finally:
        driver.tuning = outer
        if measured is None:
            del vars(self)["do_bench"]
        else:
            vars(self)["do_bench"] = measured


def _try(self: Autotuner, *args: Any, config: Any, **meta: Any) -> Any:
    """In the place of ``Autotuner._bench``: notes which configuration is tried."""
    tuning = _active().tuning
    if tuning is None:
        return _originals["bench"](self, *args, config=config, **meta)
    tuning.config = _config_text(config)
    try:
        return _originals["bench"](self, *args, config=config, **meta)
    finally:
        tuning.config = None


def install(
    target: Union[int, str] = "sm_80",
    *,
    memory_limit: int = 8 << 30,
    threads: Optional[int] = None,
    max_instructions: int = 1 << 40,
    gpu: str = "hopper",
    caches: bool = True,
    autotune: str = "first",
) -> None:
    """Makes reuselens Triton's driver, until ``uninstall()``. An empty report begins.

    From then on ``kernel[grid](...)`` runs in this process. Pointers are arrays of NumPy of any
    shape and strides, or CPU tensors of torch; the types of their elements are all that Triton has
    (``bfloat16`` by ``ml_dtypes`` or torch). Kernels change arrays in place. An array that was cut
    out of another one may be accessed beyond its ends, up to those of the other one, as on a GPU.

    Args:
        target: the compute capability that Triton compiles for: "sm_80", or 80.
        memory_limit: the most bytes that the arrays of a launch take.
        threads: threads that run blocks; one for each processor without it. Results and report do
            not depend on it.
        max_instructions: a launch is stopped after about this many instructions of warps.
        gpu: whose caches are modelled: "blackwell", "hopper", "ada", "ampere", "pascal" or
            "kepler", or sizes, as in "l1=128K,l2=40M,sms=108".
        caches: whether caches are modelled; without, there are no hit rates, and less time passes.
        autotune: "first" takes the first configuration that compiles and fits; "all" runs each one
            once, on the arrays as they are, and takes the one with the fewest sectors that the
            L2 is asked for (``autotuning()`` has the table).

    Raises:
        ValueError: there is no such ``target``, ``gpu`` or ``autotune``.
        RuntimeError: TRITON_INTERPRET is set, so that Triton compiles nothing.
    """
    global _installed
    arch = _architecture(target)
    if autotune not in ("first", "all"):
        raise ValueError(f"autotune={autotune!r}: it is 'first' or 'all'")
    if triton.knobs.runtime.interpret:
        raise RuntimeError("TRITON_INTERPRET is set: Triton compiles nothing; unset it")
    native = _native.Device(
        memory_limit=memory_limit,
        threads=threads,
        max_instructions=max_instructions,
        gpu=gpu,
        caches=caches,
    )
    uninstall()
    backends = triton.backends.backends
    _originals.update(
        run=JITFunction.run,
        tune=Autotuner.run,
        bench=Autotuner._bench,
        compiled=CompiledKernel.__getitem__,
        backend=backends["nvidia"],
        active=_triton_driver._active,
    )
    _installed = _Driver(GPUTarget("cuda", arch, 32), native, autotune)
    backends["nvidia"] = Backend(compiler=_Backend, driver=backends["nvidia"].driver)
    _replaced.set(JITFunction, "run", _run)
    _replaced.set(Autotuner, "run", _run_tuned)
    _replaced.set(Autotuner, "_bench", _try)
    _replaced.set(CompiledKernel, "__getitem__", _launch_compiled)
    _registers.replace(_replaced)
    _benchmarks.replace(_replaced)
    gpu = _torch.Gpu(arch, native.multiprocessors(), _shared_bytes(arch))
    _installed.watch = _torch.replace(_replaced, gpu)
    _triton_driver.set_active(_installed)


def _architecture(target: Union[int, str]) -> int:
    text = str(target)
    digits = text[3:] if text.startswith("sm_") else text
    if not digits.isdigit() or not 75 <= int(digits) <= 89:
        raise ValueError(
            f"target={target!r}: kernels run here that Triton compiles for sm_75 to sm_89, as "
            "target='sm_80'; what it makes for newer GPUs has instructions that do not run here"
        )
    return int(digits)


def activate(*args: Any, **kwargs: Any) -> None:
    """The same as ``install``."""
    install(*args, **kwargs)


def uninstall() -> None:
    """Gives Triton its own driver back. A recording ends; the report is gone."""
    global _installed
    if _installed is None:
        return
    _installed.native.stop_recording(True)
    kernels = list(_installed.compiled)
    for function in list(_installed.functions):
        cache = function.device_caches.pop(_installed.number, None)
        kernels += cache[0].values() if cache else ()
    for kernel in kernels:
        # Else Triton asks its own driver to unload the kernel, when nobody has it any more.
        if isinstance(kernel, CompiledKernel):
            kernel.module = kernel.function = kernel._run = None
    if _installed.watch in sys.meta_path:
        sys.meta_path.remove(_installed.watch)
    _replaced.restore()
    triton.backends.backends["nvidia"] = _originals["backend"]
    _triton_driver._active = _originals["active"]
    _originals.clear()
    _installed = None


def report(top: int = 10, width: int = 100, color: bool = False) -> str:
    """What the kernels did since ``install`` or ``reset``, as text; empty if none ran.

    Kernels by instructions, lines of the Python file and arrays by sectors of 32 bytes, and what
    to change. Arrays have the name of the variable that is them, and the line that assigned it.

    Args:
        top: rows of each table, and findings.
        width: columns; 60 at least.
        color: whether to colour, for a terminal.

    Raises:
        RuntimeError: reuselens is not installed.
    """
    driver = _active()
    text = driver.native.text(top, width, color)
    table = _tuning_table(driver.tuned)
    return f"{text}\n{table}" if table else text


def _tuning_table(rows: List[Dict[str, Any]]) -> str:
    """The configurations that autotuning ran, as text; empty if it ran none."""
    if not rows:
        return ""

    def rate(value: Optional[float]) -> str:
        return "–" if value is None else f"{100 * value:.1f} %"

    cells = [["kernel", "search", "sectors", "from L2", "L1", "L2", "configuration"]]
    for row in rows:
        numbers = [f"{row['sectors']:,}", f"{_sectors(row):,}"]
        rates = [rate(row["l1_hit_rate"]), rate(row["l2_hit_rate"])]
        cells.append([row["kernel"], str(row["search"]), *numbers, *rates, row["config"]])
    widths = [max(len(line[index]) for line in cells) for index in range(len(cells[0]) - 1)]
    lines = ["Autotuning, by configuration"]
    for line in cells:
        columns = [line[0].ljust(widths[0])]
        columns += [text.rjust(width) for text, width in zip(line[1:-1], widths[1:])]
        lines.append("  " + "  ".join([*columns, line[-1]]))
    return "\n".join(lines) + "\n"


def autotuning() -> List[Dict[str, Any]]:
    """A row for each configuration that autotuning ran with ``autotune="all"``.

    Each has the keys of ``kernels()``, and ``search`` (a number) and ``config`` (its text).

    Raises:
        RuntimeError: reuselens is not installed.
    """
    return [dict(row) for row in _active().tuned]


def kernels() -> List[Dict[str, Any]]:
    """What each kernel did, from each place that launches it, in the order of the first launches.

    Keys: ``kernel`` (name), ``calls`` (function and ``file:line`` of each call, the outermost
    first), ``launches`` (those that ended well), ``warp_instructions``, ``thread_instructions``,
    ``requests`` (instructions of warps that access global memory), ``sectors`` (of 32 bytes),
    ``excessive_sectors`` (those that would not be needed if the same bytes were neighbours), and
    by the model of the caches, or None without it, ``l1_hit_rate``, ``l2_hit_rate`` (0 to 1),
    ``l2_sectors`` (that the L2 is asked for) and ``memory_sectors`` (that it does not have).

    Raises:
        RuntimeError: reuselens is not installed.
    """
    return _active().native.kernels()


def reset() -> None:
    """Begins an empty report.

    Raises:
        RuntimeError: reuselens is not installed.
    """
    driver = _active()
    driver.native.reset()
    driver.tuned.clear()


def save(path: Union[str, "os.PathLike[str]"], *, overwrite: bool = False) -> None:
    """Writes what the kernels did since ``install`` or ``reset`` to a file.

    The ending says as what: ``.rlgpu`` for ``reuselens gpu diff`` and ``reuselens advise``,
    ``.html`` a page with the lines of the kernels, ``.csv`` a table, ``.txt`` the report.

    Args:
        path: the file.
        overwrite: whether a file that is there is replaced.

    Raises:
        ValueError: another ending.
        OSError: the file cannot be written, or is there and is not to be replaced.
        RuntimeError: reuselens is not installed.
    """
    native = _active().native
    path = os.fspath(path)
    ending = os.path.splitext(path)[1]
    if ending == ".rlgpu":
        text = native.json(_command())
    elif ending == ".html":
        text = native.page(_command())
    elif ending == ".csv":
        text = native.csv()
    elif ending == ".txt":
        text = report()
    else:
        raise ValueError(f"{path}: name a file .rlgpu, .html, .csv or .txt")
    _native.write_file(path, text, overwrite)


@contextlib.contextmanager
def record(path: Union[str, "os.PathLike[str]"], *, overwrite: bool = False) -> Iterator[None]:
    """Writes the memory instructions of the launches inside to a file.

    ::

        with rt.record("softmax.rlwarp"):
            softmax[grid](...)

    ``reuselens gpu report``, ``gpu analyze`` and ``gpu map`` read it. The file appears at the end;
    there is none if an exception leaves the block.

    Raises:
        OSError: the file cannot be written, is there and is not to be replaced, or a recording is
            running.
        RuntimeError: reuselens is not installed.
    """
    native = _active().native
    native.record(os.fspath(path), overwrite, f"{_command()} on the interpreter")
    try:
        yield
    except BaseException:
        native.stop_recording(False)
        raise
    native.stop_recording(True)


def _command() -> str:
    """The command of this process, as one line."""
    return " ".join(getattr(sys, "orig_argv", None) or sys.argv) or "python"
