"""Registers of a kernel, which only NVIDIA's assembler knows; it comes with Triton."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from typing import Any, Optional, Tuple

from triton.backends.nvidia.compiler import get_ptxas, sm_arch_from_capability
from triton.compiler.compiler import CompiledKernel

from ._replaced import Replaced


def replace(replaced: Replaced) -> None:
    """Makes ``n_regs`` and ``n_spills`` of kernels ask the assembler when a program reads them.

    Kernels whose attributes are set to None are asked for: most programs never read them, and the
    assembler takes longer than many kernels.
    """
    for index, name in enumerate(("n_regs", "n_spills")):
        replaced.set(CompiledKernel, name, _Figure(name, index))


class _Figure:
    """An attribute of a kernel that is calculated if it is read while it is None."""

    def __init__(self, name: str, index: int) -> None:
        self._name = name
        self._index = index

    def __get__(self, kernel: Optional[CompiledKernel], owner: Any = None) -> Any:
        if kernel is None:
            return self
        if self._name not in vars(kernel):
            raise AttributeError(f"{self._name} is known when the kernel is loaded")
        if vars(kernel)[self._name] is None:
            vars(kernel)["n_regs"], vars(kernel)["n_spills"] = _assembled(kernel)
        return vars(kernel)[self._name]

    def __set__(self, kernel: CompiledKernel, value: Any) -> None:
        vars(kernel)[self._name] = value


def _assembled(kernel: CompiledKernel) -> Tuple[int, int]:
    """Registers of a thread, and words of its local memory, as a driver gives them.

    Raises:
        RuntimeError: the assembler does not run, or refuses the kernel.
    """
    arch = kernel.metadata.target.arch
    fusion = [] if getattr(kernel.metadata, "enable_fp_fusion", True) else ["--fmad=false"]
    with tempfile.TemporaryDirectory(prefix="reuselens-") as folder:
        source = os.path.join(folder, "kernel.ptx")
        with open(source, "w") as file:
            file.write(kernel.asm["ptx"])
        command = [get_ptxas(arch).path, "-v", *fusion, "--regAllocOptLevel=2"]
        command += [f"--gpu-name={sm_arch_from_capability(arch)}", source, "-o", source + ".o"]
        done = subprocess.run(command, capture_output=True, text=True)
    registers = re.search(r"Used (\d+) registers", done.stderr)
    stack = re.search(r"(\d+) bytes stack frame", done.stderr)
    if done.returncode != 0 or registers is None:
        raise RuntimeError(
            f"{command[0]} does not say how many registers {kernel.name} has: {done.stderr.strip()}"
        )
    return int(registers[1]), int(stack[1]) // 4 if stack else 0
