"""The native device: runs PTX in this process, on its arrays. ``reuselens.triton`` is for use."""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

__version__: str

# Index of an array and bytes from its base; a number; the bytes of the parameter.
KernelArgument = Union[Tuple[int, int], int, float, bytes]

class KernelError(RuntimeError):
    """A kernel did what it must not; the message has the kernel, block, thread and line."""

class Device:
    def __init__(
        self,
        *,
        memory_limit: int = ...,
        threads: Optional[int] = None,
        max_instructions: int = ...,
        gpu: str = "hopper",
        caches: bool = True,
    ) -> None:
        """A GPU without memory in use.

        Args:
            memory_limit: the most bytes of all arrays of a launch, and of those kept from earlier
                ones.
            threads: threads that run blocks; one for each processor without it. Results and
                reports do not depend on it.
            max_instructions: a launch is stopped after about this many instructions of warps.
            gpu: whose caches are modelled: "blackwell", "hopper", "ada", "ampere", "pascal" or
                "kepler", or sizes, as in "l1=128K,l2=40M,sms=108".
            caches: whether caches are modelled; without, there are no hit rates.

        Raises:
            ValueError: there is no such ``gpu``.
        """

    def multiprocessors(self) -> int:
        """Streaming multiprocessors of the GPU whose caches are modelled."""

    def load(self, ptx: str) -> int:
        """Reads PTX; the number of the module.

        Raises:
            ValueError: it is no PTX; with line and column.
            MemoryError: there is no memory for its variables.
        """

    def unload(self, module: int) -> None:
        """Ends a module, and frees its variables. Its kernels must not be launched any more."""

    def kernel(self, module: int, name: str) -> Tuple[int, int]:
        """Makes a kernel ready: its number, and the most threads of a block.

        Raises:
            ValueError: there is none of that name, or it needs what the interpreter lacks; with
                the instruction and its line.
        """

    def launch(
        self,
        kernel: int,
        grid: Sequence[int],
        threads: int,
        shared: int,
        arguments: Sequence[KernelArgument],
        arrays: Sequence[Any],
        calls: Sequence[Tuple[str, str]],
        *,
        cooperative: bool = False,
    ) -> Tuple[int, int]:
        """Runs a kernel to its end, without the GIL: instructions of warps, and of threads.

        Args:
            kernel: its number.
            grid: blocks along x, y and z.
            threads: threads of a block.
            shared: bytes of shared memory of a block that the kernel does not declare itself.
            arguments: one for each parameter.
            arrays: objects with the attributes of ``reuselens._arrays.ArrayView``. They must stay
                alive until the kernel has ended. What the kernel changed is written back, also if
                it was stopped.
            calls: function and ``file:line`` of the calls that lead here, the outermost first.
            cooperative: all blocks run at the same time, and may wait for each other.

        Raises:
            KernelError: the kernel was stopped.
            ValueError: the launch does not fit the kernel, or it wrote to a read-only array.
            MemoryError: the arrays take more than ``memory_limit``.
            KeyboardInterrupt: Ctrl-C ended the kernel.
        """

    def take_printed(self) -> bytes:
        """Takes what kernels have printed."""

    def reset(self) -> None:
        """Forgets what was seen of kernels."""

    def text(self, top: int, width: int, color: bool) -> str:
        """The report as text."""

    def json(self, command: str) -> str:
        """The run as ``.rlgpu`` files have it."""

    def csv(self) -> str:
        """The run as a table of kernels, lines and arrays."""

    def page(self, command: str) -> str:
        """The run as an HTML page."""

    def kernels(self) -> List[Dict[str, Any]]:
        """A dict for each kernel and call path, in the order of the first launches."""

    def record(self, path: str, overwrite: bool, about: str) -> None:
        """Writes the memory instructions of the launches from now on to a file.

        Raises:
            OSError: the file cannot be written, or a recording is running.
        """

    def stop_recording(self, keep: bool) -> Optional[int]:
        """Ends the recording: the number of records; none without a recording.

        Raises:
            OSError: the file could not be written to its end.
        """

def write_file(path: str, text: str, overwrite: bool) -> None:
    """Writes a text to a file that appears whole.

    Raises:
        OSError: it cannot be written, or is there and ``overwrite`` is false.
    """
