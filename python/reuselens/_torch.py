"""What programs ask ``torch.cuda`` about a GPU, while their kernels run on the interpreter."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from types import SimpleNamespace
from typing import Any, Callable, Optional

from ._replaced import Replaced


class Gpu:
    """The GPU that kernels are compiled for, as ``torch.cuda`` describes one."""

    def __init__(self, arch: int, multiprocessors: int, shared_bytes: int) -> None:
        self.capability = divmod(arch, 10)
        self.name = f"reuselens sm_{arch}"
        self.multiprocessors = multiprocessors
        self.shared_bytes = shared_bytes

    def properties(self) -> SimpleNamespace:
        """Those that are the same on each GPU of an architecture, and the multiprocessors."""
        major, minor = self.capability
        return SimpleNamespace(
            name=self.name,
            major=major,
            minor=minor,
            multi_processor_count=self.multiprocessors,
            warp_size=32,
            regs_per_multiprocessor=65536,
            shared_memory_per_block_optin=self.shared_bytes,
        )


class _Device:
    """A block of code for one device: there is one."""

    def __init__(self, device: Any) -> None:
        self.idx = 0

    def __enter__(self) -> None:
        """Nothing changes."""

    def __exit__(self, *_: Any) -> None:
        """Nothing changed."""


class _Stream:
    """The stream in which all kernels run, each to its end before the launch returns."""

    cuda_stream = 0

    def synchronize(self) -> None:
        """Kernels have ended."""

    def wait_stream(self, stream: Any) -> None:
        """Kernels have ended."""


def replace(replaced: Replaced, gpu: Gpu) -> Optional[MetaPathFinder]:
    """Puts answers about ``gpu`` in the place of functions of ``torch.cuda``.

    Where torch is not imported yet, that happens when it is; then the result is what waits for it,
    an item of ``sys.meta_path``.
    """
    if "torch" in sys.modules:
        _replace_now(replaced, gpu)
        return None
    watch = _Watch("torch", lambda: _replace_now(replaced, gpu))
    sys.meta_path.insert(0, watch)
    return watch


def _replace_now(replaced: Replaced, gpu: Gpu) -> None:
    """``is_available`` stays as it is: tensors are on the CPU."""
    cuda = getattr(sys.modules["torch"], "cuda", None)
    if cuda is None:
        return
    # Kernels of another capability than that of a GPU in this machine are compiled.
    replaced.set(cuda, "get_device_capability", lambda device=None: gpu.capability)
    if cuda.is_available():
        return
    stream = _Stream()
    replaced.set(cuda, "current_device", lambda: 0)
    replaced.set(cuda, "current_stream", lambda device=None: stream)
    replaced.set(cuda, "default_stream", lambda device=None: stream)
    replaced.set(cuda, "device", _Device)
    replaced.set(cuda, "get_device_name", lambda device=None: gpu.name)
    replaced.set(cuda, "get_device_properties", lambda device=None: gpu.properties())
    replaced.set(cuda, "set_device", lambda device: None)
    replaced.set(cuda, "synchronize", lambda device=None: None)


class _Watch(MetaPathFinder):
    """Calls a function after a module was imported for the first time."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then
        self._is_finding = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name or self._is_finding:
            return None
        self._is_finding = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_finding = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                # Until it is removed, which ends an installation.
                if self in sys.meta_path:
                    self._then()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
