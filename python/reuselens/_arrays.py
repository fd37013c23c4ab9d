"""Arrays of NumPy and CPU tensors of torch as memory of this process, for the native device."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

import numpy as np


@dataclass
class ArrayView:
    """Memory that a kernel accesses; the native device reads these attributes.

    All addresses are those of this process, all sizes are in bytes. ``address`` and ``nbytes``
    are the elements of a view, ``base_address`` and ``base_nbytes`` the memory that it is a view
    of: kernels may access all of that.
    """

    address: int
    nbytes: int
    base_address: int
    base_nbytes: int
    writable: bool
    name: str = ""
    label: str = ""


class ArrayPointer:
    """Stands for a NumPy array where Triton wants a tensor. All else is that of the array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        # Triton knows types by their names in torch.
        self.dtype = f"torch.{array.dtype.name}"

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.array.__array_interface__["data"][0]

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.array.itemsize

    def stride(self, dim: Optional[int] = None) -> Any:
        """Strides in elements, as those of a tensor."""
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        return strides if dim is None else strides[dim]

    def zero_(self) -> "ArrayPointer":
        """Sets all elements to 0, as Triton's autotuner asks of a tensor."""
        self.array[...] = 0
        return self

    def clone(self) -> "ArrayPointer":
        """A copy, as Triton's autotuner asks of a tensor."""
        return ArrayPointer(self.array.copy())

    def copy_(self, other: "ArrayPointer") -> "ArrayPointer":
        """Takes the elements of another, as Triton's autotuner asks of a tensor."""
        self.array[...] = other.array
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)


def with_pointers(value: Any) -> Any:
    """An argument of a kernel with an ``ArrayPointer`` for each NumPy array in it."""
    if isinstance(value, np.ndarray):
        return ArrayPointer(value)
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(with_pointers(item) for item in value)
    return value


def inner(value: Any) -> Any:
    """The array or tensor that an argument stands for."""
    if isinstance(value, ArrayPointer):
        return value.array
    # `triton.reinterpret` gives a tensor another type.
    while type(value).__name__ == "TensorWrapper":
        value = value.base
    return value


def _bounds(address: int, shape: Sequence[int], strides: Sequence[int], item: int) -> Tuple[int, int]:
    """First address and bytes of the elements; ``strides`` are in bytes."""
    if 0 in shape:
        return address, 0
    steps = [(size - 1) * step for size, step in zip(shape, strides)]
    first = address + sum(step for step in steps if step < 0)
    last = address + sum(step for step in steps if step > 0)
    return first, last + item - first


def _numpy_bounds(array: np.ndarray) -> Tuple[int, int]:
    address = array.__array_interface__["data"][0]
    return _bounds(address, array.shape, array.strides, array.itemsize)


def base(array: Any) -> Any:
    """The array that an array is a view of; itself if it is none."""
    if isinstance(array, np.ndarray):
        while isinstance(array.base, np.ndarray):
            array = array.base
        return array
    view_of = getattr(array, "_base", None)
    return array if view_of is None else view_of


def view(value: Any) -> ArrayView:
    """The memory of an array or a CPU tensor.

    Raises:
        TypeError: it is neither, or a tensor that is not in the memory of the host.
    """
    value = inner(value)
    if isinstance(value, np.ndarray):
        whole = base(value)
        writable = bool(value.flags.writeable)
        return ArrayView(*_numpy_bounds(value), *_numpy_bounds(whole), writable)
    if isinstance(value, ctypes.Array):
        address, size = ctypes.addressof(value), ctypes.sizeof(value)
        return ArrayView(address, size, address, size, True)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            raise TypeError(
                f"a tensor on {value.device}: kernels run in this process, on tensors of the CPU; "
                "make it with device='cpu'"
            )
        item = value.element_size()
        strides = [step * item for step in value.stride()]
        bounds = _bounds(value.data_ptr(), value.shape, strides, item)
        storage = value.untyped_storage()
        return ArrayView(*bounds, storage.data_ptr(), storage.nbytes(), True)
    raise TypeError(
        f"{type(value).__name__} is no array whose memory is known; pass an array of NumPy or a "
        "CPU tensor of torch"
    )


def described(value: Any) -> str:
    """What an array is: library, type of elements, sizes."""
    value = inner(value)
    if isinstance(value, ctypes.Array):
        return f"{ctypes.sizeof(value)} bytes"
    library = "NumPy" if isinstance(value, np.ndarray) else "torch"
    dtype = str(value.dtype).rsplit(".", 1)[-1]
    sizes = ", ".join(str(size) for size in value.shape)
    return f"{library} {dtype}[{sizes}]"
