"""``python3 -m reuselens.triton script.py``: runs a script, and prints the report at its end."""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import sys
from typing import List, Optional

import reuselens.triton as rt

_ENDINGS = (".rlgpu", ".html", ".csv", ".txt")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m reuselens.triton",
        usage="%(prog)s [options] (SCRIPT | -m MODULE) [arguments of the script]",
        description="Run a Python program whose Triton kernels run without a GPU, and print what "
        "they do with memory.",
        epilog="Tensors of torch are on the CPU: device='cpu', or "
        "triton.runtime.driver.active.get_active_torch_device().",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="run a module")
    parser.add_argument(
        "--target",
        default="sm_80",
        metavar="SM",
        help="compute capability to compile for (default: sm_80)",
    )
    parser.add_argument(
        "--gpu-model",
        default="hopper",
        metavar="GPU",
        help="GPU whose caches are modelled, or sizes: l1=128K,l2=40M,sms=108 (default: hopper)",
    )
    parser.add_argument("--no-cache-model", action="store_true", help="model no caches")
    parser.add_argument(
        "--autotune",
        choices=("first", "all"),
        default="first",
        help="configurations that autotuning runs (default: first)",
    )
    parser.add_argument(
        "--max-instructions",
        type=int,
        default=1 << 40,
        metavar="N",
        help="stop each launch after about N instructions of its warps",
    )
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="rows of each table (default: 10)"
    )
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="save the run: .rlgpu, .html, .csv or .txt"
    )
    parser.add_argument("-f", dest="overwrite", action="store_true", help="replace FILE")
    parser.add_argument("-q", dest="is_quiet", action="store_true", help="print no report")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def main(arguments: Optional[List[str]] = None) -> None:
    """Runs the program that the arguments name; what it raises goes on after the report."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("name a script, or a module with -m")
    script = options.command[0]
    if not options.is_module and not os.path.exists(script):
        parser.error(f"{script}: there is no such file")
    if options.output is not None:
        if os.path.splitext(options.output)[1] not in _ENDINGS:
            parser.error(f"{options.output}: name a file {', '.join(_ENDINGS)}")
        if os.path.exists(options.output) and not options.overwrite:
            parser.error(f"{options.output} is there already; add -f to replace it")
    try:
        rt.install(
            options.target,
            gpu=options.gpu_model,
            caches=not options.no_cache_model,
            autotune=options.autotune,
            max_instructions=options.max_instructions,
        )
    except (ValueError, RuntimeError) as error:
        parser.error(str(error))
    try:
        _run(options.is_module, options.command)
    except SystemExit as ended:
        if not _finish(options) and not ended.code:
            sys.exit(1)
        raise
    except BaseException as error:
        _finish(options)
        hint = _hint(error)
        if hint:
            print(f"reuselens: {hint}", file=sys.stderr)
        raise
    if not _finish(options):
        sys.exit(1)


def _run(is_module: bool, command: List[str]) -> None:
    sys.argv = command
    if is_module:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(command[0]))
        runpy.run_path(command[0], run_name="__main__")


def _hint(error: BaseException) -> str:
    """What to do about an error of a program for a GPU; empty for all others."""
    needs_gpu = ("no NVIDIA driver", "not compiled with CUDA", "No CUDA GPUs")
    if any(text in str(error) for text in needs_gpu):
        return "tensors must be on the CPU; write device='cpu' for device='cuda'"
    return ""


def _finish(options: argparse.Namespace) -> bool:
    """Prints the report, and writes the file if there is to be one: whether it did."""
    is_terminal = sys.stdout.isatty()
    width = max(60, shutil.get_terminal_size().columns) if is_terminal else 100
    try:
        text = rt.report(top=options.top, width=width, color=is_terminal)
        if not text:
            print("reuselens: no kernel of Triton was launched", file=sys.stderr)
            return options.output is None
        if not options.is_quiet:
            print(text)
        if options.output is not None:
            rt.save(options.output, overwrite=options.overwrite)
    except (OSError, RuntimeError) as error:
        # Nothing can be written there, or the program has called `uninstall`.
        print(f"reuselens: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main()
